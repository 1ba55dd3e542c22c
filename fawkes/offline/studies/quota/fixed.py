"""Numbers that the paper of Baresi et al. reports, assumptions where it is silent, and the bands of the rules.

All of this was committed before the chapter's runs were made. The paper has no durations of single applications, no
stages but PageRank's nine, and no figures in numbers, so errors, ratios, signs and orders are judged.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import log
from typing import Final, NamedTuple

SEEDS: Final = (1, 2, 3, 4, 5)
NODES, CORES = 4, 16
"""Four workers with 16 cores each (64 usable cores)."""
RELAXED: Final = (0, 20, 40)
"""The deadline of the tests, in percent over the time on all cores."""
SPREAD: Final = 0.3
"""Tasks differ in length by 30 % (uniform), so that they do not end in waves."""
RANKS: Final = 100
"""Skewed tasks have lengths 1 to so many, by Zipf's law; the paper gives no number."""
DELAY_S: Final = 0.3
"""From the decision to the quota in force: hundreds of milliseconds (section 5.1)."""
LIMIT_S: Final = 3_000.0
COARSE_TASKS: Final = 25
"""Tasks of an executor in the model `coarse`: less than two waves."""
OVERHEAD: Final = 1.10
"""Work of Benchmark 2 under xSpark, as a multiple of Table 6's (fitted on EDF_all with gamma 1)."""


class QuotaRow(NamedTuple):
    """A row of Table 4: percent, percent, cores."""

    error: float
    stage_error: float
    cores: float


class StudyApplication(NamedTuple):
    """An application: seconds on all cores (Table 6; for Benchmark 3 what its overload implies), its stages as parts
    of these, the tasks of an executor, the nominal rate, and its rows of Table 4 by how far the deadline is relaxed.

    ``narrow`` is the place of a stage with fewer tasks than an executor has cores ("some stages lack parallelism").
    """

    work_s: float
    parts: tuple[float, ...]
    tasks: int
    rate: float
    table_4: Mapping[int, QuotaRow]
    narrow: int | None = None

    @property
    def theta(self) -> float:
        """The exponent of speed ~ cores^theta, from the rows of x1.0 and x1.4 alone."""
        tight, loose = self.table_4[0], self.table_4[40]
        times = 1.4 * (1 - loose.error / 100) / (1 - tight.error / 100)
        return log(times) / log(tight.cores / loose.cores)


def _rows(*values: tuple[float, float, float]) -> Mapping[int, QuotaRow]:
    return {relaxed: QuotaRow(*row) for relaxed, row in zip(RELAXED, values, strict=True)}


APPLICATIONS: Final[Mapping[str, StudyApplication]] = {
    "aggr-by-key": StudyApplication(90.0, (0.6, 0.4), 1250, 319e3,
                               _rows((-0.90, 3.00, 60.41), (0.78, 1.05, 37.63), (0.26, 0.25, 29.15))),
    "aggr-by-key-int": StudyApplication(90.0, (0.6, 0.4), 1250, 267e3,
                                   _rows((-2.31, 4.81, 62.22), (0.77, 0.85, 39.21), (0.77, 0.52, 30.86))),
    "group-by": StudyApplication(86.6, (0.4, 0.6), 1250, 486e3,
                            _rows((-1.73, 5.67, 61.57), (0.28, 0.60, 42.95), (0.31, 0.36, 34.59))),
    "sort-by-key": StudyApplication(90.0, (0.1, 0.4, 0.5), 1250, 400e3,
                               _rows((-1.31, 0.79, 59.19), (1.18, 0.41, 45.23), (0.44, 0.31, 35.44))),
    "sort-by-key-int": StudyApplication(90.0, (0.1, 0.4, 0.5), 1250, 400e3,
                                   _rows((-2.48, 1.32, 59.19), (0.32, 0.21, 46.44), (0.42, 0.15, 38.29))),
    "KMeans": StudyApplication(85.9, (0.3, 0.3, 0.05, 0.35), 250, 5142e3,
                          _rows((-0.92, 1.71, 54.43), (0.89, 0.94, 43.08), (0.58, 0.72, 36.15)), narrow=2),
    "PageRank": StudyApplication(59.1, (0.2, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.05, 0.15), 250, 671e3,
                            _rows((-1.20, 2.70, 58.77), (0.71, 1.03, 44.76), (0.61, 0.68, 37.93)), narrow=7),
    "SVM": StudyApplication(77.6, (0.3, 0.25, 0.1, 0.35), 250, 46e3,
                       _rows((0.71, 2.69, 52.62), (1.49, 1.58, 41.62), (1.91, 0.98, 34.39)), narrow=2),
}  # fmt: skip
"""Table 2 and the sheet's nominal rates; the parts of stages are ours, but for PageRank's number of nine."""
NARROW_TASKS: Final = 8
"""Tasks of an executor in a narrow stage, half of its cores."""

STRATEGIES: Final = ("edf_all", "edf_pure", "edf_prop", "proportional", "speed")


