"""How results and progress reach people and programs: tables, JSON and CSV on stdout, progress on stderr."""

from __future__ import annotations

import csv
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from rich.console import Console

F = TypeVar("F", bound=Callable[..., Any])
Step = Callable[[str], None]

TABLE, JSON, CSV = "table", "json", "csv"
JSON_VERSION = 1
NOTHING = "-"


@dataclass(frozen=True)
class Column:
    """One column of the table and of CSV: the rows' ``key``; ``title`` and ``text`` of a value are for people.

    ``right`` aligns numbers; without ``title`` the key serves, with spaces for its underscores.
    """

    key: str
    title: str = ""
    text: Callable[[Any], str] = str
    right: bool = False

    def cell(self, row: Mapping[str, object]) -> str:
        """The value for people; a dash when there is none."""
        value = row.get(self.key)
        return NOTHING if value is None else self.text(value)


def output_option(function: F) -> F:
    """``-o table|json|csv`` for a verb, which gets it as ``output``."""
    return click.option(
        "-o",
        "--output",
        type=click.Choice([TABLE, JSON, CSV]),
        default=TABLE,
        show_default=True,
        help="How the result is written.",
    )(function)


def show(
    rows: Sequence[Mapping[str, object]], columns: Sequence[Column], output: str, title: str | None = None
) -> None:
    """Rows on stdout: a table for people; CSV of the same columns with plain values; JSON with the whole rows.

    JSON is ``{"version": 1, "rows": [...]}``; the version grows when a key changes its meaning or goes away.
    """
    if output == JSON:
        shown = {"version": JSON_VERSION, "rows": list(rows)}
        click.echo(json.dumps(shown, indent=2, allow_nan=False, default=dict))
    elif output == CSV:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow([column.key for column in columns])
        writer.writerows([_flat(row.get(column.key)) for column in columns] for row in rows)
    else:
        _table(rows, columns, title)


def _flat(value: object) -> object:
    return json.dumps(value, default=dict) if isinstance(value, Mapping | list | tuple) else value


def _table(rows: Sequence[Mapping[str, object]], columns: Sequence[Column], title: str | None) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    # Cells are Text: a node set such as node[01-10] would be taken for markup and vanish.
    table = Table(
        box=box.SIMPLE_HEAD, pad_edge=False, title=title and Text(title), title_justify="left", header_style="bold"
    )
    for column in columns:
        heading = column.title or column.key.replace("_", " ")
        table.add_column(Text(heading), justify="right" if column.right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(column.cell(row)) for column in columns))
    out = console()
    with out.capture() as capture:
        out.print(table)
    lines = (line.rstrip() for line in capture.get().splitlines())
    click.echo("\n".join(lines).strip("\n"))


def console(*, stderr: bool = False) -> Console:
    """A rich console on stdout or stderr; no colours and no line breaks of its own off a terminal."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    terminal = stream.isatty()
    # Off a terminal rich assumes 80 columns and would break what a script wants to read.
    width = None if terminal or "COLUMNS" in os.environ else 10_000
    return Console(file=stream, width=width, force_terminal=None if terminal else False, highlight=False, markup=False)


def note(text: str) -> None:
    """One line of progress on stderr."""
    click.echo(text, err=True)


@contextmanager
def progress(title: str, total: int | None = None) -> Iterator[Step]:
    """Progress of long work on stderr: a bar on a terminal, else a line for each step.

    Yields ``step(text)``, which says what has just been done; ``total`` is the number of steps, if known.
    """
    if not sys.stderr.isatty():
        done = 0

        def line(text: str) -> None:
            nonlocal done
            done += 1
            note(f"{title}: {text}" if total is None else f"{title} {done}/{total}: {text}")

        yield line
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn
    from rich.progress import TimeElapsedColumn as Elapsed

    count = [MofNCompleteColumn()] if total is not None else []
    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(), *count, Elapsed())
    with Progress(*columns, console=console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=total)

        def advance(text: str) -> None:
            bar.update(task, advance=1, description=f"{title}: {text}")

        yield advance
