"""The course of a job under quotas, for `fawkes explain --job`: set point, progress, requested and given cores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fawkes.base.units import SECOND_US
from fawkes.core.quota.sight import CoresWay, PeriodCourse
from fawkes.report.tables.explain import Line

Courses = Sequence[tuple[int, PeriodCourse]]
#: lines of a course; the last period is always among them
_LINES = 16
_BAR = 20
_POINTS = 400
_WORDS: Mapping[CoresWay, str] = {
    CoresWay.STARTING: "no stage yet: its executors may use all that they can",
    CoresWay.CONTROLLED: "",
    CoresWay.BETWEEN: "no stage is active: the least quota",
    CoresWay.NO_RATE: "the profile has no rate for this stage: all cores. `fawkes profile run` makes a new version",
    CoresWay.LATE: "its time had passed before it began: all cores",
    CoresWay.OTHER_SHAPE: (
        "this stage is not in the profile: all cores to the end. `fawkes profile run` makes a new version"
    ),
    CoresWay.SILENT: "its driver says nothing: no limit until it does",
}


def quota_lines(courses: Courses) -> list[Line]:
    """Lines of a course: those at which the stage or the way changed, and others at even distances between them."""
    if not courses:
        return []
    return [_line(at_us, course) for at_us, course in _chosen(courses)]


def curves(courses: Courses) -> dict[str, list[float | None]]:
    """The course as lists of equal length, at most 400 periods: seconds since the first, percentages, and cores."""
    every = -(-len(courses) // _POINTS) or 1
    shown = [*courses[:-1:every], *courses[-1:]]
    return {
        "seconds": [(at_us - courses[0][0]) / SECOND_US for at_us, _ in shown],
        "set_point": [course.set_point for _, course in shown],
        "progress": [course.progress for _, course in shown],
        "requested": [course.requested for _, course in shown],
        "given": [course.given for _, course in shown],
    }


def _chosen(courses: Courses) -> Courses:
    last = len(courses) - 1
    turns = {
        place
        for place, (_, course) in enumerate(courses)
        if place == 0 or (course.stage, course.way) != (courses[place - 1][1].stage, courses[place - 1][1].way)
    }
    chosen = set(sorted(turns)[: _LINES - 1]) | {last}
    spare = max(0, _LINES - len(chosen))
    chosen |= {round(last * part / (spare + 1)) for part in range(1, spare + 1)}
    return [courses[place] for place in sorted(chosen)]


def _line(at_us: int, course: PeriodCourse) -> Line:
    words = _WORDS[course.way]
    parts = [f"stage {course.stage}" if course.stage else "", words]
    if course.set_point is not None and course.progress is not None:
        parts.append(
            f"{bar(course.progress, course.set_point)} {course.progress:.0f} % done, {course.set_point:.0f} % planned"
        )
    given = f"not known to be in force: {course.unset}" if course.unset else _cores(course.given, "given")
    parts.append(f"{_cores(course.requested, 'requested')}, {given}")
    facts: dict[str, object] = {
        "way": str(course.way),
        "stage": course.stage,
        "set_point": course.set_point,
        "progress": course.progress,
        "requested": course.requested,
        "given": course.given,
    }
    return Line("; ".join(filter(None, parts)), at_us, None, "quota", facts)


def bar(progress: float, set_point: float) -> str:
    """A bar of the tasks that are done, with a mark where the set point is."""
    done, mark = (min(_BAR, max(0, round(part / 100 * _BAR))) for part in (progress, set_point))
    marks = ["#" if place < done else "." for place in range(_BAR)]
    marks.insert(mark, "|")
    return f"[{''.join(marks)}]"


def _cores(cores: float | None, word: str) -> str:
    if cores is None:
        return "no limit" if word == "given" else "nothing requested"
    return f"{cores:.2f} cores {word}"
