"""`fawkes events`: what happened and what was decided, as the ledger has it."""

from __future__ import annotations

import csv
import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from fawkes.cli.show import CSV, JSON, JSON_VERSION, Column, output_option
from fawkes.config.site import Site
from fawkes.units import SECOND_US, duration_us

if TYPE_CHECKING:
    from fawkes.store.sqlite import LedgerReader

_LOOK_S = 0.5

Row = dict[str, Any]


class Moment(click.ParamType[int]):
    """A time such as ``2026-05-04T12:00``, or how long ago, such as ``10m``; the command gets microseconds."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Microseconds since the epoch; a usage error tells the right forms."""
        if isinstance(value, int):
            return value
        try:
            return time.time_ns() // 1000 - duration_us(value)
        except ValueError:
            pass
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            self.fail(f"{value!r} is neither how long ago (10m, 2h) nor a time (2026-05-04T12:00, UTC)", param, ctx)
        return round(moment.replace(tzinfo=moment.tzinfo or UTC).timestamp() * SECOND_US)


class Kind(click.ParamType[str]):
    """A kind of event by its name, in any case."""

    name = "kind"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name as the ledger has it; a usage error suggests one."""
        import difflib

        from fawkes.core.events import EVENTS

        kinds = {form.__name__.lower(): form.__name__ for form in EVENTS}
        if value.lower() not in kinds:
            near = difflib.get_close_matches(value.lower(), kinds, n=1)
            advice = f"Did you mean {kinds[near[0]]!r}?" if near else f"There are {', '.join(sorted(kinds.values()))}."
            self.fail(f"there are no events of the kind {value!r}. {advice}", param, ctx)
        return kinds[value.lower()]


@click.command()
@click.option("--follow", is_flag=True, help="Keep showing new events until interrupted.")
@click.option("--since", "since_us", type=Moment(), help="Only from this time on: 10m, or 2026-05-04T12:00 (UTC).")
@click.option("--kind", "kinds", type=Kind(), multiple=True, help="Only events of this kind; repeatable.")
@click.option("--all", "everything", is_flag=True, help="Also show steps without a decision, such as most samples.")
@click.option("--verify", is_flag=True, help="Check the whole ledger, step by step, instead.")
@output_option
@click.pass_obj
def events(
    site: Site,
    follow: bool,
    since_us: int | None,
    kinds: tuple[str, ...],
    everything: bool,
    verify: bool,
    output: str,
) -> None:
    """Show what happened and what was decided, oldest first.

    With --follow, JSON has one object on each line.
    """
    from fawkes.cli.ledger import ledger_of

    if verify and (follow or since_us is not None or kinds or everything):
        raise click.UsageError("--verify checks the whole ledger: it takes no other option but -o.")
    with ledger_of(site) as ledger:
        if verify:
            _verify(ledger, output)
            return
        after = 0 if since_us is None else ledger.seq_at(since_us)
        steps = _followed(ledger, after) if follow else _stored(ledger, after, kinds)
        wanted = (row for row in steps if (everything or row["decided"]) and (not kinds or row["kind"] in kinds))
        _WRITERS[output, follow](wanted)


def _stored(ledger: LedgerReader, after: int, kinds: tuple[str, ...]) -> Iterator[Row]:
    from fawkes.report.rows import step_row

    return map(step_row, ledger.entries(after, kinds=kinds))


def _followed(ledger: LedgerReader, after: int) -> Iterator[Row]:
    """The steps after one, and for ever those that come."""
    from fawkes.report.rows import step_row

    while True:
        for entry in ledger.entries(after):
            after = entry.seq
            yield step_row(entry)
        sys.stdout.flush()
        time.sleep(_LOOK_S)


def _verify(ledger: LedgerReader, output: str) -> None:
    from fawkes.cli.show import show

    count = ledger.verify()
    show(
        [{"ledger": str(ledger.path), "steps": count, "pool_id": ledger.identity().pool_id, "sound": True}],
        _SOUND,
        output,
    )


def _write_table(rows: Iterable[Row]) -> None:
    from fawkes.cli.show import TABLE, show

    show(list(rows), _COLUMNS, TABLE)


def _write_json(rows: Iterable[Row]) -> None:
    """As `show` writes it, but row by row: a ledger may be larger than the memory."""
    click.echo(f'{{\n  "version": {JSON_VERSION},\n  "rows": [', nl=False)
    separator = "\n"
    for row in rows:
        click.echo(separator + json.dumps(row, allow_nan=False), nl=False)
        separator = ",\n"
    click.echo("\n  ]\n}")


def _write_json_lines(rows: Iterable[Row]) -> None:
    for row in rows:
        click.echo(json.dumps(row, allow_nan=False))


def _write_csv(rows: Iterable[Row]) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(column.key for column in _COLUMNS)
    for row in rows:
        writer.writerow([row["seq"], row["at"], row["kind"], row["what"], json.dumps(row["decided"])])


def _write_lines(rows: Iterable[Row]) -> None:
    for row in rows:
        click.echo(f"{row['at']}  {row['kind']}: {row['what']}")
        for text in row["decided"]:
            click.echo(f"    {text}")


_WRITERS: dict[tuple[str, bool], Callable[[Iterable[Row]], None]] = {
    ("table", False): _write_table,
    ("table", True): _write_lines,
    (JSON, False): _write_json,
    (JSON, True): _write_json_lines,
    (CSV, False): _write_csv,
    (CSV, True): _write_csv,
}
_COLUMNS = (
    Column("seq", "step", right=True),
    Column("at", "time"),
    Column("kind", "event"),
    Column("what", "what happened"),
    Column("decided", "what was decided", "\n".join),
)
_SOUND = (
    Column("ledger"),
    Column("steps", right=True),
    Column("pool_id", "pool id"),
    Column("sound", text=lambda sound: "yes" if sound else "no"),
)
