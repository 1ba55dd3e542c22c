"""Section 6 judged: one MR-cluster on half core nodes, on two sites, growing and shrinking."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from fawkes.paper import fixed
from fawkes.paper.rows import Rows
from fawkes.paper.rules import Judged, line_fit, percent
from fawkes.paper.runs import APPS, BUSY_APPS, IDLE, ROLES, TENTHS, busy, grown, idle

COMPUTE_APPS = ("WC", "PR", "TT")
Point = tuple[float, float]


def half(rows: Rows) -> Iterator[Judged]:
    """6.1: half core, half transient or transient-core nodes."""
    for role, published in (("TR", 0.40), ("TC", 0.23)):
        ours = rows.half("ST", role)
        holds = abs(ours - published) <= fixed.SORT_BAND
        yield f"6.1-sort-{role}", "6.1", f"Sort, half {role}: {percent(published)} (fitted on)", percent(ours), holds
    for app in ("KM", "AH"):
        by_tr, by_tc = rows.half(app, "TR"), rows.half(app, "TC")
        text = f"TR {percent(by_tr)}, TC {percent(by_tc)}"
        yield f"6.1-{app}", "6.1", f"{app}: TC improves over TR", text, by_tc < by_tr - 0.005
    worst = {app: max(rows.half(app, role) for role in ROLES) for app in COMPUTE_APPS}
    text = ", ".join(f"{app} {percent(value)}" for app, value in worst.items())
    yield (
        "6.1-compute",
        "6.1",
        "compute-bound applications (WC, PR, TT) suffer little",
        text,
        max(worst.values()) <= fixed.LITTLE,
    )


def sites(rows: Rows) -> Iterator[Judged]:
    """6.2: 20 nodes on two sites."""
    for app, what in (("ST", "Sort"), ("BT", "the whole of BTWorld")):
        ours = rows.sites(app)
        holds = 0 <= ours < fixed.SITES_MOST
        yield f"6.2-{app}", "6.2", f"two sites: {what} less than +20 %", f"{100 * ours:+.1f} %", holds
    others = {app: rows.sites(app) for app in APPS if app != "ST"}
    text = ", ".join(f"{app} {100 * value:+.1f} %" for app, value in others.items())
    low = sum(value < fixed.LITTLE for value in others.values()) > len(others) / 2
    yield "6.2-others", "6.2", "two sites: most applications low overhead", text, low


def grow(rows: Rows) -> Iterator[Judged]:
    """6.3: growing before the job."""
    for role, apps, what in (
        ("TC", APPS, "linear in the number of TC nodes, all applications"),
        ("TR", tuple(app for app in APPS if app not in ("ST", "PR")), "good (linear) for all but Sort and PageRank"),
    ):
        fits = {app: line_fit(_speedups(rows, app, role)) for app in apps}
        text = ", ".join(f"{app} {fit:.3f}" for app, fit in fits.items())
        published = f"growing by {role}: speed-up {what}"
        yield f"6.3-{role}", "6.3", published, f"R2 up to f = 0.5: {text}", min(fits.values()) >= fixed.LINEAR
    by_tc, by_tr = _speedups(rows, "ST", "TC"), _speedups(rows, "ST", "TR")
    (_, first), (_, last) = _slopes(by_tr)[0], _slopes(by_tr)[-1]
    text = f"at f = 0.5 TR {by_tr[-1][1]:.2f}, TC {by_tc[-1][1]:.2f}; TR's slope falls from {first:.2f} to {last:.2f}"
    holds = by_tr[-1][1] < by_tc[-1][1] - 0.05 and last < first
    yield "6.3-sort", "6.3", "growing by TR: Sort's speed-up flattens", text, holds


def remove(rows: Rows) -> Iterator[Judged]:
    """6.4: removing nodes."""
    needed = [idle(1, True), idle(10, True), idle(16, True), busy("ST", fixed.BUSY_MOST)]
    for run in needed:
        rows.row(run)
    counts = [count for count in IDLE if rows.has(idle(count, True))]
    alone = [(count, float(rows.idle(count, False)["total_s"])) for count in counts]
    text = f"{alone[0][1]:.0f} s for one node, {alone[-1][1]:.0f} s for {counts[-1]}, R2 {line_fit(alone):.3f}"
    yield (
        "6.4-total",
        "6.4",
        "removing idle nodes: total time linear in the nodes removed",
        f"one after another: {text}",
        line_fit(alone) >= fixed.LINEAR,
    )
    node = {count: float(rows.idle(count, True)["node_s"]) for count in counts}
    flat = all(abs(node[count] / node[1] - 1) <= fixed.FLAT for count in counts if count <= fixed.MICRO_NODES / 2)
    text = f"together: {node[1]:.0f} s for 1, {node[10]:.0f} s for 10, {node[16]:.0f} s for 16 of 20"
    yield "6.4-flat", "6.4", "removing idle nodes: time for each node constant up to 50 %", text, flat
    yield (
        "6.4-steep",
        "6.4",
        "removing idle nodes: time for each node rises steeply beyond 50 %",
        text,
        node[16] >= fixed.STEEP * node[1],
    )
    some = [count for count in range(fixed.BUSY_MOST + 1) if rows.has(busy("ST", count))]
    slow = {app: [(count, rows.busy(app, count)) for count in some] for app in BUSY_APPS}
    fits = {app: line_fit(points) for app, points in slow.items()}
    text = ", ".join(f"{app} {fit:.3f}" for app, fit in fits.items())
    yield (
        "6.4-busy-linear",
        "6.4",
        "removing at a job's start: slowdown linear in the nodes removed",
        f"R2 up to {fixed.BUSY_MOST} of 20 nodes: {text}",
        min(fits.values()) >= fixed.LINEAR,
    )
    most = {app: points[-1][1] for app, points in slow.items()}
    text = ", ".join(f"{app} {percent(value)}" for app, value in most.items())
    yield (
        "6.4-busy-order",
        "6.4",
        "removing at a job's start: ST and WC slow down more than TT and PR",
        f"{fixed.BUSY_MOST} of 20 removed: {text}",
        min(most["ST"], most["WC"]) > max(most["TT"], most["PR"]),
    )


def _speedups(rows: Rows, app: str, role: str) -> list[Point]:
    """Speed-up over f, from 0 to 0.5, of the fractions that were run."""
    for end in (TENTHS[0], fixed.GROW_MOST):
        rows.row(grown(app, role, end))
    more = [each for each in TENTHS if each <= fixed.GROW_MOST and rows.has(grown(app, role, each))]
    return [(0.0, 1.0), *((each, rows.speedup(app, role, each)) for each in more)]


def _slopes(points: Sequence[Point]) -> list[Point]:
    return [(left, (high - low) / (right - left)) for (left, low), (right, high) in pairwise(points)]
