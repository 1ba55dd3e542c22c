"""Rows of a grid as a table: medians over replays with intervals, and a verdict on pairs against a baseline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from fawkes.offline.outcomes.failover import MASTERS
from fawkes.offline.outcomes.outcome import DEADLINES
from fawkes.report.tables.waste_rows import TASKS, WASTE

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
#: the figures whose median has an interval by bootstrap
WITH_INTERVALS = ("slowdown_mean", "slowdown_least", "slowdown_middle", "slowdown_most", "makespan_s", "moves")
CONFIDENCE = 0.95
_RESAMPLES = 2000
#: the same rows give the same intervals
_SEED = 1
#: of a comparison with the baseline
BETTER, WORSE, CANNOT_TELL = "better", "worse", "cannot tell"
#: what stands for the settings of the scenario itself in files: readers take an empty text for a missing value
UNCHANGED = "-"


def frame_of(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """A row for each run: policy, settings, replay and figures; of each MR-cluster as CLUSTER_slowdown_mean, ...

    A figure of an MR-cluster whose column would be another's, ``failed_jobs``, is ``failed_jobs_of_cluster``.
    """
    flat = []
    for row in rows:
        plain = {
            key: value
            for key, value in row.items()
            if key not in ("clusters", "variant", "nodes", "moves", "lost_copies", "missed")
        }
        plain |= {key: len(row.get(key, ())) for key in ("lost_copies", "missed")}
        for cluster in row["clusters"]:
            named = {f"{cluster['cluster']}_{key}": value for key, value in cluster.items() if key != "cluster"}
            plain |= {f"{name}_of_cluster" if name in plain else name: value for name, value in named.items()}
        flat.append(plain)
    frame = with_settings(pd.DataFrame(flat))
    return frame.astype({name: float for name in frame.columns if name.endswith("_s") or "slowdown" in name})


def with_settings(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with ``-`` for the settings of runs that change none, so that grouping by them drops no row."""
    return frame.assign(settings=frame["settings"].replace("", UNCHANGED)) if "settings" in frame else frame


def table_of(rows: Sequence[Mapping[str, Any]], baseline: str) -> list[dict[str, Any]]:
    """A table of each policy and settings, in the order of the rows: replays, of each figure the median and the spread.

    The figures are `FIGURES`, `DEADLINES` where jobs have deadlines, `MASTERS` where nodes are lost, and `WASTE` with
    the mean response time where tasks can be saved.

    ``p`` is of Wilcoxon's signed-rank test of the mean slowdown against the ``baseline`` policy under the same
    settings, paired by replay (two-sided); ``change`` is the median of the pairs' relative changes. ``FIGURE_ci_low``
    and ``FIGURE_ci_high`` are the 95 % interval of a median by bootstrap, None with fewer than two replays. ``verdict``
    is `BETTER` or `WORSE` when the interval of ``change`` lies on one side of 0 and ``p`` is below `SIGNIFICANT`, and
    `CANNOT_TELL` otherwise. All of these but the figures' intervals are None for the baseline itself and without it.
    """
    further = (*DEADLINES, *MASTERS, *WASTE, *TASKS)
    figures = (*FIGURES, *(name for name in further if any(name in row for row in rows)))
    figures += ("response_mean_s",) if any(WASTE[0] in row for row in rows) else ()
    groups: dict[tuple[str, str], dict[int, Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["policy"], row["settings"]), {})[row["replay"]] = row
    return [
        {
            "policy": policy,
            "settings": settings,
            "replays": len(runs),
            **_figures(list(runs.values()), figures),
            **_against(runs, groups.get((baseline, settings), {}) if policy != baseline else {}),
        }
        for (policy, settings), runs in groups.items()
    ]


