"""The paper's page: what was run and how it came out, with the refuting models and the sweep."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

import pandas as pd

from fawkes.base.version import __version__
from fawkes.offline.runs.folder import write_frame, write_rows
from fawkes.offline.runs.work import Row
from fawkes.offline.studies.paper.chapters import CHAPTERS
from fawkes.offline.studies.paper.experiments.workloads import TAU
from fawkes.offline.studies.paper.judging import fixed
from fawkes.offline.studies.paper.judging.models import MODELS
from fawkes.offline.studies.paper.rows import Rows
from fawkes.offline.studies.paper.runs import Run, sources
from fawkes.offline.studies.paper.sets import EXPERIMENTS, STATEMENTS, all_runs, published_runs, used_models
from fawkes.offline.studies.paper.verdicts import judge, swept, why
from fawkes.offline.studies.shared.page import Exhibit, Page, write_page
from fawkes.offline.studies.shared.verdicts import DIFFERS, NotRunError, RuleVerdict

GAPS: tuple[str, ...] = (
    "Jobs write one replica: with three, no cost of a seek or of a remote byte gives both figures of 6.1.",
    "Tasks of a job differ by chance (0.165 of the mean), nodes do not; no task straggles.",
    "Input lies on core nodes alone, and copies off a leaving node go to core nodes alone: in 6.4 the nodes that stay "
    "are core nodes. Reading on the leaving node costs its disks nothing.",
    "HDFS looks every 30 s whether nodes have been emptied: all of them at once, where Hadoop 1 takes five at a time.",
)
"""Effects that the model leaves out, as far as these experiments are concerned."""


def publish(rows: Mapping[Run, Row], folder: Path, *, pictures: bool = True) -> list[RuleVerdict]:
    """Write the page of these rows into a folder; the verdicts on it."""
    folder.mkdir(parents=True, exist_ok=True)
    hangs_on = swept(rows)
    verdicts = judge(rows)
    if hangs_on:
        write_frame(folder / "sweep-all", pd.DataFrame(hangs_on))
    write_rows(folder / "rows.json", [{"run": asdict(run), "row": row} for run, row in _published(rows)])
    page = Page(
        title="The paper's experiments in the simulated world",
        made_by=_made_by(rows),
        verdicts=verdicts,
        reasons={verdict.name: why(verdict.name, Rows(rows)) for verdict in verdicts if verdict.verdict == DIFFERS},
        gaps=GAPS,
        failed=[f"{run}: {row['error']}" for run, row in rows.items() if "error" in row],
        links={name: f"{name}/index.md" for name in CHAPTERS if (folder / name / "index.md").exists()},
    )
    write_page(page, _exhibits(hangs_on), Rows(rows), folder, pictures=pictures)
    return verdicts


def _published(rows: Mapping[Run, Row]) -> Iterator[tuple[Run, Row]]:
    """The runs and rows of the verdicts and reasons, without the sweep; of the courses WKLD-A's alone is judged."""
    judged_runs = published_runs()
    for run, row in sorted(rows.items(), key=lambda item: str(item[0])):
        if run in judged_runs:
            judged = dict(run.values).get("workload") == "WKLD-A"
            yield run, row if judged else {name: value for name, value in row.items() if name != "course"}


def _made_by(rows: Mapping[Run, Row]) -> str:
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


def _models(_: Rows) -> pd.DataFrame:
    """The models that refute, and the statements that each refutes."""
    return pd.DataFrame(
        {
            "model": model,
            "all else equal": MODELS[model].meaning,
            "refutes": ", ".join(name for name, statement in STATEMENTS.items() if model in statement.models),
        }
        for model in used_models()
    )


def _flipped(swept_rows: Sequence[Mapping[str, str]], _: Rows) -> pd.DataFrame:
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
