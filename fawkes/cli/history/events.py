"""`fawkes events`: what happened and what was decided, as the ledger has it."""

from __future__ import annotations

import csv
import json
import re
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from fawkes.base.units import SECOND_US, duration_us
from fawkes.cli.asking.ledger import ledger_of
from fawkes.cli.asking.parsed import Parsed, moment_us
from fawkes.cli.show.limit import ALL, DEFAULT, limit_option, tell_omitted
from fawkes.cli.show.show import CSV, JSON, JSON_VERSION, csv_value, output_option, show
from fawkes.cli.show.tables import TABLES
from fawkes.cli.show.visible import echo
from fawkes.config.site.site import Site
from fawkes.core.values.events import EVENTS

if TYPE_CHECKING:
    from fawkes.store.sqlite import LedgerReader

_LOOK_S = 0.5
#: how many steps are read at first when the newest ones are looked for, and at most at once
_PIECE, _LARGEST_PIECE = 256, 65_536
#: how many older steps are looked at to tell people how many there are
_COUNTED = 10_000

Row = dict[str, Any]

_SIMULATED = re.compile(r"\+(\d{2,6}):([0-5]\d)(?::([0-5]\d(?:\.\d+)?))?")


def _said_us(text: str) -> int:
    simulated = _SIMULATED.fullmatch(text)
    if simulated:
        hours, minutes, seconds = simulated.groups()
        return round((int(hours) * 3600 + int(minutes) * 60 + float(seconds or 0)) * SECOND_US)
    try:
        return -duration_us(text)
    except ValueError:
        pass
    try:
        return moment_us(text)
    except ValueError:
        raise ValueError(f"{text!r} is neither how long ago (10m, 2h) nor a time (2026-05-04T12:00, UTC)") from None


#: a time such as ``2026-05-04T12:00``, how long ago (``10m``), or, in a simulated run, how long after its start
#: (``+00:05:20``): microseconds since the epoch, below zero: before now. `time_in` tells it in a ledger
TIME = Parsed("time", _said_us)


def time_in(ledger: LedgerReader, said_us: int | None) -> int | None:
    """The time that a `TIME` says, by the ledger's own time; None where nothing was said."""
    from fawkes.report.history import now_us

    return said_us if said_us is None or said_us >= 0 else max(0, now_us(ledger) + said_us)


def _kind_of(text: str) -> str:
    """The kind of event as the ledger has it, by its name in any case; ValueError suggests one."""
    import difflib

    kinds = {form.__name__.lower(): form.__name__ for form in EVENTS}
    if text.lower() not in kinds:
        near = difflib.get_close_matches(text.lower(), kinds, n=1)
        advice = f"Did you mean {kinds[near[0]]!r}?" if near else f"There are {', '.join(sorted(kinds.values()))}."
        raise ValueError(f"there are no events of the kind {text!r}. {advice}")
    return kinds[text.lower()]


_KIND = Parsed("kind", _kind_of)


@click.command()
@click.option("--follow", is_flag=True, help="Keep showing new events until interrupted.")
@limit_option("50; with --since: all")
@click.option("--since", "since_us", type=TIME, help="Only from this time on: 10m, or 2026-05-04T12:00 (UTC).")
@click.option("--kind", "kinds", type=_KIND, multiple=True, help="Only events of this kind; repeatable.")
@click.option("--all", "everything", is_flag=True, help="Also show steps without a decision, such as most samples.")
@click.option("--verify", is_flag=True, help="Check the whole ledger, step by step, instead.")
@output_option
@click.pass_obj
def events(
    site: Site,
    follow: bool,
    limit: int | None,
    since_us: int | None,
    kinds: tuple[str, ...],
    everything: bool,
    verify: bool,
    output: str,
) -> None:
    """Show what happened and what was decided, newest last.

    With --follow, JSON has one object on each line. Otherwise "total" says how many rows there are in all.
    """
    if verify and (follow or limit is not None or since_us is not None or kinds or everything):
        raise click.UsageError("--verify checks the whole ledger: it takes no other option but -o.")
    with ledger_of(site) as ledger:
        if verify:
            _verify(ledger, output)
            return
        wanted = _Wanted(ledger.seq_at(time_in(ledger, since_us) or 0), kinds, everything)
        if limit is None:
            limit = DEFAULT if since_us is None else ALL
        if follow:
            _follow(ledger, wanted, limit, output)
        else:
            _stored(ledger, wanted, limit, output)


