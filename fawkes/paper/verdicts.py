"""All verdicts in the paper's order, and what each hangs on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import product

from fawkes.offline.work import Row
from fawkes.paper import macro_rules, micro_rules
from fawkes.paper.fixed import ASSUMED, FACTORS, VARIED
from fawkes.paper.rows import NotRunError, Rows
from fawkes.paper.rules import DIFFERS, NOT_SHOWN, REPRODUCED, Judged, Verdict
from fawkes.paper.runs import Run, swept_runs

EXPERIMENTS: tuple[Callable[[Rows], Iterator[Judged]], ...] = (
    macro_rules.setup,
    macro_rules.thresholds,
    micro_rules.half,
    micro_rules.sites,
    micro_rules.grow,
    micro_rules.remove,
    macro_rules.points,
    macro_rules.wordcount,
    macro_rules.sort,
    macro_rules.gain,
    macro_rules.order,
    macro_rules.skewed,
    macro_rules.skewed_makespan,
)


def judge(rows: Rows) -> list[Verdict]:
    """All verdicts; one that is "not shown" for an experiment whose runs were not made."""
    found: list[Verdict] = []
    for experiment in EXPERIMENTS:
        try:
            for name, section, published, ours, holds in experiment(rows):
                found.append(Verdict(name, section, published, ours, REPRODUCED if holds else DIFFERS))
        except NotRunError as missing:
            section, _, what = (experiment.__doc__ or "").partition(":")
            name = f"{section}-{experiment.__name__}"
            found.append(Verdict(name, section, what.strip(), str(missing), NOT_SHOWN))
    return found


def swept(rows: Mapping[Run, Row]) -> list[dict[str, str]]:
    """What each verdict hangs on: a row for each verdict, constant and factor that were run, with both verdicts.

    All on the points that the sweep has, with one seed and without replays; ``ours`` is what came out with the changed
    constant.
    """
    some = {run: _one_seed(rows[run]) for part in swept_runs() for run in part if run in rows}
    plain = {one.name: one for one in judge(Rows(some))}
    found = []
    for constant, factor in product((*VARIED, *ASSUMED), FACTORS):
        if not any(run.constant == constant and run.factor == factor for run in rows):
            continue
        for one in judge(Rows(rows, constant, factor)):
            before = plain.get(one.name)
            if before is not None and NOT_SHOWN not in (before.verdict, one.verdict):
                found.append(
                    {
                        "verdict": one.name,
                        "constant": constant,
                        "factor": f"{factor:g}",
                        "before": before.verdict,
                        "after": one.verdict,
                        "ours": one.ours,
                    }
                )
    return found


def _one_seed(row: Row) -> Row:
    """The row as the sweep has it, whose runs are made with one seed."""
    return {**row, "seconds": row["each_s"][0]} if "each_s" in row else row
