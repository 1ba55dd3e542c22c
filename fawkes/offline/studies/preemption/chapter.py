"""The chapter on preemption: its cases are run, judged by rules that were fixed before, and written as a page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from fawkes.base.version import __version__
from fawkes.offline.runs.work import Row, Runner, in_this_process
from fawkes.offline.studies.preemption import fixed
from fawkes.offline.studies.preemption.cases import MODELS, Case
from fawkes.offline.studies.preemption.experiments.energy import ENERGY
from fawkes.offline.studies.preemption.experiments.experiment import Study
from fawkes.offline.studies.preemption.experiments.google import GOOGLE
from fawkes.offline.studies.preemption.experiments.rig import RIG
from fawkes.offline.studies.preemption.experiments.trap import TRAP
from fawkes.offline.studies.preemption.experiments.yarn import YARN
from fawkes.offline.studies.preemption.play import play
from fawkes.offline.studies.shared.page import Page, write_page
from fawkes.offline.studies.shared.statements import judge, reasons_of
from fawkes.offline.studies.shared.verdicts import RuleVerdict

TITLE = "Preemption by checkpoints"
EXPERIMENTS = (RIG, YARN, GOOGLE, ENERGY, TRAP)
_QUICK = 1
GAPS = (
    "The thesis has no task lengths, arrivals or shares of important jobs. Both workloads are ours.",
    "A restore takes as long as a full dump on the same medium. CPU, network and HDFS limit nothing else.",
    "Tasks run until their dump begins. A dump that has begun is never interrupted.",
    "A task changes 10 % of its memory in 60 s, whatever it does.",
    "Suspended and killed tasks return to the queue at the place of their job.",
    "NVM wastes less here than in the thesis, where 9.2 % of capacity have no explanation; so its level is not judged.",
    "Forced kills after a timeout, failed dumps and full stores do not happen here.",
    "The PARSEC programs, distributions of response times and elastic Storm are left out.",
)


def wanted(*, quick: bool) -> list[Case]:
    """The cases of the chapter, each once; ``quick``: with one seed."""
    seeds = seeds_of(quick=quick)
    cases = (case.plain() for experiment in EXPERIMENTS for case in experiment.wanted(seeds, MODELS))
    return list(dict.fromkeys(case for case in cases if case.seed in seeds[: fixed.RUNS[case.workload]]))


def seeds_of(*, quick: bool) -> Sequence[int]:
    """The seeds that are run."""
    return fixed.SEEDS[:_QUICK] if quick else fixed.SEEDS


def missing(_out: Path, *, quick: bool) -> int:
    """The number of runs that are left: all, because rows are not kept."""
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
        say(f"{case.workload} {case.policy}")
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
        f"Made by `fawkes paper --chapter preemption` of Fawkes {__version__}: {len(rows)} runs, seeds {seeds[0]} to "
        f"{seeds[-1]}. It repeats chapter 3 of Jack Li's thesis on resource sharing in a model of slots and devices, "
        "with the deciding and the preemption policies of Fawkes. `checkpoint` is the thesis's basic policy. The rules "
        "of the verdicts were committed before the runs."
    )
