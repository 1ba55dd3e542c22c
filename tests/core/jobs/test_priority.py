"""Priorities of jobs: who leaves the queue first, and who does not wait for the tasks of others."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fawkes.base.values import replace
from fawkes.core.values.backlog import Backlog
from fawkes.core.values.events import Progress
from fawkes.core.values.model import ClusterId, JobId, JobLife, JobSpec, JobState
from tests.support.desk import Desk
from tests.support.pools import settings

LIVES = (JobLife.QUEUED, JobLife.RUNNING, JobLife.SUCCEEDED)


def desk_with(*priorities: int, most: int = 8) -> Desk:
    """MR-cluster a with a job that runs, whose tasks wait for room, and jobs with these priorities behind it."""
    desk = Desk(4, how=settings(period_us=10**12))
    desk.up("a", max_running_jobs=most)
    desk.submit("a", 0)
    desk.now_s += 1
    desk.job("a-0", Progress.RUNNING, started_us=desk.now_us)
    desk.now_s += 1
    desk.sample(a={"tasks_waiting": 9, "jobs_running": 1})
    for number, priority in enumerate(priorities, 1):
        desk.submit("a", number, priority=priority)
    return desk


def lives(desk: Desk) -> dict[str, JobLife]:
    return {name: state.life for name, state in sorted(desk.state.jobs.items())}


def test_the_highest_priority_leaves_the_queue_first_and_equals_in_their_order() -> None:
    desk = desk_with(0, 0, -1)
    begun = []
    for _ in range(3):
        desk.now_s += 5
        desk.sample(a={"tasks_waiting": 0, "jobs_running": 1})
        (start,) = desk.starts()
        begun.append(start[0])
        desk.job(start[0], Progress.RUNNING, started_us=desk.now_us)
    assert begun == ["a-1", "a-2", "a-3"]


def test_an_important_job_does_not_wait_for_the_tasks_of_less_important_ones() -> None:
    assert lives(desk_with(0)) == {"a-0": JobLife.RUNNING, "a-1": JobLife.QUEUED}
    assert lives(desk_with(0, 5)) == {"a-0": JobLife.RUNNING, "a-1": JobLife.QUEUED, "a-2": JobLife.STARTING}


def test_it_waits_for_those_that_are_as_important() -> None:
    desk = desk_with(5)
    desk.job("a-1", Progress.RUNNING, started_us=desk.now_us)
    desk.submit("a", 2, priority=5)
    assert lives(desk)["a-2"] is JobLife.QUEUED


def test_max_running_jobs_holds_an_important_job_too() -> None:
    assert lives(desk_with(5, most=1)) == {"a-0": JobLife.RUNNING, "a-1": JobLife.QUEUED}


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3), st.sampled_from(LIVES)), max_size=30))
def test_the_head_is_the_first_of_the_highest_priority(steps: list[tuple[int, int, JobLife]]) -> None:
    backlog = Backlog()
    known: dict[JobId, JobState] = {}
    for order, (number, priority, life) in enumerate(steps):
        name = JobId(f"j{number}")
        spec = JobSpec(id=name, cluster=ClusterId("a"), priority=priority)
        state = replace(known[name], life=life) if name in known else JobState(spec=spec, order=order, life=life)
        backlog.put(state)
        if life is JobLife.SUCCEEDED:
            known.pop(name, None)
        else:
            known[name] = state
        queued = [each for each in known.values() if each.life is JobLife.QUEUED]
        assert backlog.head() == min(queued, key=lambda each: each.place, default=None)
