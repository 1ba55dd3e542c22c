"""A World in memory: the same events and effects as on real nodes, by an event heap and a plain model of MR-clusters.

Ties at one time: completions first, then requests and readings, then the timer; then the order of their making.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from fawkes.core.effects import (
    CancelJob,
    Deploy,
    Effect,
    Goal,
    Host,
    Load,
    Membership,
    Reply,
    Save,
    StartJob,
    WakeAt,
)
from fawkes.core.events import Condition, Done, Event, Failed, JobObserved, NodeObserved, Progress, Sampled, Woke
from fawkes.core.model import ClusterId, NodeId, Role
from fawkes.sim.cluster import SimCluster, SimJob
from fawkes.units import SECOND_US

_COMPLETION, _REQUEST, _TIMER = 0, 1, 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Delays:
    """How long things take, in microseconds (measured on the lab: facts on real Hadoop, section 3, 4)."""

    deploy_us: int = 12 * SECOND_US
    load_us: int = 4 * SECOND_US
    save_us: int = 2 * SECOND_US
    membership_us: int = 750_000
    join_us: int = 4 * SECOND_US
    drain_us: int = 1 * SECOND_US
    evacuate_us: int = 3 * SECOND_US
    clean_us: int = 1 * SECOND_US
    job_start_us: int = 3 * SECOND_US
    sample_us: int = 2 * SECOND_US


#: asked before an effect succeeds: (kind, name) -> why it fails instead, or None. Kinds: deploy, load, save, join,
#: clean, membership, evacuate, job
Faults = Callable[[str, str], str | None]


@dataclass(slots=True)
class SimWorld:
    """The simulated world. ``until_us`` ends the run; ``replies`` and ``started`` are for whoever watches."""

    until_us: int
    delays: Delays = field(default_factory=Delays)
    faults: Faults = lambda kind, name: None
    slots: int = 2
    clusters: dict[ClusterId, SimCluster] = field(default_factory=dict)
    hosts: dict[NodeId, tuple[ClusterId, Role]] = field(default_factory=dict)
    replies: list[Reply] = field(default_factory=list)
    now_us: int = 0
    _heap: list[tuple[int, int, int, Event | Callable[[], Event | None]]] = field(default_factory=list)
    _count: int = 0
    _goals: dict[str, Effect] = field(default_factory=dict)
    _wake: int = -1

    def __post_init__(self) -> None:
        self._later(self.delays.sample_us, self._sample, _REQUEST)

    def script(self, events: Iterable[Event]) -> None:
        """Events from outside, each at its own time."""
        for event in events:
            self._push(event.at_us, _REQUEST, event)

    def next_event(self) -> Event | None:
        """The next event of the heap; None at the end of the run."""
        while self._heap and self._heap[0][0] <= self.until_us:
            at_us, _, _, what = heapq.heappop(self._heap)
            self.now_us = max(self.now_us, at_us)
            event = what() if callable(what) else what
            if event is not None:
                return event
        return None

    def start(self, effects: Iterable[Effect]) -> None:
        """Take the goals over; a newer one of the same key replaces the older."""
        for effect in effects:
            self._goals[effect.key] = effect
            match effect:
                case WakeAt():
                    self._push(max(effect.at_us, self.now_us), _TIMER, lambda e=effect: self._woke(e))  # type: ignore[misc]
                case Reply():
                    self.replies.append(effect)
                case Deploy() | Load() | Save():
                    self._later(self._stage_us(effect), lambda e=effect: self._stage(e))  # type: ignore[misc]
                case Membership():
                    self._later(self.delays.membership_us, lambda e=effect: self._membership(e))  # type: ignore[misc]
                case Host():
                    wait = self.delays.clean_us if effect.role is None else self.delays.join_us
                    self._later(wait, lambda e=effect: self._host(e))  # type: ignore[misc]
                case StartJob():
                    self._later(self.delays.job_start_us, lambda e=effect: self._start_job(e))  # type: ignore[misc]
                case CancelJob():
                    self._later(SECOND_US, lambda e=effect: self._cancel_job(e))  # type: ignore[misc]

    def close(self) -> None:
        """Nothing is left outside."""

    def lose(self, node: NodeId, at_us: int, generation: int) -> None:
        """A node loses its power: its tasks are gone, and that is observed."""

        def gone() -> Event:
            owner = self.hosts.pop(node, None)
            if owner is not None:
                self.clusters[owner[0]].leave(node)
            return NodeObserved(
                at_us=self.now_us, node=node, generation=generation, condition=Condition.LOST, error="no answer"
            )

        self._push(at_us, _COMPLETION, gone)

    def _push(self, at_us: int, priority: int, what: Event | Callable[[], Event | None]) -> None:
        self._count += 1
        heapq.heappush(self._heap, (at_us, priority, self._count, what))

    def _later(self, after_us: int, what: Callable[[], Event | None], priority: int = _COMPLETION) -> None:
        self._push(self.now_us + after_us, priority, what)

    def _woke(self, effect: WakeAt) -> Event | None:
        return Woke(at_us=self.now_us) if self._goals.get(effect.key) is effect else None

    def _sample(self) -> Event:
        self._later(self.delays.sample_us, self._sample, _REQUEST)
        readings = tuple(cluster.read() for _, cluster in sorted(self.clusters.items()))
        return Sampled(at_us=self.now_us, readings=readings)

    def _stage_us(self, effect: Deploy | Load | Save) -> int:
        match effect:
            case Deploy():
                return self.delays.deploy_us
            case Load():
                return self.delays.load_us
        return self.delays.save_us

    def _stage(self, effect: Deploy | Load | Save) -> Event | None:
        if self._goals.get(effect.key) is not effect:
            return None
        error = self.faults(type(effect).__name__.lower(), effect.cluster)
        if error is not None:
            return Failed(at_us=self.now_us, effect=effect.key, version=effect.version, error=error)
        if isinstance(effect, Deploy):
            cluster = self.clusters.setdefault(effect.cluster, SimCluster(effect.cluster, self.slots))
            for node, member in effect.members.items():
                self.hosts[node] = (effect.cluster, member.role)
                cluster.join(node, member.role)
        return Done(at_us=self.now_us, effect=effect.key, version=effect.version)

    def _membership(self, effect: Membership) -> Event | None:
        if self._goals.get(effect.key) is not effect or effect.cluster not in self.clusters:
            return None
        error = self.faults("membership", effect.cluster)
        if error is not None:
            return Failed(at_us=self.now_us, effect=effect.key, version=effect.version, error=error)
        cluster = self.clusters[effect.cluster]
        for node, member in effect.members.items():
            if member.goal is Goal.DRAINING:
                cluster.drain(node)
                wait = self.delays.drain_us + min(member.leave_us, cluster.longest_task_us(node))
                self._later(wait, self._left(effect, node, member.generation, Condition.DRAINED))
            elif member.goal is Goal.EVACUATING:
                self._later(self.delays.evacuate_us, self._left(effect, node, member.generation, Condition.EVACUATED))
            elif node in self.hosts and self.hosts[node][0] == effect.cluster:
                cluster.join(node, member.role)
        self._run_tasks(cluster)
        return Done(at_us=self.now_us, effect=effect.key, version=effect.version)

    def _left(
        self, effect: Membership, node: NodeId, generation: int, condition: Condition
    ) -> Callable[[], Event | None]:
        """The end of a departure, unless a later document says otherwise."""

        def event() -> Event | None:
            latest = self._goals.get(effect.key)
            member = latest.members.get(node) if isinstance(latest, Membership) else None
            goal = Goal.DRAINING if condition is Condition.DRAINED else Goal.EVACUATING
            if member is None or member.goal is not goal or member.generation != generation:
                return None
            error = self.faults("evacuate", node) if condition is Condition.EVACUATED else None
            if error is not None:
                self._later(self.delays.evacuate_us, event)
                return NodeObserved(
                    at_us=self.now_us, node=node, generation=generation, condition=Condition.HELD, error=error
                )
            self.clusters[effect.cluster].leave(node)
            self._run_tasks(self.clusters[effect.cluster])
            return NodeObserved(at_us=self.now_us, node=node, generation=generation, condition=condition)

        return event

    def _host(self, effect: Host) -> Event | None:
        if self._goals.get(effect.key) is not effect:
            return None
        error = self.faults("clean" if effect.role is None else "join", effect.node)
        condition = Condition.CLEAN if effect.role is None else Condition.SERVING
        if error is not None:
            condition = Condition.FAILED
        elif effect.role is None:
            self.hosts.pop(effect.node, None)
            if effect.cluster in self.clusters:
                self.clusters[effect.cluster].leave(effect.node)
        else:
            self.hosts[effect.node] = (effect.cluster, effect.role)
            if effect.cluster in self.clusters:
                self.clusters[effect.cluster].join(effect.node, effect.role)
                self._run_tasks(self.clusters[effect.cluster])
        return NodeObserved(
            at_us=self.now_us,
            node=effect.node,
            generation=effect.generation,
            condition=condition,
            error=error or "",
        )

    def _start_job(self, effect: StartJob) -> Event | None:
        cluster = self.clusters.get(effect.cluster)
        if self._goals.get(effect.key) is not effect or cluster is None:
            return None
        error = self.faults("job", effect.job)
        if error is not None:
            progress = Progress.FAILED
            return JobObserved(
                at_us=self.now_us, job=effect.job, attempt=effect.attempt, progress=progress, error=error
            )
        cluster.submit(effect, _durations(effect.spec.details, effect.spec.tasks))
        self._run_tasks(cluster)
        return JobObserved(
            at_us=self.now_us,
            job=effect.job,
            attempt=effect.attempt,
            progress=Progress.RUNNING,
            application=f"application_{effect.job}_{effect.attempt}",
            started_us=self.now_us,
        )

    def _cancel_job(self, effect: CancelJob) -> Event | None:
        cluster = self.clusters.get(effect.cluster)
        if cluster is None or not cluster.cancel(effect.job, effect.attempt):
            return None
        self._run_tasks(cluster)
        return JobObserved(at_us=self.now_us, job=effect.job, attempt=effect.attempt, progress=Progress.CANCELLED)

    def _run_tasks(self, cluster: SimCluster) -> None:
        for node, job, duration_us, run in cluster.assign():
            self._later(duration_us, self._task_end(cluster, node, job, run))

    def _task_end(self, cluster: SimCluster, node: NodeId, job: SimJob, run: int) -> Callable[[], Event | None]:
        def event() -> Event | None:
            if not cluster.finish(node, run):
                return None
            self._run_tasks(cluster)
            if not job.ended:
                return None
            cluster.end(job)
            return JobObserved(
                at_us=self.now_us,
                job=job.effect.job,
                attempt=job.effect.attempt,
                progress=Progress.SUCCEEDED,
                finished_us=self.now_us,
            )

        return event


def _durations(details: Mapping[str, object], tasks: int) -> deque[int]:
    seconds = details.get("task_s", 10)
    return deque([int(seconds * SECOND_US) if isinstance(seconds, (int, float)) else 10 * SECOND_US] * tasks)
