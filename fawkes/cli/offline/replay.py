"""`fawkes replay`: the jobs of a workload for real, at their times, on live MR-clusters."""

from __future__ import annotations

from collections.abc import Collection
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fawkes.base.catalog import Catalog
from fawkes.base.errors import ExitStatus, FawkesError, RefusedError
from fawkes.base.extras import needs
from fawkes.cli.asking.client import Client, HungUpError, NoControllerError, SilentError
from fawkes.cli.asking.ledger import ledger_of
from fawkes.cli.asking.parsed import DURATION
from fawkes.cli.asking.releases import provide_releases
from fawkes.cli.offline.options import seed_option
from fawkes.cli.offline.simulate import plan_of
from fawkes.cli.show.show import Step, note, output_option, progress, show
from fawkes.cli.show.tables import TABLES
from fawkes.config.files.fields import size
from fawkes.config.site.site import Site
from fawkes.core.values.model import JobState

if TYPE_CHECKING:
    from fawkes.cli.replay.drift import DriftRow
    from fawkes.cli.replay.journal import Journal
    from fawkes.cli.replay.stage import ReplayStages
    from fawkes.config.workloads.workloads import Generated, WorkloadFile
    from fawkes.offline.scenarios.plan import Plan
    from fawkes.workload.playing.play import PlayedController, Posted

_DATA = "256MiB"


@click.command()
@click.argument("scenario")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Folder for the journal and the report.",
)
@click.option(
    "--data",
    "data",
    default=_DATA,
    show_default=True,
    metavar="SIZE",
    help="Largest amount of input data per MR-cluster.",
)
@click.option("--as", "prefix", metavar="NAME", help="Name of this replay, put before its jobs' names.")
@click.option("--limit", "limit_us", type=DURATION, help="Longest time for the replay, such as 1h.")
@seed_option
@click.option("--dry-run", is_flag=True, help="Only show what would be submitted, and when.")
@output_option
@click.pass_obj
@needs("fawkes replay", "offline")
def replay(
    site: Site,
    scenario: str,
    out: Path | None,
    data: str,
    prefix: str | None,
    limit_us: int | None,
    seed: int | None,
    dry_run: bool,
    output: str,
) -> ExitStatus | None:
    """Run the jobs of SCENARIO for real, at their times, on the controller of the site.

    SCENARIO is the same as for `fawkes simulate`. Its MR-clusters are requested unless they already run. Jobs known by
    their bytes read, shuffle and write as many; jobs known by their times sleep as long; jobs with a program run it.
    The controller decides by its own settings. The same command continues an interrupted replay. The name of a job is
    used once for good: to replay SCENARIO again on the same pool, give each replay a NAME of its own with --as.

    Exits with 0 if all jobs have succeeded, 4 if some have not.
    """
    from fawkes.cli.replay.journal import Journal
    from fawkes.cli.replay.stage import stages
    from fawkes.config.jobs.jobs import without_tasks
    from fawkes.live.hadoop.releases import needs_of, needs_of_job
    from fawkes.playbook.dist.compile.compiled import LOAD
    from fawkes.playbook.dist.pieces import place_of, provide
    from fawkes.store.record import text_of

    catalog = Catalog(site=site.root)
    plan = plan_of(site, catalog, scenario, seed)
    with progress("replay", 2) as step:
        demands = plan.with_references(plan.scenario(catalog)).demands
        step("reference times")
        provide([LOAD], say=note)
        step("load jobs")
    client = Client(site)
    running = {row["cluster"] for row in client.rows("clusters") if row["state"] == "running"}
    folder = out or Path(f"replay-{prefix or plan.name}")
    facts = {"scenario": plan.name, "seed": plan.seed, "data": data, **({"as": prefix} if prefix else {})}
    requests = "".join((*map(text_of, demands), *map(repr, _generated(plan))))
    facts["requests"] = sha256(requests.encode()).hexdigest()
    journal = None if dry_run else Journal(folder, facts, running & {demand.spec.id for demand in demands})
    parts = stages(
        plan.name,
        demands,
        # A replay that goes on finds MR-clusters there that it has requested itself.
        running=running if journal is None else journal.running,
        settings=site.settings(),
        generate=_generated(plan),
        jar=place_of(LOAD),
        data_limit_bytes=size(data),
        prefix=prefix or "",
    )
    for lack in filter(None, (without_tasks(job.spec) for job in parts.jobs.jobs)):
        note(lack)
    if journal is None:
        show([*_planned("before", parts.before), *_planned("jobs", parts.jobs)], TABLES["replay --dry-run"], output)
        return None
    _check_names(client, site, parts, journal.names)
    jobs = [job.spec for part in (parts.before, parts.jobs) for job in part.jobs]
    needed = [needs_of(cluster.spec) for cluster in parts.before.clusters if cluster.spec.id not in running]
    provide_releases(client, [*needed, *map(needs_of_job, jobs)])
    try:
        rows = _run(client, site, parts, journal, limit_us)
    except (NoControllerError, HungUpError, SilentError) as error:
        error.hint = "Start it with `fawkes run`, then type the same command: it goes on where it was broken off"
        raise
    except RefusedError as error:
        if not Journal(folder, facts).names:
            raise
        hint = error.hint or "What was requested before goes on, and so does the same command"
        raise FawkesError(error.what, where=error.where, hint=hint) from error
    return _tell(rows, folder, output)


