"""The distance of a replay from its times: when each job should have come, came, and was begun by YARN."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from fawkes.base.units import SECOND_US
from fawkes.core.values.model import JobState
from fawkes.workload.playing.play import Posted

QUANTILES = (0.5, 0.95, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftRow:
    """One job, in seconds from the start of its part of the replay.

    ``late_s`` is how long after ``due_s`` the controller had it, ``start_drift_s`` how long after that time YARN began
    it: its wait in the queue is part of that. None for a job that YARN has not begun.
    """

    job: str
    cluster: str
    due_s: float
    late_s: float
    start_drift_s: float | None
    run_s: float | None
    slowdown: float | None
    state: str


def drift_rows(posted: Iterable[Posted], jobs: Mapping[str, JobState]) -> tuple[DriftRow, ...]:
    """A row for each job that was submitted and that the ledger knows."""
    rows = []
    for entry in posted:
        state = jobs.get(entry.name)
        if entry.verb != "submit" or state is None:
            continue
        waited = state.wait_us
        rows.append(
            DriftRow(
                job=entry.name,
                cluster=state.cluster,
                due_s=entry.due_us / SECOND_US,
                late_s=entry.drift_us / SECOND_US,
                start_drift_s=None if waited is None else (entry.drift_us + waited) / SECOND_US,
                run_s=None if state.run_us is None else state.run_us / SECOND_US,
                slowdown=state.slowdown,
                state=state.life,
            )
        )
    return tuple(rows)


def summary(rows: Sequence[DriftRow], *, within_s: float = 1.0) -> dict[str, Any]:
    """Counts, the share of launches ``within_s`` of their time, and median, 95 % and most of both drifts (s)."""
    late = [row.late_s for row in rows]
    starts = [row.start_drift_s for row in rows if row.start_drift_s is not None]
    return {
        "jobs": len(rows),
        "succeeded": sum(row.state == "succeeded" for row in rows),
        "launched_within_1s": float(np.mean([late_s <= within_s for late_s in late])) if late else None,
        **_spread("late", late),
        **_spread("start_drift", starts),
    }


def _spread(name: str, values: Sequence[float]) -> dict[str, float | None]:
    figures = np.quantile(values, QUANTILES) if values else [None] * len(QUANTILES)
    names = (f"{name}_median_s", f"{name}_p95_s", f"{name}_most_s")
    return {key: None if value is None else float(value) for key, value in zip(names, figures, strict=True)}


def plain(rows: Sequence[DriftRow]) -> list[dict[str, Any]]:
    """Plain values for a table."""
    return [asdict(row) for row in rows]
