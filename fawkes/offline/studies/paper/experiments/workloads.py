"""Section 5: the applications and workloads of Tables 1 and 2, and tau (5.3)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from statistics import median

import pandas as pd

from fawkes.offline.studies.paper.experiments.experiment import (
    NO_MOVES,
    REPLAYED,
    Judged,
    PaperClaim,
    PaperExperiment,
)
from fawkes.offline.studies.paper.judging import fixed
from fawkes.offline.studies.paper.rows import (
    CLUSTERS,
    PaperRows,
    mean_slowdown,
    of_cluster,
    reconfigurations,
    rounded,
    span,
)
from fawkes.offline.studies.paper.runs import replay
from fawkes.offline.studies.shared.page import Exhibit
from fawkes.offline.studies.shared.verdicts import percent
from fawkes.workload.making.classes import APPLICATIONS, NAMES, load_ratio, workload

_TAUS = (5.0, 10.0, 20.0)
_WORKLOADS = ("WKLD-B", "WKLD-C", "WKLD-D")


# --- Tables 1 and 2


def _ratio_rules(_: PaperRows) -> Iterator[Judged]:
    for name, published in fixed.LOAD_RATIO.items():
        ratio = load_ratio(workload(name, fixed.SEED))
        yield f"5.3-ratio-{name[-1]}", f"{ratio:.2f} times", abs(ratio - published) <= fixed.LOAD_RATIO_BAND


def _applications(_: PaperRows) -> pd.DataFrame:
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


def _workloads(_: PaperRows) -> pd.DataFrame:
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


RATIOS = PaperExperiment(
    "5.3", "setup", "load ratios of WKLD-D and E.", _ratio_rules,
    statements=tuple(
        PaperClaim(f"5.3-ratio-{name[-1]}",
                  f"{name}: the most loaded MR-cluster has {published:g} times the tasks of the least loaded one",
                  "follows from the sizes of the jobs, which were chosen for this ratio")
        for name, published in fixed.LOAD_RATIO.items()
    ),
    exhibits=(
        Exhibit("table-1", "Table 1: applications", "The definitions.", (), _applications),
        Exhibit("table-2", "Table 2: workloads", f"The definitions, seed {fixed.SEED}.", ("5.3-ratio",), _workloads),
    ),
)  # fmt: skip


# --- tau


def _tau_rules(rows: PaperRows) -> Iterator[Judged]:
    changes, gains = {}, {}
    for name in _WORKLOADS:
        each = {cluster: [_slowdown(rows, name, cluster, tau) for tau in _TAUS] for cluster in CLUSTERS}
        changes[name] = max(max(slow) / min(slow) - 1 for slow in each.values())
        gains[name] = max(
            1 - max(slow) / rows.middle(of_cluster(cluster, "slowdown"), name, "None") for cluster, slow in each.items()
        )
    text = ", ".join(f"{name} {100 * value:.1f} %" for name, value in changes.items())
    moving = ", ".join(f"{name} {percent(value)}" for name, value in gains.items())
    text = f"mean slowdown of an MR-cluster with 5, 10, 20 differs by at most {text}; most gain over no moves {moving}"
    yield "5.3-tau", text, max(changes.values()) < fixed.TAU_MOST <= min(gains.values())


def _slowdown(rows: PaperRows, name: str, cluster: str, tau: float) -> float:
    return rows.middle(of_cluster(cluster, "slowdown"), name, "TD", tau=tau)


def _by_tau(rows: PaperRows) -> pd.DataFrame:
    """Mean slowdown and reconfigurations under TD by tau."""
    table = []
    for name, tau in product(_WORKLOADS, _TAUS):
        replays = rows.replays(name, "TD", tau=tau)
        table.append(
            {
                "workload": name,
                "tau": tau,
                "replays": len(replays),
                "mean_slowdown": rounded(median(map(mean_slowdown, replays)), 2),
                "least_most": span(map(mean_slowdown, replays), 2),
                "reconfigurations": rounded(median(map(reconfigurations, replays)), 0),
            }
        )
    return pd.DataFrame(table)


TAU = PaperExperiment(
    "5.3", "thresholds", "tau of 5, 10 and 20.", _tau_rules,
    runs=tuple(
        replay(name, "TD", tau=tau, number=number)
        for number, name, tau in product(range(fixed.REPLAYS), _WORKLOADS, _TAUS)
    ),
    statements=(
        PaperClaim("5.3-tau", "tau has no significant impact",
                  "the mean slowdown changes with tau, or moves as such do not change it", ("deaf-tau", NO_MOVES)),
    ),
    exhibits=(Exhibit("5-3-tau", "5.3 tau", REPLAYED + "TD with TC; tau = 5, 10 and 20.", ("5.3-t",), _by_tau),),
)  # fmt: skip
