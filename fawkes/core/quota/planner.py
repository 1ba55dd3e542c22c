"""Plans of stages: how long a stage may take and how many cores that needs (eq. 1 to 3, 6 and 7)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, fsum

from fawkes.core.fairness.targets import Bounds, whole_nodes
from fawkes.core.quota.profile import ApplicationProfile, ProfiledStage, records_of
from fawkes.core.quota.values import TOLERANCE, Parameters, round_up


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldExecutors:
    """The executors of an application, each on a node of its own, and the cores of a node."""

    executors: int
    node_cores: float

    @property
    def cores(self) -> float:
        """All cores of these nodes."""
        return self.executors * self.node_cores


@dataclass(frozen=True, slots=True, kw_only=True)
class StagePlan:
    """A stage on its submission: it should end within ``deadline_s``, and needs ``cores`` (None: all, not known).

    ``initial`` are the cores that each executor gets at first.
    """

    deadline_s: float
    cores: int | None
    initial: float


def weight(stage: ProfiledStage, waiting: Sequence[ProfiledStage], beta: float) -> float:
    """The part of the remaining time that a stage leaves to others: w_s (eq. 2 and 3).

    ``waiting`` are the stages that were not submitted yet, with ``stage`` itself (resolution 3).
    """
    durations = fsum(each.duration_s for each in waiting) / stage.duration_s
    return beta * len(waiting) + (1 - beta) * durations


def plan_stage(
    stage: ProfiledStage,
    waiting: Sequence[ProfiledStage],
    *,
    records: float,
    spent_s: float,
    deadline_s: float,
    held: HeldExecutors,
    parameters: Parameters,
    end_s: float | None = None,
) -> StagePlan:
    """The plan of a stage that is submitted now, ``spent_s`` after its application.

    ``records`` are those that its parents wrote in this run, ``end_s`` is what the application takes after its last
    stage. That, and the time in which no stage runs until then, is not divided among stages. A stage that is late
    already, or whose rate is not known, gets all cores.
    """
    idle_s = fsum(each.idle_s or 0.0 for each in waiting if each.id != stage.id) + (end_s or 0.0)
    own_s = (parameters.alpha * deadline_s - spent_s - idle_s) / weight(stage, waiting, parameters.beta)
    if own_s <= TOLERANCE or stage.rate is None:
        return StagePlan(deadline_s=max(0.0, own_s), cores=None, initial=held.node_cores)
    cores = max(1, ceil(records / (own_s * stage.rate) - TOLERANCE))
    initial = min(held.node_cores, round_up(cores / held.executors, parameters.quantum))
    return StagePlan(deadline_s=own_s, cores=cores, initial=initial)


@dataclass(frozen=True, slots=True)
class Shortage:
    """A stage that needs more cores than there are, at a deadline (None: whatever there is)."""

    stage: str
    cores: int | None
    of: float


def shortages(
    profile: ApplicationProfile, deadline_s: float, held: HeldExecutors, parameters: Parameters, size: float = 1.0
) -> list[Shortage]:
    """The stages that cannot be in time when all earlier ones are: a warning, which blocks nothing.

    ``size`` is that of the data as a multiple of the profile's; records flow on as in the profile.
    """
    spent_s, written, short = 0.0, dict[str, float](), list[Shortage]()
    for place, stage in enumerate(profile.stages):
        records = records_of(profile, stage, written, size)
        before = records_of(profile, stage, {})
        written[stage.id] = stage.records_written * (records / before if before else size)
        spent_s += stage.idle_s or 0.0
        plan = plan_stage(
            stage,
            profile.stages[place:],
            records=records,
            spent_s=spent_s,
            deadline_s=deadline_s,
            held=held,
            parameters=parameters,
            end_s=profile.end_s,
        )
        if (plan.cores is None and stage.rate is not None) or (plan.cores or 0) > held.cores + TOLERANCE:
            short.append(Shortage(stage.id, plan.cores, held.cores))
        spent_s += plan.deadline_s
    return short


def deal_tasks(tasks: int, cores: Mapping[str, float]) -> dict[str, int]:
    """Tasks of a stage by the cores of each executor: equal parts on equal nodes, the remainder spread."""
    return whole_nodes(tasks, cores, {executor: Bounds(0, tasks) for executor in cores})


def mean_rate(profile: ApplicationProfile, beta: float) -> float | None:
    """The mean nominal rate of an application, by the weights of its stages in the order of the profile (Speed)."""
    weights = [
        (weight(stage, profile.stages[place:], beta), stage.rate)
        for place, stage in enumerate(profile.stages)
        if stage.rate is not None
    ]
    return fsum(w * rate for w, rate in weights) / fsum(w for w, _ in weights) if weights else None