class StudyArrival(NamedTuple):
    """An application of a benchmark: when it comes, and its deadline from then on (seconds)."""

    app: str
    at_s: float
    deadline_s: float
    work_s: float


BENCHMARK_1: Final = (
    StudyArrival("PageRank", 0, 300, 59.1),
    StudyArrival("KMeans", 40, 300, 85.9),
    StudyArrival("SVM", 80, 120, 77.6),
)
BENCHMARK_2: Final = tuple(
    StudyArrival(app, at_s, deadline_s, work_s * OVERHEAD)
    for app, at_s, deadline_s, work_s in (("PageRank", 0, 250, 59.1), ("KMeans", 40, 160, 85.9), ("SVM", 80, 250, 77.6))
)
BENCHMARK_3: Final = (
    StudyArrival("aggr-by-key", 0, 120, 90.0),
    StudyArrival("group-by", 40, 200, 86.6),
    StudyArrival("aggr-by-key-int", 80, 160, 90.0),
)
TABLE_6: Final[Mapping[str, tuple[float, float, float]]] = {
    "fifo": (80.3, 65.0, -18.8),
    "edf_all gamma 1": (74.0, 36.6, 32.5),
    "edf_pure gamma 0": (3.6, 5.3, 3.3),
}
TABLE_8: Final[Mapping[tuple[str, int], tuple[int, int, float, float]]] = {
    ("edf_all", 0): (3, 0, 37.2, 0.0), ("edf_all", 1): (3, 0, 111.7, 0.0),
    ("edf_pure", 0): (3, 0, 19.8, 0.0), ("edf_pure", 1): (3, 0, 36.1, 0.0),
    ("edf_prop", 0): (3, 0, 20.1, 0.0), ("edf_prop", 1): (3, 0, 51.2, 0.0),
    ("proportional", 0): (2, 1, 7.5, 13.0), ("proportional", 1): (3, 0, 41.2, 0.0),
    ("speed", 0): (3, 0, 16.5, 0.0), ("speed", 1): (3, 0, 54.4, 0.0),
}  # fmt: skip
"""Applications early and late, and the sums of their errors in percent, by strategy and gamma."""
TABLE_9: Final[Mapping[tuple[str, int], tuple[int, int, float, float]]] = {
    ("edf_all", 0): (2, 1, 39.5, 21.2), ("edf_all", 1): (2, 1, 56.7, 16.6),
    ("edf_pure", 0): (1, 2, 5.8, 26.7), ("edf_pure", 1): (2, 1, 12.1, 22.5),
    ("edf_prop", 0): (1, 2, 5.8, 27.3), ("edf_prop", 1): (1, 2, 6.1, 26.4),
    ("proportional", 0): (1, 2, 3.8, 34.0), ("proportional", 1): (1, 2, 5.0, 30.2),
    ("speed", 0): (1, 2, 5.5, 35.5), ("speed", 1): (1, 2, 5.8, 28.6),
}  # fmt: skip
TABLE_5: Final[Mapping[int, tuple[float, float, float]]] = {
    1: (5.44, 2.86, 2.51), 2: (-4.31, 2.83, 1.72), 3: (-4.50, 2.46, 2.00),
}  # fmt: skip
"""Error, mean and standard deviation of the stages' errors, by the exponent of the skew."""
MISMATCH: Final = (-3.30, 0.86)
"""The error with skewed data and an even profile, and the reverse (exponent 0.5)."""

# --- bands of the rules, in percent unless they say otherwise
ERROR: Final[Mapping[int, float]] = {0: 2.5, 20: 2.0, 40: 2.0}
ERROR_OF_FEW_TASKS: Final = 5.0
"""At x1.0, with 250 tasks an executor."""
STAGE_ERROR: Final[Mapping[int, float]] = {0: 6.0, 20: 1.6, 40: 1.0}
CORES_OFF: Final = 13.0
SAVED: Final = 2.78
CAREFUL_MOST: Final = 7.0
LATE: Final = -0.05
"""An error below this is a missed deadline: it rounds to -0.1 %, the last digit that the paper prints."""
SKEWED, STD_LEAST, STD_MOST = 6.0, 1.5, 3.0
MISMATCHED: Final = 4.0
FIFO_OFF, EDF_ALL_OFF, EDF_PURE_MOST = 2.0, 7.0, 6.0
SUM_OFF: Final = 10.0
TABLE_1_OFF: Final = 0.051
RECOVERED: Final = 0.15
"""The part of the lost core that may still be missing at five response times."""
BETAS: Final = tuple(tenth / 10 for tenth in range(11))
ADEQUATE: Final = (0.2, 0.3, 0.4)
FLAT: Final = 0.5
"""An adequate beta is at most so many points worse than the best one."""
JOIN_S: Final = 20.0
"""A fourth node comes so long after the start, and one of four is lost then."""
NODES_OFF: Final = 2.5
LEAST_NODES: Final = 2
"""The minimum of each of three MR-clusters that share 16 nodes."""
HEAVY, LIGHT = 1.5, 0.6
"""Work of the benchmarks in the models `heavy` and `light`, as a multiple."""