@dataclass(frozen=True)
class _Wanted:
    """The steps that are shown: those after a number, of some kinds, with or without those that decided nothing."""

    after: int
    kinds: Sequence[str]
    everything: bool

    def rows(self, ledger: LedgerReader, after: int, last: int) -> Iterator[Row]:
        """The rows after one step up to another, oldest first."""
        from fawkes.report.tables.rows import step_row

        rows = map(step_row, ledger.entries(after, kinds=self.kinds, last=last))
        return (row for row in rows if self.everything or row["decided"])

    def count(self, ledger: LedgerReader, last: int, after: int) -> int:
        """The number of rows up to a step, of those after another."""
        return ledger.count(last, after=max(self.after, after), kinds=self.kinds, deciding=not self.everything)


def _newest(ledger: LedgerReader, wanted: _Wanted, limit: int, last: int) -> tuple[list[Row], int]:
    """The newest rows up to a step, oldest first, and the number of the step before the oldest that was read.

    Read from the end, in ever larger pieces: a ledger of a month has hundreds of thousands of steps.
    """
    pieces: list[list[Row]] = []
    piece, count = _PIECE, 0
    while last > wanted.after and count < limit:
        after = max(wanted.after, last - piece)
        pieces.append(list(wanted.rows(ledger, after, last)))
        count += len(pieces[-1])
        last, piece = after, min(2 * piece, _LARGEST_PIECE)
    return [row for rows in reversed(pieces) for row in rows], last


def _stored(ledger: LedgerReader, wanted: _Wanted, limit: int, output: str) -> None:
    last = ledger.last_seq()
    if limit == ALL:
        _write(wanted.rows(ledger, wanted.after, last), output)
        return
    rows, before = _newest(ledger, wanted, limit, last)
    # Counting a month takes seconds: people learn in time that there are many, programs how many.
    uncounted = 0 if output == JSON else max(wanted.after, before - _COUNTED)
    total = len(rows) + wanted.count(ledger, before, uncounted)
    rows = rows[-limit:]
    _write(rows, output, total)
    tell_omitted(len(rows), total, "steps", more=uncounted > wanted.after)


def _follow(ledger: LedgerReader, wanted: _Wanted, limit: int, output: str) -> None:
    last = ledger.last_seq()
    first: Iterable[Row] = (
        wanted.rows(ledger, wanted.after, last) if limit == ALL else _newest(ledger, wanted, limit, last)[0][-limit:]
    )
    write = _write_csv if output == CSV else _write_json_lines if output == JSON else _write_lines
    write(_followed(ledger, wanted, first, last))


def _followed(ledger: LedgerReader, wanted: _Wanted, first: Iterable[Row], last: int) -> Iterator[Row]:
    """These rows, and for ever those that come after a step."""
    yield from first
    while True:
        sys.stdout.flush()
        time.sleep(_LOOK_S)
        end = ledger.last_seq()
        yield from wanted.rows(ledger, last, end)
        last = end


def _verify(ledger: LedgerReader, output: str) -> None:
    count = ledger.verify()
    show(
        [{"ledger": str(ledger.path), "steps": count, "pool_id": ledger.identity().pool_id, "sound": True}],
        TABLES["events --verify"],
        output,
    )


def _write(rows: Iterable[Row], output: str, total: int | None = None) -> None:
    """The rows in a form; of JSON ``total`` is what there is in all, without it the number of rows."""
    if output == JSON:
        _write_json(rows, total)
    elif output == CSV:
        _write_csv(rows)
    else:
        show([{**row, "story": _story(row)} for row in rows], TABLES["events"], output)


def _story(row: Row) -> str:
    """The text of a row: what happened, and below it what was decided."""
    return "\n".join([*filter(None, [row["what"]]), *(f"- {text}" for text in row["decided"])])


def _write_json(rows: Iterable[Row], total: int | None) -> None:
    """Write rows as `show` does, but one by one: a ledger may be larger than the memory."""
    click.echo(f'{{\n  "version": {JSON_VERSION},\n  "rows": [', nl=False)
    count = 0
    for count, row in enumerate(rows, 1):
        click.echo(("\n" if count == 1 else ",\n") + json.dumps(row, allow_nan=False), nl=False)
    click.echo(f'\n  ],\n  "total": {count if total is None else total}\n}}')


def _write_json_lines(rows: Iterable[Row]) -> None:
    for row in rows:
        click.echo(json.dumps(row, allow_nan=False))


def _write_csv(rows: Iterable[Row]) -> None:
    keys = TABLES["events"].all_keys
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(keys)
    for row in rows:
        writer.writerow([csv_value(row[key]) for key in keys])


def _write_lines(rows: Iterable[Row]) -> None:
    for row in rows:
        echo(f"{row['time']}  {row['kind']}: {row['what']}")
        for text in row["decided"]:
            echo(f"    {text}")
