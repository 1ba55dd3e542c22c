"""`fawkes analyse`: evictions and preemptions in logs of task events and in a ledger, and logs to try it with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from fawkes.base.extras import needs
from fawkes.base.units import MOST_SEED, counted
from fawkes.cli.asking.ledger import ledger_of
from fawkes.cli.offline.options import out_option
from fawkes.cli.show.show import TABLE, note, output_option, progress, say, show, warn
from fawkes.cli.show.tables import TABLES
from fawkes.config.site.site import Site

Rows = Mapping[str, Sequence[dict[str, Any]]]


@click.group()
def analyse() -> None:
    """Count evictions and preemptions: in logs of task events (clusterdata-2011-2), and in a ledger of Fawkes."""


@analyse.command()
@click.argument("logs", metavar="LOG...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--by",
    type=click.Choice(["group", "hour", "repeats", "machines"]),
    default="group",
    show_default=True,
    help="Rows: bands, priorities and classes; hours; how often tasks were evicted; or types of machines.",
)
@out_option("Write all tables and a picture into a new folder.")
@output_option
@needs("fawkes analyse trace", "offline")
def trace(logs: tuple[Path, ...], by: str, out: Path | None, output: str) -> None:
    """Count evictions, preemptions, repeats and wasted CPU time in LOG: folders or files, plain or gzip, by time.

    An eviction is a preemption if a task of higher priority is scheduled on the same machine within 5 seconds.
    """
    from fawkes.offline.analyser import fold, tables
    from fawkes.offline.analyser.machines import machine_rows
    from fawkes.offline.analyser.trace import Log, parts_of
    from fawkes.offline.runs.folder import refuse_present

    if out is not None:
        refuse_present(out)
    log, state = Log(parts_of(logs)), fold.start()
    machines = machine_rows(logs, log.skipped)
    with progress("analyse", len(log.parts)) as step:
        for batch in log.batches(step):
            state = fold.fold(state, batch)
    state = fold.finish(state, log.latest_us)
    rows = {
        "group": tables.group_rows(state),
        "hour": tables.hour_rows(state),
        "repeats": tables.repeat_rows(state),
        "machines": machines,
    }
    if out is not None:
        _write(out, rows)
    envelope = {
        "lines": log.lines,
        "skipped": {str(part): dict(dropped.counts) for part, dropped in log.dropped.items()},
        "events": tables.event_counts(state),
        "groups": rows["group"],
        "hours": rows["hour"],
        "repeats": rows["repeats"],
        "machines": machines,
    }
    shown = {
        "group": TABLES["analyse trace"],
        "hour": TABLES["analyse trace, hours"],
        "repeats": TABLES["analyse trace, repeats"],
        "machines": TABLES["analyse trace, machines"],
    }
    show(rows[by], shown[by], output, envelope=envelope)
    if output == TABLE:
        say("")
        for sentence in tables.sentences(state):
            say(sentence)
    for part, dropped in log.dropped.items():
        warn(f"note: {part}: skipped {dropped}")


def _write(out: Path, rows: Rows) -> None:
    import pandas as pd

    from fawkes.offline.analyser.figures import evictions_over_time
    from fawkes.offline.runs.folder import whole, write_frame, write_picture

    with whole(out) as folder:
        for name, table in rows.items():
            if not table:
                continue
            write_frame(folder / name, pd.DataFrame(table))
        write_picture(folder / "over-time", evictions_over_time(rows["hour"]))
    note(f"{out}: tables as CSV and Parquet, evictions over time as a picture")


@analyse.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--schedules", type=click.IntRange(1_000, 50_000_000), default=1_000_000, show_default=True,
              help="How often tasks are scheduled; there are three times as many events.")  # fmt: skip
@click.option("--parts", type=click.IntRange(1, 500), default=10, show_default=True, help="Number of gzip files.")
@click.option("--seed", type=click.IntRange(0, MOST_SEED), default=1, show_default=True, help="Random seed.")
@output_option
@needs("fawkes analyse make", "offline")
def make(folder: Path, schedules: int, parts: int, seed: int, output: str) -> None:
    """Write a log of task events into DIR, with the figures of Tables 1, 2, 4 and 5 of Li's thesis and its repeats."""
    from fawkes.offline.analyser.making import make as make_log
    from fawkes.offline.runs.folder import whole

    with whole(folder) as draft:
        truth = make_log(draft, schedules=schedules, parts=parts, seed=seed)
    sums = {name: int(getattr(truth, name).sum()) for name in ("events", "schedules", "evictions", "preemptions")}
    show([{"folder": str(folder), **sums}], TABLES["analyse make"], output)


@analyse.command()
@output_option
@click.pass_obj
@needs("fawkes analyse ledger", "offline")
def ledger(site: Site, output: str) -> None:
    """Count how often nodes left MR-clusters, by reason. How many tasks ended with them is not known."""
    from fawkes.offline.analyser.tables import moved_rows

    with ledger_of(site) as reader:
        rows = moved_rows(reader)
    show(rows, TABLES["analyse ledger"], output)
    if output == TABLE:
        say("")
        left = sum(row["left_nodes"] for row in rows)
        say(f"{counted(left, 'node')} left MR-clusters; a ledger does not have the tasks that ended with them")
