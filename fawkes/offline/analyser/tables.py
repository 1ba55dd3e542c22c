"""The totals of a log as rows: bands of priorities, priorities, classes, hours, and how often tasks were evicted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from fawkes.offline.analyser.fold import CLASSES, EVICT, GROUPS, HOUR_US, KINDS, SCHEDULE, FoldState, Mask
from fawkes.report import history
from fawkes.store.base import Reader

Row = dict[str, Any]

BANDS: Final = (("free", 0, 1), ("middle", 2, 8), ("production", 9, 11), ("monitoring", 12, 63))
"""Names of bands with their lowest and highest priority (Table 4); Google's later text has monitoring at 12."""
AT_LEAST: Final = (1, 2, 3, 5, 10, 20, 50, 100)
_CPU_HOUR: Final = float(HOUR_US)


def group_rows(state: FoldState) -> list[Row]:
    """A row for the whole log, and for each band, priority and class that has events."""
    group = np.arange(GROUPS)
    priority, scheduling_class = group // CLASSES, group % CLASSES
    masks: list[tuple[str, str, Mask]] = [("log", "all", np.ones(GROUPS, bool))]
    masks += [("band", f"{name} ({a}-{b})", (priority >= a) & (priority <= b)) for name, a, b in BANDS]
    masks += [("priority", f"priority {level}", priority == level) for level in np.unique(priority)]
    masks += [("class", f"class {number}", scheduling_class == number) for number in range(CLASSES)]
    events = state.totals.events.sum(axis=0)
    return [_group_row(state, by, name, mask) for by, name, mask in masks if by == "log" or events[mask].any()]


def _group_row(state: FoldState, by: str, name: str, mask: Mask) -> Row:
    totals = state.totals
    schedules, evictions, preemptions, undecided = (
        int(count[mask].sum())
        for count in (totals.events[SCHEDULE], totals.events[EVICT], totals.preemptions, totals.undecided)
    )
    used, evicted, preempted = (
        float(cpu[mask].sum()) / _CPU_HOUR for cpu in (totals.used, totals.evicted_cpu, totals.preempted_cpu)
    )
    unmeasured, *lost = totals.unmeasured[:, mask].sum(axis=1).tolist()
    rates = _rates(schedules, evictions, preemptions, undecided)
    measured, decided = (not count or none < count for count, none in zip((evictions, preemptions), lost, strict=True))
    decided &= measured and rates["preemptions"] is not None
    return {
        "by": by,
        "group": name,
        **rates,
        "used_cpu_h": used if used or not unmeasured else None,
        "evicted_cpu_h": evicted if measured else None,
        "preempted_cpu_h": preempted if decided else None,
        "wasted": None if unmeasured else _share(evicted, used),
        "unmeasured": unmeasured,
    }


def hour_rows(state: FoldState) -> list[Row]:
    """A row for each hour of the log that has events of tasks that ran."""
    return [{"hour": hour, **_rates(*counts)} for hour, counts in sorted(state.totals.hours.items())]


def repeat_rows(state: FoldState) -> list[Row]:
    """The tasks that were evicted, and preempted, at least so often; shares of those it happened to at all."""
    evicted, preempted = (_at_least(counts) for counts in (state.repeats.evictions, state.repeats.preemptions))
    decided = state.totals.undecided.sum() < state.totals.events[EVICT].sum()
    return [
        {
            "at_least": times,
            "evicted_tasks": evicted[times],
            "evicted_share": _share(evicted[times], evicted[1]),
            "preempted_tasks": preempted[times] if decided else None,
            "preempted_share": _share(preempted[times], preempted[1]),
        }
        for times in AT_LEAST
        if evicted[times]
    ]


def event_counts(state: FoldState) -> dict[str, int]:
    """The number of events of each kind (Table 2)."""
    return dict(zip(KINDS, state.totals.events.sum(axis=1).tolist(), strict=True))


def sentences(state: FoldState) -> Iterator[str]:
    """The figures of the whole log, for people."""
    whole, repeats = group_rows(state)[0], {row["at_least"]: row for row in repeat_rows(state)}
    events = event_counts(state)
    yield f"{sum(events.values()):,} events: " + ", ".join(f"{count:,} {kind}" for kind, count in events.items())
    if repeats:
        twice, often = (repeats.get(times, {}).get("evicted_share", 0.0) for times in (2, 10))
        tasks = repeats[1]["evicted_tasks"]
        yield f"tasks that were evicted: {tasks:,}, {twice:.1%} at least twice, {often:.1%} ten times or more"
    if whole["evicted_cpu_h"] is not None and whole["used_cpu_h"]:
        least = "at least " if whole["unmeasured"] else ""
        share = "share unknown" if whole["wasted"] is None else f"{whole['wasted']:.1%}"
        some, preempted = least or ("at least " if whole["undecided"] else ""), whole["preempted_cpu_h"]
        yield (
            f"evictions wasted {least}{whole['evicted_cpu_h']:,.1f} of {least}{whole['used_cpu_h']:,.1f} CPU-hours "
            f"({share}), preemptions {'unknown' if preempted is None else f'{some}{preempted:,.1f}'}"
        )
    if whole["unmeasured"]:
        why = "their beginning, end or CPU request is not in the log"
        yield f"attempts whose CPU time is not known: {whole['unmeasured']:,}; {why}"
    if whole["undecided"]:
        why = "they name no machine, or are in the last 5 s of the log"
        yield f"evictions that are undecided: {whole['undecided']:,}; {why}"


def _rates(schedules: int, evictions: int, preemptions: int, undecided: int) -> Row:
    decided = not evictions or undecided < evictions
    return {
        "schedules": schedules,
        "evictions": evictions,
        "eviction_rate": _share(evictions, schedules),
        "preemptions": preemptions if decided else None,
        "preemption_rate": _share(preemptions, schedules) if decided else None,
        "undecided": undecided,
    }


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def _at_least(counts: NDArray[np.int32]) -> dict[int, int]:
    return {times: int((counts >= times).sum()) for times in AT_LEAST}


# --- Counts of nodes that left the MR-clusters of a ledger: the preemptions that Fawkes itself makes


def moved_rows(store: Reader) -> list[dict[str, Any]]:
    """A row for each MR-cluster and reason code with the nodes that left for it.

    A ledger has no tasks by node, so the tasks that were lost are None, which is "not known".
    """
    left = [move for move in history.moves(store) if move.source]
    counts = Counter((move.source, str(move.reasons[0].code)) for move in left)
    again = Counter((source, code) for (source, code, _), count in Counter(
        (move.source, str(move.reasons[0].code), move.node) for move in left
    ).items() if count > 1)  # fmt: skip
    return [
        {"cluster": source, "code": code, "left_nodes": count, "again_nodes": again[source, code], "killed_tasks": None}
        for (source, code), count in sorted(counts.items())
    ]
