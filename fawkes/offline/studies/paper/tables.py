"""The tables of the page: rows of runs as frames. Those whose runs were not made are left out."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from statistics import median
from typing import Any

import pandas as pd

from fawkes.offline.studies.paper.experiments.macro_rules import points_of
from fawkes.offline.studies.paper.judging import fixed
from fawkes.offline.studies.paper.judging.models import MODELS
from fawkes.offline.studies.paper.judging.refuting import REFUTED, used_models
from fawkes.offline.studies.paper.rows import (
    CLUSTERS,
    NotRunError,
    Rows,
    apart,
    makespan_s,
    mean_slowdown,
    of_cluster,
    reconfigurations,
)
from fawkes.offline.studies.paper.runs import APPS, BUSY_APPS, IDLE, POLICIES, ROLES, TAUS, TENTHS, busy, grown, idle
from fawkes.workload.making.classes import APPLICATIONS, NAMES, workload


def applications() -> pd.DataFrame:
    """Table 1, with the MR-jobs that each application is here and where their numbers come from."""
    rows = []
    for app in APPLICATIONS.values():
        stages = app.run()
        sources = {part.source for stage in stages for part in (stage.input, stage.shuffle, stage.output)}
        rows.append(
            {
                "application": app.code,
                "name": app.name,
                "kind": app.kind,
                "input_gb": app.input_bytes / 1e9,
                "mr_jobs": len(stages),
                "numbers_from": ", ".join(sorted(sources)),
            }
        )
    return pd.DataFrame(rows)


def workloads() -> pd.DataFrame:
    """Table 2 as it is run here: jobs, tasks, bytes read and data of each MR-cluster."""
    return pd.DataFrame(
        {
            "workload": name,
            "cluster": load.cluster,
            "requested_s": load.requested_us / 1e6,
            "mr_jobs": len(load.jobs),
            "tasks": load.tasks,
            "read_gb": round(sum(job.input_bytes or 0 for job in load.jobs) / 1e9, 1),
            "data_gb": load.data_bytes / 1e9,
        }
        for name in NAMES
        for load in workload(name, fixed.SEED)
    )


def refuting_models() -> pd.DataFrame:
    """The models that refute, and the statements that each refutes."""
    return pd.DataFrame(
        {
            "model": model,
            "all else equal": MODELS[model].meaning,
            "refutes": ", ".join(name for name, against in REFUTED.items() if model in against.models),
        }
        for model in used_models()
    )


def half(rows: Rows) -> pd.DataFrame:
    """6.1: seconds, and how much longer with half TC and half TR, in percent: mean, least and most over the seeds."""
    return pd.DataFrame(
        {
            "application": app,
            "core_s": _round(rows.seconds(app)),
            **{f"half_{role}_percent": _round(100 * rows.half(app, role)) for role in ROLES},
            **{f"{role}_least_most": _percents(rows.half_each(app, role)) for role in ROLES},
        }
        for app in APPS
    )


def sites(rows: Rows) -> pd.DataFrame:
    """6.2: seconds on one site and on two."""
    return pd.DataFrame(
        {
            "application": app,
            "one_site_s": _round(rows.seconds(app)),
            "two_sites_s": _round(rows.seconds(app) * (1 + rows.sites(app))),
            "percent": _round(100 * rows.sites(app)),
            "thin_link_percent": _round(100 * rows.sites(app, fixed.THIN)),
            "least_most": _percents(rows.sites_each(app)),
        }
        for app in (*APPS, "BT")
    )


def grow(rows: Rows) -> pd.DataFrame:
    """6.3: the speed-up, a row for each application and role, a column for each fraction that was run."""
    rows.row(grown("ST", "TR", TENTHS[0]))
    some = [each for each in TENTHS if rows.has(grown("ST", "TR", each))]
    return pd.DataFrame(
        {
            "application": app,
            "role": role,
            **{f"f={each:g}": _round(rows.speedup(app, role, each), 2) for each in some},
        }
        for app, role in product(APPS, ROLES)
    )


def remove_idle(rows: Rows) -> pd.DataFrame:
    """6.4: nodes with 10 GB each that leave 20 nodes, one after another and together."""
    rows.row(idle(1, True))
    counts = [count for count in IDLE if rows.has(idle(count, True))]
    return pd.DataFrame(
        {
            "removed": count,
            "one_after_another_total_s": _round(rows.idle(count, False)["total_s"]),
            "one_after_another_node_s": _round(rows.idle(count, False)["node_s"]),
            "together_total_s": _round(rows.idle(count, True)["total_s"]),
            "together_node_s": _round(rows.idle(count, True)["node_s"]),
        }
        for count in counts
    )


def remove_busy(rows: Rows) -> pd.DataFrame:
    """6.4: how much longer a job takes, in percent, when nodes leave at its start."""
    counts = [count for count in range(fixed.BUSY_MOST + 1) if rows.has(busy("ST", count))]
    return pd.DataFrame(
        {
            "removed": count,
            **{f"{app}_percent": _round(100 * rows.busy(app, count)) for app in BUSY_APPS},
            **{f"{app}_least_most": _percents(rows.busy_each(app, count)) for app in BUSY_APPS},
        }
        for count in counts
    )


def points(rows: Rows) -> pd.DataFrame:
    """7.1: the points A to E in the first replay of WKLD-A, and in how many replays each is so."""
    replays = rows.replays("WKLD-A", "JD", "TR")
    first = points_of(replays[0])
    return pd.DataFrame(
        {"point": point, "published": published, "ours": ours, "so": "yes" if so else "no"}
        for point, published, ours, so in first
    )


def drain(rows: Rows, name: str) -> pd.DataFrame:
    """7.2: seconds until the jobs of each MR-cluster have ended, medians over the replays."""
    kinds = [("None", "TC"), ("EQ", "TC"), ("EQ", "TR"), ("TD", "TC"), ("TD", "TR")]
    found = []
    for kind in kinds:
        found.append(
            {
                "policy": kind[0],
                "growth": "" if kind[0] == "None" else kind[1],
                "replays": len(rows.replays(name, *kind)),
                **{f"{one}_s": _round(rows.middle(of_cluster(one, "drain_s"), name, *kind), 0) for one in CLUSTERS},
                "c2_c3_apart_percent": _round(100 * rows.middle(apart, name, *kind), 0),
                "apart_least_most": _span(100 * each for each in rows.spread(apart, name, *kind)),
                "makespan_s": _round(rows.middle(makespan_s, name, *kind), 0),
            }
        )
    return pd.DataFrame(found)


def compared(rows: Rows, name: str) -> pd.DataFrame:
    """7.3: the mean job slowdown of each MR-cluster under each policy that was run, medians over the replays."""
    found: list[dict[str, Any]] = []
    for policy in POLICIES:
        try:
            replays = rows.replays(name, policy)
        except NotRunError:
            continue
        slow = {one: median(map(of_cluster(one, "slowdown"), replays)) for one in CLUSTERS}
        found.append(
            {
                "policy": policy,
                "replays": len(replays),
                **{one: _round(value, 2) for one, value in slow.items()},
                "min": _round(min(slow.values()), 2),
                "median": _round(median(slow.values()), 2),
                "max": _round(max(slow.values()), 2),
                "mean": _round(median(map(mean_slowdown, replays)), 2),
                "mean_least_most": _span(map(mean_slowdown, replays), 2),
                "makespan_s": _round(median(map(makespan_s, replays)), 0),
                "reconfigurations": _round(median(map(reconfigurations, replays)), 0),
            }
        )
    if not found:
        raise NotRunError(f"not run: {name}")
    return pd.DataFrame(found)


def thresholds(rows: Rows) -> pd.DataFrame:
    """5.3: mean slowdown and reconfigurations under TD by tau."""
    found = []
    for name, tau in product(("WKLD-B", "WKLD-C", "WKLD-D"), TAUS):
        replays = rows.replays(name, "TD", tau=tau)
        found.append(
            {
                "workload": name,
                "tau": tau,
                "replays": len(replays),
                "mean_slowdown": _round(median(map(mean_slowdown, replays)), 2),
                "least_most": _span(map(mean_slowdown, replays), 2),
                "reconfigurations": _round(median(map(reconfigurations, replays)), 0),
            }
        )
    return pd.DataFrame(found)


def flipped(swept: list[dict[str, str]]) -> pd.DataFrame:
    """The sweep in short: for each verdict, under how many changed constants it was tried, and which ones turn it."""
    names = dict.fromkeys(row["verdict"] for row in swept)
    found = []
    for name in names:
        own = [row for row in swept if row["verdict"] == name]
        turned = [f"{row['constant']} x{row['factor']}" for row in own if row["before"] != row["after"]]
        found.append(
            {
                "verdict": name,
                "with_the_constants": own[0]["before"],
                "tried": len(own),
                "turned_by": ", ".join(turned) or "none",
            }
        )
    if not found:
        raise NotRunError("not run: the sweep")
    return pd.DataFrame(found)


def _round(value: float, digits: int = 1) -> float:
    return round(value, digits) if digits else float(round(value))


def _percents(parts: Iterable[float]) -> str:
    return _span((100 * part for part in parts), 1)


def _span(values: Iterable[float], digits: int = 0) -> str:
    found = sorted(values)
    return f"{found[0]:.{digits}f} to {found[-1]:.{digits}f}"
