"""Twelve long tasks lose two of six nodes, then an important job arrives: each preemption policy, live and offline.

An MR-cluster of four core and two transient nodes runs a job of twelve tasks, two on a node, which CRIU can save. As
soon as all of them have run for a while another MR-cluster is requested, which gets the two transient nodes. Then an
important job of four tasks arrives. The same happens in the simulator. The table has what each policy wasted, how soon
the nodes were released, and how long both jobs took; the picture has the tasks that ran over time.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from bench.deadline_jobs import ready, run_of, toml, until
from bench.figures import Say
from bench.hadoop import gone
from bench.lab import exit_status, to_stderr
from fawkes.base.errors import FawkesError
from fawkes.base.units import SECOND_US
from fawkes.cli.asking.client import Client
from fawkes.cli.demo.stage import controller_of, lab_of
from fawkes.config.jobs.jobs import job_of
from fawkes.config.site.site import Site
from fawkes.core.values.events import Sampled
from fawkes.core.values.lifecycle import ENDED_JOBS
from fawkes.core.values.model import JobId, JobLife, NodeLife
from fawkes.core.values.tags import tag_of
from fawkes.live.lab import LabSpec
from fawkes.playbook.dist import pieces
from fawkes.report import history
from fawkes.report.pictures import style
from fawkes.report.pictures.steps import value_at
from fawkes.report.tables.waste_rows import account_of_job, waste_row
from fawkes.store.base import Reader
from fawkes.store.record import to_plain
from fawkes.store.sqlite import LedgerReader

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

T = TypeVar("T")

POLICIES = ("kill", "checkpoint", "adaptive")
HOSTS, SLOTS, TASKS, TASK_S = 6, 2, 12, 100
LEDGER = "live"
OTHER_S, URGENT_S = 10, 20
"""From the reading with all tasks until the other MR-cluster is requested, and from then until the important job."""

#: two tasks of 512 MiB, and a gap that only an ApplicationMaster fits into
_NODE_BYTES = 1_480_000_000
_SETTINGS: dict[str, str] = {
    "preset": "demo",
    "policy": "EQ",
    "period": "5s",
    "sample_every": "2s",
    "idle_time": "10h",
    "transient_leave": "2m",
    "image_rate": "6MB",
}
_LONG_NODES = {"min_nodes": HOSTS - 2, "max_nodes": HOSTS, "replication": 1}
_OTHER_NODES = {"min_nodes": 2, "max_nodes": 2, "replication": 1}
_LONG = {"kind": "tasks", "tasks": TASKS, "memory": "512MiB", "output": "/out/{id}", "checkpoint": "criu"}
_URGENT = {"kind": "tasks", "tasks": 4, "memory": "512MiB", "output": "/out/{id}", "priority": 9}
_URGENT_S = 15
_PROGRAM = f"""
import os, time

memory = os.urandom(64 << 20)
for number in range({TASK_S * 5}):
    time.sleep(0.2)
