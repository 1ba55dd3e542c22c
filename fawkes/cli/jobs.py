"""`fawkes jobs`: each job, its times, its slowdown, and the log of one that failed."""

from __future__ import annotations

import click

from fawkes.cli.show import Column, output_option
from fawkes.config.site import Site
from fawkes.units import show_duration

LIVES = ("queued", "starting", "running", "cancelling", "succeeded", "failed", "cancelled")


@click.command()
@click.argument("cluster", required=False)
@click.option(
    "-s", "--state", "lives", multiple=True, type=click.Choice(LIVES), help="Only jobs in this state; repeatable."
)
@output_option
@click.pass_obj
def jobs(site: Site, cluster: str | None, lives: tuple[str, ...], output: str) -> None:
    """Show every job, of one MR-cluster or of all, in the order of their submission, ended ones included."""
    from fawkes.cli.ledger import known, ledger_of
    from fawkes.cli.show import show
    from fawkes.report import history
    from fawkes.report.rows import job_row

    with ledger_of(site) as ledger:
        rows = [job_row(state) for state in history.jobs(ledger)]
        if cluster is not None:
            known(cluster, [state.id for state in history.clusters(ledger)], "MR-cluster")
    rows = [row for row in rows if (not lives or row["life"] in lives) and cluster in (None, row["cluster"])]
    show(rows, _COLUMNS, output)


_COLUMNS = (
    Column("job"),
    Column("cluster", "MR-cluster"),
    Column("life", "state"),
    Column("attempt", right=True),
    Column("submitted"),
    Column("wait_us", "wait", show_duration, right=True),
    Column("run_us", "run", show_duration, right=True),
    Column("slowdown", text=lambda value: f"{value:.2f}", right=True),
    Column("why", text=lambda text: text or "-"),
    Column("log", text=lambda text: text or "-"),
)
