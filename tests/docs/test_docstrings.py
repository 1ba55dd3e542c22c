"""Docstrings say what comes back: each begins with a noun or a verb, never with a question or a preposition."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from tests.docs.pages import ROOT, name_of

#: first words after which a reader does not know yet which thing is meant
FORBIDDEN = {"As", "By", "Of", "What", "Whether", "Who", "Whom", "Whose"}
#: the same in all but tests
MORE = {
    "After", "At", "Because", "Before", "Behind", "Between", "For", "From", "How", "If", "In", "On", "Once", "Since",
    "So", "That", "To", "Under", "Until", "When", "Where", "Which", "While", "Why", "With", "Within", "Without",
}  # fmt: skip


def begun_wrongly(source: str, forbidden: set[str]) -> Iterator[str]:
    """The names whose docstrings begin with a forbidden word, each with that word."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            for first in (ast.get_docstring(node) or "").split()[:1]:
                if (word := first.rstrip(".,:;")) in forbidden:
                    yield f"{getattr(node, 'name', 'module')}: {word}"


@pytest.mark.slow
def test_docstrings_begin_with_what_comes_back() -> None:
    wrong = {}
    for folder in ("fawkes", "playbooks", "policies", "tests"):
        forbidden = FORBIDDEN if folder == "tests" else FORBIDDEN | MORE
        for path in sorted((ROOT / folder).rglob("*.py")):
            source = path.read_text(encoding="utf-8")
            # No docstring of a file can begin so if no text does: to parse all files takes seconds.
            if re.search(rf"[\"']\s*(?:{'|'.join(forbidden)})\b", source):
                wrong[name_of(path)] = list(begun_wrongly(source, forbidden))
    assert {path: names for path, names in wrong.items() if names} == {}


def test_each_kind_of_docstring_is_looked_at() -> None:
    source = (
        '"""What."""\nclass A:\n    """Of it."""\n    def f(self):\n        """By name."""\n\n    async def g(): ...\n'
    )
    assert list(begun_wrongly(source, FORBIDDEN)) == ["module: What", "A: Of", "f: By"]
