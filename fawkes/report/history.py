"""The history in a store, as plain values: lives of nodes, moves, ticks, jobs. Reports are made of it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar, cast

from fawkes.base.units import SECOND_US
from fawkes.core.deciding.tick import MOVES, MOVING
from fawkes.core.values import decision
from fawkes.core.values.effects import EndControl
from fawkes.core.values.events import Reloaded, StandbySeen, Started
from fawkes.core.values.lifecycle import ENDED_JOBS
from fawkes.core.values.model import ClusterState, Facts, JobState, NodeLife, NodeState, Reason, Sample
from fawkes.engine.ports import Entry
from fawkes.store.base import CLUSTER, JOB, NODE, SAMPLE, TICK, Reader

C = TypeVar("C", bound=decision.Change)

#: lives in which a node is on its way out of its MR-cluster
LEAVING = frozenset({NodeLife.DRAINING, NodeLife.EVACUATING, NodeLife.CLEANING})


#: keys of rows for the names that the facts of a tick have
_KEYS = {"share": "mean_share", "held": "nodes", "min": "min_nodes"}
#: the controller's name in the ledger of a simulated run
SIMULATED = "simulated"


class NodeChange(NamedTuple):
    """A node before and after one change; ``old`` is None the first time."""

    seq: int
    at_us: int
    old: NodeState | None
    new: NodeState


class Move(NamedTuple):
    """A node on its way: from an MR-cluster (empty: it was free), to one (empty: it is free, or out of service).

    ``role`` is the one it gets, or the one it had when it goes to nobody. ``ended_us`` is None while it is under way.
    ``reasons`` are why it left and why it joined, in this order; of one that left again before it served, each.
    ``steps`` are the numbers of the first and last step.
    """

    node: str
    source: str
    target: str
    role: str
    begun_us: int
    ended_us: int | None
    reasons: tuple[Reason, ...]
    steps: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Tick:
    """One tick: the facts of its reason (what was measured and the verdict), and what was decided with it."""

    seq: int
    at_us: int
    number: int
    facts: Facts
    reasons: tuple[Reason, ...]

    @property
    def verdict(self) -> str:
        """The code of the verdict."""
        return str(self.facts.get("verdict", ""))

    @property
    def moved(self) -> bool:
        """True if it was a reconfiguration: balancing began to move at least one node."""
        return self.verdict in MOVING and any(reason.code in MOVES for reason in self.reasons)

    @property
    def clusters(self) -> dict[str, dict[str, Any]]:
        """The figures of each active MR-cluster."""
        return cast(dict[str, dict[str, Any]], self.facts.get("clusters", {}))

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The same as rows, with the keys that rows have."""
        return [
            {"cluster": name, "kept": "", **{_KEYS.get(key, key): value for key, value in figures.items()}}
            for name, figures in self.clusters.items()
        ]

    def number_of(self, name: str) -> float:
        """A figure of the tick."""
        return float(cast(float, self.facts.get(name, 0.0)))


def steps(store: Reader, numbers: Iterable[int]) -> Iterator[Entry]:
    """The entries of these numbers."""
    for number in numbers:
        entry = store.entry(number)
        if entry is not None:
            yield entry


def first_us(store: Reader) -> int:
    """The time of the first step; 0 in an empty store."""
    entry = store.entry(1)
    return 0 if entry is None else entry.event.at_us


def last_us(store: Reader) -> int:
    """The time of the last step; 0 in an empty store."""
    entry = store.entry(store.last_seq())
    return 0 if entry is None else entry.event.at_us


