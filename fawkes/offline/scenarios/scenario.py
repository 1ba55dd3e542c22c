"""A scenario: a pool, those who ask, settings, a policy and the constants of the model; and one run of it."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial

from fawkes.base.errors import BrokenError
from fawkes.base.units import SECOND_US
from fawkes.base.version import __version__
from fawkes.core.deciding.invariants import broken
from fawkes.core.state.state import State
from fawkes.core.values.decision import Decision, PutJob
from fawkes.core.values.events import PolicyText, Started, Submitted
from fawkes.core.values.model import JobId, JobLife, Node, NodeId
from fawkes.core.values.settings import Settings
from fawkes.engine import Engine
from fawkes.offline.scenarios.ending import (
    RunPatience,
    never_ends,
    refuse_failed_admission,
    refuse_failed_policy,
    refuse_failed_preemption,
    refuse_refused,
    too_many,
)
from fawkes.policy.worker.asking import USUAL, WorkerLimits
from fawkes.policy.worker.policies import admission_loader, load_preemption, loader
from fawkes.report.history import SIMULATED
from fawkes.sim.engines import Choice, engine_for
from fawkes.sim.events.steps import Delays, Loss
from fawkes.sim.hadoop.constants import DAS4, Constants
from fawkes.sim.hadoop.model import TaskEvent
from fawkes.sim.hadoop.profile import profile_of
from fawkes.sim.users import Users, Wish
from fawkes.sim.world import SimWorld
from fawkes.store.base import Writer
from fawkes.store.memory import MemoryStore

#: so long a run goes on when its jobs have not ended, in simulated time
LIMIT_US = 7 * 24 * 3600 * SECOND_US

#: all steps of a run are kept in memory, some 1 KB each
MOST_STEPS = 20_000_000

Watch = Callable[[Engine, SimWorld], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """All that a run depends on; the same values give the same run, byte for byte.

    ``engine`` is no part of that: both models of Hadoop come to the same results, and the one that is done sooner is
    taken. ``check`` looks at the laws of conservation after each event of a task and at the core's invariants after
    each decision: ten times as slow, BrokenError names what is broken. ``bounds`` end a run whose policy takes more,
    ``most_steps`` one that takes more steps. ``admission`` lets jobs in; None: first come, first served.
    ``preemption`` decides about tasks that can be saved; without any it is not asked, and no part of the run. ``file``
    is the one that users named, for errors; empty: there is none.
    """

    name: str
    file: str = ""
    nodes: tuple[Node, ...]
    settings: Settings
    policy: PolicyText
    admission: PolicyText | None = None
    preemption: PolicyText | None = None
    wishes: tuple[Wish, ...]
    constants: Constants = DAS4
    delays: Delays = field(default_factory=Delays)
    losses: tuple[Loss, ...] = ()
    limit_us: int = LIMIT_US
    seed: int = 0
    engine: Choice = "auto"
    check: bool = False
    bounds: WorkerLimits = USUAL
    most_steps: int = MOST_STEPS

    @property
    def place(self) -> str:
        """The place where users look for what is wrong with the run: its file, or its name where it has none."""
        return self.file or self.name

    @property
    def tasks(self) -> int:
        """The number of tasks of its jobs."""
        profiles = [profile_of(wish.event.spec) for wish in self.wishes if isinstance(wish.event, Submitted)]
        return sum(profile.maps + profile.reduces for profile in profiles)

    @property
    def saves(self) -> bool:
        """True if tasks of any of its jobs can be saved."""
        return any(wish.event.spec.saves for wish in self.wishes if isinstance(wish.event, Submitted))

    @property
    def in_force(self) -> Settings:
        """The settings that its run starts with: those of preemption only where a task can be saved."""
        return self.settings if self.saves else replace(self.settings, preemption="", image_bytes_s=0)

    @property
    def by_hand(self) -> bool:
        """True if only the readable model can run it: the compiled one knows no priorities and saves no tasks."""
        specs = [wish.event.spec for wish in self.wishes if isinstance(wish.event, Submitted)]
        return any(spec.saves or spec.priority for spec in specs)

    @property
    def has_deadlines(self) -> bool:
        """True if any of its jobs has a deadline."""
        jobs = (wish.event.spec for wish in self.wishes if isinstance(wish.event, Submitted))
        return any(spec.deadline_us is not None for spec in jobs)

    @property
    def keeps_tasks(self) -> bool:
        """True if its figures need the starts and ends of tasks: of jobs with deadlines, and of lost nodes."""
        return self.has_deadlines or bool(self.losses)

    def under(self, settings: Settings, policy: PolicyText) -> Scenario:
        """The same pool and users under other settings or another policy."""
        return replace(self, settings=settings, policy=policy)


def pool_of(count: int, sites: Sequence[str] = ("site",)) -> tuple[Node, ...]:
    """A pool of so many equal nodes, spread evenly over sites, named so that the order of names is that of numbers."""
    width = max(2, len(str(count)))
    return tuple(
        Node(id=NodeId(f"node{number:0{width}d}"), site=sites[(number - 1) * len(sites) // count])
        for number in range(1, count + 1)
    )


def simulate(
    scenario: Scenario,
    store: Writer | None = None,
    *,
    watch: Watch = lambda engine, world: None,
    tasks: list[TaskEvent] | None = None,
) -> Writer:
    """Run a scenario to the end of its jobs and a little on; the store with every step.

    ``watch`` sees the engine and the world after each step, ``tasks`` gets the start and the end of each attempt.
    FawkesError when jobs are left that nothing will ever run: it names them and what they wait for, as soon as that can
    be known.
    """
    kept = MemoryStore() if store is None else store
    with _no_full_collections():
        _run(scenario, kept, watch, tasks)
    return kept


@contextmanager
def _no_full_collections() -> Iterator[None]:
    """A run keeps every step that it makes: to look through all of them again and again takes an eighth of its time.

    What dies young is found all the same.
    """
    before = gc.get_threshold()
    gc.set_threshold(*before[:2], 1_000_000)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _run(scenario: Scenario, store: Writer, watch: Watch, tasks: list[TaskEvent] | None) -> None:
    delays = replace(scenario.delays, sample_us=scenario.settings.sample_every_us)
    users = Users(scenario.wishes)
    world = SimWorld(
        scenario.limit_us,
        delays,
        constants=scenario.constants,
        users=users,
        sites={node.id: node.site for node in scenario.nodes},
        seed=scenario.seed,
        engine="readable" if scenario.by_hand else engine_for(scenario.engine, scenario.tasks),
        check=scenario.check,
        keep_events=tasks is not None,
    )
    for loss in scenario.losses:
        world.suffer(loss)
    state = State()
    engine = Engine(
        world,
        store,
        loader(scenario.bounds),
        state,
        load_admission=admission_loader(scenario.bounds),
        load_preemption=partial(load_preemption, bounds=scenario.bounds),
    )
    patience = RunPatience(scenario.wishes, scenario.settings, scenario.losses)
    engine.step(_started(scenario))
    steps = 1
    while (event := world.next_event()) is not None:
        decision = engine.step(event)
        steps += 1
        if steps > scenario.most_steps:
            raise too_many(scenario.place, steps, event.at_us)
        refuse_refused(event, decision, scenario.place)
        refuse_failed_policy(decision, scenario.policy, event.at_us, scenario.settings.period_us)
        refuse_failed_admission(decision, scenario.admission, event.at_us)
        refuse_failed_preemption(decision, scenario.preemption, event.at_us)
        for job in _ended_early(decision):
            world.script(users.job_ended(job, world.now_us))
        watch(engine, world)
        if scenario.check and (wrong := broken(state)):
            raise BrokenError(f"after {type(event).__name__}: {'; '.join(wrong)}", where=scenario.place)
        if users.waits and patience.ends(event, engine.view):
            break
        if not users.waits and world.until_us == scenario.limit_us:
            # What is decided once all is quiet belongs to the run as well: nodes that come home, MR-clusters that go.
            world.until_us = min(scenario.limit_us, world.now_us + 3 * scenario.settings.period_us)
    if users.waits:
        raise never_ends(scenario.place, world.now_us, scenario.wishes, users.waiting, engine.view, scenario.losses)
    if tasks is not None:
        tasks += world.task_events()


def _ended_early(decision: Decision) -> Iterator[JobId]:
    """The jobs that an admission policy ends: Hadoop does not tell their end, and nobody waits for them any more."""
    for change in decision.changes:
        if isinstance(change, PutJob) and change.state.life in (JobLife.DROPPED, JobLife.KILLED):
            yield change.state.id


def _started(scenario: Scenario) -> Started:
    return Started(
        at_us=0,
        version=__version__,
        pool=scenario.name,
        epoch=1,
        controller=SIMULATED,
        settings=scenario.in_force,
        nodes=scenario.nodes,
        policy=scenario.policy,
        admission=scenario.admission,
        preemption=scenario.preemption if scenario.saves else None,
    )
