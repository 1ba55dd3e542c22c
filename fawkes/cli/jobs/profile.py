"""`fawkes profile`: run Spark applications once and keep what their stages took, for quotas."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from datetime import datetime
from math import fsum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fawkes.base.errors import FawkesError, UserError
from fawkes.base.reading import opened
from fawkes.base.units import SECOND_US
from fawkes.base.writing import refuse_there
from fawkes.cli.asking import completion
from fawkes.cli.asking.client import Client
from fawkes.cli.asking.parsed import DURATION
from fawkes.cli.asking.waiting import wait_for_jobs
from fawkes.cli.show.show import TABLE, note, output_option, show
from fawkes.cli.show.tables import TABLES
from fawkes.config.site.site import Site
from fawkes.core.values.model import JobSpec

if TYPE_CHECKING:
    from fawkes.core.quota.profile import ApplicationProfile

#: keys of a job file that a run without quotas does not have
_OF_QUOTAS = ("profile", "profile_size", "deadline")
_ROLLED = re.compile(r"events_(\d+)_.*")


@click.group()
def profile() -> None:
    """Profile Spark applications: which stages they have, and what each of them took.

    A job file uses a profile with `profile = "NAME"` and a deadline. Profiles lie in the site's folder, as
    profiles/NAME/VERSION.json; each run of `fawkes profile` makes a new version.
    """


@profile.command()
@click.argument("jobfile", metavar="JOBFILE", type=click.Path(path_type=Path))
@click.option("--cluster", required=True, help="The MR-cluster that runs it.", shell_complete=completion.clusters)
@click.option("--name", help="Name of the profile (default: that of the job file's profile, else of the file).")
@click.option("--timeout", "limit_us", type=DURATION, help="How long to wait at most, such as 2h.")
@output_option
@click.pass_obj
def run(site: Site, jobfile: Path, cluster: str, name: str | None, limit_us: int | None, output: str) -> None:
    """Run the Spark job of JOBFILE once, without a deadline, and keep its profile as the next version."""
    from fawkes.cli.jobs.submit import check_new, check_results
    from fawkes.config.jobs.profiles import parted, ready
    from fawkes.store.record import to_plain

    job, own_name = _job(jobfile, cluster)
    wanted = parted(name or own_name)[0]
    client = Client(site)
    check_new(client, [job])
    # Whoever cannot keep the profile learns it before the run.
    ready(site.profiles_dir, wanted)
    client.post("submit", {"spec": to_plain(job)})
    note(f"{job.id} is in the queue of {cluster}")
    rows = wait_for_jobs(client, [job.id], limit_us)
    check_results(rows)
    application = str(rows[0].get("application") or "")
    pieces = client.stream("spark-events", cluster=cluster, application=application)
    lines = (line for piece in pieces for line in io.BytesIO(str(piece).encode()))
    _keep(site, lines, wanted, f"the event log of {application}", output, _ran_us(rows[0]))


@profile.command()
@click.argument("name", metavar="NAME")
@click.option(
    "--from",
    "log",
    metavar="EVENTLOG",
    required=True,
    type=click.Path(path_type=Path),
    help="An event log of Spark, not compressed: a file, or the folder of a rolling one.",
)
@output_option
@click.pass_obj
def make(site: Site, name: str, log: Path, output: str) -> None:
    """Make the next version of the profile NAME from an event log on this machine."""
    from fawkes.config.jobs.profiles import parted

    wanted = parted(name)[0]
    with ExitStack() as files:
        _keep(site, _logged(log, files), wanted, str(log), output)


@profile.command(name="list")
@output_option
@click.pass_obj
def list_(site: Site, output: str) -> None:
    """List the profiles of the site, each with its newest version."""
    from fawkes.config.jobs.profiles import every, load

    rows: list[dict[str, Any]] = []
    for name, versions in every(site.profiles_dir):
        row: dict[str, Any] = {"profile": name, "profile_version": versions[-1], "versions": versions, "why": ""}
        try:
            newest = load(site.profiles_dir, name)
        except FawkesError as error:
            row["why"] = str(error)
        else:
            row |= {"stages": len(newest.stages), "duration_s": fsum(stage.duration_s for stage in newest.stages)}
        rows.append(row)
    if not rows and output == TABLE:
        note("there are no profiles yet: `fawkes profile run JOBFILE --cluster NAME` makes one")
    show(rows, TABLES["profile list"], output)


@profile.command(name="show")
@click.argument("name", metavar="NAME[:VERSION]")
@output_option
@click.pass_obj
def show_(site: Site, name: str, output: str) -> None:
    """Show the stages of a profile."""
    from fawkes.config.jobs.profiles import load

    _show(load(site.profiles_dir, name), output)


@profile.command()
@click.argument("name", metavar="NAME[:VERSION]")
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Replace an existing file.")
@click.pass_obj
def export(site: Site, name: str, file: Path, force: bool) -> None:
    """Write a profile into FILE, as JSON."""
    from fawkes.config.jobs.profiles import load, write

    known = load(site.profiles_dir, name)
    refuse_there(file, force=force)
    write(file, known)


def _job(path: Path, cluster: str) -> tuple[JobSpec, str]:
    """The job of a file, under a new id and without what quotas need, and the name for its profile."""
    from fawkes.cli.jobs.submit import new_name
    from fawkes.config.files.loader import read_toml
    from fawkes.config.jobs import spark
    from fawkes.config.jobs.jobs import job_of

    said = read_toml(path, hint="Name the file of a job of kind 'spark'")
    if isinstance(said.get("job"), list):
        raise UserError("has several jobs", where=str(path), hint="Name a file with one: a profile is of one job")
    table: Mapping[str, Any] = {key: value for key, value in said.items() if key not in _OF_QUOTAS}
    identifier = new_name(str(said.get("id") or path.stem))
    job = job_of({**table, "id": identifier}, cluster=cluster, file=str(path), folder=path.parent)
    if job.details.get("kind") != spark.KIND:
        raise UserError("is not a job of kind 'spark'", where=str(path), hint="Only Spark's applications have stages")
    return job, str(said.get("profile") or path.stem).partition(":")[0]


def _ran_us(row: Mapping[str, Any]) -> tuple[int, int] | None:
    """The time when a job began and ended by YARN; None where its row does not say."""
    if row.get("wait_s") is None or row.get("run_s") is None:
        return None
    began_s = datetime.fromisoformat(row["submitted"]).timestamp() + row["wait_s"]
    return round(began_s * SECOND_US), round((began_s + row["run_s"]) * SECOND_US)


def _logged(path: Path, files: ExitStack) -> Iterator[bytes]:
    """The lines of an event log: of a file, or of the files of a folder in their order."""
    from fawkes.config.jobs.events import lines_of

    parts = [path]
    if path.is_dir():
        rolled = {int(m[1]): part for part in path.iterdir() if (m := _ROLLED.fullmatch(part.name))}
        parts = [rolled[number] for number in sorted(rolled)]
        if not parts:
            raise UserError("has no event log", where=str(path), hint="Name the folder with the files events_1_... ")
    for part in parts:
        yield from lines_of(files.enter_context(opened(part, hint="Name an event log of Spark")))


def _keep(
    site: Site, lines: Iterable[bytes], name: str, log: str, output: str, ran_us: tuple[int, int] | None = None
) -> None:
    """Keep the profile of a log as the next version, and show it."""
    from fawkes.config.jobs.events import profile_of_log
    from fawkes.config.jobs.profiles import keep

    kept = keep(site.profiles_dir, profile_of_log(lines, name, log, ran_us))
    note(f"version {kept.version} of the profile {kept.name} is in {site.profiles_dir / kept.name}")
    _show(kept, output)


def _show(known: ApplicationProfile, output: str) -> None:
    rows: list[dict[str, Any]] = []
    for stage in known.plain()["stages"]:  # type: ignore[attr-defined]
        parents = [str(parent).partition(" ")[0] for parent in stage["parents"]]
        rows.append({**{key: stage[key] for key in stage if key != "id"}, "stage": stage["id"], "parents": parents})
    envelope = {"profile": known.name, "profile_version": known.version, "end_s": known.end_s}
    show(rows, TABLES["profile show"], output, envelope=envelope)
    if known.end_s is not None:
        note(f"it ends {known.end_s:.1f} s after its last stage")
