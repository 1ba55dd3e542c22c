"""The removal of what tasks have saved when their job ends without needing it."""

from __future__ import annotations

import pytest

from fawkes.base.units import SECOND_US
from fawkes.core.values.effects import ClearSaved
from fawkes.core.values.events import Progress
from fawkes.core.values.model import JobId, JobLife
from tests.support.desk import Desk
from tests.support.pools import settings

KEY = "clear:a-1"


def running(*, saves: bool = True) -> Desk:
    """A job that runs on an MR-cluster, in a pool whose ticks are far apart."""
    desk = Desk.running("a", count=3, period_us=10**6 * SECOND_US)
    desk.submit("a", 1, saves=saves)
    desk.job("a-1", Progress.RUNNING)
    return desk


def clears(desk: Desk) -> int:
    return sum(isinstance(effect, ClearSaved) for effect in desk.last.effects)


@pytest.mark.parametrize(
    ("how", "saves", "begins"),
    [
        (Progress.FAILED, True, 1),
        (Progress.CANCELLED, True, 1),
        (Progress.SUCCEEDED, True, 0),
        (Progress.FAILED, False, 0),
    ],
)
def test_it_is_removed_when_the_job_did_not_end_well(how: Progress, saves: bool, begins: int) -> None:
    desk = running(saves=saves)
    desk.job("a-1", how)
    assert clears(desk) == begins


def test_it_is_removed_when_a_job_is_cancelled_between_two_attempts() -> None:
    desk = Desk(3, how=settings(period_us=10**6 * SECOND_US))
    desk.up("a", max_running_jobs=1)
    desk.submit("a", 1, saves=True, retries=1)
    desk.job("a-1", Progress.RUNNING)
    desk.submit("a", 2, saves=True, priority=5)
    desk.job("a-1", Progress.FAILED)
    assert desk.state.jobs[JobId("a-1")].life is JobLife.QUEUED
    desk.cancel("a-1")
    assert clears(desk) == 1


def test_what_was_gone_at_once_is_looked_at_once_more() -> None:
    desk = running()
    desk.job("a-1", Progress.FAILED)
    desk.done(KEY)
    assert KEY in desk.state.pending
    desk.wait(desk.state.rules.settings.doubt_us / SECOND_US if desk.state.rules else 0)
    assert clears(desk) == 1
    desk.done(KEY)
    assert KEY not in desk.state.pending
    desk.done(KEY, version=1)
    assert desk.codes() == ["late-answer"]


def test_it_is_tried_until_hdfs_says_that_it_is_gone() -> None:
    desk = running()
    desk.job("a-1", Progress.FAILED)
    tries = 0
    for _ in range(10):
        desk.failed(KEY)
        desk.wait(60)
        tries += 1
        assert KEY in desk.state.pending
    assert tries == 10
    desk.done(KEY)
    assert KEY not in desk.state.pending


@pytest.mark.parametrize("heard", [True, False])
def test_nothing_is_asked_of_an_mr_cluster_that_is_gone(heard: bool) -> None:
    desk = running()
    desk.job("a-1", Progress.FAILED)
    desk.release("a")
    desk.done("cluster:a")
    desk.clean_all()
    assert "a" not in desk.state.clusters
    if heard:
        desk.failed(KEY)
    else:
        desk.wait_for(KEY)
    assert (KEY in desk.state.pending, clears(desk)) == (False, 0)
