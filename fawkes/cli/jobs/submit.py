"""`fawkes submit`: put jobs into the queue of an MR-cluster."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from fawkes.base.errors import FawkesError, UserError, cut
from fawkes.base.units import SECOND_US
from fawkes.cli.asking import completion
from fawkes.cli.asking.acting import for_each, foresee_each, tell, the_cluster, the_job
from fawkes.cli.asking.client import Client
from fawkes.cli.asking.parsed import DURATION
from fawkes.cli.asking.waiting import followed, wait_for_jobs
from fawkes.cli.show.show import TABLE, note, output_option, show, warn
from fawkes.cli.show.tables import TABLES
from fawkes.config.site.site import Site
from fawkes.core.values.model import JobSpec

COMMAND_LINE = "the command line"
_SUFFIX_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"
_LONGEST_NAME = 63 - 8


@click.command()
@click.argument("cluster", metavar="CLUSTER", shell_complete=completion.clusters)
@click.argument("words", metavar="[FILE | -- ARGUMENTS...]", nargs=-1)
@click.option("--jar", metavar="FILE|NAME", help="A jar, or the release's own: examples, streaming, jobclient-tests.")
@click.option("--class", "main_class", metavar="CLASS", help="The class with main(), of the jar or of Hadoop itself.")
@click.option("--script", metavar="COMMAND", help="A command for /bin/sh, with hadoop and yarn on its PATH.")
@click.option("--python", metavar="FILE", help="A program for Spark in Python.")
@click.option("--mapper", metavar="COMMAND", help="Streaming: the mapper.")
@click.option("--combiner", metavar="COMMAND", help="Streaming: the combiner.")
@click.option("--reducer", metavar="COMMAND", help="Streaming: the reducer.")
@click.option("--input", "inputs", metavar="FOLDER", multiple=True, help="A folder in HDFS that the job reads.")
@click.option("--output-folder", metavar="FOLDER", help="Streaming: the folder in HDFS that the job writes.")
@click.option("--file", "files", metavar="FILE", multiple=True, help="A local file that goes along.")
@click.option("-D", "properties", metavar="KEY=VALUE", multiple=True, help="One of Hadoop's keys, for this job.")
@click.option("--id", "name", help="Its name, used once for good; without it one is made.")
@click.option("--retries", type=click.IntRange(min=0), help="How often it is tried again after a failure.")
@click.option("--time-limit", metavar="DURATION", help="When it is stopped, such as 2h.")
@click.option("--deadline", metavar="DURATION", help="By when it must have ended, from its submission, such as 20m.")
@click.option("--reference-time", metavar="DURATION", help="Its time on a static MR-cluster of minimum size.")
@click.option("--tasks", type=click.IntRange(min=1), help="Its number of tasks, if known.")
@click.option("--input-size", metavar="SIZE", help="Its bytes of input, if known, such as 50GB.")
@click.option("--wait", is_flag=True, help="Return only when the job has ended; fails when the job fails.")
@click.option("--timeout", "limit_us", type=DURATION, help="With --wait: how long at most, such as 2h.")
@click.option("--dry-run", is_flag=True, help="Check everything and show what would be submitted.")
@output_option
@click.pass_obj
def submit(
    site: Site,
    /,
    cluster: str,
    words: tuple[str, ...],
    wait: bool,
    limit_us: int | None,
    dry_run: bool,
    output: str,
    **options: Any,
) -> None:
    """Put a job into the queue of CLUSTER: a job FILE, or a jar, class, streaming command or script given by options.

    \b
      fawkes submit c-1 jobs/sort.toml
      fawkes submit c-1 --jar app.jar --class org.example.Main -- /in /out
      fawkes submit c-1 --jar examples -- wordcount /in /out
      fawkes submit c-1 --mapper cat --reducer wc --input /in --output-folder /out
      fawkes submit c-1 --script 'pig -f top.pig' --file top.pig
      fawkes submit c-1 --python count.py -- /in /out
      fawkes submit c-1 --jar examples --tasks 10 --deadline 20m -- pi 10 1000

    Jars, scripts and files are looked for on this machine before anything is sent. With --dry-run a controller that
    runs says what it would decide, and ends with 6 if it would refuse.
    """
    from fawkes.config.jobs.jobs import without_tasks
    from fawkes.store.record import to_plain

    given = {key: value for key, value in options.items() if value not in (None, ())}
    jobs = _jobs(cluster, words, given, site.profiles_dir)
    for lack in filter(None, map(without_tasks, jobs)):
        note(lack)
    client = Client(site)
    for early in filter(None, (_too_early(client, job) for job in jobs)):
        warn(early)
    specs: dict[str, JobSpec] = {job.id: job for job in jobs}
    if dry_run:
        foresee_each(client, "submit", specs, lambda: check_new(client, jobs))
        show([_planned(job) for job in jobs], TABLES["submit --dry-run"], output)
        return
    check_new(client, jobs)

    def act(name: str) -> None:
        with followed(client, wait):
            client.post("submit", {"spec": to_plain(specs[name])})
            tell(f"{name} is in the queue of {cluster}{'' if wait else ': follow it with `fawkes jobs`'}", output)

    for_each("submitted", list(specs), act)
    if wait:
        rows = wait_for_jobs(client, [job.id for job in jobs], limit_us)
    else:
        rows = [row for job in jobs for row in client.rows("jobs", job=job.id)] if output != TABLE else []
    if output != TABLE or wait:
        show(rows, TABLES["submit"], output)
    check_results(rows if wait else [])


def _jobs(cluster: str, words: Sequence[str], options: Mapping[str, Any], profiles_dir: Path) -> tuple[JobSpec, ...]:
    """The jobs that the command line says, checked; ConfigError or UserError before anything is sent."""
    from fawkes.base.paths import is_name

    if not is_name(cluster):
        raise UserError(f"{cut(cluster)!r} cannot be the name of an MR-cluster", hint="`fawkes status` lists them all")
    if {"jar", "main_class", "script", "python", "mapper", "reducer", "combiner"} & options.keys():
        return (_job_of_options(cluster, words, options),)
    if len(words) != 1:
        what = "neither a job file nor a program is given" if not words else f"{len(words)} job files are given"
        raise UserError(
            what,
            hint="Name one job file, or give --jar, --class, --script, --python or --mapper (`fawkes submit --help`)",
        )
    return _jobs_of_file(cluster, Path(words[0]), options, profiles_dir)


def _jobs_of_file(cluster: str, path: Path, options: Mapping[str, Any], profiles_dir: Path) -> tuple[JobSpec, ...]:
    from fawkes.config.files.loader import read_toml
    from fawkes.config.jobs.jobs import job_of, load_jobs

    said = read_toml(path, hint="Name a job file, or give the job by options")
    over = _table(options)
    if isinstance(said.get("job"), list):
        if over:
            raise UserError(
                f"{path} has several jobs: options cannot change them", hint="Write what you want into the file"
            )
        return load_jobs(path, cluster, profiles_dir)
    table = {"id": new_name(path.stem), **said, **over}
    if isinstance(said.get("properties"), dict) and "properties" in over:
        table["properties"] = said["properties"] | over["properties"]
    return (job_of(table, cluster=cluster, file=str(path), folder=path.parent, profiles_dir=profiles_dir),)


def _job_of_options(cluster: str, words: Sequence[str], options: Mapping[str, Any]) -> JobSpec:
    from fawkes.config.jobs.jobs import job_of

    table = _table(options) | ({"args": list(words)} if words else {})
    if "script" in options:
        table |= {"kind": "script", "command": options["script"]}
    elif "python" in options:
        table["kind"] = "spark"
    elif {"mapper", "combiner", "reducer"} & options.keys():
        table["kind"] = "streaming"
    else:
        table["kind"] = _kind_of_program(options)
    table.setdefault("id", new_name(_stem(options)))
    return job_of(table, cluster=cluster, file=COMMAND_LINE, folder=Path.cwd())


def _kind_of_program(options: Mapping[str, Any]) -> str:
    """A class is run with the jar on its class path where `hadoop jar` would not run it."""
    from fawkes.config.jobs.jars import starts_itself

    if "jar" not in options:
        return "class"
    return "class" if "main_class" in options and starts_itself(options["jar"], Path.cwd()) else "jar"


def _table(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options as keys of a job file."""
    keys = {"main_class": "class", "name": "id", "inputs": "input", "output_folder": "output"}
    same = {"jar", "python", "mapper", "combiner", "reducer", "files", "retries", "tasks"}
    same |= {"time_limit", "deadline", "reference_time", "input_size"}
    table = {keys.get(name, name): _listed(value) for name, value in options.items() if name in keys.keys() | same}
    if "properties" in options:
        table["properties"] = dict(_property(text) for text in options["properties"])
    return table


