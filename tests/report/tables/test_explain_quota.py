"""The course of a job under quotas in lines and curves."""

from __future__ import annotations

from typing import Any

import pytest

from fawkes.core.quota.sight import CoresWay, PeriodCourse
from fawkes.core.values.model import JobId
from fawkes.report.tables.explain_quota import bar, curves, quota_lines

HALF_US = 500_000


def course(way: CoresWay = CoresWay.CONTROLLED, stage: str = "0 a", **numbers: Any) -> PeriodCourse:
    return PeriodCourse(job=JobId("j"), way=way, stage=stage, **numbers)


@pytest.mark.parametrize(
    ("progress", "set_point", "drawn"),
    [
        (0, 0, "[|....................]"),
        (50, 60, "[##########..|........]"),
        (100, 100, "[####################|]"),
        (120, -3, "[|####################]"),
    ],
)
def test_a_bar(progress: float, set_point: float, drawn: str) -> None:
    assert bar(progress, set_point) == drawn


@pytest.mark.parametrize(
    ("seen", "text"),
    [
        (
            course(set_point=60, progress=50, requested=3.2, given=3.0),
            "stage 0 a; [##########..|........] 50 % done, 60 % planned; 3.20 cores requested, 3.00 cores given",
        ),
        (
            course(CoresWay.SILENT),
            "stage 0 a; its driver says nothing: no limit until it does; nothing requested",
        ),
        (
            course(CoresWay.BETWEEN, "", requested=0, given=0.1),
            "no stage is active: the least quota; 0.00 cores requested",
        ),
        (
            PeriodCourse(job=JobId("j"), way=CoresWay.CONTROLLED, requested=2.0, unset="the group is full"),
            "2.00 cores requested, not known to be in force: the group is full",
        ),
        (course(CoresWay.OTHER_SHAPE, "", requested=8, given=8), "not in the profile: all cores to the end"),
    ],
)
def test_a_period_in_words(seen: PeriodCourse, text: str) -> None:
    assert text in quota_lines([(0, seen)])[0].text


def test_a_long_course_shows_its_turns_and_its_last_period() -> None:
    stages = [(place * HALF_US, course(stage=f"{place // 1000} a", given=float(place))) for place in range(7200)]
    lines = quota_lines(stages)
    assert len(lines) <= 16
    assert [line.facts["given"] for line in lines if line.facts["given"] % 1000 == 0] == [1000 * n for n in range(8)]  # type: ignore[operator]
    assert lines[-1].facts["given"] == 7199
    drawn = curves(stages)
    assert len(drawn["seconds"]) == len(drawn["given"]) <= 401
    assert (drawn["seconds"][0], drawn["seconds"][-1]) == (0, 7199 * 0.5)


def test_no_course_is_no_line() -> None:
    assert quota_lines([]) == []
    assert curves([])["seconds"] == []
