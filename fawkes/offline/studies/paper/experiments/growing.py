"""6.3: an MR-cluster grows before the job."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import TYPE_CHECKING

import pandas as pd

from fawkes.offline.studies.paper.experiments.experiment import (
    ONE,
    Judged,
    PaperClaim,
    PaperExperiment,
    PaperReason,
)
from fawkes.offline.studies.paper.judging import fixed
from fawkes.offline.studies.paper.rows import PaperRows, rounded
from fawkes.offline.studies.paper.runs import APPS, ROLES, PaperRun, application, plain
from fawkes.offline.studies.shared.page import Exhibit
from fawkes.offline.studies.shared.pictures import draw_line, figure_of
from fawkes.offline.studies.shared.verdicts import line_fit, slope
from fawkes.report.pictures.style import styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TENTHS = tuple(number / 10 for number in range(1, 11))
_JUDGED = tuple(fraction for fraction in TENTHS if fraction <= fixed.GROW_MOST)


def grown(app: str, role: str, fraction: float) -> PaperRun:
    """An application on 20 core nodes and a fraction of them more, of that role."""
    return application(app, fixed.MICRO_NODES, role, round(fixed.MICRO_NODES * fraction))


def grow(fractions: Sequence[float] = TENTHS) -> tuple[PaperRun, ...]:
    """20 core nodes and these fractions of them more."""
    return (*map(plain, APPS), *(grown(*each) for each in product(APPS, ROLES, fractions)))


def _speedup(rows: PaperRows, app: str, role: str, fraction: float) -> float:
    return rows.seconds(plain(app)) / rows.seconds(grown(app, role, fraction))


def _speedups(rows: PaperRows, app: str, role: str) -> list[tuple[float, float]]:
    """Speed-up over f, from 0 to 0.5, of the fractions that were run."""
    for end in (TENTHS[0], fixed.GROW_MOST):
        rows.row(grown(app, role, end))
    more = [each for each in _JUDGED if rows.has(grown(app, role, each))]
    return [(0.0, 1.0), *((each, _speedup(rows, app, role, each)) for each in more)]


def _rules(rows: PaperRows) -> Iterator[Judged]:
    for role, apps in (("TC", APPS), ("TR", tuple(app for app in APPS if app not in ("ST", "PR")))):
        points = {app: _speedups(rows, app, role) for app in apps}
        fits = {app: line_fit(each) for app, each in points.items()}
        ends = {app: each[-1][1] for app, each in points.items()}
        text = ", ".join(f"{app} {ends[app]:.2f} (R2 {fit:.3f})" for app, fit in fits.items())
        grows = min(ends.values()) >= 1 + fixed.GROWS * fixed.GROW_MOST
        yield f"6.3-{role}", f"at f = 0.5: {text}", grows and min(fits.values()) >= fixed.LINEAR
    by_tc, by_tr = _speedups(rows, "ST", "TC"), _speedups(rows, "ST", "TR")
    first, last = slope(by_tr[:3]), slope(by_tr[-3:])
    text = f"at f = 0.5 TR {by_tr[-1][1]:.2f}, TC {by_tc[-1][1]:.2f}; TR's slope goes from {first:.2f} to {last:.2f}"
    behind = by_tr[-1][1] - 1 <= fixed.FLATTENS * (by_tc[-1][1] - 1)
    yield "6.3-sort", text, behind and last < first


def _slope_by_chance(rows: PaperRows) -> str | None:
    """The change of the slope with each seed, where its sign changes."""
    each = [[1 + more for more in rows.slower_each(plain("ST"), grown("ST", "TR", fraction))] for fraction in _JUDGED]
    bends = []
    for speedups in zip(*each, strict=True):
        points = [(0.0, 1.0), *zip(_JUDGED, speedups, strict=True)]
        bends.append(slope(points[-3:]) - slope(points[:3]))
    if min(bends) < 0 < max(bends):
        return "change of the slope by seed: " + ", ".join(f"{bend:+.2f}" for bend in bends)
    return None


_NO_GAIN = "half the nodes more gain less than 25 %, or the gain is no line"
_BY_CHANCE = "The bend up to f = 0.5 is within chance: its sign changes from seed to seed"


def _table(rows: PaperRows) -> pd.DataFrame:
    """The speed-up, a row for each application and role, a column for each fraction that was run."""
    rows.row(grown("ST", "TR", TENTHS[0]))
    some = [each for each in TENTHS if rows.has(grown("ST", "TR", each))]
    return pd.DataFrame(
        {
            "application": app,
            "role": role,
            **{f"f={each:g}": rounded(_speedup(rows, app, role, each), 2) for each in some},
        }
        for app, role in product(APPS, ROLES)
    )


@styled
def _figure(table: pd.DataFrame) -> Figure:
    """Speed-up over the fraction of nodes added: a panel for TC and one for TR."""
    figure, panels = figure_of(2)
    names = [name for name in table.columns if name.startswith("f=")]
    fractions = [0.0, *(float(name.removeprefix("f=")) for name in names)]
    for panel, role in zip(panels, ROLES, strict=True):
        for at, row in enumerate(table[table["role"] == role].to_dict("records")):
            speedups = [1.0, *(row[name] for name in names)]
            draw_line(panel, at, fractions, speedups, row["application"] if role == "TC" else None)
        linear = "linear" if role == "TC" else None
        panel.plot([0, fractions[-1]], [1, 1 + fractions[-1]], color="grey", linestyle=":", label=linear)
        panel.set_xlabel(f"nodes added, {role} (part of 20 core nodes)")
    panels[0].set_ylabel("speed-up")
    figure.legend(loc="outside lower center", ncols=4)
    return figure


GROWING = PaperExperiment(
    "6.3", "grow", "growing before the job.", _rules,
    runs=grow(), quick=grow(_JUDGED), swept=grow((0.1, 0.3, 0.5)), refuting=grow(_JUDGED),
    statements=(
        PaperClaim("6.3-TC", "growing by TC: speed-up linear in the number of TC nodes, all applications", _NO_GAIN,
                  ("serial",)),
        PaperClaim("6.3-TR", "growing by TR: speed-up good (linear) for all but Sort and PageRank", _NO_GAIN,
                  ("serial",)),
        PaperClaim("6.3-sort", "growing by TR: Sort's speed-up flattens",
                  "Sort gains as much by TR as by TC, or its slope does not fall", ("no-disks", "same-roles"),
                  (PaperReason(_BY_CHANCE, _slope_by_chance),)),
    ),
    exhibits=(
        Exhibit("6-3-grow", "6.3 Growing before the job", ONE + "And a fraction of them more; judged up to f = 0.5.",
                ("6.3",), _table, _figure),
    ),
)  # fmt: skip
