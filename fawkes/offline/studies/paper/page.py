"""The paper's page: what was run and how it came out, with the refuting models and the sweep."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from itertools import pairwise, product
from pathlib import Path

import pandas as pd

from fawkes.base.version import __version__
from fawkes.offline.runs.folder import write_frame, write_rows
from fawkes.offline.runs.work import Row
from fawkes.offline.studies.paper.chapters import CHAPTERS
from fawkes.offline.studies.paper.experiments.workloads import TAU
from fawkes.offline.studies.paper.judging import fixed
from fawkes.offline.studies.paper.judging.fixed import ASSUMED, FACTORS, RANGES, VARIED
from fawkes.offline.studies.paper.judging.models import MODELS
from fawkes.offline.studies.paper.rows import PaperRows
from fawkes.offline.studies.paper.runs import PaperRun, sources
from fawkes.offline.studies.paper.sets import EXPERIMENTS, STATEMENTS, all_runs, published_runs, swept_runs, used_models
from fawkes.offline.studies.shared.page import Exhibit, StudyPage, write_page
from fawkes.offline.studies.shared.verdicts import (
    DEPENDS,
    DIFFERS,
    HOLDS,
    NOT_SHOWN,
    REPRODUCED,
    NotRunError,
    RuleVerdict,
    refuted,
)

GAPS: tuple[str, ...] = (
    "Jobs write one replica: with three, no cost of a seek or of a remote byte gives both figures of 6.1.",
    "Tasks of a job differ by chance (0.165 of the mean), nodes do not; no task straggles.",
    "Input lies on core nodes alone, and copies off a leaving node go to core nodes alone: in 6.4 the nodes that stay "
    "are core nodes. Reading on the leaving node costs its disks nothing.",
    "HDFS looks every 30 s whether nodes have been emptied: all of them at once, where Hadoop 1 takes five at a time.",
)
"""Effects that the model leaves out, as far as these experiments are concerned."""


def publish(rows: Mapping[PaperRun, Row], folder: Path, *, pictures: bool = True) -> list[RuleVerdict]:
    """Write the page of these rows into a folder; the verdicts on it."""
    folder.mkdir(parents=True, exist_ok=True)
    hangs_on = swept(rows)
    verdicts = judge(rows)
    if hangs_on:
        write_frame(folder / "sweep-all", pd.DataFrame(hangs_on))
    write_rows(folder / "rows.json", [{"run": asdict(run), "row": row} for run, row in _published(rows)])
    page = StudyPage(
        title="The paper's experiments in the simulated world",
        made_by=_made_by(rows),
        verdicts=verdicts,
        reasons={
            verdict.name: why(verdict.name, PaperRows(rows)) for verdict in verdicts if verdict.verdict == DIFFERS
        },
        gaps=GAPS,
        failed=[f"{run}: {row['error']}" for run, row in rows.items() if "error" in row],
        links={name: f"{name}/index.md" for name in CHAPTERS if (folder / name / "index.md").exists()},
    )
    write_page(page, _exhibits(hangs_on), PaperRows(rows), folder, pictures=pictures)
    return verdicts


def _published(rows: Mapping[PaperRun, Row]) -> Iterator[tuple[PaperRun, Row]]:
    """The runs and rows of the verdicts and reasons, without the sweep; of the courses WKLD-A's alone is judged."""
    judged_runs = published_runs()
    for run, row in sorted(rows.items(), key=lambda item: str(item[0])):
        if run in judged_runs:
            judged = dict(run.values).get("workload") == "WKLD-A"
            yield run, row if judged else {name: value for name, value in row.items() if name != "course"}


