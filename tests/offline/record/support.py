"""A run in the simulated world as if it had been recorded live: sleep jobs on a few nodes, and its ledger as a site."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from fawkes.base.units import SECOND_US
from fawkes.config.clusters.details import ClusterDetails, DataSet, JobDetails, SleepTasks
from fawkes.core.values.model import ClusterId, ClusterSpec, JobId, JobSpec, JobState
from fawkes.offline.record.folder import Record, write_record
from fawkes.offline.record.scenario import Platform
from fawkes.offline.record.span import recorded_span, span_of
from fawkes.offline.runs.folder import copied
from fawkes.offline.scenarios.load import Coming, Demand
from fawkes.offline.scenarios.plan import Plan, with_demands
from fawkes.offline.scenarios.scenario import pool_of, simulate
from fawkes.sim.hadoop.constants import DAS4
from fawkes.store.base import Writer
from fawkes.store.sqlite import LedgerReader
from tests.offline.support import CATALOG

SETTINGS: Mapping[str, Any] = {"preset": "paper", "period": "20s", "growth": "TR", "policy": "TD", "idle_time": "60s"}
#: a site as `fawkes calibrate` sees it
CONSTANTS = replace(DAS4, map_slots=0, slots=4, task_end_us=0, serial=0.0, disk_seek=0.0, master_share=0.5)
#: a simulated one with containers
OWN = replace(DAS4, map_slots=0, slots=4, master_share=0.5)


def sleep_job(
    name: str, cluster: str, *, maps: int = 4, map_s: float = 12, reduces: int = 0, reduce_s: float = 1
) -> JobSpec:
    """A sleep job as `fawkes submit` makes it."""
    tasks = SleepTasks(
        maps=maps, map_us=round(map_s * SECOND_US), reduces=reduces, reduce_us=round(reduce_s * SECOND_US)
    )
    details = JobDetails(kind="class", release_jar="jobclient-tests", main_class="SleepJob", sleep=tasks)
    return JobSpec(
        id=JobId(name),
        cluster=ClusterId(cluster),
        tasks=maps + reduces,
        tasks_estimated=False,
        input_bytes=0,
        details=details.plain(),
    )


def demand(name: str, jobs: Sequence[JobSpec], *, at_s: float = 0, every_s: float = 5, data_bytes: int = 0) -> Demand:
    """An MR-cluster of two core nodes whose jobs come one after another."""
    data = (DataSet(source="/in", to="/in", size_bytes=data_bytes),) if data_bytes else ()
    spec = ClusterSpec(
        id=ClusterId(name),
        min_nodes=2,
        replication=1,
        details=ClusterDetails(hadoop_version="3.5.0", data=data).plain(),
    )
    come = tuple(Coming(round(number * every_s * SECOND_US), job) for number, job in enumerate(jobs, 1))
    return Demand(spec=spec, requested_us=round(at_s * SECOND_US), jobs=come)


def two() -> tuple[Demand, ...]:
    """An MR-cluster with short jobs, and one with three times as much to do."""
    return (
        demand("a", [sleep_job(f"a-{n}", "a") for n in range(3)], data_bytes=10**9),
        demand("b", [sleep_job(f"b-{n}", "b", maps=12, reduces=1) for n in range(6)], at_s=10),
    )


def run(demands: Sequence[Demand] | None = None, settings: Mapping[str, Any] = SETTINGS, **more: Any) -> Writer:
    """The store of a run with every step."""
    facts: dict[str, Any] = {"nodes": pool_of(8), "constants": OWN} | more
    plan = Plan(name="live", settings=settings, demands=tuple(demands or two()), file="live", **facts)
    return simulate(with_demands(plan.scenario(CATALOG), plan.demands))


def site_of(store: Writer, folder: Path) -> Path:
    """A site folder with the ledger of a run, on which no controller runs."""
    copied(store, folder / "state")
    return folder


def recorded(store: Writer, folder: Path, **more: Any) -> Record:
    """The record of a run."""
    site = site_of(store, folder / "site")
    reader = LedgerReader(site / "state")
    try:
        recorded = recorded_span(reader, span_of(reader))
        histories, platform = more.pop("histories", {}), more.pop("platform", Platform())
        missing = {str(job.id): "nobody was asked" for job in recorded.jobs if job.id not in histories}
        missing = more.pop("missing", missing)
        return write_record(folder / "record", reader, recorded, platform, histories, missing, **more)
    finally:
        reader.close()


def history_of(job: JobState, *, maps: int, cpu_ms: int = 1000, begin_us: int = 7 * SECOND_US) -> dict[str, Any]:
    """The controller's answer for a job: its maps side by side from ``begin_us`` on, 4 s before its end."""
    began_us, ended_us = job.started_us or 0, job.finished_us or 0
    task = {
        "type": "MAP",
        "state": "SUCCEEDED",
        "startTime": (began_us + begin_us) // 1000,
        "finishTime": (ended_us - 4 * SECOND_US) // 1000,
    }
    counter = {"name": "CPU_MILLISECONDS", "mapCounterValue": maps * cpu_ms, "reduceCounterValue": 0}
    return {
        "application": {"id": "application_1_1", "started_us": began_us, "finished_us": ended_us},
        "why": "",
        "job": {
            "state": "SUCCEEDED",
            "submitTime": began_us // 1000,
            "startTime": began_us // 1000,
            "finishTime": ended_us // 1000,
            "mapsTotal": maps,
            "reducesTotal": 0,
        },
        "counters": [{"counterGroupName": "Task", "counter": counter}],
        "tasks": [
            {**task, "attempt": {**task, "node": f"node{number % 2 + 1:02d}"}, "id": f"t{number}"}
            for number in range(maps)
        ],
    }
