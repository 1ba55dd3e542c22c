"""Facts that were seen, as values: of a node by its masters, of its blocks by the NameNode, of an attempt to run a job.

A world posts these facts when they change; `watching.py` and `attempts.py` decide what they mean. An empty
value is always "not known": it is never safe, done or 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from fawkes.base.units import SECOND_US


class Compute(StrEnum):
    """The NodeManager of a node, as the ResourceManager of its MR-cluster sees it."""

    NOT_KNOWN = ""
    ABSENT = "absent"
    RUNNING = "running"
    DRAINING = "draining"
    IDLE = "idle"
    """It drains and has no container, and no application fetches from it what tasks have left there."""
    LEFT = "left"
    LOST = "lost"
    OTHER = "other"


class Stored(StrEnum):
    """The DataNode of a node, as the NameNode of its MR-cluster sees it."""

    NOT_KNOWN = ""
    ABSENT = "absent"
    IN_SERVICE = "in-service"
    LEAVING = "leaving"
    LEFT = "left"
    DEAD = "dead"
    OTHER = "other"


#: states in which a DataNode is heard from and has told of its blocks
HEARD = frozenset({Stored.IN_SERVICE, Stored.LEAVING, Stored.LEFT})
#: states in which nobody hears from a DataNode: what is on it can be proven elsewhere only
UNHEARD = frozenset({Stored.DEAD, Stored.ABSENT})


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocks:
    """The blocks on one node that leaves, as the NameNode sees them.

    With ``known`` it is a whole report on every block of HDFS, asked for at ``asked_us``; else ``why`` says why there
    is none. ``has_own``: the node had listed its own blocks to this NameNode before; False: not known. ``at_risk`` are
    files with a block on this node that has too few live replicas elsewhere, ``missing`` files with a block of which
    no replica is known at all, ``unheard`` files with a block that no node in service which was heard from a moment
    ago has; all are cut, ``at_risk_files``, ``missing_files`` and ``unheard_files`` count them. ``listed``,
    ``too_few``, ``only_here`` and ``open_blocks`` are the NameNode's own counts of this node's blocks; ``staying``
    DataNodes with ``free_bytes`` are in service besides it.
    """

    asked_us: int = 0
    known: bool = False
    has_own: bool = False
    why: str = ""
    at_risk: tuple[str, ...] = ()
    at_risk_files: int = 0
    missing: tuple[str, ...] = ()
    missing_files: int = 0
    unheard: tuple[str, ...] = ()
    unheard_files: int = 0
    listed: int | None = None
    too_few: int | None = None
    only_here: int | None = None
    open_blocks: int | None = None
    stored_bytes: int | None = None
    staying: int | None = None
    free_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """The view that masters had of a node at ``asked_us``; ``blocks`` only of one that leaves with data.

    ``gone`` are daemons of a node with a late heartbeat that do not run, by the word of the node itself. ``repeated``:
    it may come late, so a missing node is told of again when that has lasted; False: what changes is told at once.
    """

    asked_us: int
    compute: Compute = Compute.NOT_KNOWN
    stored: Stored = Stored.NOT_KNOWN
    blocks: Blocks | None = None
    gone: tuple[str, ...] = ()
    repeated: bool = False


NAMENODE, RESOURCE_MANAGER = "namenode", "resourcemanager"
#: daemons by the names that users know
_DAEMONS = {
    NAMENODE: "NameNode",
    RESOURCE_MANAGER: "ResourceManager",
    "datanode": "DataNode",
    "nodemanager": "NodeManager",
}


def not_running(gone: Sequence[str]) -> str:
    """The words for daemons that do not run, such as "its DataNode and its NodeManager are not running"."""
    names = [f"its {_DAEMONS.get(name, name)}" for name in gone]
    return f"{' and '.join(names)} {'is' if len(names) == 1 else 'are'} not running"


class SafeMode(StrEnum):
    """The safe mode of a NameNode, in which it takes no writes, and its reason.

    LOW: its own disk is nearly full. STARTING: it waits for its DataNodes. ASKED: somebody told it to.
    """

    NOT_KNOWN = ""
    OFF = "off"
    LOW = "low"
    STARTING = "starting"
    ASKED = "asked"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """The masters' word on what users need: whether the MR-cluster takes writes and applications.

    ``said`` are the NameNode's words about its safe mode, ``folder`` is where it keeps its data. Of ``storing``
    DataNodes in service ``full`` ones have no room for another block. ``manager`` is the state of the ResourceManager
    in its own word. ``computing`` NodeManagers offer memory; those of ``unhealthy`` nodes do not, for the reason
    ``health``. ``queues`` queues take applications, the ``stopped`` ones do not. None: not known.
    """

    safe_mode: SafeMode = SafeMode.NOT_KNOWN
    said: str = ""
    folder: str = ""
    storing: int | None = None
    full: int | None = None
    manager: str = ""
    computing: int | None = None
    unhealthy: tuple[str, ...] = ()
    health: str = ""
    queues: int | None = None
    stopped: tuple[str, ...] = ()


class Launcher(StrEnum):
    """The standing of the launcher of an attempt on the node of the masters.

    UNBORN: its folder is there, the command was never begun. LOST: it was begun, is gone, and left no result.
    """

    NOT_KNOWN = ""
    ABSENT = "absent"
    UNBORN = "unborn"
    RUNNING = "running"
    FINISHED = "finished"
    LOST = "lost"


class AppLife(StrEnum):
    """The standing of an application by the ResourceManager."""

    LIVE = "live"
    SUCCEEDED = "succeeded"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Resumes:
    """Tasks that an attempt of a job has resumed so far: ``count`` went on from what they had saved.

    Before that they waited ``waited_us`` for a container, and read it in ``restored_us``. ``lost_us`` is the run time
    of tasks that ended because their node left, without an order.
    """

    count: int = 0
    waited_us: int = 0
    restored_us: int = 0
    lost_us: int = 0

    def __add__(self, other: Resumes) -> Resumes:
        """The sums of both."""
        return Resumes(
            self.count + other.count,
            self.waited_us + other.waited_us,
            self.restored_us + other.restored_us,
            self.lost_us + other.lost_us,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AppSeen:
    """An application that carries the tag of an attempt; times are YARN's own.

    ``resumes`` is the last word of an ApplicationMaster about tasks that had been saved; None where it said nothing.
    """

    id: str
    life: AppLife
    started_us: int | None = None
    finished_us: int | None = None
    said: str = ""
    resumes: Resumes | None = None


class ClientCause(StrEnum):
    """The reason why a client gave nothing to YARN, where its words are known."""

    NOT_KNOWN = ""
    OUTPUT_EXISTS = "output-exists"
    NO_CLASS = "no-class"
    NO_LOGIN = "no-login"


@dataclass(frozen=True, slots=True)
class Stray:
    """A task that its ApplicationMaster calls running, in a container that the ResourceManager does not know.

    ``attempt`` is Hadoop's name of the attempt of the task, ``node`` the node that it was given to.
    """

    attempt: str
    node: str = ""

    @property
    def application(self) -> str:
        """The application that the task belongs to."""
        return application_of(self.attempt)


def application_of(attempt: str) -> str:
    """The application that an attempt of a task belongs to, by Hadoop's name of the attempt."""
    return "_".join(("application", *attempt.split("_")[1:3]))


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamSeen:
    """A stream as its driver tells of it: ``executors`` that are there of the ``wanted`` ones, and its latest batch.

    The batches count from 1 (0: there was none yet). It had ``rows`` records, ``arrive`` of which come in a second, and
    took ``took_us``; it ended ``since_us`` ago. Since the batch before there were ``present`` executors on average.
    ``tasks`` have ended in all batches. The MR-cluster has ``room`` for so many executors. YARN has ``given`` so many
    containers for its executors, those included that only start. None is not known.
    """

    wanted: int
    executors: int
    batch: int = 0
    rows: int = 0
    arrive: float = 0.0
    took_us: int = 0
    since_us: int = 0
    present: float | None = None
    tasks: int = 0
    room: int | None = None
    given: int | None = None

    @property
    def latency_us(self) -> int | None:
        """The time from the arrival of a record until its batch ended, on average; None before the first batch."""
        if not self.batch:
            return None
        waited_us = self.rows / self.arrive / 2 * SECOND_US if self.arrive > 0 else 0.0
        return self.took_us + round(waited_us)


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """The progress of an attempt in YARN, by its tag: all of its applications that have not ended.

    ``master``: an ApplicationMaster has a container. ``progress`` is the percentage of the map tasks and that of the
    reduce tasks, added. A count is None while the ApplicationMaster does not answer. ``since_us`` is since when nothing
    of this has changed: the core's own (0 in a reading). ``resumes`` is None where nobody says it, ``stream`` where no
    driver of a stream does. ``opaque``: its tasks report no progress while they run. ``size`` of the slots go to each
    of its containers, that of its ApplicationMaster apart.
    """

    tag: str
    application: str = ""
    master: bool = False
    waiting: int | None = None
    running: int | None = None
    done: int | None = None
    progress: float | None = None
    since_us: int = 0
    resumes: Resumes | None = None
    stream: StreamSeen | None = None
    opaque: bool = False
    size: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """The standing of an attempt to run a job.

    ``applications`` are all that the ResourceManager knows of it, oldest first. None: not known, because it does not
    answer or has not finished its recovery. ``exit`` and the times are the launcher's. ``own``: the command need not
    have an application and may have several; ``single``: it is over with its first one. ``lost_sight``: the client gave
    up because nobody knew its job, which had just ended. ``words`` say why it failed, ``cause`` is known of some that
    gave nothing to YARN, ``refused`` says why it can never be begun, ``error`` why it could not be begun or looked at
    now. ``displaced``: a move of the masters ended its client, or kept it from being begun.
    """

    launcher: Launcher = Launcher.NOT_KNOWN
    exit: int | None = None
    began_us: int | None = None
    ended_us: int | None = None
    cancelled: bool = False
    applications: tuple[AppSeen, ...] | None = None
    own: bool = False
    single: bool = False
    lost_sight: bool = False
    words: str = ""
    refused: str = ""
    error: str = ""
    cause: ClientCause = ClientCause.NOT_KNOWN
    displaced: bool = False
