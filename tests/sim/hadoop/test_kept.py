"""Which model of Hadoop is taken, and where the compiled one is kept."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from fawkes.base.version import PACKAGE
from fawkes.offline.studies.flat import engine
from fawkes.sim.engines import engine_for
from fawkes.sim.hadoop.compiled.kept import folder, is_kept, kept, pays, sources


@pytest.mark.parametrize(
    ("tasks", "loaded", "kept", "expected"),
    [
        (1, True, True, True),
        (1, True, False, True),
        (1_000, False, True, False),
        (50_000, False, True, True),
        (50_000, False, False, False),
        (5_000_000, False, False, True),
    ],
)
def test_it_pays_when_the_run_is_large_or_it_is_there(tasks: int, loaded: bool, kept: bool, expected: bool) -> None:
    assert pays(tasks, loaded=loaded, kept=kept) is expected


def test_who_asks_for_an_engine_gets_it() -> None:
    assert [engine_for("readable", 10**9), engine_for("compiled", 1)] == ["readable", "compiled"]


def test_small_runs_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that has loaded it takes it; one that has not takes it once it would have paid."""
    monkeypatch.setattr("fawkes.sim.hadoop.compiled.kept.is_loaded", lambda: False)
    monkeypatch.setattr("fawkes.sim.hadoop.compiled.kept.is_kept", lambda: True)
    monkeypatch.setattr("fawkes.sim.engines._PROCESS.tasks", 0)
    assert [engine_for("auto", 3_000) for _ in range(4)] == ["readable", "readable", "compiled", "compiled"]


def test_it_is_kept_in_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAWKES_CACHE", str(tmp_path))
    assert folder().parent == tmp_path / "compiled"
    assert not is_kept()
    (folder() / "of-numba").mkdir(parents=True)
    (folder() / "of-numba" / "run.nbi").touch()
    assert is_kept()


def function_of(file: Path) -> Callable[..., Any]:
    file.parent.mkdir()
    file.write_text("def more(value):\n    return value + 1\n")
    names: dict[str, Any] = {}
    exec(compile(file.read_text(), str(file), "exec"), names)
    return names["more"]  # type: ignore[no-any-return]


@pytest.mark.slow
def test_what_one_installation_compiled_is_there_for_the_next_one(tmp_path: Path) -> None:
    """A second environment once compiled for half a minute what was said to be there."""
    place = tmp_path / "cache"
    first, second = (kept(function_of(tmp_path / name / "code.py"), place) for name in ("one", "two"))
    assert (first(1), second(2)) == (2, 3)
    assert [sum(made.stats.cache_hits.values()) for made in (first, second)] == [0, 1]  # type: ignore[attr-defined]


@pytest.mark.slow
def test_where_nothing_can_be_kept_it_is_compiled_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert kept(function_of(tmp_path / "one" / "code.py"), tmp_path / "file" / "cache")(1) == 2


def imported(files: Iterable[Path]) -> set[Path]:
    """The modules of the package that files import from, and the modules that they import from packages."""
    found = set()
    for file in files:
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("fawkes."):
                place = PACKAGE.joinpath(*(node.module or "").split(".")[1:])
                named = [place.with_suffix(".py"), *(place / f"{name.name}.py" for name in node.names)]
                found |= {path for path in named if path.is_file()}
    return found


def test_no_code_is_kept_under_the_name_of_other_code() -> None:
    """Constants are in the compiled code: one from a file that is not in its name would be used when it has changed."""
    flat = {path for name in engine.SOURCES for path in [PACKAGE / name, *(PACKAGE / name).rglob("*.py")]}
    own = [path for path in flat if path.is_relative_to(PACKAGE / engine.SOURCES[0]) and path.is_file()]
    here = [path for path in sources() if path.parent.name == "compiled"]
    without = {PACKAGE / "base" / "paths.py"}
    assert imported(own) - flat == set()
    assert imported(here) - set(sources()) == without
