"""`fawkes record`: a span of the live ledger, with Hadoop's history, as a folder for offline runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fawkes.base.errors import ExitStatus
from fawkes.base.units import counted
from fawkes.cli.asking.client import Client, NoControllerError, SilentError
from fawkes.cli.asking.ledger import ledger_of
from fawkes.cli.history.events import TIME, time_in
from fawkes.cli.show.show import JSON, note, output_option, progress, show
from fawkes.cli.show.tables import TABLES
from fawkes.config.site.site import Site
from fawkes.core.values.model import JobLife, JobState

if TYPE_CHECKING:
    from fawkes.offline.record.folder import Record
    from fawkes.offline.record.gather import Ask
    from fawkes.offline.record.scenario import Platform

#: longer than the controller itself gives the JobHistory server
_ANSWER_S = 90.0


@click.command()
@click.option("--since", "since_us", type=TIME, help="From this time on: 2h, or 2026-05-04T12:00 (UTC).")
@click.option("--until", "until_us", type=TIME, help="Before this time.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("record"),
    show_default=True,
    metavar="DIR",
    help="The new folder.",
)
@click.option(
    "--model",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="Constants of `fawkes calibrate` for the scenario.",
)
@output_option
@click.pass_obj
def record(
    site: Site, since_us: int | None, until_us: int | None, out: Path, model: Path | None, output: str
) -> ExitStatus | None:
    """Write what happened into a folder: ledger, histories of Hadoop, jobs, and a scenario that replays it.

    Histories come through the running controller, from MR-clusters that still run; of a simulated run there are none.
    `fawkes whatif DIR` simulates the span under other policies. Exits with 4 if jobs that ran on Hadoop have no
    history.
    """
    from fawkes.config.workloads.model import read_model
    from fawkes.offline.record.folder import PARTS_OF_A_RECORD, refuse_present, write_record
    from fawkes.offline.record.gather import gathered
    from fawkes.offline.record.span import recorded_span, span_of
    from fawkes.report.history import simulated

    refuse_present(out)
    if model is not None:
        read_model(model)
    with ledger_of(site) as ledger:
        recorded = recorded_span(ledger, span_of(ledger, time_in(ledger, since_us), time_in(ledger, until_us)))
        live_jobs = () if simulated(ledger) else recorded.jobs
        ran = [job for job in live_jobs if job.life is JobLife.SUCCEEDED]
        with progress("record", len(ran) + PARTS_OF_A_RECORD) as step:
            histories, missing = gathered(ran, _asking(site), step)
            made = write_record(out, ledger, recorded, _platform(site), histories, missing, model=model, say=step)
    _tell(made, output)
    return ExitStatus.PARTIAL if made.missing else None


def _asking(site: Site) -> Ask:
    """Asks the running controller; once nobody answers, no job is asked for again."""
    client = Client(site, timeout_s=_ANSWER_S)
    gone: list[NoControllerError | SilentError] = []

    def ask(job: JobState) -> Iterable[Mapping[str, Any]]:
        if gone:
            raise gone[0]
        try:
            facts = {"job": job.id, "attempt": str(job.attempt), "application": job.application}
            return list(client.stream("history", cluster=job.cluster, **facts))
        except (NoControllerError, SilentError) as error:
            gone.append(error)
            raise

    return ask


def _platform(site: Site) -> Platform:
    """The machine below a site's nodes, as the site's own files describe it."""
    import os

    from fawkes.offline.record.scenario import Platform
    from fawkes.offline.runs.folder import stamp_of

    lab = stamp_of(site.root / "lab.json")
    if lab is not None:
        rate = lab.get("spec", {}).get("rate_bytes")
        return Platform(cores=os.cpu_count(), shared_cores=True, network_bytes_s=rate)
    if not site.inventory_file.exists():
        return Platform()
    cores = {node.cores for node in site.inventory(need_keys=False).nodes}
    return Platform(cores=cores.pop() if len(cores) == 1 else None)


def _tell(made: Record, output: str) -> None:
    """Tell what the record does not have, a row for each reason; record.json names every job."""
    groups: dict[tuple[str, str], list[str]] = {}
    for problem, left_out in (("skipped", made.left_out), ("no history", made.missing)):
        for name, why in left_out.items():
            groups.setdefault((problem, why), []).append(name)
    rows = [
        {"problem": problem, "count": len(names), "first": names[0], "why": why}
        for (problem, why), names in groups.items()
    ]
    if rows or output == JSON:
        show(rows, TABLES["record"], output)
    for text in made.notes:
        note(f"note: {text}")
    note(f"{counted(len(made.known), 'job')} of the pool {made.pool} in {made.folder}: fawkes whatif {made.folder}")
