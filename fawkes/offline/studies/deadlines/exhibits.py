"""Tables and figures of the deadline chapter: chapters 4 and 5 of the dissertation, and the follow-up paper."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from typing import TYPE_CHECKING

import pandas as pd

from fawkes.offline.studies.deadlines import traces
from fawkes.offline.studies.deadlines.runs import (
    CHAPTER_4,
    CHAPTER_5,
    FOLLOW_UP,
    FURTHER,
    J0,
    KINDS,
    OF_CHAPTER_4,
    ORACLE,
    REACTIVE,
    READINGS,
    SEEDS,
    TR1_CAPACITIES,
    TR1_MIDDLE,
    TR1_SMALL,
    TR2_CAPACITIES,
    TR2_MIDDLE,
    TR2_SMALL,
)
from fawkes.offline.studies.deadlines.study import MODELS, DeadlineStudy
from fawkes.offline.studies.deadlines.verdicts import Read
from fawkes.offline.studies.flat.metrics import EDGES_S, ENDS, GROUPS, mean_of_plain
from fawkes.offline.studies.shared.page import Exhibit
from fawkes.offline.studies.shared.pictures import bars, lines
from fawkes.offline.studies.shared.verdicts import NotRunError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_TR1 = f"TR1's twin, means over seeds {SEEDS[0]} to {SEEDS[-1]}. "
_TR2 = "TR2's twin, seed 1. "
_BY_TYPE: tuple[tuple[str, str, tuple[str, ...], Mapping[str, str]], ...] = (
    ("4.4 variable", "sdr", ("4-variable-sdr", "4-variable-oracle", "4-priority"), CHAPTER_4),
    ("4.5 variable", "ptr", ("4-variable-ptr",), CHAPTER_4),
    ("4 variable", "wtr", ("4-waste",), CHAPTER_4),
    ("5.2", "fairness", ("5-fairness",), CHAPTER_5),
    ("5.3", "equality", ("5-equality",), CHAPTER_5),
    ("5.4", "sdr", ("5-sdr",), CHAPTER_5),
    ("5.5", "ptr", ("5-ptr",), CHAPTER_5),
    ("5.6", "wtr", ("5-wtr",), CHAPTER_5),
    ("5.7", "utilisation", ("5-utilisation", "5-more-with-less"), CHAPTER_5),
)
"""Figures by deadline type: number, metric, the verdicts that stand there, and the allocators."""


def exhibits(reads: Sequence[Read]) -> Iterator[Exhibit]:
    """All tables and figures in the order of the chapters, then what the readings give, and the refuting models.

    Their tables are made of a `DeadlineStudy` in which ``JUSTICE`` is what Fawkes has by default, not as printed.
    """
    yield from traces.EXHIBITS
    yield from _over_capacities()
    for number, metric, verdicts, allocators in _BY_TYPE:
        name, figure = number.replace(".", "-").replace(" ", "-"), f"Figure {number}"
        for capacity in (TR1_SMALL, TR1_MIDDLE):
            title = f"{figure if '.' in number else 'Variable deadlines'}: {metric} at {capacity} CPUs"
            shown = verdicts if capacity == TR1_SMALL else ()
            yield _by_type(f"{name}-{metric}-{capacity}", title, _TR1, shown, metric, capacity, allocators, "TR1")
    yield from _chapter_5()
    yield from _follow_up()
    yield _readings(reads)
    models = pd.DataFrame({"model": name, "what it is": model.about} for name, model in MODELS.items())
    how = "In each, allocators stand for others. A rule that holds there too proves nothing."
    yield Exhibit("models", "Refuting models", how, (), lambda _: models)


# --- over the capacity, and by deadline type


def _over_capacities() -> Iterator[Exhibit]:
    for number, metric in (("4.2", "sdr"), ("4.3", "ptr")):
        yield Exhibit(
            f"{number.replace('.', '-')}-{metric}",
            f"Figure {number}: {metric.upper()} with Fixed2x over the capacity",
            "Means over the seeds that were run.",
            ("4-fixed", "4-unconstrained") if metric == "sdr" else (),
            partial(_capacities, metric),
            partial(_over_capacity, metric),
        )


def _capacities(metric: str, study: DeadlineStudy) -> pd.DataFrame:
    """A metric with Fixed2x, for each trace and capacity."""
    some = [("TR1", each) for each in TR1_CAPACITIES] + [("TR2", each) for each in TR2_CAPACITIES]
    return pd.DataFrame(
        {"trace": trace, "cpus": cpus, **_values(study, metric, "Fixed2x", cpus, CHAPTER_4, trace)}
        for trace, cpus in some
    )


def _over_capacity(metric: str, table: pd.DataFrame) -> Figure:
    draw = lines("cpus", tuple(CHAPTER_4), "CPUs (TR1)", metric)
    return draw(table[table["trace"] == "TR1"])


def _by_type(
    name: str, title: str, how: str, verdicts: tuple[str, ...],
    metric: str, capacity: int, allocators: Mapping[str, str], trace: str,
) -> Exhibit:  # fmt: skip
    """A table and figure of a metric for each deadline type and allocator."""
    kinds = OF_CHAPTER_4 if allocators is CHAPTER_4 else KINDS

    def table(study: DeadlineStudy) -> pd.DataFrame:
        frame = pd.DataFrame(
            {"deadlines": kind, **_values(study, metric, kind, capacity, allocators, trace)} for kind in kinds
        )
        if frame.drop(columns="deadlines").isna().all(axis=None):
            raise NotRunError(f"not run: {trace} on {capacity} CPUs")
        return frame

    return Exhibit(name, title, how, verdicts, table, bars("deadlines", tuple(allocators), metric))


def _values(
    study: DeadlineStudy, metric: str, kind: str, capacity: int, allocators: Mapping[str, str], trace: str = "TR1"
) -> dict[str, float]:
    """A metric under each of these allocators; not a number where that was not run."""

    def value(allocator: str) -> float:
        try:
            return round(study.value(metric, kind, capacity, allocator, trace), 4)
        except NotRunError:
            return float("nan")

    return {name: value(allocator) for name, allocator in allocators.items()}


# --- chapter 5


def _chapter_5() -> Iterator[Exhibit]:
    yield Exhibit(
        "5-unserved", "Parts of the work: useful, wasted, unserved", _TR1 + "They add up to 1.", (),
        partial(_by_allocator, ("ptr", "wtr", "unserved"), 100.0),
    )  # fmt: skip
    yield Exhibit(
        "5-ends", "How the jobs ended", f"Mean numbers of jobs by how they ended: {', '.join(ENDS[1:])}. " + _TR1, (),
        partial(_by_allocator, ENDS[1:], 1.0),
    )  # fmt: skip
    yield Exhibit(
        "5-8-idle", "Figure 5.8: idle groups of CPUs",
        _TR1 + f"{TR1_SMALL} CPUs, Aria1x3x. Groups of 10 and of 100 CPUs that are idle at once, in percent.",
        ("5-idle",), _idle, _idle_times,
    )  # fmt: skip
    for metric in ("sdr", "ptr"):
        yield Exhibit(
            f"5-readings-{metric}", f"{metric.upper()} under each reading of Justice", _TR1,
            (), partial(_justice, metric),
        )  # fmt: skip
    yield Exhibit(
        "5-welch", "Welch's test: fairness of Justice as printed against Reactive FS", "Seed 1, samples of 60 s.", (),
        _tests,
    )  # fmt: skip


def _by_allocator(metrics: Sequence[str], factor: float, study: DeadlineStudy) -> pd.DataFrame:
    """Metrics times a factor, a row for each capacity, deadline type and allocator."""
    return pd.DataFrame(
        {
            "cpus": capacity,
            "deadlines": kind,
            "allocator": name,
            **{each: round(factor * study.value(each, kind, capacity, allocator), 2) for each in metrics},
        }
        for capacity, kind, (name, allocator) in product((TR1_SMALL, TR1_MIDDLE), KINDS, CHAPTER_5.items())
    )


def _idle(study: DeadlineStudy) -> pd.DataFrame:
    """The shares of idle groups of CPUs, and which parts of their idle times are longer, in percent."""

    def percent(size: int, allocator: str, seconds: int = 0) -> float:
        return round(100 * study.idle(size, "Aria1x3x", TR1_SMALL, allocator, seconds), 1)

    return pd.DataFrame(
        {
            "group": size,
            "allocator": name,
            "exists": percent(size, allocator),
            **{f"above_{seconds}_s": percent(size, allocator, seconds) for seconds in EDGES_S[5:14]},
        }
        for size, (name, allocator) in product(GROUPS, CHAPTER_5.items())
    )


def _idle_times(table: pd.DataFrame) -> Figure:
    """Figure 5.8: of each allocator the part of idle times of ten CPUs that last longer."""
    tens = table[table["group"] == GROUPS[0]].set_index("allocator").drop(columns=["group", "exists"]).T
    tens.insert(0, "seconds", [name.split("_")[1] for name in tens.index])
    names = tuple(name for name in tens.columns if name != "seconds")
    return lines("seconds", names, "seconds", "longer idle times of 10 CPUs (%)")(tens)


def _justice(metric: str, study: DeadlineStudy) -> pd.DataFrame:
    """A metric for each reading of Justice, beside Reactive FS and the Oracle."""
    columns = {"Reactive": REACTIVE, "Oracle": ORACLE, **READINGS, **FURTHER}
    return pd.DataFrame(
        {"cpus": capacity, "deadlines": kind, **_values(study, metric, kind, capacity, columns)}
        for capacity, kind in product((TR1_SMALL, TR1_MIDDLE), KINDS)
    )


def _tests(study: DeadlineStudy) -> pd.DataFrame:
    """Welch's t, degrees of freedom and p for each type and capacity, and both kinds of 95 % intervals of Justice."""
    table = []
    for capacity, kind in product((TR1_SMALL, TR1_MIDDLE), KINDS):
        test = study.fairness_test(kind, capacity, J0, REACTIVE)
        fair, shares = (mean_of_plain(study.rows(kind, capacity, name)[0]["fairness"]) for name in (J0, REACTIVE))
        table.append(
            {
                "cpus": capacity,
                "deadlines": kind,
                "justice": round(fair.mean, 4),
                "interval": _half(fair.half_width),
                "interval_by_days": _half(fair.batch_half_width),
                "reactive": round(shares.mean, 4),
                "t": "" if test is None else f"{test.t:.1f}",
                "df": "" if test is None else f"{test.df:.0f}",
                "p": "" if test is None else f"{test.p:.2g}",
            }
        )
    return pd.DataFrame(table)