def _made_by(rows: Mapping[PaperRun, Row]) -> str:
    wanted = set(all_runs())
    made = len(wanted & rows.keys())
    partly = "" if made == len(wanted) else f" {made} of {len(wanted)} runs were made: what was not run says so."
    return (
        f"Made by `fawkes paper` of Fawkes {__version__} (sources {sources()}), seed {fixed.SEED}. The constants of "
        "the model (fawkes/sim/hadoop/constants.py) are fitted on the two Sort figures of 6.1 alone; the rules of the "
        "verdicts (fawkes/offline/studies/paper/judging/fixed.py) were fixed before the experiments were run. "
        "Beside each verdict stands what would refute the statement, and what its rule says of models in which that "
        f"is so.{partly}"
    )


def _exhibits(swept_rows: Sequence[Mapping[str, str]]) -> Iterator[Exhibit]:
    """All of them in the paper's order, then the refuting models and the sweep."""
    # tau is judged on runs of section 7
    for experiment in sorted(EXPERIMENTS, key=lambda experiment: experiment is TAU):
        yield from experiment.exhibits
    how = "Each is the model with one change. A rule that holds in one of its refuting models proves nothing."
    yield Exhibit("models", "Refuting models", how, (), _models)
    how = (
        "Each constant times 0.5 and 2, fitted or assumed alike: section 6 on fewer points and with one seed, of "
        f"section 7 WKLD-A, C and D without replays, with {', '.join(fixed.SECTION_7)}. WKLD-B and E are not swept. "
        "The verdicts here are those of the rules alone, without ranges and refuting models."
    )
    yield Exhibit("sweep", "What the verdicts hang on", how, (), partial(_flipped, swept_rows))


def _models(_: PaperRows) -> pd.DataFrame:
    """The models that refute, and the statements that each refutes."""
    return pd.DataFrame(
        {
            "model": model,
            "all else equal": MODELS[model].meaning,
            "refutes": ", ".join(name for name, statement in STATEMENTS.items() if model in statement.models),
        }
        for model in used_models()
    )


def _flipped(swept_rows: Sequence[Mapping[str, str]], _: PaperRows) -> pd.DataFrame:
    """The sweep in short: for each verdict, under how many changed constants it was tried, and which ones turn it."""
    table = []
    for name in dict.fromkeys(row["verdict"] for row in swept_rows):
        own = [row for row in swept_rows if row["verdict"] == name]
        turned = [f"{row['constant']} x{row['factor']}" for row in own if row["before"] != row["after"]]
        table.append(
            {
                "verdict": name,
                "with_the_constants": own[0]["before"],
                "tried": len(own),
                "turned_by": ", ".join(turned) or "none",
            }
        )
    if not table:
        raise NotRunError("not run: the sweep")
    return pd.DataFrame(table)


# --- All verdicts in the paper's order, what each hangs on, and the reasons of those that differ


UNKNOWN = "not known why."


def ruled(rows: PaperRows) -> list[RuleVerdict]:
    """The verdicts of the rules alone on these rows, "not shown" for an experiment whose runs were not made."""
    verdicts: list[RuleVerdict] = []
    for experiment in EXPERIMENTS:
        section = experiment.section
        try:
            for name, ours, holds in experiment.rules(rows):
                verdict = REPRODUCED if holds else DIFFERS
                verdicts.append(RuleVerdict(name, section, STATEMENTS[name].published, ours, verdict))
        except NotRunError as missing:
            name = f"{section}-{experiment.name}"
            verdicts.append(RuleVerdict(name, section, experiment.title, str(missing), NOT_SHOWN))
    return verdicts


def judge(rows: Mapping[PaperRun, Row]) -> list[RuleVerdict]:
    """All verdicts.

    A statement is "reproduced" when its rule holds over the range of what the paper does not say, and does not hold
    on any of its refuting models. One without such a model "cannot fail".
    """
    plain = PaperRows(rows)
    on_models = {model: _by_name(plain.of_model(model)) for model in used_models()}
    ranges = {
        section: {factor: _by_name(PaperRows(rows, constant, factor)) for factor in factors}
        for section, (constant, _, factors) in RANGES.items()
    }
    return [_refuted(_over(verdict, ranges.get(verdict.section, {})), on_models) for verdict in ruled(plain)]