def _generated(plan: Plan) -> tuple[Generated, ...]:
    """The data that a scenario's file makes before the run; the paper's have none."""
    from fawkes.config.workloads.scenarios import load_scenario
    from fawkes.config.workloads.workloads import generated

    return generated(load_scenario(Path(plan.file))) if plan.file.endswith(".toml") else ()


def _check_names(client: PlayedController, site: Site, parts: ReplayStages, own: Collection[str]) -> None:
    """RefusedError for a name that is taken, before anything is requested; ``own`` are those of this replay."""
    from fawkes.report import history

    workloads = (parts.before, parts.jobs)
    clusters = {row["cluster"]: row["state"] for row in client.rows("clusters") if row["state"] != "gone"}
    for cluster in (each.spec.id for part in workloads for each in part.clusters):
        if cluster in clusters and cluster not in own:
            raise RefusedError(
                f"there is already an MR-cluster {cluster}, and it is {clusters[cluster]}: nothing was requested",
                hint=f"A new replay takes one that runs; wait for that, or until it is gone: `fawkes status {cluster}`",
            )
    with ledger_of(site) as ledger:
        jobs = {job.id for job in history.jobs(ledger)}
    for name in (job.spec.id for part in workloads for job in part.jobs):
        if name in jobs and name not in own:
            raise RefusedError(
                f"there is already a job {name}: nothing was requested",
                hint="The name of a job is used once for good: --as NAME puts another before the names of this replay",
            )


def _run(
    client: Client, site: Site, parts: ReplayStages, journal: Journal, limit_us: int | None
) -> tuple[DriftRow, ...]:
    from fawkes.cli.replay.drift import drift_rows
    from fawkes.cli.replay.journal import BEFORE, JOBS
    from fawkes.report import history
    from fawkes.workload.playing.play import Played, play, with_data

    if journal.resumed:
        taken = sum(entry.taken for part in journal.earlier.values() for entry in part)
        note(f"continues the interrupted replay: requests already made: {taken}")
    with progress("replay", len(parts.before.clusters) + len(parts.before.jobs) + len(parts.jobs.jobs)) as step:
        if not journal.earlier[JOBS]:
            before = with_data(parts.before, site.root / "data", note)
            _play_before(client, before, parts, journal, step, limit_us)
        played = play(
            with_data(parts.jobs, site.root / "data", note),
            client,
            say=note,
            until="ended",
            limit_us=limit_us,
            spent_us=max((entry.at_us for entry in journal.earlier[BEFORE]), default=0),
            there=parts.there,
            data=parts.data,
            earlier=journal.earlier[JOBS],
            note=_kept(journal, JOBS, step),
        )
    before_posts = [entry for entry in journal.earlier[BEFORE] if entry.taken]
    note(Played((*before_posts, *played.posted), played.took_us).in_words())
    with ledger_of(site) as ledger:
        jobs: dict[str, JobState] = {job.id: job for job in history.jobs(ledger)}
    return drift_rows(played.posted, jobs)


