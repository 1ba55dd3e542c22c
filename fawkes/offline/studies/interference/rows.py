"""Outcomes of the study's runs, as rows for tables and curves for pictures."""

from __future__ import annotations

from dataclasses import dataclass, replace

from fawkes.base.units import SECOND_US
from fawkes.core.state.admitting import Admission
from fawkes.offline.studies.interference.course import RunCourse
from fawkes.offline.studies.interference.manager import run
from fawkes.offline.studies.interference.values import InterferenceStudy, Remedy

#: how each manager is called, by its remedy
MANAGERS = {
    Remedy.NONE: "offers",
    Remedy.REVOKE: "revocation",
    Remedy.ADMIT: "admission",
    Remedy.RELEASE: "full release",
}
FAWKES = "Fawkes"

Points = list[tuple[float, float]]
"""A step function: seconds and the value from then on."""


@dataclass(frozen=True, slots=True)
class FrameworkRow:
    """The fate of a framework under a manager; seconds from the start of the run, None for what never happened."""

    manager: str
    framework: str
    at_s: float
    first_task_s: float | None
    finished_s: float | None
    stuck_s: float
    lost_tasks: int | None
    dropped_jobs: int


@dataclass(frozen=True, slots=True)
class Curve:
    """CPUs that a framework holds, those where its tasks run, and from when to when it stood still (seconds)."""

    manager: str
    framework: str
    held: Points
    used: Points
    stuck: list[tuple[float, float]]


def played(study: InterferenceStudy, remedy: Remedy, admission: Admission) -> tuple[list[FrameworkRow], list[Curve]]:
    """Rows and curves of a study under one remedy."""
    course = run(replace(study, remedy=remedy), admission)
    return rows_of(course), curves_of(course)


def rows_of(course: RunCourse) -> list[FrameworkRow]:
    """A row for each framework, in the order of registration."""
    return [
        FrameworkRow(
            manager=MANAGERS[course.study.remedy],
            framework=end.framework,
            at_s=end.registered_us / SECOND_US,
            first_task_s=None if end.first_us is None else end.first_us / SECOND_US,
            finished_s=None if end.finished_us is None else end.finished_us / SECOND_US,
            stuck_s=end.stuck_us / SECOND_US,
            lost_tasks=end.lost_tasks,
            dropped_jobs=len(end.dropped),
        )
        for end in course.ended.values()
    ]


def curves_of(course: RunCourse) -> list[Curve]:
    """The curves of each framework."""
    curves = []
    for name in course.ended:
        held, used = [], []
        for moment in course.moments:
            share = moment.shares.get(name)
            if share is not None:
                held.append((moment.at_us / SECOND_US, share.held.cpu_milli / 1000))
                used.append((moment.at_us / SECOND_US, share.used.cpu_milli / 1000))
        stuck = [(since / SECOND_US, until / SECOND_US) for since, until in course.stuck_spans(name)]
        curves.append(Curve(MANAGERS[course.study.remedy], name, held, used, stuck))
    return curves
