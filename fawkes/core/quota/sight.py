"""Values of the inner loop: applications with deadlines, what their drivers say, and what it decides of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from fawkes.core.quota.control import Control
from fawkes.core.quota.planner import StagePlan
from fawkes.core.quota.profile import ApplicationProfile
from fawkes.core.values.model import ClusterId, JobId, NodeId


@dataclass(frozen=True, slots=True, kw_only=True)
class JobGoal:
    """An attempt of a Spark job that is to end by ``due_us``; its data are ``size`` times as large as its profile's."""

    job: JobId
    cluster: ClusterId
    attempt: int
    profile: ApplicationProfile
    size: float
    submitted_us: int
    due_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StageSeen:
    """An attempt of a stage by its driver; ``id`` is number and name, as in a profile.

    ``done`` are tasks that have ended well, ``written`` the records that it wrote so far, also for its shuffle.
    ``run_s`` is the time that all its tasks took, once it is not active.
    """

    id: str
    attempt: int = 0
    tasks: int
    done: int = 0
    written: float = 0.0
    active: bool = False
    run_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorSeen:
    """An executor: its container, the node that it is on, and how many tasks it runs at once."""

    container: str
    node: NodeId
    slots: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplicationSeen:
    """The application of a goal as it was seen in one period.

    ``stages`` is None when its driver did not say; then ``why`` says why not. Stages are in the order of their numbers.
    """

    goal: JobGoal
    stages: tuple[StageSeen, ...] | None = None
    executors: tuple[ExecutorSeen, ...] = ()
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PeriodLook:
    """All that a period is decided by: the applications with goals, and the cores of each node (None: not known).

    ``unset`` says of containers why their last quota is not known to be in force.
    """

    at_us: int
    seen: tuple[ApplicationSeen, ...] = ()
    nodes: Mapping[NodeId, float | None] = field(default_factory=dict)
    unset: Mapping[str, str] = field(default_factory=dict)


class CoresWay(StrEnum):
    """The way in which the cores of an application were found in one period."""

    STARTING = "starting"
    """It has no stage yet: its executors start, and may use all that they can."""
    CONTROLLED = "controlled"
    """A controller follows the set point of each of its stages."""
    BETWEEN = "between"
    """None of its stages is active: it gets the least quota."""
    NO_RATE = "no-rate"
    """A stage of the profile has no rate, and none was learned yet, so that it gets all cores."""
    LATE = "late"
    """The time of a stage had passed before it began, so that it gets all cores."""
    OTHER_SHAPE = "other-shape"
    """It has a stage that is not in its profile: it gets all cores from then on."""
    SILENT = "silent"
    """Its driver has said nothing for too long: it has no limit until it does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Steered:
    """A stage under way; without a controller it gets all cores. ``way`` is why."""

    stage: str
    attempt: int
    plan: StagePlan
    control: Control | None
    way: CoresWay


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopApplication:
    """The state of the loop for an application between two periods.

    ``submitted`` are the stages that were seen to begin, ``written`` the records of those that have ended, and
    ``heard_us`` when its driver was heard last. ``learned`` are the tasks that a core does in a second, by the names of
    stages that have ended. ``other_shape`` says how it differs from its profile.
    """

    goal: JobGoal
    heard_us: int
    executors: tuple[ExecutorSeen, ...] = ()
    submitted: tuple[str, ...] = ()
    steered: tuple[Steered, ...] = ()
    written: Mapping[str, float] = field(default_factory=dict)
    learned: Mapping[str, float] = field(default_factory=dict)
    other_shape: str = ""


@dataclass(frozen=True, slots=True)
class LoopState:
    """The state of the loop between two periods: the applications under way, by job."""

    applications: Mapping[JobId, LoopApplication] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class PeriodCourse:
    """The standing of an application in one period: percentages of its stage, and cores of all its executors together.

    What does not hold in its way is None: without a controller there is neither set point nor progress. ``unset`` is
    why the quota of one of its executors is not known to be in force.
    """

    job: JobId
    way: CoresWay
    stage: str = ""
    set_point: float | None = None
    progress: float | None = None
    requested: float | None = None
    given: float | None = None
    unset: str = ""


@dataclass(frozen=True, slots=True)
class Period:
    """A period of the loop: the state after it, the cores of each container on each node, and the course of each job.

    None in ``quotas``: the container has no limit.
    """

    room: LoopState
    quotas: Mapping[NodeId, Mapping[str, float | None]]
    courses: tuple[PeriodCourse, ...]
