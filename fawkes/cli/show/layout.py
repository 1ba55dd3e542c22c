"""Tables that fit a terminal: columns go before a value is broken; only a sentence in the last column wraps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from fawkes.base.visible import visible
from fawkes.cli.show.fields import FIELDS
from fawkes.cli.show.tables import Table
from fawkes.cli.show.visible import line_limit

Row = Mapping[str, object]

_GAP = 2
#: a sentence gets at least that much room before other columns go
_LEAST_TEXT = 20
_STYLES = {
    "health": {"green": "green", "yellow": "yellow", "red": "red"},
    "state": {"lost": "red", "failed": "red", "out": "yellow"},
}


@dataclass(frozen=True)
class _Column:
    """The cells of one column, and how wide they are unbroken."""

    key: str
    cells: tuple[str, ...]

    @property
    def heading(self) -> str:
        return FIELDS[self.key].heading

    @property
    def wraps(self) -> bool:
        return FIELDS[self.key].shape.wraps

    @property
    def width(self) -> int:
        return max(cell_len(line) for cell in (self.heading, *self.cells) for line in cell.split("\n"))

    @property
    def longest_word(self) -> int:
        return max(cell_len(word) for cell in (self.heading, *self.cells) for word in cell.split() or [""])


@dataclass(frozen=True)
class Layout:
    """A table that fits: the grid, its width, and how many columns had to go."""

    grid: Grid
    width: int
    dropped: int


def drawn(out: Console, rows: Sequence[Row], table: Table, *, wide: bool, title: str | None = None) -> list[str]:
    """The lines of a table for a console, unbroken off a terminal without COLUMNS and with ``wide``."""
    layout = fitted(rows, table, None if wide else line_limit(), wide=wide)
    out.width = max(layout.width, cell_len(title or ""), 1)
    with out.capture() as capture:
        if title:
            out.print(Text(title, style="bold"))
        out.print(layout.grid)
    lines = [line.rstrip() for line in capture.get().splitlines()]
    return lines + ([more(layout.dropped)] if layout.dropped else [])


def more(dropped: int) -> str:
    """The last line of a table that had to leave columns out."""
    return f"{dropped} more column{'' if dropped == 1 else 's'}: -o wide"


def fitted(rows: Sequence[Row], table: Table, limit: int | None, *, wide: bool = False) -> Layout:
    """A table within ``limit`` columns of a terminal; None is no limit."""
    keys = table.all_keys if wide else table.keys
    columns = [_Column(key, tuple(visible(FIELDS[key].cell(row)) for row in rows)) for key in keys]
    order = [*table.drop, *(key for key in reversed(keys) if key not in table.drop)]
    while limit is not None and len(columns) > 1 and _needed(columns, table, limit) > limit:
        gone = next(key for key in order if key in {column.key for column in columns[1:]})
        columns = [column for column in columns if column.key != gone]
    natural = sum(column.width for column in columns) + _GAP * (len(columns) - 1)
    width = natural if limit is None else min(natural, limit)
    return Layout(_grid(columns, table, width), width, len(keys) - len(columns))


def _needed(columns: Sequence[_Column], table: Table, limit: int) -> int:
    """The least width at which no value is broken; a word that takes half of the terminal may be."""
    *others, last = columns
    least = last.width
    if last.wraps or _is_cut(last, table):
        word = 0 if _is_cut(last, table) else min(last.longest_word, limit // 2)
        least = min(last.width, max(_LEAST_TEXT, word))
    return sum(column.width for column in others) + _GAP * len(others) + least


def _is_cut(column: _Column, table: Table) -> bool:
    return table.cut and column.key == table.keys[-1]


def _grid(columns: Sequence[_Column], table: Table, width: int) -> Grid:
    *others, last = columns
    grid = Grid(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, _GAP - 1, 0, 0), header_style="bold")
    for column in others:
        grid.add_column(Text(column.heading), justify=_side(column), no_wrap=True, min_width=column.width)
    room = max(width - sum(column.width for column in others) - _GAP * len(others), 1)
    cut = _is_cut(last, table)
    grid.add_column(
        Text(last.heading), justify=_side(last), width=room, no_wrap=cut, overflow="ellipsis" if cut else "fold"
    )
    for cells in zip(*(column.cells for column in columns), strict=True):
        # Cells are Text: a node set such as node[01-10] would be taken for markup and vanish.
        grid.add_row(*(Text(cell, _style(column.key, cell)) for column, cell in zip(columns, cells, strict=True)))
    return grid


def _side(column: _Column) -> Literal["left", "right"]:
    return "right" if FIELDS[column.key].shape.right else "left"


def _style(key: str, cell: str) -> str:
    return _STYLES.get(key, {}).get(cell, "")
