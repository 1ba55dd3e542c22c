"""Sections 5 and 7 judged: the workloads WKLD-A to E."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from fawkes.offline.runs.work import Row
from fawkes.offline.studies.paper.experiments.curves import curves
from fawkes.offline.studies.paper.judging import fixed
from fawkes.offline.studies.paper.judging.rules import Judged, percent
from fawkes.offline.studies.paper.rows import (
    CLUSTERS,
    Kind,
    Rows,
    apart,
    makespan_s,
    mean_slowdown,
    of_cluster,
    reconfigurations,
)
from fawkes.offline.studies.paper.runs import PERFORMANCE, POLICIES, ROLES, TAUS
from fawkes.workload.making.classes import load_ratio, workload

_SECOND_S, _ASKED_S = 100.0, 200.0
"""When c-2 and c-3 of WKLD-A are requested."""
_TC: Mapping[str, Kind] = {name: (name, "TC") for name in POLICIES}


def setup(rows: Rows) -> Iterator[Judged]:
    """5.3: load ratios of WKLD-D and E."""
    for name, published in fixed.LOAD_RATIO.items():
        ratio = load_ratio(workload(name, fixed.SEED))
        yield (
            f"5.3-ratio-{name[-1]}",
            "5.3",
            f"{name}: the most loaded MR-cluster has {published:g} times the tasks of the least loaded one",
            f"{ratio:.2f} times",
            abs(ratio - published) <= fixed.LOAD_RATIO_BAND,
        )


def points(rows: Rows) -> Iterator[Judged]:
    """7.1: WKLD-A, the points A to E."""
    row = rows.replays("WKLD-A", "JD", "TR")[0]
    for name, published, ours, holds in points_of(row):
        yield f"7.1-{name[0]}", "7.1", f"WKLD-A, {name}: {published}", ours, holds


def points_of(row: Row) -> list[tuple[str, str, str, bool]]:
    """The points of 7.1 in a row of WKLD-A: name, published, ours with its time, and whether it is so."""
    held = curves(row)
    works = {name: of_cluster(name, "works_s")(row) for name in CLUSTERS}
    ended = {name: of_cluster(name, "ended_s")(row) for name in CLUSTERS}
    c1, c2, c3 = (held[name] for name in CLUSTERS)
    forty = c1.first(lambda nodes: nodes >= 50)
    before = c1.at(_ASKED_S)
    shrunk = c1.first(lambda nodes: nodes < before, after=_ASKED_S)
    grown = c2.first(lambda nodes: nodes > 10)
    all_ = c3.first(lambda nodes: nodes >= 60)
    after = max(ended["c-1"], ended["c-2"])

    def at(moment: float | None) -> str:
        return "never" if moment is None else f"{moment:.0f} s"

    return [
        (
            "A",
            "c-2 arrives while c-1 loads (the storage rate is derived from this) and gets 10 of the 50 idle nodes",
            f"c-2 holds {c2.at(101):g} at 101 s; c-1 works from {works['c-1']:.0f} s",
            works["c-1"] > 100 and c2.at(101) == 10 and c1.at(101) == 10,
        ),
        (
            "B",
            "c-1 has jobs while c-2 loads and gets the other 40",
            f"c-1 has 50 nodes at {at(forty)}; c-2 works from {works['c-2']:.0f} s",
            forty is not None and _SECOND_S < forty <= works["c-2"],
        ),
        (
            "C",
            "c-1 shrinks for c-3's minimum",
            f"c-1 has {before:g} nodes at {at(_ASKED_S)}, when c-3 is requested, and fewer from {at(shrunk)}",
            before > 10 and shrunk is not None and shrunk <= _ASKED_S + fixed.SHRINKS and c3.at(works["c-3"]) >= 10,
        ),
        (
            "D",
            "c-1 shrinks for c-2's share, c-2 grows",
            f"c-2 has more than 10 nodes at {at(grown)} and up to {c2.most():g}",
            grown is not None and c1.at(grown + 30) < c1.at(shrunk or grown),
        ),
        (
            "E",
            "c-3 grows to all 60 when c-1 and c-2 have finished",
            f"c-3 has at most {c3.most():g} nodes; c-1 and c-2 have finished at {after:.0f} s",
            all_ is not None,
        ),
    ]


def wordcount(rows: Rows) -> Iterator[Judged]:
    """7.2: WKLD-B."""
    yield from _drain(rows, "WKLD-B", "WC")


def sort(rows: Rows) -> Iterator[Judged]:
    """7.2: WKLD-C."""
    yield from _drain(rows, "WKLD-C", "ST")


def _drain(rows: Rows, name: str, app: str) -> Iterator[Judged]:
    by = {role: rows.middle(apart, name, "TD", role) for role in ROLES}
    for role in ROLES:
        statement = f"7.2-{app}-{role}"
        if (app, role) == ("ST", "TR"):
            text = f"c-2 and c-3 drain {100 * by['TR']:.0f} % apart, by TC {100 * by['TC']:.0f} %"
            fails = by["TR"] > fixed.BALANCED and by["TR"] >= by["TC"] + fixed.LESS_BALANCED
            yield statement, "7.2", "ST: TD growing by TR fails for c-3", text, fails
        else:
            without = [rows.middle(apart, name, "None"), rows.middle(apart, name, "EQ", role)]
            text = f"c-2 and c-3 drain {100 * by[role]:.0f} % apart; None {100 * without[0]:.0f} %"
            text += f", EQ {100 * without[1]:.0f} %"
            balanced = by[role] <= fixed.BALANCED < min(without)
            yield statement, "7.2", f"{app}: TD growing by {role} balances c-2 and c-3", text, balanced
    kinds = [("TD", "TC"), ("TD", "TR"), ("EQ", "TC"), ("EQ", "TR")]
    still = rows.middle(of_cluster("c-1", "drain_s"), name, "None")
    others = [rows.middle(of_cluster("c-1", "drain_s"), name, *kind) / still - 1 for kind in kinds]
    heavy = (
        rows.middle(of_cluster("c-3", "drain_s"), name, "TD") / rows.middle(of_cluster("c-3", "drain_s"), name, "None")
        - 1
    )
    text = ", ".join(f"{' '.join(kind)} {percent(value)}" for kind, value in zip(kinds, others, strict=True))
    yield (
        f"7.2-{app}-c1",
        "7.2",
        f"{app}: c-1's makespan hardly changes under any policy",
        f"against None: {text}; c-3 under TD TC {percent(heavy)}",
        max(map(abs, others)) <= fixed.BALANCED < -heavy,
    )
    yield _makespan(rows, name, f"7.2-{app}-makespan", "7.2", f"{app}: TD shortens the makespan (more than EQ does)")


def _makespan(rows: Rows, name: str, statement: str, section: str, published: str) -> Judged:
    spans = {policy: rows.middle(makespan_s, name, policy) for policy in ("TD", "EQ", "None")}
    text = ", ".join(f"{policy} {value:.0f} s" for policy, value in spans.items())
    shorter = spans["TD"] <= (1 - fixed.HELPS) * spans["None"]
    return statement, section, published, text, shorter and rows.ahead(makespan_s, name, _TC["TD"], _TC["EQ"])


def gain(rows: Rows) -> Iterator[Judged]:
    """7.3: WKLD-D, what TD gains."""
    two = {name: rows.middle(of_cluster("c-2", "slowdown"), "WKLD-D", name) for name in ("TD", "None", "EQ")}
    for against in ("None", "EQ"):
        ours = 1 - two["TD"] / two[against]
        yield (
            f"7.3-gain-{against}",
            "7.3",
            f"c-2's mean slowdown improves by up to 25 % (read: against {against})",
            f"{two['TD']:.2f} against {two[against]:.2f}: {percent(ours)}",
            abs(ours - fixed.IMPROVES) <= fixed.IMPROVES_BAND,
        )
        hurt = {
            name: rows.middle(of_cluster(name, "slowdown"), "WKLD-D", "TD")
            / rows.middle(of_cluster(name, "slowdown"), "WKLD-D", against)
            - 1
            for name in ("c-1", "c-3")
        }
        text = ", ".join(f"{name} {percent(value)}" for name, value in hurt.items())
        yield (
            f"7.3-unharmed-{against}",
            "7.3",
            f"TD does not hurt c-1 and c-3 (read: against {against})",
            f"mean slowdown {text}; c-2 gains {percent(ours)}",
            max(hurt.values()) <= fixed.UNHARMED and ours >= fixed.HELPS,
        )
    yield _moves(rows, "WKLD-D")


def _moves(rows: Rows, name: str) -> Judged:
    published, band = fixed.MOVES[name]
    ours = rows.middle(reconfigurations, name, "TD")
    least, most = rows.spread(reconfigurations, name, "TD")
    text = f"{ours:g} ({least:g} to {most:g})"
    letter = name[-1]
    return (
        f"7.3-moves-{letter}",
        "7.3",
        f"{name}: {published} reconfigurations under TD",
        text,
        abs(ours - published) <= band,
    )


def order(rows: Rows) -> Iterator[Judged]:
    """7.3: WKLD-D, the order of the policies."""
    slow = {name: rows.middle(mean_slowdown, "WKLD-D", name) for name in POLICIES}

    def ahead(first: str, second: str) -> bool:
        return rows.ahead(mean_slowdown, "WKLD-D", _TC[first], _TC[second])

    others = [name for name in POLICIES if name != "TD"]
    better = [name for name in others if ahead(name, "TD")]
    worse = [name for name in others if ahead("TD", name)]
    tied = [name for name in others if name not in (*better, *worse)]
    text = f"TD {slow['TD']:.2f}, EQ {slow['EQ']:.2f}, None {slow['None']:.2f}; before TD: {_list(better)}"
    yield (
        "7.3-best",
        "7.3",
        "TD is the best of the eleven policies",
        f"{text}; tied with TD: {_list(tied)}",
        not better and {"None", "EQ"} <= set(worse) and len(worse) > len(tied),
    )
    text = ", ".join(f"{name} {slow[name]:.2f}" for name in ("TD", "DD", "JD"))
    finer = {name: ahead("TD", name) for name in ("DD", "JD")}
    text += "; TD is before " + _list([name for name, holds in finer.items() if holds])
    yield "7.3-finer", "7.3", "finer demand is better: TD before DD and JD", text, all(finer.values())
    gains = {name: 1 - slow[name] / slow["None"] for name in ("PU", "DU", "RU")}
    text = "gain over None: " + ", ".join(f"{name} {percent(value)}" for name, value in gains.items())
    useful = gains["PU"] >= fixed.HELPS
    yield (
        "7.3-PU",
        "7.3",
        "of the usage policies PU is useful",
        f"{text}; PU {slow['PU']:.2f}, EQ {slow['EQ']:.2f}",
        useful and ahead("PU", "EQ"),
    )
    fail = max(gains["DU"], gains["RU"]) < fixed.HELPS
    yield "7.3-DU-RU", "7.3", "DU and RU fail (where PU does not)", text, fail and useful
    demand = min(("TD", "DD", "JD"), key=lambda name: slow[name])
    beat = [name for name in PERFORMANCE if ahead(name, demand)]
    text = ", ".join(f"{name} {slow[name]:.2f}" for name in (*PERFORMANCE, "JD", "DD", "TD", "EQ"))
    yield (
        "7.3-performance",
        "7.3",
        "JS, JT and TT do not beat the demand policies",
        f"{text}; before {demand}: {_list(beat)}",
        not beat and slow[demand] <= (1 - fixed.HELPS) * slow["EQ"],
    )


def _list(names: Sequence[str]) -> str:
    return " ".join(names) or "none"


def skewed(rows: Rows) -> Iterator[Judged]:
    """7.3: WKLD-E, moves and nodes of c-1."""
    held = rows.middle(lambda row: float(row["movable_c1"]), "WKLD-E", "TD")
    text = f"{100 * held:.0f} % of the 18 while it has jobs"
    yield "7.3-E-c1", "7.3", "WKLD-E: c-1 gets nearly all movable nodes under TD", text, held >= fixed.NEARLY_ALL
    yield _moves(rows, "WKLD-E")


def skewed_makespan(rows: Rows) -> Iterator[Judged]:
    """7.3: WKLD-E, the makespan."""
    yield _makespan(rows, "WKLD-E", "7.3-E-makespan", "7.3", "WKLD-E: TD shortens the makespan (more than EQ does)")


def thresholds(rows: Rows) -> Iterator[Judged]:
    """5.3: tau of 5, 10 and 20."""
    changes, gains = {}, {}
    for name in ("WKLD-B", "WKLD-C", "WKLD-D"):
        each = {one: _by_tau(rows, name, one) for one in CLUSTERS}
        changes[name] = max(max(slow) / min(slow) - 1 for slow in each.values())
        gains[name] = max(
            1 - max(slow) / rows.middle(of_cluster(one, "slowdown"), name, "None") for one, slow in each.items()
        )
    text = ", ".join(f"{name} {100 * value:.1f} %" for name, value in changes.items())
    moving = ", ".join(f"{name} {percent(value)}" for name, value in gains.items())
    yield (
        "5.3-tau",
        "5.3",
        "tau has no significant impact",
        f"mean slowdown of an MR-cluster with 5, 10, 20 differs by at most {text}; most gain over no moves {moving}",
        max(changes.values()) < fixed.TAU_MOST <= min(gains.values()),
    )


def _by_tau(rows: Rows, workload_name: str, cluster: str) -> list[float]:
    return [rows.middle(of_cluster(cluster, "slowdown"), workload_name, "TD", tau=tau) for tau in TAUS]
