"""Delays and faults that the simulated world is given, and the steps on its heap."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fawkes.base.units import SECOND_US
from fawkes.core.values import effects
from fawkes.core.values.model import ClusterId, NodeId, Plain, Role


@dataclass(frozen=True, slots=True, kw_only=True)
class Delays:
    """The time that things take, in microseconds (measured on the lab: facts on real Hadoop, section 3, 4).

    ``detect_us`` is how long masters wait for the heartbeat of a dead node: what Fawkes sets for both (hadoop_conf.py).
    ``masters_us`` is how long masters take to serve on another node once that is decided, ``copy_us`` how often the
    data of masters is copied off their node.

    With a second NameNode masters serve there after ``takeover_us`` (section 8: NodeManagers are back after 5 s).
    ``arm_us`` is how long it takes to bring a second NameNode up (1.7 s and 3.8 s); twice that with another journal,
    because both NameNodes are started again. ``journal_us`` is what the journal adds to a deployment (2.7 s).
    ``look_us`` is how often second NameNodes and journals are looked at.
    """

    deploy_us: int = 12 * SECOND_US
    load_us: int = 4 * SECOND_US
    save_us: int = 2 * SECOND_US
    membership_us: int = 750_000
    join_us: int = 4 * SECOND_US
    drain_us: int = 1 * SECOND_US
    evacuate_us: int = 3 * SECOND_US
    clean_us: int = 1 * SECOND_US
    job_start_us: int = 3 * SECOND_US
    job_cancel_us: int = 1 * SECOND_US
    sample_us: int = 2 * SECOND_US
    detect_us: int = 60 * SECOND_US
    masters_us: int = 15 * SECOND_US
    copy_us: int = 2 * SECOND_US
    takeover_us: int = 5 * SECOND_US
    arm_us: int = 6 * SECOND_US
    journal_us: int = 3 * SECOND_US
    look_us: int = 2 * SECOND_US

    def of(self, effect: effects.Effect) -> int:
        """The time that an effect takes that takes a given time."""
        match effect:
            case effects.Host():
                return self.clean_us if effect.role is None else self.join_us
            case effects.Deploy():
                return self.deploy_us + (0 if effect.standby is None else self.journal_us)
            case effects.Load():
                return self.load_us
            case effects.Save():
                return self.save_us
            case effects.StartJob():
                return self.job_start_us
            case effects.CancelJob():
                return self.job_cancel_us
            case effects.CountWork() | effects.AwaitRoom():
                return effect.every_us if isinstance(effect, effects.AwaitRoom) else 0
            case effects.MoveMasters():
                return self.takeover_us if effect.standby else self.masters_us
            case effects.ArmStandby():
                return self.arm_us * (1 if set(effect.before) == set(effect.standby.journal) else 2)
        return self.membership_us


#: effects of an MR-cluster that end as `Done` or `Failed` with its version
OfCluster = (
    effects.Deploy
    | effects.Load
    | effects.Save
    | effects.Retire
    | effects.Survey
    | effects.Membership
    | effects.LookAtMasters
    | effects.MoveMasters
    | effects.ArmStandby
)

#: asked before an effect succeeds: (kind, name) -> why it fails instead ("" when nothing is ever heard of it), or None.
#: Kinds: deploy, load, save, retire, survey, join, clean, membership, masters, arm, evacuate, wipe (the proof before
#: it), job, read
Faults = Callable[[str, str], str | None]


def no_faults(kind: str, name: str) -> str | None:
    """Nothing ever fails."""
    return None


@dataclass(frozen=True, slots=True)
class Loss:
    """A node loses its power, and has it again at ``back_us`` if ever; times are of the run.

    With ``masters_of`` it is the node that has the masters of that MR-cluster then, and ``node`` is empty; without
    masters then nothing is lost. ``emptied``: nothing is left on its disk.
    """

    node: NodeId
    at_us: int
    back_us: int | None = None
    masters_of: ClusterId | None = None
    emptied: bool = False


def next_look_us(now_us: int, every_us: int) -> int:
    """Time when a monitor that looks every so often sees what has happened now; at once when it looks all the time."""
    return now_us + -now_us % every_us if every_us else now_us


@dataclass(frozen=True, slots=True)
class Hosted:
    """The daemons on a node: of which MR-cluster, in which role and generation."""

    cluster: ClusterId
    role: Role
    generation: int


@dataclass(frozen=True, slots=True, eq=False)
class Deploys:
    """The daemons of an MR-cluster start."""

    effect: effects.Deploy

    @property
    def cluster(self) -> ClusterId:
        """The MR-cluster of the effect."""
        return self.effect.cluster


@dataclass(frozen=True, slots=True)
class Leaves:
    """The tasks, or the blocks, of a leaving member are gone, unless a later document says otherwise."""

    key: str
    node: NodeId
    generation: int
    goal: effects.Goal
    until_us: int


@dataclass(frozen=True, slots=True, eq=False)
class Goes:
    """The image of a task is written, ``took_us`` after the order.

    ``left`` is the answer, and ``dumps`` are the times of the dumps alone: both are complete after the last."""

    effect: effects.PreemptTasks
    order: effects.TaskOrder
    size: int
    took_us: int
    left: dict[str, Plain]
    dumps: dict[str, Plain]
    last: bool


@dataclass(frozen=True, slots=True)
class PowerFails:
    """A node is off, of a loss."""

    loss: Loss


@dataclass(frozen=True, slots=True)
class Noticed:
    """Masters miss the heartbeats of a node that was off, with this generation, since some time."""

    node: NodeId
    generation: int


@dataclass(frozen=True, slots=True)
class PowerReturns:
    """A node answers again."""

    node: NodeId


@dataclass(frozen=True, slots=True)
class Follows:
    """The second NameNode of a deployment, of this version, comes up on a node."""

    cluster: ClusterId
    version: int
    node: NodeId


@dataclass(frozen=True, slots=True)
class Looks:
    """It is time to look at the second NameNode of an MR-cluster."""

    cluster: ClusterId


@dataclass(frozen=True, slots=True)
class Reads:
    """It is time to read all MR-clusters."""


FOUND = ("clusters", "hosts", "dead", "gone", "deployed", "only_here", "destroyed", "emptied", "services")
"""The parts of a world that a new controller finds as they were."""
CARRIED = ("engine", "check", "keep_events", "users", "sites", "seed", "replies", "starts")
"""The parts that a world carries over to a new controller besides."""

#: what stands on the heap, beside events
Step = effects.Effect | Leaves | Goes | Noticed | PowerFails | PowerReturns | Reads | Follows | Looks

#: what takes the time that shared rates give
Copied = Deploys | effects.Load | effects.Save | Leaves | effects.Host | effects.ArmStandby | Follows
