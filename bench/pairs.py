"""Live pairs: one workload under two policies on a lab, and whether `fawkes whatif` had told which is better.

Each workload runs once under each policy and is recorded. Then the record of the first policy of a pair is asked what
the second one would have changed, and that is held against the mean slowdown that the second run had. The constants of
the model are those that come with Fawkes, or those of another file (`python -m bench.trust --keep` makes one of this
machine): nothing is fitted on these runs. The same folder goes on where it stopped.

`TD+pay` is TD with moves that must pay. `whatif` compares policies under the same settings, so it is not asked about
that one: the second table has what each run had.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path
from statistics import fmean
from typing import Any

from bench.figures import Say
from bench.lab import command_on, exit_status, to_stderr
from fawkes.base.errors import ExitStatus
from fawkes.cli.demo.stage import controller_of, lab_of
from fawkes.config.site.site import Site
from fawkes.live.lab import LabSpec
from fawkes.store.sqlite import LedgerReader

WORKLOADS = ("pair-turns", "pair-queue")
POLICIES = ("None", "TD", "EQ")
REPLAYS = 10
CANNOT_TELL = "cannot tell"
PAYING = "+pay"

_WORKLOADS = Path(__file__).parents[1] / "workloads"
_MODEL = _WORKLOADS / "models" / "lab-of-two-cores.toml"
_SETTINGS = 'preset = "demo"\npolicy = "{policy}"\ngrowth = "TR"\nsample_every = "4s"\nidle_time = "1h"\n'
#: a lab's hosts share the cores of this machine
_PAYING = f"moves_must_pay = true\nshared_cores = {os.cpu_count() or 1}\n"


@dataclass(frozen=True, slots=True)
class Pair:
    """What a change from one policy to another was told to do to the mean slowdown, and what it did; shares.

    ``line`` says how well the model reproduces the first run.
    """

    workload: str
    before: str
    after: str
    verdict: str
    change: float
    seen: float
    line: str

    @property
    def right(self) -> bool:
        """Whether nothing wrong was told."""
        return self.verdict == CANNOT_TELL or (self.verdict == "better") == (self.seen < 0)


def run(folder: Path, workload: str, policy: str, model: Path, say: Say) -> None:
    """Run a workload under a policy and record it, unless that was done; FawkesError when a command fails."""
    done = folder / f"{workload}-{policy}"
    if (done / "replay.json").exists():
        return
    site = Site(folder / f"lab-{workload}-{policy}")
    scenario = _WORKLOADS / f"{workload}.toml"
    hosts = tomllib.loads(scenario.read_text())["hosts"]
    settings = _SETTINGS.format(policy=policy.removesuffix(PAYING)) + _PAYING * policy.endswith(PAYING)
    with lab_of(LabSpec(hosts=hosts, site=site.root), say) as lab:
        site.settings_file.write_text(settings)
        with controller_of(lab, site):
            say(f"pairs: {workload} under {policy}")
            since = datetime.now(UTC).isoformat(timespec="seconds").removesuffix("+00:00")
            out = folder / f"replay-{workload}-{policy}"
            rows = command_on(site, "replay", str(scenario), "--out", str(out), "-o", "json")
            command_on(site, "record", "--since", since, "--model", str(model), "--out", str(done))
    (done / "replay.json").write_text(rows)


def pairs(folder: Path, workload: str, policies: Sequence[str]) -> Iterator[Pair]:
    """What `whatif` tells of each pair of policies, from the record of the first one, beside what was seen."""
    for before, after in combinations((policy for policy in policies if not policy.endswith(PAYING)), 2):
        record = str(folder / f"{workload}-{before}")
        options = ("--policies", f"{before},{after}", "--replays", str(REPLAYS), "-o", "json")
        # Exit code 4: ranked, but not reproduced, and then every verdict is that nobody can tell.
        answer = json.loads(command_on(Site(folder), "whatif", record, *options, good=(0, ExitStatus.PARTIAL)))
        row = next(row for row in answer["rows"] if row["policy"] == after)
        seen = _slowdown(folder, workload, after) / _slowdown(folder, workload, before) - 1
        yield Pair(workload, before, after, row["verdict"], row["change"], seen, answer["line"])


def _slowdown(folder: Path, workload: str, policy: str) -> float:
    """The mean over all jobs of a run."""
    rows = json.loads((folder / f"{workload}-{policy}" / "replay.json").read_text())["rows"]
    return fmean(row["slowdown"] for row in rows)


def table(pairs: Sequence[Pair]) -> str:
    """The pairs as a table in Markdown, with the honesty line of each record below."""
    lines = ["| workload | from | to | told | by | seen | right |", "| --- | --- | --- | --- | --- | --- | --- |"]
    for pair in pairs:
        right = "yes" if pair.right else "NO"
        shares = f"{pair.change:+.1%}", f"{pair.seen:+.1%}"
        cells = (pair.workload, pair.before, pair.after, pair.verdict, *shares, right)
        lines.append(f"| {' | '.join(cells)} |")
    said = {f"{pair.workload} under {pair.before}": pair.line for pair in pairs}
    return "\n".join([*lines, "", *(f"- {name}: {line}" for name, line in said.items())])


def seen(folder: Path, workload: str, policies: Sequence[str]) -> str:
    """A table of what each run of a workload had, in Markdown."""
    lines = [f"| {workload} under | mean slowdown | nodes given | nodes taken back |", "| --- | --- | --- | --- |"]
    for policy in policies:
        with closing(LedgerReader(folder / f"{workload}-{policy}")) as ledger:
            said = Counter(reason.code for entry in ledger.entries() for reason in entry.decision.reasons)
        slowdown = _slowdown(folder, workload, policy)
        lines.append(f"| {policy} | {slowdown:.2f} | {said['grow']} | {said['shrink']} |")
    return "\n".join(lines)


def main() -> int:
    """Run what is missing, and print the table; 1 when something wrong was told."""
    parser = argparse.ArgumentParser(prog="python -m bench.pairs", description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path("build/pairs"), help="records and replays (build/pairs)")
    parser.add_argument("--workloads", default=",".join(WORKLOADS), help="scenarios of workloads/, with commas")
    parser.add_argument("--policies", default=",".join(POLICIES), help="two or more, with commas")
    parser.add_argument("--model", type=Path, default=_MODEL, help="constants, as `fawkes calibrate` writes them")
    arguments: Any = parser.parse_args()
    folder, policies = arguments.folder.absolute(), arguments.policies.split(",")
    folder.mkdir(parents=True, exist_ok=True)
    compared: list[Pair] = []
    runs: list[str] = []
    for workload in arguments.workloads.split(","):
        for policy in policies:
            run(folder, workload, policy, arguments.model.absolute(), to_stderr)
        compared += pairs(folder, workload, policies)
        runs.append(seen(folder, workload, policies))
    print("\n\n".join([table(compared), *runs]))
    return 0 if all(pair.right for pair in compared) else 1


if __name__ == "__main__":
    sys.exit(exit_status(main))
