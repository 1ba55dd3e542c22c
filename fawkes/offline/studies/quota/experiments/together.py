"""7.2: three applications on the same nodes under five strategies (Tables 6, 8 and 9)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from itertools import product

import pandas as pd

from fawkes.offline.studies.quota import fixed
from fawkes.offline.studies.quota.cases import QuotaCase
from fawkes.offline.studies.quota.experiments.experiment import QuotaStudy
from fawkes.offline.studies.shared.page import Exhibit
from fawkes.offline.studies.shared.pictures import bars
from fawkes.offline.studies.shared.statements import Experiment, Finding, Statement, signed

_SEED = fixed.SEEDS[0]
_FIFO = QuotaCase(arrivals=fixed.BENCHMARK_1, seed=_SEED, fifo=True)
_B1 = {
    "fifo": _FIFO,
    "edf_all gamma 1": QuotaCase(arrivals=fixed.BENCHMARK_1, seed=_SEED, strategy="edf_all", gamma=1.0),
    "edf_pure gamma 0": QuotaCase(arrivals=fixed.BENCHMARK_1, seed=_SEED, strategy="edf_pure"),
}
_GRID = tuple(product(fixed.STRATEGIES, (0, 1)))
_B2 = {
    (name, gamma): QuotaCase(arrivals=fixed.BENCHMARK_2, seed=_SEED, strategy=name, gamma=float(gamma))
    for name, gamma in _GRID
}
_B3 = {
    (name, gamma): QuotaCase(arrivals=fixed.BENCHMARK_3, seed=_SEED, strategy=name, gamma=float(gamma))
    for name, gamma in _GRID
}


def _late(errors: list[float]) -> int:
    return sum(error < fixed.LATE for error in errors)


def _late_by(errors: list[float]) -> float:
    return -sum(error for error in errors if error < fixed.LATE)


def _mean(errors: list[float]) -> float:
    return sum(map(abs, errors)) / len(errors)


def _near(study: QuotaStudy, name: str, most: float) -> Finding:
    errors = study.errors(_B1[name])
    off = [abs(ours - paper) for ours, paper in zip(errors, fixed.TABLE_6[name], strict=True)]
    return f"{signed(errors)} %", max(off) <= most


def _edf_pure(study: QuotaStudy) -> Finding:
    errors = study.errors(_B1["edf_pure gamma 0"])
    return f"{signed(errors)} %", _late(errors) == 0 and max(errors) <= fixed.EDF_PURE_MOST


def _gamma(study: QuotaStudy) -> Finding:
    means = {key: _mean(study.errors(case)) for key, case in _B2.items()}
    text = ", ".join(f"{name} {means[name, 0]:.1f} to {means[name, 1]:.1f}" for name in fixed.STRATEGIES)
    return f"{text} %", all(means[name, 1] > means[name, 0] for name in fixed.STRATEGIES)


def _largest(study: QuotaStudy) -> Finding:
    means = {key: _mean(study.errors(case)) for key, case in _B2.items()}
    total, paper = sum(study.errors(_B2["edf_all", 1])), fixed.TABLE_8["edf_all", 1][2]
    off = 100 * (total / paper - 1)
    largest = max(means, key=lambda key: means[key])
    text = f"largest: {largest[0]} gamma {largest[1]}; sum {total:.1f} %, {off:+.1f} % off"
    return text, largest == ("edf_all", 1) and abs(off) <= fixed.SUM_OFF


def _no_edf_late(study: QuotaStudy) -> Finding:
    late = {key: _late(study.errors(case)) for key, case in _B2.items() if key[0].startswith("edf")}
    return f"{sum(late.values())} of {3 * len(late)} late", not any(late.values())


def _overload(study: QuotaStudy) -> Finding:
    late = {key: _late(study.errors(case)) for key, case in _B3.items()}
    return f"late: {min(late.values())} to {max(late.values())} of 3", min(late.values()) >= 1


def _clairvoyant(study: QuotaStudy) -> Finding:
    late = [_late(study.errors(_B3["edf_all", gamma])) for gamma in (0, 1)]
    return f"early and late: {', '.join(f'{3 - each}/{each}' for each in late)}", late == [1, 1]


def _later(study: QuotaStudy) -> Finding:
    by = {key: _late_by(study.errors(case)) for key, case in _B3.items()}
    edf = max(by[name, 1] for name in ("edf_all", "edf_pure"))
    others = min(by[name, gamma] for name in ("proportional", "speed") for gamma in (0, 1))
    return f"EDF_all and EDF_pure with gamma 1 at most {edf:.1f} %, the others at least {others:.1f} %", others > edf


def _table_6(study: QuotaStudy) -> pd.DataFrame:
    """Errors of Benchmark 1."""
    return pd.DataFrame(
        {"system": name, "application": arrival.app, "error": round(ours, 1), "error_paper": paper}
        for name, case in _B1.items()
        for arrival, ours, paper in zip(case.arrivals, study.errors(case), fixed.TABLE_6[name], strict=True)
    )


def _grid_table(
    study: QuotaStudy,
    cases: Mapping[tuple[str, int], QuotaCase],
    paper: Mapping[tuple[str, int], tuple[int, int, float, float]],
) -> pd.DataFrame:
    rows = []
    for (name, gamma), case in cases.items():
        errors, known = study.errors(case), paper[name, gamma]
        rows.append(
            {
                "strategy": f"{name.replace('proportional', 'prop.')} {gamma}",
                "late": _late(errors),
                "late_paper": known[1],
                "early_sum": round(sum(error for error in errors if error >= fixed.LATE), 1),
                "early_sum_paper": known[2],
                "late_sum": round(_late_by(errors), 1),
                "late_sum_paper": known[3],
            }
        )
    return pd.DataFrame(rows)


_B2_CASES, _B3_CASES = tuple(_B2.values()), tuple(_B3.values())
_IGNORED, _LIGHT = "gamma that is ignored", "work that fits"

TOGETHER = Experiment(
    statements=(
        Statement("6-fifo", "7.2", "Benchmark 1, Spark: errors 80.3, 65.0, -18.8 %",
                  partial(_near, name="fifo", most=fixed.FIFO_OFF),
                  "follows from the work, which was derived from these errors", (), (_FIFO,)),
        Statement("6-edf-all", "7.2", "Benchmark 1, EDF_all gamma 1: 74.0, 36.6, 32.5 % (within 7 points)",
                  partial(_near, name="edf_all gamma 1", most=fixed.EDF_ALL_OFF),
                  _IGNORED, ("gamma-0",), (_B1["edf_all gamma 1"],)),
        Statement("6-edf-pure", "7.2", "Benchmark 1, EDF_pure gamma 0: none late, none more than 6 % early", _edf_pure,
                  "gamma of 1", ("gamma-1",), (_B1["edf_pure gamma 0"],)),
        Statement("8-gamma", "7.2", "Benchmark 2: gamma 1 has larger errors, for every strategy", _gamma,
                  _IGNORED, ("gamma-0",), _B2_CASES),
        Statement("8-edf-all", "7.2", "Benchmark 2: EDF_all gamma 1 has the largest, 111.7 % in sum (within 10 %)",
                  _largest, _IGNORED, ("gamma-0",), _B2_CASES),
        Statement("8-edf", "7.2", "Benchmark 2: no deadline is missed under EDF", _no_edf_late,
                  "half as much work again", ("heavy",), _B2_CASES),
        Statement("9-overload", "7.2", "Benchmark 3: at least one deadline is missed, whatever the strategy",
                  _overload, _LIGHT, ("light",), _B3_CASES),
        Statement("9-edf-all", "7.2", "Benchmark 3: EDF_all misses one, as clairvoyant EDF", _clairvoyant, _LIGHT,
                  ("light",), _B3_CASES),
        Statement("9-late", "7.2", "Benchmark 3: Proportional and Speed are later than EDF_all and EDF_pure gamma 1",
                  _later, _LIGHT, ("light",), _B3_CASES),
    ),
    exhibits=(
        Exhibit("6-benchmark-1", "Table 6: Benchmark 1", "Means over the seeds, percent.", ("6-",), _table_6),
        Exhibit("8-benchmark-2", "Table 8: Benchmark 2", "Means over the seeds; sums of errors in percent.", ("8-",),
                partial(_grid_table, cases=_B2, paper=fixed.TABLE_8),
                bars("strategy", ("early_sum", "early_sum_paper"), "sum of early errors (%)")),
        Exhibit("9-benchmark-3", "Table 9: Benchmark 3", "As Table 8. Two deadlines are equal: the earlier submission "
                "comes first.", ("9-",), partial(_grid_table, cases=_B3, paper=fixed.TABLE_9),
                bars("strategy", ("late_sum", "late_sum_paper"), "late (%)")),
    ),
)  # fmt: skip