def _half(width: float | None) -> str:
    return "" if width is None else f"+- {width:.4f}"


# --- the follow-up paper, and the readings


def _follow_up() -> Iterator[Exhibit]:
    verdicts = {"equality": ("P2-equality",), "sdr": ("5-tr2", "P2-sdr"), "ptr": ("P2-ptr",)}
    metrics = ("equality", "fairness", "sdr", "ptr", "wtr", "utilisation")
    for metric, capacity in product(metrics, (TR2_SMALL, TR2_MIDDLE)):
        title = f"Follow-up paper: {metric} on TR2, {capacity} CPUs"
        shown = verdicts.get(metric, ()) if capacity == TR2_SMALL else ()
        yield _by_type(f"p2-{metric}-{capacity}", title, _TR2, shown, metric, capacity, FOLLOW_UP, "TR2")


def _readings(reads: Sequence[Read]) -> Exhibit:
    names = list(dict.fromkeys(read.reading for read in reads))
    outcomes: dict[str, dict[str, str]] = {}
    for read in reads:
        outcomes.setdefault(read.name, {})[read.reading] = "holds" if read.holds else "no"
    table = pd.DataFrame(
        {"statement": name, **{each: outcome.get(each, "") for each in names}} for name, outcome in outcomes.items()
    )
    said = "; ".join(f"{name}: {text}" for name, text in {**READINGS, **FURTHER}.items())
    how = (
        "Whether each rule holds under each reading, one at a time. Justice as printed is J0 (errors against the CPUs "
        f"that were granted). {said}. Fair share tops up running jobs, or is static."
    )
    return Exhibit("readings", "What the readings give", how, (), lambda _: table)
