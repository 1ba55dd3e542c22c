"""Tasks that lost their containers: when they are ended, and when nothing is known of them."""

from __future__ import annotations

import pytest

from fawkes.base.units import SECOND_US
from fawkes.core.values.effects import EndAttempts
from fawkes.core.values.keys import Key
from fawkes.core.values.model import ClusterId, JobLife
from fawkes.core.values.sight import AppLife, AppSeen, Launcher, Stray, application_of
from tests.support.desk import Desk
from tests.support.pools import settings

A = ClusterId("a")
KEY = Key.STRAYS.of("a")
MISSING_S = 10
JOB = "a-1"
OURS = "application_17_0001"
ONE, TWO = (Stray(f"attempt_17_0001_m_00000{n}_0", f"node0{n}") for n in (1, 2))
THEIRS = Stray("attempt_17_0002_r_000000_1", "node02")


def desk(**changes: object) -> Desk:
    """MR-cluster a, whose job runs; a container may be missing for 10 s. Ticks do not come."""
    running = Desk.running("a", count=4, missing_us=MISSING_S * SECOND_US, period_us=10**12, **changes)
    running.submit("a", 1)
    seen = (AppSeen(id=OURS, life=AppLife.LIVE),)
    running.attempt(JOB, launcher=Launcher.RUNNING, applications=seen)
    return running


def read(desk: Desk, *strays: Stray, after_s: float = 2, silent: tuple[str, ...] = (), error: str = "") -> list[str]:
    """The attempts that are ended after a reading."""
    desk.now_s += after_s
    desk.sample(a={"strays": strays, "silent": silent, "error": error})
    ends = desk.latest(EndAttempts)
    return [name for effect in ends for name in effect.attempts]


def test_the_name_of_an_attempt_says_its_application() -> None:
    assert (application_of(ONE.attempt), THEIRS.application) == (OURS, "application_17_0002")


def test_a_task_is_ended_when_its_container_was_missing_for_long_and_that_is_told() -> None:
    at = desk()
    assert [read(at, ONE, TWO, THEIRS) for _ in range(5)] == [[]] * 5
    assert read(at, ONE, TWO, THEIRS) == [ONE.attempt, TWO.attempt, THEIRS.attempt]
    facts = {"cluster": "a", "jobs": [JOB], "tasks": 3, "nodes": ["node01", "node02"], "lasted_us": 10 * SECOND_US}
    assert at.said("stray-tasks") == [facts]
    assert at.state.jobs[JOB].life is JobLife.RUNNING  # type: ignore[index]


def test_jobs_without_stray_tasks_are_not_named() -> None:
    at = desk()
    read(at, THEIRS)
    assert read(at, THEIRS, after_s=MISSING_S) == [THEIRS.attempt]
    assert [facts["jobs"] for facts in at.said("stray-tasks")] == [[]]


@pytest.mark.parametrize(
    ("between", "ends"),
    [
        ({}, False),
        ({"silent": (OURS,)}, True),
        ({"silent": ("application_17_0009",)}, False),
        ({"error": "no answer"}, True),
    ],
)
def test_what_is_not_known_neither_ends_nor_forgets_a_stray(between: dict[str, object], ends: bool) -> None:
    """A container that is seen again was only late: its time begins anew."""
    at = desk()
    read(at, ONE)
    assert read(at, after_s=8, **between) == []  # type: ignore[arg-type]
    assert read(at, ONE) == ([ONE.attempt] if ends else [])


def test_nothing_is_ended_on_the_word_of_an_applicationmaster_that_does_not_answer() -> None:
    at = desk()
    read(at, ONE)
    assert read(at, after_s=100, silent=(OURS,)) == []


def test_one_order_at_a_time_and_none_once_the_tasks_have_ended() -> None:
    at = desk()
    read(at, ONE)
    assert read(at, ONE, after_s=MISSING_S) == [ONE.attempt]
    assert read(at, ONE, TWO) == []
    at.done(KEY)
    assert KEY not in at.state.pending
    assert read(at) == []
    assert at.wait(1000) == []


def test_what_could_not_be_ended_is_tried_again_after_a_while_for_those_that_stray_then() -> None:
    at = desk(retry_max_us=30 * SECOND_US)
    read(at, ONE)
    read(at, ONE, TWO, after_s=MISSING_S)
    at.failed(KEY, "no answer")
    assert at.codes() == ["strays-stay"]
    assert [read(at, TWO, after_s=10) for _ in range(2)] == [[]] * 2
    at.wait(10)
    assert read(at, TWO) == [TWO.attempt]


def test_an_order_that_nobody_answers_does_not_wait_for_ever() -> None:
    at = desk(membership_us=20 * SECOND_US)
    read(at, ONE)
    assert read(at, ONE, after_s=MISSING_S) == [ONE.attempt]
    at.wait(20)
    assert read(at, ONE) == [ONE.attempt]


def test_a_controller_that_comes_back_gives_the_order_again() -> None:
    at = desk()
    read(at, ONE)
    read(at, ONE, after_s=MISSING_S)
    again = Desk(4, how=settings(period_us=10**12), state=at.state)
    assert again.latest(EndAttempts)


def test_a_shadow_run_ends_nothing() -> None:
    at = desk()
    shadow = Desk(4, how=settings(missing_us=SECOND_US, period_us=10**12), state=at.state, shadow=True)
    assert [read(shadow, ONE, after_s=5) for _ in range(3)] == [[]] * 3
    assert shadow.said("stray-tasks") == [], "it would say so with each reading"
