"""Workloads that are made of others: the tables of a file behind those of the files that it includes."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

from fawkes.base.errors import ConfigError
from fawkes.config.files.loader import Strict, check, read_toml

M = TypeVar("M", bound=Strict)

MOST_INCLUDED = 100

LISTS = ("generate", "cluster", "job", "load")
"""What is taken of an included file; title, hosts, settings, model and pool are those of the file that includes."""


def load_including(model: type[M], path: Path, *, hint: str = "") -> M:
    """A file of workloads as a checked ``model``; ConfigError names the file in which something is wrong.

    An included file lies beside the one that includes it, since its paths count from its folder, and includes none
    itself. ``hint`` is what to do when there is no file ``path``.
    """
    return check(model, tables_including(model, path, hint=hint), file=str(path))


def tables_including(model: type[M], path: Path, *, hint: str = "") -> dict[str, Any]:
    """The tables of a file with those of the files that it includes; only the latter are checked."""
    said = read_toml(path, hint=hint)
    names = said.get("include", [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        return said
    if len(names) > MOST_INCLUDED:
        hint = f"Include at most {MOST_INCLUDED}"
        raise ConfigError(f"{len(names):,} files are too many", file=str(path), key="include", hint=hint)
    below = [_included(model, path, name, f"include[#{number}]") for number, name in enumerate(names, 1)]
    for key in LISTS:
        rows = [row for table in below for row in table.get(key, [])]
        if rows:
            said[key] = [*rows, *said.get(key, [])]
    return said


def _included(model: type[Strict], path: Path, name: str, key: str) -> dict[str, Any]:
    if Path(name).name != name:
        hint = "Its own paths count from its folder: put it beside this file"
        raise ConfigError(f"{name!r} is not beside this file", file=str(path), key=key, hint=hint)
    other = path.parent / name
    said = read_toml(other, hint=f"{key} of {path} names it")
    if "include" in said:
        raise ConfigError("includes others, and is included", file=str(other), key="include", hint="Name those as well")
    check(model, said, file=str(other))
    return said
