"""6.4: nodes leave an MR-cluster, idle or at the start of a job."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pandas as pd

from fawkes.offline.studies.paper.experiments.experiment import (
    ONE,
    Judged,
    PaperClaim,
    PaperExperiment,
    PaperReason,
)
from fawkes.offline.studies.paper.judging import fixed
from fawkes.offline.studies.paper.rows import PaperRows, percents, rounded
from fawkes.offline.studies.paper.runs import PaperRun, run_of
from fawkes.offline.studies.shared.page import Exhibit
from fawkes.offline.studies.shared.pictures import lines
from fawkes.offline.studies.shared.verdicts import line_fit, percent

_COUNTS = (1, 2, 4, 6, 8, 10, 12, 14, 16)
BUSY_APPS = ("ST", "WC", "TT", "PR")
_REMOVED = range(fixed.BUSY_MOST + 1)


def idle(removed: int, together: bool) -> PaperRun:
    """Removing nodes from an MR-cluster without jobs."""
    return run_of("idle", removed=removed, together=together)


def busy(app: str, removed: int) -> PaperRun:
    """Removing nodes at the start of a job."""
    return run_of("busy", app=app, removed=removed)


def _idle_runs(*counts: int) -> tuple[PaperRun, ...]:
    return tuple(idle(count, together) for count, together in product(counts, (True, False)))


def _busy_runs(*counts: int) -> tuple[PaperRun, ...]:
    return tuple(busy(app, count) for app, count in product(BUSY_APPS, counts))


def _slower(rows: PaperRows, app: str, removed: int) -> float:
    return rows.slower(busy(app, removed), busy(app, 0))


# --- idle nodes


def _idle_rules(rows: PaperRows) -> Iterator[Judged]:
    for count in (1, 10, 16):
        rows.row(idle(count, True))
    counts = [count for count in _COUNTS if rows.has(idle(count, True))]
    alone = [(count, float(rows.row(idle(count, False))["total_s"])) for count in counts]
    fit = line_fit(alone)
    text = f"{alone[0][1]:.0f} s for one node, {alone[-1][1]:.0f} s for {counts[-1]}, R2 {fit:.3f}"
    yield "6.4-total", f"one after another: {text}", fit >= fixed.LINEAR
    node = {count: float(rows.row(idle(count, True))["node_s"]) for count in counts}
    flat = all(abs(node[count] - node[1]) <= fixed.FLAT * node[1] for count in counts if count <= fixed.MICRO_NODES / 2)
    text = f"together: {node[1]:.0f} s for 1, {node[10]:.0f} s for 10, {node[16]:.0f} s for 16 of 20"
    yield "6.4-flat", text, flat and node[1] >= fixed.COPY_S
    yield "6.4-steep", text, node[16] >= max(fixed.COPY_S, fixed.STEEP * node[1])


def _idle_table(rows: PaperRows) -> pd.DataFrame:
    """Seconds until nodes with 10 GB each have left 20 nodes, one after another and together."""
    rows.row(idle(1, True))
    kinds = {"one_after_another": False, "together": True}
    return pd.DataFrame(
        {
            "removed": count,
            **{
                f"{kind}_{figure}": rounded(rows.row(idle(count, together))[figure])
                for kind, together in kinds.items()
                for figure in ("total_s", "node_s")
            },
        }
        for count in _COUNTS
        if rows.has(idle(count, True))
    )


IDLE = PaperExperiment(
    "6.4", "remove", "removing idle nodes.", _idle_rules,
    runs=_idle_runs(*_COUNTS), quick=_idle_runs(*_COUNTS), swept=_idle_runs(1, 8, 10, 16),
    refuting=_idle_runs(1, 4, 10, 16),
    statements=(
        PaperClaim("6.4-total", "removing idle nodes: total time linear in the nodes removed",
                  "follows from removing one after another: equal times add up to a line"),
        PaperClaim("6.4-flat", "removing idle nodes: time for each node constant up to 50 %",
                  "ten nodes that leave together take longer than one, or no copies are made",
                  ("slow-disks", "free-moves")),
        PaperClaim("6.4-steep", "removing idle nodes: time for each node rises steeply beyond 50 %",
                  "16 of 20 nodes leave together as fast as one", ("no-disks", "free-moves")),
    ),
    exhibits=(
        Exhibit("6-4-idle", "6.4 Removing idle nodes",
                "20 nodes, 10 GB on each that leaves, no jobs. Two readings: one after another, and all together.",
                ("6.4-total", "6.4-flat", "6.4-steep", "6.4-remove"), _idle_table,
                lines("removed", ("one_after_another_total_s", "together_total_s", "together_node_s"),
                      "nodes removed of 20", "seconds")),
    ),
)  # fmt: skip


# --- nodes with a job


def _busy_rules(rows: PaperRows) -> Iterator[Judged]:
    rows.row(busy("ST", fixed.BUSY_MOST))
    some = [count for count in _REMOVED if rows.has(busy("ST", count))]
    slow = {app: [(float(count), _slower(rows, app, count)) for count in some] for app in BUSY_APPS}
    fits = {app: line_fit(points) for app, points in slow.items()}
    most = {app: points[-1][1] for app, points in slow.items()}
    text = ", ".join(f"{app} {percent(most[app])} (R2 {fit:.3f})" for app, fit in fits.items())
    linear = min(fits.values()) >= fixed.LINEAR and min(most.values()) >= fixed.SLOWED
    yield "6.4-busy-linear", f"{fixed.BUSY_MOST} of 20 removed: {text}", linear
    each = {app: rows.slower_each(busy(app, fixed.BUSY_MOST), busy(app, 0)) for app in BUSY_APPS}
    text = ", ".join(f"{app} {percent(min(values))} to {percent(max(values))}" for app, values in each.items())
    text = f"{fixed.BUSY_MOST} of 20 removed, least to most of the seeds: {text}"
    yield "6.4-busy-order", text, min(each["ST"] + each["WC"]) > max(each["TT"] + each["PR"])


def _capacity(rows: PaperRows) -> str | None:
    """The fit with which the time by the nodes that are left explains the slowdown, where a line explains less."""
    lost = [fixed.MICRO_NODES / (fixed.MICRO_NODES - count) - 1 for count in _REMOVED]
    fits = {
        app: line_fit(list(zip(lost, (_slower(rows, app, count) for count in _REMOVED), strict=True)))
        for app in BUSY_APPS
    }
    own = line_fit(list(zip(map(float, _REMOVED), lost, strict=True)))
    if own >= fixed.LINEAR or min(fits.values()) < fixed.LINEAR:
        return None
    text = ", ".join(f"{app} {fit:.3f}" for app, fit in fits.items())
    return f"R2 of that curve: {text}; R2 of a line through the curve itself: {own:.3f}"


def _ordered_means(rows: PaperRows) -> str | None:
    most = {app: _slower(rows, app, fixed.BUSY_MOST) for app in BUSY_APPS}
    ordered = min(most["ST"], most["WC"]) > max(most["TT"], most["PR"])
    return "means: " + ", ".join(f"{app} {percent(each)}" for app, each in most.items()) if ordered else None


def _busy_table(rows: PaperRows) -> pd.DataFrame:
    """The longer time of a job, in percent, when nodes leave at its start."""
    return pd.DataFrame(
        {
            "removed": count,
            **{f"{app}_percent": rounded(100 * _slower(rows, app, count)) for app in BUSY_APPS},
            **{f"{app}_least_most": percents(rows.slower_each(busy(app, count), busy(app, 0))) for app in BUSY_APPS},
        }
        for count in _REMOVED
        if rows.has(busy("ST", count))
    )


_CURVE = "With k of 20 nodes gone a job takes 20 / (20 - k) times as long, which is no straight line"
_BY_CHANCE = "The means are in the paper's order, but the seeds overlap"
BUSY = PaperExperiment(
    "6.4", "busy_removal", "removing nodes at the start of a job.", _busy_rules,
    runs=_busy_runs(*_REMOVED), quick=_busy_runs(*_REMOVED), swept=_busy_runs(*_REMOVED[::4]),
    refuting=_busy_runs(*_REMOVED[::2]),
    statements=(
        PaperClaim("6.4-busy-linear", "removing at a job's start: slowdown linear in the nodes removed",
                  "the slowdown is no line, or there is none", ("serial",), (PaperReason(_CURVE, _capacity),)),
        PaperClaim("6.4-busy-order", "removing at a job's start: ST and WC slow down more than TT and PR",
                  "WC and ST slow down no more than TT and PR, beyond chance", ("no-disks",),
                  (PaperReason(_BY_CHANCE, _ordered_means),)),
    ),
    exhibits=(
        Exhibit("6-4-busy", "6.4 Removing nodes at the start of a job",
                ONE + "Each leaving node holds a twentieth of three replicas of the input.",
                ("6.4-busy",), _busy_table,
                lines("removed", tuple(f"{app}_percent" for app in BUSY_APPS), "nodes removed of 20", "longer (%)")),
    ),
)  # fmt: skip
