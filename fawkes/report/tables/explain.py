"""Explanations of moves, and of none: inputs, weights, discrimination against tau, verdict, nodes, refusals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from fawkes.base.errors import UserError
from fawkes.base.units import show_duration, show_time
from fawkes.core.deciding.pool import Foreseen
from fawkes.core.fairness.fairness import share_error
from fawkes.core.state import alerts
from fawkes.core.state.state import State
from fawkes.core.values.model import ClusterState, NodeLife, NodeState, Reason
from fawkes.core.values.settings import Settings
from fawkes.engine.ports import Entry
from fawkes.report import history
from fawkes.report.history import Move, Tick
from fawkes.report.tables.node_rows import held_in_words
from fawkes.report.tables.waste_rows import account_of_cluster, waste_in_words
from fawkes.report.words.facts import fold
from fawkes.report.words.promises import masters_in_words
from fawkes.report.words.sentences import held_by, sentence
from fawkes.store.base import CLUSTER, NODE, Reader

#: facts that differ between nodes for which the same reason holds
_OF_ONE_NODE = frozenset({"node", "held", "data_bytes"})
_LATEST = 12

Row = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Line:
    """One sentence with the reason behind it; ``code`` is empty for what is said of the whole."""

    text: str
    at_us: int | None = None
    seq: int | None = None
    code: str = ""
    facts: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Explanation:
    """A title, sentences, and the figures of the MR-clusters (rows) that they speak of."""

    title: str
    lines: tuple[Line, ...]
    figures: tuple[Row, ...] = ()


def grouped(reasons: Iterable[Reason]) -> list[tuple[Reason, tuple[str, ...]]]:
    """Reasons that differ only in the node, as one with all their nodes; the order of the first of each.

    ``held`` is that of the first node, ``data_bytes`` the sum over all.
    """
    groups: dict[tuple[str, str], tuple[Reason, list[str], int]] = {}
    for reason in reasons:
        common = {key: value for key, value in reason.facts.items() if key not in _OF_ONE_NODE}
        node, data = reason.facts.get("node"), reason.facts.get("data_bytes")
        key = (reason.code, repr(sorted(common.items(), key=lambda item: item[0])) if node else str(len(groups)))
        first, names, total = groups.setdefault(key, (reason, [], 0))
        names += [node] if isinstance(node, str) else []
        groups[key] = (first, names, total + (data if isinstance(data, int) else 0))
    return [
        (
            Reason(first.code, {**first.facts, "data_bytes": total} if "data_bytes" in first.facts else first.facts),
            tuple(names),
        )
        for first, names, total in groups.values()
    ]


def lines_of(reasons: Iterable[Reason], at_us: int | None = None, seq: int | None = None) -> list[Line]:
    """The sentences for reasons, those for several nodes together."""
    return [
        Line(sentence(reason, names), at_us, seq, reason.code, {**reason.facts, **({"nodes": names} if names else {})})
        for reason, names in grouped(reasons)
    ]


def explain_tick(store: Reader, number: int | None = None) -> Explanation:
    """One tick, the latest one without a number; UserError when there was none of that number."""
    tick = history.last_tick(store) if number is None else next(history.ticks(store, number), None)
    if tick is None:
        last = history.last_tick(store)
        hint = "The first comes one period after the start" if last is None else f"The latest is {last.number}"
        raise UserError("there was no tick yet" if number is None else f"there is no tick {number}", hint=hint)
    return _tick(store, tick)


def explain_last(store: Reader) -> Explanation:
    """The latest tick that moved nodes; UserError when none did."""
    tick = history.last_tick(store, moving=True)
    if tick is None:
        raise UserError("no tick has moved a node yet", hint="`fawkes explain` shows why the latest tick did not")
    return _tick(store, tick)


def _tick(store: Reader, tick: Tick) -> Explanation:
    title = f"Tick {tick.number}, {show_time(tick.at_us)}"
    lines = [*_figures_in_words(tick)]
    others = [reason for reason in tick.reasons if reason.code != "tick"]
    lines += lines_of([reason for reason in tick.reasons if reason.code == "tick"], tick.at_us, tick.seq)
    lines += lines_of(others, tick.at_us, tick.seq)
    started = history.started_before(store, tick.seq)
    if started is not None and any(reason.code == "shrink" for reason in others):
        lines.append(Line(f"Which nodes leave first: {', then '.join(_leaving_order(started.settings))}"))
    if started is not None and started.shadow:
        lines.append(Line("The controller runs in shadow mode: it would do this, but nothing was done"))
    lines += _followed(store, tick)
    return Explanation(title, tuple(lines), tuple(tick.rows))


def explain_plan(foreseen: Foreseen, view: State) -> Explanation:
    """The next tick as things are, with the sentences of `explain_tick`."""
    if view.rules is None:
        raise ValueError("nothing is foreseen before the first start")
    reasons = foreseen.decision.reasons
    facts = next(reason.facts for reason in reasons if reason.code == "tick")
    tick = Tick(0, foreseen.due_us, view.last_tick.tick + 1, facts, reasons)
    lines = _figures_in_words(tick)
    lines += lines_of([reason for reason in reasons if reason.code == "tick"])
    lines += lines_of([reason for reason in reasons if reason.code != "tick"])
    if any(reason.code == "shrink" for reason in reasons):
        lines.append(Line(f"Which nodes leave first: {', then '.join(_leaving_order(view.rules.settings))}"))
    if view.rules.shadow:
        lines.append(Line("The controller runs in shadow mode: it would decide this, but nothing would be done"))
    lines.append(Line("This is as things are now: it changes with the next readings, jobs and requests"))
    title = f"The next tick, {tick.number}, is due at {show_time(foreseen.due_us)}"
    return Explanation(title, tuple(lines), tuple(tick.rows))


def _figures_in_words(tick: Tick) -> list[Line]:
    period_s = tick.number_of("period_s")
    which = str(tick.facts.get("measure", "raw"))
    value, tau = tick.number_of(which), tick.number_of("tau")
    policy = (
        f"Policy {tick.facts.get('policy')} over the last {period_s:g} s; {tick.facts.get('usable')} nodes in service"
    )
    lines = [Line(policy)]
    if any(row.get("weight") is not None for row in tick.clusters.values()):
        error, allowed = share_error(max(value, 0.0), period_s), share_error(tau, period_s)
        lines.append(
            Line(
                f"Global discrimination ({which}) {value:.3g} against tau {tau:.3g}: "
                f"the shares are off by {error:.1%} RMS, {allowed:.1%} is allowed (sqrt(tau)/T)"
            )
        )
    missing = [name for name, row in tick.clusters.items() if row.get("unreadable")]
    if missing:
        lines.append(Line(f"{', '.join(sorted(missing))} could not be read and keeps its nodes"))
    kept = [(name, row["kept"]) for name, row in sorted(tick.clusters.items()) if row.get("kept")]
    lines += [Line(f"{name} is held ({why}): it keeps its nodes and gets none") for name, why in kept]
    return lines


def _leaving_order(settings: Settings) -> list[str]:
    """The order of `fawkes.core.state.plan.leaving_order` in words."""
    order = ["those that are not in service yet"]
    order += ["those without an ApplicationMaster"] if settings.spare_masters else []
    order.append("transient-core nodes with the least data")
    order += ["those away from the masters' site"] if settings.prefer_site else []
    return [*order, "by name"]


def _followed(store: Reader, tick: Tick) -> list[Line]:
    """Nodes that joined until the next tick: they had to be left, wiped and verified first."""
    joined: list[Reason] = []
    for entry in history.steps(store, (seq for seq in store.mentions(NODE) if seq > tick.seq)):
        if (later := history.tick_of(entry)) is not None and later.number != tick.number:
            break
        joined += [reason for reason in entry.decision.reasons if reason.code == "grow"]
    return [Line("Until the next tick:"), *lines_of(joined)] if joined else []


def explain_node(store: Reader, name: str) -> Explanation:
    """The latest move of a node, step by step, and the tick behind it; UserError when there is no such node."""
    state = next((state for state in history.nodes(store) if state.node.id == name), None)
    if state is None:
        known = [state.node.id for state in history.nodes(store)]
        raise UserError(f"there is no node {name!r}", hint=f"The pool is {fold(known)}" if known else "")
    lines = [Line(node_in_words(state)), *(Line(text) for text in held_in_words(state))]
    moves = history.moves(store, name)
    if not moves:
        lines.append(Line("It has never moved"))
        return Explanation(f"Node {name}", tuple(lines))
    move = moves[-1]
    lines.append(Line(move_in_words(move)))
    first, last = move.steps
    for entry in history.steps(store, (seq for seq in store.mentions(NODE, name) if first <= seq <= last)):
        mine = [reason for reason in entry.decision.reasons if _speaks_of(reason, name)]
        lines += lines_of(mine, entry.event.at_us, entry.seq)
    behind = _tick_behind(store, move)
    if behind is None:
        return Explanation(f"Node {name}", tuple(lines))
    lines += [Line(f"It was decided at tick {behind.number}, {show_time(behind.at_us)}"), *_figures_in_words(behind)]
    return Explanation(f"Node {name}", tuple(lines), tuple(behind.rows))


def _speaks_of(reason: Reason, name: str) -> bool:
    nodes = reason.facts.get("nodes")
    return reason.facts.get("node") == name or (isinstance(nodes, (list, tuple)) and name in nodes)


def _tick_behind(store: Reader, move: Move) -> Tick | None:
    """The tick that set the targets of a move: the latest one that moved nodes, not after the one in its reasons."""
    for reason in move.reasons:
        number = reason.facts.get("tick")
        while isinstance(number, int) and number > 0:
            tick = next(history.ticks(store, number), None)
            if tick is not None and tick.moved:
                return tick
            number -= 1
    return None


def explain_cluster(store: Reader, name: str) -> Explanation:
    """The standing of an MR-cluster, its figures of the latest tick, and the latest reasons that name it."""
    state = next((state for state in history.clusters(store) if state.id == name), None)
    if state is None:
        known = [state.id for state in history.clusters(store)]
        raise UserError(f"there is no MR-cluster {name!r}", hint=f"There are: {', '.join(known) or 'none'}")
    words = waste_in_words(account_of_cluster(store, state.id))
    lines = [Line(text) for text in (*cluster_in_words(state), *([words] if words else []))]
    recent: list[Line] = []
    for entry in history.steps(store, reversed(store.mentions(CLUSTER, name))):
        mine = [r for r in entry.decision.reasons if r.facts.get("cluster") == name or r.facts.get("newcomer") == name]
        lost = [line for reason in mine for line in _ended_in_vain(store, reason, entry)]
        recent = lines_of(mine, entry.event.at_us, entry.seq) + lost + recent
        if len(recent) >= _LATEST:
            break
    tick = history.last_tick(store)
    if tick is None or name not in tick.clusters:
        return Explanation(f"MR-cluster {name}", (*lines, *recent))
    at = [Line(f"At the latest tick, {tick.number} ({show_time(tick.at_us)}):"), *_figures_in_words(tick)]
    verdict = lines_of([reason for reason in tick.reasons if reason.code == "tick"])
    return Explanation(f"MR-cluster {name}", (*lines, *recent, *at, *verdict), tuple(tick.rows))


def _ended_in_vain(store: Reader, reason: Reason, moved: Entry) -> list[Line]:
    """The jobs that had succeeded after the copy was made that new masters began with, in a line."""
    lacks_us, took_us = reason.facts.get("lacks_us"), reason.facts.get("took_us")
    if reason.code != "masters-moved" or not isinstance(lacks_us, int) or not isinstance(took_us, int) or not lacks_us:
        return []
    copied_us, jobs = moved.event.at_us - took_us - lacks_us, []
    mentions = store.mentions(CLUSTER, str(reason.facts.get("cluster")))
    for entry in history.steps(store, reversed([seq for seq in mentions if seq < moved.seq])):
        if entry.event.at_us <= copied_us:
            break
        jobs += [str(r.facts.get("job")) for r in entry.decision.reasons if r.code == "job-succeeded"]
    if not jobs:
        return []
    text = f"Jobs that had succeeded after that copy, whose output may lack its end: {', '.join(reversed(jobs))}"
    return [Line(text, moved.event.at_us, moved.seq)]


def node_in_words(state: NodeState) -> str:
    """The standing of a node, in one sentence."""
    owner = f" {state.owner} as {state.role}" if state.owner else ""
    doing = {
        NodeLife.FREE: "free",
        NodeLife.OUT: "out of service",
        NodeLife.LOST: "lost",
        NodeLife.JOINING: f"joining{owner}",
        NodeLife.SERVING: f"serving{owner}",
        NodeLife.DRAINING: f"leaving{owner} (its tasks end)",
        NodeLife.EVACUATING: f"leaving{owner} (its blocks are copied)",
        NodeLife.CLEANING: f"leaving{owner} (it is wiped)",
    }[state.life]
    waits = f"; {state.owner} waits for it, because it may hold data" if state.life is NodeLife.LOST and owner else ""
    kept = f"; kept out: {state.keep_out}" if state.keep_out else ""
    alert = f"; {state.alert}" if state.alert else ""
    kept += f"; {held_by(state.hold)}" if state.hold else ""
    return f"{state.node.id} has been {doing} since {show_time(state.since_us)}{waits}{kept}{alert}"


def move_in_words(move: Move) -> str:
    """A move in one sentence: from where, to where, when it began and how long it took."""
    source, target = move.source or "the free nodes", move.target or "the free nodes"
    begun = show_time(move.begun_us)
    if move.source and move.source == move.target:
        lost = any(reason.code == "node-lost" for reason in move.reasons)
        began, ended = (f"{source} lost it", "came back") if lost else (f"It began to leave {source}", "stayed")
    elif move.ended_us is None:
        return f"It has been going from {source} to {target} since {begun}"
    else:
        return f"It went from {source} to {target} at {begun}, within {show_duration(move.ended_us - move.begun_us)}"
    if move.ended_us is None:
        return f"{began} at {begun}"
    return f"{began} at {begun}; it {ended} after {show_duration(move.ended_us - move.begun_us)}"


def cluster_in_words(state: ClusterState) -> list[str]:
    """The standing of an MR-cluster: its life, the paper's times, what is wrong."""
    life, since, requested = state.life, show_time(state.since_us), show_time(state.requested_us)
    lines = [f"{state.id} has been {life} since {since}; it was requested at {requested}"]
    times = (
        ("waited for nodes for", state.wait_us),
        ("was deployed in", state.deploy_us),
        ("loaded its data in", state.load_us),
        ("saved its outputs in", state.save_us),
    )
    known = [f"{stage} {show_duration(us)}" for stage, us in times if us is not None]
    lines += [f"It {', '.join(known)}"] if known else []
    lines += [f"It is {held_by(state.hold)}"] if state.hold else []
    lines += masters_in_words(state)
    lines += [text for text in (state.failed, *(alert.text for alert in alerts.every(state))) if text]
    return lines


def as_plain(explanation: Explanation) -> dict[str, Any]:
    """An explanation as plain data."""
    return {
        "title": explanation.title,
        "lines": [
            {
                "step": line.seq,
                "time": None if line.at_us is None else show_time(line.at_us),
                "text": line.text,
                "code": line.code,
                "facts": dict(line.facts),
            }
            for line in explanation.lines
        ],
        "figures": [dict(row) for row in explanation.figures],
    }