"""
#: times and the rate of images as a lab on two cores had them; an ApplicationMaster takes no slot of a task
_MODEL = {
    "map_slots": 0,
    "slots": SLOTS,
    "master_share": 0.0,
    "deploy": "16s",
    "join": "6s",
    "job_start": "3s",
    "job_begin": "8s",
    "job_end": "1s",
    "task_start": "6s",
    "task_end": "1s",
    "drain": "0.1s",
    "clean": "1.7s",
    "network": "20MB",
    "spread": 0.0,
}
_IMAGE = "82MiB"


@dataclass(frozen=True, slots=True)
class Row:
    """A run under a policy: the waste of its long job, and seconds until the nodes were released and the jobs done."""

    policy: str
    where: str
    waste: Mapping[str, Any]
    release_s: float
    long_s: float
    urgent_s: float


@dataclass(frozen=True, slots=True)
class Course:
    """The running tasks of both jobs and the slots of their MR-cluster, each as points of a step function.

    Times are seconds from the submission of the long job; ``marks_s`` are the request of the other MR-cluster and the
    arrival of the important job.
    """

    running: Mapping[str, Sequence[tuple[float, int]]]
    slots: Sequence[tuple[float, int]]
    marks_s: tuple[float, float]


def names(policy: str) -> tuple[str, str]:
    """The names of both MR-clusters; the jobs of the first have its name before theirs."""
    return f"{policy}-a", f"{policy}-b"


def jobs_of(policy: str) -> tuple[str, str]:
    """The ids of the long and of the important job."""
    return f"{policy}-long", f"{policy}-urgent"


# --- what a ledger says


def all_run_us(store: Reader, policy: str) -> int | None:
    """When a reading first had all long tasks; None before that."""
    tag = tag_of(JobId(jobs_of(policy)[0]), 1)
    for entry in store.entries(kinds=(Sampled.__name__,)):
        rows = (row for reading in getattr(entry.event, "readings", ()) for row in reading.work or ())
        if any(row.tag == tag and row.running == TASKS for row in rows):
            return entry.event.at_us
    return None


def requested_us(store: Reader, cluster: str) -> int:
    """When an MR-cluster was requested."""
    return next(state.requested_us for state in history.clusters(store) if state.id == cluster)


def row_of(store: Reader, policy: str, where: str) -> Row:
    """The figures of a run; FawkesError when a job of it did not succeed."""
    known = {job.id: job for job in history.jobs(store)}
    long, urgent = (known[JobId(name)] for name in jobs_of(policy))
    for job in (long, urgent):
        if job.life is not JobLife.SUCCEEDED or job.attempt != 1:
            raise FawkesError(f"{job.id} is {job.life} in attempt {job.attempt}: {job.why}")
    mine, other = names(policy)
    released = [
        change.at_us
        for change in history.node_changes(store)
        if change.old is not None and change.old.owner == mine and change.old.life is NodeLife.DRAINING
        if change.new.life is not NodeLife.DRAINING
    ]
    took = [((job.finished_us or 0) - job.submitted_us) / SECOND_US for job in (long, urgent)]
    release_s = (max(released) - requested_us(store, other)) / SECOND_US
    return Row(policy, where, waste_row(account_of_job(store, long.id)), release_s, *took)


def course_of(store: Reader, policy: str) -> Course:
    """The course of a run, from the submission of the long job until both have ended."""
    mine, other = names(policy)
    ids = jobs_of(policy)
    known = {job.id: job for job in history.jobs(store)}
    long, urgent = (known[JobId(name)] for name in ids)
    end_us = max(long.finished_us or 0, urgent.finished_us or 0)

    def at(time_us: int) -> float:
        return (time_us - long.submitted_us) / SECOND_US

    running: dict[str, list[tuple[float, int]]] = {name: [(0.0, 0)] for name in ids}
    for entry in store.entries(kinds=(Sampled.__name__,)):
        if long.submitted_us <= entry.event.at_us <= end_us:
            rows = {
                row.tag: row for r in getattr(entry.event, "readings", ()) if r.cluster == mine for row in r.work or ()
            }
            for name in ids if rows else ():
                row = rows.get(tag_of(JobId(name), 1))
                running[name].append((at(entry.event.at_us), (row.running or 0) if row is not None else 0))
    slots, held = [(0.0, 0)], 0
    for change in history.node_changes(store):
        before, now = (
            state is not None and state.owner == mine and state.life in _WORKS for state in (change.old, change.new)
        )
        held += SLOTS * (now - before)
        if before != now and change.at_us <= end_us:
            slots.append((max(0.0, at(change.at_us)), held))
    for points in (*running.values(), slots):
        points.append((at(end_us), points[-1][1] if points is slots else 0))
    return Course(running, slots, (at(requested_us(store, other)), at(urgent.submitted_us)))


_WORKS = (NodeLife.SERVING, NodeLife.DRAINING)


# --- the runs


def offline(policy: str) -> Reader:
    """The ledger of a run in the simulator; what comes later comes by the same rule as in a lab."""
    all_us = all_run_us(_simulated(policy), policy)
    if all_us is None:
        raise FawkesError("in the simulator the tasks never run at once")
    return _simulated(policy, all_us)


def _simulated(policy: str, all_us: int | None = None) -> Reader:
    """The long job alone, or all of it if all tasks run from ``all_us`` on."""
    mine, other = names(policy)
    long, urgent = jobs_of(policy)
    task = {"command": "./count", "memory": _IMAGE, "task_time": f"{TASK_S}s"}
    parts = [
        f"hosts = {HOSTS}\n[settings]\n{toml({**_SETTINGS, 'preemption': policy})}[model]\n{toml(_MODEL)}",
        f"[[cluster]]\n{toml({'id': mine, **_LONG_NODES})}",
        f"[[job]]\n{toml({'cluster': mine, 'id': long, **_LONG, **task, 'after': 'running'})}",
    ]
    if all_us is not None:
        other_s = all_us / SECOND_US + OTHER_S
        when = {"after": "start", "delay": f"{other_s + URGENT_S}s"}
        task["task_time"] = f"{_URGENT_S}s"
        parts += [
            f"[[cluster]]\n{toml({'id': other, 'at': f'{other_s}s', **_OTHER_NODES})}",
            f"[[job]]\n{toml({'cluster': mine, 'id': urgent, **_URGENT, **task, **when})}",
        ]
    return run_of("".join(parts))


def live(folder: Path, policies: Sequence[str], say: Say) -> None:
    """Run in a lab of its own, and keep its ledger in ``folder``; FawkesError when the lab or a controller fails."""
    pieces.provide((*pieces.of_name("tasks"), *pieces.of_name("criu")), say=say)
    site = Site(folder / "lab")
    with lab_of(LabSpec(hosts=HOSTS, site=site.root, nodemanager_memory_bytes=_NODE_BYTES), say) as lab:
        site.clusters_dir.mkdir(parents=True)
        (site.root / "count.py").write_text(_PROGRAM)
        for policy in policies:
            site.settings_file.write_text(toml({**_SETTINGS, "preemption": policy}))
            for name, nodes in zip(names(policy), (_LONG_NODES, _OTHER_NODES), strict=True):
                site.cluster_file(f"{site.clusters_dir}/{name}.toml").write_text(toml(nodes))
            with controller_of(lab, site) as client:
                _played(client, site, policy, say)
        shutil.copytree(site.state_dir, folder / LEDGER, dirs_exist_ok=True)


def _played(client: Client, site: Site, policy: str, say: Say) -> None:
    mine, other = names(policy)
    long, urgent = jobs_of(policy)
    say(f"twelve: {policy}")
    ready(client, site, [mine])
    _submit(client, site, {"id": long, "cluster": mine, "command": "python3 count.py", "files": ["count.py"], **_LONG})
    other_s = until("all tasks to run", lambda: _read(site, lambda ledger: all_run_us(ledger, policy) or 0)) / SECOND_US
    other_s += OTHER_S
    _sleep_until(other_s)
    client.post("request", {"spec": to_plain(site.cluster(other))})
    _sleep_until(other_s + URGENT_S)
    _submit(client, site, {"id": urgent, "cluster": mine, "command": f"sleep {_URGENT_S}", **_URGENT})
    until("both jobs to end", lambda: _read(site, lambda ledger: _ended(ledger, policy)))
    for name in (other, mine):
        client.post("release", {"cluster": name, "discard": True, "force": True})
    until("the nodes to be free", lambda: all(gone(client, name) for name in (mine, other)))


def _submit(client: Client, site: Site, job: Mapping[str, object]) -> None:
    table = {name: value for name, value in job.items() if name != "cluster"}
    spec = job_of(table, cluster=str(job["cluster"]), file="the show", folder=site.root)
    client.post("submit", {"spec": to_plain(spec)})


def _sleep_until(time_s: float) -> None:
    time.sleep(max(0.0, time_s - time.time()))


def _read(site: Site, look: Callable[[Reader], T]) -> T:
    with closing(LedgerReader(site.state_dir)) as ledger:
        return look(ledger)


def _ended(ledger: Reader, policy: str) -> bool:
    lives = {job.id: job.life for job in history.jobs(ledger)}
    return all(lives.get(JobId(name)) in ENDED_JOBS for name in jobs_of(policy))


# --- what it shows


_COLUMNS = {
    "killed_work_s": "killed work",
    "dumping_s": "dumping",
    "restoring_s": "restoring",
    "waiting_s": "waited",
    "useful_s": "useful",
    "unknown_s": "not known",
}


def table(rows: Iterable[Row]) -> str:
    """The table in Markdown; times in seconds."""
    heads = [
        "policy",
        "",
        *_COLUMNS.values(),
        "saved, killed, not seen again",
        "nodes released",
        "long job",
        "important job",
    ]
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    for row in rows:
        figures = [row.waste[key] for key in _COLUMNS]
        tasks = ", ".join(str(row.waste[f"tasks_{how}"]) for how in ("saved", "killed", "unseen"))
        times = (row.release_s, row.long_s, row.urgent_s)
        cells = [row.policy, row.where, *map(_seconds, figures), tasks, *map(_seconds, times)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _seconds(figure: float | None) -> str:
    return "-" if figure is None else f"{figure:.0f}" if figure >= 10 or not figure else f"{figure:.1f}"


@style.styled
def picture(rows: Sequence[tuple[str, Sequence[tuple[str, Course]]]]) -> Figure:
    """A row of panels for each policy: the running tasks over time, one panel for each place and its course."""
    from matplotlib.lines import Line2D

    figure = style.new_figure(0.9 + 1.3 * len(rows))
    panels = figure.subplots(len(rows), len(rows[0][1]), sharex=True, sharey=True, squeeze=False)
    limit: dict[str, Any] = {"color": "black", "linewidth": 0.9, "drawstyle": "steps-post"}
    mark: dict[str, Any] = {"color": "black", "linestyle": "--", "linewidth": 0.8}
    for line, (policy, places) in zip(panels, rows, strict=True):
        for panel, (where, course) in zip(line, places, strict=True):
            _areas(panel, course)
            panel.plot(*zip(*course.slots, strict=True), **limit)
            for at_s in course.marks_s:
                panel.axvline(at_s, **mark)
            panel.set_title(f"{policy}, {where}", loc="left")
        line[0].set_ylabel("tasks")
    for panel in panels[-1]:
        panel.set_xlabel("seconds since the long job")
    panels[0][0].set_xlim(left=0)
    handles, _ = panels[0][0].get_legend_handles_labels()
    handles += [Line2D([], [], label="slots of the MR-cluster", **limit)]
    handles += [Line2D([], [], label="nodes requested; important job", **mark)]
    style.legend_below(figure, handles)
    return figure


def _areas(panel: Axes, course: Course) -> None:
    curves = [([at for at, _ in points], [number for _, number in points]) for points in course.running.values()]
    times = sorted({at for moments, _ in curves for at in moments})
    below = [0] * len(times)
    for curve, label, colour in zip(curves, ("long job", "important job"), style.COLOURS[1:], strict=False):
        top = [base + value_at(curve, at) for base, at in zip(below, times, strict=True)]
        panel.fill_between(times, below, top, step="post", color=colour, linewidth=0, label=label)
        below = top


def main() -> int:
    """Run what is missing, print the table, and write it and the picture."""
    parser = argparse.ArgumentParser(prog="python -m bench.twelve", description=__doc__)
    parser.add_argument(
        "--folder", type=Path, default=Path("build/twelve"), help="ledger, table, picture (build/twelve)"
    )
    parser.add_argument("--policies", default=",".join(POLICIES), help="preemption policies, with commas")
    parser.add_argument("--offline", action="store_true", help="without the lab")
    arguments = parser.parse_args()
    folder, policies = arguments.folder.absolute(), arguments.policies.split(",")
    if not arguments.offline and not (folder / LEDGER).exists():
        live(folder, policies, to_stderr)
    places: list[tuple[str, Callable[[str], Reader]]] = [("simulated", offline)]
    with ExitStack() as stack:
        if (folder / LEDGER).exists():
            ledger = stack.enter_context(closing(LedgerReader(folder / LEDGER)))
            places.insert(0, ("live", lambda policy: ledger))
        runs = [(policy, [(where, read(policy)) for where, read in places]) for policy in policies]
        text = table(row_of(store, policy, where) for policy, of in runs for where, store in of)
        drawn = picture([(policy, [(w, course_of(s, policy)) for w, s in of]) for policy, of in runs])
    print(text)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "twelve.md").write_text(text)
    for form in ("png", "svg"):
        (folder / f"twelve.{form}").write_bytes(style.rendered(drawn, form))
    return 0


if __name__ == "__main__":
    sys.exit(exit_status(main))
