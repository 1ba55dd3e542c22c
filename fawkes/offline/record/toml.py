"""Writing TOML: the standard library only reads it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from fawkes.workload.formats.table import seconds_text


def value(item: Any) -> str:
    """A value on one line: text, number, truth, list or inline table."""
    if isinstance(item, bool):
        return "true" if item else "false"
    if isinstance(item, str):
        # DEL is a control character to TOML and none to JSON.
        return json.dumps(item, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(item, Mapping):
        return f"{{ {', '.join(f'{key(name)} = {value(each)}' for name, each in item.items())} }}" if item else "{}"
    if isinstance(item, list | tuple):
        return f"[{', '.join(map(value, item))}]"
    return repr(item)


def key(name: str) -> str:
    """A key, in quotes where it needs them."""
    return name if name and all(c.isascii() and (c.isalnum() or c in "_-") for c in name) else value(name)


def table(said: Mapping[str, Any], *, notes: Mapping[str, str] = {}) -> Iterable[str]:
    """A line for each key, with a comment behind those that ``notes`` have; None is left out."""
    for name, item in said.items():
        if item is not None:
            note = f"  # {' '.join(notes[name].split())}" if name in notes else ""
            yield f"{key(name)} = {value(item)}{note}"


def rows(name: str, each: Iterable[Mapping[str, Any]]) -> Iterable[str]:
    """A list of inline tables, one on a line."""
    yield f"{name} = ["
    for row in each:
        yield f"    {value(row)},"
    yield "]"


def duration(us: int) -> str:
    """A duration to the microsecond, such as ``90s`` or ``0.75s``, as it is read back."""
    return f"{seconds_text(us)}s"


def size(count: int) -> str:
    """A size to the byte, as it is read back."""
    return f"{count}B"
