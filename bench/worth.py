"""`python -m bench.worth`: do moves that pay for themselves pay? None, EQ, TD, and TD with `moves_must_pay`.

Runs the bundled scenarios, those of the paper, and drawn ones (`bench/worth_scenarios.py`), two perturbed replays
each, and searches for the best fixed division. Each scenario is a file in --out, so the same command continues; rows of
other code are run again.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import fmean, median

from bench.worth_scenarios import write_scenario
from fawkes.base.catalog import Catalog, Kind
from fawkes.base.errors import ExitStatus, FawkesError
from fawkes.base.units import SECOND_US
from fawkes.config.site.site import Site
from fawkes.offline.outcomes.outcome import outcome_of
from fawkes.offline.runs.folder import stamp_of, write_json
from fawkes.offline.runs.regret import bounds, search, slowdown_of
from fawkes.offline.runs.work import Row, finish, in_this_process, on_processes
from fawkes.offline.scenarios.plan import Plan, paper_plan, shaken_scenario
from fawkes.offline.scenarios.read import read_plan
from fawkes.offline.scenarios.scenario import simulate
from fawkes.workload.making.classes import NAMES

NAMED = ("fb-2009-small", "programs-small", "wkld-a-small", "btworld-small", "hibench-small", "quickstart", *NAMES)
#: policy, and whether moves must pay
ARMS = {"None": ("None", False), "EQ": ("EQ", False), "TD": ("TD", False), "TD, paying": ("TD", True)}
REPLAYS = 2
DIVISIONS = 12
_SPREAD_US = 30 * SECOND_US
#: what is to hold: never worse than None or EQ by more, and so much of TD's gain over both is kept
WORSE, KEPT = 0.02, 0.95

_ROOT = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True)
class Folder:
    """A file for each scenario; one that other code has made counts for nothing."""

    folder: Path
    code: str

    def row(self, item: str) -> Row | None:
        """The row of a scenario, if this code has made it."""
        stamp = stamp_of(self.folder / f"{item}.json")
        return stamp if stamp is not None and stamp.get("code") == self.code else None

    def keep(self, item: str, row: Row) -> None:
        """Store a row, whole."""
        self.folder.mkdir(parents=True, exist_ok=True)
        write_json(self.folder / f"{item}.json", {**row, "code": self.code})


def code_digest() -> str:
    """A digest of all that decides, simulates and draws."""
    digest = hashlib.sha256()
    folders = ("fawkes/core", "fawkes/sim", "fawkes/offline", "fawkes/config", "policies/weighting", "workloads")
    files = [path for folder in folders for path in (_ROOT / folder).rglob("*") if path.suffix in (".py", ".toml")]
    for path in sorted([*files, *(_ROOT / "bench" / f"{name}.py" for name in ("drawn", "worth_scenarios", "worth"))]):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def run(scenarios: Path, divisions: int, item: str) -> Row:
    """All arms of one scenario, and its best fixed division; a scenario that cannot run says why in ``error``."""
    try:
        return _run(scenarios, divisions, item)
    except FawkesError as error:
        return {"name": item, "drawn": None, "error": str(error)}


def _run(scenarios: Path, divisions: int, item: str) -> Row:
    drawn: Row | None = None
    catalog = Catalog(site=scenarios)
    if item.isdecimal():
        file, facts = write_scenario(int(item), scenarios)
        drawn = {name: getattr(facts, name) for name in type(facts).__slots__}
        plan = read_plan(Site(scenarios), catalog, str(file))
    else:
        plan = paper_plan(item) if item in NAMES else read_plan(Site(scenarios), catalog, item)
    plan = plan.with_references(plan.scenario(catalog))
    means, moves, first_means = {}, {}, {}
    for name in ARMS:
        values = [_outcome(plan, catalog, name, replay) for replay in range(1, REPLAYS + 1)]
        means[name] = fmean(value for value, _ in values)
        first_means[name] = values[0][0]
        moves[name] = fmean(count for _, count in values)
    scenario = plan.scenario(catalog)
    first = partial(slowdown_of, scenario, plan.demands, seed=plan.seed, replay=1, spread_us=_SPREAD_US)
    best = search(first, *bounds(scenario, plan.demands), divisions=divisions)
    return {
        "name": plan.name,
        "drawn": drawn,
        "slowdown": means,
        "moves": moves,
        "fixed": None if best is None else best.slowdown,
        "first": first_means,
    }


def _outcome(plan: Plan, catalog: Catalog, arm: str, replay: int) -> tuple[float, int]:
    policy, pays = ARMS[arm]
    scenario = plan.scenario(catalog, policy=catalog.find(Kind.POLICY, policy), changes={"moves_must_pay": pays})
    outcome = outcome_of(
        simulate(shaken_scenario(scenario, plan.demands, seed=plan.seed, replay=replay, spread_us=_SPREAD_US))
    )
    return outcome.slowdown_mean or 0.0, outcome.reconfigurations


@dataclass(frozen=True, slots=True)
class Judged:
    """One scenario: over the better of None and EQ, TD's gain over it and how much of that is kept, and the regret."""

    row: Row
    worse: float
    gain: float
    kept: float | None
    regret: float | None

    @property
    def holds(self) -> bool:
        """Whether it is as it is to be."""
        return self.worse <= WORSE and (self.kept is None or self.kept >= KEPT)


