"""From readings to samples: jobs that users give to YARN themselves are seen, and are not nothing."""

from __future__ import annotations

from typing import Any

import pytest

from fawkes.base.units import SECOND_US
from fawkes.core.values.events import Progress
from fawkes.core.values.model import ClusterId, ClusterLife, Sample
from fawkes.core.values.sight import Work
from tests.support.desk import Desk
from tests.support.pools import policy

A = ClusterId("a")
QUIET = {"jobs_waiting": 0, "jobs_running": 0, "tasks_waiting": 0, "tasks_running": 0}


def desk_with(jobs: int, **facts: object) -> Desk:
    desk = Desk.running("a", period_us=10**12)
    for number in range(jobs):
        desk.submit("a", number, **facts)
    return desk


def sampled(desk: Desk, **reading: object) -> Sample:
    """The sample of a reading of ``a`` 15 s after the start."""
    desk.now_s = 15
    desk.sample(a={**QUIET, **reading})
    return desk.state.window(A, -1).samples[-1]


@pytest.mark.parametrize(
    ("reading", "waiting_bytes", "slowdown", "without_reference"),
    [
        ({}, 0, 0.0, 0),  # all is known: nothing is there
        ({"jobs_waiting": 2}, None, None, 2),  # a user's jobs, of unknown input and reference
        ({"jobs_running": 1}, 0, None, 1),  # what runs does not wait: that is known to be nothing
        ({"jobs_waiting": 1, "waiting_tags": ("fawkes-gone-1",)}, None, None, 1),  # of an earlier controller
        ({"jobs_waiting": None}, None, None, 0),
        ({"jobs_running": None}, 0, None, 0),
    ],
)
def test_without_jobs_of_its_own(
    reading: dict[str, object], waiting_bytes: int | None, slowdown: float | None, without_reference: int
) -> None:
    sample = sampled(desk_with(0), **reading)
    assert (sample.bytes_waiting, sample.job_slowdown) == (waiting_bytes, slowdown)
    assert sample.without_reference == without_reference


OWN = ("fawkes-a-0-1",)


@pytest.mark.parametrize(
    ("reading", "waiting_bytes", "slowdown", "without_reference"),
    [
        ({"jobs_waiting": 1, "waiting_tags": OWN}, 200, 1.5, 0),
        ({"jobs_waiting": 2, "waiting_tags": OWN}, None, 1.5, 1),  # one more than ours
        ({"jobs_waiting": 2, "waiting_tags": OWN * 2}, 200, 1.5, 1),  # one of our jobs is two for YARN
        ({"jobs_running": 1}, 100, 1.5, 0),
        ({"jobs_running": 3}, 100, 1.5, 2),
        ({"jobs_waiting": None, "waiting_tags": OWN}, None, 1.5, 0),
    ],
)
def test_beside_jobs_of_its_own(
    reading: dict[str, object], waiting_bytes: int | None, slowdown: float | None, without_reference: int
) -> None:
    """``a-0`` was handed to YARN, ``a-1`` waits in Fawkes's queue."""
    desk = desk_with(2, reference_us=10 * SECOND_US, input_bytes=100)
    desk.job("a-0", Progress.RUNNING, started_us=0)
    sample = sampled(desk, **reading)
    assert (sample.bytes_waiting, sample.job_slowdown) == (waiting_bytes, slowdown)
    assert sample.without_reference == without_reference


def test_a_job_keeps_its_demand_while_yarn_has_not_split_it() -> None:
    """It would lose nodes in the moment in which it is handed to YARN; the simulator counts the same."""
    desk = desk_with(2, tasks=13)
    desk.job("a-0", Progress.RUNNING, started_us=0, application="app-1")
    yarn = {"jobs_waiting": 1, "tasks_waiting": 1, "waiting_tags": OWN}
    first = {"unsplit": OWN, "work": (Work(tag=OWN[0], application="app-1", waiting=1),)}
    assert sampled(desk, **yarn, **first).tasks_waiting == 26
    second = {"unsplit": OWN, "work": (Work(tag=OWN[0], application="app-2", waiting=1),)}
    assert sampled(desk, **yarn, **second).tasks_waiting == 14, "nobody knows how many are left for it"
    assert sampled(desk, **{**yarn, "tasks_waiting": 12}).tasks_waiting == 25, "it is split"


def test_a_job_of_ours_that_yarn_does_not_know_yet_hides_nothing() -> None:
    desk = desk_with(1, reference_us=10 * SECOND_US, input_bytes=100)
    # It is being started: the one that waits in YARN has no tag, so it is a user's.
    assert sampled(desk, jobs_waiting=1).bytes_waiting is None
    assert sampled(desk_with(1)).job_slowdown is None, "it has no reference"


@pytest.mark.parametrize("name", ["dd", "js"])
def test_a_user_who_goes_past_fawkes_keeps_the_nodes_that_he_works_on(name: str) -> None:
    """0 would be the minimum: the nodes would be taken from under the job."""
    desk = Desk(10, policy=policy(name))
    desk.up("a")
    desk.up("b")
    given = {"dd": "input_bytes", "js": "reference_us"}[name]
    desk.submit("a", 0, **{given: SECOND_US})
    desk.submit("b", 0, **{given: SECOND_US})
    tick(desk, a={"jobs_waiting": 1, "waiting_tags": OWN}, b={"jobs_waiting": 1, "waiting_tags": ("fawkes-b-0-1",)})
    held = desk.sizes()
    assert sum(held.values()) == 10
    desk.settle("a")
    desk.settle("b")
    desk.job("a-0", Progress.SUCCEEDED)
    # Now a runs what its user gave to YARN, and for half of the period it does nothing.
    busy: dict[str, object] = {"jobs_waiting": 3, "tasks_waiting": 300, "jobs_running": 1}
    rows = tick(desk, {"a": {}, "b": {"jobs_waiting": 1, "waiting_tags": ("fawkes-b-0-1",)}}, a=busy, b={})
    assert (rows["a"]["y"], rows["a"]["unreadable"], rows["a"]["target"]) == (None, True, None)
    assert desk.sizes() == held


def tick(desk: Desk, earlier: dict[str, dict[str, object]] | None = None, **readings: dict[str, object]) -> Any:
    """Two readings in a period, or one, and its tick: the rows of the MR-clusters."""
    at_us = desk.state.pending["tick"].deadline_us
    for before_s, read in ((9, earlier), (1, readings)):
        if read:
            desk.now_s = at_us / SECOND_US - before_s
            desk.sample(**{c: {**QUIET, **each} for c, each in read.items()})
    return desk.tick()["clusters"]


def test_the_time_in_which_a_job_waits_in_fawkes_is_not_idle() -> None:
    desk = desk_with(1)
    sampled(desk)
    assert desk.cluster("a").idle_us is None
    desk.cancel("a-0")
    desk.job("a-0", Progress.CANCELLED)
    sampled(desk)
    assert desk.cluster("a").idle_us == desk.now_us


@pytest.mark.parametrize("missing", ["jobs_waiting", "jobs_running"])
def test_what_is_not_known_is_not_idle(missing: str) -> None:
    desk = Desk.running("a", count=4, idle_us=50 * SECOND_US)
    for _ in range(6):
        tick(desk, a={missing: None})
    assert desk.state.clusters[A].life is ClusterLife.RUNNING
    for _ in range(6):
        tick(desk, a={})
    assert desk.state.clusters[A].life is ClusterLife.SAVING
