"""Spark applications under CPU quotas on a lab: profiled once, then run with their deadlines relaxed by 0, 20 and 40 %.

With --together several run at once, each with a deadline of its own; with --elsewhere also on another MR-cluster, and
there are free nodes.

All hosts of a lab share the processors of one machine. So this shows that quotas are set and progress follows its set
point there; it does not show what the nodes of a site can do. The tasks compute, on no more executors than the
machine has processors.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory

from bench.figures import Say
from bench.lab import exit_status
from fawkes.base.catalog import Kind, bundled_dir
from fawkes.base.errors import FawkesError
from fawkes.base.units import SECOND_US
from fawkes.cli.asking.client import Client
from fawkes.cli.demo.stage import controller_of, lab_of
from fawkes.config.site.site import Site
from fawkes.core.quota.sight import PeriodCourse
from fawkes.core.values.decision import PutJob
from fawkes.core.values.model import JobLife, JobState
from fawkes.live.lab import LabSpec
from fawkes.playbook.dist import pieces
from fawkes.report import history
from fawkes.report.words.sentences import sentence, why_ended
from fawkes.store.quotas import QuotaReader
from fawkes.store.sqlite import LedgerReader

_LIMIT_S = 1200.0
_EXECUTOR = "512m"
_SETTINGS = """
preset = "demo"
policy = "{weighting}"
period = "10s"
sample_every = "2s"
idle_time = "10h"
shared_cores = {cores}