def judged(row: Row) -> Judged:
    """What is to be seen of one row."""
    means, fixed = row["slowdown"], row["fixed"]
    base = min(means["None"], means["EQ"])
    gain, mine = base - means["TD"], base - means["TD, paying"]
    return Judged(
        row,
        means["TD, paying"] / base - 1,
        gain / base,
        mine / gain if gain > 0.005 * base else None,
        row["first"]["TD, paying"] / fixed - 1 if fixed else None,
    )


def table(rows: Sequence[Row]) -> str:
    """Markdown: each named scenario, the drawn ones by pool and preset, and those that are not as they are to be."""
    judgements = [judged(row) for row in rows if "error" not in row]
    named = [each for each in judgements if each.row["drawn"] is None]
    drawn = [each for each in judgements if each.row["drawn"] is not None]
    head = "| {} | None | EQ | TD | TD, paying | moves TD | moves paying | to best of None, EQ | regret |\n"
    rule = "|---|---|---|---|---|---|---|---|---|\n"
    text = head.format("scenario") + rule + "".join(_line(each) for each in named) if named else ""
    if drawn:
        text += "\n| drawn | scenarios | > 2 % worse | mean | most | TD gains in | kept < 95 % | kept of all gains |"
        text += " median regret TD | with it |\n|---|---|---|---|---|---|---|---|---|---|\n"
        for label, part in _parts(drawn).items():
            text += _summary(label, part)
        missed = sorted((each for each in drawn if not each.holds), key=lambda each: -each.worse)
        text += "\n" + head.format("drawn, not as it is to be") + rule + "".join(_line(each) for each in missed)
    for row in rows:
        if "error" in row:
            text += f"\n{row['name']}: {row['error']}\n"
    return text


def _parts(drawn: Sequence[Judged]) -> dict[str, list[Judged]]:
    parts = {"all": list(drawn)}
    for each in drawn:
        facts = each.row["drawn"]
        sites = "two sites" if facts["sites"] > 1 else "one site"
        label = "lab" if facts["pool"] == "lab" else f"{facts['preset']}, {sites}"
        parts.setdefault(label, []).append(each)
    return parts


def _line(each: Judged) -> str:
    row, means = each.row, each.row["slowdown"]
    cells = [row["name"], *(f"{means[arm]:.2f}" for arm in ARMS)]
    cells += [f"{row['moves']['TD']:.0f}", f"{row['moves']['TD, paying']:.0f}", f"{each.worse:+.1%}"]
    return f"| {' | '.join([*cells, '-' if each.regret is None else f'{each.regret:+.1%}'])} |\n"


def _summary(label: str, part: Sequence[Judged]) -> str:
    gains = [each for each in part if each.kept is not None]
    kept = sum(each.gain * (each.kept or 0) for each in gains) / sum(each.gain for each in gains) if gains else None
    both = [each for each in part if each.regret is not None]
    plain = [each.row["first"]["TD"] / each.row["fixed"] - 1 for each in both]
    cells = [
        label,
        str(len(part)),
        str(sum(each.worse > WORSE for each in part)),
        f"{fmean(each.worse for each in part):+.1%}",
        f"{max(each.worse for each in part):+.1%}",
        str(len(gains)),
        str(sum((each.kept or 0) < KEPT for each in gains)),
        "-" if kept is None else f"{kept:.0%}",
        f"{median(plain):+.1%}" if plain else "-",
        f"{median(each.regret or 0 for each in both):+.1%}" if both else "-",
    ]
    return f"| {' | '.join(cells)} |\n"


def main() -> int:
    """Exit 1 with --strict when a scenario is not as it is to be."""
    parser = argparse.ArgumentParser(prog="python -m bench.worth", description=__doc__)
    parser.add_argument("--seeds", default="0-199", help="drawn scenarios, such as 0-199; empty for none")
    parser.add_argument("--named", action="store_true", help="also the bundled scenarios and the paper's")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--divisions", type=int, default=DIVISIONS, help="fixed divisions tried for each scenario")
    parser.add_argument("--out", type=Path, default=Path("bench-worth"), help="folder of the rows")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the tables as Markdown")
    parser.add_argument("--strict", action="store_true", help="end with 1 when a scenario is not as it is to be")
    given = parser.parse_args()
    first, _, last = given.seeds.partition("-")
    seeds = [str(seed) for seed in range(int(first), int(last or first) + 1)] if first else []
    items = [*(NAMED if given.named else ()), *seeds]
    runner = on_processes(given.jobs) if given.jobs > 1 else in_this_process
    task = partial(run, given.out / "scenarios", given.divisions)
    rows = finish(task, items, Folder(given.out / "rows", code_digest()), runner, lambda item: _said(item, len(items)))
    text = table(rows)
    sys.stdout.write(text)
    if given.write is not None:
        given.write.write_text(text)
    missed = any("error" in row or not judged(row).holds for row in rows)
    return ExitStatus.FAILED if given.strict and missed else ExitStatus.DONE


def _said(item: str, count: int) -> None:
    sys.stderr.write(f"{item} of {count} is done\n")


if __name__ == "__main__":
    sys.exit(main())
