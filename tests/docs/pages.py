"""The pages that users read, their blocks of shell commands, and the commands inside of their sentences."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
_FENCED = re.compile(r"^( *)```(\w*)\n(.*?)^ *```$", re.DOTALL | re.MULTILINE)
#: what joins commands, and what follows the words of a command
_JOINS = {"&&", "&", "|", ";", "||"}
_REDIRECTS = {">", ">>", "<", "2>"}


def name_of(page: Path) -> str:
    """The page's path below the project, for the names of tests."""
    return str(page.relative_to(ROOT))


def blocks(page: Path, language: str) -> list[str]:
    """The code blocks of a page in this language, those inside of lists included."""
    fences = _FENCED.findall(page.read_text(encoding="utf-8"))
    return [
        "\n".join(line.removeprefix(indent) for line in text.splitlines())
        for indent, written, text in fences
        if written == language
    ]


def commands(text: str) -> Iterator[list[str]]:
    """The words of each command of a block, without comments, redirections and here-documents."""
    end = ""
    for line in text.replace("\\\n", " ").splitlines():
        if end:
            end = "" if line.strip() == end else end
            continue
        here = re.search(r"<<\s*'?(\w+)'?", line)
        end = here[1] if here else ""
        yield from _of_line(line[: here.start()] if here else line)


def _of_line(line: str) -> Iterator[list[str]]:
    words: list[str] = []
    for word in [*shlex.split(line, comments=True), "&&"]:
        if word not in _JOINS:
            words.append(word)
            continue
        cut = next((at for at, each in enumerate(words) if each in _REDIRECTS), len(words))
        if words[:cut]:
            yield words[:cut]
        words = []


def mentions(page: Path) -> list[str]:
    """Each `fawkes ...` in the sentences and tables of a page, blocks of code aside."""
    text = _FENCED.sub("", page.read_text(encoding="utf-8"))
    return sorted(set(re.findall(r"`(fawkes [^`\n]+)`", text)))
