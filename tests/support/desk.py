"""An engine whose world is silent: a test plays the world, one event after another, and looks at each decision."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from fawkes.base.errors import HeldUpError
from fawkes.base.units import SECOND_US
from fawkes.core.deciding.invariants import broken
from fawkes.core.state.state import State
from fawkes.core.values import events
from fawkes.core.values.decision import Decision
from fawkes.core.values.effects import AwaitRoom, Effect, Host, Membership, Reply, StartJob, Survey
from fawkes.core.values.model import (
    ClusterId,
    ClusterState,
    Facts,
    JobId,
    Node,
    NodeId,
    NodeLife,
    NodeState,
    Plain,
    Reading,
    Role,
)
from fawkes.core.values.settings import Settings
from fawkes.core.values.sight import Attempt, Blocks, Compute, Sight, Stored
from fawkes.engine import Difference, Engine, replay
from fawkes.policy import compile_policy
from fawkes.policy.admission import compile_admission
from fawkes.policy.preemption import compile_preemption
from fawkes.report.words.sentences import bare, sentence
from fawkes.store.memory import MemoryStore
from tests.support.pools import nodes, request, settings, started, submit

E = TypeVar("E", bound=Effect)


@dataclass(slots=True)
class Silence:
    """A world in which nothing happens; it remembers what should have."""

    effects: list[Effect] = field(default_factory=list)

    def next_event(self) -> events.Event | None:
        """There is none."""
        return None

    def wait_for_room(self, error: HeldUpError) -> bool:
        """There will be none."""
        return False

    def start(self, effects: Iterable[Effect]) -> None:
        """Remember them."""
        self.effects += effects

    def close(self) -> None:
        """Nothing is held."""


#: facts that mean what a test is about
_SIGHTS: Mapping[events.Condition, dict[str, Any]] = {
    events.Condition.DRAINED: {"compute": Compute.LEFT, "stored": Stored.IN_SERVICE},
    events.Condition.EVACUATED: {"compute": Compute.LEFT, "stored": Stored.LEFT},
    events.Condition.LOST: {"compute": Compute.LOST, "stored": Stored.DEAD},
}


class Desk:
    """One pool, its state, and the time in seconds."""

    def __init__(
        self,
        count: int = 10,
        *,
        how: Settings | None = None,
        pool: tuple[Node, ...] = (),
        policy: events.PolicyText | None = None,
        admission: events.PolicyText | None = None,
        preemption: events.PolicyText | None = None,
        shadow: bool = False,
        state: State | None = None,
    ) -> None:
        self.state = State() if state is None else state
        self.survey: Facts | None = {"undeclared": [], "applications": []}
        self.world = Silence()
        self.store = MemoryStore()
        self.engine = Engine(
            self.world,
            self.store,
            compile_policy,
            self.state,
            load_admission=compile_admission,
            load_preemption=compile_preemption,
        )
        self.now_s = self.state.now_us / SECOND_US
        self.checks = True
        more: dict[str, object] = {} if policy is None else {"policy": policy}
        more |= {} if admission is None else {"admission": admission}
        more |= {} if preemption is None else {"preemption": preemption}
        more |= {"nodes": pool or nodes(count), "shadow": shadow}
        self.last = self.tell(started(at_s=self.now_s, how=how or settings(), **more))  # type: ignore[arg-type]

    @classmethod
    def running(cls, *names: str, count: int = 10, **changes: object) -> Desk:
        """MR-clusters of two core nodes each that run, in a pool with these settings."""
        desk = cls(count, how=settings(**changes))
        for name in names:
            desk.up(name)
        return desk

    @property
    def now_us(self) -> int:
        """The time."""
        return round(self.now_s * SECOND_US)

    def tell(self, event: events.Event) -> Decision:
        """One event; what was decided, after all invariants were checked. A survey is answered as ``survey`` says."""
        self._before = len(self.world.effects)
        decision = self.engine.step(event)
        surveys = [effect for effect in decision.effects if isinstance(effect, Survey)]
        for effect in surveys if self.survey is not None else ():
            answer = events.Done(at_us=self.now_us, effect=effect.key, version=effect.version, facts=self.survey or {})
            more = self.engine.step(answer)
            decision = Decision(
                decision.changes + more.changes, decision.effects + more.effects, decision.reasons + more.reasons
            )
        self.last = decision
        wrong = broken(self.state) if self.checks else []
        assert not wrong, wrong
        silent = [reason for reason in decision.reasons if self.checks and sentence(reason) == bare(reason)]
        assert not silent, f"no sentence says this: {silent}"
        return self.last

    def request(self, name: str, minimum: int = 2, **facts: object) -> Decision:
        """Somebody asks for an MR-cluster."""
        return self.tell(request(name, self.now_s, minimum, **facts))

    def submit(self, name: str, number: int, **facts: object) -> Decision:
        """Somebody hands in a job."""
        return self.tell(submit(name, number, self.now_s, **facts))  # type: ignore[arg-type]

    def up(self, name: str, minimum: int = 2, **facts: object) -> None:
        """An MR-cluster from its request to running."""
        self.request(name, minimum, **facts)
        self.done(f"cluster:{name}")
        self.done(f"cluster:{name}")
        self.settle(name)

    def settle(self, name: str) -> None:
        """The masters know their members, and all nodes that join serve."""
        for node in sorted(self.state.nodes_of(ClusterId(name))):
            if self.state.nodes[node].life is NodeLife.JOINING:
                self.see(node, events.Condition.SERVING)
        if f"membership:{name}" in self.state.pending:
            self.done(f"membership:{name}")

    def done(self, key: str, version: int | None = None) -> Decision:
        """An effect reached its goal."""
        known = self.state.pending[key].version if version is None else version
        return self.tell(events.Done(at_us=self.now_us, effect=key, version=known))

    def answer(self, key: str, **facts: object) -> Decision:
        """An effect reached its goal, with these facts."""
        version = self.state.pending[key].version
        return self.tell(events.Done(at_us=self.now_us, effect=key, version=version, facts=facts))

    def failed(self, key: str, error: str = "it broke", *, final: bool = False, **facts: object) -> Decision:
        """An effect did not reach its goal."""
        version = self.state.pending[key].version
        return self.tell(
            events.Failed(at_us=self.now_us, effect=key, version=version, error=error, final=final, facts=facts)
        )

    def see(
        self, node: str, condition: events.Condition, error: str = "", generation: int | None = None, **facts: Plain
    ) -> Decision:
        """Something is seen of a node."""
        known = self.state.nodes[NodeId(node)].generation if generation is None else generation
        if condition is events.Condition.HELD and self.node(node).life is NodeLife.EVACUATING:
            return self._held(node, error)
        sight = _SIGHTS.get(condition)
        if sight is not None:
            return self.look(node, generation=known, **(sight | ({"why": error} if error else {})))
        return self.tell(
            events.NodeObserved(
                at_us=self.now_us,
                node=NodeId(node),
                generation=known,
                condition=condition,
                error=error,
                facts=facts,
            )
        )

    def _held(self, node: str, why: str) -> Decision:
        """HDFS says for so long why a node's blocks are not safe that it is held; nothing, while masters are silent."""
        self.look(node, Compute.LEFT, Stored.LEAVING, why=why)
        doubt = self.state.pending.get(f"doubt:{node}")
        if not self.node(node).alert and doubt is not None:
            self.now_s = doubt.deadline_us / SECOND_US
            self.tell(events.Woke(at_us=self.now_us))
        return self.last

    def look(
        self,
        node: str,
        compute: Compute = Compute.LEFT,
        stored: Stored = Stored.NOT_KNOWN,
        *,
        generation: int | None = None,
        **blocks: object,
    ) -> Decision:
        """How the masters see a node; the report on its blocks is whole and healthy unless it is told otherwise.

        They were asked ``late_s`` ago; ``repeated``: they are of a world that tells what is missing again.
        """
        state = self.state.nodes[NodeId(node)]
        gone = blocks.pop("gone", ())
        asked_us, repeated = self.now_us - blocks.pop("late_s", 0) * SECOND_US, blocks.pop("repeated", False)  # type: ignore[operator]
        known = {"asked_us": asked_us, "known": "why" not in blocks, "has_own": "why" not in blocks, **blocks}
        more: dict[str, Any] = {"gone": gone, "repeated": repeated, "blocks": Blocks(**known)}  # type: ignore[arg-type]
        sight = Sight(asked_us=asked_us, compute=compute, stored=stored, **more)
        return self.tell(
            events.NodeSeen(
                at_us=self.now_us,
                cluster=state.owner or ClusterId("nobody"),
                node=state.node.id,
                generation=state.generation if generation is None else generation,
                sight=sight,
            )
        )

    def masters(self, name: str, error: str = "") -> Decision:
        """The masters of an MR-cluster answer, or they do not."""
        return self.tell(events.MastersSeen(at_us=self.now_us, cluster=ClusterId(name), error=error))

    def drain(self, node: str, *, discard: bool = False, reason: str = "disk") -> Decision:
        """An operator takes a node out of service."""
        ask = f"drain-{node}"
        return self.tell(
            events.DrainAsked(at_us=self.now_us, node=NodeId(node), reason=reason, discard=discard, ask=ask)
        )

    def undrain(self, node: str, *, ask: str = "q") -> Decision:
        """An operator puts a node back into service."""
        return self.tell(events.UndrainAsked(at_us=self.now_us, node=NodeId(node), by="ann", ask=ask))

    def pause(self, reason: str = "maintenance") -> Decision:
        """An operator stops all voluntary moves."""
        return self.tell(events.PauseAsked(at_us=self.now_us, reason=reason))

    def resume(self) -> Decision:
        """An operator lets moves go on."""
        return self.tell(events.ResumeAsked(at_us=self.now_us))

    def release(self, name: str, *, ask: str = "q", **how: bool) -> Decision:
        """Somebody gives an MR-cluster back."""
        return self.tell(events.ReleaseAsked(at_us=self.now_us, cluster=ClusterId(name), by="ann", ask=ask, **how))

    def cancel(self, job: str, *, ask: str = "q") -> Decision:
        """Somebody takes a job back."""
        return self.tell(events.CancelAsked(at_us=self.now_us, job=JobId(job), ask=ask))

    def attempt(self, job: str, attempt: int = 1, **facts: object) -> Decision:
        """How an attempt of a job stands."""
        seen = Attempt(**facts)  # type: ignore[arg-type]
        return self.tell(events.AttemptSeen(at_us=self.now_us, job=JobId(job), attempt=attempt, seen=seen))

    def job(self, job: str, progress: events.Progress, attempt: int = 1, **facts: object) -> Decision:
        """Something is seen of a job."""
        return self.tell(
            events.JobObserved(at_us=self.now_us, job=JobId(job), attempt=attempt, progress=progress, **facts)  # type: ignore[arg-type]
        )

    def sample(self, **readings: Mapping[str, object]) -> Decision:
        """One round of readings: a reading's fields for each MR-cluster."""
        return self.tell(
            events.Sampled(
                at_us=self.now_us,
                readings=tuple(Reading(cluster=ClusterId(c), **read) for c, read in readings.items()),  # type: ignore[arg-type]
            )
        )

    def wake(self) -> Decision:
        """The timer goes off."""
        assert self.state.wake_us is not None
        self.now_s = self.state.wake_us / SECOND_US
        return self.tell(events.Woke(at_us=self.now_us))

    def wait(self, seconds: float) -> list[str]:
        """Time passes, and every timer goes off; the codes of all reasons that were given."""
        until_s, codes = self.now_s + seconds, []
        while self.state.wake_us is not None and self.state.wake_us <= round(until_s * SECOND_US):
            self.wake()
            codes += self.codes()
        self.now_s = until_s
        return codes

    def wait_for(self, key: str) -> list[str]:
        """The deadline of an effect passes; the codes of all reasons that were given then."""
        self.now_s = self.state.pending[key].deadline_us / SECOND_US
        return self.wait(0)

    def settle_all(self) -> None:
        """All masters know their members, and all nodes that join serve."""
        for name in list(self.state.clusters):
            self.settle(name)

    def clean_all(self) -> None:
        """All nodes that leave are drained and wiped."""
        for node in list(self.state.nodes):
            if self.node(node).life is NodeLife.DRAINING:
                self.see(node, events.Condition.DRAINED)
            if self.node(node).life is NodeLife.EVACUATING:
                self.see(node, events.Condition.EVACUATED)
            if self.node(node).life is NodeLife.CLEANING:
                self.see(node, events.Condition.CLEAN)

    def tick(self, **demand: float) -> Facts:
        """Go to the next tick, with as many tasks waiting as ``demand`` says just before; the facts of the tick."""
        at_us = self.state.pending["tick"].deadline_us
        while self.state.wake_us is not None and self.state.wake_us < at_us:
            self.wake()
        self.now_s = at_us / SECOND_US - 1
        if demand:
            self.sample(**{c: {"tasks_waiting": tasks, "jobs_running": 1} for c, tasks in demand.items()})
        self.now_s = at_us / SECOND_US
        self.tell(events.Woke(at_us=self.now_us))
        return self.said("tick")[0]

    def balance(self, **demand: float) -> Facts:
        """The facts of the next tick, after which all nodes that join serve."""
        facts = self.tick(**demand)
        self.settle_all()
        return facts

    def said(self, code: str) -> list[Facts]:
        """The facts of the latest decision's reasons of one code."""
        return [reason.facts for reason in self.last.reasons if reason.code == code]

    def codes(self) -> list[str]:
        """The codes of the latest decision's reasons."""
        return [reason.code for reason in self.last.reasons]

    def latest(self, kind: type[E]) -> list[E]:
        """The effects of one kind in the latest decision."""
        return [effect for effect in self.last.effects if isinstance(effect, kind)]

    def effects(self, kind: type[E]) -> list[E]:
        """The effects of one kind since the start."""
        return [effect for effect in self.world.effects if isinstance(effect, kind)]

    def reply(self) -> Reply:
        """The answer to the latest question."""
        (reply,) = self.latest(Reply)
        return reply

    def replies(self) -> dict[str, str]:
        """The refusals by who was answered (empty: none); those who asked for an MR-cluster apart."""
        answered = [reply for reply in self.effects(Reply) if not reply.to.startswith("request-")]
        return {reply.to: reply.refused.code if reply.refused else "" for reply in answered}

    def refusal(self) -> str:
        """The code by which the latest question was refused; empty when it was not."""
        refused = self.reply().refused
        return refused.code if refused else ""

    def members(self) -> list[Membership]:
        """The membership documents of the latest decision, as the world got them."""
        return [effect for effect in self.world.effects[self._before :] if isinstance(effect, Membership)]

    def hosts(self) -> list[Host]:
        """The goals of nodes in the latest decision."""
        return self.latest(Host)

    def starts(self) -> list[tuple[str, int]]:
        """The jobs and attempts that the latest decision starts."""
        return [(effect.job, effect.attempt) for effect in self.latest(StartJob)]

    def looks_for_room(self) -> list[AwaitRoom]:
        """Where the latest decision looks for room for a next job."""
        return self.latest(AwaitRoom)

    def cluster(self, name: str) -> ClusterState:
        """An MR-cluster."""
        return self.state.clusters[ClusterId(name)]

    def decided_otherwise(self) -> list[Difference]:
        """The steps of which their events alone make another decision."""
        return list(replay(self.store.entries(), compile_policy, compile_admission, compile_preemption))

    def node(self, node: str) -> NodeState:
        """A node."""
        return self.state.nodes[NodeId(node)]

    def lives(self, name: str) -> dict[str, str]:
        """The lives of the nodes of an MR-cluster."""
        return {n: self.state.nodes[n].life.value for n in sorted(self.state.nodes_of(ClusterId(name)))}

    def sizes(self) -> dict[str, int]:
        """How many nodes each MR-cluster has when moves in flight count as done."""
        return {c: self.state.held(c).counted for c in self.state.clusters}


def growing(role: Role = Role.TRANSIENT_CORE, count: int = 6, **changes: Any) -> Desk:
    """MR-cluster a on node01 and node02 as core nodes, which the others of ``count`` join; ticks are far apart."""
    desk = Desk.running("a", count=count, growth=role, **{"period_us": 10**6 * SECOND_US, **changes})
    desk.tick(a=10)
    assert desk.sizes() == {"a": count}
    return desk


def grown(role: Role = Role.TRANSIENT_CORE, count: int = 6, **changes: Any) -> Desk:
    """The same when all of them serve."""
    desk = growing(role, count, **changes)
    desk.settle("a")
    return desk
