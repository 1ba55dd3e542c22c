"""Work that stands still: the rule, and the alert of an MR-cluster that it raises and ends."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fawkes.base.units import SECOND_US
from fawkes.core.values.model import ClusterId, Sample
from fawkes.core.watching.stuck import Standing, standing_of, stands_still, still_since_us
from tests.support.desk import Desk

A = ClusterId("a")
STUCK = {
    "jobs_waiting": 4,
    "jobs_running": 0,
    "tasks_waiting": 12,
    "tasks_running": 0,
    "slots_used": 4,
    "tasks_done": 7,
}
NUMBERS = st.none() | st.integers(0, 5)


@pytest.mark.parametrize(
    ("waiting", "held", "running", "expected"),
    [
        (3, 6, 0, True),
        (3, 6, 1, False),
        (0, 6, 0, False),
        (3, 0, 0, False),
        (None, 6, 0, None),
        (3, None, 0, None),
        (3, 6, None, None),
    ],
)
def test_work_stands_still_when_it_waits_beside_what_is_held(
    waiting: int | None, held: int | None, running: int | None, expected: bool | None
) -> None:
    assert stands_still(Standing(waiting, held, running)) is expected


def test_a_task_that_has_ended_ran_in_between() -> None:
    before, same, later = (Standing(3, 6, 0, done) for done in (4, 4, 5))
    assert stands_still(same, before) is True
    assert stands_still(later, before) is False
    assert stands_still(later, Standing(3, 6, 0, None)) is True


@pytest.mark.slow
@given(st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS, NUMBERS), max_size=8))
def test_nothing_runs_between_the_time_found_and_the_last_sample(rows: list[tuple[int | None, ...]]) -> None:
    samples = [
        Sample(at_us=at, tasks_waiting=w, slots_used=h, tasks_running=r, tasks_done=done)
        for at, (w, h, r, done) in enumerate(rows)
    ]
    since = still_since_us(samples)
    known = [sample_seen for sample_seen in samples if stands_still(standing_of(sample_seen)) is not None]
    if since is None:
        assert not known or stands_still(standing_of(known[-1])) is False
        return
    inside = [sample_seen for sample_seen in known if sample_seen.at_us >= since]
    assert inside[0].at_us == since
    assert all(stands_still(standing_of(sample_seen)) for sample_seen in inside)
    counted = [sample_seen.tasks_done for sample_seen in inside if sample_seen.tasks_done is not None]
    assert len(counted) < len(inside) or all(now <= before for before, now in pairwise(counted))


def test_a_task_that_ended_between_two_readings_ends_it() -> None:
    desk = stuck_desk()
    for _ in range(8):
        desk.now_s += 10
        desk.sample(a=STUCK)
    assert desk.cluster("a").still_us is not None
    desk.now_s += 10
    desk.sample(a={**STUCK, "tasks_done": 8})
    assert desk.cluster("a").still_us is None


def stuck_desk(**changes: object) -> Desk:
    """MR-cluster a, whose tasks may stand still for 60 s; ticks do not come."""
    return Desk.running("a", count=4, stuck_us=60 * SECOND_US, period_us=10**12, **changes)


def read(desk: Desk, seconds: float, **reading: object) -> None:
    desk.now_s += seconds
    desk.sample(a={**STUCK, **reading})


def alert(desk: Desk) -> str:
    return desk.state.clusters[A].alert


def test_an_mr_cluster_whose_tasks_stand_still_for_too_long_has_an_alert() -> None:
    desk = stuck_desk()
    for _ in range(6):
        read(desk, 10, masters=4, slots_total=4)
        assert alert(desk) == ""
    read(desk, 10, masters=4, slots_total=4)
    assert alert(desk).startswith("tasks wait and none runs: 12 waiting, 4 slots held (4 by ApplicationMasters)")
    since_us = desk.now_us - 60 * SECOND_US
    assert desk.said("stuck") == [
        {"cluster": "a", "since_us": since_us, "tasks": 12, "held": 4, "slots": 4, "masters": 4}
    ]
    read(desk, 10)
    assert desk.codes() == []
    read(desk, 10, tasks_running=1)
    assert (alert(desk), desk.codes()) == ("", ["runs-again"])


@pytest.mark.parametrize(
    "between",
    [{"tasks_running": 1}, {"tasks_waiting": 0}, {"slots_used": 0}, {"tasks_done": 8}],
)
def test_what_moves_in_between_begins_the_time_anew(between: dict[str, object]) -> None:
    desk = stuck_desk()
    done = {"tasks_done": between.get("tasks_done", 7)}
    for _ in range(4):
        read(desk, 10)
    read(desk, 10, **between)
    for _ in range(5):
        read(desk, 10, **done)
    assert alert(desk) == ""
    read(desk, 10, **done)
    read(desk, 10, **done)
    assert alert(desk)


@pytest.mark.parametrize("missing", ["tasks_waiting", "tasks_running", "slots_used"])
def test_a_reading_that_lacks_a_number_neither_raises_nor_clears(missing: str) -> None:
    desk = stuck_desk()
    read(desk, 10)
    read(desk, 100, **{missing: None})
    assert alert(desk) == ""
    read(desk, 10)
    assert alert(desk)
    read(desk, 10, **{missing: None})
    assert alert(desk)


def test_the_time_may_be_longer_than_samples_are_kept() -> None:
    desk = Desk.running("a", count=4, stuck_us=90 * SECOND_US, period_us=20 * SECOND_US)
    for _ in range(9):
        desk.wait(10)
        read(desk, 0)
        assert alert(desk) == ""
    desk.wait(10)
    read(desk, 0)
    assert alert(desk)


def test_an_earlier_alert_stays() -> None:
    desk = stuck_desk()
    for _ in range(9):
        read(desk, 10, missing_blocks=1)
    assert alert(desk).startswith("blocks are missing")
    read(desk, 10, missing_blocks=0)
    assert alert(desk).startswith("tasks wait and none runs")


def test_nothing_is_noted_of_a_job_that_is_about_to_start() -> None:
    """Ledgers of earlier versions have such readings: their decisions stay as they are."""
    desk = stuck_desk()
    read(desk, 0)
    for _ in range(5):
        read(desk, 10)
        assert [type(change).__name__ for change in desk.last.changes] == ["AddSample"]
