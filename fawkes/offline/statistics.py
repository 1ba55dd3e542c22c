"""Rows of a grid as a table: median and spread over replays, and a paired test against a baseline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

#: what a table has of each run: mean and median slowdown over all jobs; least, median, most of the MR-clusters' means
FIGURES = (
    "slowdown_mean",
    "slowdown_median",
    "slowdown_least",
    "slowdown_middle",
    "slowdown_most",
    "makespan_s",
    "reconfigurations",
    "failed_jobs",
)
SPREAD = (5, 95)
TESTED = "slowdown_mean"
#: a smaller p is taken for a difference
SIGNIFICANT = 0.05


def frame_of(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """A row for each run: policy, settings, replay and figures; of each MR-cluster as CLUSTER_slowdown_mean, ..."""
    flat = []
    for row in rows:
        plain = {key: value for key, value in row.items() if key not in ("clusters", "variant", "nodes")}
        for cluster in row["clusters"]:
            plain |= {f"{cluster['cluster']}_{key}": value for key, value in cluster.items() if key != "cluster"}
        flat.append(plain)
    frame = pd.DataFrame(flat)
    return frame.astype({name: float for name in frame.columns if name.endswith("_s") or "slowdown" in name})


def table_of(rows: Sequence[Mapping[str, Any]], baseline: str) -> list[dict[str, Any]]:
    """For each policy and settings, in the order of the rows: replays, of each figure the median and the spread.

    ``p`` is of Wilcoxon's signed-rank test of the mean slowdown against the ``baseline`` policy under the same
    settings, paired by replay (two-sided); ``change`` is the median of the pairs' relative changes. Both are None for
    the baseline itself and without it.
    """
    groups: dict[tuple[str, str], dict[int, Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["policy"], row["settings"]), {})[row["replay"]] = row
    return [
        {
            "policy": policy,
            "settings": settings,
            "replays": len(runs),
            **_figures(list(runs.values())),
            **_against(runs, groups.get((baseline, settings), {}) if policy != baseline else {}),
        }
        for (policy, settings), runs in groups.items()
    ]


def _figures(runs: Sequence[Mapping[str, Any]]) -> dict[str, float | None]:
    found: dict[str, float | None] = {}
    for name in FIGURES:
        values = [run[name] for run in runs if run.get(name) is not None]
        low, middle, high = np.percentile(values, [SPREAD[0], 50, SPREAD[1]]) if values else (None, None, None)
        for part, value in (("", middle), ("_low", low), ("_high", high)):
            found[f"{name}{part}"] = None if value is None else float(value)
    return found


def _against(runs: Mapping[int, Mapping[str, Any]], others: Mapping[int, Mapping[str, Any]]) -> dict[str, float | None]:
    pairs = [
        (runs[replay][TESTED], others[replay][TESTED])
        for replay in sorted(runs.keys() & others.keys())
        if runs[replay][TESTED] is not None and others[replay][TESTED] is not None
    ]
    if not pairs:
        return {"change": None, "p": None}
    return {
        "change": float(np.median([mine / other - 1 for mine, other in pairs])),
        "p": paired_p([mine for mine, _ in pairs], [other for _, other in pairs]),
    }


def least_p(pairs: int) -> float:
    """The smallest two-sided p that Wilcoxon's signed-rank test can give for so many pairs: all differ in one way."""
    return min(1.0, 2.0 ** (1 - pairs))


def paired_p(mine: Sequence[float], others: Sequence[float]) -> float:
    """The two-sided p of Wilcoxon's signed-rank test; 1 when no pair differs, for which the test has no answer."""
    from scipy.stats import wilcoxon

    if all(one == other for one, other in zip(mine, others, strict=True)):
        return 1.0
    return float(wilcoxon(list(mine), list(others)).pvalue)
