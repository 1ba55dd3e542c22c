"""`python -m bench.default`: is the default ever beaten? `steady` against None, EQ and the preset of the paper.

Runs scenarios of `bench/drawn.py`, all four on the same perturbed replay. Each scenario is a row in --out, so the same
command continues; rows of other code are run again. --override KEY=VALUE changes `steady` for a trial.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import fmean

from bench.drawn import write_scenario
from bench.worth import Folder, code_digest
from fawkes.base.catalog import Catalog, Kind
from fawkes.base.errors import FawkesError
from fawkes.base.units import SECOND_US
from fawkes.config.site.site import Site
from fawkes.offline.outcomes.outcome import outcome_of
from fawkes.offline.runs.work import Row, finish, in_this_process, on_processes
from fawkes.offline.scenarios.plan import shaken_scenario
from fawkes.offline.scenarios.read import read_plan
from fawkes.offline.scenarios.scenario import simulate

#: policy and preset
ARMS = {"None": ("None", "paper"), "EQ": ("EQ", "paper"), "paper": ("TD", "paper"), "steady": ("TD", "steady")}
OTHERS = ("None", "EQ", "paper")
METRICS = ("slowdown", "makespan")
_SPREAD_US = 30 * SECOND_US
_WORST = 20


def run(scenarios: Path, override: Mapping[str, str], item: str) -> Row:
    """Slowdown and makespan of one scenario under all four; one that cannot run says why in ``error``."""
    file, facts = write_scenario(int(item), scenarios)
    row: Row = {name: getattr(facts, name) for name in type(facts).__slots__}
    catalog = Catalog(site=scenarios)
    try:
        plan = read_plan(Site(scenarios), catalog, str(file))
        plan = plan.with_references(plan.scenario(catalog))
        for arm, (policy, preset) in ARMS.items():
            changes = {"preset": preset, **(override if arm == "steady" else {})}
            scenario = plan.scenario(catalog, policy=catalog.find(Kind.POLICY, policy), changes=changes)
            replay = shaken_scenario(scenario, plan.demands, seed=plan.seed, replay=1, spread_us=_SPREAD_US)
            outcome = outcome_of(simulate(replay))
            row[arm] = {
                "slowdown": outcome.slowdown_mean or 0.0,
                "makespan": outcome.makespan_s,
                "moves": outcome.reconfigurations,
            }
    except FawkesError as error:
        return {**row, "error": str(error)}
    return row


def behind(row: Row, metric: str) -> float:
    """How much more `steady` has than the best of the others: 0.1 is 10 % more, below 0 is less."""
    best = min(row[arm][metric] for arm in OTHERS)
    return float(row["steady"][metric]) / best - 1 if best else 0.0


def table(rows: Sequence[Row]) -> str:
    """Markdown: for each metric how often `steady` is behind and the means of all four; then the worst."""
    ran = [row for row in rows if "error" not in row]
    text = f"{len(ran)} scenarios; {len(rows) - len(ran)} did not end under one of the four.\n\n"
    text += "| metric | pool | scenarios | > 2 % behind | > 10 % | mean | most | None | EQ | paper | steady |\n"
    text += "|---|---|---|---|---|---|---|---|---|---|---|\n"
    for metric in METRICS:
        for pool in ("all", "real", "lab"):
            part = [row for row in ran if pool in ("all", row["pool"])]
            if part:
                text += _line(metric, pool, part)
    text += "\n| seed | pool | nodes | sites | growth | load | faults | MR-clusters | metric | behind | moves |\n"
    text += "|---|---|---|---|---|---|---|---|---|---|---|\n"
    worst = sorted(((behind(row, metric), metric, row) for row in ran for metric in METRICS), key=lambda each: -each[0])
    for lag, metric, row in worst[:_WORST]:
        facts = [row[key] for key in ("seed", "pool", "nodes", "sites", "growth", "load", "faults", "kinds")]
        text += f"| {' | '.join(map(str, [*facts, metric, f'{lag:+.1%}', row['steady']['moves']]))} |\n"
    return text


def _line(metric: str, pool: str, rows: Sequence[Row]) -> str:
    """Means of the four are over the best of all four in each scenario: 1.00 is always the best."""
    lags = [behind(row, metric) for row in rows]
    best = [min(row[arm][metric] for arm in ARMS) or 1.0 for row in rows]
    means = [f"{fmean(row[arm][metric] / least for row, least in zip(rows, best, strict=True)):.2f}" for arm in ARMS]
    counts = [len(rows), sum(lag > 0.02 for lag in lags), sum(lag > 0.1 for lag in lags)]
    cells = [metric, pool, *map(str, counts), f"{fmean(lags):+.1%}", f"{max(lags):+.1%}", *means]
    return f"| {' | '.join(cells)} |\n"


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m bench.default", description=__doc__)
    parser.add_argument("--seeds", default="0-999", help="drawn scenarios, such as 0-999")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--override", action="append", default=[], metavar="KEY=VALUE", help="changes steady")
    parser.add_argument("--out", type=Path, default=Path("bench-default"), help="folder of the rows")
    given = parser.parse_args()
    first, _, last = given.seeds.partition("-")
    items = [str(seed) for seed in range(int(first), int(last or first) + 1)]
    override = dict(text.split("=", 1) for text in given.override)
    runner = on_processes(given.jobs) if given.jobs > 1 else in_this_process
    rows = Folder(given.out / "rows", f"{code_digest()} {override}")
    task = partial(run, given.out / "scenarios", override)
    sys.stdout.write(table(finish(task, items, rows, runner, lambda item: None)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
