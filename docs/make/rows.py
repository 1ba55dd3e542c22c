"""Columns of tables and keys of JSON."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Mapping, Sequence

import fawkes.cli
from docs.make.table import code, table
from fawkes.cli.show import Column


def rows() -> str:
    """For each verb that shows rows: the headings of its tables, and the keys of CSV and JSON."""
    sections = []
    for verb, tables in _verbs():
        columns = {column.key: column for each in tables for column in each}
        lines = [(code(key), column.title or key.replace("_", " ")) for key, column in columns.items()]
        sections.append(f"## `fawkes {verb}`\n\n{table(['key', 'heading'], lines)}")
    return "\n\n".join(sections)


def _verbs() -> Iterator[tuple[str, list[Sequence[Column]]]]:
    for module in pkgutil.iter_modules(fawkes.cli.__path__):
        found = vars(importlib.import_module(f"fawkes.cli.{module.name}"))
        tables = list(_tables(found))
        if tables:
            yield module.name.removesuffix("_files").removesuffix("_change"), tables


def _tables(names: Mapping[str, object]) -> Iterator[Sequence[Column]]:
    for value in names.values():
        if isinstance(value, list | tuple) and value and all(isinstance(each, Column) for each in value):
            yield value
