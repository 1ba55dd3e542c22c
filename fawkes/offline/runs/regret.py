"""Regret: how much slower jobs were than under the best fixed division of the pool, which is found in hindsight.

A fixed division gives each MR-cluster its nodes as soon as it runs and never moves one. No policy can know the best
one beforehand, so the regret of a policy says how far it is from that. It is below 0 where moving helps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import permutations
from statistics import fmean
from typing import Any

from fawkes.base.errors import DeadlineError
from fawkes.core.values.events import PolicyText
from fawkes.core.values.model import ClusterId
from fawkes.core.values.settings import Discrimination
from fawkes.offline.outcomes.outcome import outcome_of
from fawkes.offline.runs.grid import Cell, Grid
from fawkes.offline.runs.work import Row, Runner
from fawkes.offline.scenarios.load import Demand
from fawkes.offline.scenarios.plan import shaken_scenario
from fawkes.offline.scenarios.scenario import Scenario, simulate
from fawkes.policy.worker.policies import policy_text

#: divisions that are tried, and replays that judge each of them
DIVISIONS, REPLAYS = 40, 3

Division = Mapping[ClusterId, int]
#: nodes that nobody gets
_NOBODY = ClusterId("")


@dataclass(frozen=True, slots=True)
class Best:
    """The best fixed division that was found, its mean slowdown, and how many divisions were tried."""

    nodes: Division
    slowdown: float
    tried: int


def search(
    slowdown: Callable[[Division], float | None],
    least: Division,
    most: Division,
    total: int,
    *,
    starts: Sequence[Division] = (),
    divisions: int = DIVISIONS,
) -> Best | None:
    """The best division of ``total`` nodes between ``least`` and ``most``, by moving nodes between two at a time.

    It begins with the minimums, with equal parts and with ``starts``, and moves fewer and fewer nodes. At most so many
    ``divisions`` are tried, so the best of all may be missed. None when no division has a slowdown.
    """
    tries = _Tries(slowdown, divisions)
    for start in (least, _equal(least, most, total), *starts):
        tries.is_better(_within(start, least, most, total))
    step = max(1, (total - sum(least.values())) // 2)
    while step and tries.best is not None:
        around = _neighbours(tries.best[1], least, most, total, step)
        step = step if any(map(tries.is_better, around)) else step // 2
    return None if tries.best is None else Best(tries.best[1], tries.best[0], len(tries.known))


class _Tries:
    """The divisions that were tried, each once, and the best of them."""

    def __init__(self, slowdown: Callable[[Division], float | None], divisions: int) -> None:
        self.known: set[tuple[tuple[ClusterId, int], ...]] = set()
        self.best: tuple[float, Division] | None = None
        self._slowdown = slowdown
        self._divisions = divisions

    def is_better(self, division: Division) -> bool:
        """True if a division is better than all before; one that was tried is not, nor is one too many."""
        key = tuple(sorted(division.items()))
        if key in self.known or len(self.known) >= self._divisions:
            return False
        self.known.add(key)
        value = self._slowdown(division)
        if value is None or (self.best is not None and value >= self.best[0]):
            return False
        self.best = value, division
        return True


def _neighbours(now: Division, least: Division, most: Division, total: int, step: int) -> Iterator[Division]:
    spare = total - sum(now.values())
    for giver, taker in permutations([_NOBODY, *sorted(now)], 2):
        room = spare if giver == _NOBODY else now[giver] - least[giver]
        count = min(step, room, step if taker == _NOBODY else most[taker] - now[taker])
        if count > 0:
            changed = dict(now)
            if giver != _NOBODY:
                changed[giver] -= count
            if taker != _NOBODY:
                changed[taker] += count
            yield changed


def _equal(least: Division, most: Division, total: int) -> Division:
    nodes = dict(least)
    for _ in range(total - sum(nodes.values())):
        open_to = [c for c in nodes if nodes[c] < most[c]]
        if not open_to:
            break
        nodes[min(open_to, key=lambda c: (nodes[c], c))] += 1
    return nodes


def _within(division: Division, least: Division, most: Division, total: int) -> Division:
    """The division between its bounds, and no larger than the pool: those with most above their minimum give first."""
    nodes = {c: min(max(division.get(c, 0), least[c]), most[c]) for c in least}
    while sum(nodes.values()) > total and any(nodes[c] > least[c] for c in nodes):
        nodes[max(nodes, key=lambda c: (nodes[c] - least[c], c))] -= 1
    return nodes


def fixed(scenario: Scenario, division: Division) -> Scenario:
    """The scenario under a policy that answers the division, with settings that begin it at once."""
    settings = replace(
        scenario.settings,
        policy="fixed",
        policy_parameters={},
        tau=0.0,
        discrimination=Discrimination.REDUCIBLE,
        confirmations=1,
        settle_after_grow_us=0,
        settle_after_shrink_us=0,
        max_moves_fraction=None,
        moves_must_pay=False,
    )
    return scenario.under(settings, _policy(division))


def _policy(division: Division) -> PolicyText:
    nodes = {str(c): count for c, count in sorted(division.items())}
    text = f'''"""A fixed division."""

NAME = "fixed"
NODES = {nodes!r}


def measure(window):
    return float(NODES.get(window.cluster, 1))
'''
    return policy_text("fixed", "fixed.py", text)


def capped(demands: Sequence[Demand], division: Division) -> tuple[Demand, ...]:
    """The demands, of which no MR-cluster gets more than its part."""
    return tuple(replace(demand, spec=replace(demand.spec, max_nodes=division[demand.spec.id])) for demand in demands)


def bounds(scenario: Scenario, demands: Sequence[Demand]) -> tuple[Division, Division, int]:
    """The least and the most nodes of each MR-cluster, and the nodes of the pool."""
    total = len(scenario.nodes)
    least = {demand.spec.id: demand.spec.min_nodes for demand in demands}
    most = {demand.spec.id: total if demand.spec.max_nodes is None else demand.spec.max_nodes for demand in demands}
    return least, most, total


def slowdown_of(
    scenario: Scenario, demands: Sequence[Demand], division: Division, *, seed: int, replay: int, spread_us: int
) -> float | None:
    """The mean slowdown of one perturbed replay under a division; None when not every job succeeds in time."""
    run = shaken_scenario(
        fixed(scenario, division), capped(demands, division), seed=seed, replay=replay, spread_us=spread_us
    )
    try:
        outcome = outcome_of(simulate(run))
    except DeadlineError:
        return None
    return None if outcome.failed_jobs else outcome.slowdown_mean


def _replay(grid: Grid, scenario: Scenario, demands: Sequence[Demand], division: Division, replay: int) -> Row:
    more = {"seed": grid.seed, "replay": replay, "spread_us": grid.spread_us}
    return {"slowdown": slowdown_of(scenario, demands, division, **more)}


def best_of(grid: Grid, settings: str, run: Runner, step: Callable[[str], None]) -> Best | None:
    """The best division for the first replays of a grid under one label of settings; ``step`` hears of each tried."""
    scenario = next(candidate for (_, label), candidate in grid.scenarios.items() if label == settings)
    demands = grid.demands_under(settings)
    replays = tuple(range(1, min(grid.replays, REPLAYS) + 1))

    def slowdown(division: Division) -> float | None:
        values = [row["slowdown"] for _, row in run(partial(_replay, grid, scenario, demands, division), replays)]
        step(", ".join(f"{c} {count}" for c, count in sorted(division.items())))
        return None if None in values else fmean(values)

    return search(slowdown, *bounds(scenario, demands))


def regrets(
    grid: Grid, rows: Sequence[Mapping[str, Any]], best: Mapping[str, Best | None]
) -> dict[tuple[str, str], float | None]:
    """The regret of each policy and label of settings, over the replays that judged the divisions.

    None where a job did not succeed or has no slowdown, or no division was found.
    """
    regrets: dict[tuple[str, str], float | None] = {}
    by_cell = {Cell(row["policy"], row["settings"], row["replay"]): row for row in rows}
    for policy, settings in grid.scenarios:
        mine = [by_cell[Cell(policy, settings, n)] for n in range(1, min(grid.replays, REPLAYS) + 1)]
        division = best.get(settings)
        values = [row["slowdown_mean"] for row in mine if not row["failed_jobs"]]
        known = division is not None and len(values) == len(mine) and None not in values
        regrets[policy, settings] = fmean(values) / division.slowdown - 1 if known and division else None
    return regrets
