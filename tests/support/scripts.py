"""Random runs: pools, settings, requests, jobs, faults and losses, from Hypothesis, so that a failing one shrinks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from hypothesis import strategies as st

from fawkes.base.catalog import Catalog
from fawkes.base.units import SECOND_US
from fawkes.config.settings.settings import settings_of
from fawkes.core.values.events import (
    CancelAsked,
    DrainAsked,
    Event,
    GrowAsked,
    HoldAsked,
    PauseAsked,
    ReleaseAsked,
    Requested,
    ResumeAsked,
    ShrinkAsked,
    Started,
    Submitted,
    UndrainAsked,
    UnholdAsked,
)
from fawkes.core.values.model import ClusterId, ClusterSpec, JobId, JobSpec, Node, NodeId, Role
from fawkes.core.values.settings import Settings
from fawkes.sim.events.steps import Delays
from fawkes.sim.world import SimWorld
from tests.support.pools import POLICIES, Checked, policy, started

PRESETS = ("paper", "steady", "demo")
POLICY_NAMES = sorted(path.stem for path in POLICIES.glob("*.py"))
NAMES = ("a", "b", "c", "d")
ACTED_S = 400
UNTIL_S = 4000
BACK_US = 30 * SECOND_US
KINDS = ("deploy", "load", "save", "retire", "survey", "join", "clean", "wipe", "membership", "evacuate", "job", "read")


def preset(name: str, **changes: object) -> Settings:
    """A preset as a site gets it, with timeouts short enough for a run of an hour."""
    catalog = Catalog(site=Path("."))
    core = settings_of({"preset": name}, file="fawkes.toml", base=Path("."), catalog=catalog).core
    short: dict[str, object] = {
        "join_us": 20,
        "clean_us": 10,
        "deploy_us": 60,
        "membership_us": 10,
        "transfer_us": 60,
        "start_job_us": 20,
        "quarantine_us": 60,
        "transient_leave_us": min(core.transient_leave_us // SECOND_US, 30),
        "transient_core_leave_us": min(core.transient_core_leave_us // SECOND_US, 30),
        "evacuate_us": 60,
        "settle_after_grow_us": min(core.settle_after_grow_us // SECOND_US, 40),
        "settle_after_shrink_us": min(core.settle_after_shrink_us // SECOND_US, 80),
        "max_moves_window_us": 100,
    }
    short = {key: int(value) * SECOND_US for key, value in short.items()}  # type: ignore[call-overload]
    return replace(core, **{**short, **changes})  # type: ignore[arg-type]


@dataclass(slots=True)
class Mishaps:
    """Faults by turn: the n-th time that a kind is asked about, until they are used up."""

    plan: dict[str, list[str | None]]
    asked: dict[str, int] = field(default_factory=dict)

    def __call__(self, kind: str, name: str) -> str | None:
        """Why it fails, "" for silence, None when it succeeds."""
        turn = self.asked.get(kind, 0)
        self.asked[kind] = turn + 1
        planned = self.plan.get(kind, [])
        return planned[turn] if turn < len(planned) else None


@dataclass(frozen=True, slots=True)
class Script:
    """A run that can be played again and again."""

    started: Started
    events: tuple[Event, ...]
    losses: tuple[tuple[NodeId, int], ...]
    faults: dict[str, list[str | None]]

    def world(self) -> SimWorld:
        """A new world for this script."""
        world = SimWorld(
            until_us=UNTIL_S * SECOND_US,
            delays=Delays(sample_us=10 * SECOND_US),
            faults=Mishaps(self.faults),
        )
        world.script((self.started, *self.events))
        for node, at_us in self.losses:
            # Power comes back: a run in which it never does has no end that can be waited for.
            world.lose(node, at_us, at_us + BACK_US)
        return world

    def play(self, make: Callable[[SimWorld], Checked] = Checked) -> Checked:
        """A whole run."""
        engine = make(self.world())
        engine.run()
        return engine


def nodes_of(draw: st.DrawFn) -> tuple[Node, ...]:
    """A pool of one or two sites, with nodes that may not be core and nodes of half the capacity."""
    count = draw(st.integers(4, 12))
    sites = draw(st.sampled_from((("delft",), ("delft", "leiden"))))
    odd = draw(st.sampled_from((0, 0, 3, 4)))
    return tuple(
        Node(
            id=NodeId(f"node{i:02d}"),
            site=sites[i % len(sites)],
            may_core=not (odd and i % odd == 0),
            capacity_milli=500 if odd and i % odd == 1 else 1000,
        )
        for i in range(count)
    )


def spec_of(draw: st.DrawFn, name: str) -> ClusterSpec:
    """An MR-cluster as somebody might ask for it."""
    minimum = draw(st.integers(1, 3))
    most = draw(st.sampled_from((None, None, minimum, minimum + 2)))
    return ClusterSpec(
        id=ClusterId(name),
        min_nodes=minimum,
        max_nodes=most,
        growth=draw(st.sampled_from((None, Role.TRANSIENT, Role.TRANSIENT_CORE))),
        replication=1,
        deploy_on_first_job=draw(st.sampled_from((False, False, True))),
        idle_us=draw(st.sampled_from((10**12, 10**12, 60 * SECOND_US, None))),
        max_running_jobs=draw(st.integers(1, 3)),
    )


def job_of(draw: st.DrawFn, name: str, number: int) -> JobSpec:
    """A job of sleeping tasks."""
    return JobSpec(
        id=JobId(f"{name}-{number}"),
        cluster=ClusterId(name),
        retries=draw(st.integers(0, 2)),
        time_limit_us=draw(st.sampled_from((None, None, None, 60 * SECOND_US))),
        reference_us=draw(st.sampled_from((None, 30 * SECOND_US))),
        input_bytes=draw(st.sampled_from((None, 10**9))),
        tasks=draw(st.sampled_from((1, 4, 12, 40))),
        details={"task_s": draw(st.sampled_from((2, 10, 30)))},
    )


def burst(draw: st.DrawFn, at_us: int, number: int, name: str) -> list[Event]:
    """Several jobs at once."""
    count = draw(st.sampled_from((1, 3, 3, 6)))
    return [
        Submitted(at_us=at_us, spec=job_of(draw, name, 10 * number + i), ask=f"job-{number}-{i}") for i in range(count)
    ]


def actions(draw: st.DrawFn, at_us: int, number: int, pool: tuple[Node, ...]) -> list[Event]:
    """Something that a user or an operator does."""
    name = ClusterId(draw(st.sampled_from(NAMES)))
    node = draw(st.sampled_from(pool)).id
    ask = f"ask-{number}"
    kind = draw(st.sampled_from("rrrjjjjjjjjjlkccpqdduuhhxggss"))
    match kind:
        case "r":
            return [Requested(at_us=at_us, spec=spec_of(draw, name), ask=ask)]
        case "j":
            return burst(draw, at_us, number, name)
        case "l" | "k":
            discard = draw(st.booleans())
            return [ReleaseAsked(at_us=at_us, cluster=name, discard=discard, force=kind == "k", ask=ask)]
        case "c":
            job = JobId(f"{name}-{10 * draw(st.integers(0, max(0, number - 1)))}")
            return [CancelAsked(at_us=at_us, job=job, ask=ask)]
        case "p":
            return [PauseAsked(at_us=at_us, reason="test", ask=ask)]
        case "q":
            return [ResumeAsked(at_us=at_us, ask=ask)]
        case "d":
            discard = draw(st.sampled_from((False, False, False, True)))
            return [DrainAsked(at_us=at_us, node=node, reason="test", discard=discard, ask=ask)]
        case "u":
            return [UndrainAsked(at_us=at_us, node=node, ask=ask)]
    return [steered(draw, kind, at_us, name, node, ask)]


def steered(draw: st.DrawFn, kind: str, at_us: int, name: ClusterId, node: NodeId, ask: str) -> Event:
    """An operator holds something, ends a hold, or moves nodes by hand."""
    subject = draw(st.sampled_from((name, node)))
    until_us = draw(st.sampled_from((0, at_us + 30 * SECOND_US, at_us + 300 * SECOND_US)))
    if kind == "h":
        return HoldAsked(at_us=at_us, subject=subject, reason="test", until_us=until_us, ask=ask)
    if kind == "x":
        return UnholdAsked(at_us=at_us, subject=subject, ask=ask)
    move = GrowAsked if kind == "g" else ShrinkAsked
    named = draw(st.sampled_from((None, None, node)))
    return move(at_us=at_us, cluster=name, count=draw(st.integers(1, 3)), node=named, until_us=until_us, ask=ask)


def arrivals(draw: st.DrawFn) -> list[Event]:
    """MR-clusters that arrive one after another, each with jobs, so that there is something to balance."""
    events: list[Event] = []
    for index, name in enumerate(NAMES[: draw(st.sampled_from((1, 2, 2, 3, 3)))]):
        at_us = draw(st.integers(1, 100)) * SECOND_US
        events.append(Requested(at_us=at_us, spec=spec_of(draw, name), ask=f"arrival-{name}"))
        events += burst(draw, at_us + draw(st.integers(0, 100)) * SECOND_US, 1000 + index, name)
    return sorted(events, key=lambda event: event.at_us)


@st.composite
def scripts(draw: st.DrawFn) -> Script:
    """A run of random actions in its first minutes; then all is allowed again, and there is time to end."""
    pool = nodes_of(draw)
    how = preset(
        draw(st.sampled_from(PRESETS)),
        growth=draw(st.sampled_from((Role.TRANSIENT, Role.TRANSIENT_CORE))),
    )
    first = started(how=how, nodes=pool, policy=policy(draw(st.sampled_from(POLICY_NAMES))))
    events = arrivals(draw)
    for number, at_s in enumerate(sorted(draw(st.lists(st.integers(1, ACTED_S), max_size=20)))):
        events += actions(draw, at_s * SECOND_US, number, pool)
    late_us = (ACTED_S + 1) * SECOND_US
    events.append(ResumeAsked(at_us=late_us))
    events += [UndrainAsked(at_us=late_us, node=node.id) for node in pool]
    events += [UnholdAsked(at_us=late_us, subject=name) for name in (*NAMES, *(node.id for node in pool))]
    losses = draw(
        st.lists(st.tuples(st.sampled_from(pool), st.integers(1, ACTED_S)), max_size=4).map(
            lambda pairs: tuple((node.id, at_s * SECOND_US) for node, at_s in pairs)
        )
    )
    mishap = st.sampled_from((None, None, "it broke", ""))
    faults = draw(st.dictionaries(st.sampled_from(KINDS), st.lists(mishap, max_size=6), max_size=5))
    return Script(first, tuple(events), losses, faults)
