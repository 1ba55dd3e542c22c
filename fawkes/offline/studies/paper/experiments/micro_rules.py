"""Section 6 judged: one MR-cluster on half core nodes, on two sites, growing and shrinking."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from fawkes.offline.studies.paper.judging import fixed
from fawkes.offline.studies.paper.judging.rules import Judged, line_fit, percent, slope
from fawkes.offline.studies.paper.rows import Rows
from fawkes.offline.studies.paper.runs import APPS, BUSY_APPS, IDLE, ROLES, TENTHS, busy, grown, idle

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
        pairs = zip(rows.half_each(app, "TR"), rows.half_each(app, "TC"), strict=True)
        text = f"TR {percent(by_tr)}, TC {percent(by_tc)}"
        holds = all(transient - core >= fixed.BY_TC for transient, core in pairs)
        yield f"6.1-{app}", "6.1", f"{app}: TC improves over TR", text, holds
    worst = {app: max(rows.half(app, role) for role in ROLES) for app in COMPUTE_APPS}
    sort = rows.half("ST", "TR")
    text = ", ".join(f"{app} {percent(value)}" for app, value in worst.items())
    yield (
        "6.1-compute",
        "6.1",
        "compute-bound applications (WC, PR, TT) suffer little",
        f"{text}; Sort {percent(sort)}",
        max(worst.values()) <= fixed.LITTLE and sort >= max(worst.values()) + fixed.MATTERS,
    )


def sites(rows: Rows) -> Iterator[Judged]:
    """6.2: 20 nodes on two sites."""
    for app, name in (("ST", "Sort"), ("BT", "the whole of BTWorld")):
        ours, thin = rows.sites(app), rows.sites(app, fixed.THIN)
        holds = ours < fixed.SITES_MOST and thin >= fixed.MATTERS
        text = f"{_tenths(ours)}; {_thin({app: thin})}"
        yield f"6.2-{app}", "6.2", f"two sites: {name} less than +20 %", text, holds
    some = [app for app in (*APPS, "BT") if app != "ST"]
    others, thin_others = ({app: rows.sites(app, link) for app in some} for link in (1.0, fixed.THIN))
    low = sum(value < fixed.LITTLE for value in others.values()) > len(others) / 2
    most = max(thin_others, key=lambda app: thin_others[app])
    text = ", ".join(f"{app} {_tenths(value)}" for app, value in others.items())
    yield (
        "6.2-others",
        "6.2",
        "two sites: most applications low overhead",
        f"{text}; {_thin({most: thin_others[most]})}",
        low and thin_others[most] >= fixed.MATTERS,
    )


def _tenths(value: float) -> str:
    return f"{100 * value:+.1f} %"


def _thin(costs: Mapping[str, float]) -> str:
    text = ", ".join(f"{app} {_tenths(value)}" for app, value in costs.items())
    return f"with {percent(fixed.THIN).lstrip('+')} of the link {text}"


def grow(rows: Rows) -> Iterator[Judged]:
    """6.3: growing before the job."""
    for role, apps, scope in (
        ("TC", APPS, "linear in the number of TC nodes, all applications"),
        ("TR", tuple(app for app in APPS if app not in ("ST", "PR")), "good (linear) for all but Sort and PageRank"),
    ):
        points = {app: _speedups(rows, app, role) for app in apps}
        fits = {app: line_fit(each) for app, each in points.items()}
        ends = {app: each[-1][1] for app, each in points.items()}
        text = ", ".join(f"{app} {ends[app]:.2f} (R2 {fit:.3f})" for app, fit in fits.items())
        grows = min(ends.values()) >= 1 + fixed.GROWS * fixed.GROW_MOST
        yield (
            f"6.3-{role}",
            "6.3",
            f"growing by {role}: speed-up {scope}",
            f"at f = 0.5: {text}",
            grows and min(fits.values()) >= fixed.LINEAR,
        )
    by_tc, by_tr = _speedups(rows, "ST", "TC"), _speedups(rows, "ST", "TR")
    first, last = slope(by_tr[:3]), slope(by_tr[-3:])
    text = f"at f = 0.5 TR {by_tr[-1][1]:.2f}, TC {by_tc[-1][1]:.2f}; TR's slope goes from {first:.2f} to {last:.2f}"
    behind = by_tr[-1][1] - 1 <= fixed.FLATTENS * (by_tc[-1][1] - 1)
    yield "6.3-sort", "6.3", "growing by TR: Sort's speed-up flattens", text, behind and last < first


def remove(rows: Rows) -> Iterator[Judged]:
    """6.4: removing idle nodes."""
    for count in (1, 10, 16):
        rows.row(idle(count, True))
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
    flat = all(abs(node[count] - node[1]) <= fixed.FLAT * node[1] for count in counts if count <= fixed.MICRO_NODES / 2)
    text = f"together: {node[1]:.0f} s for 1, {node[10]:.0f} s for 10, {node[16]:.0f} s for 16 of 20"
    yield (
        "6.4-flat",
        "6.4",
        "removing idle nodes: time for each node constant up to 50 %",
        text,
        flat and node[1] >= fixed.COPY_S,
    )
    yield (
        "6.4-steep",
        "6.4",
        "removing idle nodes: time for each node rises steeply beyond 50 %",
        text,
        node[16] >= max(fixed.COPY_S, fixed.STEEP * node[1]),
    )


def busy_removal(rows: Rows) -> Iterator[Judged]:
    """6.4: removing nodes at the start of a job."""
    rows.row(busy("ST", fixed.BUSY_MOST))
    some = [count for count in range(fixed.BUSY_MOST + 1) if rows.has(busy("ST", count))]
    slow = {app: [(float(count), rows.busy(app, count)) for count in some] for app in BUSY_APPS}
    fits = {app: line_fit(points) for app, points in slow.items()}
    most = {app: points[-1][1] for app, points in slow.items()}
    text = ", ".join(f"{app} {percent(most[app])} (R2 {fit:.3f})" for app, fit in fits.items())
    yield (
        "6.4-busy-linear",
        "6.4",
        "removing at a job's start: slowdown linear in the nodes removed",
        f"{fixed.BUSY_MOST} of 20 removed: {text}",
        min(fits.values()) >= fixed.LINEAR and min(most.values()) >= fixed.SLOWED,
    )
    each = {app: rows.busy_each(app, fixed.BUSY_MOST) for app in BUSY_APPS}
    text = ", ".join(f"{app} {percent(min(values))} to {percent(max(values))}" for app, values in each.items())
    more, less = min(each["ST"] + each["WC"]), max(each["TT"] + each["PR"])
    yield (
        "6.4-busy-order",
        "6.4",
        "removing at a job's start: ST and WC slow down more than TT and PR",
        f"{fixed.BUSY_MOST} of 20 removed, least to most of the seeds: {text}",
        more > less,
    )


def _speedups(rows: Rows, app: str, role: str) -> list[Point]:
    """Speed-up over f, from 0 to 0.5, of the fractions that were run."""
    for end in (TENTHS[0], fixed.GROW_MOST):
        rows.row(grown(app, role, end))
    more = [each for each in TENTHS if each <= fixed.GROW_MOST and rows.has(grown(app, role, each))]
    return [(0.0, 1.0), *((each, rows.speedup(app, role, each)) for each in more)]