def now_us(store: Reader) -> int:
    """The time now by the store's own time, which may be ahead of the machine's clock; a simulated run has ended."""
    return last_us(store) if simulated(store) else max(last_us(store), time.time_ns() // 1000)


def node_changes(store: Reader, node: str | None = None) -> Iterator[NodeChange]:
    """Every change of one node, or of all, oldest first."""
    known: dict[str, NodeState] = {}
    for entry in steps(store, store.mentions(NODE, node)):
        for change in entry.decision.changes:
            if isinstance(change, decision.PutNode) and node in (None, change.state.node.id):
                new = change.state
                yield NodeChange(entry.seq, entry.event.at_us, known.get(new.node.id), new)
                known[new.node.id] = new


def moves(store: Reader, node: str | None = None) -> list[Move]:
    """All moves of one node, or of all, by the time they began, then by node.

    A node that is given to the next MR-cluster in the moment in which it is clean makes one move, not two.
    """
    open_: dict[str, Move] = {}
    done: list[Move] = []
    for change in node_changes(store, node):
        name = change.new.node.id
        move = _continued(open_.pop(name, None), change, done)
        if move is not None:
            open_[name] = move
    return sorted([*done, *open_.values()], key=lambda move: (move.begun_us, move.node, move.steps))


def moved(store: Reader) -> list[Move]:
    """The moves but those that ended where they began, such as a leaving that was called off."""
    return [move for move in moves(store) if move.ended_us is None or move.source != move.target]


def _continued(move: Move | None, change: NodeChange, done: list[Move]) -> Move | None:
    """The move of a node after one more change; one that has ended before goes to ``done``."""
    old, new = change.old, change.new
    if move is not None and move.ended_us is not None:
        joins_at_once = new.life is NodeLife.JOINING and move.steps[1] == change.seq and not move.target
        if not joins_at_once:
            done.append(move)
            move = None
    if old is None or old.life is new.life:
        return move
    seen = None if move is None else move._replace(steps=(move.steps[0], change.seq))
    match new.life:
        case NodeLife.JOINING:
            return _joins(seen, change)
        case NodeLife.SERVING | NodeLife.FREE | NodeLife.OUT:
            return None if seen is None else seen._replace(target=new.owner or "", ended_us=change.at_us)
        case _ if seen is not None and old.life is NodeLife.JOINING:
            return seen._replace(reasons=(*seen.reasons, new.why))
        case _:
            return seen or _begun(change, source=old.owner or "")


def _joins(move: Move | None, change: NodeChange) -> Move:
    new = change.new
    started = move or _begun(change, source="")
    reasons = (*started.reasons, new.why) if move is not None else started.reasons
    return started._replace(target=new.owner or "", role=str(new.role or ""), ended_us=None, reasons=reasons)


def _begun(change: NodeChange, source: str) -> Move:
    role = (change.old.role if change.old else None) or change.new.role or ""
    name, steps_ = change.new.node.id, (change.seq, change.seq)
    return Move(name, source, "", str(role), change.at_us, None, (change.new.why,), steps_)


def ticks(store: Reader, number: int | None = None) -> Iterator[Tick]:
    """Every tick, or those of one number, oldest first."""
    for entry in steps(store, store.mentions(TICK, None if number is None else str(number))):
        tick = tick_of(entry)
        if tick is not None and number in (None, tick.number):
            yield tick


def tick_of(entry: Entry) -> Tick | None:
    """The tick that a step is; None when it is none."""
    for reason in entry.decision.reasons:
        if reason.code == "tick":
            number = cast(int, reason.facts.get("tick", 0))
            return Tick(entry.seq, entry.event.at_us, number, reason.facts, entry.decision.reasons)
    return None


def last_tick(store: Reader, *, moving: bool = False) -> Tick | None:
    """The latest tick, or the latest one that moved nodes; None when there is none."""
    last = balance(store)
    if last is None:
        return None
    # Of a year there are 260,000 ticks. Those that move are among the steps that change nodes.
    numbers = set(store.mentions(TICK)) & set(store.mentions(NODE)) if moving else store.mentions(TICK, str(last.tick))
    for number in sorted(numbers, reverse=True):
        entry = store.entry(number)
        tick = None if entry is None else tick_of(entry)
        if tick is not None and (not moving or tick.moved):
            return tick
    return None


def _latest(store: Reader, kind: str, form: type[C]) -> list[C]:
    return [row.change for row in store.latest(kind) if isinstance(row.change, form)]


def nodes(store: Reader) -> list[NodeState]:
    """All nodes as they are now, by name."""
    return [change.state for change in _latest(store, NODE, decision.PutNode)]


def clusters(store: Reader) -> list[ClusterState]:
    """All MR-clusters as they are now, those that are gone included, in the order of their requests."""
    states = [change.state for change in _latest(store, CLUSTER, decision.PutCluster)]
    return sorted(states, key=lambda state: (state.requested_us, state.id))


def jobs(store: Reader, *, ended: bool = True) -> list[JobState]:
    """All jobs as they are now, or those that have not ``ended``, in the order of their submission."""
    rows = store.latest(JOB, None if ended else lambda _, put: put["state"].get("life") not in ENDED_JOBS)
    states = [row.change.state for row in rows if isinstance(row.change, decision.PutJob)]
    return sorted(states, key=lambda state: (state.submitted_us, state.cluster, state.order))


def span(store: Reader, job: str) -> tuple[int, int | None]:
    """The time of the first step that names a job, and of the last one if it has ended (None: it has not)."""
    first_us = last_us = 0
    life = None
    for entry in steps(store, store.mentions(JOB, job)):
        first_us, last_us = first_us or entry.event.at_us, entry.event.at_us
        puts = [each for each in entry.decision.changes if isinstance(each, decision.PutJob) and each.state.id == job]
        life = puts[-1].state.life if puts else life
    return first_us, last_us if life in ENDED_JOBS else None


def samples(store: Reader) -> dict[str, Sample]:
    """The latest sample of each MR-cluster."""
    return {row.subject: row.change.sample for row in store.latest(SAMPLE) if hasattr(row.change, "sample")}


def standbys(store: Reader) -> list[tuple[StandbySeen, int]]:
    """The last view of the second NameNode of each MR-cluster, and since when (us) it can or cannot take over."""
    latest: dict[str, tuple[StandbySeen, int]] = {}
    for entry in store.entries(kinds=(StandbySeen.__name__,)):
        seen = entry.event
        if isinstance(seen, StandbySeen):
            before = latest.get(seen.cluster)
            same = before is not None and (before[0].ready, before[0].node) == (seen.ready, seen.node)
            latest[seen.cluster] = (seen, before[1] if before is not None and same else seen.at_us)
    return [latest[name] for name in sorted(latest)]


def balance(store: Reader) -> decision.PutTick | None:
    """The memory of the last tick or admission; None before the first."""
    ticks = _latest(store, TICK, decision.PutTick)
    return ticks[0] if ticks else None


def rules(store: Reader) -> decision.PutRules | None:
    """The engine that was in charge last, and by which settings; None before the first start."""
    rules = _latest(store, decision.PutRules.__name__, decision.PutRules)
    return rules[0] if rules else None


def started_us(store: Reader) -> int:
    """The time at which the engine that was in charge last has started; 0 before the first start."""
    rows = store.latest(decision.PutRules.__name__)
    entry = store.entry(rows[0].seq) if rows else None
    if entry is None or isinstance(entry.event, Started):
        return 0 if entry is None else entry.event.at_us
    return max(each.event.at_us for each in store.entries(kinds=(Started.__name__,)))


def simulated(store: Reader) -> bool:
    """True if a simulation wrote the store: its times count from the start of the run."""
    ruling = rules(store)
    return ruling is not None and ruling.controller == SIMULATED


def started_before(store: Reader, seq: int) -> Started | None:
    """The start of the engine that took a step: settings, policy, shadow; None before the first."""
    started = None
    for at, event in starts(store):
        if at > seq:
            break
        started = event
    return started


def starts(store: Reader, after: int = 0) -> Iterator[tuple[int, Started]]:
    """The starts of engines after a step, with their steps; what was reloaded counts as a start with it."""
    last: Started | None = None
    for entry in store.entries(after, kinds=(Started.__name__, Reloaded.__name__)):
        event = entry.event
        if isinstance(event, Started):
            last = event
        elif isinstance(event, Reloaded) and last is not None:
            kept = {name: getattr(event, name) for name in ("at_us", "settings", "policy", "admission", "preemption")}
            last = replace(last, **kept, nodes=last.nodes if event.nodes is None else event.nodes)
        if last is not None:
            yield entry.seq, last


def news_of_settings(store: Reader) -> tuple[Started, Started] | None:
    """The starts or reloads between which settings have changed, when the later one was within a day; else None."""
    day_us, now_us = 86_400 * SECOND_US, last_us(store)
    recent: list[Started] = []
    # A start has the whole inventory: older ones are read only until one of before that day is among them.
    for days in (1, 8, 64, 10_000):
        recent = [event for _, event in starts(store, store.seq_at(now_us - days * day_us))]
        if not recent or recent[0].at_us < now_us - day_us:
            break
    news, last = None, None
    for event in recent:
        if last is not None and event.settings != last.settings:
            news = (last, event)
        last = event
    return news if news is not None and news[1].at_us >= now_us - day_us else None


def paused(store: Reader) -> str:
    """The reason why voluntary moves are stopped; empty when they are not."""
    pauses = _latest(store, decision.PutPause.__name__, decision.PutPause)
    return pauses[0].reason if pauses else ""


def clock(store: Reader) -> decision.PutClock | None:
    """The last step of the clock, when that was a jump; None when it never was."""
    clocks = _latest(store, decision.PutClock.__name__, decision.PutClock)
    return clocks[0] if clocks and clocks[0].by_us else None


def given_back_by(store: Reader) -> str:
    """The user who is giving back the whole pool, once that was agreed; empty when nobody is."""
    closings = _latest(store, decision.PutClosing.__name__, decision.PutClosing)
    closing = closings[0].closing if closings else None
    return closing.by if closing is not None and closing.agreed else ""


def ended(store: Reader) -> bool:
    """True if the last controller has ended control: the pool was given back, and every node is wiped and free."""
    closings, starts = store.latest(decision.PutClosing.__name__), store.latest(decision.PutRules.__name__)
    if not closings or (starts and starts[0].seq > closings[0].seq):
        return False
    entry = store.entry(closings[0].seq)
    return entry is not None and any(isinstance(effect, EndControl) for effect in entry.decision.effects)
