"""7.2: WKLD-B and C, three MR-clusters whose jobs all come at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

import pandas as pd

from fawkes.offline.studies.paper.experiments.experiment import (
    EQUAL,
    NO_MOVES,
    REPLAYED,
    Judged,
    PaperClaim,
    PaperExperiment,
    PaperReason,
    course,
)
from fawkes.offline.studies.paper.judging import fixed
from fawkes.offline.studies.paper.judging.models import MODELS
from fawkes.offline.studies.paper.rows import (
    CLUSTERS,
    PaperRows,
    apart,
    makespan_s,
    of_cluster,
    rounded,
    span,
)
from fawkes.offline.studies.paper.runs import ROLES, PaperRun, replay
from fawkes.offline.studies.shared.page import Exhibit
from fawkes.offline.studies.shared.pictures import bars
from fawkes.offline.studies.shared.verdicts import percent

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KINDS = (("None", "TC"), ("EQ", "TC"), ("EQ", "TR"), ("TD", "TC"), ("TD", "TR"))
"""Policies and growth types."""
_APPS = {"WC": "WKLD-B", "ST": "WKLD-C"}


def _runs(name: str, replays: int = 1) -> tuple[PaperRun, ...]:
    return tuple(replay(name, *kind, number=number) for number in range(replays) for kind in KINDS)


# --- the makespan, also of WKLD-E


def makespan(rows: PaperRows, name: str, statement: str) -> Judged:
    """Judge that TD shortens the makespan, and more than EQ does."""
    spans = {policy: rows.middle(makespan_s, name, policy) for policy in ("TD", "EQ", "None")}
    text = ", ".join(f"{policy} {value:.0f} s" for policy, value in spans.items())
    shorter = spans["TD"] <= (1 - fixed.HELPS) * spans["None"]
    return statement, text, shorter and rows.ahead(makespan_s, name, ("TD", "TC"), ("EQ", "TC"))


def shorter_makespan(statement: str, workload: str, beginning: str) -> PaperClaim:
    """The statement that TD shortens the makespan of a workload, which `makespan` judges."""

    def any_use_shortens(rows: PaperRows) -> str | None:
        less = 1 - rows.middle(makespan_s, workload, "EQ") / rows.middle(makespan_s, workload, "None")
        return f"EQ shortens it by {100 * less:.0f} %" if less >= fixed.HELPS else None

    return PaperClaim(
        statement,
        f"{beginning}: TD shortens the makespan (more than EQ does)",
        "the makespan is no shorter than under None, or than under EQ",
        (NO_MOVES, EQUAL),
        (PaperReason("Whatever hands out the nodes that None leaves idle shortens the makespan", any_use_shortens),),
    )


# --- rules


def _rules(app: str, rows: PaperRows) -> Iterator[Judged]:
    name = _APPS[app]
    by = {role: rows.middle(apart, name, "TD", role) for role in ROLES}
    for role in ROLES:
        if (app, role) == ("ST", "TR"):
            text = f"c-2 and c-3 drain {100 * by['TR']:.0f} % apart, by TC {100 * by['TC']:.0f} %"
            fails = by["TR"] > fixed.BALANCED and by["TR"] >= by["TC"] + fixed.LESS_BALANCED
            yield f"7.2-{app}-{role}", text, fails
        else:
            without = [rows.middle(apart, name, "None"), rows.middle(apart, name, "EQ", role)]
            text = f"c-2 and c-3 drain {100 * by[role]:.0f} % apart; None {100 * without[0]:.0f} %"
            text += f", EQ {100 * without[1]:.0f} %"
            yield f"7.2-{app}-{role}", text, by[role] <= fixed.BALANCED < min(without)
    kinds = [("TD", "TC"), ("TD", "TR"), ("EQ", "TC"), ("EQ", "TR")]
    still = rows.middle(of_cluster("c-1", "drain_s"), name, "None")
    others = [rows.middle(of_cluster("c-1", "drain_s"), name, *kind) / still - 1 for kind in kinds]
    heavy = [rows.middle(of_cluster("c-3", "drain_s"), name, policy) for policy in ("TD", "None")]
    sooner = heavy[0] / heavy[1] - 1
    text = ", ".join(f"{' '.join(kind)} {percent(value)}" for kind, value in zip(kinds, others, strict=True))
    text = f"against None: {text}; c-3 under TD TC {percent(sooner)}"
    yield f"7.2-{app}-c1", text, max(map(abs, others)) <= fixed.BALANCED < -sooner
    yield makespan(rows, name, f"7.2-{app}-makespan")


def _balanced_in(model: str, workload: str, role: str) -> Callable[[PaperRows], str | None]:
    """A check that c-2 and c-3 drain together in a changed model."""

    def check(rows: PaperRows) -> str | None:
        ours = rows.of_model(model).middle(apart, workload, "TD", role)
        return f"{MODELS[model].meaning}: {100 * ours:.0f} % apart" if ours <= fixed.BALANCED else None

    return check


_CAUSES = {
    "equal-data": "c-3 loads more data than c-2 and begins later, when c-2 has the free nodes already",
    "half-of-c-1": "TD counts the waiting tasks of c-1's many small jobs, which gain little from nodes, so c-1 holds "
    "nodes that c-3 could use",
}


def _balances(app: str, role: str) -> PaperClaim:
    workload = _APPS[app]
    under_td = tuple(replay(workload, "TD", role, number=number) for number in range(fixed.REPLAYS))
    return PaperClaim(
        f"7.2-{app}-{role}",
        f"{app}: TD growing by {role} balances c-2 and c-3",
        "c-2 and c-3 drain apart, or together without TD as well",
        (NO_MOVES, EQUAL),
        tuple(
            PaperReason(claim, _balanced_in(model, workload, role), model, under_td) for model, claim in _CAUSES.items()
        ),
    )


def _unchanged(app: str) -> PaperClaim:
    return PaperClaim(f"7.2-{app}-c1", f"{app}: c-1's makespan hardly changes under any policy",
                     "c-1 drains sooner or later, or c-3 does not drain sooner", ("no-begins", NO_MOVES))  # fmt: skip


def _table(name: str, rows: PaperRows) -> pd.DataFrame:
    """Seconds until the jobs of each MR-cluster have ended, medians over the replays."""
    return pd.DataFrame(
        {
            "policy": kind[0],
            "growth": "" if kind[0] == "None" else kind[1],
            "replays": len(rows.replays(name, *kind)),
            **{
                f"{cluster}_s": rounded(rows.middle(of_cluster(cluster, "drain_s"), name, *kind), 0)
                for cluster in CLUSTERS
            },
            "c2_c3_apart_percent": rounded(100 * rows.middle(apart, name, *kind), 0),
            "apart_least_most": span(100 * each for each in rows.spread(apart, name, *kind)),
            "makespan_s": rounded(rows.middle(makespan_s, name, *kind), 0),
        }
        for kind in KINDS
    )


def _figure(table: pd.DataFrame) -> Figure:
    draw = bars("run", ("c-1_s", "c-2_s", "c-3_s"), "seconds")
    return draw(table.assign(run=table["policy"] + " " + table["growth"]))


def _exhibits(app: str, experiment: str) -> tuple[Exhibit, ...]:
    """The table and figure of a workload, and its courses under TD."""
    name, verdicts = _APPS[app], (f"7.2-{app}", f"7.2-{experiment}")
    how = REPLAYED + "60 nodes, T = 60 s."
    table = Exhibit(f"7-2-{name.lower()}", f"7.2 {name}", how, verdicts, partial(_table, name), _figure)
    return table, course(name, "TD", "TC"), course(name, "TD", "TR")


_B, _C = _runs("WKLD-B"), _runs("WKLD-C")
WORDCOUNT = PaperExperiment(
    "7.2", "wordcount", "WKLD-B.", partial(_rules, "WC"), runs=_runs("WKLD-B", fixed.REPLAYS), quick=_B, refuting=_B,
    statements=(_balances("WC", "TC"), _balances("WC", "TR"), _unchanged("WC"),
                shorter_makespan("7.2-WC-makespan", "WKLD-B", "WC")),
    exhibits=_exhibits("WC", "wordcount"),
)  # fmt: skip
SORT = PaperExperiment(
    "7.2", "sort", "WKLD-C.", partial(_rules, "ST"), runs=_runs("WKLD-C", fixed.REPLAYS), quick=_C, swept=_C,
    refuting=_C,
    statements=(
        _balances("ST", "TC"),
        PaperClaim("7.2-ST-TR", "ST: TD growing by TR fails for c-3",
                  "c-2 and c-3 drain together, or apart by TC as well", (NO_MOVES, "same-roles", "no-disks")),
        _unchanged("ST"),
        shorter_makespan("7.2-ST-makespan", "WKLD-C", "ST"),
    ),
    exhibits=_exhibits("ST", "sort"),
)  # fmt: skip
