"""The values of the core: nodes, MR-clusters, jobs, readings, reasons.

All are immutable. Times (`_us`) are whole microseconds since the epoch, sizes bytes. A missing reading is None, not 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NewType

from fawkes.core.streams.values import MonitorState, Thresholds
from fawkes.core.values.sight import Attempt, Service, Sight, Stray, Work

NodeId = NewType("NodeId", str)
ClusterId = NewType("ClusterId", str)
JobId = NewType("JobId", str)

JOURNAL_NODES = 3
"""Core nodes that the journal of an MR-cluster is on: of three, one may be lost."""

#: None, bool, int, float, str, and lists and string-keyed mappings of them
Plain = object
Facts = Mapping[str, Plain]


class Role(StrEnum):
    """The work of a node for its MR-cluster (paper section 3)."""

    CORE = "core"
    TRANSIENT = "transient"
    TRANSIENT_CORE = "transient-core"


class NodeLife(StrEnum):
    """The state of a node; the edges are in `lifecycle.NODE_EDGES`."""

    FREE = "free"
    JOINING = "joining"
    SERVING = "serving"
    DRAINING = "draining"
    EVACUATING = "evacuating"
    CLEANING = "cleaning"
    LOST = "lost"
    OUT = "out"


class ClusterLife(StrEnum):
    """The state of an MR-cluster; the edges are in `lifecycle.CLUSTER_EDGES`."""

    DORMANT = "dormant"
    WAITING = "waiting"
    ADMITTED = "admitted"
    DEPLOYING = "deploying"
    LOADING = "loading"
    RUNNING = "running"
    SAVING = "saving"
    RETIRING = "retiring"
    GONE = "gone"


class NodeAlert(StrEnum):
    """The subject of a node's alert; `alerts.kind_of` gives it for ledgers of earlier versions, too."""

    LOST = "lost"
    """It does not answer, or does not do its work."""
    HELD = "held"
    """It keeps its data, which was not shown to be elsewhere."""
    UNCLEAN = "unclean"
    """It could not be wiped."""
    WAITS = "waits"
    """It leaves once another core node has taken over."""
    LATE = "late"
    """It has waited for the same thing for long while it came up or was wiped."""
    NO_RELEASE = "no release"
    """The controller has not what any node would need: a release of Hadoop, or the site's KDC and keytab."""
    SILENT = "silent"
    """It does not answer, or says that somebody holds it: while it is free, no MR-cluster gets it before that ends."""


class ClusterAlert(StrEnum):
    """The subject of an MR-cluster's alert; `alerts.every` gives it for ledgers of earlier versions."""

    WAITS = "waits"
    """It waits for nodes; the alert ends once they are on their way."""
    STAGE = "stage"
    """Its deployment, load or save did not succeed, and is tried again; the alert ends with that stage."""
    NODE = "node"
    """A lost node may hold data of it; the alert ends when the node is back or leaves."""
    IDLE = "idle"
    """It has been idle for long and is kept all the same; the alert ends with the idleness."""
    UNREADABLE = "unreadable"
    """Its masters do not report what it does; the alert ends with the next reading."""
    MISSING = "missing-blocks"
    """Its NameNode counts missing blocks; the alert ends when it counts none."""
    THIN = "few-replicas"
    """Blocks of its input had too few replicas after the load; the alert ends when its NameNode counts none such."""
    STUCK = "stuck"
    """Its jobs hold slots, but none of their tasks has run for long; the alert ends when one runs or none waits."""
    SILENT = "silent"
    """Nothing was heard of its masters for too long; the alert ends when they answer."""
    UNASKED = "unasked"
    """The controller cannot ask its masters, for want of a ticket; the alert ends when it has asked them."""
    MEMBERS = "members"
    """A member list did not get to its masters; the alert ends with the next list that does."""
    MASTERS = "masters"
    """They cannot go to another node yet; the alert ends when they answer, or have moved."""
    COPY = "no-copy"
    """What the NameNode knows is on one disk alone; the alert ends with the next copy."""
    WRITES = "lost-writes"
    """Masters came back from a copy that lacked them; the alert ends with `fawkes retry`."""
    STANDBY = "standby"
    """The second NameNode does not follow the journal, or that is not whole; the alert ends when all is."""
    NO_WRITES = "no-writes"
    """Its HDFS takes no writes; the alert ends once it has taken them again for a while (`core.service`)."""
    NO_RUNS = "no-runs"
    """Its YARN takes no applications, or has no node to run them on; the alert ends as that of NO_WRITES does."""
    NO_LOGIN = "no-login"
    """A client could not log in at the KDC; the alert ends with the next one that has, or when no job waits."""
    ADMISSION = "admission"
    """The policy that lets its jobs in raised, or gave a verdict that cannot be; it ends with the next usable one."""
    PREEMPTION = "preemption"
    """The policy that decides about its tasks failed, and they were waited for; it ends with the next usable answer."""


