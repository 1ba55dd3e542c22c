"""The code on which rows depend: no module that decides, simulates or counts is left out of a digest."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from fawkes.base.version import PACKAGE
from fawkes.offline.runs import code, grid
from fawkes.offline.studies.paper import runs

#: imported, and no part of any figure: the values that configuration gives are in the digests of variant and world
BESIDE = ("base", "config", "offline/studies", "playbook", "report", "store")
#: parts of these that do decide or count
COUNTED = (
    "base/units.py", "base/values.py", "report/history.py", "report/pictures/steps.py", "report/tables/waste_rows.py",
    "store/base.py", "store/memory.py",
)  # fmt: skip
PAPERS = (
    *COUNTED, "config/settings", "report/pictures/course.py", "offline/studies/paper/experiments/macro.py",
    "offline/studies/paper/experiments/micro.py", "offline/studies/paper/judging", "offline/studies/paper/runs.py",
)  # fmt: skip


def imported(file: Path) -> Iterator[Path]:
    """The files of the package that a file imports, with the packages that hold them."""
    for node in ast.walk(ast.parse(file.read_text())):
        names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{each.name}" for each in node.names)]
        for name in names:
            top, *rest = name.split(".")
            for length in range(1, len(rest) + 1) if top == PACKAGE.name else ():
                place = PACKAGE.joinpath(*rest[:length])
                yield from (each for each in (place / "__init__.py", place.with_suffix(".py")) if each.is_file())


def closure(file: str) -> set[str]:
    """A file and all that it imports, directly or by another, also within functions, as paths in the package."""
    seen, left = set[Path](), {Path(file)}
    while left:
        now = {PACKAGE / each for each in left} - seen
        seen |= now
        left = {found for each in now for found in imported(each)} - seen
    return {each.relative_to(PACKAGE).as_posix() for each in seen}


def within(path: str, places: Iterable[str]) -> bool:
    return any(path == place or path.startswith(f"{place}/") for place in places)


@pytest.mark.parametrize(
    ("module", "sources", "counted"),
    [(grid.__file__, code.SOURCES, COUNTED), (runs.__file__, runs.SOURCES, PAPERS)],
    ids=["comparisons", "the paper"],
)
def test_a_digest_has_all_code_that_decides_simulates_or_counts(
    module: str, sources: tuple[str, ...], counted: tuple[str, ...]
) -> None:
    files = closure(Path(module).relative_to(PACKAGE).as_posix())
    assert {"sim/world.py", "core/fairness/weighing.py", "report/history.py"} <= files
    needed = {file for file in files if within(file, counted) or not within(file, BESIDE)}
    left_out = {file for file in needed if not within(file, sources)}
    assert {file for file in left_out if len(ast.parse((PACKAGE / file).read_text()).body) > 1} == set()
    assert all((PACKAGE / place).exists() for place in sources)
