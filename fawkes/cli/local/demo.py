"""`fawkes demo`: three real Hadoop clusters on hosts of this machine, balanced before the user's eyes."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fawkes.base.catalog import Catalog, CatalogFile, Kind, Origin
from fawkes.base.errors import ExitStatus, FawkesError
from fawkes.base.extras import needs
from fawkes.base.units import SECOND_US
from fawkes.cli.show.show import CSV, JSON, JSON_VERSION, TABLE, note, output_option, show, warn
from fawkes.cli.show.tables import TABLES

if TYPE_CHECKING:
    from fawkes.cli.demo.outcome import DemoOutcome
    from fawkes.config.site.site import Site
    from fawkes.config.workloads.workloads import WorkloadFile, WorkloadTable
    from fawkes.live.lab import LabSpec
    from fawkes.workload.playing.play import Until

WORKLOAD = "wkld-a-small"
FOLDER = "demo-site"
PICTURE = "nodes-over-time.png"
_HOSTS = 10
_LIMIT_US = 900 * SECOND_US


@click.command()
@click.argument("workload", default=WORKLOAD)
@click.option(
    "--hosts", type=click.IntRange(min=1), metavar="N", help="How many hosts, instead of what the workload is made for."
)
@click.option(
    "--site",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=FOLDER,
    show_default=True,
    metavar="DIR",
    help="Folder for the demo alone; what an earlier demo left in it goes.",
)
@click.option("--policy", help="Another weighting policy, by name or by the path of its file.")
@click.option("--keep", is_flag=True, help="Leave hosts and controller running at the end.")
@output_option
@needs("fawkes demo", "lab", "offline")
def demo(workload: str, hosts: int | None, folder: Path, policy: str | None, keep: bool, output: str) -> ExitStatus:
    """Play WORKLOAD, by its name or its file, on real Hadoop on hosts of this machine, and tell what happened.

    Brings up a lab and a controller, shows how the nodes move, and prints the points of the paper's story, jobs, moves
    and a picture. Ends with 0 only if every point happened, all jobs succeeded and results are right. Leaves nothing
    running, however it ends. With -o csv stdout gets the moves.
    """
    from fawkes.cli.demo.stage import own_folder
    from fawkes.config.site.site import Site
    from fawkes.live.lab import LabSpec

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    workload_file, table = _read(workload)
    phases = _Phases()
    with own_folder(folder) as root:
        site = Site(root)
        _settings(site, workload_file, table, policy)
        with phases("Hadoop"):
            _provide(table)
        hosts = hosts or table.hosts or _HOSTS
        spec = LabSpec(hosts=hosts, site=root, rate_bytes=table.network)
        played, trouble = _run(site, workload_file, spec, keep, phases)
        ended = _ended(site, played, trouble)
    _tell(site, ended, phases, keep, output, played_to_its_end=not trouble)
    return ExitStatus.FAILED if ended.problems else ExitStatus.DONE


class _Phases:
    """The time that each part of the demo took, in seconds, as it is told on stderr."""

    def __init__(self) -> None:
        self.took_s: dict[str, float] = {}

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        began = time.monotonic()
        note(f"--- {name}")
        yield
        self.took_s[name] = round(time.monotonic() - began, 1)


def _read(workload: str) -> tuple[CatalogFile, WorkloadTable]:
    """The workload's file, as far as it can be checked without hosts."""
    from fawkes.config.files.include import load_including
    from fawkes.config.workloads.workloads import WorkloadTable

    workload_file = Catalog().find(Kind.WORKLOAD, workload)
    return workload_file, load_including(WorkloadTable, workload_file.path)


def _settings(site: Site, workload_file: CatalogFile, table: WorkloadTable, policy: str | None) -> None:
    """fawkes.toml with the settings of the workload; a policy in a file is named by its whole path."""
    from fawkes.cli.demo.stage import write_settings

    settings = dict(table.settings)
    name, base = (settings.get("policy"), workload_file.path.parent) if policy is None else (policy, Path())
    if isinstance(name, str):
        chosen = Catalog(site=site.root).find(Kind.POLICY, name, base=base)
        settings["policy"] = str(chosen.path.resolve()) if chosen.origin is Origin.GIVEN else name
    write_settings(site, settings, str(workload_file.path))


def _provide(table: WorkloadTable) -> None:
    """All that the lab's controller will need of the cache: inside of a lab there is no network."""
    from fawkes.config.clusters.details import KERBEROS
    from fawkes.playbook.dist import pieces
    from fawkes.playbook.dist.pins import DEFAULT_VERSION

    needs = [
        pieces.of_cluster(
            cluster.hadoop_version or DEFAULT_VERSION,
            own_release=bool(cluster.release_dir),
            kerberos=cluster.security == KERBEROS,
            software=cluster.software,
            save_to=[output.save_to for output in cluster.outputs],
        )
        for cluster in table.cluster
    ]
    needs += [pieces.of_job(job.kind) for job in table.job]
    pieces.provide([piece for each in needs for piece in each], say=note)


