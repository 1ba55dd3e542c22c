"""Sections 5 and 7 judged: the workloads WKLD-A to E."""

from __future__ import annotations

from collections.abc import Iterator

from fawkes.offline.work import Row
from fawkes.paper import fixed
from fawkes.paper.curves import curves
from fawkes.paper.rows import CLUSTERS, Rows, apart, makespan_s, mean_slowdown, of_cluster, reconfigurations
from fawkes.paper.rules import Judged, percent
from fawkes.paper.runs import PERFORMANCE, POLICIES, ROLES, TAUS
from fawkes.workload.classes import load_ratio, workload


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
    shrunk = c1.first(lambda nodes: nodes < 50, after=200.0)
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
            forty is not None and forty <= works["c-2"],
        ),
        (
            "C",
            "c-1 shrinks for c-3's minimum",
            f"c-1 below 50 at {at(shrunk)}; c-3 asked at 200 s",
            shrunk is not None and c3.at(works["c-3"]) >= 10,
        ),
        (
            "D",
            "c-1 shrinks for c-2's share, c-2 grows",
            f"c-2 has more than 10 nodes at {at(grown)} and up to {c2.most():g}",
            grown is not None and c1.at(grown + 30) < 50,
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
    for role in ROLES:
        ours = rows.middle(apart, name, "TD", role)
        balanced = ours <= fixed.BALANCED
        wanted = (app, role) != ("ST", "TR")
        said = "balances c-2 and c-3" if wanted else "fails for c-3"
        text = f"c-2 and c-3 drain {100 * ours:.0f} % apart"
        yield f"7.2-{app}-{role}", "7.2", f"{app}: TD growing by {role} {said}", text, balanced == wanted
    kinds = [("TD", "TC"), ("TD", "TR"), ("EQ", "TC"), ("EQ", "TR")]
    still = rows.middle(of_cluster("c-1", "drain_s"), name, "None")
    others = [rows.middle(of_cluster("c-1", "drain_s"), name, *kind) / still - 1 for kind in kinds]
    text = ", ".join(f"{' '.join(kind)} {percent(value)}" for kind, value in zip(kinds, others, strict=True))
    yield (
        f"7.2-{app}-c1",
        "7.2",
        f"{app}: c-1's makespan hardly changes under any policy",
        f"against None: {text}",
        max(map(abs, others)) <= fixed.BALANCED,
    )
    none, ours = rows.middle(makespan_s, name, "None"), rows.middle(makespan_s, name, "TD", "TC")
    text = f"{ours:.0f} s against {none:.0f} s"
    yield f"7.2-{app}-makespan", "7.2", f"{app}: TD shortens the makespan (against None)", text, ours < none


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
            f"mean slowdown {text}",
            max(hurt.values()) <= fixed.UNHARMED,
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
    best = min(slow, key=lambda name: slow[name])
    text = f"lowest: {best} {slow[best]:.2f}; TD {slow['TD']:.2f}, EQ {slow['EQ']:.2f}, None {slow['None']:.2f}"
    yield "7.3-best", "7.3", "TD is the best of the eleven policies", text, best == "TD"
    text = ", ".join(f"{name} {slow[name]:.2f}" for name in ("TD", "DD", "JD"))
    yield (
        "7.3-finer",
        "7.3",
        "finer demand is better: TD before DD and JD",
        text,
        slow["TD"] < min(slow["DD"], slow["JD"]),
    )
    gains = {name: 1 - slow[name] / slow["None"] for name in ("PU", "DU", "RU")}
    text = "gain over None: " + ", ".join(f"{name} {percent(value)}" for name, value in gains.items())
    yield "7.3-PU", "7.3", "of the usage policies PU is useful", text, gains["PU"] >= fixed.HELPS
    yield "7.3-DU-RU", "7.3", "DU and RU fail", text, max(gains["DU"], gains["RU"]) < fixed.HELPS
    text = ", ".join(f"{name} {slow[name]:.2f}" for name in (*PERFORMANCE, "JD", "DD", "TD"))
    holds = min(slow[name] for name in PERFORMANCE) >= min(slow[name] for name in ("JD", "DD", "TD"))
    yield "7.3-performance", "7.3", "JS, JT and TT do not beat the demand policies", text, holds


def skewed(rows: Rows) -> Iterator[Judged]:
    """7.3: WKLD-E, moves and nodes of c-1."""
    held = rows.middle(lambda row: float(row["movable_c1"]), "WKLD-E", "TD")
    text = f"{100 * held:.0f} % of the 18 while it has jobs"
    yield "7.3-E-c1", "7.3", "WKLD-E: c-1 gets nearly all movable nodes under TD", text, held >= fixed.NEARLY_ALL
    yield _moves(rows, "WKLD-E")


def skewed_makespan(rows: Rows) -> Iterator[Judged]:
    """7.3: WKLD-E, the makespan."""
    spans = {name: rows.middle(makespan_s, "WKLD-E", name) for name in ("TD", "EQ", "None")}
    text = ", ".join(f"{name} {value:.0f} s" for name, value in spans.items())
    yield (
        "7.3-E-makespan",
        "7.3",
        "WKLD-E: TD shortens the makespan",
        text,
        spans["TD"] < min(spans["EQ"], spans["None"]),
    )


def thresholds(rows: Rows) -> Iterator[Judged]:
    """5.3: tau of 5, 10 and 20."""
    changes = {}
    for name in ("WKLD-B", "WKLD-C", "WKLD-D"):
        slow = [rows.middle(mean_slowdown, name, "TD", tau=tau) for tau in TAUS]
        changes[name] = max(slow) / min(slow) - 1
    text = ", ".join(f"{name} {100 * value:.1f} %" for name, value in changes.items())
    yield (
        "5.3-tau",
        "5.3",
        "tau has no significant impact",
        f"mean slowdown with 5, 10, 20 differs by at most {text}",
        max(changes.values()) < fixed.TAU_MOST,
    )
