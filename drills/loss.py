"""Drills in which the masters' host loses its power and its disk: promise, phase and moment, from one seed.

Seeds go through all cases one after another, in the order of the life of one MR-cluster: so one lab can play several.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from itertools import product

from drills.plan import ClusterPlan, Fault, JobPlan, Kind, Spot, Story, chance_of
from fawkes.core.values.model import Promise, Role

CLUSTER = "c"
#: three core nodes, one more that takes the part of a lost one, and one that comes and goes
HOSTS = 5
_CORE = 3
#: reduce tasks of the Wordcount: it lasts until the Sort beside it runs
_REDUCES = 6


class Phase(StrEnum):
    """What the MR-cluster is doing when its masters are lost, in the order of its life."""

    LOAD = "load"
    JOBS = "running jobs"
    GROW = "grow"
    EVACUATION = "evacuation"
    FAILOVER = "another failover"
    SAVE = "save"


class Killed(StrEnum):
    """When the controller is killed."""

    NEVER = "never"
    AT_LOSS = "at the loss"
    AT_DECISION = "after the decision"


class First(StrEnum):
    """Which failover is under way when the next masters are lost."""

    NONE = "none"
    ASKED = "a move on request"
    POWER = "a host without power"


#: promise, phase, whether the controller is killed
CASES = tuple(
    (promise, phase, killed)
    for promise, killed, phase in product((Promise.KEPT, Promise.STANDBY), (False, True), Phase)
)
#: how long each phase lasts on a lab: the masters are lost within this time (s)
_LASTS_S = {
    Phase.LOAD: 3.0,
    Phase.JOBS: 10.0,
    Phase.GROW: 5.0,
    Phase.EVACUATION: 3.0,
    Phase.FAILOVER: 20.0,
    Phase.SAVE: 2.0,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """How masters are lost: ``after_s`` seconds after a phase has begun; their host is back ``back_s`` later, empty.

    A controller that is ``killed`` is killed ``killed_after_s`` later than that, and starts again after ``down_s``.
    """

    promise: Promise
    phase: Phase
    after_s: float
    back_s: int
    killed: Killed = Killed.NEVER
    killed_after_s: float = 0.0
    down_s: int = 0
    first: First = First.NONE

    @property
    def row(self) -> tuple[str, str, str]:
        """Where it stands in the table: promise, phase, what becomes of the controller."""
        return row_of(self.promise, self.phase, self.killed is not Killed.NEVER)

    @property
    def fault(self) -> Fault:
        """The same as a fault, for whoever has to cause it."""
        return Fault(kind=Kind.EMPTIED, spot=Spot.MASTER, after_s=self.after_s, back_s=self.back_s)

    def __str__(self) -> str:
        text = (
            f"{self.promise}: the masters' disk is lost {self.after_s:g} s into {self.phase}, back in {self.back_s} s"
        )
        if self.first is not First.NONE:
            text += f"; the failover before: {self.first}"
        if self.killed is not Killed.NEVER:
            text += f"; controller killed {self.killed_after_s:g} s {self.killed}, back in {self.down_s} s"
        return text


@dataclass(frozen=True, slots=True, kw_only=True)
class LossPlan:
    """A whole drill; its faults are the one loss."""

    seed: int
    story: Story
    loss: Loss

    @property
    def faults(self) -> tuple[Loss, ...]:
        """The loss alone."""
        return (self.loss,)


def row_of(promise: Promise, phase: Phase, killed: bool) -> tuple[str, str, str]:
    """A row of the table."""
    return str(promise), str(phase), "killed" if killed else "goes on"


def loss_plan_of(seed: int) -> LossPlan:
    """The drill of a seed."""
    promise, phase, killed = CASES[seed % len(CASES)]
    chance = chance_of(seed, "loss")
    after_s = round(chance.uniform(0.0, _LASTS_S[phase]), 1)
    back_s, down_s = chance.choice((2, 15, 40)), chance.randint(1, 8)
    first = chance.choice((First.ASKED, First.ASKED, First.POWER))
    when, later_s = chance.choice((Killed.AT_LOSS, Killed.AT_DECISION)), round(chance.uniform(0.0, 10.0), 1)
    loss = Loss(
        promise=promise,
        phase=phase,
        after_s=after_s,
        back_s=back_s,
        killed=when if killed else Killed.NEVER,
        killed_after_s=later_s if killed and when is Killed.AT_DECISION else 0.0,
        down_s=down_s if killed else 0,
        first=first if phase is Phase.FAILOVER else First.NONE,
    )
    return LossPlan(seed=seed, story=_story(seed, loss), loss=loss)


def _story(seed: int, loss: Loss) -> Story:
    """One MR-cluster, and a Wordcount where the drill has jobs or something to save."""
    cluster = ClusterPlan(
        name=CLUSTER,
        at_s=0,
        min_nodes=_CORE,
        replication=2,
        growth=Role.TRANSIENT_CORE,
        release_s=None,
        masters=loss.promise,
    )
    count = JobPlan(name=f"count-{seed}", cluster=CLUSTER, at_s=0, run_s=0, tasks=1, writes=_REDUCES, retries=2)
    jobs = (count,) if loss.phase in (Phase.JOBS, Phase.SAVE) else ()
    return Story(hosts=HOSTS, clusters=(cluster,), jobs=jobs, drains=())
