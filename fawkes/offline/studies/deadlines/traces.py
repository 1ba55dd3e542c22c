"""Tables 4.1 and 5.1, Figure 4.1: the twins of both traces beside what the dissertation reports of the traces."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fawkes.offline.studies.flat.twins import REPORTED, TWINS, made, statistics, twin
from fawkes.offline.studies.shared.page import Exhibit
from fawkes.offline.studies.shared.pictures import lines
from fawkes.offline.studies.shared.verdicts import DIFFERS, REPRODUCED, RuleVerdict, after_models

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: what the recipe has from the tables, and so cannot miss
_BY_RECIPE = frozenset(
    {
        "peak_cpus", "jobs", "work_h", "one_task_percent", "one_task_work_percent", "below_10_tasks_percent",
        "below_100_tasks_percent", "above_1000_tasks_percent", "above_1000_tasks_work_percent",
    }
)  # fmt: skip
#: points by which a figure that was read off a curve may differ
_CURVE = 5.0
_NO_SPREAD = "follows from the recipe of the twin, which has this figure"
_VALUES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 100_000, 1_000_000)


def trace_verdicts() -> list[RuleVerdict]:
    """The statistics of a trace, each with whether its twin has it: within 5 points, counts within 1 %."""
    verdicts = []
    for trace, reported in REPORTED.items():
        ours, flat = _of_twin(trace), _without_spread(trace)
        for key, said in zip(ours, reported, strict=True):
            if said is None:
                continue
            holds = [] if key in _BY_RECIPE else [_like(key, flat[key], said)]
            there = "the rule holds there too" if True in holds else "differs"
            label = key.removesuffix("_percent").replace("_", " ")
            unit = " %" if key.endswith("_percent") else ""
            verdicts.append(
                RuleVerdict(
                    f"T-{trace}-{key}",
                    "T",
                    f"{trace}: {label} {said:,g}{unit}",
                    f"{ours[key]:,.6g}{unit}",
                    after_models(REPRODUCED if _like(key, ours[key], said) else DIFFERS, holds),
                    f"work without spread within a class: {there}" if holds else _NO_SPREAD,
                )
            )
    return verdicts


def _like(key: str, ours: float, said: float) -> bool:
    return abs(ours - said) <= (_CURVE if key.endswith("_percent") else 0.01 * said)


@cache
def _of_twin(trace: str) -> Mapping[str, float]:
    """The statistics of the first seed's twin."""
    return statistics(twin(trace, 1))


@cache
def _without_spread(trace: str) -> Mapping[str, float]:
    recipe = TWINS[trace]
    flat = tuple(replace(each, sigma=0.0) for each in recipe.classes)
    return statistics(made(replace(recipe, classes=flat), 1))


def _statistics(_: object) -> pd.DataFrame:
    """Each statistic of both twins beside what is reported."""
    both = {name: _of_twin(name) for name in REPORTED}
    table: list[dict[str, Any]] = []
    for at, key in enumerate(both["TR1"]):
        line: dict[str, Any] = {"statistic": key}
        for name in REPORTED:
            said = REPORTED[name][at]
            line |= {f"{name}_reported": "" if said is None else f"{said:g}", f"{name}_twin": f"{both[name][key]:.7g}"}
        table.append(line)
    return pd.DataFrame(table)


def _parts_of_jobs(_: object) -> pd.DataFrame:
    """Parts of jobs, in percent, with at most so many tasks or so much work."""
    table: dict[str, Any] = {"value": [float(each) for each in _VALUES]}
    for name in REPORTED:
        jobs = twin(name, 1)
        for figure, of_jobs in (("tasks", jobs.tasks), ("work", jobs.work_s)):
            table[f"{name}_{figure}"] = [100.0 * float(np.mean(of_jobs <= each)) for each in _VALUES]
    return pd.DataFrame(table).round(1)


def _curves(table: pd.DataFrame) -> Figure:
    names = tuple(name for name in table.columns if name != "value")
    draw = lines("value", names, "tasks, or CPU seconds of work", "part of the jobs (%)")
    return draw(table.assign(value=[f"{each:g}" for each in table["value"]]))


EXHIBITS = (
    Exhibit("traces", "Tables 4.1 and 5.1, Figure 4.1: the traces",
            "The twin of seed 1 beside what the text reports of the trace; curve readings are about 5 points wide.",
            ("T-",), _statistics),
    Exhibit("traces-curves", "Figure 4.1: tasks and work of the jobs",
            "Parts of jobs of the twins with fewer tasks, or with less work, than the value.",
            (), _parts_of_jobs, _curves),
)  # fmt: skip
"""The tables of both traces, and the curves of tasks and work."""
