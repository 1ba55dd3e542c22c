"""The parts of a simulated MR-cluster that come and go: nodes, jobs, and attempts of their tasks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Any, NamedTuple

from fawkes.core.values.effects import StartJob
from fawkes.core.values.events import Progress
from fawkes.core.values.model import JobId, NodeId, Role
from fawkes.core.values.sight import Resumes
from fawkes.sim.hadoop.flows import Flow
from fawkes.sim.hadoop.profile import Profile

#: a job and its attempt
JobAttempt = tuple[JobId, int]


@dataclass(frozen=True, slots=True)
class End:
    """The end of an attempt of a job, as a job history remembers it."""

    progress: Progress
    started_us: int
    finished_us: int
    error: str = ""
    work_us: int = 0
    """The time of all its tasks, from the start to the end of each; those that were killed are not counted."""


@dataclass(eq=False, slots=True)
class SimNode:
    """A node of an MR-cluster. ``maps_free`` are its free containers when those are for either kind of task."""

    name: NodeId
    role: Role
    site: str
    maps_free: int
    reduces_free: int
    draining: bool = False
    stopped: bool = False
    """Nothing computes on it any more; what it stores is there."""
    factor: float = 1.0
    """Work of its tasks over that on a node of mean speed."""
    masters: dict[SimJob, None] = field(default_factory=dict)
    """Jobs whose ApplicationMaster runs here."""
    attempts: dict[TaskAttempt, None] = field(default_factory=dict)
    kept: dict[SimJob, int] = field(default_factory=dict)
    """How many finished maps of each job under way have their output here."""


@dataclass(frozen=True, slots=True)
class Again:
    """The luggage of a task that had to go: the ``factor`` of the work that is left (None: all of it is), the time
    to read what it had saved, how often it was ended for others, and since when it waits.
    """

    factor: float | None = None
    restore_us: int = 0
    kills: int = 0
    since_us: int = 0

    def left(self, factor: float, kept: float | None, restore_us: int, now_us: int) -> Again:
        """The luggage of its next start, if the part ``kept`` of its work is still to be done.

        None: all that was to be done at its start; what it had saved before that is there.
        """
        if kept is None:
            return replace(self, kills=self.kills + 1, since_us=now_us)
        return Again(max(factor * kept, 1e-9), restore_us, self.kills, now_us)


@dataclass(eq=False, slots=True)
class SimJob:
    """A job under way. Tasks wait, run, or have ended; a map whose output was lost waits again.

    ``attempts`` of its tasks have started, whose chances begin at ``stream``. ``steps`` are what is under way
    before the first and after the last task. ``master`` is where its ApplicationMaster runs, where that takes a slot.
    """

    effect: StartJob
    profile: Profile
    since_us: int
    maps_waiting: int
    reduces_waiting: int
    master: SimNode | None = None
    ready: bool = False
    started: bool = False
    maps_done: int = 0
    reduces_done: int = 0
    stream: int = 0
    attempts: int = 0
    work_us: int = 0
    again: list[Again] = field(default_factory=list)
    """The luggage of tasks that had to go, in the order in which they start again."""
    resumes: Resumes = field(default_factory=Resumes)
    running: dict[TaskAttempt, None] = field(default_factory=dict)
    steps: dict[Flow[Any], None] = field(default_factory=dict)

    @property
    def attempt(self) -> JobAttempt:
        """The attempt's identifier."""
        return self.effect.job, self.effect.attempt

    @property
    def granted(self) -> int:
        """The number of its tasks that may run at once; 0: no bound. All tasks of a gang run at once or not at all."""
        return 0 if self.profile.gang else self.effect.granted

    @property
    def may_start(self) -> bool:
        """True if its grant has room for one more task."""
        return not self.granted or len(self.running) < self.granted

    def brought(self, now_us: int) -> Again:
        """The luggage of the next task that starts."""
        luggage = self.again.pop(0) if self.again else Again()
        if luggage.factor is not None:
            self.resumes += Resumes(1, now_us - luggage.since_us, luggage.restore_us)
        return luggage

    def waits_again(self, task: TaskAttempt, lost_us: int) -> None:
        """A task that ran waits for a slot again, and so much work of it is lost that nobody ordered to end."""
        self.resumes += Resumes(lost_us=lost_us)
        if task.is_map:
            self.maps_waiting += 1
        else:
            self.reduces_waiting += 1

    @property
    def tasks_waiting(self) -> int:
        """Tasks that do not run and have not ended."""
        return self.maps_waiting + self.reduces_waiting

    @property
    def ended(self) -> bool:
        """True if all tasks have ended."""
        return self.reduces_done == self.profile.reduces and self.maps_done == self.profile.maps

    @property
    def needs_map_output(self) -> bool:
        """True if a reduce has still to fetch some map output."""
        return self.reduces_waiting > 0 or any(a.phase < Phase.REDUCE for a in self.running if not a.is_map)


@dataclass(eq=False, slots=True)
class Copy:
    """Bytes on their way from or to persistent storage, or off a node that leaves; or daemons of a node that comes.

    ``of`` is what waits for them.
    """

    of: Any
    flows: dict[Flow[Any], None] = field(default_factory=dict)


class Phase(IntEnum):
    """The place where a task stands; only reduces have more than one phase."""

    MAP = 0
    FETCH = 1
    WAIT = 2
    FETCH_REST = 3
    REDUCE = 4


@dataclass(eq=False, slots=True)
class TaskAttempt:
    """A task on a node ``since_us``: attempt ``number`` of its job, maps and reduces counted together.

    ``factor`` is its work over that of the mean task, ``flows`` are what is under way of its phase, ``share`` is what
    it has fetched of the map output. One that ``starts`` has not come to its work; ``tail_us`` is what follows when the
    flows of its phase have ended. ``brought`` is what it brought along from an earlier start.
    """

    job: SimJob
    node: SimNode
    phase: Phase
    number: int
    since_us: int = 0
    factor: float = 1.0
    flows: dict[Flow[Any], None] = field(default_factory=dict)
    share: float = 0.0
    starts: bool = False
    tail_us: float = 0.0
    brought: Again = Again()

    @property
    def is_map(self) -> bool:
        """True if it is a map."""
        return self.phase is Phase.MAP


class Running(NamedTuple):
    """A task that runs and can be saved: whose, its number as in `TaskEvent`, its times, its memory (None: not known),
    how often it was ended for others, and how long it takes to read what it had saved.
    """

    attempt: JobAttempt
    number: int
    run_us: int
    left_us: int
    memory: int | None
    kills: int
    restore_us: int


def kept_by_role(nodes: Iterable[SimNode], job: SimJob) -> dict[Role, int]:
    """The number of finished maps of a job that have their output on nodes of each role."""
    maps = dict.fromkeys(Role, 0)
    for node in nodes:
        maps[node.role] += node.kept.get(job, 0)
    return maps
