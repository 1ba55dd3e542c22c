"""A stream through its load beside batch jobs, on real Hadoop and Spark: executors, nodes, latency, downtime.

Two MR-clusters share five nodes. The second one has had work, and holds three of them. On the first one a stream's load
rises and falls, beside batch jobs whose tasks save themselves when it claims its guarantee; with ``--checkpoint none``
nobody can take their room. When its load has fallen the second MR-cluster gets work again. What is shown comes from the
ledger, and from Spark's own event log.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from bench.deadline_jobs import ready, toml, until
from bench.figures import Say
from bench.lab import exit_status, to_stderr, write_clusters
from fawkes.base.units import SECOND_US
from fawkes.cli.asking.client import Client
from fawkes.cli.demo.stage import controller_of, lab_of
from fawkes.config.jobs.jobs import job_of
from fawkes.config.site.site import Site
from fawkes.core.values.decision import AddSample
from fawkes.core.values.events import Sampled
from fawkes.core.values.lifecycle import ENDED_JOBS
from fawkes.core.values.model import JobId, JobState
from fawkes.core.values.sight import StreamSeen
from fawkes.core.values.tags import tag_of
from fawkes.live.lab import LabSpec
from fawkes.playbook.dist import pieces
from fawkes.report import history
from fawkes.report.pictures import style
from fawkes.report.pictures.figures import draw_nodes, marks_of_nodes
from fawkes.report.pictures.steps import ROLES, held, totals
from fawkes.report.tables.waste_rows import account_of_job, waste_in_words
from fawkes.store.base import Reader
from fawkes.store.record import to_plain
from fawkes.store.sqlite import LedgerReader

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STREAM, BATCH, MINE, OTHER = "events", ("batch-1", "batch-2", "batch-3"), "streams", "others"
BATCH_S = 10
PHASES = (40, 120, 80)
LEDGER, EVENTS = "ledger", "events.jsonl"
_ROW_S = 20
#: around a change of executors, in which the downtime is looked for
_BEFORE_S, _AFTER_S = 5.0, 15.0
_SETTINGS = {"period": "10s", "sample_every": "2s", "idle_time": "10h", "transient_leave": "30s"}
_NODES = {"replication": 1, "scratch": ["/s", "/out"]}
_CLUSTERS: dict[str, dict[str, object]] = {
    MINE: {"min_nodes": 2, "software": ["spark"], "max_running_jobs": 2},
    OTHER: {"min_nodes": 1},
}
_STREAM = {
    "kind": "stream",
    "python": "events.py",
    "args": ["/s/{id}", "--low", "8", "--high", "40", "--cost-ms", "50", "--batch-s", str(BATCH_S), "--phases",
             ",".join(map(str, PHASES))],
    "executors": 1,
    "most_executors": 5,
    "batch": f"{BATCH_S}s",
    "guarantee": 0.8,
}  # fmt: skip
_TASKS = {"kind": "tasks", "memory": "400MiB", "output": "/out/{id}"}
_COUNT = """i=$(cat $FAWKES_CHECKPOINT/i 2>/dev/null || echo 0)
trap 'echo $i >$FAWKES_CHECKPOINT/i; exit 85' USR1
while [ $i -lt 40 ]; do i=$((i + 1)); sleep 1 & wait $!; done
"""
_PROGRAM = Path(__file__).parents[1] / "workloads/streams/events.py"


@dataclass(frozen=True, slots=True)
class Gap:
    """The longest time (s) in which a batch was under way and no task ran: at changes of executors, and elsewhere."""

    changing_s: float
    steady_s: float
    changes: int


# --- what a ledger and an event log say


def course_of(store: Reader) -> list[tuple[int, StreamSeen]]:
    """The stream by each reading that has it."""
    tag = tag_of(JobId(STREAM), 1)
    return [
        (entry.event.at_us, row.stream)
        for entry in store.entries(kinds=(Sampled.__name__,))
        for change in entry.decision.changes
        if isinstance(change, AddSample)
        for row in change.work
        if row.tag == tag and row.stream is not None
    ]


def batches_of(lines: Iterable[str]) -> Iterator[tuple[tuple[float, float], list[tuple[float, float]]]]:
    """Each batch of an event log: from the first Spark job to its last stage, and the times in which a task ran (s)."""
    batch_of: dict[int, str] = {}
    began: dict[str, float] = {}
    ended: dict[str, float] = {}
    tasks: dict[str, list[tuple[float, float]]] = {}
    for line in lines:
        event = json.loads(line)
        match event["Event"].removeprefix("SparkListener"):
            case "JobStart" if number := event.get("Properties", {}).get("streaming.sql.batchId"):
                began.setdefault(number, event["Submission Time"] / 1000)
                batch_of |= dict.fromkeys(event["Stage IDs"], number)
            case "StageCompleted" if number := batch_of.get(event["Stage Info"]["Stage ID"]):
                ended[number] = event["Stage Info"]["Completion Time"] / 1000
            case "TaskEnd" if number := batch_of.get(event["Stage ID"]):
                info = event["Task Info"]
                tasks.setdefault(number, []).append((info["Launch Time"] / 1000, info["Finish Time"] / 1000))
    for number in ended:
        yield (began[number], ended[number]), sorted(tasks.get(number, []))


def gap_of(batches: Iterable[tuple[tuple[float, float], list[tuple[float, float]]]], changes: Sequence[float]) -> Gap:
    """The longest gaps of batches, by the times (s) at which the number of executors changed."""
    longest = {True: 0.0, False: 0.0}
    for (began, ended), tasks in batches:
        done = began
        for launched, finished in [*tasks, (ended, ended)]:
            near = any(done < at + _AFTER_S and launched > at - _BEFORE_S for at in changes)
            longest[near] = max(longest[near], launched - done)
            done = max(done, finished)
    return Gap(longest[True], longest[False], len(changes))


def changes_of(course: Sequence[tuple[int, StreamSeen]]) -> list[float]:
    """The times (s) of readings with another number of executors than the one before."""
    return [at_us / SECOND_US for (_, old), (at_us, new) in pairwise(course) if old.executors != new.executors]


def table(store: Reader) -> str:
    """The stream every 20 s, as Markdown: its load, executors, nodes and latency."""
    course, start_us = course_of(store), history.first_us(store)
    nodes = totals(held(store))
    heads = ("s", "records/s", "executors", "wanted", f"nodes of {MINE}", f"of {OTHER}", "batch (s)", "latency (s)")
    lines, next_us = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"], 0
    for at_us, seen in course:
        if at_us >= next_us and seen.latency_us is not None:
            next_us = at_us + _ROW_S * SECOND_US
            at_s = (at_us - start_us) / SECOND_US
            held_now = [[count for from_s, count in nodes[name] if from_s <= at_s][-1] for name in (MINE, OTHER)]
            cells = [f"{(at_us - course[0][0]) / SECOND_US:.0f}", f"{seen.arrive:.0f}", seen.executors, seen.wanted]
            cells += [*held_now, f"{seen.took_us / SECOND_US:.1f}", f"{seen.latency_us / SECOND_US:.1f}"]
            lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines) + "\n"


def summary(store: Reader, gap: Gap) -> str:
    """Latency, downtime, and how the batch jobs came out, in lines."""
    latest = {seen.batch: seen for _, seen in course_of(store) if seen.latency_us is not None}
    latencies = [(seen.latency_us or 0) / SECOND_US for seen in latest.values()]
    late = sum(seen.took_us > BATCH_S * SECOND_US for seen in latest.values())
    lines = [
        f"{len(latest)} batches, {late} of them late; latency {fmean(latencies):.1f} s on average, "
        f"{max(latencies):.1f} s at most",
        f"longest time without a running task while a batch was under way: {gap.changing_s:.2f} s around "
        f"{gap.changes} changes of executors, {gap.steady_s:.2f} s elsewhere",
    ]
    known = {job.id: job for job in history.jobs(store)}
    stream = known[JobId(STREAM)]
    for name in BATCH:
        job = known[JobId(name)]
        words = waste_in_words(account_of_job(store, name))
        before = (job.finished_us or 0) < (stream.finished_us or 0)
        when = "before" if before else "after"
        lines.append(f"{name} {job.life} after {_took_s(job):.0f} s, {when} the stream. {words}")
    return "\n".join(lines) + "\n"


def _took_s(job: JobState) -> float:
    return ((job.finished_us or 0) - job.submitted_us) / SECOND_US


@style.styled
def picture(store: Reader) -> Figure:
    """Load, executors, nodes of both MR-clusters and latency, over time."""
    course, start_us, curves = course_of(store), history.first_us(store), held(store)
    at_s = [(at_us - start_us) / SECOND_US for at_us, _ in course]
    moved_s = [(tick.at_us - start_us) / SECOND_US for tick in history.ticks(store) if tick.moved]
    figure = style.new_figure(6.2)
    load, executors, mine, other, latency = figure.subplots(5, 1, sharex=True)
    line: dict[str, float | str] = {"color": style.LINE_COLOURS[0], "drawstyle": "steps-post", "linewidth": 1.2}
    load.plot(at_s, [seen.arrive for _, seen in course], **line)
    load.set_ylabel("records/s")
    executors.plot(at_s, [seen.executors for _, seen in course], **line)
    executors.plot(at_s, [seen.wanted for _, seen in course], drawstyle="steps-post", color="black", ls="--", lw=0.8)
    executors.set_ylabel("executors\n(dashed: wanted)")
    for panel, name in ((mine, MINE), (other, OTHER)):
        draw_nodes(panel, {role: curves.curve(name, role) for role in ROLES}, curves.end_s, moved_s)
        panel.set_ylabel(f"nodes of\n{name}")
    latency.plot(at_s, [(seen.latency_us or 0) / SECOND_US for _, seen in course], **line)
    latency.axhline(1.5 * BATCH_S, color="black", linestyle=":", linewidth=0.8)
    latency.set_ylabel("latency (s)")
    latency.set_xlabel("time (s); dotted: a batch that takes all of its time")
    latency.set_xlim(0, curves.end_s)
    style.legend_below(figure, marks_of_nodes(requests=False, moves=bool(moved_s)))
    return figure


# --- the run


def live(folder: Path, checkpoint: str, say: Say) -> None:
    """Run in a lab of its own; its ledger and the event log of the stream are in ``folder`` after that."""
    pieces.provide((*pieces.of_job("stream"), *pieces.of_name("tasks")), say=say)
    site = Site(folder / "lab")
    with lab_of(LabSpec(hosts=5, site=site.root, nodemanager_memory_bytes=2_100_000_000), say) as lab:
        write_clusters(site, {name: toml({**_NODES, **own}) for name, own in _CLUSTERS.items()})
        site.settings_file.write_text(toml(_SETTINGS))
        (site.root / "count.sh").write_text(_COUNT)
        shutil.copy(_PROGRAM, site.root)
        with controller_of(lab, site) as client:
            ready(client, site, [MINE, OTHER])
            _submit(client, site, OTHER, "early", {**_TASKS, "tasks": 9, "command": "sleep 10"})
            until("the first work", lambda: _ended(site, "early"))
            _submit(client, site, MINE, STREAM, _STREAM)
            until("a batch", lambda: any(seen.batch for _, seen in _course(site)))
            for name in BATCH:
                job = {**_TASKS, "tasks": 3, "command": "sh count.sh", "files": ["count.sh"], "checkpoint": checkpoint}
                _submit(client, site, MINE, name, job)
            until("the end of the load", lambda: _has_passed(_course(site)) or _ended(site, STREAM))
            _submit(client, site, OTHER, "late", {**_TASKS, "tasks": 30, "command": "sleep 12", "memory": "256MiB"})
            until("all jobs to end", lambda: _ended(site, STREAM, "late", *BATCH))
            app = next(job.application for job in _jobs(site) if job.id == STREAM)
            parts = client.stream("spark-events", cluster=MINE, application=app)
            (folder / EVENTS).write_text("".join(map(str, parts)))
        shutil.copytree(site.state_dir, folder / LEDGER)


def _has_passed(course: Sequence[tuple[int, StreamSeen]]) -> bool:
    """True if fewer executors are wanted than before."""
    return bool(course) and course[-1][1].wanted < max(seen.wanted for _, seen in course)


def _submit(client: Client, site: Site, cluster: str, name: str, job: dict[str, object]) -> None:
    spec = job_of({"id": name, **job}, cluster=cluster, file="the show", folder=site.root)
    client.post("submit", {"spec": to_plain(spec)})


def _course(site: Site) -> list[tuple[int, StreamSeen]]:
    with closing(LedgerReader(site.state_dir)) as ledger:
        return course_of(ledger)


def _jobs(site: Site) -> list[JobState]:
    with closing(LedgerReader(site.state_dir)) as ledger:
        return history.jobs(ledger)


def _ended(site: Site, *names: str) -> bool:
    lives = {job.id: job.life for job in _jobs(site)}
    return all(lives.get(JobId(name)) in ENDED_JOBS for name in names)


def main() -> int:
    """Run what is missing, print tables, and write them and a picture for each way of the batch tasks."""
    parser = argparse.ArgumentParser(prog="python -m bench.streams", description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path("build/streams"), help="ledgers, pictures (build/streams)")
    parser.add_argument("--checkpoint", choices=("own", "none"), action="append", help="both unless one is named")
    arguments = parser.parse_args()
    for checkpoint in arguments.checkpoint or ("own", "none"):
        folder = arguments.folder.absolute() / checkpoint
        if not (folder / LEDGER).exists():
            live(folder, checkpoint, to_stderr)
        with closing(LedgerReader(folder / LEDGER)) as ledger, (folder / EVENTS).open() as lines:
            gap = gap_of(batches_of(lines), changes_of(course_of(ledger)))
            text = f"{table(ledger)}\n{summary(ledger, gap)}"
            drawn = picture(ledger)
        print(f"batch tasks with checkpoint = {checkpoint}\n\n{text}")
        (folder / "stream.md").write_text(text)
        (folder / "stream.png").write_bytes(style.rendered(drawn))
    return 0


if __name__ == "__main__":
    sys.exit(exit_status(main))
