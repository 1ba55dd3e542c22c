"""7.1.1 and 7.3: skewed data, and profiles of other data (group-by, x1.2; Table 5)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from statistics import stdev

import pandas as pd

from fawkes.offline.studies.quota import fixed
from fawkes.offline.studies.quota.cases import QuotaCase, alone
from fawkes.offline.studies.quota.experiments.experiment import QuotaStudy, within
from fawkes.offline.studies.shared.page import Exhibit
from fawkes.offline.studies.shared.pictures import bars
from fawkes.offline.studies.shared.statements import Experiment, Finding, Statement, VerdictReason, signed

_BASE = alone("group-by", 20, fixed.SEEDS[0])
_SKEWED: dict[int, QuotaCase] = {
    exponent: replace(_BASE, skew=float(exponent), profiled=float(exponent)) for exponent in fixed.TABLE_5
}
_MISMATCHED = {
    "skewed data, even profile": replace(_BASE, skew=0.5),
    "even data, skewed profile": replace(_BASE, profiled=0.5),
}


def _sign(study: QuotaStudy) -> Finding:
    errors = [study.error(_SKEWED[exponent]) for exponent in (2, 3)]
    return f"{signed(errors)} %", all(error < fixed.LATE for error in errors)


def _spread(study: QuotaStudy) -> Finding:
    stds = [study.stage_errors(case, stdev) for case in _SKEWED.values()]
    return f"{signed(stds)} %", all(fixed.STD_LEAST <= each <= fixed.STD_MOST for each in stds)


def _table(study: QuotaStudy) -> pd.DataFrame:
    """Errors beside Table 5 and section 7.3."""
    rows: list[dict[str, object]] = [
        {
            "data": f"s = {exponent}",
            "error": round(study.error(case), 2),
            "error_paper": fixed.TABLE_5[exponent][0],
            "stages": round(study.stage_errors(case), 2),
            "stages_paper": f"{fixed.TABLE_5[exponent][1]:g}",
        }
        for exponent, case in _SKEWED.items()
    ]
    for (name, case), paper in zip(_MISMATCHED.items(), fixed.MISMATCH, strict=True):
        error, stages = round(study.error(case), 2), round(study.stage_errors(case), 2)
        rows.append({"data": name, "error": error, "error_paper": paper, "stages": stages, "stages_paper": "-"})
    return pd.DataFrame(rows)


_HASTY = tuple(replace(case, gamma=1.0) for case in _SKEWED.values())


def _on_all_cores(study: QuotaStudy) -> Finding:
    errors = [study.error(case) for case in _HASTY]
    return f"{signed(errors)} %", all(error > 0 for error in errors)


_LONG = VerdictReason(
    "running tasks share the quota of their executor, so a task that is nearly as long as its stage ends late when "
    "cores were given back before. On all cores (gamma 1) the same data are early",
    _on_all_cores,
    _HASTY,
)
_STAYS = "cores that stay as planned"

SKEW = Experiment(
    statements=(
        Statement("5-error", "7.1.1", "Zipf s = 1 to 3: errors within 6 %",
                  partial(within, cases=_SKEWED.values(), most=fixed.SKEWED), _STAYS, ("open-loop",),
                  tuple(_SKEWED.values()), _LONG),
        Statement("5-sign", "7.1.1", "s = 2 and 3: the deadline is missed", _sign, "tasks of even lengths", ("even",),
                  tuple(_SKEWED.values())),
        Statement("5-std", "7.1.1", "errors of stages have a standard deviation of 1.5 to 3 %", _spread,
                  "tasks of even lengths", ("even",), tuple(_SKEWED.values()), _LONG),
        Statement("5-profile", "7.3", "profile and data differ (s = 0.5): errors within 4 %",
                  partial(within, cases=_MISMATCHED.values(), most=fixed.MISMATCHED), _STAYS,
                  ("open-loop",), tuple(_MISMATCHED.values())),
    ),
    exhibits=(
        Exhibit("5-skew", "Table 5 and section 7.3: skew, and profiles of other data",
                "group-by at x1.2, tasks of the second stage by Zipf's law over 100 lengths; means over the seeds.",
                ("5-",), _table, bars("data", ("error", "error_paper"), "error (%)")),
    ),
)  # fmt: skip
