"""Effects: what should be. The world reconciles; the latest goal for a key wins.

Each effect ends as events: `NodeObserved` for what concerns one node, `Done` or `Failed` for the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar, get_args

from fawkes.core.values.model import ClusterId, ClusterSpec, Facts, JobId, JobSpec, NodeId, Reason, Role, Standby
from fawkes.core.values.proof import Proof


class _Keyed:
    """A goal with a key, of its kind and the name in one of its fields: a newer goal of the same key replaces it."""

    __slots__ = ()
    _key: ClassVar[tuple[str, str]]

    @property
    def key(self) -> str:
        """The key: a newer goal of the same key replaces this one."""
        kind, field_name = self._key
        return f"{kind}:{getattr(self, field_name)}"


class Goal(StrEnum):
    """The goal of a member of an MR-cluster."""

    SERVING = "serving"
    DRAINING = "draining"
    EVACUATING = "evacuating"


@dataclass(frozen=True, slots=True)
class Member:
    """One line of a membership document.

    ``leave_us`` is the graceful time for running tasks of a draining node; 0 kills them at once.
    """

    goal: Goal
    role: Role
    generation: int
    leave_us: int = 0


@dataclass(frozen=True, slots=True)
class Membership(_Keyed):
    """The members of an MR-cluster, and what each is. A node that is not named is out.

    A decision and the ledger leave ``members`` empty; the engine fills it in from the state (`members.py: in_full`), so
    a world always gets all of them. Ledgers of earlier versions hold the members; nothing reads them.

    Ends as `Done` once the masters know it; how they see the members from then on is told as `NodeSeen`. ``afresh``:
    the masters are told again even if nothing is new, because they show something else than they were told.
    ``master``, ``copy_on`` and ``standby`` are filled in as well: the node of the masters, the one that has the second
    copy of their data, and the second NameNode with its journal; None while there is none.
    """

    _key = "membership", "cluster"
    cluster: ClusterId
    version: int
    members: Mapping[NodeId, Member] = field(default_factory=dict)
    afresh: bool = False
    master: NodeId | None = None
    copy_on: NodeId | None = None
    standby: Standby | None = None


@dataclass(frozen=True, slots=True)
class Host(_Keyed):
    """The goal of a node: the daemons of ``role`` for ``cluster``, or nothing, wiped and verified (role None).

    ``leaving``: its DataNode alone, so that HDFS can copy its blocks away. ``proof`` is what must be shown by a report
    taken right before the wipe; None where nothing of a running MR-cluster can be on the node, or was given up.
    Ends as `NodeObserved` serving, clean, held (the proof failed, nothing was touched) or failed.
    """

    _key = "host", "node"
    node: NodeId
    cluster: ClusterId
    role: Role | None
    generation: int
    leaving: bool = False
    proof: Proof | None = None


@dataclass(frozen=True, slots=True)
class Deploy(_Keyed):
    """Masters on the first node, storage and computing on all; Done once the first job would be accepted.

    With ``standby`` the journal and the second NameNode are brought up as well. Done does not wait for that one:
    `StandbySeen` tells when it follows. ``anew``: a node was replaced, so that what an earlier
    try started is stopped first.
    """

    _key = "cluster", "cluster"
    cluster: ClusterId
    version: int
    spec: ClusterSpec
    members: Mapping[NodeId, Member]
    master: NodeId
    standby: Standby | None = None
    anew: bool = False


@dataclass(frozen=True, slots=True)
class Load(_Keyed):
    """The input sets from persistent storage, spread over all core nodes; Done with bytes and skew."""

    _key = "cluster", "cluster"
    cluster: ClusterId
    version: int


@dataclass(frozen=True, slots=True)
class Save(_Keyed):
    """The output folders to persistent storage; Done only when checksums agree and nothing of users came meanwhile.

    ``undeclared``: what lies in HDFS outside of the declared folders is given up. ``applications``: what users run on
    YARN is given up. What clients hold open below the outputs is closed before HDFS takes no more writes, and told as
    ``closed``; a try waits for that up to ``close_us``, and files that are open by then are not saved. 0: none is.
    """

    _key = "cluster", "cluster"
    cluster: ClusterId
    version: int
    undeclared: bool = False
    applications: bool = False
    close_us: int = 0


@dataclass(frozen=True, slots=True)
class Retire(_Keyed):
    """Nothing of an MR-cluster is to be brought up, loaded or saved any more; Done once nothing is under way for that.

    Its nodes have goals of their own and do not wait for this: a step that comes late finds its node closed.
    """

    _key = "cluster", "cluster"
    cluster: ClusterId
    version: int


@dataclass(frozen=True, slots=True)
class Survey(_Keyed):
    """A look for data in HDFS outside of what is declared, and for applications that are not ours.

    Ends as `Done` with the facts ``undeclared`` and ``applications`` (lists; None: not known) or `Failed`. ``request``
    is why it was asked for: the core's own words, which it needs when the answer comes.
    """

    _key = "survey", "cluster"
    cluster: ClusterId
    version: int
    request: Facts


@dataclass(frozen=True, slots=True)
class LookAtMasters(_Keyed):
    """A look at masters that are to go from ``old`` to ``to``, right before that is decided.

    Ends as `Done` with fresh facts. ``old``: ``answers``, ``stopped``, ``runs``, ``silent``, or ``unknown`` where the
    controller could not ask; ``image``: whether a usable image of its NameNode lies there, None: not known;
    ``copied_us``, ``txid``, ``copy_at``: until when the newest kept copy has everything, its last transaction, and
    where it is (``copied_us`` None: there is no copy); ``reached``: the other members that answer; ``applications``:
    what YARN runs, None: not known. With a second NameNode also ``standby``: what the NameNode on ``to`` says that it
    is, ``standby`` or ``active``, None: not known; ``journal``: the nodes of the journal that answer. Of masters that
    stay where they are also ``edits``: ``whole`` when the NameNode's own disk has an image and every change after it,
    ``gap`` when it lacks some, None: not known. Of masters that answer ``no_login``, where they could log in nowhere
    once they were stopped: why. Else `Failed`.
    """

    _key = "masters", "cluster"
    cluster: ClusterId
    version: int
    old: NodeId
    to: NodeId

    @property
    def move_version(self) -> int:
        """The version of the move that follows when nothing comes between."""
        return self.version + 1


@dataclass(frozen=True, slots=True)
class MoveMasters(_Keyed):
    """The masters of an MR-cluster on ``to``, from the data of the old ones or else the kept copy; none on ``old``.

    ``planned``: they work until then, so that nothing is lost; else they are stopped first where their node answers,
    and nothing is done while they answer. Ends as `Done` with ``txid`` and ``copied_us`` of the copy that was used
    (``copied_us`` None: it had everything), ``reached`` members, ``missing`` and ``missing_files``, ``open`` files,
    ``finished`` applications by their history and ``ended`` ones that could not go on, and ``lost_...`` what the copy
    lacked (`core.lost_writes`). Or as `Failed`, with ``alive`` when the masters answer after all, ``untouched``
    when nothing was begun on ``to``, ``gone`` when new masters were begun there and their disk has lost their data,
    ``unreadable`` when the data on ``old`` cannot be read.

    ``from_copy``: the data on ``old`` does not count as everything, although its image is there.

    ``standby``: the second NameNode on ``to`` takes over, by the journal and not by a copy. The first one cannot write
    to the journal any more, whether it was stopped or not. Then applications go on: ``known`` are those with a tag of
    ours that the ResourceManager on ``to`` has recovered, ended ones included, each with ``id`` and ``tags``.

    A NodeManager that does not find the new ResourceManager within ``follow_us`` is started again, and what it runs
    ends. A member that is not back after ``rejoin_us`` (in a takeover after both) is left behind; 0: for ever.
    """

    _key = "masters", "cluster"
    cluster: ClusterId
    version: int
    old: NodeId
    to: NodeId
    planned: bool
    standby: bool = False
    from_copy: bool = False
    follow_us: int = 0
    rejoin_us: int = 0


@dataclass(frozen=True, slots=True)
class ArmStandby(_Keyed):
    """A second NameNode on ``standby.node``, and the journal on ``standby.journal``; the masters go on meanwhile.

    ``before`` is the journal until now: most of its nodes must answer when the two differ. Ends as `Done` once the
    second NameNode follows the journal, with ``journal``: the nodes of it that answer; or as `Failed`. A second
    NameNode on another node is stopped, and so are parts of the journal on nodes that are no longer in it; their files
    are set aside, never deleted. One that has an image of its own, and does not follow within ``follow_us`` (0: for
    ever), begins anew.

    ``before`` is empty while there is no journal: one begins with all that the NameNode has, which starts again for
    that, and no second NameNode is brought up. A member that is not back after ``rejoin_us`` (0: for ever) is left
    behind. Ends as `Done` once the NameNode writes to it; or as `Failed`, with ``alive`` when it goes on without one,
    as before.
    """

    _key = "masters", "cluster"
    cluster: ClusterId
    version: int
    master: NodeId
    standby: Standby
    before: tuple[NodeId, ...]
    follow_us: int = 0
    rejoin_us: int = 0


@dataclass(frozen=True, slots=True)
class StartJob(_Keyed):
    """Run a job exactly once for each attempt; ends as `AttemptSeen`.

    At no time may more than ``granted`` of its tasks run, its ApplicationMaster apart; 0: as many as there is room for.
    """

    _key = "job", "job"
    job: JobId
    cluster: ClusterId
    attempt: int
    spec: JobSpec
    granted: int = 0


@dataclass(frozen=True, slots=True)
class CancelJob(_Keyed):
    """Stop a job; ends as `AttemptSeen`."""

    _key = "job", "job"
    job: JobId
    cluster: ClusterId
    attempt: int


@dataclass(frozen=True, slots=True)
class EndAttempts(_Keyed):
    """Attempts of tasks that lost their containers are ended, so that their tasks begin again elsewhere.

    Each is looked at once more right before: one whose container is known by then goes on. Ends as `Done` with the fact
    ``ended``, or `Failed`.
    """

    _key = "strays", "cluster"
    cluster: ClusterId
    version: int
    attempts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CountWork(_Keyed):
    """The time of all tasks of an attempt that has succeeded, by Hadoop's own counters.

    Ends as `Done` with the fact ``work_us``, or `Failed` while nobody can tell. ``done`` is what else the admission
    policy learns of the job: the core's own words, which it needs when the answer comes.
    """

    _key = "work", "job"
    job: JobId
    cluster: ClusterId
    attempt: int
    application: str
    done: Facts


@dataclass(frozen=True, slots=True)
class AwaitRoom(_Keyed):
    """No task of an MR-cluster waits any more that lacks nothing but room: its next job may begin.

    Looked for every ``every_us``, the first time so long from now. Ends as `Done` by a look that was made after all of
    that, or `Failed`. ``version`` is the place in the queue of the job that waits.
    """

    _key = "room", "cluster"
    cluster: ClusterId
    version: int
    every_us: int


@dataclass(frozen=True, slots=True)
class WakeAt:
    """A `Woke` event at this time or soon after; a later WakeAt replaces it."""

    at_us: int

    @property
    def key(self) -> str:
        """There is one timer."""
        return "wake"


@dataclass(frozen=True, slots=True)
class ClearSaved(_Keyed):
    """Nothing that tasks of a job have saved, or that was noted for a stream, stays in HDFS: it ended at ``ended_us``.

    Ends as `Done` when nothing of it is there, or `Failed` while nobody can tell.
    """

    _key = "clear", "job"
    job: JobId
    cluster: ClusterId
    attempt: int
    spec: JobSpec
    ended_us: int

    @property
    def version(self) -> int:
        """The version of its answer: the attempt of the job."""
        return self.attempt


@dataclass(frozen=True, slots=True)
class LookAtTasks(_Keyed):
    """The tasks on a node that leaves, of jobs whose tasks can be saved.

    Ends as `Done` with the fact ``tasks``, a row for each that runs there: ``node``, ``container``, ``job``, ``index``,
    ``run_us`` (since it began or was resumed), ``bytes`` of memory, ``kills`` before. What the node does not say of a
    task is None. ``told`` are containers that have their answer: the core's own words.
    """

    _key = "tasks", "node"
    node: NodeId
    cluster: ClusterId
    generation: int
    told: tuple[str, ...] = ()

    @property
    def version(self) -> int:
        """The version of its answer: an answer about another generation of the node is history."""
        return self.generation


@dataclass(frozen=True, slots=True)
class ClaimTasks(_Keyed):
    """The tasks on these nodes (with their generations) that could go for a more important job.

    Ends as `Done` with the facts of `LookAtTasks` from all nodes that answer, `Failed` if none does. ``slots`` is how
    many of them have to go, as many as ``each`` on one node: the core's own words. Jobs of tasks with a lower
    ``priority`` ask YARN for no containers within ``hold_us``.
    """

    _key = "claim", "cluster"
    cluster: ClusterId
    version: int
    job: JobId
    priority: int
    slots: int
    nodes: Mapping[NodeId, int]
    each: int = 1
    hold_us: int = 0


@dataclass(frozen=True, slots=True)
class TaskOrder:
    """The order to a task, by its container, to save itself or else to end.

    By the look it ran for ``run_us`` and had so much ``memory``; None: not known.
    """

    container: str
    job: JobId
    index: int
    save: bool
    run_us: int | None
    memory: int | None = None


@dataclass(frozen=True, slots=True)
class PreemptTasks(_Keyed):
    """Tasks on a node are to save themselves or to end, within ``within_us``.

    Ends as `Done` once none of them runs any more, or when that time is over, with the fact ``left``: by container
    ``[how, bytes, took_us]``. ``how`` is ``saved``, ``killed``, ``runs``, or ``gone`` when nobody knows how it went.
    The fact ``why`` has why some could not be saved, ``dumps`` the time of each dump without its queue, if that is
    known. ``told`` as in `LookAtTasks`, these included.
    """

    _key = "tasks", "node"
    node: NodeId
    cluster: ClusterId
    generation: int
    orders: tuple[TaskOrder, ...]
    within_us: int
    told: tuple[str, ...] = ()

    @property
    def version(self) -> int:
        """The version of its answer: an answer about another generation of the node is history."""
        return self.generation


@dataclass(frozen=True, slots=True)
class SteerStream(_Keyed):
    """A stream is told how many ``executors`` it is to have. Ends as `Done` when that is noted for it, or `Failed`."""

    _key = "stream", "job"
    job: JobId
    cluster: ClusterId
    attempt: int
    executors: int
    version: int


@dataclass(frozen=True, slots=True)
class EndControl:
    """Every MR-cluster is gone and every node is clean: the nodes forget the pool, and the controller ends."""

    by: str

    @property
    def key(self) -> str:
        """There is one end."""
        return "end"


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to whoever asked (``to`` is the `ask` of the event); ``refused`` says why not."""

    to: str
    refused: Reason | None
    facts: Mapping[str, object]

    @property
    def key(self) -> str:
        """Each question has one answer."""
        return f"reply:{self.to}"


Effect = (
    Membership
    | Host
    | Deploy
    | Load
    | Save
    | Retire
    | Survey
    | LookAtMasters
    | MoveMasters
    | ArmStandby
    | StartJob
    | CancelJob
    | EndAttempts
    | CountWork
    | ClearSaved
    | LookAtTasks
    | ClaimTasks
    | PreemptTasks
    | SteerStream
    | AwaitRoom
    | WakeAt
    | EndControl
    | Reply
)
EFFECTS: tuple[type[Effect], ...] = get_args(Effect)