def _play_before(
    client: Client, before: WorkloadFile, parts: ReplayStages, journal: Journal, step: Step, limit_us: int | None
) -> None:
    """MR-clusters and data: the jobs begin when all of that is there."""
    from fawkes.cli.replay.journal import BEFORE
    from fawkes.workload.playing.play import Posted, play

    names = {cluster.spec.id for cluster in before.clusters}
    played = play(
        before,
        client,
        say=note,
        until="ready",
        limit_us=limit_us,
        there=[name for name in parts.there if name not in names],
        earlier=journal.earlier[BEFORE],
        note=_kept(journal, BEFORE, step),
    )
    for job in before.jobs:
        for row in client.rows("jobs", job=job.spec.id):
            if row["state"] != "succeeded":
                raise FawkesError(
                    f"the data could not be written: {row['why']}",
                    where=job.spec.id,
                    hint="--data SIZE writes less; as a new replay: --as NAME, and another --out if that is given",
                )
    journal.earlier[BEFORE] = [*played.posted, Posted("ready", before.name, played.took_us, played.took_us, 1)]
    journal.add(BEFORE, journal.earlier[BEFORE][-1])


def _kept(journal: Journal, part: str, step: Step) -> Any:
    def keep(posted: Posted) -> None:
        journal.add(part, posted)
        if posted.taken:
            step(f"{posted.name} {posted.drift_us / 1e6:.2f} s late")

    return keep


def _tell(rows: tuple[DriftRow, ...], folder: Path, output: str) -> ExitStatus | None:
    from fawkes.cli.replay.drift import plain, summary
    from fawkes.offline.runs.folder import write_json

    total = summary(rows)
    write_json(folder / "replay.json", {"jobs": plain(rows), "total": total})
    show(plain(rows), TABLES["replay"], output, envelope={"total": total})
    if rows:
        note(
            f"{total['launched_within_1s']:.0%} of {total['jobs']} jobs were launched within 1 s of their time (median "
            f"{total['late_median_s']:.2f} s, most {total['late_most_s']:.2f} s late)"
        )
    if total["start_drift_median_s"] is not None:
        note(
            f"YARN began them {total['start_drift_median_s']:.1f} s after it (median; 95 %: "
            f"{total['start_drift_p95_s']:.1f} s), waiting in the queue included"
        )
    note(f"{total['succeeded']} of {total['jobs']} succeeded; journal and report: {folder}")
    return None if total["succeeded"] == total["jobs"] else ExitStatus.PARTIAL


def _planned(part: str, workload: WorkloadFile) -> list[dict[str, Any]]:
    clusters = [
        {"part": part, "action": "request", "name": row.spec.id, "cluster": row.spec.id, "at_s": row.at_us / 1e6}
        | {"counts_from": f"{row.after} runs" if row.after else "start"}
        for row in workload.clusters
    ]
    since = {"start": "start", "request": "request of {}", "running": "{} runs"}
    jobs = [
        {
            "part": part,
            "action": "submit",
            "name": job.spec.id,
            "cluster": job.spec.cluster,
            "at_s": job.delay_us / 1e6,
            "counts_from": since[job.after].format(job.spec.cluster),
            "behind": " ".join(job.behind),
            "does": job.spec.details.get("title", ""),
        }
        for job in workload.jobs
    ]
    return [*clusters, *jobs]
