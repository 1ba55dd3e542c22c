"""Deciding and remembering: ticks, events that move nothing, the ledger. Each in a fresh process of its own."""

from __future__ import annotations

import gc
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

from bench.figures import Figure, Say, figures_of, fresh, peak_mb
from fawkes.base.units import SECOND_US
from fawkes.core.deciding.invariants import unsound
from fawkes.core.deciding.pool import decide
from fawkes.core.state.admitting import Admission
from fawkes.core.state.state import State, evolve
from fawkes.core.values.decision import Decision
from fawkes.core.values.events import Event, PolicyText, Requested, Sampled, Started, Woke
from fawkes.core.values.model import ClusterId, ClusterLife, ClusterSpec, Node, NodeId, Reading
from fawkes.core.values.settings import Settings
from fawkes.engine import Difference, Engine, rebuild, replay
from fawkes.engine.ports import Entry
from fawkes.policy.worker.policies import load_admission, load_weighting, policy_text
from fawkes.sim.events.steps import Delays
from fawkes.sim.world import SimWorld
from fawkes.store.sqlite import Ledger, LedgerReader

GROUP = "Deciding"
_TD = Path(__file__).parents[1] / "policies" / "weighting" / "td.py"
_NEVER_US = 10**15
_READ_US = 2 * SECOND_US
_MB = 1_000_000
_LARGE = (1_000, 100_000)
_SMALL = (10, 100)
_SMALL_EVENTS = 2_000
_LEDGER_STEPS = 2_000


def figures(rounds: int, say: Say) -> list[Figure]:
    """Measure; ``rounds`` fresh processes for each figure."""
    large = [_fresh("large", say) for _ in range(rounds)]
    small = [_fresh("small", say) for _ in range(rounds)]
    ledger = [_fresh("ledger", say) for _ in range(rounds)]

    def values(runs: list[dict[str, float]], key: str) -> list[float]:
        return [run[key] for run in runs]

    of_large = "1,000 MR-clusters on 100,000 nodes"
    of_small = "10 MR-clusters on 100 nodes"
    lines = [
        (f"{of_large}: a tick, nothing moves", "s", values(large, "still"), 1),
        (f"{of_large}: a tick, 2,000 nodes move", "s", values(large, "moves"), 1),
        (f"{of_large}: the first tick, 50,000 nodes move", "s", values(large, "first"), None),
        (f"{of_large}: a round of readings", "s", values(large, "sampled"), None),
        (f"{of_large}: peak memory of the process", "MB", values(large, "peak_mb"), 1000),
        (f"{of_small}: an event that moves nothing", "ms", values(small, "event_ms"), 0.2),
        (f"{of_small}: the slowest of 100", "ms", values(small, "event_p99_ms"), None),
        (f"{of_small}: a tick", "ms", values(small, "tick_ms"), 2),
        ("ledger: steps stored, each durably", "1/s", values(ledger, "append"), None),
        ("ledger: steps read and applied", "1/s", values(ledger, "rebuild"), None),
        ("ledger: steps decided anew (`verify`)", "1/s", values(ledger, "replay"), None),
        ("ledger: size of a step", "B", values(ledger, "bytes"), None),
    ]
    return figures_of(GROUP, lines)


def _fresh(name: str, say: Say) -> dict[str, float]:
    say(f"core: {name}")
    return fresh("bench.core", name)


# --- in the fresh process


def settings(**changes: object) -> Settings:
    """The paper's way with a period of 20 s and no damping: every tick may move."""
    values: dict[str, Any] = {
        "preset": "bench",
        "period_us": 20 * SECOND_US,
        "sample_every_us": 2 * SECOND_US,
        "tau": 1.0,
        "transient_leave_us": 0,
        "transient_core_leave_us": 0,
        "confirmations": 1,
        "settle_after_grow_us": 0,
        "settle_after_shrink_us": 0,
        "max_moves_fraction": None,
        "idle_us": None,
        "spare_masters": False,
    }
    return Settings(**{**values, **changes})


class Steps:
    """A store that keeps all steps in memory, or none: a controller that runs does not keep them there."""

    def __init__(self, keep: bool) -> None:
        self._keep = keep
        self._entries: list[Entry] = []

    def append(self, event: Event, decision: Decision) -> int:
        """Keep a step."""
        if self._keep:
            self._entries.append(Entry(len(self._entries) + 1, event, decision))
        return len(self._entries)

    @property
    def kept(self) -> list[Entry]:
        """The steps that were kept, with those that are still to come."""
        return self._entries

    def entries(self, after: int = 0) -> Iterator[Entry]:
        """The steps that were kept."""
        yield from self._entries[after:]


