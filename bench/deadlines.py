"""Deadlines on real Hadoop in a lab: a mix of tight, loose and hopeless ones under several admission policies.

Two MR-clusters get the same jobs. Tasks sleep, so that the processors of one machine decide as little as possible. For
each job the table has the CPUs granted beside the most tasks that YARN ran at once, by Hadoop's own histories.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench.figures import Say
from fawkes.cli.client import Client
from fawkes.config.jobs import job_of
from fawkes.config.site import Site
from fawkes.core.lifecycle import ENDED_JOBS
from fawkes.core.model import JobLife, JobState
from fawkes.core.record import to_plain
from fawkes.demo.stage import controller_of, lab_of
from fawkes.errors import DeadlineError, FawkesError
from fawkes.lab import LabSpec
from fawkes.report import history
from fawkes.store.sqlite import LedgerReader

POLICIES = ("fifo", "reactive", "justice")
CLUSTERS = ("left", "right")
HOSTS = 4
_NODE_BYTES = 1_500_000_000
_LIMIT_S = 420.0
_LOOK_S = 0.5
_SETTINGS = 'preset = "demo"\npolicy = "EQ"\nsample_every = "2s"\nidle_time = "10h"\nadmission = "{admission}"\n'
_CLUSTER = "min_nodes = 2\nmax_nodes = 2\nreplication = 1\nmax_running_jobs = 4\n"


@dataclass(frozen=True, slots=True)
class Plan:
    """A job of the mix: when it is submitted, and what it is. Times are in seconds."""

    name: str
    at_s: float
    maps: int
    map_s: int
    deadline_s: int


MIX = (
    Plan("known-1", 0, 4, 5, 180),
    Plan("known-2", 0, 4, 5, 180),
    Plan("tight-1", 50, 4, 10, 60),
    Plan("hopeless-1", 52, 6, 20, 22),
    Plan("loose-1", 54, 6, 8, 240),
    Plan("tight-2", 56, 4, 10, 75),
    Plan("hopeless-2", 58, 6, 20, 22),
    Plan("loose-2", 60, 6, 8, 240),
)


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


def rows(policies: Sequence[str], say: Say) -> list[Row]:
    """All jobs under each policy, on one lab; FawkesError when the lab or a controller fails."""
    found: list[Row] = []
    with TemporaryDirectory(prefix="fawkes-deadlines-") as folder:
        site = Site(Path(folder) / "lab")
        with lab_of(LabSpec(hosts=HOSTS, site=site.root, nodemanager_memory_bytes=_NODE_BYTES), say) as lab:
            site.clusters_dir.mkdir(parents=True)
            for name in CLUSTERS:
                site.cluster_file(f"{site.clusters_dir}/{name}.toml").write_text(_CLUSTER)
            for policy in policies:
                site.settings_file.write_text(_SETTINGS.format(admission=policy))
                with controller_of(lab, site) as client:
                    _ready(client, site)
                    say(f"deadlines: {policy}")
                    _play(client, policy, say)
                    found += [_row(client, policy, job) for job in _ended(client, site, policy)]
    return found


def _ready(client: Client, site: Site) -> None:
    """Both MR-clusters run; they are asked for by the first controller."""
    known = {str(row["cluster"]) for row in client.rows("clusters")}
    for name in CLUSTERS:
        if name not in known:
            client.post("request", {"spec": to_plain(site.cluster(name))})
    _until(
        "both MR-clusters to run",
        lambda: all(row["state"] == "running" for row in client.rows("clusters")),
    )


def _play(client: Client, policy: str, say: Say) -> None:
    began = time.monotonic()
    for plan in MIX:
        time.sleep(max(0.0, began + plan.at_s - time.monotonic()))
        for cluster in CLUSTERS:
            table = {
                "id": _name(policy, cluster, plan.name),
                "kind": "sleep",
                "maps": plan.maps,
                "map_time": f"{plan.map_s}s",
                "reduces": 0,
                "deadline": f"{plan.deadline_s}s",
            }
            spec = job_of(table, cluster=cluster, file="the mix", folder=Path())
            client.post("submit", {"spec": to_plain(spec)})
        say(f"deadlines: {plan.name} submitted")


def _name(policy: str, cluster: str, job: str) -> str:
    return f"{policy}-{cluster}-{job}"


def _ended(client: Client, site: Site, policy: str) -> list[JobState]:
    names = {_name(policy, cluster, plan.name) for cluster in CLUSTERS for plan in MIX}

    def look() -> list[JobState]:
        with closing(LedgerReader(site.state_dir)) as ledger:
            found = [job for job in history.jobs(ledger) if job.id in names]
        return found if all(job.life in ENDED_JOBS for job in found) else []

    return list(_until("all jobs to end", look))


def _row(client: Client, policy: str, job: JobState) -> Row:
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
    asked = {"cluster": job.cluster, "job": job.id, "attempt": str(job.attempt), "application": job.application}
    for document in client.stream("history", **asked):
        for task in document.get("tasks", ()):
            begin, end = task.get("startTime", 0), task.get("finishTime", 0)
            if 0 < begin <= end:
                yield begin, end


def most_at_once(spans: Sequence[tuple[int, int]]) -> int:
    """The most of these spans that hold the same moment; a span ends before its last one."""
    return max((sum(begin <= at < end for begin, end in spans) for at, _ in spans), default=0)


def _until(what: str, look: Any) -> Any:
    limit = time.monotonic() + _LIMIT_S
    while not (found := look()):
        if time.monotonic() > limit:
            raise DeadlineError(f"waited {_LIMIT_S:.0f} s for {what}")
        time.sleep(_LOOK_S)
    return found


# --- tables


def tables(found: Sequence[Row]) -> str:
    """As Markdown: a line for each policy, then one for each job."""
    lines = ["| policy | met | missed | dropped | killed | wasted task-seconds |", "|---|---|---|---|---|---|"]
    for policy in dict.fromkeys(row.policy for row in found):
        of_policy = [row for row in found if row.policy == policy]
        counts = Counter(row.outcome for row in of_policy)
        cells = [policy, *(counts[name] for name in ("met", "missed", "dropped", "killed")), _wasted(of_policy)]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    lines += ["", "| policy | MR-cluster | job | outcome | CPUs granted | most tasks at once | task-seconds |"]
    lines.append("|---|---|---|---|---|---|---|")
    for row in found:
        cells = [row.policy, row.cluster, row.job, row.outcome, _granted(row), _known(row.at_once)]
        lines.append(f"| {' | '.join(map(str, [*cells, _known(row.work_s)]))} |")
    return "\n".join(lines) + "\n"


def _granted(row: Row) -> str:
    """A job that was let in without a number has all that there is room for."""
    return str(row.granted or ("none" if row.outcome == "dropped" else "all"))


def _wasted(found: Sequence[Row]) -> str:
    """What ran for jobs that did not end in time; with a + where Hadoop kept no history of one that ran."""
    late = [row for row in found if row.outcome in ("missed", "killed")]
    more = "+" if any(row.work_s is None for row in late) else ""
    return f"{sum(row.work_s or 0.0 for row in late):.0f}{more}"


def _known(figure: float | None) -> str:
    return "not known" if figure is None else f"{figure:.0f}"


def main() -> int:
    """Run, print the tables, and write them to a file if one is named."""
    parser = argparse.ArgumentParser(prog="python -m bench.deadlines", description=__doc__)
    parser.add_argument("--policies", default=",".join(POLICIES), help="admission policies, with commas between them")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the tables as Markdown")
    asked = parser.parse_args()
    try:
        text = tables(rows(asked.policies.split(","), lambda said: print(said, file=sys.stderr)))
    except FawkesError as error:
        print(error, file=sys.stderr)
        return error.exit_status
    print(text)
    if asked.write is not None:
        asked.write.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
