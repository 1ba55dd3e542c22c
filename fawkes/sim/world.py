"""A World in memory: the same events and effects as on real nodes, by an event heap and a plain model of MR-clusters.

Ties at one time: completions first, then requests and readings, then the timer; then the order of their making. What
is on the heap is plain values, so that a world can be copied in the middle of a run.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf

from fawkes.core.effects import (
    CancelJob,
    CountWork,
    Deploy,
    Effect,
    EndControl,
    Goal,
    Host,
    Load,
    LookAtMasters,
    Membership,
    MoveMasters,
    Reply,
    Retire,
    Save,
    StartJob,
    Survey,
    WakeAt,
)
from fawkes.core.events import (
    Condition,
    Done,
    Event,
    Failed,
    MastersSeen,
    NodeObserved,
    NodeSeen,
    Sampled,
    Woke,
)
from fawkes.core.model import ClusterId, Facts, NodeId, Reading, Role
from fawkes.core.proof import not_proven
from fawkes.core.sight import Blocks, Compute, Sight, Stored
from fawkes.errors import FullError
from fawkes.sim import masters
from fawkes.sim.answers import ended, runs, work_counted
from fawkes.sim.constants import PLAIN, Constants
from fawkes.sim.model import Cluster, CopyDone, Copying, Engine, JobEnded, Model, TaskEvent, model_of
from fawkes.sim.steps import (
    Copied,
    Delays,
    Deploys,
    Faults,
    Hosted,
    Leaves,
    Noticed,
    OfCluster,
    PowerFails,
    PowerReturns,
    Reads,
    next_look_us,
    no_faults,
)
from fawkes.sim.tasks import End, JobAttempt
from fawkes.sim.users import Users

_COMPLETION, _REQUEST, _TIMER = 0, 1, 2


Step = Effect | Leaves | Noticed | PowerFails | PowerReturns | Reads


@dataclass(slots=True)
class SimWorld:
    """The simulated world. ``until_us`` ends the run, tasks take their chances from ``seed``.

    ``replies`` are for whoever watches. ``engine`` chooses the model of Hadoop; the results of both are equal. With
    ``check`` the laws of conservation are looked at after each event of a task, by the readable one: BrokenError.

    ``dead`` nodes have no power; the daemons of ``gone`` ones do not run, ``only_here`` of them have the only replicas
    of blocks of an MR-cluster; ``destroyed`` were wiped although they had.
    """

    until_us: int
    delays: Delays = field(default_factory=Delays)
    faults: Faults = no_faults
    constants: Constants = PLAIN
    users: Users = field(default_factory=lambda: Users(()))
    sites: Mapping[NodeId, str] = field(default_factory=dict)
    seed: int = 0
    engine: Engine = "readable"
    check: bool = False
    keep_events: bool = False
    clusters: dict[ClusterId, Cluster] = field(default_factory=dict)
    hosts: dict[NodeId, Hosted] = field(default_factory=dict)
    dead: set[NodeId] = field(default_factory=set)
    gone: set[NodeId] = field(default_factory=set)
    deployed: dict[ClusterId, Deploy] = field(default_factory=dict)
    only_here: dict[NodeId, ClusterId] = field(default_factory=dict)
    destroyed: list[NodeId] = field(default_factory=list)
    replies: list[Reply] = field(default_factory=list)
    ended: bool = False
    starts: dict[JobAttempt, int] = field(default_factory=dict)
    now_us: int = 0
    _told: deque[Event] = field(default_factory=deque)
    _copies: dict[Copied, Copying] = field(default_factory=dict)
    _coming: dict[ClusterId, Cluster] = field(default_factory=dict)
    _model: Model = field(init=False)
    _heap: list[tuple[int, int, int, Event | Step]] = field(default_factory=list)
    _count: int = 0
    _goals: dict[str, Effect] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._model = model_of(
            self.engine,
            self.constants,
            seed=self.seed,
            now_us=self.now_us,
            keep_events=self.keep_events,
            check=self.check,
        )
        self.script(self.users.begin())
        self._push(self.now_us + self.delays.sample_us, _REQUEST, Reads())

    def script(self, events: Iterable[Event]) -> None:
        """Events from outside, each at its own time."""
        for event in events:
            self._push(event.at_us, _REQUEST, event)

    def lose(self, node: NodeId, at_us: int, back_us: int | None = None) -> None:
        """A node will lose its power: its tasks are gone, and it answers nobody until ``back_us``, if ever."""
        self._push(at_us, _COMPLETION, PowerFails(node))
        if back_us is not None:
            self._push(back_us, _COMPLETION, PowerReturns(node))

    def wait_for_room(self, error: FullError) -> bool:
        """A simulated disk has room when it is asked again; no simulated time passes."""
        return True

    def next_event(self) -> Event | None:
        """The next event of the heap; None at the end of the run."""
        while not self._told:
            heap_us = self._heap[0][0] if self._heap else self.until_us + 1
            if self._hadoop_goes_on(min(heap_us, self.until_us)):
                continue
            if heap_us <= self.until_us:
                at_us, _, _, what = heapq.heappop(self._heap)
                self.now_us = self._model.now_us = max(self.now_us, at_us)
                event = self._happen(what)
                if event is not None:
                    return event
            else:
                return None
        return self._told.popleft()

    def start(self, effects: Iterable[Effect]) -> None:
        """Take the goals over; a newer one of the same key replaces the older."""
        for effect in effects:
            self._goals[effect.key] = effect
            match effect:
                case WakeAt():
                    self._push(max(effect.at_us, self.now_us), _TIMER, effect)
                case Reply():
                    self.replies.append(effect)
                case EndControl():
                    self.ended = True
                case Load() | Save() if self._copies_bytes(effect.cluster):
                    self._begin_copy(self.clusters[effect.cluster], effect)
                case Host() if self._starts_daemons(effect):
                    self._begin_copy(self.clusters[effect.cluster], effect)
                case Deploy() if self._daemons_compute and effect.cluster not in self.clusters:
                    self._coming[effect.cluster] = self._new_cluster(effect)
                    self._begin_copy(self._coming[effect.cluster], Deploys(effect))
                case _:
                    if isinstance(effect, Retire):
                        self._stop_stage(effect.cluster)
                    self._push(self.now_us + self.delays.of(effect), _COMPLETION, effect)

    def task_events(self) -> list[TaskEvent]:
        """The starts and ends of attempts so far, in order; none without ``keep_events``."""
        return self._model.task_events()

    def close(self) -> None:
        """Nothing is left outside."""

    def orphaned(self, away_us: int) -> SimWorld:
        """What a new controller finds ``away_us`` after the death of the old one: Hadoop and its tasks went on, and
        nobody heard of it; everything else that was under way is forgotten. Users come back with what they want.
        """
        left = SimWorld(
            self.until_us,
            self.delays,
            self.faults,
            self.constants,
            clusters=self.clusters,
            hosts=self.hosts,
            dead=self.dead,
            gone=self.gone,
            deployed=self.deployed,
            only_here=self.only_here,
            destroyed=self.destroyed,
        )
        left._model, left.engine, left.check = self._model, self.engine, self.check
        left.keep_events = self.keep_events
        left.users, left.sites, left.seed = self.users, self.sites, self.seed
        left.replies, left.starts, left._count = self.replies, self.starts, self._count
        # What HDFS copies goes on; what the dead one brought and took has ended with it.
        for of, copy in self._copies.items():
            if isinstance(of, Leaves):
                left._copies[of] = copy
            else:
                self._model.drop(copy)
        back_us = self.now_us + away_us
        while left._hadoop_goes_on(back_us):
            pass
        left.now_us = left._model.now_us = back_us
        left._told.clear()
        left._heap = [(left.now_us + left.delays.sample_us, _REQUEST, 0, Reads())]
        for at_us, order, count, what in sorted(self._heap, key=lambda entry: entry[:3]):
            if isinstance(what, PowerFails | PowerReturns | Noticed) or (
                order == _REQUEST and not isinstance(what, Reads)
            ):
                late_us = max(at_us, left.now_us)
                later = replace(what, at_us=late_us) if isinstance(what, Event) else what
                heapq.heappush(left._heap, (late_us, order, count, later))
        return left

    def _copies_bytes(self, cluster: ClusterId) -> bool:
        """Whether copies take the time that rates give, instead of a given one."""
        return self.constants.storage_bytes_s < inf and cluster in self.clusters

    @property
    def _daemons_compute(self) -> bool:
        """Whether daemons that start take their part of cores that all share, instead of a given time."""
        return self.constants.shared_cores and self.constants.join_cpu_us > 0

    def _starts_daemons(self, effect: Host) -> bool:
        return effect.role is not None and self._daemons_compute and effect.cluster in self.clusters

    def _begin_copy(self, cluster: Cluster, of: Copied) -> None:
        if of in self._copies:
            return
        match of:
            case Load():
                self._copies[of] = cluster.load(of)
            case Save():
                self._copies[of] = cluster.save(of)
            case Leaves():
                self._copies[of] = cluster.evacuate(of.node, of)
            case Host():
                self._copies[of] = cluster.start_daemons(self.delays.join_us, of)
            case Deploys():
                count = len(of.effect.members)
                self._copies[of] = cluster.start_daemons(self.delays.deploy_us, of, deploys=count)

    def _copied(self, of: Copied) -> Event | None:
        """Bytes have arrived, or daemons run; nothing is told when they are not wanted any more."""
        del self._copies[of]
        if isinstance(of, Leaves):
            self._push(next_look_us(self.now_us, self.constants.decommission_us), _COMPLETION, of)
            return None
        if isinstance(of, Load) and of.cluster in self.clusters:
            self.clusters[of.cluster].loaded = True
        effect = of.effect if isinstance(of, Deploys) else of
        return self._reach(effect) if self._goals.get(effect.key) == effect else None

    def _stop_stage(self, cluster: ClusterId) -> None:
        """Loads and saves of an MR-cluster end where they are, and nothing of it comes up.

        Off the heap as well: a later MR-cluster of the name may have a goal that is equal.
        """
        for of in [of for of in self._copies if isinstance(of, Deploys | Load | Save) and of.cluster == cluster]:
            self._model.drop(self._copies.pop(of))
        self._coming.pop(cluster, None)
        kept = [e for e in self._heap if not (isinstance(e[3], Deploy | Load | Save) and e[3].cluster == cluster)]
        heapq.heapify(kept)
        self._heap = kept

    def _new_cluster(self, effect: Deploy) -> Cluster:
        data = effect.spec.details.get("data", ())
        sizes = (
            [one.get("size_bytes") for one in data if isinstance(one, Mapping)] if isinstance(data, Sequence) else []
        )
        data_bytes = sum(size for size in sizes if isinstance(size, int))
        return self._model.cluster(effect.cluster, replication=effect.spec.replication, data_bytes=data_bytes)

    def _push(self, at_us: int, priority: int, what: Event | Step) -> None:
        self._count += 1
        heapq.heappush(self._heap, (at_us, priority, self._count, what))

    def _happen(self, what: Event | Step) -> Event | None:
        match what:
            case Leaves():
                return self._leaves(what)
            case PowerFails():
                return self._power_fails(what.node)
            case Noticed():
                return self._noticed(what)
            case PowerReturns():
                self.dead.discard(what.node)
                return None
            case Reads():
                self._push(self.now_us + self.delays.sample_us, _REQUEST, what)
                return Sampled(at_us=self.now_us, readings=tuple(map(self._read, sorted(self.clusters))))
        if not isinstance(what, Effect):
            return what
        return self._reach(what) if self._goals.get(what.key) == what else None

    def _reach(self, effect: Effect) -> Event | None:
        match effect:
            case WakeAt():
                del self._goals[effect.key]
                return Woke(at_us=self.now_us)
            case Deploy() | Load() | Save() | Retire() | Survey():
                return self._stage(effect)
            case Membership():
                return self._membership(effect)
            case Host():
                return self._host(effect)
            case StartJob():
                return self._start_job(effect)
            case CancelJob():
                return self._cancel_job(effect)
            case CountWork():
                return work_counted(effect, self.clusters.get(effect.cluster), self.now_us)
            case LookAtMasters() | MoveMasters():
                return self._masters(effect)
        return None

    def _masters(self, effect: LookAtMasters | MoveMasters) -> Event | None:
        cluster = self.clusters.get(effect.cluster)
        error = self.faults("masters", effect.cluster)
        if cluster is None or error is not None:
            return self._failed(effect, f"there is no {effect.cluster}" if cluster is None else error or "")
        if isinstance(effect, LookAtMasters):
            facts = masters.look(effect, cluster, self.gone, self.now_us)
        else:
            deployed = self.deployed[effect.cluster]
            self.deployed[effect.cluster] = replace(deployed, master=effect.to)
            facts = masters.move(cluster)
        return Done(at_us=self.now_us, effect=effect.key, version=effect.version, facts=facts)

    def _read(self, cluster: ClusterId) -> Reading:
        error = self.faults("read", cluster)
        if error is None and self._master(cluster) in self.gone:
            error = "its masters do not answer"
        return self.clusters[cluster].read() if error is None else Reading(cluster=cluster, error=error or "no answer")

    def _stage(self, effect: Deploy | Load | Save | Retire | Survey) -> Event | None:
        error = self.faults(type(effect).__name__.lower(), effect.cluster)
        if error is not None:
            return self._failed(effect, error)
        if isinstance(effect, Deploy):
            if effect.cluster not in self.clusters:
                self.clusters[effect.cluster] = (
                    self._coming.pop(effect.cluster) if effect.cluster in self._coming else self._new_cluster(effect)
                )
            cluster = self.clusters[effect.cluster]
            self.deployed[effect.cluster] = effect
            for node, member in effect.members.items():
                self.hosts[node] = Hosted(effect.cluster, member.role, member.generation)
                if node in self.dead:
                    # It lost its power while nobody had it: that is noticed from now on.
                    self.gone.add(node)
                    self._push(self.now_us + self.delays.detect_us, _COMPLETION, Noticed(node, member.generation))
                else:
                    cluster.join(node, member.role, self.sites.get(node, ""))
        if isinstance(effect, Load):
            self.script(self.users.cluster_runs(effect.cluster, self.now_us))
        facts: Facts = {"undeclared": [], "applications": []} if isinstance(effect, Survey) else {}
        return Done(at_us=self.now_us, effect=effect.key, version=effect.version, facts=facts)

    def _failed(self, effect: OfCluster, error: str) -> Event | None:
        return Failed(at_us=self.now_us, effect=effect.key, version=effect.version, error=error) if error else None

    def _membership(self, effect: Membership) -> Event | None:
        cluster = self.clusters.get(effect.cluster)
        error = self.faults("membership", effect.cluster)
        if cluster is None or error is not None:
            return self._failed(effect, f"there is no {effect.cluster}" if cluster is None else error or "")
        for node in [n for n in cluster.nodes if n not in effect.members]:
            cluster.leave(node)
        for node, member in effect.members.items():
            hosted = self.hosts.get(node)
            if member.goal is not Goal.SERVING:
                self._begin_to_leave(effect, cluster, node)
            elif hosted is not None and hosted.cluster == effect.cluster and node not in self.gone:
                cluster.join(node, member.role, self.sites.get(node, ""))
        return Done(at_us=self.now_us, effect=effect.key, version=effect.version)

    def _begin_to_leave(self, effect: Membership, cluster: Cluster, node: NodeId) -> None:
        member = effect.members[node]
        cluster.drain(node)
        wait_us, until_us = self.delays.evacuate_us, 0
        if member.goal is Goal.DRAINING:
            until_us = self.now_us + self.delays.drain_us + member.leave_us
            wait_us = self.delays.drain_us + min(member.leave_us, cluster.busy_us(node))
        leaves = Leaves(effect.key, node, member.generation, member.goal, until_us)
        if member.goal is Goal.EVACUATING and self._copies_bytes(effect.cluster):
            self._begin_copy(cluster, leaves)
            return
        self._push(self.now_us + wait_us, _COMPLETION, leaves)

    def _leaves(self, what: Leaves) -> Event | None:
        latest = self._goals.get(what.key)
        member = latest.members.get(what.node) if isinstance(latest, Membership) else None
        if latest is None or member is None or (member.goal, member.generation) != (what.goal, what.generation):
            return None
        cluster: ClusterId = latest.cluster  # type: ignore[union-attr]
        if what.node in self.gone:
            return self._see(cluster, what.node, what.generation)
        if what.goal is Goal.EVACUATING:
            return self._evacuated(cluster, what)
        if cluster in self.clusters and self.now_us < what.until_us:
            busy_us = self.clusters[cluster].busy_us(what.node)
            if busy_us:
                # Its tasks share what others use as well: they end later than it looked.
                self._push(min(what.until_us, self.now_us + busy_us), _COMPLETION, what)
                return None
        if member.role is Role.TRANSIENT:
            self._take_off(what.node, cluster)
        elif cluster in self.clusters:
            # Its NodeManager ends what still runs, and nobody can fetch from it; its blocks are where they are.
            self.clusters[cluster].stop_tasks(what.node)
        return self._see(cluster, what.node, what.generation, Compute.LEFT, Stored.IN_SERVICE)

    def _evacuated(self, cluster: ClusterId, what: Leaves) -> Event | None:
        error = self.faults("evacuate", what.node)
        if error is None:
            self._take_off(what.node, cluster)
            return self._see(cluster, what.node, what.generation, Compute.LEFT, Stored.LEFT)
        self._push(self.now_us + self.delays.evacuate_us, _COMPLETION, what)
        if not error:
            return None
        blocks = Blocks(asked_us=self.now_us, why=error)
        return self._see(cluster, what.node, what.generation, Compute.LEFT, Stored.LEAVING, blocks)

    def _see(
        self,
        cluster: ClusterId,
        node: NodeId,
        generation: int,
        compute: Compute = Compute.LOST,
        stored: Stored = Stored.DEAD,
        blocks: Blocks | None = None,
    ) -> NodeSeen:
        """How masters see a node; the report on its blocks knows of those that only a dead node has."""
        if blocks is None:
            missing = tuple(sorted(f"/blocks-of/{n}" for n, owner in self.only_here.items() if owner == cluster))
            blocks = Blocks(asked_us=self.now_us, known=True, missing=missing, missing_files=len(missing))
        sight = Sight(asked_us=self.now_us, compute=compute, stored=stored, blocks=blocks)
        return NodeSeen(at_us=self.now_us, cluster=cluster, node=node, generation=generation, sight=sight)

    def _take_off(self, node: NodeId, cluster: ClusterId) -> None:
        """A node does nothing for an MR-cluster any more; that is gone with its last node."""
        found = self.clusters.get(cluster)
        if found is None:
            return
        found.leave(node)
        if not found.nodes and not any(hosted.cluster == cluster for hosted in self.hosts.values()):
            del self.clusters[cluster]

    def _seen(self, node: NodeId, generation: int, condition: Condition, error: str | None) -> Event | None:
        if error == "":
            return None
        return NodeObserved(at_us=self.now_us, node=node, generation=generation, condition=condition, error=error or "")

    def _host(self, effect: Host) -> Event | None:
        hosted = self.hosts.get(effect.node)
        error = self.faults("clean" if effect.role is None else "join", effect.node)
        if hosted is not None and hosted.generation > effect.generation:
            error = f"it is leased to {hosted.cluster} by now"
        if effect.node in self.dead:
            error = "no answer"
        if error is not None:
            return self._seen(effect.node, effect.generation, Condition.FAILED, error)
        if effect.role is None:
            return self._wipe(effect)
        self.hosts[effect.node] = Hosted(effect.cluster, effect.role, effect.generation)
        self.gone.discard(effect.node)
        self.only_here.pop(effect.node, None)
        cluster = self.clusters.get(effect.cluster)
        if cluster is not None and not effect.leaving:
            cluster.join(effect.node, effect.role, self.sites.get(effect.node, ""))
        if self._master(effect.cluster) == effect.node:
            self._told.append(MastersSeen(at_us=self.now_us, cluster=effect.cluster))
        return self._seen(effect.node, effect.generation, Condition.SERVING, None)

    def _wipe(self, effect: Host) -> Event | None:
        """Right before, HDFS is asked once more where a proof is wanted."""
        refused = self.faults("wipe", effect.node)
        if effect.proof is not None and refused is None:
            sight = self._see(effect.cluster, effect.node, effect.generation).sight
            refused = not_proven(sight, effect.proof, since_us=self.now_us - 1) or None
        if refused is not None:
            return self._seen(effect.node, effect.generation, Condition.HELD, refused)
        if effect.node in self.only_here:
            self.destroyed.append(effect.node)
        self.hosts.pop(effect.node, None)
        self.gone.discard(effect.node)
        self._take_off(effect.node, effect.cluster)
        return self._seen(effect.node, effect.generation, Condition.CLEAN, None)

    def _power_fails(self, node: NodeId) -> Event | None:
        """Its daemons are gone; its masters notice that later, and what was on it alone is where it is."""
        self.dead.add(node)
        hosted = self.hosts.get(node)
        if hosted is None:
            return None
        cluster = self.clusters.get(hosted.cluster)
        if cluster is not None:
            alone = hosted.role is not Role.TRANSIENT and self.deployed[hosted.cluster].spec.replication == 1
            if alone and cluster.read().node_bytes.get(node):
                self.only_here[node] = hosted.cluster
            cluster.leave(node)
        self.gone.add(node)
        self._push(self.now_us + self.delays.detect_us, _COMPLETION, Noticed(node, hosted.generation))
        if self._master(hosted.cluster) != node:
            return None
        return MastersSeen(at_us=self.now_us, cluster=hosted.cluster, error="no answer")

    def _master(self, cluster: ClusterId) -> NodeId | None:
        deployed = self.deployed.get(cluster)
        return None if deployed is None else deployed.master

    def _noticed(self, what: Noticed) -> Event | None:
        """Heartbeats are missed, unless the node's daemons run again or its masters are away themselves."""
        hosted = self.hosts.get(what.node)
        if hosted is None or what.node not in self.gone or hosted.generation != what.generation:
            return None
        if self._master(hosted.cluster) in self.gone:
            self._push(self.now_us + self.delays.detect_us, _COMPLETION, what)
            return None
        return self._see(hosted.cluster, what.node, what.generation)

    def _start_job(self, effect: StartJob) -> Event | None:
        cluster = self.clusters.get(effect.cluster)
        if cluster is None:
            return None
        attempt = (effect.job, effect.attempt)
        known = cluster.knows(attempt)
        error = None if known else self.faults("job", effect.job)
        if error is not None:
            return ended(attempt, cluster.refuse(attempt, error), self.now_us) if error else None
        if not known:
            self.starts[attempt] = self.starts.get(attempt, 0) + 1
        found = cluster.submit(effect)
        if isinstance(found, End):
            return ended(attempt, found, self.now_us)
        return runs(attempt, found, self.now_us)

    def _cancel_job(self, effect: CancelJob) -> Event | None:
        cluster = self.clusters.get(effect.cluster)
        if cluster is None:
            return None
        attempt = (effect.job, effect.attempt)
        return ended(attempt, cluster.cancel(attempt), self.now_us)

    def _hadoop_goes_on(self, until_us: int) -> bool:
        """Tasks run until something is told; whether it was before that time."""
        found = self._model.advance(until_us)
        self.now_us = max(self.now_us, self._model.now_us)
        going_on = found is not None
        while found is not None:
            self._tell(found)
            found = self._model.advance(-1)
        return going_on

    def _tell(self, found: JobEnded | CopyDone) -> None:
        """What a master would tell."""
        if isinstance(found, JobEnded):
            self._told.append(ended(found.attempt, found.end, self.now_us))
            self.script(self.users.job_ended(found.attempt[0], self.now_us))
            return
        assert isinstance(found.of, Copied)
        event = self._copied(found.of)
        if event is not None:
            self._told.append(event)
