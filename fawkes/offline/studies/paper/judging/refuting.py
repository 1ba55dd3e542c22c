"""What would refute each statement: the models on which its rule must not hold, and what has to be run there.

A statement without such a model follows from how the experiment was made. Its verdict is "cannot fail", never
"reproduced".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from fawkes.offline.studies.paper import runs
from fawkes.offline.studies.paper.runs import Run


@dataclass(frozen=True, slots=True)
class Refuted:
    """``by`` is the outcome that would refute a statement; ``models`` are those in which it is shown.

    Without models ``by`` says from what the statement follows.
    """

    by: str
    models: tuple[str, ...] = ()


_NO_MOVES, _EQUAL = "idle-policies", "equal-policies"

REFUTED: Mapping[str, Refuted] = {
    "5.3-ratio-D": Refuted("follows from the sizes of the jobs, which were chosen for this ratio"),
    "5.3-ratio-E": Refuted("follows from the sizes of the jobs, which were chosen for this ratio"),
    "5.3-tau": Refuted(
        "the mean slowdown changes with tau, or moves as such do not change it", ("deaf-tau", _NO_MOVES)
    ),
    "6.1-sort-TR": Refuted("follows from the fit of the constants to this figure"),
    "6.1-sort-TC": Refuted("follows from the fit of the constants to this figure"),
    "6.1-KM": Refuted("KM loses as much by TC as by TR", ("no-disks", "same-roles")),
    "6.1-AH": Refuted("AH loses as much by TC as by TR", ("no-disks", "same-roles")),
    "6.1-compute": Refuted(
        "a compute-bound application loses more than 10 %, or Sort no more than they do", ("disk-bound", "no-disks")
    ),
    "6.2-ST": Refuted("two sites cost 20 %, or a link of a tenth costs nothing", ("slow-link", "no-link")),
    "6.2-BT": Refuted("two sites cost 20 %, or a link of a tenth costs nothing", ("slow-link", "no-link")),
    "6.2-others": Refuted("most lose 10 %, or a link of a tenth costs none of them anything", ("slow-link", "no-link")),
    "6.3-TC": Refuted("half the nodes more gain less than 25 %, or the gain is no line", ("serial",)),
    "6.3-TR": Refuted("half the nodes more gain less than 25 %, or the gain is no line", ("serial",)),
    "6.3-sort": Refuted("Sort gains as much by TR as by TC, or its slope does not fall", ("no-disks", "same-roles")),
    "6.4-total": Refuted("follows from removing one after another: equal times add up to a line"),
    "6.4-flat": Refuted(
        "ten nodes that leave together take longer than one, or no copies are made", ("slow-disks", "free-moves")
    ),
    "6.4-steep": Refuted("16 of 20 nodes leave together as fast as one", ("no-disks", "free-moves")),
    "6.4-busy-linear": Refuted("the slowdown is no line, or there is none", ("serial",)),
    "6.4-busy-order": Refuted("WC and ST slow down no more than TT and PR, beyond chance", ("no-disks",)),
    "7.1-A": Refuted("follows from the rate of the storage, which was derived from this point"),
    "7.1-B": Refuted("c-1 gets no idle nodes while c-2 loads", (_NO_MOVES, "no-loading")),
    "7.1-C": Refuted("c-1 has nothing to give when c-3 is requested", (_NO_MOVES,)),
    "7.1-D": Refuted("c-2 does not grow at the cost of c-1", (_NO_MOVES,)),
    "7.1-E": Refuted("c-3 never holds all nodes", (_NO_MOVES,)),
    "7.2-WC-TC": Refuted("c-2 and c-3 drain apart, or together without TD as well", (_NO_MOVES, _EQUAL)),
    "7.2-WC-TR": Refuted("c-2 and c-3 drain apart, or together without TD as well", (_NO_MOVES, _EQUAL)),
    "7.2-WC-c1": Refuted("c-1 drains sooner or later, or c-3 does not drain sooner", ("no-begins", _NO_MOVES)),
    "7.2-WC-makespan": Refuted("the makespan is no shorter than under None, or than under EQ", (_NO_MOVES, _EQUAL)),
    "7.2-ST-TC": Refuted("c-2 and c-3 drain apart, or together without TD as well", (_NO_MOVES, _EQUAL)),
    "7.2-ST-TR": Refuted("c-2 and c-3 drain together, or apart by TC as well", (_NO_MOVES, "same-roles", "no-disks")),
    "7.2-ST-c1": Refuted("c-1 drains sooner or later, or c-3 does not drain sooner", ("no-begins", _NO_MOVES)),
    "7.2-ST-makespan": Refuted("the makespan is no shorter than under None, or than under EQ", (_NO_MOVES, _EQUAL)),
    "7.3-gain-None": Refuted("c-2 gains less than 15 % or more than 35 %", (_NO_MOVES,)),
    "7.3-unharmed-None": Refuted("follows from the minimum: None gives it alone, and TD never less"),
    "7.3-gain-EQ": Refuted("c-2 gains less than 15 % or more than 35 %", (_NO_MOVES, _EQUAL)),
    "7.3-unharmed-EQ": Refuted("c-1 or c-3 loses more than 5 %, or c-2 does not gain 5 %", (_NO_MOVES, _EQUAL)),
    "7.3-moves-D": Refuted("fewer than 12 reconfigurations or more than 20", (_NO_MOVES, _EQUAL)),
    "7.3-best": Refuted("a policy is before TD, or most are tied with it", (_NO_MOVES, _EQUAL)),
    "7.3-finer": Refuted("DD or JD is tied with TD or before it", (_NO_MOVES, _EQUAL)),
    "7.3-PU": Refuted("PU is no better than None, or than EQ", (_NO_MOVES, _EQUAL)),
    "7.3-DU-RU": Refuted("DU or RU gains 5 % over None, or PU does not", (_NO_MOVES, _EQUAL)),
    "7.3-performance": Refuted(
        "a performance policy is before all demand policies, or these do not beat EQ", ("idle-demand", _EQUAL)
    ),
    "7.3-E-c1": Refuted("c-1 holds less than 80 % of the movable nodes", (_NO_MOVES, _EQUAL)),
    "7.3-moves-E": Refuted("fewer than 3 reconfigurations or more than 7", (_NO_MOVES, _EQUAL)),
    "7.3-E-makespan": Refuted("the makespan is no shorter than under None, or than under EQ", (_NO_MOVES, _EQUAL)),
}

#: what the rules of statements with such a beginning need, in as few runs as show it
_RUNS: Mapping[str, Callable[[], list[Run]]] = {
    "6.1": runs.half,
    "6.2": runs.sites,
    "6.3": lambda: runs.grow(runs.TENTHS[:5]),
    "6.4-busy": lambda: [runs.busy(app, count) for app in runs.BUSY_APPS for count in (0, 2, 4, 6, 8)],
    "6.4": lambda: [runs.idle(count, together) for count in (1, 4, 10, 16) for together in (True, False)],
    "7.1": lambda: [runs.replay("WKLD-A", "JD", "TR")],
    "7.2-WC": lambda: [runs.replay("WKLD-B", *kind) for kind in runs.BALANCE],
    "7.2-ST": lambda: [runs.replay("WKLD-C", *kind) for kind in runs.BALANCE],
}


def refuting_runs(names: Iterable[str] = REFUTED) -> list[Run]:
    """Runs to show that the rules of these statements can fail; policies that stand in for others are not run again."""
    return list(
        dict.fromkeys(
            runs.in_model(run, model) for name in names for model in REFUTED[name].models for run in _needed(name)
        )
    )


def used_models() -> tuple[str, ...]:
    """All refuting models, by name."""
    return tuple(dict.fromkeys(model for against in REFUTED.values() for model in against.models))


def _needed(name: str) -> list[Run]:
    return next((make() for beginning, make in _RUNS.items() if name.startswith(beginning)), [])
