"""What the shows of deadlines share: jobs that sleep, how they ended, and the tables of them."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from bench import lab
from bench.figures import Say
from fawkes.base.catalog import Catalog
from fawkes.base.errors import FawkesError
from fawkes.cli.asking.client import Client
from fawkes.cli.demo.stage import lab_of
from fawkes.config.jobs.jobs import job_of
from fawkes.config.site.site import Site
from fawkes.core.values.lifecycle import ENDED_JOBS
from fawkes.core.values.model import JobLife, JobState
from fawkes.live.lab import Lab, LabSpec
from fawkes.offline.scenarios.plan import with_demands
from fawkes.offline.scenarios.read import read_plan
from fawkes.offline.scenarios.scenario import simulate
from fawkes.report import history
from fawkes.store.base import Reader
from fawkes.store.record import to_plain
from fawkes.store.sqlite import LedgerReader

T = TypeVar("T")
_LIMIT_S = 420.0
_LOOK_S = 0.5


@dataclass(frozen=True, slots=True)
class Plan:
    """A job of a mix: when it is submitted, to which MR-clusters, and what it is. Times are in seconds."""

    name: str
    at_s: float
    maps: int
    map_s: int
    deadline_s: int
    clusters: tuple[str, ...]

    def ids(self, policy: str) -> list[str]:
        """The ids of its jobs, one for each MR-cluster."""
        return [f"{policy}-{cluster}-{self.name}" for cluster in self.clusters]

    def table(self) -> dict[str, str | int]:
        """What the job is, as in a job file."""
        return {
            "kind": "sleep",
            "maps": self.maps,
            "map_time": f"{self.map_s}s",
            "reduces": 0,
            "deadline": f"{self.deadline_s}s",
        }


@dataclass(frozen=True, slots=True)
class Row:
    """A job as it ended. ``at_once`` is the most tasks that ran at the same moment, ``work_s`` the time of them all.

    Both are None where Hadoop kept no history of it.
    """

    policy: str
    cluster: str
    job: str
    outcome: str
    granted: int
    at_once: int | None
    work_s: float | None


def ready(client: Client, site: Site, clusters: Sequence[str]) -> None:
    """Return when the MR-clusters run; they are requested unless they are there.

    DeadlineError after 420 s, FawkesError when one was given up.
    """
    known = {str(row["cluster"]) for row in client.rows("clusters")}
    for name in clusters:
        if name not in known:
            client.post("request", {"spec": to_plain(site.cluster(name))})

    def run() -> bool:
        states = {str(row["cluster"]): row["state"] for row in client.rows("clusters")}
        if gone := [name for name in clusters if name not in states]:
            raise FawkesError("it was given up while it was deployed", where=gone[0], hint=f"see {site.root}/*.log")
        return all(state == "running" for state in states.values())

    until("the MR-clusters to run", run)


def play(client: Client, mix: Sequence[Plan], policy: str, began_s: float, say: Say) -> None:
    """Submit each job at its time after ``began_s``, by the machine's clock that never jumps."""
    for plan in mix:
        time.sleep(max(0.0, began_s + plan.at_s - time.monotonic()))
        for cluster, job in zip(plan.clusters, plan.ids(policy), strict=True):
            spec = job_of({"id": job, **plan.table()}, cluster=cluster, file="the mix", folder=Path())
            client.post("submit", {"spec": to_plain(spec)})
        say(f"deadlines: {plan.name} submitted")


def ended(site: Site, mix: Sequence[Plan], policy: str) -> list[JobState]:
    """The jobs of a mix when all of them have ended; DeadlineError after 420 s."""
    names = {job for plan in mix for job in plan.ids(policy)}

    def look() -> list[JobState]:
        with closing(LedgerReader(site.state_dir)) as ledger:
            jobs = [job for job in history.jobs(ledger) if job.id in names]
        return jobs if all(job.life in ENDED_JOBS for job in jobs) else []

    return until("all jobs to end", look)


def row_of(client: Client, policy: str, job: JobState) -> Row:
    """A job that has ended, with what Hadoop's JobHistory server says of its tasks."""
    spans = list(_spans(client, job)) if job.life is not JobLife.DROPPED else []
    return Row(
        policy=policy,
        cluster=job.cluster,
        job=job.id.removeprefix(f"{policy}-{job.cluster}-"),
        outcome=_outcome(job),
        granted=job.granted,
        at_once=most_at_once(spans) if spans else None,
        work_s=sum(end - begin for begin, end in spans) / 1000 if spans else None,
    )


def _outcome(job: JobState) -> str:
    if job.life is JobLife.SUCCEEDED:
        return "met" if job.met else "missed"
    return job.life.value


