"""6.2: an MR-cluster on two sites."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pandas as pd

from fawkes.offline.studies.paper.experiments.experiment import ONE, Judged, PaperClaim, PaperExperiment
from fawkes.offline.studies.paper.judging import fixed
from fawkes.offline.studies.paper.rows import PaperRows, percents, rounded
from fawkes.offline.studies.paper.runs import APPS, PaperRun, application, plain
from fawkes.offline.studies.shared.page import Exhibit
from fawkes.offline.studies.shared.pictures import bars
from fawkes.offline.studies.shared.verdicts import percent

_APPS = (*APPS, "BT")
_LINKS = ("slow-link", "no-link")


def on_sites(app: str, link: float = 1.0) -> PaperRun:
    """An application on two sites; ``link`` is the part that the link between them has of its capacity."""
    return application(app, fixed.MICRO_NODES, sites=2, link=link)


RUNS = (*map(plain, _APPS), *(on_sites(app, link) for app, link in product(_APPS, (1.0, fixed.THIN))))
"""20 nodes on one site and on two, with the link and with a thin one."""


def _slower(rows: PaperRows, app: str, link: float = 1.0) -> float:
    return rows.slower(on_sites(app, link), plain(app))


def _rules(rows: PaperRows) -> Iterator[Judged]:
    for app in ("ST", "BT"):
        ours, thin = _slower(rows, app), _slower(rows, app, fixed.THIN)
        text = f"{_tenths(ours)}; {_with_thin(app, thin)}"
        yield f"6.2-{app}", text, ours < fixed.SITES_MOST and thin >= fixed.MATTERS
    some = [app for app in _APPS if app != "ST"]
    others, thin_others = ({app: _slower(rows, app, link) for app in some} for link in (1.0, fixed.THIN))
    low = sum(value < fixed.LITTLE for value in others.values()) > len(others) / 2
    most = max(thin_others, key=lambda app: thin_others[app])
    text = ", ".join(f"{app} {_tenths(value)}" for app, value in others.items())
    yield "6.2-others", f"{text}; {_with_thin(most, thin_others[most])}", low and thin_others[most] >= fixed.MATTERS


def _tenths(value: float) -> str:
    return f"{100 * value:+.1f} %"


def _with_thin(app: str, cost: float) -> str:
    return f"with {percent(fixed.THIN).lstrip('+')} of the link {app} {_tenths(cost)}"


_COSTLY = "two sites cost 20 %, or a link of a tenth costs nothing"


def _table(rows: PaperRows) -> pd.DataFrame:
    """Seconds on one site and on two."""
    return pd.DataFrame(
        {
            "application": app,
            "one_site_s": rounded(rows.seconds(plain(app))),
            "two_sites_s": rounded(rows.seconds(plain(app)) * (1 + _slower(rows, app))),
            "percent": rounded(100 * _slower(rows, app)),
            "thin_link_percent": rounded(100 * _slower(rows, app, fixed.THIN)),
            "least_most": percents(rows.slower_each(on_sites(app), plain(app))),
        }
        for app in _APPS
    )


SITES = PaperExperiment(
    "6.2", "sites", "20 nodes on two sites.", _rules, runs=RUNS, quick=RUNS, swept=RUNS, refuting=RUNS,
    statements=(
        PaperClaim("6.2-ST", "two sites: Sort less than +20 %", _COSTLY, _LINKS),
        PaperClaim("6.2-BT", "two sites: the whole of BTWorld less than +20 %", _COSTLY, _LINKS),
        PaperClaim("6.2-others", "two sites: most applications low overhead",
                  "most lose 10 %, or a link of a tenth costs none of them anything", _LINKS),
    ),
    exhibits=(
        Exhibit("6-2-sites", "6.2 Two sites", ONE + "All core; 10 on each of two sites with 10 Gb/s between them.",
                ("6.2",), _table, bars("application", ("percent",), "longer (%)")),
    ),
)  # fmt: skip
