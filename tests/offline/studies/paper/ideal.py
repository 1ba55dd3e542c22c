"""Rows as the paper has them, written by hand: on these the rule of every statement holds."""

from __future__ import annotations

from fawkes.offline.runs.work import Row
from fawkes.offline.studies.paper import runs, sets
from fawkes.offline.studies.paper.runs import PaperRun

#: how much longer on half transient or transient-core nodes, where it is not nothing
HALF = {("ST", "TR"): 0.40, ("ST", "TC"): 0.23, ("KM", "TR"): 0.2, ("AH", "TR"): 0.2}
#: seconds until the jobs of c-1, c-2 and c-3 have ended, and the makespan
DRAINED = {
    ("None", "TC"): (1000, 1000, 2000, 2000),
    ("EQ", "TC"): (1000, 700, 1200, 1200),
    ("EQ", "TR"): (1000, 700, 1200, 1200),
    ("TD", "TC"): (1000, 900, 950, 1000),
    ("TD", "TR"): (1000, 900, 950, 1000),
}
#: mean slowdown of c-2 in WKLD-D
SLOW = {"None": 4.0, "EQ": 4.0, "TD": 3.0, "DD": 3.3, "JD": 3.4, "PU": 3.5, "JS": 3.8, "JT": 3.8, "TT": 3.8}
#: jobs of c-1, c-2 and c-3
JOBS = (50, 100, 50)
#: reconfigurations, makespan, and c-1's part of the movable nodes in WKLD-E
SKEWED = {"None": (0, 2000, 0.0), "EQ": (1, 1300, 0.33), "TD": (5, 1000, 0.95)}


def seconds(value: float) -> Row:
    """A row of an application, the same with each seed."""
    return {"seconds": value, "each_s": [value] * 3}


def ideal_rows() -> dict[PaperRun, Row]:
    """A row for each run of the experiments."""
    found = {run: _micro(dict(run.values), run.kind) for run in sets.experiment_runs() if run.kind != "replay"}
    return found | {run: _macro(dict(run.values)) for run in _replays()}


def _replays() -> list[PaperRun]:
    more = [runs.replay("WKLD-A", "None")]
    return more + [run for run in sets.experiment_runs() if run.kind == "replay"]


def _micro(values: dict[str, runs.Value], kind: str) -> Row:
    app, role = str(values.get("app")), str(values.get("role"))
    removed = int(values.get("removed", 0))
    if kind == "idle":
        node_s = 120.0 if removed <= 10 or not values["together"] else 300.0
        return {"total_s": node_s if values["together"] else node_s * removed, "node_s": node_s}
    if kind == "busy":
        return seconds(100 * (1 + removed * {"ST": 0.10, "WC": 0.08, "TT": 0.05, "PR": 0.04}[app]))
    others = int(values["others"])
    if values["sites"] == 2:
        return seconds(150.0 if "link" in values and app != "WC" else 105.0)
    if values["core"] == 20:
        more = others / 20
        return seconds(100 / (1 + 0.6 * more - 0.3 * more**2 if (app, role) == ("ST", "TR") else 1 + 0.9 * more))
    return seconds(100 * (1 + HALF.get((app, role), 0.0)))


def _macro(values: dict[str, runs.Value]) -> Row:
    policy, growth = str(values["policy"]), str(values["growth"])
    match values["workload"]:
        case "WKLD-A":
            return _points(policy)
        case "WKLD-D":
            slow = (1.2, SLOW.get(policy, 4.0), 2.0)
            return _row((1000, 1000, 1000), slow, 1000, {"None": 0, "EQ": 1}.get(policy, 16), 0.0)
        case "WKLD-E":
            moves, makespan_s, movable = SKEWED[policy]
            return _row((makespan_s,) * 3, (2.0, 2.0, 2.0), makespan_s, moves, movable)
    *drained, makespan_s = DRAINED[policy, growth]
    if (values["workload"], policy, growth) == ("WKLD-C", "TD", "TR"):
        drained[2] = 1300
    return _row(tuple(drained), (5.0, 3.0, 4.0 if policy == "None" else 2.0), makespan_s, 3, 0.0)


def _row(drained: tuple[float, ...], slow: tuple[float, ...], makespan_s: float, moves: float, movable: float) -> Row:
    clusters = {
        f"c-{number}": {"drain_s": drain_s, "slowdown": slowdown, "jobs": jobs}
        for number, (drain_s, slowdown, jobs) in enumerate(zip(drained, slow, JOBS, strict=True), start=1)
    }
    return {"clusters": clusters, "makespan_s": makespan_s, "reconfigurations": moves, "movable_c1": movable}


def _points(policy: str) -> Row:
    nodes = {"c-1": [(0, 10)], "c-2": [(100, 10)], "c-3": [(200, 10)]}
    if policy != "None":
        nodes["c-1"] += [(120, 50), (203, 40), (240, 30), (800, 0)]
        nodes["c-2"] += [(240, 20), (800, 0)]
        nodes["c-3"] += [(800, 60)]
    clusters = {
        name: {"works_s": works_s, "ended_s": ended_s}
        for name, works_s, ended_s in (("c-1", 110, 740), ("c-2", 210, 740), ("c-3", 310, 1000))
    }
    return {"clusters": clusters, "course": {"nodes": {name: {"core": steps} for name, steps in nodes.items()}}}
