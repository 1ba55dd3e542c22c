"""Section 7: WKLD-A to E under a policy, decided by the engine that runs live, and what came out as plain figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from fawkes.base.catalog import Catalog, Kind
from fawkes.base.units import SECOND_US
from fawkes.config.settings.settings import settings_of
from fawkes.core.values.events import PolicyText, Requested, Submitted
from fawkes.core.values.model import ClusterId, ClusterSpec, JobId, JobState
from fawkes.core.values.settings import Settings
from fawkes.offline.scenarios.applications import details_of, job_spec_of
from fawkes.offline.scenarios.scenario import Scenario, pool_of, simulate
from fawkes.offline.studies.paper.experiments.micro import profile, reference_us
from fawkes.offline.studies.paper.judging.fixed import MIN_NODES, SEED, SHAKE_US, FixedModel
from fawkes.policy.worker.policies import policy_text
from fawkes.report import history
from fawkes.report.pictures.course import course_of
from fawkes.report.pictures.steps import ROLES, held, value_at
from fawkes.sim.users import Wish
from fawkes.store.base import Reader
from fawkes.store.memory import MemoryStore
from fawkes.workload.making.arrivals import perturbed
from fawkes.workload.making.classes import ClassLoad, Reconstruction, workload
from fawkes.workload.model import TraceJob
from fawkes.workload.seeds import rng

NODES: Mapping[str, int] = {"WKLD-A": 60, "WKLD-B": 60, "WKLD-C": 60, "WKLD-D": 48, "WKLD-E": 48}
PERIODS: Mapping[str, str] = {"WKLD-A": "60s", "WKLD-B": "60s", "WKLD-C": "60s", "WKLD-D": "120s", "WKLD-E": "120s"}
LIMIT_US = 12 * 3600 * SECOND_US
"""A run that takes longer never ends: the longest takes four hours."""
BATCHES = ("WKLD-A", "WKLD-B", "WKLD-C")
"""All jobs come at once."""
#: what came with Fawkes: a policy of the user's own would be another experiment
_OURS = Catalog()


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """One run: a workload under a policy; ``replay`` 0 has the times as drawn, the others perturbed ones."""

    workload: str
    policy: str
    growth: str = "TC"
    tau: float = 10.0
    replay: int = 0


def scenario_of(run: Replay, model: FixedModel) -> Scenario:
    """The scenario; jobs come when their MR-cluster has loaded its data. Chances of tasks are those of the replay."""
    choice = replace(
        model.reconstruction,
        reduces=max(1, round(model.reconstruction.reduces * model.factor("reduces"))),
        span_us=round(model.reconstruction.span_us * model.factor("span")),
    )
    return Scenario(
        name=run.workload,
        nodes=pool_of(NODES[run.workload]),
        settings=_settings(run),
        policy=_policy(run.policy),
        wishes=tuple(_wishes(run, choice, model)),
        constants=model.constants,
        limit_us=LIMIT_US,
        seed=rng(SEED, "tasks", str(run.replay)).getrandbits(63),
    )


def _settings(run: Replay) -> Settings:
    table = {
        "preset": "paper",
        "period": PERIODS[run.workload],
        "growth": run.growth,
        "tau": run.tau,
        # After T without tasks an MR-cluster is removed (3.1). Over hours with pauses that would be its end.
        "idle_time": "period" if run.workload in BATCHES else "never",
    }
    return settings_of(table, file="paper", base=Path(), catalog=_OURS).core


def _policy(name: str) -> PolicyText:
    policy = _OURS.find(Kind.POLICY, name)
    return policy_text(policy.title, policy.origin.value, policy.text())


def _wishes(run: Replay, choice: Reconstruction, model: FixedModel) -> Iterable[Wish]:
    for load in workload(run.workload, SEED, choice):
        cluster = ClusterId(load.cluster)
        details = {"data": [{"size_bytes": model.data_bytes or load.data_bytes}]}
        yield Wish(
            event=Requested(at_us=load.requested_us, spec=ClusterSpec(id=cluster, min_nodes=MIN_NODES, details=details))
        )
        for job in _as_many(_shaken(run, load), model.jobs.get(load.cluster, 1.0)):
            asks = profile(job, model)
            plain = job_spec_of(job, load.cluster, reference_us(model.constants, asks))
            yield Wish(
                event=Submitted(at_us=load.requested_us, spec=replace(plain, details=details_of(asks))),
                delay_us=0 if job.after else job.submit_us,
                think_us=job.think_us,
                running=None if job.after else cluster,
                jobs=tuple(map(JobId, job.after)),
            )


def _as_many(jobs: tuple[TraceJob, ...], factor: float) -> tuple[TraceJob, ...]:
    wanted = round(len(jobs) * factor)
    return jobs[:wanted] + tuple(replace(job, id=f"{job.id}-again") for job in jobs[: max(0, wanted - len(jobs))])


def _shaken(run: Replay, load: ClassLoad) -> tuple[TraceJob, ...]:
    """The jobs with times that count from the moment in which their MR-cluster works."""
    jobs = tuple(replace(job, submit_us=job.submit_us - load.requested_us) for job in load.jobs)
    if not run.replay:
        return jobs
    return perturbed(jobs, rng(SEED, run.workload, load.cluster, f"replay {run.replay}"), SHAKE_US[run.workload])


def play(run: Replay, model: FixedModel) -> dict[str, Any]:
    """The outcome of a replay, as plain values; times in seconds since the start of the run.

    ``clusters``: for each its first submission, when its last job ended, the time between them, jobs, means of the
    slowdown and of the response; ``makespan_s``: the last end; ``moves``: reconfigurations with their times;
    ``movable_c1``: c-1's mean part of the nodes above the minimums while it had jobs. Replay 0 has its ``course`` as
    well.
    """
    store = MemoryStore()
    simulate(scenario_of(run, model), store)
    jobs = history.jobs(store)
    clusters = {
        str(state.id): {
            "asked_s": state.requested_us / SECOND_US,
            "works_s": (state.active_us or 0) / SECOND_US,
            **_of_jobs([job for job in jobs if job.spec.cluster == state.id]),
        }
        for state in history.clusters(store)
    }
    moves = [tick.at_us / SECOND_US for tick in history.ticks(store) if tick.moved]
    end_s = max(float(cluster["ended_s"]) for cluster in clusters.values())
    outcome: dict[str, Any] = {
        "clusters": clusters,
        "makespan_s": end_s,
        "reconfigurations": len(moves),
        "moves_s": moves,
        "movable_c1": _movable(store, "c-1", float(clusters["c-1"]["begun_s"]), float(clusters["c-1"]["ended_s"])),
    }
    if not run.replay:
        outcome["course"] = course_of(store).plain()
    return outcome


def _of_jobs(jobs: list[JobState]) -> dict[str, Any]:
    done = [(job.submitted_us, job.finished_us, job.slowdown) for job in jobs]
    ends = [end for _, end, _ in done if end is not None]
    slow = [slowdown for _, _, slowdown in done if slowdown is not None]
    begun_us = min(submitted for submitted, _, _ in done)
    return {
        "jobs": len(jobs),
        "begun_s": begun_us / SECOND_US,
        "ended_s": max(ends) / SECOND_US,
        "drain_s": (max(ends) - begun_us) / SECOND_US,
        "slowdown": sum(slow) / len(slow),
        "response_s": sum((end or 0) - begun for begun, end, _ in done) / len(done) / SECOND_US,
    }


def _movable(store: Reader, cluster: str, from_s: float, to_s: float) -> float:
    """The part of all nodes above the minimums that an MR-cluster held, on average over that time."""
    curves = held(store)
    most = sum(1 for _ in history.nodes(store)) - MIN_NODES * len(curves.clusters)
    own = [curves.curve(cluster, role) for role in ROLES]
    times = sorted({from_s, to_s, *(step.at_s for step in curves.steps if from_s < step.at_s < to_s)})
    held_s = sum(
        (right - left) * (sum(value_at(curve, left) for curve in own) - MIN_NODES) for left, right in pairwise(times)
    )
    return held_s / (most * (to_s - from_s))
