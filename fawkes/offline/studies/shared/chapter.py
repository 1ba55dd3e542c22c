"""Chapters of statements: their cases are run, judged by rules that were fixed before, and written as a page."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fawkes.base.version import __version__
from fawkes.offline.runs.work import Row, Runner, in_this_process
from fawkes.offline.studies.shared.page import StudyPage, write_page
from fawkes.offline.studies.shared.statements import Experiment, Study, judge, reasons_of
from fawkes.offline.studies.shared.verdicts import RuleVerdict


@dataclass(frozen=True, kw_only=True)
class Chapter:
    """Experiments with all that their page needs; ``quick`` takes the first of the seeds.

    ``label`` is a case in a line of progress, and ``about`` ends the page's sentence on how it was made.
    """

    name: str
    command: str
    title: str
    experiments: tuple[Experiment, ...]
    gaps: tuple[str, ...]
    about: str
    seeds: Sequence[int]
    models: Container[str]
    study: type[Study]
    play: Callable[[Any], Row]
    label: Callable[[Any], str]

    def wanted(self, *, quick: bool) -> list[Any]:
        """The cases of the chapter, each once; ``quick``: with one seed."""
        seeds = self.seeds_of(quick=quick)
        study = self.study({}, seeds)
        cases = (case for experiment in self.experiments for case in experiment.wanted(seeds, self.models))
        return list(dict.fromkeys(study.run_of(case) for case in cases if case.seed in study.seeds_of(case)))

    def seeds_of(self, *, quick: bool) -> Sequence[int]:
        """The seeds that are run."""
        return self.seeds[:1] if quick else self.seeds

    def missing(self, _out: Path, *, quick: bool) -> int:
        """The number of runs that are left: all, because rows are not kept."""
        return len(self.wanted(quick=quick))

    def make(
        self,
        out: Path,
        *,
        quick: bool,
        pictures: bool,
        run: Runner = in_this_process,
        say: Callable[[str], None] = lambda text: None,
    ) -> list[RuleVerdict]:
        """Run all cases and write the page into ``out``; the verdicts on it."""
        rows = dict[Any, Row]()
        for case, row in run(self.play, self.wanted(quick=quick)):
            rows[case] = row
            say(self.label(case))
        return self.publish(rows, out, self.seeds_of(quick=quick), pictures=pictures)

    def verdicts_of(self, study: Study) -> list[RuleVerdict]:
        """The verdicts on all statements."""
        return [judge(statement, study) for experiment in self.experiments for statement in experiment.statements]

    def publish(
        self, rows: Mapping[Any, Row], folder: Path, seeds: Sequence[int], *, pictures: bool
    ) -> list[RuleVerdict]:
        """Write the page of these rows into a folder; the verdicts on it."""
        folder.mkdir(parents=True, exist_ok=True)
        study = self.study(rows, seeds)
        verdicts = self.verdicts_of(study)
        reasons = reasons_of(self.experiments, verdicts, study)
        made_by = (
            f"Made by `{self.command}` of Fawkes {__version__}: {len(rows)} runs, seeds {seeds[0]} to {seeds[-1]}. "
            f"{self.about}"
        )
        page = StudyPage(title=self.title, made_by=made_by, verdicts=verdicts, reasons=reasons, gaps=self.gaps)
        exhibits = [exhibit for experiment in self.experiments for exhibit in experiment.exhibits]
        write_page(page, exhibits, study, folder, pictures=pictures)
        return verdicts