class MoveCause(StrEnum):
    """The reason why the masters of an MR-cluster go to another core node."""

    LOST = "lost"
    """They do not answer, or their disk is gone."""
    ASKED = "asked"
    """An operator asked for it."""
    LEAVES = "leaves"
    """Their node goes out of service."""
    RESTORE = "restore"
    """An operator brings the MR-cluster back from its kept copy, whatever that lacks."""
    JOURNAL = "journal"
    """They stay, and start again with a new journal."""


class Promise(StrEnum):
    """The promise of an MR-cluster for the loss of its masters' disk."""

    KEPT = "kept"
    """All but the last moments: what the masters know is copied all the time."""
    STANDBY = "standby"
    """All that was acknowledged: a second NameNode follows a journal on three nodes."""


class JobLife(StrEnum):
    """The state of an MR-job; the edges are in `lifecycle.JOB_EDGES`."""

    QUEUED = "queued"
    STARTING = "starting"
    RUNNING = "running"
    CANCELLING = "cancelling"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    DROPPED = "dropped"
    """It was not let in: its deadline could not be met, or had passed while it waited."""
    KILLED = "killed"
    """It was ended because its deadline had passed."""


@dataclass(frozen=True, slots=True)
class Alert:
    """An alert of an MR-cluster: what it is about, and its text."""

    about: ClusterAlert
    text: str


