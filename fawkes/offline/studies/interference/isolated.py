"""The same load on isolated MR-clusters under Fawkes: one for each framework, on as many nodes as the cloud has slaves.

It is run by the simulator, decided by the code that decides live. A task has its length whatever the machine does, as
in the study, and each node runs `[isolated] slots` of them at once.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import replace

from fawkes.base.catalog import Catalog, Kind
from fawkes.base.errors import ConfigError
from fawkes.base.units import SECOND_US
from fawkes.config.settings.settings import settings_of
from fawkes.core.state.admitting import Admission
from fawkes.core.values.decision import AddSample
from fawkes.core.values.events import Sampled
from fawkes.core.values.model import ClusterId, ClusterSpec, JobId, JobSpec
from fawkes.core.watching.stuck import standing_of, stands_still
from fawkes.offline.scenarios.load import Coming, Demand
from fawkes.offline.scenarios.plan import with_demands
from fawkes.offline.scenarios.scenario import Scenario as Run
from fawkes.offline.scenarios.scenario import pool_of, simulate
from fawkes.offline.studies.interference.rows import FAWKES, MANAGERS, Curve, FrameworkRow, Points, played
from fawkes.offline.studies.interference.scenario import InterferenceScenario
from fawkes.offline.studies.interference.values import FrameworkJob
from fawkes.policy.worker.policies import policy_text
from fawkes.report import history
from fawkes.sim.hadoop.constants import PLAIN
from fawkes.store.base import Reader

#: the paper's method at the pace of a laboratory: tasks here take seconds
_SETTINGS = {"preset": "demo", "growth": "TR"}
#: between two samples of that preset
_SAMPLE_US = 2 * SECOND_US


def under_each(
    scenario: InterferenceScenario,
    admission: Admission,
    catalog: Catalog,
    managers: Container[str],
    step: Callable[[str], None] = lambda name: None,
) -> tuple[list[FrameworkRow], list[Curve]]:
    """Rows and curves under these managers, by name: without a remedy, with each of them, on isolated MR-clusters.

    ``step`` hears of each that is done. Errors are those of `played` and of `isolated`.
    """
    rows, curves = list[FrameworkRow](), list[Curve]()
    for remedy, manager in (*MANAGERS.items(), (None, FAWKES)):
        if manager in managers:
            more = isolated(scenario, catalog) if remedy is None else played(scenario.study, remedy, admission)
            rows, curves = rows + more[0], curves + more[1]
            step(manager)
    return rows, curves


def isolated(scenario: InterferenceScenario, catalog: Catalog) -> tuple[list[FrameworkRow], list[Curve]]:
    """Rows and curves of the frameworks on MR-clusters of their own; times count from when their MR-cluster runs.

    ConfigError when the minimums are more than the nodes; DeadlineError when the jobs do not end within the limit.
    """
    study, table = scenario.study, scenario.isolated
    names = list(dict.fromkeys(job.framework for job in study.jobs))
    if len(names) * table.min_nodes > study.cloud.slaves:
        raise ConfigError(
            f"{len(names)} MR-clusters with {table.min_nodes} nodes each need more than {study.cloud.slaves} nodes",
            file=str(scenario.file),
            key="isolated.min_nodes",
            hint="Make it smaller, or give [cloud] more slaves",
        )
    file, base = str(scenario.file), scenario.file.parent
    policy = catalog.find(Kind.POLICY, table.policy, base=base, file=file, key="isolated.policy")
    settings = settings_of(_SETTINGS, file=file, base=base, catalog=catalog, policy=policy)
    constants = replace(PLAIN, slots=table.slots)
    run = Run(
        name=study.name,
        nodes=pool_of(study.cloud.slaves),
        settings=settings.core,
        policy=policy_text(policy.title, str(policy.path), policy.text()),
        wishes=(),
        constants=constants,
        limit_us=study.limit_us,
    )
    store = simulate(with_demands(run, [_demand(name, scenario) for name in names]))
    return [_row(store, name, scenario) for name in names], _curves(store, names, scenario)


def _demand(name: str, scenario: InterferenceScenario) -> Demand:
    jobs = [job for job in scenario.study.jobs if job.framework == name]
    spec = ClusterSpec(id=ClusterId(name), min_nodes=scenario.isolated.min_nodes, replication=1)
    return Demand(spec=spec, once_running=tuple(each for job in jobs for each in _stages(job)))


def _stages(job: FrameworkJob) -> list[Coming]:
    """Each stage as a MapReduce job of maps alone, after the one before."""
    coming: list[Coming] = []
    for number, stage in enumerate(job.stages, 1):
        spec = JobSpec(
            id=JobId(f"{job.name}-{number}"),
            cluster=ClusterId(job.framework),
            tasks=stage.tasks,
            tasks_estimated=False,
            details={"profile": {"maps": stage.tasks, "map_us": stage.task_us}},
        )
        coming.append(Coming(at_us=job.at_us, spec=spec, after=tuple(before.spec.id for before in coming[-1:])))
    return coming


def _begun_us(store: Reader, name: str) -> int:
    cluster = next(state for state in history.clusters(store) if state.id == name)
    return cluster.active_us or 0


def _row(store: Reader, name: str, scenario: InterferenceScenario) -> FrameworkRow:
    begun_us = _begun_us(store, name)
    jobs = [job for job in history.jobs(store) if job.cluster == name]
    ends = [job.finished_us for job in jobs if job.finished_us is not None]
    starts = [job.started_us for job in jobs if job.started_us is not None]
    return FrameworkRow(
        manager=FAWKES,
        framework=name,
        at_s=min(job.at_us for job in scenario.study.jobs if job.framework == name) / SECOND_US,
        first_task_s=(min(starts) - begun_us) / SECOND_US if starts else None,
        finished_s=(max(ends) - begun_us) / SECOND_US if len(ends) == len(jobs) else None,
        stuck_s=_stuck_us(store, name) / SECOND_US,
        lost_tasks=None,
        dropped_jobs=0,
    )


def _stuck_us(store: Reader, name: str) -> int:
    """The time for which the detector says so: from each sample to the next one."""
    total_us, since_us = 0, None
    for entry in store.entries(kinds=(Sampled.__name__,)):
        for change in entry.decision.changes:
            if isinstance(change, AddSample) and change.cluster == name:
                at_us = change.sample.at_us
                total_us += at_us - since_us if since_us is not None else 0
                since_us = at_us if stands_still(standing_of(change.sample)) else None
    return total_us


def _curves(store: Reader, names: list[str], scenario: InterferenceScenario) -> list[Curve]:
    """CPUs of the nodes that each MR-cluster has, and those of them with a task, up to the end of the last job."""
    cpus, slots = scenario.study.cloud.slave.cpu_milli / 1000, scenario.isolated.slots
    zero_us = min(_begun_us(store, name) for name in names)
    last_us = max(job.finished_us or 0 for job in history.jobs(store))
    held: dict[str, Points] = {name: [] for name in names}
    used: dict[str, Points] = {name: [] for name in names}
    for entry in store.entries(kinds=(Sampled.__name__,)):
        if not isinstance(entry.event, Sampled) or entry.event.at_us > last_us + _SAMPLE_US:
            continue
        at_s = (entry.event.at_us - zero_us) / SECOND_US
        for reading in entry.event.readings:
            if at_s >= 0 and reading.slots_total is not None and reading.tasks_running is not None:
                held[reading.cluster].append((at_s, reading.slots_total / slots * cpus))
                used[reading.cluster].append((at_s, reading.tasks_running / slots * cpus))
    return [Curve(FAWKES, name, held[name], used[name], []) for name in names]
