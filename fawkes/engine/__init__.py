"""THE loop: an event, a decision, stored, applied, begun. Live and offline run this one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from operator import ne

from fawkes.base.errors import BrokenError, HeldUpError
from fawkes.core.deciding.invariants import unsound
from fawkes.core.deciding.pool import Foreseen, decide, foresee
from fawkes.core.fairness.weights import Measure
from fawkes.core.preemption.values import Choose
from fawkes.core.state.admitting import Admission
from fawkes.core.state.members import in_full
from fawkes.core.state.state import State, evolve
from fawkes.core.values.decision import Decision
from fawkes.core.values.events import Event, PolicyText, Reloaded, Started
from fawkes.core.values.model import Plain
from fawkes.core.values.settings import Settings
from fawkes.engine.ports import Entry, Store, World

#: makes the policy of a `Started` event callable again, from its stored text
LoadPolicy = Callable[[PolicyText, Settings], Measure]
#: makes the admission policy of a `Started` event callable again, with the site's parameters
LoadAdmission = Callable[[PolicyText, Mapping[str, Plain]], Admission]
#: makes the preemption policy of a `Started` event callable again
LoadPreemption = Callable[[PolicyText], Choose]


def no_admission(policy: PolicyText, parameters: Mapping[str, Plain]) -> Admission:
    """A stand-in for engines that never meet an admission policy: BrokenError when they do."""
    raise BrokenError(f"nobody can load the admission policy {policy.name}")


def no_preemption(policy: PolicyText) -> Choose:
    """A stand-in for engines that never meet a preemption policy: BrokenError when they do."""
    raise BrokenError(f"nobody can load the preemption policy {policy.name}")


class Loads:
    """The policies in force, from the last `Started` on."""

    def __init__(self, load_policy: LoadPolicy, load_admission: LoadAdmission, load_preemption: LoadPreemption) -> None:
        self._load_policy = load_policy
        self._load_admission = load_admission
        self._load_preemption = load_preemption
        self.texts: tuple[PolicyText | None, ...] = (None, None, None)
        self._measure: Measure | None = None
        self._admission: Admission | None = None
        self._preempt: Choose | None = None

    @property
    def ready(self) -> bool:
        """True if there was a start."""
        return self._measure is not None

    def decide(self, view: State, event: Event) -> Decision:
        """The decision on an event; BrokenError before the first start."""
        if isinstance(event, Started | Reloaded):
            self._measure = self._load_policy(event.policy, event.settings)
            self.texts = (event.policy, event.admission, event.preemption)
            given = event.settings.admission_parameters
            self._admission = None if event.admission is None else self._load_admission(event.admission, given)
            self._preempt = None if event.preemption is None else self._load_preemption(event.preemption)
        if self._measure is None:
            raise BrokenError(f"{type(event).__name__} before the engine was started")
        return decide(view, event, self._measure, self._admission, self._preempt)

    def foresee(self, view: State) -> Foreseen:
        """The next tick, as things are; BrokenError before the first start."""
        if self._measure is None:
            raise BrokenError("nothing can be foreseen before the engine was started")
        return foresee(view, self._measure, self._admission)


class Engine:
    """Owns the state; everything else is handed in.

    ``remember`` is shown the state after each stored step. It raises no HeldUpError: the step would be taken twice.
    """

    def __init__(
        self,
        world: World,
        store: Store,
        load_policy: LoadPolicy,
        state: State | None = None,
        remember: Callable[[int, State], None] = lambda seq, state: None,
        load_admission: LoadAdmission = no_admission,
        load_preemption: LoadPreemption = no_preemption,
    ) -> None:
        self._world = world
        self._store = store
        self._loads = Loads(load_policy, load_admission, load_preemption)
        self._remember = remember
        self._state = state or State()

    @property
    def view(self) -> State:
        """The state, to be read."""
        return self._state

    @property
    def policies(self) -> tuple[PolicyText | None, ...]:
        """The policies in force: weights, admission, preemption; None before the first start, and without one."""
        return self._loads.texts

    def foresee(self) -> Foreseen:
        """The next tick, as things are: nothing is stored, and nothing is done.

        Like `rehearse`, for the thread that takes the steps: a state in the middle of a step says nothing.
        """
        return self._loads.foresee(self._state)

    def rehearse(self, event: Event) -> Decision:
        """The decision on an event, as things are: it is neither stored nor done. BrokenError as in `step`."""
        decision = self._loads.decide(self._state, event)
        if wrong := unsound(self._state, decision):
            raise BrokenError(f"a decision on {type(event).__name__} is unsound: {'; '.join(wrong)}")
        return decision

    def run(self) -> None:
        """Take events until the world has no more."""
        while (event := self._world.next_event()) is not None:
            if not self.offer(event):
                return

    def offer(self, event: Event) -> bool:
        """`step`, again and again while the store takes nothing; False when the world ends before.

        Then the step was neither stored nor done.
        """
        while True:
            try:
                self.step(event)
            except HeldUpError as error:
                if not self._world.wait_for_room(error):
                    return False
            else:
                return True

    def step(self, event: Event) -> Decision:
        """One turn: decide, check, store, evolve, start the effects. The decision.

        BrokenError when the decision would break an invariant, HeldUpError when the store takes nothing now: then
        nothing was stored and nothing was done.
        """
        decision = self.rehearse(event)
        seq = self._store.append(event, decision)
        evolve(self._state, event.at_us, decision.changes)
        self._world.start(in_full(self._state, decision.effects))
        self._remember(seq, self._state)
        return decision


@dataclass(frozen=True, slots=True)
class Difference:
    """A step whose decision does not come again: the stored one and the one of this version."""

    seq: int
    event: Event
    stored: Decision
    now: Decision


def rebuild(entries: Iterable[Entry], state: State | None = None) -> State:
    """The state after the stored decisions, without deciding anew."""
    state = state or State()
    for entry in entries:
        evolve(state, entry.event.at_us, entry.decision.changes)
    return state


def replay(
    entries: Iterable[Entry],
    load_policy: LoadPolicy,
    load_admission: LoadAdmission = no_admission,
    load_preemption: LoadPreemption = no_preemption,
    differ: Callable[[Decision, Decision], bool] = ne,
) -> Iterator[Difference]:
    """Decide every stored event again, from the first; yields where the decision differs from the stored one.

    By default 1, 1.0 and True are the same.
    """
    state = State()
    loads = Loads(load_policy, load_admission, load_preemption)
    for entry in entries:
        if not (loads.ready or isinstance(entry.event, Started)):
            raise BrokenError(f"entry {entry.seq} comes before the first start")
        decision = loads.decide(state, entry.event)
        if differ(decision, entry.decision):
            yield Difference(entry.seq, entry.event, entry.decision, decision)
        evolve(state, entry.event.at_us, entry.decision.changes)
