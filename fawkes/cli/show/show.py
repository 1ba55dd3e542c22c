"""Results and progress for people and programs: tables, JSON and CSV on stdout, progress on stderr."""

from __future__ import annotations

import csv
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

from fawkes.base.visible import visible
from fawkes.cli.show.layout import drawn
from fawkes.cli.show.tables import Table
from fawkes.cli.show.visible import echo, line_limit

if TYPE_CHECKING:
    from rich.console import Console

F = TypeVar("F", bound=Callable[..., Any])
Step = Callable[[str], None]
Row = Mapping[str, object]

TABLE, WIDE, JSON, CSV = "table", "wide", "json", "csv"
JSON_VERSION = 2


class Wide(str):
    """`TABLE` with every column: equal to it, so that a verb need not know the difference."""

    __slots__ = ()


def output_option(function: F) -> F:
    """``-o table|wide|json|csv`` for a verb, which gets it as ``output``; wide is a `TABLE` with all columns."""
    return click.option(
        "-o",
        "--output",
        type=click.Choice([TABLE, WIDE, JSON, CSV]),
        callback=lambda _ctx, _param, value: Wide(TABLE) if value == WIDE else value,
        default=TABLE,
        show_default=True,
        help="Output format; wide is a table with all columns.",
    )(function)


def show(
    rows: Sequence[Row],
    table: Table,
    output: str,
    title: str | None = None,
    *,
    envelope: Mapping[str, object] | None = None,
) -> None:
    """Rows on stdout: a table for people; CSV of all columns with plain values; JSON with the whole rows.

    JSON is ``{"version": 2, "rows": [...]}`` and what ``envelope`` has besides. The version grows when a key changes
    its meaning or goes away.
    """
    if output == JSON:
        shown = {"version": JSON_VERSION, "rows": list(rows), **(envelope or {})}
        click.echo(json.dumps(shown, indent=2, allow_nan=False, default=dict))
    elif output == CSV:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        keys = table.all_keys
        writer.writerow(keys)
        writer.writerows([csv_value(row.get(key)) for key in keys] for row in rows)
    else:
        click.echo("\n".join(drawn(console(), rows, table, wide=isinstance(output, Wide), title=title)))


def section(sentence: str, rows: Sequence[Row], table: Table, output: str) -> None:
    """A further table behind an empty line, below a sentence that says what it has."""
    say("")
    say(sentence)
    show(rows, table, output)


def csv_value(value: object) -> object:
    """A value as CSV has it: lists and mappings as JSON, texts `visible`."""
    if isinstance(value, str):
        return visible(value)
    return json.dumps(value, default=dict) if isinstance(value, Mapping | list | tuple) else value


def console(*, stderr: bool = False) -> Console:
    """A rich console on stdout or stderr: no line breaks of its own off a terminal, no escapes where none are wanted.

    Colours and bold letters are only for a terminal, and only without NO_COLOR.
    """
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    terminal = stream.isatty()
    # Off a terminal rich assumes 80 columns and would break what a script wants to read.
    width = None if terminal or "COLUMNS" in os.environ else 10_000
    return Console(
        file=stream,
        width=width,
        force_terminal=None if terminal else False,
        color_system=None if os.environ.get("NO_COLOR") else "auto",
        highlight=False,
        markup=False,
    )


def say(text: str, indent: str = "") -> None:
    """A sentence on stdout; where lines are limited it goes on in further lines, behind ``indent``, broken at words."""
    limit = line_limit()
    if limit is None:
        echo(text)
        return
    import textwrap

    wrapper = textwrap.TextWrapper(limit, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    echo(wrapper.fill(visible(text)))


def quiet() -> bool:
    """True if the user wants no progress and no notes (`fawkes --quiet`), asked in the thread of the command."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.find_root().params.get("quiet"))


def note(text: str) -> None:
    """One line of progress on stderr; nothing with --quiet."""
    if not quiet():
        warn(text)


def warn(text: str) -> None:
    """One line on stderr that must be seen, also with --quiet: what failed, or what is at stake."""
    echo(text, err=True)


@contextmanager
def progress(title: str, total: int | None = None) -> Iterator[Step]:
    """Progress of long work on stderr: a bar on a terminal, else a line for each step; nothing with --quiet.

    Yields ``step(text)``, which says what has just been done; ``total`` is the number of steps, if known.
    """
    if quiet():
        yield lambda _text: None
        return
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
            bar.update(task, advance=1, description=visible(f"{title}: {text}"))

        yield advance
