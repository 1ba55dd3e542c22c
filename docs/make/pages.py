"""Which files are made from the code, and what each of them has to say now."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from docs.make import codes, commands, keys, needs, readings, reasons, rooms, rows

Maker = Callable[..., str]

MAKERS: Mapping[str, Maker] = {
    "commands": commands.commands,
    "containers": needs.containers,
    "daemons": needs.daemons,
    "errors": codes.errors_table,
    "exit-codes": codes.exit_codes,
    "figures": readings.figures,
    "java": needs.java,
    "keys": keys.keys,
    "more-keys": keys.more_keys,
    "owned-keys": keys.owned_keys,
    "ports": needs.ports,
    "presets": keys.presets,
    "programs": needs.programs,
    "readings": readings.readings,
    "reasons": reasons.reasons,
    "rooms": rooms.table_of_rooms,
    "folders": rooms.table_of_folders,
    "subjects": rooms.table_of_subjects,
    "rows": rows.rows,
    "tables": rows.tables,
    "verdicts": reasons.verdicts,
}
"""The parts by their names; the words behind a name in a page are the arguments of its function."""

_PART = re.compile(r"<!-- made: (?P<words>[^>]+) -->\n.*?<!-- end -->", re.DOTALL)


def remade(text: str) -> str:
    """The text of a page with each made part written anew; KeyError for a part that no function makes."""
    return _PART.sub(_remade, text)


def _remade(match: re.Match[str]) -> str:
    name, *words = match["words"].split()
    return f"<!-- made: {match['words']} -->\n\n{MAKERS[name](*words).strip()}\n\n<!-- end -->"


def made(root: Path) -> dict[Path, str]:
    """Each file of ``root/docs`` that has made parts, or is made as a whole, with the text that it should have."""
    texts = {path: path.read_text(encoding="utf-8") for path in sorted((root / "docs").rglob("*.md"))}
    found = {path: remade(text) for path, text in texts.items() if _PART.search(text)}
    return {**found, root / "docs" / "architecture.svg": rooms.picture()}


def parts(root: Path) -> list[list[str]]:
    """The name and the words of each made part, over all pages."""
    pages = sorted((root / "docs").rglob("*.md"))
    return [match["words"].split() for path in pages for match in _PART.finditer(path.read_text(encoding="utf-8"))]
