"""Tables of the deadline chapter, from its rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from fawkes.offline.runs.work import Row
from fawkes.offline.studies.deadlines.runs import (
    BASELINE,
    FURTHER,
    J0,
    J1,
    J2,
    JUSTICE,
    KINDS,
    OF_CHAPTER_4,
    OF_TR2,
    ORACLE,
    PYTHIA,
    REACTIVE,
    READINGS,
    STATIC_BASELINE,
    STATIC_REACTIVE,
    TR1_CAPACITIES,
    TR1_MIDDLE,
    TR1_SMALL,
    TR2_CAPACITIES,
)
from fawkes.offline.studies.deadlines.study import Study
from fawkes.offline.studies.deadlines.verdicts import twin_statistics
from fawkes.offline.studies.flat.grid import Cell
from fawkes.offline.studies.flat.metrics import EDGES_S, GROUPS, mean_of_plain
from fawkes.offline.studies.flat.twins import REPORTED, twin
from fawkes.offline.studies.paper.rows import NotRunError

CHAPTER_4: Mapping[str, str] = {
    "NoDrop": BASELINE,
    "Reactive": REACTIVE,
    "Oracle": ORACLE,
    "PYTHIA": PYTHIA,
    "static NoDrop": STATIC_BASELINE,
    "static Reactive": STATIC_REACTIVE,
}
ALL: Mapping[str, str] = {
    "Baseline": BASELINE,
    "Reactive": REACTIVE,
    "Oracle": ORACLE,
    "PYTHIA": PYTHIA,
    "Justice J0": J0,
    "Justice J1": J1,
    "Justice J2": J2,
}
OF_FOLLOW_UP: Mapping[str, str] = {name: text for name, text in ALL.items() if text in OF_TR2}
_VALUES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 100_000, 1_000_000)


def traces() -> pd.DataFrame:
    """Each statistic of both twins beside what is reported."""
    both = {name: twin_statistics(name) for name in REPORTED}
    lines: list[dict[str, Any]] = []
    for at, key in enumerate(both["TR1"]):
        line: dict[str, Any] = {"statistic": key}
        for name in REPORTED:
            said = REPORTED[name][at]
            line |= {f"{name}_reported": "" if said is None else f"{said:g}", f"{name}_twin": f"{both[name][key]:.7g}"}
        lines.append(line)
    return pd.DataFrame(lines)


def curves() -> pd.DataFrame:
    """Parts of jobs, in percent, with at most so many tasks or so much work."""
    found: dict[str, Any] = {"value": [float(each) for each in _VALUES]}
    for name in REPORTED:
        jobs = twin(name, 1)
        found[f"{name}_tasks"] = [100.0 * float(np.mean(jobs.tasks <= each)) for each in _VALUES]
        found[f"{name}_work"] = [100.0 * float(np.mean(jobs.work_s <= each)) for each in _VALUES]
    return pd.DataFrame(found).round(1)


def capacities(rows: Mapping[Cell, Row], metric: str) -> pd.DataFrame:
    """A metric with Fixed2x, for each trace and capacity."""
    study = Study(rows)
    lines = []
    for trace, cpus in [("TR1", each) for each in TR1_CAPACITIES] + [("TR2", each) for each in TR2_CAPACITIES]:
        line: dict[str, Any] = {"trace": trace, "cpus": cpus}
        for name, allocator in CHAPTER_4.items():
            line[name] = _value(study, metric, "Fixed2x", cpus, allocator, trace)
        lines.append(line)
    return pd.DataFrame(lines)


def by_type(
    rows: Mapping[Cell, Row], metric: str, capacity: int, allocators: Mapping[str, str], trace: str = "TR1"
) -> pd.DataFrame:
    """A metric for each deadline type and allocator; NotRunError when there are no runs of this trace."""
    study, lines = Study(rows), []
    kinds = OF_CHAPTER_4 if allocators is CHAPTER_4 else KINDS
    for kind in kinds:
        line: dict[str, Any] = {"deadlines": kind}
        for name, allocator in allocators.items():
            line[name] = _value(study, metric, kind, capacity, allocator, trace)
        lines.append(line)
    frame = pd.DataFrame(lines)
    if frame.drop(columns="deadlines").isna().all(axis=None):
        raise NotRunError(f"not run: {trace} on {capacity} CPUs")
    return frame


def _value(study: Study, metric: str, kind: str, capacity: int, allocator: str, trace: str = "TR1") -> float:
    try:
        return round(study.under({JUSTICE: JUSTICE}, "").value(metric, kind, capacity, allocator, trace), 4)
    except NotRunError:
        return float("nan")


def parts(rows: Mapping[Cell, Row]) -> pd.DataFrame:
    """Useful, wasted and unserved work, in percent of all."""
    return _by_allocator(rows, ("ptr", "wtr", "unserved"), 100.0)


def ends(rows: Mapping[Cell, Row]) -> pd.DataFrame:
    """Mean numbers of jobs by how they ended."""
    return _by_allocator(rows, ("met", "missed", "killed", "dropped"), 1.0)


def _by_allocator(rows: Mapping[Cell, Row], metrics: tuple[str, ...], factor: float) -> pd.DataFrame:
    study, lines = Study(rows).under({JUSTICE: JUSTICE}, ""), []
    for capacity in (TR1_SMALL, TR1_MIDDLE):
        for kind in KINDS:
            for name, allocator in ALL.items():
                line: dict[str, Any] = {"cpus": capacity, "deadlines": kind, "allocator": name}
                line |= {each: round(factor * study.value(each, kind, capacity, allocator), 2) for each in metrics}
                lines.append(line)
    return pd.DataFrame(lines)


def idle(rows: Mapping[Cell, Row]) -> pd.DataFrame:
    """How often groups of CPUs are idle, and which parts of their idle times are longer."""
    study, lines = Study(rows).under({JUSTICE: JUSTICE}, ""), []
    for size in GROUPS:
        for name, allocator in ALL.items():
            line: dict[str, Any] = {"group": size, "allocator": name}
            line["exists"] = round(100 * study.idle(size, "Aria1x3x", TR1_SMALL, allocator), 1)
            for seconds in EDGES_S[5:14]:
                line[f"above_{seconds}_s"] = round(100 * study.idle(size, "Aria1x3x", TR1_SMALL, allocator, seconds), 1)
            lines.append(line)
    return pd.DataFrame(lines)


def justice(rows: Mapping[Cell, Row], metric: str) -> pd.DataFrame:
    """A metric for each reading of Justice, beside Reactive FS and the Oracle."""
    study, lines = Study(rows), []
    columns = {"Reactive": REACTIVE, "Oracle": ORACLE, **READINGS, **FURTHER}
    for capacity in (TR1_SMALL, TR1_MIDDLE):
        for kind in KINDS:
            line: dict[str, Any] = {"cpus": capacity, "deadlines": kind}
            line |= {name: _value(study, metric, kind, capacity, allocator) for name, allocator in columns.items()}
            lines.append(line)
    return pd.DataFrame(lines)


def tests(rows: Mapping[Cell, Row]) -> pd.DataFrame:
    """Welch's t, degrees of freedom and p for each type and capacity, and both kinds of 95 % intervals of Justice."""
    study, lines = Study(rows), []
    for capacity in (TR1_SMALL, TR1_MIDDLE):
        for kind in KINDS:
            test = study.fairness_test(kind, capacity, JUSTICE, REACTIVE)
            fair = mean_of_plain(study.rows(kind, capacity, JUSTICE)[0]["fairness"])
            shares = mean_of_plain(study.rows(kind, capacity, REACTIVE)[0]["fairness"])
            lines.append(
                {
                    "cpus": capacity,
                    "deadlines": kind,
                    "justice": round(fair.mean, 4),
                    "interval": f"+- {fair.half_width:.4f}",
                    "interval_by_days": f"+- {fair.batch_half_width:.4f}" if fair.batches else "",
                    "reactive": round(shares.mean, 4),
                    "t": "" if test is None else f"{test.t:.1f}",
                    "df": "" if test is None else f"{test.df:.0f}",
                    "p": "" if test is None else f"{test.p:.2g}",
                }
            )
    return pd.DataFrame(lines)
