"""`fawkes jobs`: each job, its times, its slowdown, and the log of one that failed."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from fawkes.base.units import counted
from fawkes.cli.asking import completion
from fawkes.cli.asking.ledger import boards_of, known, ledger_of
from fawkes.cli.show.limit import ALL, DEFAULT, limit_option, tell_omitted
from fawkes.cli.show.show import JSON, TABLE, Wide, note, output_option, say, show
from fawkes.cli.show.tables import TABLES
from fawkes.cli.show.visible import echo
from fawkes.config.site.site import Site

if TYPE_CHECKING:
    from fawkes.store.sqlite import LedgerReader

STATES = ("queued", "starting", "running", "cancelling", "succeeded", "failed", "cancelled", "dropped", "killed")
_LOOK_S = 0.5
#: of how many failed jobs the place of the log is shown below the table
_LOGS = 3

Row = dict[str, Any]


@click.command()
@click.argument("cluster", required=False, shell_complete=completion.clusters)
@click.option(
    "-s", "--state", "states", multiple=True, type=click.Choice(STATES), help="Only jobs in this state; repeatable."
)
@limit_option("50")
@click.option("--follow", is_flag=True, help="Show each job that changes its state from now on, until interrupted.")
@output_option
@click.pass_obj
def jobs(
    site: Site, cluster: str | None, states: tuple[str, ...], limit: int | None, follow: bool, output: str
) -> None:
    """Show every job, of one MR-cluster or of all, the newest last; jobs that have ended are included.

    Jobs stand in the order of their submission. In JSON, "total" says how many rows there are in all. With --follow,
    there is one line for each change, in JSON one object. Below the table are the logs of the last jobs that failed;
    `-o wide` has every log.

    When a job that is shown has a deadline, columns show the deadline, the time that is left, and the outcome: met,
    missed, dropped or killed. `-o wide` then has the other columns, and the CPUs that the admission policy granted.
    """
    from fawkes.report.tables.board import board

    if follow and output not in (TABLE, JSON):
        raise click.UsageError("--follow writes lines or JSON: give -o json, or no -o.")
    if follow:
        with ledger_of(site) as ledger:
            _check_name(cluster, lambda of: board(ledger, of))
            _follow(ledger, cluster, states, output)
    with boards_of(site) as rows_of:
        _check_name(cluster, rows_of)
        rows = _wanted(rows_of("jobs"), cluster, states)
    limit = DEFAULT if limit is None else limit
    newest = rows if limit == ALL else rows[-limit:]
    with_deadlines = any(row["deadline_s"] is not None for row in newest)
    table = TABLES["jobs, deadlines"] if with_deadlines else TABLES["jobs"]
    show(newest, table, output, envelope={"total": len(rows)})
    if output == TABLE and not isinstance(output, Wide):
        for row in [row for row in newest if row["log"]][-_LOGS:]:
            say(f"log of {row['job']}: {row['log']}", "  ")
    tell_omitted(len(newest), len(rows), "jobs")


def _check_name(cluster: str | None, rows_of: Callable[[str], list[Row]]) -> None:
    if cluster is not None:
        known(cluster, [row["cluster"] for row in rows_of("clusters")], "MR-cluster")


def _rows(ledger: LedgerReader, cluster: str | None, states: tuple[str, ...]) -> list[Row]:
    from fawkes.report.tables.board import board

    return _wanted(board(ledger, "jobs"), cluster, states)


def _wanted(rows: list[Row], cluster: str | None, states: tuple[str, ...]) -> list[Row]:
    return [row for row in rows if (not states or row["state"] in states) and cluster in (None, row["cluster"])]


def _follow(ledger: LedgerReader, cluster: str | None, states: tuple[str, ...], output: str) -> None:
    """A line for each job that has changed its state, for ever."""
    step = ledger.last_seq()
    seen = {row["job"]: (row["state"], row["attempt"]) for row in _rows(ledger, cluster, ())}
    note(f"following {counted(len(seen), 'job')} from step {step} on; Ctrl-C ends it")
    while True:
        sys.stdout.flush()
        time.sleep(_LOOK_S)
        if ledger.last_seq() == step:
            continue
        step = ledger.last_seq()
        for row in _rows(ledger, cluster, ()):
            now = row["state"], row["attempt"]
            if seen.get(row["job"]) != now and (not states or row["state"] in states):
                echo(json.dumps(row, allow_nan=False) if output == JSON else _line(row))
            seen[row["job"]] = now


def _line(row: Row) -> str:
    why = f": {row['why']}" if row["why"] else ""
    return f"{row['job']} of {row['cluster']}, attempt {row['attempt']}: {row['state']}{why}"
