"""Messages, help and docstrings name only commands and options that there are."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path

import click
import pytest

import fawkes
from tests.support.typed import check_names

PACKAGE = Path(fawkes.__file__).parent
#: a command in a text: up to what ends it there, such as the closing backtick
_COMMAND = re.compile(r"(?<![\w./'-])fawkes((?: +[^\s`;,()]+)+)")


def _naming(pattern: str | re.Pattern[str]) -> Iterator[Path]:
    """The files of the package in which something fits, wherever it stands: to parse all of them takes seconds."""
    return (file for file in sorted(PACKAGE.rglob("*.py")) if re.search(pattern, file.read_text(encoding="utf-8")))


def texts(file: Path) -> Iterator[tuple[int, str]]:
    """All texts of a Python file with their lines; what an f-string inserts stands there as X."""
    parts = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.JoinedStr):
            parts |= {id(part) for part in node.values}
            words = (str(part.value) if isinstance(part, ast.Constant) else "X" for part in node.values)
            yield node.lineno, "".join(words)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
            # What `format` fills in later, and the doubled braces of a template.
            yield node.lineno, re.sub(r"\{+\w+\}+", "X", node.value)


def _split(words: str) -> list[str]:
    """The words as a shell splits them; a quote that is not closed is one of the text around the command."""
    try:
        return shlex.split(words)
    except ValueError:
        return words.replace("'", " ").replace('"', " ").split()


@cache
def named() -> dict[str, str]:
    """Each command that a text of the package names, and where it stands."""
    by_command: dict[str, str] = {}
    for file in _naming(_COMMAND):
        for line, text in texts(file):
            for words in _COMMAND.findall(text):
                alternatives = [word.rstrip(".:").split("|") for word in _split(words)]
                for choice in product(*alternatives):
                    command = shlex.join(("fawkes", *filter(None, choice)))
                    by_command.setdefault(command, f"{file.relative_to(PACKAGE.parent)}:{line}")
    return by_command


def test_the_texts_are_found() -> None:
    assert {"fawkes dist get X", "fawkes status --watch", "fawkes release X --discard-data"} <= named().keys()


def test_commands_that_texts_name_are_there() -> None:
    wrong = []
    for command, place in named().items():
        try:
            check_names(shlex.split(command))
        except click.UsageError as error:
            wrong.append(f"{place} says {command!r}: {error.format_message()}")
    assert wrong == []


@pytest.mark.parametrize(
    "words",
    [
        "fawkes spread",
        "fawkes dist spread",
        "fawkes simulate -x DIR",
        "fawkes simulate A -o DIR",
        "fawkes jobs --all=1",
    ],
)
def test_a_wrong_name_would_be_found(words: str) -> None:
    with pytest.raises(click.UsageError):
        check_names(words.split())


@pytest.mark.slow
def test_messages_name_pages_and_no_files_of_the_checkout() -> None:
    """The wheel has the pages elsewhere. Docstrings may name files: who reads them has the checkout."""
    named = [
        f"{file.relative_to(PACKAGE.parent)}:{line}"
        for file in _naming("docs/")
        for line, text in texts(file)
        if re.search(r"\bdocs/[\w/]+\.md", text) and "\n" not in text
    ]
    assert named == []