def front_of(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The front of each policy and settings, in the order of the rows: slowdown against moves of nodes.

    Each has ``replays``, the medians ``slowdown_mean`` and ``moves`` with spread and interval as `table_of`, and
    ``failed_jobs``, the most of one replay. ``front`` is true where no other has less of one and no more of the other.
    A policy with a failed job, or without a slowdown, is never on the front.
    """
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["policy"], row["settings"]), []).append(row)
    table: list[dict[str, Any]] = [
        {
            "policy": policy,
            "settings": settings,
            "replays": len(runs),
            **_figures(runs, ("slowdown_mean", "moves")),
            "failed_jobs": max(run["failed_jobs"] for run in runs),
            "front": False,
        }
        for (policy, settings), runs in groups.items()
    ]
    able = [row for row in table if row["slowdown_mean"] is not None and not row["failed_jobs"]]
    least: tuple[float, float] | None = None
    for row in sorted(able, key=lambda row: (row["moves"], row["slowdown_mean"])):
        point = (row["moves"], row["slowdown_mean"])
        row["front"] = least is None or point[1] < least[1] or point == least
        least = point if row["front"] else least
    return table


def _figures(runs: Sequence[Mapping[str, Any]], figures: Sequence[str]) -> dict[str, float | None]:
    row: dict[str, float | None] = {}
    for name in figures:
        values = [run[name] for run in runs if run.get(name) is not None]
        low, middle, high = np.percentile(values, [SPREAD[0], 50, SPREAD[1]]) if values else (None, None, None)
        for part, value in (("", middle), ("_low", low), ("_high", high)):
            row[f"{name}{part}"] = None if value is None else float(value)
        if name in WITH_INTERVALS:
            row[f"{name}_ci_low"], row[f"{name}_ci_high"] = interval(values) or (None, None)
    return row


def interval(values: Sequence[float]) -> tuple[float, float] | None:
    """The 95 % interval of the median by bootstrap (percentiles of 2,000 resamples); None for fewer than two values."""
    if len(values) < 2:
        return None
    # It takes a second to load, which a table of single runs does not need.
    from scipy.stats import bootstrap

    result = bootstrap(
        (np.asarray(values, dtype=float),),
        np.median,
        n_resamples=_RESAMPLES,
        vectorized=True,
        axis=-1,
        confidence_level=CONFIDENCE,
        method="percentile",
        random_state=np.random.default_rng(_SEED),
    ).confidence_interval
    # The mean of two equal values can be a little more than both.
    low, high = np.clip((result.low, result.high), min(values), max(values))
    return float(low), float(high)


def _against(runs: Mapping[int, Mapping[str, Any]], others: Mapping[int, Mapping[str, Any]]) -> dict[str, Any]:
    pairs = [
        (runs[replay][TESTED], others[replay][TESTED])
        for replay in sorted(runs.keys() & others.keys())
        if runs[replay][TESTED] is not None and others[replay][TESTED] is not None
    ]
    if not pairs:
        return {"change": None, "change_ci_low": None, "change_ci_high": None, "p": None, "verdict": None}
    changes = [mine / other - 1 for mine, other in pairs]
    within, p = interval(changes), paired_p([mine for mine, _ in pairs], [other for _, other in pairs])
    return {
        "change": float(np.median(changes)),
        "change_ci_low": within[0] if within else None,
        "change_ci_high": within[1] if within else None,
        "p": p,
        # SciPy before 1.15 approximates p where differences are equal, also below what so few pairs can show.
        "verdict": verdict_of(within, max(p, least_p(len(pairs)))),
    }


def verdict_of(within: tuple[float, float] | None, p: float) -> str:
    """The verdict on a change by its interval and the p of its pairs, both of which have to show it.

    The interval of a median looks at no sizes: with few pairs it lies on one side of 0 in one of seven cases by chance.
    """
    if within is None or p >= SIGNIFICANT or within[0] <= 0 <= within[1]:
        return CANNOT_TELL
    return BETTER if within[1] < 0 else WORSE


def least_p(pairs: int) -> float:
    """The smallest two-sided p that Wilcoxon's signed-rank test can give for so many pairs: all differ in one way."""
    return min(1.0, 2.0 ** (1 - pairs))


def paired_p(mine: Sequence[float], others: Sequence[float]) -> float:
    """The two-sided p of Wilcoxon's signed-rank test; 1 when no pair differs, for which the test has no answer."""
    from scipy.stats import wilcoxon

    if all(mine_at == other for mine_at, other in zip(mine, others, strict=True)):
        return 1.0
    return float(wilcoxon(list(mine), list(others)).pvalue)