def _run(
    site: Site, workload_file: CatalogFile, spec: LabSpec, keep: bool, phases: _Phases
) -> tuple[WorkloadFile, str]:
    """Everything from the first host to the last; the workload as it was played, and why it was not played to its end.

    So what happened until then can still be told.
    """
    from fawkes.cli.demo.stage import controller_of, lab_of, take_down, wait_for_story
    from fawkes.cli.demo.view import watched
    from fawkes.workload.playing.play import play

    with ExitStack() as stack:
        with phases("hosts and data"):
            lab = stack.enter_context(lab_of(spec, note, keep=keep))
            workload = _prepared(site, workload_file)
        with phases("controller"):
            client = stack.enter_context(controller_of(lab, site, keep=keep))
        try:
            with phases("workload"), watched(site.state_dir):
                # A story is over with its last point: nobody waits until the last MR-cluster has been idle for long.
                until: Until = "ended" if workload.points else "gone"
                played = play(workload, client, say=note, until=until, limit_us=_LIMIT_US)
                if workload.points:
                    wait_for_story(site, client)
            note(played.in_words())
            if not keep:
                with phases("down"):
                    take_down(site)
                    stack.close()
        except FawkesError as error:
            return workload, str(error)
    return workload, ""


def _prepared(site: Site, workload_file: CatalogFile) -> WorkloadFile:
    from fawkes.config.workloads.workloads import load_workload
    from fawkes.workload.playing.play import with_data

    return with_data(load_workload(workload_file.path, site.inventory(), site=site.root), site.root / "data", note)


def _ended(site: Site, workload: WorkloadFile, trouble: str) -> DemoOutcome:
    """The outcome; the picture is drawn as well."""
    from fawkes.cli.demo.outcome import outcome
    from fawkes.report.pictures.figures import nodes_over_time, text_picture
    from fawkes.report.pictures.style import rendered
    from fawkes.store.sqlite import LedgerReader

    with closing(LedgerReader(site.state_dir)) as ledger:
        ended = outcome(ledger, workload, trouble)
        figure = nodes_over_time(ledger, ended.marks, workload.title)
        (site.root / PICTURE).write_bytes(rendered(figure))
        return replace(ended, picture=text_picture(ledger, ended.marks))


def _tell(site: Site, ended: DemoOutcome, phases: _Phases, keep: bool, output: str, *, played_to_its_end: bool) -> None:
    if output == JSON:
        click.echo(json.dumps(_plain(site, ended, phases), indent=2, allow_nan=False))
    elif output == CSV:
        show(ended.move_rows, TABLES["demo, moves"], output)
    elif played_to_its_end:
        # Of a demo that was broken off, tables would only stand between its problems and whoever looks for these.
        _show(site, ended)
    for result in ended.compared:
        if not result.wrong:
            note(f"{result.job}: {result.what} as computed here")
    note(", ".join(f"{name} {took} s" for name, took in phases.took_s.items()))
    note(f"what happened: fawkes --site {site.root} events; why: fawkes --site {site.root} explain TICK")
    if keep:
        note(f"left running; to end it: fawkes lab down --site {site.root}")
    for problem in ended.problems:
        warn(f"NOT AS IT SHOULD BE: {problem}")
    note("the demo " + ("failed" if ended.problems else "succeeded"))


def _plain(site: Site, ended: DemoOutcome, phases: _Phases) -> dict[str, Any]:
    return {
        "version": JSON_VERSION,
        "points": ended.point_rows,
        "jobs": ended.job_rows,
        "moves": ended.move_rows,
        "reconfigurations": ended.reconfigurations,
        "results": [asdict(result) for result in ended.compared],
        "took_s": phases.took_s,
        "picture": str(site.root / PICTURE),
        "problems": ended.problems,
    }


def _show(site: Site, ended: DemoOutcome) -> None:
    if ended.point_rows:
        show(ended.point_rows, TABLES["demo, points"], TABLE, "Points of the story")
        click.echo()
    show(ended.job_rows, TABLES["demo, jobs"], TABLE, "Jobs")
    click.echo()
    show(ended.move_rows, TABLES["demo, moves"], TABLE, "Moves")
    click.echo()
    click.echo(ended.picture)
    click.echo(f"\n{ended.reconfigurations} reconfigurations; picture: {site.root / PICTURE}")
