"""The chapter on quotas: its cases are run, judged by rules that were fixed before, and written as a page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from fawkes.base.version import __version__
from fawkes.offline.runs.work import Row, Runner, in_this_process
from fawkes.offline.studies.quota import fixed
from fawkes.offline.studies.quota.cases import MODELS, Case
from fawkes.offline.studies.quota.experiments.alone import ALONE
from fawkes.offline.studies.quota.experiments.exact import EXACT
from fawkes.offline.studies.quota.experiments.experiment import Study
from fawkes.offline.studies.quota.experiments.nodes import NODES
from fawkes.offline.studies.quota.experiments.skew import SKEW
from fawkes.offline.studies.quota.experiments.together import TOGETHER
from fawkes.offline.studies.quota.play import play
from fawkes.offline.studies.shared.page import Page, write_page
from fawkes.offline.studies.shared.statements import judge, reasons_of
from fawkes.offline.studies.shared.verdicts import RuleVerdict

TITLE = "CPU quotas: deadlines of Spark applications"
EXPERIMENTS = (EXACT, ALONE, SKEW, TOGETHER, NODES)
GAPS = (
    "The paper has neither the durations of single applications nor their stages. The parts of stages, and which of "
    "them lacks parallelism, are ours.",
    "Speed is cores^theta, with one theta for each application, fitted on Table 4 at x1.0 and x1.4.",
    "Stages follow one another: no application here has parallel stages.",
    "Storage, network and memory limit nothing. The 3.6 % that off-heap memory costs is left out, but for the factor "
    "of 1.10 on the work of Benchmark 2.",
    "Executors start at once. A quota is in force 0.3 s after its decision.",
    "Figures 4, 8, 9 and 10 are pictures without numbers, and TPC-H has none: neither is judged.",
)


def wanted(*, quick: bool) -> list[Case]:
    """The cases of the chapter, each once; ``quick``: with one seed."""
    seeds = seeds_of(quick=quick)
    return list(dict.fromkeys(case for experiment in EXPERIMENTS for case in experiment.wanted(seeds, MODELS)))


def seeds_of(*, quick: bool) -> Sequence[int]:
    """The seeds that are run."""
    return fixed.SEEDS[:1] if quick else fixed.SEEDS


def missing(_out: Path, *, quick: bool) -> int:
    """How many cases are to be run: all, which takes a minute."""
    return len(wanted(quick=quick))


def make(
    out: Path,
    *,
    quick: bool,
    pictures: bool,
    run: Runner = in_this_process,
    say: Callable[[str], None] = lambda text: None,
) -> list[RuleVerdict]:
    """Run all cases and write the page into ``out``; the verdicts on it."""
    rows = dict[Case, Row]()
    for case, row in run(play, wanted(quick=quick)):
        rows[case] = row
        say(case.arrivals[0].app)
    return publish(rows, out, seeds_of(quick=quick), pictures=pictures)


def verdicts_of(study: Study) -> list[RuleVerdict]:
    """The verdicts on all statements."""
    return [judge(statement, study) for experiment in EXPERIMENTS for statement in experiment.statements]


def publish(rows: Mapping[Case, Row], folder: Path, seeds: Sequence[int], *, pictures: bool) -> list[RuleVerdict]:
    """Write the page of these rows into a folder; the verdicts on it."""
    folder.mkdir(parents=True, exist_ok=True)
    study = Study(rows, seeds)
    verdicts = verdicts_of(study)
    reasons = reasons_of(EXPERIMENTS, verdicts, study)
    page = Page(title=TITLE, made_by=_made_by(rows, seeds), verdicts=verdicts, reasons=reasons, gaps=GAPS)
    exhibits = [exhibit for experiment in EXPERIMENTS for exhibit in experiment.exhibits]
    write_page(page, exhibits, study, folder, pictures=pictures)
    return verdicts


def _made_by(rows: Mapping[Case, Row], seeds: Sequence[int]) -> str:
    return (
        f"Made by `fawkes paper --chapter quota` of Fawkes {__version__}: {len(rows)} runs, seeds {seeds[0]} to "
        f"{seeds[-1]}. It repeats Baresi, Guinea, Leva and Quattrocchi on fine-grained dynamic resource allocation "
        "(xSpark) in a model of stages, with the planner, the controllers, the supervisor and the quota policies of "
        "Fawkes. The rules of the verdicts were committed before the runs; the model had defects that the first run "
        "showed, and they were repaired then (see the decision record on CPU quotas). Errors are in "
        "percent of the deadline; positive is early."
    )
