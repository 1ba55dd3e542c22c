"""A World in memory: the events and effects of real nodes, by an event heap and a plain model of MR-clusters."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from fawkes.base.errors import HeldUpError
from fawkes.core.values.effects import (
    ArmStandby,
    AwaitRoom,
    CancelJob,
    Deploy,
    Effect,
    EndAttempts,
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
from fawkes.core.values.events import (
    Condition,
    Done,
    Event,
    MastersSeen,
    NodeObserved,
    NodeSeen,
    Sampled,
    ServiceSeen,
    Woke,
    in_one,
)
from fawkes.core.values.model import ClusterId, NodeId, Reading, Role
from fawkes.core.values.proof import not_proven
from fawkes.core.values.sight import Blocks, Compute, Service, Stored
from fawkes.sim.engines import Engine, model_of
from fawkes.sim.events import answers, steps
from fawkes.sim.events.answers import ended, observed, of_job, sight_of, without_writes
from fawkes.sim.events.heap import COMPLETION, REQUEST, TIMER, Heap
from fawkes.sim.events.preempting import OfTasks
from fawkes.sim.events.transfers import Transfers
from fawkes.sim.hadoop.constants import PLAIN, Constants
from fawkes.sim.hadoop.model import Cluster, CopyDone, JobEnded, Model, TaskEvent
from fawkes.sim.hadoop.tasks import JobAttempt
from fawkes.sim.masters.masters import NO_ANSWER, Masters
from fawkes.sim.masters.standby import Standbys, without_memory
from fawkes.sim.users import Users, of_stage


@dataclass(slots=True)
class SimWorld:
    """The simulated world. ``until_us`` ends the run, tasks take their chances from ``seed``.

    ``replies`` are for whoever watches. ``engine`` chooses the model of Hadoop; the results of both are equal. With
    ``check`` the laws of conservation are looked at after each event of a task, by the readable one: BrokenError.

    ``dead`` nodes have no power; the daemons of ``gone`` ones do not run, ``only_here`` of them have the only replicas
    of blocks of an MR-cluster; ``destroyed`` were wiped although they had. The disks of ``emptied`` ones were lost.
    ``services`` is what MR-clusters offer since a scripted `ServiceSeen`: without writes each attempt of a job fails.
    """

    until_us: int
    delays: steps.Delays = field(default_factory=steps.Delays)
    faults: steps.Faults = steps.no_faults
    constants: Constants = PLAIN
    users: Users = field(default_factory=lambda: Users(()))
    sites: Mapping[NodeId, str] = field(default_factory=dict)
    seed: int = 0
    engine: Engine = "readable"
    check: bool = False
    keep_events: bool = False
    clusters: dict[ClusterId, Cluster] = field(default_factory=dict)
    hosts: dict[NodeId, steps.Hosted] = field(default_factory=dict)
    dead: set[NodeId] = field(default_factory=set)
    gone: set[NodeId] = field(default_factory=set)
    deployed: dict[ClusterId, Deploy] = field(default_factory=dict)
    only_here: dict[NodeId, ClusterId] = field(default_factory=dict)
    destroyed: list[NodeId] = field(default_factory=list)
    emptied: set[NodeId] = field(default_factory=set)
    services: dict[ClusterId, Service] = field(default_factory=dict)
    replies: list[Reply] = field(default_factory=list)
    ended: bool = False
    starts: dict[JobAttempt, int] = field(default_factory=dict)
    now_us: int = 0
    masters: Masters = field(init=False)
    _news: deque[Event] = field(default_factory=deque)
    _transfers: Transfers = field(init=False)
    _model: Model = field(init=False)
    _heap: Heap = field(default_factory=Heap)
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
        self._transfers = Transfers(self._model, self.constants, self.delays, self.clusters)
        second, copy_us = Standbys(self.hosts, self.dead), self.delays.copy_us
        self.masters = Masters(self.clusters, self.deployed, self.hosts, self.dead, self.gone, copy_us, second)
        self.script(self.users.begin())
        self._heap.push(self.now_us + self.delays.sample_us, REQUEST, steps.Reads())

    def script(self, events: Iterable[Event]) -> None:
        """Events from outside, each at its own time."""
        for event in events:
            self._heap.push(event.at_us, REQUEST, event)

    def lose(self, node: NodeId, at_us: int, back_us: int | None = None, *, emptied: bool = False) -> None:
        """A node will lose its power: its tasks are gone, and it answers nobody until ``back_us``, if ever."""
        self.suffer(steps.Loss(node, at_us, back_us, emptied=emptied))

    def suffer(self, loss: steps.Loss) -> None:
        """A node will lose its power, or the node that has the masters of an MR-cluster then."""
        self._heap.push(loss.at_us, COMPLETION, steps.PowerFails(loss))
        if loss.back_us is not None and loss.masters_of is None:
            self._heap.push(loss.back_us, COMPLETION, steps.PowerReturns(loss.node))

    def wait_for_room(self, error: HeldUpError) -> bool:
        """A simulated disk has room when it is asked again; no simulated time passes."""
        return True

    def next_event(self) -> Event | None:
        """The next event of the heap, or the news of all nodes at one time; None at the end of the run."""
        news = list[NodeObserved | NodeSeen]()
        while not self._news:
            end_us = self.now_us if news else self.until_us
            heap_us = self._heap.next_us(end_us + 1)
            if self._hadoop_goes_on(min(heap_us, end_us)):
                continue
            if heap_us > end_us or (news and not self._heap.goes_on_with_a_node):
                break
            at_us, what = self._heap.pop()
            self.now_us = self._model.now_us = max(self.now_us, at_us)
            event = self._happen(what)
            if isinstance(event, NodeObserved | NodeSeen):
                news.append(event)
            elif event is not None:
                self._news.appendleft(event)
        if news:
            return in_one(news)
        return self._news.popleft() if self._news else None

    def start(self, effects: Iterable[Effect]) -> None:
        """Take the goals over; a newer one of the same key replaces the older."""
        for effect in effects:
            self._goals[effect.key] = effect
            match effect:
                case WakeAt():
                    self._heap.push(max(effect.at_us, self.now_us), TIMER, effect)
                case Reply():
                    self.replies.append(effect)
                case EndControl():
                    self.ended = True
                case _ if self._transfers.takes(effect):
                    pass
                case _:
                    if isinstance(effect, Retire):
                        self._stop_stage(effect.cluster)
                    if isinstance(effect, MoveMasters):
                        self._begin_move(effect)
                    self._heap.push(self.now_us + self.delays.of(effect), COMPLETION, effect)

    def task_events(self) -> list[TaskEvent]:
        """The starts and ends of attempts so far, in order; none without ``keep_events``."""
        return self._model.task_events()

    def close(self) -> None:
        """Nothing is left outside."""

    def orphaned(self, away_us: int) -> SimWorld:
        """The world that a new controller finds ``away_us`` after the old one died: Hadoop and its tasks went on, and
        nobody heard of it; everything else that was under way is forgotten. Users come back with what they want.
        """
        taken_over = {name: getattr(self, name) for name in steps.FOUND}
        left = SimWorld(self.until_us, self.delays, self.faults, self.constants, **taken_over)
        for name in steps.CARRIED:
            setattr(left, name, getattr(self, name))
        left.masters.away, left.masters.void = self.masters.away, self.masters.void
        left.masters.second.pairs |= without_memory(self.masters.second.pairs)
        left._model = left._transfers.model = self._model
        # What HDFS copies goes on; what the dead one brought and took has ended with it.
        for of, copy in self._transfers.under_way.items():
            if isinstance(of, steps.Leaves):
                left._transfers.under_way[of] = copy
            else:
                self._model.drop(copy)
        back_us = self.now_us + away_us
        while left._hadoop_goes_on(back_us):
            pass
        left.now_us = left._model.now_us = back_us
        left._news.clear()
        left._heap = self._heap.left(back_us, back_us + left.delays.sample_us)
        for cluster in left.masters.second.pairs:
            left._look_at_second(cluster)
        return left

    def _copied(self, of: steps.Copied) -> Event | None:
        """Bytes have arrived, or daemons run; nothing is told when they are not wanted any more."""
        del self._transfers.under_way[of]
        if isinstance(of, steps.Leaves | steps.Follows):
            every_us = self.constants.decommission_us if isinstance(of, steps.Leaves) else 0
            self._heap.push(steps.next_look_us(self.now_us, every_us), COMPLETION, of)
            return None
        if isinstance(of, Load) and of.cluster in self.clusters and of.cluster not in self.masters.away:
            self.clusters[of.cluster].loaded = True
        effect = of.effect if isinstance(of, steps.Deploys) else of
        return self._reach(effect) if self._goals.get(effect.key) == effect else None

    def _stop_stage(self, cluster: ClusterId) -> None:
        """Loads and saves of an MR-cluster end where they are, and nothing of it comes up.

        Off the heap as well: a later MR-cluster of the name may have a goal that is equal.
        """
        self._transfers.stop(cluster)
        self._transfers.stop_deployment(cluster)
        self._heap.stop_stage(cluster)

    def _happen(self, what: Event | steps.Step) -> Event | None:
        match what:
            case steps.Leaves():
                return self._leaves(what)
            case steps.Goes():
                return self._transfers.tasks.goes(what, self._goals, self._heap, self.now_us)
            case steps.PowerFails() | steps.PowerReturns() as power:
                return (
                    self._power_fails(power.loss)
                    if isinstance(power, steps.PowerFails)
                    else self._power_returns(power.node)
                )
            case steps.Noticed():
                return self._noticed(what)
            case steps.Looks() | steps.Follows():
                return self._second(what)
            case steps.Reads():
                self._heap.push(self.now_us + self.delays.sample_us, REQUEST, what)
                return Sampled(at_us=self.now_us, readings=tuple(map(self._read, sorted(self.clusters))))
        if not isinstance(what, Effect):
            self.services |= {what.cluster: what.service} if isinstance(what, ServiceSeen) else {}
            return what
        if self._goals.get(what.key) != what:
            return None
        if isinstance(what, StartJob | CancelJob) and what.cluster in self.masters.away:
            self.masters.away[what.cluster].waits.append(what)
            return None
        return self._reach(what)

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
            case _ if isinstance(effect, answers.OfJob):
                faults = without_writes(self.services.get(effect.cluster)) or self.faults
                answer = of_job(effect, self.clusters.get(effect.cluster), faults, self.starts, self._room, self.now_us)
                if answer is None and isinstance(effect, AwaitRoom):
                    self._heap.push(self.now_us + effect.every_us, COMPLETION, effect)
                return answer
            case LookAtMasters() | MoveMasters() | ArmStandby():
                return self._move(effect)
            case _ if isinstance(effect, OfTasks):
                return self._transfers.tasks.reach(effect, self._heap, self.now_us)
            case EndAttempts():
                return self.masters.end_strays(effect, self.faults("attempts", effect.cluster), self.now_us)
        return None

    def _begin_move(self, effect: MoveMasters) -> None:
        """Begin to move masters: what ran under the old ones ends where it is, copies of data as well."""
        if self.masters.begin(effect, self.now_us, self._goals.get(f"membership:{effect.cluster}")):
            for of in self._transfers.stop(effect.cluster):
                self._heap.push(self.now_us, COMPLETION, of)

    def _move(self, effect: LookAtMasters | MoveMasters | ArmStandby) -> Event | None:
        error = self.faults("arm" if isinstance(effect, ArmStandby) else "masters", effect.cluster)
        error = error if effect.cluster in self.clusters else f"there is no {effect.cluster}"
        if error is not None:
            return answers.failed(self.now_us, effect, error)
        if isinstance(effect, LookAtMasters):
            if effect.to in self.dead:
                return answers.failed(self.now_us, effect, f"no answer from {effect.to}")
            facts = self.masters.look(effect, self.now_us)
        elif isinstance(effect, ArmStandby):
            why, facts = self.masters.arm(effect)
            self._look_at_second(effect.cluster)
            if why:
                return answers.failed(self.now_us, effect, why, facts)
        else:
            self._begin_move(effect)
            why, facts = self.masters.end(effect, self.only_here)
            self._look_at_second(effect.cluster)
            if why:
                if self.masters.goes_back(effect):
                    self._serve(effect.cluster)
                    facts = {"alive": True}
                return answers.failed(self.now_us, effect, why, facts)
            self.masters.refuse(effect, self._goals.values())
            self._serve(effect.cluster, moved=True)
        return Done(at_us=self.now_us, effect=effect.key, version=effect.version, facts=facts)

    def _second(self, what: steps.Looks | steps.Follows) -> Event | None:
        if isinstance(what, steps.Looks):
            return self.masters.second.look(what.cluster, self.now_us)
        if self.deployed[what.cluster].version == what.version:
            self.masters.second.follow(what.cluster, what.node)
            self._look_at_second(what.cluster)
        return None

    def _look_at_second(self, cluster: ClusterId) -> None:
        """Plan the next look, which sees what has changed of a second NameNode or its journal."""
        if cluster in self.masters.second.pairs:
            self._heap.push(steps.next_look_us(self.now_us + 1, self.delays.look_us), COMPLETION, steps.Looks(cluster))

    def _serve(self, cluster: ClusterId, *, moved: bool = False) -> None:
        """Masters answer again: what waited for them is done, and they tell what has ended meanwhile.

        After a move it is told what has ended with the old ones, and nothing else has.
        """
        document = self._goals.get(f"membership:{cluster}")
        away = self.masters.serve(cluster, document, self.sites)
        if away is None:
            return
        for step in away.waits:
            self._heap.push(self.now_us, COMPLETION, step)
        for late in away.ended:
            self._tell(late)
        if not moved:
            self._news.extend(ended(attempt, end, self.now_us) for attempt, end in away.cut.items())

    def _read(self, cluster: ClusterId) -> Reading:
        return self.masters.reading(cluster, self.faults("read", cluster))

    def _room(self, cluster: ClusterId) -> int | None:
        return self.masters.ready(cluster, self.faults("read", cluster))

    def _stage(self, effect: Deploy | Load | Save | Retire | Survey) -> Event | None:
        error = self.faults(type(effect).__name__.lower(), effect.cluster)
        if error is None and isinstance(effect, Load | Save | Survey) and effect.cluster in self.masters.away:
            error = NO_ANSWER
        if error is not None:
            return answers.failed(self.now_us, effect, error)
        if isinstance(effect, Deploy):
            if silent := self.masters.second.refuses(effect):
                return answers.failed(self.now_us, effect, f"no answer from {silent}", {"away": silent})
            if effect.cluster not in self.clusters:
                self.clusters[effect.cluster] = self._transfers.deployed(effect)
            cluster = self.clusters[effect.cluster]
            self.deployed[effect.cluster] = effect
            self.masters.forget(effect.cluster)
            self._second_comes(effect)
            for node, member in effect.members.items():
                self.hosts[node] = steps.Hosted(effect.cluster, member.role, member.generation)
                if node in self.dead:
                    # It lost its power while nobody had it: that is noticed from now on.
                    self.gone.add(node)
                    self._heap.push(
                        self.now_us + self.delays.detect_us, COMPLETION, steps.Noticed(node, member.generation)
                    )
                else:
                    cluster.join(node, member.role, self.sites.get(node, ""))
        if isinstance(effect, Load):
            self.script(self.users.cluster_runs(effect.cluster, self.now_us))
        facts = of_stage(effect, self.users)
        return Done(at_us=self.now_us, effect=effect.key, version=effect.version, facts=facts)

    def _second_comes(self, effect: Deploy) -> None:
        """A deployment does not wait for its second NameNode."""
        node = self.masters.second.deployed(effect)
        if node is not None:
            follows = steps.Follows(effect.cluster, effect.version, node)
            if not self._transfers.takes(follows):
                self._heap.push(self.now_us + self.delays.arm_us, COMPLETION, follows)

    def _membership(self, effect: Membership) -> Event | None:
        cluster = self.clusters.get(effect.cluster)
        error = self.faults("membership", effect.cluster)
        if error is None and effect.cluster in self.masters.away:
            error = NO_ANSWER
        error = f"there is no {effect.cluster}" if cluster is None else error
        if cluster is None or error is not None:
            return answers.failed(self.now_us, effect, error)
        if effect.standby is None:
            self.masters.second.pairs.pop(effect.cluster, None)
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
        leaves = steps.Leaves(effect.key, node, member.generation, member.goal, until_us)
        if member.goal is Goal.EVACUATING and self._transfers.copies_bytes(effect.cluster):
            self._transfers.begin(cluster, leaves)
            return
        self._heap.push(self.now_us + wait_us, COMPLETION, leaves)

    def _leaves(self, what: steps.Leaves) -> Event | None:
        latest = self._goals.get(what.key)
        member = latest.members.get(what.node) if isinstance(latest, Membership) else None
        if latest is None or member is None or (member.goal, member.generation) != (what.goal, what.generation):
            return None
        cluster: ClusterId = latest.cluster  # type: ignore[union-attr]
        if cluster in self.masters.away:
            self.masters.away[cluster].waits.append(what)
            return None
        if what.node in self.gone:
            return self._see(cluster, what.node, what.generation)
        if what.goal is Goal.EVACUATING:
            return self._evacuated(cluster, what)
        if cluster in self.clusters and self.now_us < what.until_us:
            busy_us = self.clusters[cluster].busy_us(what.node)
            if busy_us:
                # Its tasks share what others use as well: they end later than it looked.
                self._heap.push(min(what.until_us, self.now_us + busy_us), COMPLETION, what)
                return None
        if member.role is Role.TRANSIENT:
            self._take_off(what.node, cluster)
        elif cluster in self.clusters:
            # Its NodeManager ends what still runs, and nobody can fetch from it; its blocks are where they are.
            self.clusters[cluster].stop_tasks(what.node)
        return self._see(cluster, what.node, what.generation, Compute.LEFT, Stored.IN_SERVICE)

    def _evacuated(self, cluster: ClusterId, what: steps.Leaves) -> Event | None:
        error = self.faults("evacuate", what.node)
        if error is None:
            self._take_off(what.node, cluster)
            return self._see(cluster, what.node, what.generation, Compute.LEFT, Stored.LEFT)
        self._heap.push(self.now_us + self.delays.evacuate_us, COMPLETION, what)
        blocks = Blocks(asked_us=self.now_us, why=error)
        seen = self._see(cluster, what.node, what.generation, Compute.LEFT, Stored.LEAVING, blocks)
        return seen if error else None

    def _see(self, cluster: ClusterId, node: NodeId, generation: int, *seen: Any) -> NodeSeen:
        sight = sight_of(cluster, self.only_here, self.now_us, *seen)
        return NodeSeen(at_us=self.now_us, cluster=cluster, node=node, generation=generation, sight=sight)

    def _take_off(self, node: NodeId, cluster: ClusterId) -> None:
        """A node does nothing for an MR-cluster any more; that is gone with its last node."""
        if (hadoop := self.clusters.get(cluster)) is None:
            return
        hadoop.leave(node)
        if not hadoop.nodes and not any(hosted.cluster == cluster for hosted in self.hosts.values()):
            del self.clusters[cluster]
            self.masters.forget(cluster)

    def _host(self, effect: Host) -> Event | None:
        hosted = self.hosts.get(effect.node)
        error = self.faults("clean" if effect.role is None else "join", effect.node)
        if hosted is not None and hosted.generation > effect.generation:
            error = f"it is leased to {hosted.cluster} by now"
        if effect.node in self.dead:
            error = "no answer"
        if error is not None:
            return observed(effect, self.now_us, Condition.FAILED, error)
        if effect.role is None:
            return self._wipe(effect)
        if why := self.masters.no_image(effect.cluster, effect.node):
            return observed(effect, self.now_us, Condition.FAILED, why, {"no_image": True})
        if why := self.masters.cannot_write(effect.cluster, effect.node):
            return observed(effect, self.now_us, Condition.FAILED, why)
        return self._starts(effect, effect.role)

    def _starts(self, effect: Host, role: Role) -> Event | None:
        """The daemons of a node run, also those of masters if it has any."""
        away, restarts = self.masters.away.get(effect.cluster), self.masters.brings_up(effect.cluster, effect.node)
        self.hosts[effect.node] = steps.Hosted(effect.cluster, role, effect.generation)
        self.gone.discard(effect.node)
        self.masters.second.starts(effect.cluster, effect.node)
        self._look_at_second(effect.cluster)
        if effect.node not in self.emptied:
            self.only_here.pop(effect.node, None)
        cluster = self.clusters.get(effect.cluster)
        if cluster is not None and not effect.leaving:
            if away is None:
                cluster.join(effect.node, role, self.sites.get(effect.node, ""))
            else:
                away.nodes[effect.node] = None
        if restarts:
            self._serve(effect.cluster)
        if self.masters.node(effect.cluster) == effect.node and effect.cluster not in self.masters.away:
            self._news.append(MastersSeen(at_us=self.now_us, cluster=effect.cluster))
        return observed(effect, self.now_us, Condition.SERVING)

    def _wipe(self, effect: Host) -> Event | None:
        """Right before, HDFS is asked once more where a proof is wanted."""
        refused = self.faults("wipe", effect.node)
        if effect.proof is not None and refused is None and effect.cluster in self.masters.away:
            refused = NO_ANSWER
        if effect.proof is not None and refused is None:
            sight = self._see(effect.cluster, effect.node, effect.generation).sight
            refused = not_proven(sight, effect.proof, since_us=self.now_us - 1) or None
        if refused is not None:
            return observed(effect, self.now_us, Condition.HELD, refused)
        if effect.node in self.only_here and effect.node not in self.emptied:
            self.destroyed.append(effect.node)
        self.emptied.discard(effect.node)
        self.hosts.pop(effect.node, None)
        self.gone.discard(effect.node)
        self.masters.second.stops(effect.cluster, effect.node, emptied=True)
        self._take_off(effect.node, effect.cluster)
        return observed(effect, self.now_us, Condition.CLEAN)

    def _power_fails(self, loss: steps.Loss) -> Event | None:
        """Its daemons are gone; its masters notice that later, and what was on it alone is where it is."""
        node = self.masters.struck(loss)
        if node is None:
            return None
        if loss.masters_of is not None and loss.back_us is not None:
            self._heap.push(loss.back_us, COMPLETION, steps.PowerReturns(node))
        self.dead.add(node)
        if loss.emptied:
            self.emptied.add(node)
        hosted = self.hosts.get(node)
        if hosted is None:
            return None
        cluster = self.clusters.get(hosted.cluster)
        if cluster is not None:
            alone = hosted.role is not Role.TRANSIENT and self.deployed[hosted.cluster].spec.replication == 1
            if alone and cluster.read().node_bytes.get(node):
                self.only_here[node] = hosted.cluster
            self.masters.leave_stray(cluster, node)
            cluster.leave(node)
        self.gone.add(node)
        self._heap.push(self.now_us + self.delays.detect_us, COMPLETION, steps.Noticed(node, hosted.generation))
        document = self._goals.get(f"membership:{hosted.cluster}")
        silent = self.masters.fail(hosted.cluster, node, self.now_us, document, emptied=loss.emptied)
        self._look_at_second(hosted.cluster)
        return self.masters.silent(hosted.cluster, self.now_us, struck=node) if silent else None

    def _power_returns(self, node: NodeId) -> Event | None:
        """The node answers, and says that nothing runs."""
        self.dead.discard(node)
        hosted = self.hosts.get(node) if node in self.gone else None
        if hosted is None or hosted.cluster in self.masters.away:
            return None if hosted is None else self.masters.restarted(hosted.cluster, self.now_us, node)
        unnoticed = any(isinstance(step, steps.Noticed) and step.node == node for *_, step in self._heap.entries)
        return answers.restarted(self._see(hosted.cluster, node, hosted.generation)) if unnoticed else None

    def _noticed(self, what: steps.Noticed) -> Event | None:
        """Heartbeats are missed, unless the node's daemons run again or its masters are away themselves."""
        hosted = self.hosts.get(what.node)
        if hosted is None or what.node not in self.gone or hosted.generation != what.generation:
            return None
        if hosted.cluster in self.masters.away:
            self._heap.push(self.now_us + self.delays.detect_us, COMPLETION, what)
            return None
        return self._see(hosted.cluster, what.node, what.generation)

    def _hadoop_goes_on(self, until_us: int) -> bool:
        """Tasks run until something is told; whether it was before that time."""
        ended = self._model.advance(until_us)
        self.now_us = max(self.now_us, self._model.now_us)
        going_on = ended is not None
        while ended is not None:
            self._tell(ended)
            ended = self._model.advance(-1)
        return going_on

    def _tell(self, end: JobEnded | CopyDone) -> None:
        """Tell of the end of a job or a copy, as a master would."""
        if isinstance(end, JobEnded):
            for name, away in self.masters.away.items():
                if end.attempt in self.clusters[name].ended:
                    away.ended.append(end)
                    return
            self._news.append(ended(end.attempt, end.end, self.now_us))
            self.script(self.users.job_ended(end.attempt[0], self.now_us))
            return
        assert isinstance(end.of, steps.Copied)
        if (event := self._copied(end.of)) is not None:
            self._news.append(event)