def _listed(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _property(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise UserError(f"-D {text!r} is no KEY=VALUE", hint="Write -D mapreduce.map.memory.mb=512")
    return key, value


def _stem(options: Mapping[str, Any]) -> str:
    """A word for the name of a job that has no file: its jar, else its class, else its command."""
    if program := options.get("jar", options.get("python")):
        return Path(program).stem
    if "main_class" in options:
        return str(options["main_class"]).rpartition(".")[2]
    command = options.get("script", options.get("mapper", ""))
    return Path(command.split()[0]).stem if command.split() else "job"


def new_name(stem: str) -> str:
    """A name that no job has had: tags on YARN carry it, so that a job never runs twice."""
    word = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in stem.lower())
    suffix = "".join(secrets.choice(_SUFFIX_LETTERS) for _ in range(7))
    return f"{word.strip('-')[:_LONGEST_NAME].strip('-') or 'job'}-{suffix}"


def _too_early(client: Client, job: JobSpec) -> str:
    """A warning when the deadline of a job with a profile looks too early for the nodes that it can have; or empty."""
    plain = job.details.get("profile")
    if not isinstance(plain, Mapping) or job.deadline_us is None:
        return ""
    from fawkes.config.clusters.details import JobDetails
    from fawkes.config.jobs.profiles import infeasible
    from fawkes.core.quota.profile import profile_of

    nodes = cores = None
    with suppress(FawkesError):
        pool = client.site.inventory(need_keys=False).nodes
        cores = min(node.cores for node in pool)
        for row in client.rows("clusters", cluster=job.cluster):
            nodes = min(row.get("max_nodes") or len(pool), len(pool))
    size = JobDetails.of(job.details).profile_size
    warning = infeasible(profile_of(plain, job.id), size, job.deadline_us / SECOND_US, nodes, cores)
    return f"{job.id}: {warning}" if warning else ""


def check_new(client: Client, jobs: Sequence[JobSpec]) -> None:
    """UserError when there is no such MR-cluster, or a job has the id of an earlier one."""
    the_cluster(client, jobs[0].cluster)
    for job in jobs:
        there = the_job(client, job.id)
        if there is not None:
            raise UserError(
                f"there is a job {job.id!r} already ({there['state']})",
                hint="The name of a job is used once for good: choose another one",
            )


def check_results(rows: Sequence[Mapping[str, Any]]) -> None:
    """A job that was waited for and did not succeed is a failure of the command."""
    bad = [row for row in rows if row["state"] != "succeeded"]
    if bad:
        first = bad[0]
        log = f"Its log: {first['log']}" if first["log"] else f"Look into its log with `fawkes logs {first['cluster']}`"
        if first["state"] in ("dropped", "killed"):
            log = f"`fawkes explain --job {first['job']}` shows the numbers behind it"
        was = "" if first["state"] == "failed" else "was "
        raise FawkesError(
            f"the job {was}{first['state']}: {first['why'] or 'no reason given'}", where=first["job"], hint=log
        )


def _planned(job: JobSpec) -> dict[str, Any]:
    from fawkes.store.record import to_plain

    plain: Any = to_plain(job)
    return {**plain, "job": job.id, "kind": job.details["kind"], "retries": job.retries}
