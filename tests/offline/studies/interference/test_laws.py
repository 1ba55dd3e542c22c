"""Laws of every run: resources are conserved, all work is done, and the same study gives the same course."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fawkes.base.units import SECOND_US
from fawkes.offline.studies.interference.manager import run
from fawkes.offline.studies.interference.values import (
    NOTHING,
    FrameworkJob,
    FrameworkStage,
    InterferenceStudy,
    Offers,
    Remedy,
)
from tests.offline.studies.interference.support import admission, job, study

FRAMEWORKS = ("hadoop", "spark-coarse", "spark-fine", "storm")
STAGE = st.builds(FrameworkStage, st.integers(1, 30), st.integers(1, 60).map(lambda s: s * SECOND_US))
STAGES = st.lists(STAGE, min_size=1, max_size=2).map(tuple)


@st.composite
def studies(draw: st.DrawFn) -> InterferenceStudy:
    names = draw(st.lists(st.sampled_from(FRAMEWORKS), min_size=1, max_size=4))
    jobs = [
        FrameworkJob(
            name=f"job-{number}", framework=name, at_us=draw(st.integers(0, 60)) * SECOND_US, stages=draw(STAGES)
        )
        for number, name in enumerate(names)
    ]
    made = study(draw(st.sampled_from(["dev", "prod"])), *jobs, remedy=draw(st.sampled_from(Remedy)))
    offers, seed = draw(st.sampled_from(Offers)), draw(st.none() | st.integers(0, 99))
    return replace(made, cloud=replace(made.cloud, offers=offers, seed=seed))


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(studies())
def test_nobody_holds_more_than_there_is_and_all_work_is_done(made: InterferenceStudy) -> None:
    course = run(made, admission())
    for moment in course.moments:
        held = NOTHING
        for share in moment.shares.values():
            assert min(share.held) >= 0
            assert share.used.within(share.held)
            held = held.plus(share.held)
        assert held.within(made.cloud.total)
    assert {course.moments[-1].shares[name].held for name in course.ended} == {NOTHING}
    for name, one in course.ended.items():
        expected = sum(stage.tasks for each in made.jobs if each.framework == name for stage in each.stages)
        assert course.moments[-1].shares[name].standing.done == expected
        assert one.finished_us is not None
        assert one.lost_tasks == 0 or made.remedy is Remedy.REVOKE


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(studies())
def test_the_same_study_gives_the_same_course(made: InterferenceStudy) -> None:
    assert run(made, admission()) == run(made, admission())


def test_the_seed_draws_the_order_of_the_slaves() -> None:
    made = study("dev", job("storm", 3), job("hadoop", 40, at_s=5))
    courses = [run(replace(made, cloud=replace(made.cloud, seed=seed))) for seed in (1, 1, 2)]
    assert courses[0] == courses[1]
    assert courses[0].study.cloud != courses[2].study.cloud


def test_work_that_stands_still_at_the_limit_does_so_until_then() -> None:
    course = run(study("dev", job("spark-fine", 40), job("hadoop", 40, at_s=5), limit_us=100 * SECOND_US))
    assert course.stuck_spans("spark-fine") == [(22 * SECOND_US, 100 * SECOND_US)]
    assert course.ended["spark-fine"].finished_us is None


def test_admission_needs_a_policy() -> None:
    with pytest.raises(ValueError, match="M2 needs an admission policy"):
        run(study("dev", job("hadoop", 1), remedy=Remedy.ADMIT))
