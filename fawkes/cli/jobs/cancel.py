"""`fawkes cancel`: take jobs back."""

from __future__ import annotations

import click

from fawkes.base.errors import UserError
from fawkes.cli.asking import completion
from fawkes.cli.asking.acting import ENDED, for_each, tell, the_job
from fawkes.cli.asking.client import Client
from fawkes.cli.asking.parsed import DURATION
from fawkes.cli.asking.waiting import followed, wait_for_jobs
from fawkes.cli.show.show import TABLE, output_option, show
from fawkes.cli.show.tables import TABLES
from fawkes.config.site.site import Site


@click.command()
@click.argument("jobs", metavar="JOB...", nargs=-1, required=True, shell_complete=completion.jobs)
@click.option("--wait", is_flag=True, help="Return only when the jobs have ended.")
@click.option("--timeout", "limit_us", type=DURATION, help="With --wait: longest time to wait, such as 2h.")
@click.option("--dry-run", is_flag=True, help="Only show the jobs.")
@output_option
@click.pass_obj
def cancel(site: Site, jobs: tuple[str, ...], wait: bool, limit_us: int | None, dry_run: bool, output: str) -> None:
    """Cancel each JOB: remove it from the queue, or stop it in YARN if it already runs."""
    from fawkes.report.words.facts import how_it_stands

    client = Client(site)
    known = {name: the_job(client, name) for name in jobs}

    def act(name: str) -> None:
        row = known[name]
        if row is None:
            raise UserError(f"there is no job {name!r}", hint="`fawkes jobs` lists them")
        # Rows of 0.1.0 have no state: its controller then refuses the command.
        if row.get("state") in ENDED:
            raise UserError(
                f"the job {name!r} has already ended: it {how_it_stands(row['state'])}",
                hint="There is nothing to cancel",
            )
        if dry_run:
            client.post("cancel", {"job": name}, dry_run=True)
            return
        was = row.get("state")
        with followed(client, wait):
            client.post("cancel", {"job": name})
            done = "is out of the queue" if was == "queued" else f"was {was} and is being cancelled"
            tell(f"{name} {done}", output)

    for_each("cancelled", jobs, act)
    if dry_run:
        show([row for row in known.values() if row], TABLES["cancel"], output)
        return
    if wait:
        wait_for_jobs(client, jobs, limit_us, "The controller goes on cancelling: `fawkes jobs` shows how they end")
    if output != TABLE:
        show([row for name in jobs for row in client.rows("jobs", job=name)], TABLES["cancel"], output)
