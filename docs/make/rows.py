"""Columns of tables and keys of JSON, from the one list of what rows have."""

from __future__ import annotations

from docs.make.table import code, table
from fawkes.cli.show.fields import FIELDS
from fawkes.cli.show.tables import COMBINED, TABLES


def tables() -> str:
    """The columns of each table: those that are shown, and those that ``-o wide`` shows besides."""
    rows = [(_name(name), _keys(each.keys), _keys(each.wide)) for name, each in TABLES.items()]
    return table(["table", "columns", "further ones of `-o wide`"], rows)


def rows() -> str:
    """Each key: its heading in tables, the kind of its values, and what it says."""
    fields = sorted(FIELDS.values(), key=lambda field: field.key)
    shown = [(code(each.key), each.heading, each.shape.name, each.about) for each in fields if each.key not in COMBINED]
    return table(["key", "heading", "value", "meaning"], shown)


def _keys(keys: tuple[str, ...]) -> str:
    return ", ".join(FIELDS[key].heading if key in COMBINED else code(key) for key in keys)


def _name(name: str) -> str:
    """The command, and which of its tables it is when it has several."""
    command, _, part = name.partition(", ")
    return code(f"fawkes {command}") + (f", {part}" if part else "")