def _by_name(rows: PaperRows) -> dict[str, RuleVerdict]:
    return {verdict.name: verdict for verdict in ruled(rows) if verdict.verdict != NOT_SHOWN}


def _over(plain: RuleVerdict, others: Mapping[float, Mapping[str, RuleVerdict]]) -> RuleVerdict:
    """The verdict over the range of a value: "depends on" it when the rule holds for a part of the range alone."""
    if plain.verdict == NOT_SHOWN or not others:
        return plain
    _, value, _ = RANGES[plain.section]
    points = {1.0: plain} | {factor: there[plain.name] for factor, there in others.items() if plain.name in there}
    if len(points) <= len(others):
        return replace(plain, verdict=HOLDS if plain.verdict == REPRODUCED else plain.verdict)
    holding = [factor for factor in sorted(points) if points[factor].verdict == REPRODUCED]
    if len(holding) in (0, len(points)):
        return replace(plain, ours=f"{plain.ours}; the same verdict with {value} x {_factors(others)}")
    differing = [factor for factor in sorted(points) if (factor in holding) != (1.0 in holding)]
    there = ", x ".join(f"{each:g}: {points[each].ours}" for each in differing)
    turns = [pair for pair in pairwise(sorted(points)) if (pair[0] in holding) != (pair[1] in holding)]
    ends = f"holds with x {_factors(holding)} alone, turns between x {', '.join(map(_factors, turns))}"
    return replace(plain, ours=f"{plain.ours}; with {value} x {there}; {ends}", verdict=DEPENDS + value)


def _factors(factors: Iterable[float]) -> str:
    return " and ".join(f"{each:g}" for each in factors)


def _refuted(plain: RuleVerdict, on_models: Mapping[str, Mapping[str, RuleVerdict]]) -> RuleVerdict:
    """The verdict with what would refute it; as it is for an experiment whose runs were not made."""
    against = STATEMENTS.get(plain.name)
    if against is None:
        return plain
    there = {model: on_models[model].get(plain.name) for model in against.models}
    passed = {model: None if ours is None else ours.verdict != DIFFERS for model, ours in there.items()}
    return refuted(plain, against.refuted_by, passed)


def why(name: str, rows: PaperRows) -> str:
    """The reasons for a verdict that are borne out, or "not known why"."""
    texts = []
    for reason in STATEMENTS[name].reasons:
        try:
            figures = reason.check(rows)
        except NotRunError:
            continue
        if figures is not None:
            texts.append(f"{reason.claim} ({figures}).")
    return " ".join(texts) or UNKNOWN


def swept(rows: Mapping[PaperRun, Row]) -> list[dict[str, str]]:
    """Constants that verdicts hang on: a row for each verdict, constant and factor that were run, with both verdicts.

    All on the points that the sweep has, with one seed and without replays; ``ours`` is what came out with the changed
    constant.
    """
    some = {run: _one_seed(rows[run]) for part in swept_runs() for run in part if run in rows}
    plain = {verdict.name: verdict for verdict in ruled(PaperRows(some))}
    table = []
    for constant, factor in product((*VARIED, *ASSUMED), FACTORS):
        if not any(run.constant == constant and run.factor == factor for run in rows):
            continue
        for verdict in ruled(PaperRows(rows, constant, factor)):
            before = plain.get(verdict.name)
            if before is not None and NOT_SHOWN not in (before.verdict, verdict.verdict):
                table.append(
                    {
                        "verdict": verdict.name,
                        "constant": constant,
                        "factor": f"{factor:g}",
                        "before": before.verdict,
                        "after": verdict.verdict,
                        "ours": verdict.ours,
                    }
                )
    return table


def _one_seed(row: Row) -> Row:
    """The row as the sweep has it, whose runs are made with one seed."""
    return {**row, "seconds": row["each_s"][0], "each_s": row["each_s"][:1]} if "each_s" in row else row
