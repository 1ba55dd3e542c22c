"""A small run of the real engine in the simulated world: three MR-clusters on ten nodes, with some trouble.

`play` runs it now; `recorded` is a run as it once was, so that what reports say of it stays the same when the engine
decides otherwise. ``python -m tests.report.played`` records it anew.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from fawkes.core.values.events import (
    DrainAsked,
    Event,
    NodeSeen,
    PauseAsked,
    ReleaseAsked,
    Requested,
    ResumeAsked,
    Started,
    Submitted,
    UndrainAsked,
)
from fawkes.core.values.model import ClusterId, ClusterSpec, JobId, JobSpec, Node, NodeId, Role
from fawkes.core.values.settings import Discrimination, Settings
from fawkes.core.values.sight import Compute, Sight, Stored
from fawkes.engine import Engine
from fawkes.engine.ports import Entry
from fawkes.policy import compile_policy, policy_text
from fawkes.sim.world import SimWorld
from fawkes.store.base import Writer
from fawkes.store.memory import MemoryStore
from fawkes.store.record import decision_of, dumps, event_of, to_plain

SECOND = 1_000_000
START_US = 1_700_000_000 * SECOND
#: points A to E of the paper's section 7.1 have their counterparts about here
POINTS = [(1.0, "A"), (41.0, "B"), (60.0, "C"), (81.0, "D"), (230.0, "E")]

_RECORDED = Path(__file__).with_name("run.jsonl.gz")
_POLICY = Path(__file__).parents[2] / "policies" / "weighting" / "td.py"
_SETTINGS = Settings(
    preset="demo",
    period_us=20 * SECOND,
    sample_every_us=2 * SECOND,
    tau=10 / 9,
    discrimination=Discrimination.RAW,
    confirmations=1,
    settle_after_grow_us=0,
    settle_after_shrink_us=0,
    max_moves_fraction=None,
    transient_leave_us=0,
    transient_core_leave_us=0,
    idle_us=None,
)


def at(seconds: float) -> int:
    """A moment of the run."""
    return START_US + round(seconds * SECOND)


def play(store: Writer, until_s: int = 320) -> Engine:
    """Fill a store; the engine as it is at the end."""
    world = SimWorld(until_us=at(until_s), now_us=START_US, faults=_faults)
    world.script(_script())
    engine = Engine(world, store, compile_policy)
    engine.run()
    return engine


def recorded() -> Iterator[Entry]:
    """The steps of the recorded run."""
    with gzip.open(_RECORDED, "rt", encoding="utf-8") as lines:
        for seq, line in enumerate(lines, 1):
            plain = json.loads(line)
            yield Entry(seq, event_of(plain["event"]), decision_of(plain["decision"]))


def filled(entries: Iterable[Entry]) -> MemoryStore:
    """A store that has these steps."""
    store = MemoryStore()
    for entry in entries:
        store.append(entry.event, entry.decision)
    return store


def _record() -> None:
    store = MemoryStore()
    play(store)
    text = "".join(
        dumps({"event": to_plain(entry.event), "decision": to_plain(entry.decision)}) + "\n"
        for entry in store.entries()
    )
    _RECORDED.write_bytes(gzip.compress(text.encode(), mtime=0))


def _faults(kind: str, name: str) -> str | None:
    return "exit code 1" if kind == "job" and name == "c-2-job3" else None


def _script() -> list[Event]:
    started = Started(
        at_us=at(0),
        version="0.1.0",
        pool="lab",
        epoch=1,
        controller="head:1",
        settings=_SETTINGS,
        nodes=tuple(Node(id=NodeId(f"node{i:02d}"), site="lab") for i in range(1, 11)),
        policy=policy_text("TD", f"policies/weighting/{_POLICY.name}", _POLICY.read_text()),
    )
    events: list[Event] = [started]
    for name, arrival, growth in (("c-1", 1, None), ("c-2", 41, Role.TRANSIENT_CORE), ("c-3", 81, None)):
        spec = ClusterSpec(id=ClusterId(name), min_nodes=2, growth=growth)
        events.append(Requested(at_us=at(arrival), spec=spec, by="ann"))
        events += [Submitted(at_us=at(arrival + 1) + n, spec=_job(name, n), by="ann") for n in range(1, 9)]
    return [
        *events,
        PauseAsked(at_us=at(105), reason="a visit", by="bob"),
        ResumeAsked(at_us=at(125), by="bob"),
        # Its second hand-over is the one to c-3.
        NodeSeen(
            at_us=at(150),
            cluster=ClusterId("c-3"),
            node=NodeId("node10"),
            generation=2,
            sight=Sight(asked_us=at(150), compute=Compute.LOST, stored=Stored.DEAD),
        ),
        DrainAsked(at_us=at(200), node=NodeId("node08"), reason="new disk", by="bob"),
        UndrainAsked(at_us=at(230), node=NodeId("node08"), by="bob"),
        ReleaseAsked(at_us=at(290), cluster=ClusterId("c-1"), by="ann"),
    ]


def _job(cluster: str, number: int) -> JobSpec:
    details = {"task_us": 10 * SECOND}
    name = JobId(f"{cluster}-job{number}")
    return JobSpec(id=name, cluster=ClusterId(cluster), tasks=12, reference_us=20 * SECOND, details=details)


if __name__ == "__main__":
    _record()