class Bench:
    """A pool of MR-clusters that run, each with a demand of its own; time is what the caller says it is."""

    def __init__(self, clusters: int, nodes: int, how: Settings, *, keep: bool = False) -> None:
        """All are deployed with half of the nodes as their minimums; the rest is idle."""
        self.state = State()
        self.steps = Steps(keep)
        text = policy_text("TD", _TD.name, _TD.read_text())
        self.measure = load_weighting(text, how)
        minimum = max(1, nodes // clusters // 2)
        width = len(str(nodes))
        pool = tuple(Node(id=NodeId(f"node{i:0{width}}"), site="here") for i in range(nodes))
        self.ids = [ClusterId(f"c{i:04}") for i in range(clusters)]
        # Nobody reads by himself: readings are made below, and counted.
        world = SimWorld(until_us=_NEVER_US, delays=Delays(sample_us=_NEVER_US))
        self.world = world
        self.engine = Engine(world, self.steps, load_weighting, self.state, load_admission=load_admission)
        self.admission: Admission | None = None
        self.engine.step(_started(pool, text, how))
        for c in self.ids:
            spec = ClusterSpec(id=c, min_nodes=minimum, replication=1)
            self.engine.step(Requested(at_us=0, spec=spec))
        while any(self.state.clusters[c].life is not ClusterLife.RUNNING for c in self.ids):
            self._take()

    def _take(self) -> Event:
        event = self.world.next_event()
        assert event is not None
        self.engine.step(event)
        return event

    @property
    def moving(self) -> bool:
        """Whether any node is on its way."""
        return self.state.counts.moving > 0

    def readings(self, demand: Mapping[ClusterId, int]) -> tuple[Reading, ...]:
        """What all masters say, transient nodes with what lies on them and who runs there included."""
        readings = []
        for c in self.ids:
            nodes = sorted(self.state.nodes_of(c))
            readings.append(
                Reading(
                    cluster=c,
                    jobs_waiting=1,
                    jobs_running=2,
                    tasks_waiting=demand[c],
                    tasks_running=len(nodes),
                    slots_used=len(nodes),
                    slots_total=2 * len(nodes),
                    output_bytes=10**9,
                    storage_bytes=10**12,
                    jobs_done=5,
                    tasks_done=500,
                    node_bytes=dict.fromkeys(nodes, 10**9),
                    node_masters=dict.fromkeys(nodes[:2], 1),
                )
            )
        return tuple(readings)

    def step(self, event: Event) -> tuple[Decision, float]:
        """One turn of the engine without storing and acting: what was decided, and how long that took.

        In seconds of the processor, so that others on the machine count less: it waits for nothing.
        """
        began = time.thread_time()
        decision = decide(self.state, event, self.measure, self.admission)
        assert not unsound(self.state, decision)
        evolve(self.state, event.at_us, decision.changes)
        seconds = time.thread_time() - began
        self.steps.append(event, decision)
        return decision, seconds


def _started(pool: tuple[Node, ...], policy: PolicyText, how: Settings) -> Started:
    return Started(
        at_us=0, version="bench", pool="bench", epoch=1, controller="bench", settings=how, nodes=pool, policy=policy
    )


def equal(bench: Bench) -> dict[ClusterId, int]:
    """The same demand for each MR-cluster."""
    return dict.fromkeys(bench.ids, 100)


def _tick_due(bench: Bench) -> Woke:
    return Woke(at_us=bench.state.pending["tick"].deadline_us)


def sampled(bench: Bench, demand: Mapping[ClusterId, int], before_us: int) -> Sampled:
    """A reading of all MR-clusters at a time, but not before the last event."""
    return Sampled(at_us=max(bench.state.now_us, before_us), readings=bench.readings(demand))


def _moved(decision: Decision) -> int:
    return sum(reason.code in ("grow", "shrink") for reason in decision.reasons)


def large() -> dict[str, float]:
    """The seconds of three ticks and of a round of readings; the peak memory, all of the preparation included."""
    bench = Bench(*_LARGE, settings(tau=0.0))
    demand = equal(bench)
    measured: dict[str, float] = {}
    _, measured["sampled"] = bench.step(sampled(bench, demand, _tick_due(bench).at_us - _READ_US))
    decision, measured["first"] = bench.step(_tick_due(bench))
    assert _moved(decision) == _LARGE[1] // 2, _moved(decision)
    _serve(bench, decision)
    del decision
    _read_on(bench, demand)
    decision, measured["still"] = bench.step(_tick_due(bench))
    assert _moved(decision) == 0, _moved(decision)
    for i, c in enumerate(bench.ids):
        demand[c] = 104 if i % 2 else 96
    _read_on(bench, demand)
    decision, measured["moves"] = bench.step(_tick_due(bench))
    assert _moved(decision) == 2000, _moved(decision)
    measured["peak_mb"] = peak_mb()
    return measured


def _serve(bench: Bench, decision: Decision) -> None:
    """Let the nodes that were handed out come up."""
    bench.world.now_us = bench.state.now_us
    bench.world.start(decision.effects)
    while bench.moving:
        event = bench.world.next_event()
        assert event is not None
        if not isinstance(event, Woke):
            decision, _ = bench.step(event)
            bench.world.start(decision.effects)


def _read_on(bench: Bench, demand: Mapping[ClusterId, int]) -> None:
    """Readings every two seconds until the next tick is due."""
    while bench.state.now_us + _READ_US < _tick_due(bench).at_us:
        bench.step(sampled(bench, demand, bench.state.now_us + _READ_US))


def _small_bench(*, keep: bool = False) -> tuple[Bench, dict[ClusterId, int]]:
    bench = Bench(*_SMALL, settings(), keep=keep)
    demand = equal(bench)
    bench.step(sampled(bench, demand, _tick_due(bench).at_us - _READ_US))
    decision, _ = bench.step(_tick_due(bench))
    _serve(bench, decision)
    return bench, demand


def _quiet_events(bench: Bench, demand: Mapping[ClusterId, int]) -> Iterator[Event]:
    """Readings every two seconds and a tick every twenty, for ever; nothing moves."""
    while True:
        due = _tick_due(bench)
        if due.at_us <= bench.state.now_us + _READ_US:
            yield due
        else:
            yield sampled(bench, demand, bench.state.now_us + _READ_US)


def small() -> dict[str, float]:
    """Milliseconds of a reading (median, and the slowest in a hundred) and of a tick (median)."""
    bench, demand = _small_bench()
    events: list[float] = []
    ticks: list[float] = []
    for event in _quiet_events(bench, demand):
        decision, seconds = bench.step(event)
        assert _moved(decision) == 0
        (ticks if isinstance(event, Woke) else events).append(1000 * seconds)
        if len(events) >= _SMALL_EVENTS:
            break
    events.sort()
    ticks.sort()
    return {
        "event_ms": events[len(events) // 2],
        "event_p99_ms": events[len(events) * 99 // 100],
        "tick_ms": ticks[len(ticks) // 2],
    }


def ledger() -> dict[str, float]:
    """Steps of ten MR-clusters on a hundred nodes a second: stored, applied, decided anew; bytes of a step."""
    bench, demand = _small_bench(keep=True)
    before = len(list(bench.steps.entries()))
    for event in islice(_quiet_events(bench, demand), _LEDGER_STEPS):
        bench.step(event)
    steps = list(bench.steps.entries())
    with tempfile.TemporaryDirectory(prefix="fawkes-bench-") as folder:
        return _through_ledger(Path(folder), steps[:before], steps[before:])


def _through_ledger(folder: Path, before: list[Entry], steps: list[Entry]) -> dict[str, float]:
    with closing(Ledger(folder)) as written:
        for entry in before:
            written.append(entry.event, entry.decision)
        append_s = _seconds(lambda: [written.append(entry.event, entry.decision) for entry in steps])
    size = sum(file.stat().st_size for file in folder.iterdir())
    total = len(before) + len(steps)
    with closing(LedgerReader(folder)) as reader:
        rebuild_s = _seconds(lambda: rebuild(reader.entries()))
        differences: list[Difference] = []
        replay_s = _seconds(lambda: differences.extend(replay(reader.entries(), load_weighting, load_admission)))
    assert not differences, differences[0]
    return {
        "append": len(steps) / append_s,
        "rebuild": total / rebuild_s,
        "replay": total / replay_s,
        "bytes": size / total,
    }


def _seconds(do: Callable[[], object]) -> float:
    gc.collect()
    began = time.perf_counter()
    do()
    return time.perf_counter() - began


if __name__ == "__main__":
    json.dump({"large": large, "small": small, "ledger": ledger}[sys.argv[1]](), sys.stdout)
