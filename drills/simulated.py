"""Drills in the simulator: the world of `fawkes.sim`, watched from outside, with a model of blocks beside it.

What this file knows of the simulated world is public there. Once that world posts by itself what masters say of
blocks, `Hdfs` (drills/hdfs.py) is what moves into it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import replace
from time import process_time

from drills.aim import struck
from drills.checks import Circles, Failure, comes_to_rest, files_kept, jobs_once, one_owner, restless, stuck
from drills.hdfs import MUTE, Hdfs
from drills.late import Late
from drills.plan import OF_CONTROLLER, OF_MASTERS, REBOOT_S, STORY_S, Fault, Kind, Plan, chance_of
from drills.result import Result, Tried
from drills.seeing import Seeing
from drills.sim_facts import job_facts, not_whole, owner_facts, runs_twice, told_early, two_owners
from drills.story_events import events_of, load_policy, release, started
from fawkes import engine
from fawkes.base.errors import BrokenError, HeldUpError
from fawkes.base.units import SECOND_US
from fawkes.core.deciding.invariants import broken
from fawkes.core.state.state import State
from fawkes.core.values.decision import Decision
from fawkes.core.values.effects import Effect, Host
from fawkes.core.values.events import Event, MastersSeen, NodesSeen, Sampled, ServiceSeen, Woke
from fawkes.core.values.model import ClusterId, ClusterLife, NodeId
from fawkes.core.values.sight import NAMENODE, SafeMode, Service
from fawkes.sim.events.steps import Delays
from fawkes.sim.world import SimWorld
from fawkes.store.memory import MemoryStore

#: how long everything may take to come to rest once the faults are over, and again after the last release
PATIENCE_S = 1500
_SAMPLE_US = 4 * SECOND_US
#: a daemon that was killed is started again by whoever looks after the node
_DAEMON_BACK_US = 3 * SECOND_US
_GOOD = Service(safe_mode=SafeMode.OFF, manager="ACTIVE", queues=1)
_LOW = replace(_GOOD, safe_mode=SafeMode.LOW, said="Resources are low on NN")


class _Died(Exception):  # noqa: N818 - nothing is wrong: the controller is killed here
    """The controller was killed before its effects began."""


class _Full(OSError):  # noqa: N818 - it is played, not met
    """There is no room for the ledger."""


class _Ledger(MemoryStore):
    """A store whose disk can be full."""

    full = False

    def append(self, event: Event, decision: Decision) -> int:
        """Store one step; _Full when there is no room."""
        if self.full:
            raise _Full("no space left on device")
        return super().append(event, decision)


class Drill:
    """One drill. It is the world of its engines, and asks the simulated one."""

    def __init__(self, plan: Plan, name: str = "sim") -> None:
        self.plan = plan
        self.name = name
        self.store = _Ledger()
        self.state = State()
        self.failures: dict[Failure, None] = {}
        self.tried: dict[int, Tried] = {}
        self.world = SimWorld(
            until_us=(STORY_S + 4 * PATIENCE_S) * SECOND_US,
            delays=Delays(sample_us=_SAMPLE_US),
            faults=self._answer,
        )
        self.hdfs = Hdfs(plan.story, self.world.dead)
        self._epoch = 0
        self._engine: engine.Engine | None = None
        self._actions: list[tuple[int, Callable[[], None]]] = []
        self._unheard: deque[Event] = deque()
        self._seeing = Seeing(self.hdfs)
        self._late = Late(chance_of(plan.seed, "late")) if name == "late" else None
        self._circles = Circles()
        self._gone_for_good: set[NodeId] = set()
        self._over_us = STORY_S * SECOND_US
        self._all_released = False

    # --- the way of a drill

    def run(self) -> Result:
        """Play it to its end."""
        began_s = process_time()
        self.world.script(events_of(self.plan.story))
        self._controller_starts()
        while (event := self.next_event()) is not None:
            self._step(event)
            if isinstance(event, Sampled) and event.at_us > self._over_us and self._is_over(event.at_us):
                break
        self._check_the_end()
        return Result(
            seed=self.plan.seed,
            world=self.name,
            tried=tuple(self.tried.get(n, Tried(fault)) for n, fault in enumerate(self.plan.faults)),
            failures=tuple(self.failures),
            steps=self.store.last_seq(),
            took_s=process_time() - began_s,
            lost_to_faults=self.hdfs.lost_to_faults,
        )

    def _controller_starts(self) -> None:
        self._epoch += 1
        self._engine = engine.Engine(self, self.store, load_policy, self.state)
        self._step(started(self.plan.story, max(self.world.now_us, self.state.now_us), self._epoch))

    def _step(self, event: Event) -> None:
        """One turn of the engine, and what befalls the controller in it."""
        assert self._engine is not None
        step = self.store.last_seq() + 1
        full = self._due(Kind.STATE_DISK, step)
        self.store.full = full is not None
        try:
            self._engine.step(event)
        except _Full:
            assert full is not None
            # Whoever asked asks again, and what was seen is seen again.
            self._dies(full, again=event)
            return
        except _Died:
            pass
        except BrokenError as error:
            self._fail(Failure("invariant", str(error)))
            return
        self._look(event)
        stopped = self._due(Kind.STOPPED, step)
        if stopped is not None:
            self._stops(stopped)
        killed = self._due(Kind.KILLED, step)
        if killed is not None:
            self._dies(killed)

    def _due(self, kind: Kind, step: int) -> Fault | None:
        """The fault of the controller that strikes at a step; the first of several that passed meanwhile."""
        for number, fault in enumerate(self.plan.faults):
            if fault.kind is kind and fault.step <= step and number not in self.tried:
                return fault
        return None

    def _stops(self, fault: Fault) -> None:
        """The controller stands still for a while; then it hears at once of what happened meanwhile."""
        assert fault.back_s is not None
        now_us = max(self.world.now_us, self.state.now_us)
        self.tried[self.plan.faults.index(fault)] = Tried(fault, at_s=now_us / SECOND_US)
        on_us = now_us + fault.back_s * SECOND_US
        self._over_us = max(self._over_us, on_us)
        # Its own timer is the first to be heard.
        goes_on = Woke(at_us=on_us)
        self.world.script([goes_on])
        self._unheard.append(goes_on)
        # The drill may end meanwhile.
        while (event := self.world.next_event()) is not None and event is not goes_on:
            # Readings that were due meanwhile were not taken.
            if not isinstance(event, Sampled | Woke):
                self._unheard.append(_heard_at(event, on_us))

    def _dies(self, fault: Fault, again: Event | None = None) -> None:
        """The controller is gone for a while; another takes over from the ledger what Hadoop did meanwhile."""
        assert fault.back_s is not None
        now_us = max(self.world.now_us, self.state.now_us)
        self.tried[self.plan.faults.index(fault)] = Tried(fault, at_s=now_us / SECOND_US)
        self.world = self.world.orphaned(fault.back_s * SECOND_US)
        self._unheard.clear()
        self.hdfs.dead = self.world.dead
        self.store.full = False
        back_us = self.world.now_us
        self._over_us = max(self._over_us, back_us)
        if again is not None:
            self.world.script([_heard_at(again, back_us)])
        for cluster in self.world.deployed:
            # A new controller looks at all masters: what the one before saw last may not be stored.
            error = "no answer" if cluster in self.world.masters.away else ""
            silent = NAMENODE if error else ""
            self.world.script([MastersSeen(at_us=back_us, cluster=cluster, error=error, silent=silent)])
        if self._late is not None:
            self._late.anew(back_us, self.world.script)
        self.state = engine.rebuild(self.store.entries())
        self._controller_starts()

    # --- what an engine asks of its world

    def next_event(self) -> Event | None:
        """The next event of the simulated world, as far as the faults let it through."""
        while (event := self._unheard.popleft() if self._unheard else self.world.next_event()) is not None:
            for entry in [entry for entry in self._actions if entry[0] <= event.at_us]:
                self._actions.remove(entry)
                entry[1]()
            if self._late is not None and self._late.is_void(event):
                continue
            if self._late is not None and self._late.is_due(event):
                return event
            if isinstance(event, MastersSeen) and not event.error and event.cluster in self.world.masters.away:
                # One fault is over, but another one has taken their node meanwhile.
                continue
            seen = self._seeing.through(event, self.state, self.world.script)
            if seen is not None and self._late is not None:
                seen = self._late.through(seen, self.world.script)
            if seen is not None:
                return seen
        return None

    def start(self, effects: Iterable[Effect]) -> None:
        """Hand the goals on, unless the controller is killed here."""
        fault = self._due(Kind.KILLED, self.store.last_seq())
        if fault is not None and not fault.told:
            raise _Died
        for effect in effects:
            if isinstance(effect, Host):
                self.hdfs.to_prove[effect.node] = effect.proof
        self.world.start(effects)

    def wait_for_room(self, error: HeldUpError) -> bool:
        """A full disk ends the controller here: the next one finds room."""
        return False

    def close(self) -> None:
        """Nothing is held."""

    # --- what goes wrong

    def _look(self, event: Event) -> None:
        """After each stored step: the invariants, what it means for the files, and whom the next faults strike."""
        for wrong in (*broken(self.state), *two_owners(self.world)):
            self._fail(Failure("invariant", wrong))
        for wrong in runs_twice(self.world):
            self._fail(Failure("job ran twice", wrong))
        decision = self.store.entry(self.store.last_seq())
        assert decision is not None
        for wrong in told_early(self.world, decision.decision):
            self._fail(Failure("job told early", wrong))
        for failure in self._circles.saw(decision.decision):
            self._fail(failure)
        for failure in self.hdfs.saw(event, decision.decision, self.state):
            self._fail(failure)
        for number, fault in enumerate(self.plan.faults):
            if number in self.tried or fault.kind in OF_CONTROLLER or event.at_us < fault.from_s * SECOND_US:
                continue
            node = struck(fault, self.state)
            if node is not None:
                self._strike(number, fault, node, event.at_us + round(fault.after_s * SECOND_US))

    def _strike(self, number: int, fault: Fault, node: NodeId, at_us: int) -> None:
        self.tried[number] = Tried(fault, node, at_us / SECOND_US)
        back_us = None if fault.back_s is None else at_us + fault.back_s * SECOND_US
        self._over_us = max(self._over_us, at_us if back_us is None else back_us)
        owner = self.state.nodes[node].owner
        if fault.kind is Kind.LEASE:
            assert back_us is not None
            self.hdfs.damage(node, at_us, back_us)
        elif fault.kind in (*OF_MASTERS, Kind.LOW, Kind.WRITER):
            assert back_us is not None
            if owner is not None:
                self._strike_cluster(fault.kind, owner, at_us, back_us)
        elif fault.kind in (Kind.DATANODE, Kind.NODE_MANAGER):
            self.world.lose(node, at_us, at_us + _DAEMON_BACK_US)
        elif fault.kind is Kind.REBOOTS:
            for off_s in fault.reboots_s:
                off_us = at_us + off_s * SECOND_US
                self.world.lose(node, off_us, off_us + REBOOT_S * SECOND_US)
        else:
            if back_us is None:
                self._gone_for_good.add(node)
            self.world.lose(node, at_us, back_us, emptied=fault.kind is Kind.EMPTIED)
            if fault.kind is Kind.EMPTIED:
                self._actions.append((at_us, lambda: self.hdfs.emptied(node, self.state)))

    def _strike_cluster(self, kind: Kind, cluster: ClusterId, at_us: int, back_us: int) -> None:
        if kind is Kind.WRITER:
            self.world.users.open_files[cluster] = {"/output/held": 1}
        elif kind is Kind.LOW:
            spans = ((at_us, _LOW), (back_us, _GOOD))
            self.world.script(ServiceSeen(at_us=when, cluster=cluster, service=seen) for when, seen in spans)
        else:
            self.hdfs.disturb(kind, cluster, at_us, back_us)
            if kind in MUTE:
                silent = MastersSeen(at_us=at_us, cluster=cluster, error=str(kind), silent=NAMENODE)
                self.world.script([silent, MastersSeen(at_us=back_us, cluster=cluster)])

    def _answer(self, kind: str, name: str) -> str | None:
        """Why something fails in the simulated world: asked before it succeeds."""
        return self.hdfs.refuses(kind, name, self.state, max(self.world.now_us, self.state.now_us))

    # --- the end

    def _is_over(self, now_us: int) -> bool:
        """Whether nothing more is to come: all is at rest after the last release, or patience is at its end."""
        patient = now_us < self._over_us + PATIENCE_S * SECOND_US
        if patient and (restless(self.state) or any(not_whole(self.world, self.state))):
            return False
        if self._all_released:
            return True
        self._check_rest()
        self._all_released = True
        running = [c.id for c in self.state.clusters.values() if c.life is not ClusterLife.RETIRING]
        self.world.script(release(cluster, now_us) for cluster in running)
        self._over_us = now_us + SECOND_US
        return False

    def _check_rest(self) -> None:
        for failure in (
            *comes_to_rest(self.state),
            *stuck(self.state, self._gone_for_good, self.hdfs.robbed()),
            *one_owner(owner_facts(self.world, self.state)),
            *files_kept(self.hdfs.copies()),
            *not_whole(self.world, self.state),
        ):
            self._fail(failure)

    def _check_the_end(self) -> None:
        self._check_rest()
        for failure in jobs_once(job_facts(self.store, self.world)):
            self._fail(failure)
        for difference in engine.replay(self.store.entries(), load_policy):
            self._fail(Failure("ledger does not verify", f"step {difference.seq} is decided otherwise"))

    def _fail(self, failure: Failure) -> None:
        self.failures[failure] = None


def _heard_at(event: Event, at_us: int) -> Event:
    """The event, heard at a later time: news of several nodes have a time each, and none may be of the past."""
    if isinstance(event, NodesSeen):
        event = replace(event, seen=tuple(replace(news, at_us=at_us) for news in event.seen))
    return replace(event, at_us=at_us)


def play(plan: Plan, name: str = "sim") -> Result:
    """What comes of a drill in the simulator; ``name`` is that of its world in the journal."""
    return Drill(plan, name).run()