def _spans(client: Client, job: JobState) -> Iterable[tuple[int, int]]:
    """When each task of a job ran, in milliseconds, as far as the JobHistory server knows."""
    query = {"cluster": job.cluster, "job": job.id, "attempt": str(job.attempt), "application": job.application}
    for document in client.stream("history", **query):
        for task in document.get("tasks", ()):
            begin, end = task.get("startTime", 0), task.get("finishTime", 0)
            if 0 < begin <= end:
                yield begin, end


def most_at_once(spans: Sequence[tuple[int, int]]) -> int:
    """The most of these spans that hold the same moment; a span ends before its last one."""
    return max((sum(begin <= at < end for begin, end in spans) for at, _ in spans), default=0)


@contextmanager
def own_lab(hosts: int, node_bytes: int, clusters: Mapping[str, str], say: Say) -> Iterator[tuple[Lab, Site]]:
    """A lab of one show with files of MR-clusters, which is taken down however this process ends."""
    with TemporaryDirectory(prefix="fawkes-mix-") as folder:
        site = Site(Path(folder) / "lab")
        with lab_of(LabSpec(hosts=hosts, site=site.root, nodemanager_memory_bytes=node_bytes), say) as own:
            lab.write_clusters(site, clusters)
            yield own, site


def until(what: str, look: Callable[[], T]) -> T:
    """The first answer that is true; DeadlineError after 420 s."""
    return lab.until(what, look, limit_s=_LIMIT_S, every_s=_LOOK_S)


# --- the same jobs offline


def simulated(
    mix: Sequence[Plan],
    policy: str,
    *,
    hosts: int,
    settings: Mapping[str, object],
    model: Mapping[str, object],
    clusters: Mapping[str, Mapping[str, object]],
) -> Reader:
    """The ledger of a mix in the simulated world; its times count from the moment at which an MR-cluster runs."""
    text = f"hosts = {hosts}\n[settings]\n{toml(settings)}[model]\n{toml(model)}"
    text += "".join(f"[[cluster]]\n{toml({'id': name, **table})}" for name, table in clusters.items())
    for plan in mix:
        when = {"after": "running", "delay": f"{plan.at_s}s"}
        for cluster, job in zip(plan.clusters, plan.ids(policy), strict=True):
            text += f"[[job]]\n{toml({'cluster': cluster, 'id': job, **plan.table(), **when})}"
    return run_of(text)


def run_of(text: str) -> Reader:
    """The ledger of a scenario in the simulated world."""
    catalog = Catalog(bundled=Path(__file__).parents[1])
    with TemporaryDirectory(prefix="fawkes-mix-") as folder:
        path = Path(folder) / "mix.toml"
        path.write_text(text)
        read = read_plan(Site(Path(folder)), catalog, str(path), None)
        return simulate(with_demands(read.scenario(catalog, policy=None, changes={}), read.demands))


def toml(table: Mapping[str, object]) -> str:
    """A table of plain values, a line for each key."""
    return "".join(f"{key} = {json.dumps(value)}\n" for key, value in table.items())


# --- tables


def tables(rows: Sequence[Row]) -> str:
    """As Markdown: a line for each policy, then one for each job."""
    lines = ["| policy | met | missed | dropped | killed | wasted task-seconds |", "|---|---|---|---|---|---|"]
    for policy in dict.fromkeys(row.policy for row in rows):
        of_policy = [row for row in rows if row.policy == policy]
        counts = Counter(row.outcome for row in of_policy)
        cells = [policy, *(counts[name] for name in ("met", "missed", "dropped", "killed")), _wasted(of_policy)]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    lines += ["", "| policy | MR-cluster | job | outcome | CPUs granted | most tasks at once | task-seconds |"]
    lines.append("|---|---|---|---|---|---|---|")
    for row in rows:
        cells = [row.policy, row.cluster, row.job, row.outcome, _granted(row), _known(row.at_once)]
        lines.append(f"| {' | '.join(map(str, [*cells, _known(row.work_s)]))} |")
    return "\n".join(lines) + "\n"


def _granted(row: Row) -> str:
    """A job that was let in without a number has all that there is room for."""
    return str(row.granted or ("none" if row.outcome == "dropped" else "all"))


def _wasted(rows: Sequence[Row]) -> str:
    """What ran for jobs that did not end in time; with a + where Hadoop kept no history of one that ran."""
    late = [row for row in rows if row.outcome in ("missed", "killed")]
    more = "+" if any(row.work_s is None for row in late) else ""
    return f"{sum(row.work_s or 0.0 for row in late):.0f}{more}"


def _known(figure: float | None) -> str:
    return "not known" if figure is None else f"{figure:.0f}"
