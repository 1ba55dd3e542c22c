"""7.3: WKLD-D under the eleven policies, and WKLD-E, where one MR-cluster has most of the load."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product
from statistics import median
from typing import TYPE_CHECKING, Any

import pandas as pd

from fawkes.offline.studies.paper.experiments.balance import makespan, shorter_makespan
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
    makespan_s,
    mean_slowdown,
    of_cluster,
    reconfigurations,
    rounded,
    span,
)
from fawkes.offline.studies.paper.runs import PaperRun, replay
from fawkes.offline.studies.shared.page import Exhibit
from fawkes.offline.studies.shared.verdicts import NotRunError, percent
from fawkes.report.pictures.panels import slowdowns

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_PERFORMANCE = ("JS", "JT", "TT")
POLICIES = ("None", "EQ", "JD", "DD", "TD", "PU", "DU", "RU", *_PERFORMANCE)
_BOTH = (NO_MOVES, EQUAL)


def replays(workload: str, policies: Sequence[str], numbers: int = fixed.REPLAYS) -> tuple[PaperRun, ...]:
    """Make so many replays of a workload under these policies."""
    return tuple(replay(workload, name, number=number) for number, name in product(range(numbers), policies))


def _slowdown(rows: PaperRows, cluster: str, policy: str) -> float:
    return rows.middle(of_cluster(cluster, "slowdown"), "WKLD-D", policy)


def _ahead(rows: PaperRows, first: str, second: str) -> bool:
    return rows.ahead(mean_slowdown, "WKLD-D", (first, "TC"), (second, "TC"))


def _moves(rows: PaperRows, workload: str) -> Judged:
    published, band = fixed.MOVES[workload]
    ours = rows.middle(reconfigurations, workload, "TD")
    least, most = rows.spread(reconfigurations, workload, "TD")
    return f"7.3-moves-{workload[-1]}", f"{ours:g} ({least:g} to {most:g})", abs(ours - published) <= band


def _moved(workload: str) -> PaperClaim:
    published, band = fixed.MOVES[workload]
    return PaperClaim(
        f"7.3-moves-{workload[-1]}",
        f"{workload}: {published} reconfigurations under TD",
        f"fewer than {published - band} reconfigurations or more than {published + band}",
        _BOTH,
    )


def _table(name: str, rows: PaperRows) -> pd.DataFrame:
    """The mean job slowdown of each MR-cluster under each policy that was run, medians over the replays."""
    table: list[dict[str, Any]] = []
    for policy in POLICIES:
        try:
            of_policy = rows.replays(name, policy)
        except NotRunError:
            continue
        slow = {cluster: median(map(of_cluster(cluster, "slowdown"), of_policy)) for cluster in CLUSTERS}
        table.append(
            {
                "policy": policy,
                "replays": len(of_policy),
                **{cluster: rounded(value, 2) for cluster, value in slow.items()},
                "min": rounded(min(slow.values()), 2),
                "median": rounded(median(slow.values()), 2),
                "max": rounded(max(slow.values()), 2),
                "mean": rounded(median(map(mean_slowdown, of_policy)), 2),
                "mean_least_most": span(map(mean_slowdown, of_policy), 2),
                "makespan_s": rounded(median(map(makespan_s, of_policy)), 0),
                "reconfigurations": rounded(median(map(reconfigurations, of_policy)), 0),
            }
        )
    if not table:
        raise NotRunError(f"not run: {name}")
    return pd.DataFrame(table)


def _figure(table: pd.DataFrame) -> Figure:
    """Least, median and most of the mean job slowdown over the MR-clusters, for each policy."""
    return slowdowns(*(list(table[column]) for column in ("policy", "min", "median", "max")))


def _exhibits(name: str, title: str, *verdicts: str) -> tuple[Exhibit, ...]:
    """The table and figure of a workload, and its course under TD."""
    how, beginnings = REPLAYED + "48 nodes, TC, T = 120 s.", tuple(f"7.3-{verdict}" for verdict in verdicts)
    table = Exhibit(f"7-3-{name.lower()}", f"7.3 {name}: {title}", how, beginnings, partial(_table, name), _figure)
    return table, course(name, "TD", "TC")


# --- WKLD-D: what TD gains


def _gain_rules(rows: PaperRows) -> Iterator[Judged]:
    two = {name: _slowdown(rows, "c-2", name) for name in ("TD", "None", "EQ")}
    for against in ("None", "EQ"):
        ours = 1 - two["TD"] / two[against]
        text = f"{two['TD']:.2f} against {two[against]:.2f}: {percent(ours)}"
        yield f"7.3-gain-{against}", text, abs(ours - fixed.IMPROVES) <= fixed.IMPROVES_BAND
        hurt = {name: _slowdown(rows, name, "TD") / _slowdown(rows, name, against) - 1 for name in ("c-1", "c-3")}
        text = ", ".join(f"{name} {percent(value)}" for name, value in hurt.items())
        text = f"mean slowdown {text}; c-2 gains {percent(ours)}"
        yield f"7.3-unharmed-{against}", text, max(hurt.values()) <= fixed.UNHARMED and ours >= fixed.HELPS
    yield _moves(rows, "WKLD-D")


def _falls_with_few_medium(against: str) -> Callable[[PaperRows], str | None]:
    """A check that c-2 of WKLD-D gains more than the paper says, and no more than that with few medium jobs."""

    def gain(rows: PaperRows) -> float:
        return 1 - _slowdown(rows, "c-2", "TD") / _slowdown(rows, "c-2", against)

    def check(rows: PaperRows) -> str | None:
        ours, changed = gain(rows), gain(rows.of_model("few-medium"))
        falls = changed <= fixed.IMPROVES + fixed.IMPROVES_BAND < ours
        return f"{MODELS['few-medium'].meaning}: {percent(changed)}" if falls else None

    return check


def _gains(against: str, models: tuple[str, ...]) -> PaperClaim:
    claim = "The gain depends on the sizes of c-2's jobs, which the paper does not give"
    needed = replays("WKLD-D", ("TD", against))
    return PaperClaim(
        f"7.3-gain-{against}",
        f"c-2's mean slowdown improves by up to 25 % (read: against {against})",
        "c-2 gains less than 15 % or more than 35 %",
        models,
        (PaperReason(claim, _falls_with_few_medium(against), "few-medium", needed),),
    )


_RUNS_D, _FEW_OF_D = replays("WKLD-D", POLICIES), replays("WKLD-D", ("None", "EQ", "TD"), 1)
GAIN = PaperExperiment(
    "7.3", "gain", "WKLD-D, what TD gains.", _gain_rules,
    runs=_RUNS_D, quick=_FEW_OF_D, swept=_FEW_OF_D, ranged=_RUNS_D,
    statements=(
        _gains("None", (NO_MOVES,)),
        PaperClaim("7.3-unharmed-None", "TD does not hurt c-1 and c-3 (read: against None)",
                  "follows from the minimum: None gives it alone, and TD never less"),
        _gains("EQ", _BOTH),
        PaperClaim("7.3-unharmed-EQ", "TD does not hurt c-1 and c-3 (read: against EQ)",
                  "c-1 or c-3 loses more than 5 %, or c-2 does not gain 5 %", _BOTH),
        _moved("WKLD-D"),
    ),
    exhibits=_exhibits("WKLD-D", "the policies", "gain", "unharmed", "moves-D", "best", "finer", "PU", "DU", "perf",
                       "order"),
)  # fmt: skip


# --- WKLD-D: the order of the policies


def _order_rules(rows: PaperRows) -> Iterator[Judged]:
    slow = {name: rows.middle(mean_slowdown, "WKLD-D", name) for name in POLICIES}
    others = [name for name in POLICIES if name != "TD"]
    better = [name for name in others if _ahead(rows, name, "TD")]
    worse = [name for name in others if _ahead(rows, "TD", name)]
    tied = [name for name in others if name not in (*better, *worse)]
    text = f"TD {slow['TD']:.2f}, EQ {slow['EQ']:.2f}, None {slow['None']:.2f}; before TD: {_list(better)}"
    best = not better and {"None", "EQ"} <= set(worse) and len(worse) > len(tied)
    yield "7.3-best", f"{text}; tied with TD: {_list(tied)}", best
    text = ", ".join(f"{name} {slow[name]:.2f}" for name in ("TD", "DD", "JD"))
    finer = {name: _ahead(rows, "TD", name) for name in ("DD", "JD")}
    text += "; TD is before " + _list([name for name, holds in finer.items() if holds])
    yield "7.3-finer", text, all(finer.values())
    gains = {name: 1 - slow[name] / slow["None"] for name in ("PU", "DU", "RU")}
    text = "gain over None: " + ", ".join(f"{name} {percent(value)}" for name, value in gains.items())
    useful = gains["PU"] >= fixed.HELPS
    yield "7.3-PU", f"{text}; PU {slow['PU']:.2f}, EQ {slow['EQ']:.2f}", useful and _ahead(rows, "PU", "EQ")
    yield "7.3-DU-RU", text, max(gains["DU"], gains["RU"]) < fixed.HELPS and useful
    demand = min(("TD", "DD", "JD"), key=lambda name: slow[name])
    beat = [name for name in _PERFORMANCE if _ahead(rows, name, demand)]
    text = ", ".join(f"{name} {slow[name]:.2f}" for name in (*_PERFORMANCE, "JD", "DD", "TD", "EQ"))
    unbeaten = not beat and slow[demand] <= (1 - fixed.HELPS) * slow["EQ"]
    yield "7.3-performance", f"{text}; before {demand}: {_list(beat)}", unbeaten


def _list(names: Sequence[str]) -> str:
    return " ".join(names) or "none"


def _tied_demand(rows: PaperRows) -> str | None:
    if _ahead(rows, "TD", "DD") or _ahead(rows, "DD", "TD"):
        return None
    td, dd = (rows.spread(mean_slowdown, "WKLD-D", policy) for policy in ("TD", "DD"))
    return f"TD {td[0]:.2f} to {td[1]:.2f}, DD {dd[0]:.2f} to {dd[1]:.2f}"


def _any_use_gains(rows: PaperRows) -> str | None:
    gain = 1 - rows.middle(mean_slowdown, "WKLD-D", "EQ") / rows.middle(mean_slowdown, "WKLD-D", "None")
    return f"EQ gains {percent(gain)} over None" if gain >= fixed.HELPS else None


ORDER = PaperExperiment(
    "7.3", "order", "WKLD-D, the order of the policies.", _order_rules,
    statements=(
        PaperClaim("7.3-best", "TD is the best of the eleven policies",
                  "a policy is before TD, or most are tied with it", _BOTH),
        PaperClaim("7.3-finer", "finer demand is better: TD before DD and JD",
                  "DD or JD is tied with TD or before it", _BOTH,
                  (PaperReason("TD and DD are tied: tasks and bytes say the same of these jobs", _tied_demand),)),
        PaperClaim("7.3-PU", "of the usage policies PU is useful", "PU is no better than None, or than EQ", _BOTH),
        PaperClaim("7.3-DU-RU", "DU and RU fail (where PU does not)", "DU or RU gains 5 % over None, or PU does not",
                  _BOTH,
                  (PaperReason("Whatever hands out the nodes that None leaves idle gains on it", _any_use_gains),)),
        PaperClaim("7.3-performance", "JS, JT and TT do not beat the demand policies",
                  "a performance policy is before all demand policies, or these do not beat EQ",
                  ("idle-demand", EQUAL)),
    ),
)  # fmt: skip


# --- WKLD-E


def _skewed_rules(rows: PaperRows) -> Iterator[Judged]:
    held = rows.middle(lambda row: float(row["movable_c1"]), "WKLD-E", "TD")
    yield "7.3-E-c1", f"{100 * held:.0f} % of the 18 while it has jobs", held >= fixed.NEARLY_ALL
    yield _moves(rows, "WKLD-E")


_RUNS_E = replays("WKLD-E", ("TD", "EQ", "None"))
SKEWED = PaperExperiment(
    "7.3", "skewed", "WKLD-E, moves and nodes of c-1.", _skewed_rules,
    runs=_RUNS_E, quick=replays("WKLD-E", ("TD",), 1), ranged=_RUNS_E,
    statements=(
        PaperClaim("7.3-E-c1", "WKLD-E: c-1 gets nearly all movable nodes under TD",
                  "c-1 holds less than 80 % of the movable nodes", _BOTH),
        _moved("WKLD-E"),
    ),
    exhibits=_exhibits("WKLD-E", "one heavy MR-cluster", "E", "moves-E", "skewed"),
)  # fmt: skip
SKEWED_MAKESPAN = PaperExperiment(
    "7.3", "skewed_makespan", "WKLD-E, the makespan.", lambda rows: iter([makespan(rows, "WKLD-E", "7.3-E-makespan")]),
    statements=(shorter_makespan("7.3-E-makespan", "WKLD-E", "WKLD-E"),),
)  # fmt: skip