[quota]
policy = "{policy}"
"""
_CLUSTER = 'min_nodes = {nodes}\nreplication = 1\nsoftware = ["spark"]\n'
_ARGS = (
    'args = ["--records", "{records}", "--keys", "{keys}", "--tasks", "{tasks}", "--work-us", "{work_us}", '
    '"--seed", "1"]'
)
_JOB = 'id = "{name}"\nkind = "spark"\npython = "{app}.py"\nfiles = ["common.py"]\n{args}\n'


@dataclass(frozen=True, slots=True)
class Row:
    """A run: relative error of its end (eq. 4, negative: late), cores on average while it ran stages, and periods.

    ``off`` is the mean distance of progress from its set point, in percent of a stage.
    """

    name: str
    deadline_s: float
    took_s: float
    cores: float
    off: float
    periods: int

    @property
    def error(self) -> float:
        """The error of eq. 4 in percent."""
        return 100 * (self.deadline_s - self.took_s) / self.deadline_s


class Pool:
    """A site whose controller runs."""

    def __init__(self, site: Site, client: Client, app: str, args: str, say: Say) -> None:
        self.site, self.client, self.app, self.args, self.say = site, client, app, args, say

    def command(self, *words: str) -> str:
        """Run a command of Fawkes on this site; FawkesError when it fails."""
        line = [sys.executable, "-m", "fawkes", "--site", os.fspath(self.site.root), *words]
        done = subprocess.run(line, capture_output=True, text=True, check=False, timeout=_LIMIT_S)
        if done.returncode:
            raise FawkesError(f"{' '.join(words)} ended with {done.returncode}: {done.stderr.strip()}")
        return done.stdout

    def job(self, name: str, more: str = "") -> Path:
        """The file of a job of the application."""
        path = self.site.root / "jobs" / f"{name}.toml"
        path.write_text(_JOB.format(name=name, app=self.app, args=self.args) + more)
        return path

    def jobs(self) -> dict[str, JobState]:
        """Each job as the ledger knows it last."""
        with closing(LedgerReader(self.site.state_dir)) as reader:
            changes = (latest.change for latest in reader.latest("job"))
            return {change.state.id: change.state for change in changes if isinstance(change, PutJob)}

    def courses(self, name: str) -> list[tuple[int, PeriodCourse]]:
        """The course of a job under quotas."""
        with closing(QuotaReader(self.site.state_dir)) as reader:
            return reader.courses(name)

    def run(self, name: str, deadline_s: float, more: str = "", cluster: str = "c-1") -> Row:
        """Run the application with its profile and a deadline to its end."""
        path = self.job(name, f'profile = "{self.app}"\ndeadline = "{deadline_s:.1f}s"\n{more}')
        self.command("submit", cluster, os.fspath(path), "--wait")
        return self.row(name)

    def moves(self) -> list[str]:
        """The moves of nodes so far, each with its reasons."""
        with closing(LedgerReader(self.site.state_dir)) as reader:
            return [
                f"{move.node}: {move.source or 'free'} -> {move.target or 'free'}, "
                + "; ".join(sentence(reason) for reason in move.reasons)
                for move in history.moves(reader)
            ]

    def profiled(self) -> float:
        """The seconds that the application takes without quotas; its profile is kept."""
        path = self.job(f"{self.app}-base")
        self.say(self.command("profile", "run", os.fspath(path), "--cluster", "c-1", "--name", self.app))
        (base,) = (job for name, job in self.jobs().items() if name.startswith(f"{self.app}-base"))
        took_s = ((base.finished_us or 0) - base.submitted_us) / SECOND_US
        self.say(f"without quotas it takes {took_s:.0f} s")
        return took_s

    def row(self, name: str) -> Row:
        """The row of a job that has ended; FawkesError for one that did not succeed."""
        job, courses = self.jobs()[name], self.courses(name)
        if job.finished_us is None or job.life is not JobLife.SUCCEEDED:
            raise FawkesError(f"{name} is {job.life}: {why_ended(job)}")
        given = [course.given for _, course in courses if course.given is not None and course.stage]
        off = [
            abs(course.set_point - course.progress)
            for _, course in courses
            if course.set_point is not None and course.progress is not None
        ]
        took_s = (job.finished_us - job.submitted_us) / SECOND_US
        deadline_s = (job.spec.deadline_us or 0) / SECOND_US
        return Row(name, deadline_s, took_s, fmean(given or [0.0]), fmean(off or [0.0]), len(courses))


@contextmanager
def pool(
    folder: Path, clusters: Mapping[str, int], *, free: int, memory_mb: int, policy: str, app: str, args: str, say: Say
) -> Iterator[Pool]:
    """A lab with MR-clusters of so many core nodes that have Spark, free nodes, and the programs of Table 2."""
    nodes, weighting = sum(clusters.values()) + free, "NP" if free else "EQ"
    pieces.provide(pieces.of_name("spark"), say=say)
    site = Site(folder)
    with lab_of(
        LabSpec(hosts=nodes, site=folder, nodemanager_memory_bytes=memory_mb * 1_000_000, control_groups=True), say
    ) as lab:
        site.settings_file.write_text(_SETTINGS.format(cores=os.cpu_count(), policy=policy, weighting=weighting))
        site.clusters_dir.mkdir(exist_ok=True)
        for name, count in clusters.items():
            (site.clusters_dir / f"{name}.toml").write_text(_CLUSTER.format(nodes=count))
        shutil.copytree(bundled_dir(Kind.WORKLOAD) / Kind.WORKLOAD.value / "spark", site.root / "jobs")
        with controller_of(lab, site) as client:
            made = Pool(site, client, app, args, say)
            made.command("request", *clusters, "--wait")
            yield made


def relaxed(pool: Pool, times: int, by: Sequence[float]) -> list[Row]:
    """The application profiled, and run so often with its deadline relaxed by each part."""
    base_s = pool.profiled()
    rows = []
    for part in by:
        for count in range(times):
            rows.append(pool.run(f"relaxed-{round(100 * part)}-{count}", base_s * (1 + part)))
            pool.say(line(rows[-1]))
    return rows


def together(pool: Pool, factors: Sequence[float], elsewhere: Sequence[float]) -> list[Row]:
    """The application profiled, and run so often at once, with deadlines of so many times its time without quotas.

    Those of ``elsewhere`` run on another MR-cluster.
    """
    base_s = pool.profiled()
    # Without it an executor has more than half of a node.
    more = f'properties = {{ "spark.executor.memory" = "{_EXECUTOR}" }}\n'
    places = [("c-1", factor) for factor in factors] + [("c-2", factor) for factor in elsewhere]
    with ThreadPoolExecutor(len(places)) as threads:
        runs = [
            threads.submit(pool.run, f"together-{number}-on-{cluster}", base_s * factor, more, cluster)
            for number, (cluster, factor) in enumerate(places)
        ]
        rows = [run.result() for run in runs]
    pool.say("\n".join(pool.moves()))
    return rows


def line(row: Row) -> str:
    """A row of the table."""
    return (
        f"{row.name:16} deadline {row.deadline_s:5.1f} s  took {row.took_s:6.1f} s  error {row.error:+6.2f} %  "
        f"cores {row.cores:4.2f}  off the set point {row.off:4.1f} %  periods {row.periods}"
    )


def main(say: Callable[[str], None] = print) -> int:
    """Run the show, and print its table; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m bench.ontime", description=__doc__)
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--by", type=float, nargs="+", default=[0.0, 0.2, 0.4])
    parser.add_argument("--app", default="group-by")
    parser.add_argument("--nodes", type=int, default=2)
    parser.add_argument("--tasks", type=int, default=80)
    parser.add_argument("--keys", type=int, default=60, help="with fewer keys than tasks some tasks have nothing to do")
    parser.add_argument("--records", type=int, default=40_000)
    parser.add_argument("--work-us", type=int, default=1_000)
    parser.add_argument("--policy", default="edf_pure")
    parser.add_argument("--together", type=float, nargs="+", default=[], help="multiples of the time without quotas")
    parser.add_argument("--elsewhere", type=float, nargs="+", default=[], help="the same, on another MR-cluster")
    parser.add_argument("--memory-mb", type=int, default=2500)
    given = parser.parse_args()
    args = _ARGS.format(records=given.records, keys=given.keys, tasks=given.tasks, work_us=given.work_us)
    clusters = {"c-1": given.nodes} | ({"c-2": 1} if given.elsewhere else {})
    with (
        TemporaryDirectory(prefix="fawkes-ontime-") as folder,
        pool(
            Path(folder) / "lab",
            clusters,
            free=2 if given.elsewhere else 0,
            memory_mb=given.memory_mb,
            policy=given.policy,
            app=given.app,
            args=args,
            say=say,
        ) as made,
    ):
        several = given.together or given.elsewhere
        rows = together(made, given.together, given.elsewhere) if several else relaxed(made, given.times, given.by)
        say("\n".join(map(line, rows)))
        say(made.command("explain", "--job", rows[-1].name))
    return 0


if __name__ == "__main__":
    sys.exit(exit_status(main))
