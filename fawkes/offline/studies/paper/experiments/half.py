"""6.1: half of the nodes of an MR-cluster are transient or transient-core, and so hold no input."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from fawkes.offline.studies.paper.experiments.experiment import ONE, Judged, PaperClaim, PaperExperiment
from fawkes.offline.studies.paper.judging import fixed
from fawkes.offline.studies.paper.rows import PaperRows, percents, rounded
from fawkes.offline.studies.paper.runs import APPS, ROLES, PaperRun, application, plain
from fawkes.offline.studies.shared.page import Exhibit
from fawkes.offline.studies.shared.pictures import bars
from fawkes.offline.studies.shared.verdicts import percent

_COMPUTE_APPS = ("WC", "PR", "TT")
_FITTED = "follows from the fit of the constants to this figure"
_NO_EFFECT = ("no-disks", "same-roles")


def on_half(app: str, role: str) -> PaperRun:
    """An application on half core nodes and half of that role."""
    return application(app, fixed.MICRO_NODES // 2, role, fixed.MICRO_NODES // 2)


_RUNS = tuple(run for app in APPS for run in (plain(app), *(on_half(app, role) for role in ROLES)))


def _slower(rows: PaperRows, app: str, role: str) -> float:
    return rows.slower(on_half(app, role), plain(app))


def _rules(rows: PaperRows) -> Iterator[Judged]:
    for role, published in (("TR", 0.40), ("TC", 0.23)):
        ours = _slower(rows, "ST", role)
        yield f"6.1-sort-{role}", percent(ours), abs(ours - published) <= fixed.SORT_BAND
    for app in ("KM", "AH"):
        text = f"TR {percent(_slower(rows, app, 'TR'))}, TC {percent(_slower(rows, app, 'TC'))}"
        each = (rows.slower_each(on_half(app, role), plain(app)) for role in ("TR", "TC"))
        yield f"6.1-{app}", text, all(by_tr - by_tc >= fixed.BY_TC for by_tr, by_tc in zip(*each, strict=True))
    worst = {app: max(_slower(rows, app, role) for role in ROLES) for app in _COMPUTE_APPS}
    sort = _slower(rows, "ST", "TR")
    text = ", ".join(f"{app} {percent(value)}" for app, value in worst.items())
    most = max(worst.values())
    yield "6.1-compute", f"{text}; Sort {percent(sort)}", most <= fixed.LITTLE and sort >= most + fixed.MATTERS


def _table(rows: PaperRows) -> pd.DataFrame:
    """Seconds, and how much longer with half TC and half TR, in percent: mean, least and most over the seeds."""
    return pd.DataFrame(
        {
            "application": app,
            "core_s": rounded(rows.seconds(plain(app))),
            **{f"half_{role}_percent": rounded(100 * _slower(rows, app, role)) for role in ROLES},
            **{f"{role}_least_most": percents(rows.slower_each(on_half(app, role), plain(app))) for role in ROLES},
        }
        for app in APPS
    )


HALF = PaperExperiment(
    "6.1", "half", "half core, half transient or transient-core nodes.", _rules,
    runs=_RUNS, quick=_RUNS, swept=_RUNS, refuting=_RUNS,
    statements=(
        PaperClaim("6.1-sort-TR", "Sort, half TR: +40 % (fitted on)", _FITTED),
        PaperClaim("6.1-sort-TC", "Sort, half TC: +23 % (fitted on)", _FITTED),
        PaperClaim("6.1-KM", "KM: TC improves over TR", "KM loses as much by TC as by TR", _NO_EFFECT),
        PaperClaim("6.1-AH", "AH: TC improves over TR", "AH loses as much by TC as by TR", _NO_EFFECT),
        PaperClaim("6.1-compute", "compute-bound applications (WC, PR, TT) suffer little",
                  "a compute-bound application loses more than 10 %, or Sort no more than they do",
                  ("disk-bound", "no-disks")),
    ),
    exhibits=(
        Exhibit("6-1-half", "6.1 Half of the nodes transient or transient-core", ONE + "20 core against 10 + 10 nodes.",
                ("6.1",), _table, bars("application", ("half_TC_percent", "half_TR_percent"), "longer (%)")),
    ),
)  # fmt: skip