@dataclass(frozen=True, slots=True)
class Reason:
    """The reason why something was or was not done: a stable code (see `report.explain`) and the numbers behind it."""

    code: str
    facts: Facts = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Hold:
    """An operator keeps balancing away from an MR-cluster or a node, until ``until_us``; 0: until somebody ends it."""

    by: str
    reason: str
    until_us: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A node as the inventory describes it. ``capacity_milli`` is its share unit in thousandths.

    ``details`` is for the world alone: how the node is reached, also after the inventory has forgotten it.
    """

    id: NodeId
    site: str = ""
    capacity_milli: int = 1000
    may_core: bool = True
    details: Facts = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeState:
    """A node and what the ledger says about it.

    ``generation`` counts the hand-overs of this node: answers about an older one are history. ``keep_out`` is the
    reason why the node shall go out of service as soon as it is clean, ``back_us`` when a quarantine ends.
    ``failures`` counts how many times in a row it did not come up. ``unlisted``: the inventory does not name it.
    ``sight`` is how its masters saw it last. ``leaving``: it was lost while it left with data; it goes on leaving when
    it is back. ``missing_before`` are the files of which blocks were missing before it began to leave; None: not
    known. ``discard``: an administrator gave up what is on it. ``alert_kind`` is None without an ``alert``, and where
    an earlier version has stored it. ``place``: its work folder and the mount point under that; empty: not known. The
    tasks of ``stayed``, which are containers, did not follow the order of a claim.
    """

    node: Node
    life: NodeLife = NodeLife.FREE
    owner: ClusterId | None = None
    role: Role | None = None
    generation: int = 0
    since_us: int = 0
    why: Reason = Reason("new")
    tick: int = 0
    keep_out: str = ""
    back_us: int | None = None
    failures: int = 0
    alert: str = ""
    unlisted: bool = False
    sight: Sight | None = None
    leaving: bool = False
    missing_before: tuple[str, ...] | None = None
    discard: bool = False
    alert_kind: NodeAlert | None = None
    hold: Hold | None = None
    place: str = ""
    stayed: tuple[str, ...] = ()

    @property
    def stores(self) -> bool:
        """True if blocks of its MR-cluster may lie on it."""
        return self.role in (Role.CORE, Role.TRANSIENT_CORE)

    @property
    def kept_out(self) -> bool:
        """True if the node goes out of service once it is clean, and stays there."""
        return bool(self.keep_out) or self.unlisted


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSpec:
    """An MR-cluster as requested. ``details`` is for the world alone: data, outputs, Hadoop version, overrides."""

    id: ClusterId
    min_nodes: int
    max_nodes: int | None = None
    growth: Role | None = None
    replication: int = 3
    deploy_on_first_job: bool = False
    idle_us: int | None = None
    max_running_jobs: int = 4
    details: Facts = field(default_factory=dict)
    masters: Promise = Promise.KEPT


@dataclass(frozen=True, slots=True, kw_only=True)
class MastersMove:
    """The masters of an MR-cluster are to go from the core node ``old`` to another one (`core.masters`).

    ``since_us`` is since when they do not answer, or when somebody asked. ``to`` is None until a node is chosen. With
    ``now`` running jobs are not waited for. ``begun``: the deed is under way, so that only its end counts; a try of it
    has ``failed``, and may have ``written`` on the new node. ``unreadable``: the old image is there, its edits are not.
    ``site``: its latest try failed for want of something of the site, which counts against no node.
    ``uncounted_us`` have passed since then by a clock that was set, or while no controller looked.
    """

    cause: MoveCause
    since_us: int
    old: NodeId
    to: NodeId | None = None
    by: str = ""
    now: bool = False
    begun: bool = False
    failed: bool = False
    written: bool = False
    unreadable: bool = False
    uncounted_us: int = 0
    site: bool = False

    @property
    def planned(self) -> bool:
        """True if the masters work until they are moved: then nothing is lost."""
        return self.cause in (MoveCause.ASKED, MoveCause.LEAVES, MoveCause.JOURNAL)

    @property
    def gives_way(self) -> bool:
        """True if it can be called off for anything else: masters that only wait to start again."""
        return self.cause is MoveCause.JOURNAL and not self.begun


@dataclass(frozen=True, slots=True, kw_only=True)
class Standby:
    """The second NameNode of an MR-cluster, and the journal which the first one writes and the second one follows.

    ``journal`` are three core nodes, the masters' among them. ``node`` is the one with the second NameNode; None while
    no node can have it. ``ready``: it was seen to follow, so that it can take over (`core.standby`). ``ahead``: the
    other NameNode may have written the journal since, so that the masters' disk alone does not have everything.
    """

    journal: tuple[NodeId, ...]
    node: NodeId | None = None
    ready: bool = False
    ahead: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterState:
    """An MR-cluster and what the ledger says about it.

    ``version`` numbers its membership documents. ``wait_us``, ``load_us``, ``save_us`` are the paper's w^C, l^D, b^D;
    ``deploy_us`` is the time between them. ``active_us`` is when loading ended. ``idle_us`` is since when it has had
    nothing waiting and nothing running. ``unreadable_us`` is since when it could not be read, ``still_us`` since when
    tasks have waited and none has run (`core.stuck`); None until that has lasted. ``silent_us`` is since when its
    masters do not answer. ``moving``: its masters are to go to another node, or to start again. ``standby`` is None
    without a second NameNode: none was asked for, or masters were brought back from a copy, which ends the journal
    until there is a new one (`core.journal`). On nodes that are ``shut_out`` former masters may still run, as long as
    they are lost. ``alert`` is the worst of its alerts, of the kind ``alert_kind``: None without an alert, and where an
    earlier version has stored it. ``further`` are the others, the worst first (`core.alerts`). ``service`` is what its
    masters said last of what users need; None: not known. ``image_rates`` are the rates at which its nodes have last
    saved tasks, in bytes of their memory a second. ``uncopied``: why its masters' data is not copied.
    """

    spec: ClusterSpec
    life: ClusterLife = ClusterLife.WAITING
    since_us: int = 0
    requested_us: int = 0
    version: int = 0
    master: NodeId | None = None
    active_us: int | None = None
    idle_us: int | None = None
    unreadable_us: int | None = None
    still_us: int | None = None
    wait_us: int | None = None
    deploy_us: int | None = None
    load_us: int | None = None
    save_us: int | None = None
    discard: bool = False
    failed: str = ""
    alert: str = ""
    moving: MastersMove | None = None
    standby: Standby | None = None
    shut_out: tuple[NodeId, ...] = ()
    alert_kind: ClusterAlert | None = None
    further: tuple[Alert, ...] = ()
    service: Service | None = None
    silent_us: int | None = None
    hold: Hold | None = None
    image_rates: tuple[int, ...] = ()
    uncopied: str = ""

    @property
    def id(self) -> ClusterId:
        """The id of the MR-cluster."""
        return self.spec.id

    @property
    def active(self) -> bool:
        """True from the end of loading to the start of saving (facts, section 1)."""
        return self.life is ClusterLife.RUNNING

    @property
    def balanced(self) -> bool:
        """True if balancing may give it nodes and take some: it is active, can be read, and nobody holds it."""
        return self.active and self.unreadable_us is None and self.hold is None


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamSpec:
    """The limits of a stream: ``least`` to ``most`` executors, and ``batch_us``, in which a batch is to be done.

    It may claim ``guarantee`` of the MR-cluster, and has more only while nobody else waits.
    """

    least: int
    most: int
    batch_us: int
    guarantee: float
    thresholds: Thresholds


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamState:
    """A stream under way: its ``attempt``, the executors that it ``needs``, and how many it was told to have.

    ``orders`` counts what it was told. It may claim ``entitled`` executors (None: not known). Its driver asks for them
    all, and YARN has given it no container for ``lacking`` of them since ``lacking_us``.
    """

    attempt: int
    needs: int
    told: int
    orders: int = 0
    entitled: int | None = None
    lacking_us: int | None = None
    lacking: int = 0
    monitor: MonitorState = field(default_factory=MonitorState)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSpec:
    """An MR-job as submitted. ``details`` is for the world alone: jar, class, arguments, properties.

    ``tasks`` and ``input_bytes`` describe its demand while it waits; ``tasks_estimated`` says that nobody knows better.
    ``deadline_us`` counts from the submission. ``unkept`` says why no grant of CPUs can be kept; empty when it can.
    ``work_us`` is the time of all its tasks, known beforehand only offline, for an oracle. ``saves``: its tasks can be
    saved and go on elsewhere. Jobs of a higher ``priority`` leave the queue first. ``stream`` is given for a stream.
    """

    id: JobId
    cluster: ClusterId
    retries: int = 0
    time_limit_us: int | None = None
    reference_us: int | None = None
    tasks: int = 1
    tasks_estimated: bool = True
    input_bytes: int | None = None
    details: Facts = field(default_factory=dict)
    deadline_us: int | None = None
    unkept: str = ""
    work_us: int | None = None
    saves: bool = False
    priority: int = 0
    stream: StreamSpec | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobState:
    """An MR-job and what the ledger says about it; attempts count from 1.

    ``seen`` is how its attempt stood when that was not enough to judge it. An admission policy let it in with
    ``granted`` CPUs of ``granted_of``, for the reasons in ``granted_why``; 0 when none did. ``displaced`` counts the
    attempts that ended because masters were lost or moved: these are no retries. ``own``: it is a command of its own,
    which need not have an application and may have several. ``waits`` says what it waits for once nothing of it has
    moved for long (`core.standing`). ``stream`` is how a stream stands. ``stop`` says why Fawkes ended it, ``why`` what
    others said of its end; ledgers of earlier versions have both there.
    """

    spec: JobSpec
    life: JobLife = JobLife.QUEUED
    submitted_us: int = 0
    order: int = 0
    attempt: int = 1
    started_us: int | None = None
    finished_us: int | None = None
    application: str = ""
    why: str = ""
    log: str = ""
    seen: Attempt | None = None
    granted: int = 0
    granted_of: int = 0
    granted_why: Mapping[str, float] = field(default_factory=dict)
    displaced: int = 0
    own: bool = False
    waits: Reason | None = None
    stream: StreamState | None = None
    stop: Reason | None = None

    @property
    def id(self) -> JobId:
        """The id of the job."""
        return self.spec.id

    @property
    def cluster(self) -> ClusterId:
        """The MR-cluster that runs it."""
        return self.spec.cluster

    @property
    def place(self) -> tuple[int, int]:
        """Its place in the queue: higher priorities first, then the order of submission."""
        return (-self.spec.priority, self.order)

    @property
    def wait_us(self) -> int | None:
        """w^J: from submission to the start of its (last) execution."""
        return None if self.started_us is None else self.started_us - self.submitted_us

    @property
    def run_us(self) -> int | None:
        """s^J: its execution time."""
        if self.started_us is None or self.finished_us is None:
            return None
        return self.finished_us - self.started_us

    @property
    def due_us(self) -> int | None:
        """The time when its deadline is; None without one. A retry has that of the first attempt."""
        return None if self.spec.deadline_us is None else self.submitted_us + self.spec.deadline_us

    @property
    def met(self) -> bool | None:
        """True if it succeeded by its deadline, to the microsecond; None without one, and if its end is not known."""
        if self.due_us is None or self.finished_us is None:
            return None
        return self.life is JobLife.SUCCEEDED and self.finished_us <= self.due_us

    @property
    def slowdown(self) -> float | None:
        """Response over reference time (facts, section 7); None where one is not known, and for a job that failed."""
        if self.life is not JobLife.SUCCEEDED or self.finished_us is None or not self.spec.reference_us:
            return None
        return (self.finished_us - self.submitted_us) / self.spec.reference_us


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The state of one MR-cluster as its masters report it at one moment, what users submitted by themselves included.

    ``waiting`` means no task started. ``tasks_ready`` are the waiting tasks that lack nothing but room: reduces whose
    maps have not got far enough are not among them (None: all that wait are). ``waiting_tags`` has a tag for each
    waiting application that Fawkes started, ``unsplit`` for those that count as one task, because nobody has told more.
    ``jobs_done`` and ``tasks_done`` count since deployment. ``output_bytes`` is what was written since activation.
    ``node_bytes``, ``node_masters`` speak of nodes that may leave: HDFS bytes, ApplicationMasters. ``hdfs_ops`` counts
    what users and their jobs asked of the NameNode: a change is use.
    ``jobs_foreign`` are live jobs that Fawkes did not submit. ``missing_blocks`` and ``thin_blocks`` (with too few
    replicas) are the NameNode's own counts: they lag. ``master_slots`` of the slots go to each ApplicationMaster;
    ``masters`` counts those that hold a container. ``work`` has how far each attempt of a job has got that YARN knows.
    ``strays`` are tasks without a container, users' own included; of ``silent`` applications it is not known whether
    they have such. ``nodes_planned`` are those that the plans of its Spark jobs with deadlines need (eq. 6 of Baresi et
    al.). ``error`` is why it could not be read; then nothing else counts.
    """

    cluster: ClusterId
    error: str = ""
    jobs_waiting: int | None = None
    jobs_running: int | None = None
    tasks_waiting: int | None = None
    tasks_running: int | None = None
    tasks_ready: int | None = None
    waiting_tags: tuple[str, ...] = ()
    unsplit: tuple[str, ...] = ()
    slots_used: int | None = None
    slots_total: int | None = None
    output_bytes: int | None = None
    storage_bytes: int | None = None
    jobs_done: int | None = None
    tasks_done: int | None = None
    hdfs_ops: int | None = None
    jobs_foreign: int | None = None
    missing_blocks: int | None = None
    thin_blocks: int | None = None
    masters: int | None = None
    master_slots: int = 0
    node_bytes: Mapping[NodeId, int] = field(default_factory=dict)
    node_masters: Mapping[NodeId, int] = field(default_factory=dict)
    work: tuple[Work, ...] | None = None
    strays: tuple[Stray, ...] = ()
    silent: tuple[str, ...] = ()
    nodes_planned: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A reading together with Fawkes's own queue: what policies see of one moment.

    ``job_slowdown`` is the mean over running and waiting jobs of elapsed over reference time; ``without_reference``
    counts the jobs left out. ``bytes_waiting`` is the input of the waiting jobs. ``cpus_wanted`` is what an admission
    policy granted the jobs that run, and what the waiting ones ask for that can meet their deadlines; None without one.
    """

    at_us: int
    jobs_waiting: int | None = None
    jobs_running: int | None = None
    tasks_waiting: int | None = None
    tasks_running: int | None = None
    bytes_waiting: int | None = None
    slots_used: int | None = None
    slots_total: int | None = None
    output_bytes: int | None = None
    storage_bytes: int | None = None
    jobs_done: int | None = None
    tasks_done: int | None = None
    hdfs_ops: int | None = None
    job_slowdown: float | None = None
    without_reference: int = 0
    masters: int | None = None
    master_slots: int = 0
    cpus_wanted: int | None = None
    nodes_planned: int | None = None
