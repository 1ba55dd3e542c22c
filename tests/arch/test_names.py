"""Names say which thing they hold: none of variables, arguments, fields and functions is a word for any answer."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EMPTY = {"one", "found", "told", "asked"}
KEPT = {
    "fawkes/core/values/effects.py: told": "ledgers have it",
    "fawkes/core/values/model.py: told": "ledgers have it",
    "fawkes/core/state/admitting.py: asked": "admission policies of users give it",
    "playbooks/job.py: found": "playbooks of sites have it",
}


def empty_names(source: str) -> set[str]:
    """The names that a source gives to things, of those that say nothing."""
    names: list[str | None] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.MatchAs | ast.MatchStar):
            names.append(node.name)
        elif isinstance(node, ast.ClassDef):
            names.append(node.name.lower())
        elif isinstance(node, ast.arg):
            names.append(node.arg)
        elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            names.append(node.id if isinstance(node, ast.Name) else node.attr)
    return {name.strip("_") for name in names if name is not None} & EMPTY


@pytest.mark.slow
def test_names_say_which_thing_they_hold() -> None:
    paths = [path for folder in ("fawkes", "policies", "playbooks", "bench") for path in (ROOT / folder).rglob("*.py")]
    empty = {f"{path.relative_to(ROOT)}: {name}" for path in paths for name in empty_names(path.read_text())}
    assert empty == set(KEPT)


@pytest.mark.parametrize(
    "source",
    ["found = 1", "self._found = 1", "x = [found for found in y]", "found: int", "def f(found): ...",
     "def _found(): ...", "async def found(): ...", "match x:\n    case [found, *y]: ...", "lambda found: 1",
     "class found: ..."],
)  # fmt: skip
def test_each_kind_of_name_is_looked_at(source: str) -> None:
    assert empty_names(source) == {"found"}
    assert empty_names(source.replace("found", "founded")) == set()


#: two parts of the same name, where ledgers or files of users have both
SHARED = {"Done": "a ledger's event, and what an admission policy learns from"}


@pytest.mark.slow
def test_a_public_class_has_its_name_alone() -> None:
    """A name that is read, or searched for, stands for a single thing."""
    texts = (path.read_text() for path in (ROOT / "fawkes").rglob("*.py"))
    names = Counter(name for text in texts for name in re.findall(r"^class (\w+)", text, re.MULTILINE))
    assert {name for name, times in names.items() if times > 1 and not name.startswith("_")} == set(SHARED)
