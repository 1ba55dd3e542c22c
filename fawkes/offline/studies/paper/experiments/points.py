"""7.1: WKLD-A, the points A to E of the nodes over time."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from fawkes.offline.runs.work import Row
from fawkes.offline.studies.paper.experiments.experiment import (
    NO_MOVES,
    REPLAYED,
    Judged,
    PaperClaim,
    PaperExperiment,
    PaperReason,
    course,
)
from fawkes.offline.studies.paper.judging import fixed
from fawkes.offline.studies.paper.rows import CLUSTERS, PaperRows, of_cluster
from fawkes.offline.studies.paper.runs import replay
from fawkes.offline.studies.shared.page import Exhibit

_SECOND_S, _ASKED_S = 100.0, 200.0
"""When c-2 and c-3 of WKLD-A are requested."""


@dataclass(frozen=True, slots=True)
class StepCurve:
    """A step function of time in seconds; 0 before the first step."""

    times: tuple[float, ...]
    values: tuple[float, ...]

    def at(self, moment: float) -> float:
        """Its value at a moment."""
        place = bisect_right(self.times, moment)
        return self.values[place - 1] if place else 0.0

    def first(self, holds: Callable[[float], bool], after: float = 0.0) -> float | None:
        """The first moment not before ``after`` with such a value; None when there is none."""
        if holds(self.at(after)):
            return after
        steps = zip(self.times, self.values, strict=True)
        return next((moment for moment, value in steps if moment > after and holds(value)), None)

    def most(self) -> float:
        """Its largest value."""
        return max(self.values, default=0.0)


def curves(row: Mapping[str, Any]) -> dict[str, StepCurve]:
    """The nodes of each MR-cluster, all roles together, of a row with its course."""
    return {name: _total(roles.values()) for name, roles in row["course"]["nodes"].items()}


def _total(parts: Iterable[Sequence[tuple[float, float]]]) -> StepCurve:
    steps = [StepCurve(tuple(at for at, _ in points), tuple(value for _, value in points)) for points in parts]
    times = sorted({at for step in steps for at in step.times})
    return StepCurve(tuple(times), tuple(sum(step.at(at) for step in steps) for at in times))


def points_of(row: Row) -> dict[str, tuple[str, bool]]:
    """The outcome of each point in a row of WKLD-A, with its time, and whether it is as published."""
    held = curves(row)
    works = {name: of_cluster(name, "works_s")(row) for name in CLUSTERS}
    ended = {name: of_cluster(name, "ended_s")(row) for name in CLUSTERS}
    c1, c2, c3 = (held[name] for name in CLUSTERS)
    forty = c1.first(lambda nodes: nodes >= 50)
    before = c1.at(_ASKED_S)
    shrunk = c1.first(lambda nodes: nodes < before, after=_ASKED_S)
    grown = c2.first(lambda nodes: nodes > 10)
    after = max(ended["c-1"], ended["c-2"])

    def at(moment: float | None) -> str:
        return "never" if moment is None else f"{moment:.0f} s"

    return {
        "A": (
            f"c-2 holds {c2.at(101):g} at 101 s; c-1 works from {works['c-1']:.0f} s",
            works["c-1"] > 100 and c2.at(101) == 10 and c1.at(101) == 10,
        ),
        "B": (
            f"c-1 has 50 nodes at {at(forty)}; c-2 works from {works['c-2']:.0f} s",
            forty is not None and _SECOND_S < forty <= works["c-2"],
        ),
        "C": (
            f"c-1 has {before:g} nodes at {at(_ASKED_S)}, when c-3 is requested, and fewer from {at(shrunk)}",
            before > 10 and shrunk is not None and shrunk <= _ASKED_S + fixed.SHRINKS and c3.at(works["c-3"]) >= 10,
        ),
        "D": (
            f"c-2 has more than 10 nodes at {at(grown)} and up to {c2.most():g}",
            grown is not None and c1.at(grown + 30) < c1.at(shrunk or grown),
        ),
        "E": (
            f"c-3 has at most {c3.most():g} nodes; c-1 and c-2 have finished at {after:.0f} s",
            c3.first(lambda nodes: nodes >= 60) is not None,
        ),
    }


def _first(rows: PaperRows) -> dict[str, tuple[str, bool]]:
    return points_of(rows.replays("WKLD-A", "JD", "TR")[0])


def _rules(rows: PaperRows) -> Iterator[Judged]:
    yield from ((f"7.1-{name}", *outcome) for name, outcome in _first(rows).items())


def _more_of_c3(rows: PaperRows) -> str | None:
    text, holds = _first(rows.of_model("more-of-c-3"))["E"]
    return f"with twice the jobs c-3 grows to 60: {text}" if holds else None


_FIRST = (replay("WKLD-A", "JD", "TR"),)
_LITTLE_LEFT = PaperReason(
    "c-3 has too little work left when c-1 and c-2 have given their nodes back", _more_of_c3, "more-of-c-3", _FIRST
)


def _table(rows: PaperRows) -> pd.DataFrame:
    """The points A to E in the first replay of WKLD-A."""
    published = [statement.published.partition(": ")[2] for statement in POINTS.statements]
    return pd.DataFrame(
        {"point": name, "published": text, "ours": ours, "so": "yes" if so else "no"}
        for text, (name, (ours, so)) in zip(published, _first(rows).items(), strict=True)
    )


POINTS = PaperExperiment(
    "7.1", "points", "WKLD-A, the points A to E.", _rules,
    runs=tuple(replay("WKLD-A", "JD", "TR", number=number) for number in range(fixed.REPLAYS)),
    quick=_FIRST, swept=_FIRST, refuting=_FIRST, ranged=_FIRST,
    statements=(
        PaperClaim("7.1-A", "WKLD-A, A: c-2 arrives while c-1 loads (the storage rate is derived from this) and gets "
                  "10 of the 50 idle nodes",
                  "follows from the rate of the storage, which was derived from this point"),
        PaperClaim("7.1-B", "WKLD-A, B: c-1 has jobs while c-2 loads and gets the other 40",
                  "c-1 gets no idle nodes while c-2 loads", (NO_MOVES, "no-loading")),
        PaperClaim("7.1-C", "WKLD-A, C: c-1 shrinks for c-3's minimum",
                  "c-1 has nothing to give when c-3 is requested", (NO_MOVES,)),
        PaperClaim("7.1-D", "WKLD-A, D: c-1 shrinks for c-2's share, c-2 grows",
                  "c-2 does not grow at the cost of c-1", (NO_MOVES,)),
        PaperClaim("7.1-E", "WKLD-A, E: c-3 grows to all 60 when c-1 and c-2 have finished",
                  "c-3 never holds all nodes", (NO_MOVES,), (_LITTLE_LEFT,)),
    ),
    exhibits=(
        Exhibit("7-1-wkld-a", "7.1 WKLD-A: the five points", REPLAYED + "60 nodes, TR, JD, T = 60 s; replay 0.",
                ("7.1",), _table),
        course("WKLD-A", "JD", "TR"),
    ),
)  # fmt: skip
