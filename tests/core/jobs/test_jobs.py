"""The queue of MR-jobs: release, retries, time limits, cancellation in each life, late answers, w^J and s^J."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fawkes.base.units import SECOND_US
from fawkes.core.values.decision import PutJob
from fawkes.core.values.effects import CancelJob, StartJob
from fawkes.core.values.events import AttemptSeen, Progress, Woke
from fawkes.core.values.model import ClusterId, JobId, JobLife, JobState, Reason
from fawkes.core.values.sight import AppLife, AppSeen, Attempt, Launcher
from tests.support.desk import Desk
from tests.support.pools import settings, submit


def desk_with(count: int = 1, running: int = 0, **facts: object) -> Desk:
    """MR-cluster a with jobs a-0, a-1, ...; the first ``running`` of them run."""
    desk = Desk.running("a", count=4, period_us=10**12)
    for number in range(count):
        desk.submit("a", number, **facts)
    for number in range(running):
        desk.now_s += 3
        desk.job(f"a-{number}", Progress.RUNNING, application=f"app-{number}", started_us=desk.now_us)
        desk.now_s += 1
        desk.sample(a={"tasks_waiting": 0, "jobs_running": number + 1})
    return desk


def job(desk: Desk, name: str = "a-0") -> JobState:
    return desk.state.jobs[JobId(name)]


def read(desk: Desk, at_s: float, **reading: object) -> None:
    desk.now_s = at_s
    desk.sample(a=reading)


def runs(desk: Desk, at_s: float, name: str) -> None:
    desk.now_s = at_s
    desk.job(name, Progress.RUNNING, started_us=desk.now_us)


def ended(desk: Desk) -> JobState:
    """The job that the latest decision ended."""
    return next(change.state for change in desk.last.changes if isinstance(change, PutJob))


def test_the_head_of_the_queue_is_handed_over_alone() -> None:
    desk = desk_with(3)
    assert job(desk, "a-0").life is JobLife.STARTING
    assert {job(desk, name).life for name in ("a-1", "a-2")} == {JobLife.QUEUED}


def test_the_next_one_waits_for_a_reading_younger_than_the_latest_start() -> None:
    desk = desk_with(2)
    read(desk, 3, tasks_waiting=0)
    assert desk.starts() == []  # the first is still starting
    runs(desk, 4, "a-0")
    assert desk.starts() == []
    desk.sample(a={"tasks_waiting": 0})
    assert desk.starts() == []  # as old as the start
    read(desk, 5, tasks_waiting=7)
    assert desk.starts() == []  # something of an earlier job is pending
    read(desk, 6, tasks_waiting=0)
    assert desk.starts() == [("a-1", 1)]


def looking_for_room(count: int) -> Desk:
    """Jobs a-0, a-1, ..., of which the first has just begun to run; room for the next one is looked for."""
    desk = Desk.running("a", count=4, period_us=60 * SECOND_US, release_us=2 * SECOND_US)
    for number in range(count):
        desk.submit("a", number)
    assert desk.looks_for_room() == [], "the first is still starting"
    runs(desk, 4, "a-0")
    return desk


def test_between_readings_room_is_looked_for_and_the_next_one_begins_when_there_is_some() -> None:
    desk = looking_for_room(3)
    (first,) = desk.looks_for_room()
    assert (first.cluster, first.every_us) == ("a", 2 * SECOND_US)
    read(desk, 9, tasks_waiting=7)
    assert desk.looks_for_room() == [], "once is enough"
    desk.now_s = 11
    desk.done("room:a")
    assert desk.starts() == [("a-1", 1)]
    assert "room:a" not in desk.state.pending
    runs(desk, 12, "a-1")
    (second,) = desk.looks_for_room()
    assert second.version != first.version
    desk.now_s = 13
    desk.done("room:a", version=first.version)
    assert desk.starts() == [], "that look was made before the second one began"


def test_a_reading_also_finds_room_and_nothing_is_looked_for_when_nobody_waits() -> None:
    desk = looking_for_room(2)
    read(desk, 5, tasks_waiting=0)
    assert desk.starts() == [("a-1", 1)]
    assert "room:a" not in desk.state.pending
    runs(desk, 6, "a-1")
    assert desk.looks_for_room() == []


def test_room_that_nobody_can_tell_of_is_left_to_the_readings() -> None:
    desk = looking_for_room(2)
    desk.now_s = 5
    desk.failed("room:a", "no answer")
    assert (desk.starts(), desk.looks_for_room()) == ([], [])
    read(desk, 10, tasks_waiting=3)
    assert len(desk.looks_for_room()) == 1
    desk.now_s = 71
    desk.tell(Woke(at_us=desk.now_us))
    assert len(desk.looks_for_room()) == 1, "it has lasted, and is looked for anew"


def test_when_nobody_knows_what_is_pending_jobs_run_one_by_one() -> None:
    desk = desk_with(2)
    desk.job("a-0", Progress.RUNNING)
    read(desk, 9, tasks_waiting=None, jobs_running=1)
    assert desk.starts() == []
    desk.job("a-0", Progress.SUCCEEDED)
    assert desk.starts() == [("a-1", 1)]


def test_no_more_run_than_may() -> None:
    desk = Desk(4, how=settings(period_us=10**12))
    desk.up("a", max_running_jobs=2)
    for number in range(3):
        desk.submit("a", number)
    for number in range(2):
        desk.now_s += 1
        desk.job(f"a-{number}", Progress.RUNNING)
        desk.now_s += 1
        desk.sample(a={"tasks_waiting": 0})
    assert desk.starts() == []
    desk.job("a-1", Progress.SUCCEEDED)
    assert desk.starts() == [("a-2", 1)]


def test_jobs_wait_until_the_data_is_loaded() -> None:
    desk = Desk(4)
    desk.request("a")
    desk.submit("a", 0)
    desk.done("cluster:a")
    assert desk.starts() == []
    desk.done("cluster:a")
    assert desk.starts() == [("a-0", 1)]


def test_waiting_running_and_slowdown_are_recorded() -> None:
    desk = Desk.running("a", count=4, period_us=10**12)
    desk.now_s = 10
    desk.submit("a", 0, reference_us=20 * SECOND_US)
    desk.now_s = 16
    desk.job("a-0", Progress.RUNNING, application="application_1", started_us=15 * SECOND_US)
    desk.now_s = 60
    desk.job("a-0", Progress.SUCCEEDED, finished_us=55 * SECOND_US, log="/logs/1")
    last = ended(desk)
    assert (last.wait_us, last.run_us) == (5 * SECOND_US, 40 * SECOND_US)
    assert last.slowdown == 2.25
    assert (last.application, last.log, last.life) == ("application_1", "/logs/1", JobLife.SUCCEEDED)
    assert not desk.state.jobs


@pytest.mark.parametrize(("started_s", "finished_s"), [(-500, -400), (500, 600)])
def test_a_clock_of_yarn_that_differs_makes_no_negative_times(started_s: int, finished_s: int) -> None:
    desk = desk_with(2)
    desk.now_s = 3
    desk.job("a-0", Progress.RUNNING, started_us=started_s * SECOND_US)
    read(desk, 5, tasks_waiting=0)
    assert desk.starts() == [("a-1", 1)], "the queue does not wait for a clock that goes fast"
    desk.now_s = 9
    desk.job("a-0", Progress.SUCCEEDED, started_us=started_s * SECOND_US, finished_us=finished_s * SECOND_US)
    last = ended(desk)
    assert last.wait_us is not None
    assert last.run_us is not None
    assert 0 <= last.wait_us <= 9 * SECOND_US
    assert 0 <= last.run_us <= 9 * SECOND_US


def test_no_job_has_ended_later_than_now_where_clocks_may_differ_a_little() -> None:
    desk = Desk.running("a", count=4, period_us=10**12, clock_jump_us=60 * SECOND_US)
    desk.submit("a", 0)
    desk.now_s = 10
    desk.job("a-0", Progress.SUCCEEDED, started_us=2 * SECOND_US, finished_us=15 * SECOND_US)
    assert (ended(desk).started_us, ended(desk).finished_us) == (0, desk.now_us)


def test_without_a_reference_there_is_no_slowdown() -> None:
    desk = desk_with(1, running=1)
    desk.job("a-0", Progress.SUCCEEDED)
    assert ended(desk).slowdown is None


def test_a_failed_job_is_tried_again_at_its_place_and_then_the_queue_goes_on() -> None:
    desk = desk_with(2, retries=1)
    desk.job("a-0", Progress.RUNNING)
    desk.job("a-0", Progress.FAILED, error="exit 1")
    assert desk.codes() == ["retry", "job-released"]
    assert desk.starts() == [("a-0", 2)]
    desk.job("a-0", Progress.FAILED, attempt=1, error="again")
    assert desk.codes() == ["late-answer"]
    desk.job("a-0", Progress.FAILED, attempt=2, error="exit 1", log="/logs/2")
    assert (ended(desk).life, ended(desk).why, ended(desk).log) == (JobLife.FAILED, "exit 1", "/logs/2")
    assert desk.starts() == [("a-1", 1)]


def test_a_job_that_was_refused_is_not_tried_again() -> None:
    desk = desk_with(2, retries=5)
    desk.job("a-0", Progress.REFUSED, error="no such jar")
    assert ended(desk).life is JobLife.FAILED
    assert desk.starts() == [("a-1", 1)]


@pytest.mark.parametrize("seen", [Progress.CANCELLED, Progress.FAILED, Progress.SUCCEEDED])
def test_a_job_that_runs_too_long_is_stopped_and_failed_unless_it_just_succeeded(seen: Progress) -> None:
    desk = desk_with(2, running=1, time_limit_us=30 * SECOND_US, retries=3)
    started_us = job(desk).started_us
    while not desk.said("time-limit"):
        desk.wake()
    assert desk.now_us == (started_us or 0) + 30 * SECOND_US
    assert desk.latest(CancelJob)
    assert job(desk).life is JobLife.CANCELLING
    desk.job("a-0", seen, error="killed")
    assert ended(desk).life is (JobLife.SUCCEEDED if seen is Progress.SUCCEEDED else JobLife.FAILED)
    assert (ended(desk).stop, ended(desk).why) == (None if seen is Progress.SUCCEEDED else Reason("over-limit"), "")


@pytest.mark.parametrize(
    ("why", "life"), [("its time limit has passed", "failed"), ("its deadline has passed", "killed")]
)
def test_the_words_of_earlier_versions_say_how_a_stopped_job_ends(why: str, life: str) -> None:
    desk = desk_with(1, running=1)
    desk.state.put_job(replace(job(desk), life=JobLife.CANCELLING, why=why))
    desk.job("a-0", Progress.CANCELLED)
    assert (ended(desk).life, ended(desk).why) == (life, why)


def test_a_waiting_job_is_cancelled_at_once() -> None:
    desk = desk_with(3)
    desk.cancel("a-1")
    assert desk.refusal() == ""
    assert "a-1" not in desk.state.jobs
    assert not desk.latest(CancelJob)


@pytest.mark.parametrize("running", [0, 1], ids=["starting", "running"])
def test_a_job_that_was_handed_over_is_asked_to_stop(running: int) -> None:
    desk = desk_with(2, running=0)
    if running:
        desk.job("a-0", Progress.RUNNING)
    desk.cancel("a-0")
    assert desk.latest(CancelJob)
    assert desk.starts() == []
    desk.job("a-0", Progress.CANCELLED)
    assert ended(desk).life is JobLife.CANCELLED
    assert desk.starts() == [("a-1", 1)]


def test_a_second_cancellation_changes_nothing() -> None:
    desk = desk_with(1, running=1, time_limit_us=10 * SECOND_US)
    while not desk.said("time-limit"):
        desk.wake()
    before = job(desk)
    desk.cancel("a-0")
    assert desk.refusal() == ""
    assert job(desk) == before
    assert not desk.latest(CancelJob)


def test_the_time_limit_of_a_job_that_somebody_takes_back_does_not_pass_any_more() -> None:
    desk = desk_with(1, running=1, time_limit_us=10 * SECOND_US)
    assert "limit:a-0" in desk.state.pending
    desk.cancel("a-0")
    assert "limit:a-0" not in desk.state.pending


def test_a_start_that_nobody_hears_of_is_asked_for_again_with_the_same_attempt() -> None:
    desk = desk_with(1)
    desk.wake()
    assert desk.said("asked-again") == [{"effect": "job:a-0", "tries": 2}]
    assert desk.starts() == [("a-0", 1)]
    desk.cancel("a-0")
    desk.wake()
    assert desk.latest(CancelJob)


def test_a_running_job_is_watched_again_by_the_next_engine_and_has_no_deadline() -> None:
    desk = desk_with(1, running=1)
    assert isinstance(desk.state.pending["job:a-0"].effect, StartJob)
    again = Desk(4, how=settings(period_us=10**12), state=desk.state)
    assert again.starts() == [("a-0", 1)]


def test_answers_about_a_job_that_waits_or_is_unknown_are_history() -> None:
    desk = desk_with(2)
    for name in ("a-1", "nobody"):
        desk.job(name, Progress.SUCCEEDED)
        assert desk.codes() == ["late-answer"]
    assert job(desk, "a-1").life is JobLife.QUEUED


def test_a_job_that_ended_before_its_start_was_seen_has_ended() -> None:
    desk = desk_with(1)
    desk.now_s = 9
    desk.job("a-0", Progress.SUCCEEDED, started_us=4 * SECOND_US, finished_us=5 * SECOND_US)
    assert (ended(desk).wait_us, ended(desk).run_us) == (4 * SECOND_US, SECOND_US)


@pytest.mark.parametrize("again", ["a-0", "A-0"])
def test_the_id_of_a_job_stays_taken_while_its_mr_cluster_lives(again: str) -> None:
    desk = desk_with(1, running=1)
    desk.job("a-0", Progress.SUCCEEDED)
    event = submit("a", 0, desk.now_s)
    desk.tell(replace(event, spec=replace(event.spec, id=JobId(again))))
    assert desk.refusal() == "job-exists"
    assert not desk.state.jobs


def test_jobs_for_nobody_and_for_one_that_leaves_are_refused() -> None:
    desk = desk_with(0)
    desk.submit("b", 1)
    assert desk.refusal() == "no-such-cluster"
    desk.release("a")
    desk.submit("a", 1)
    assert desk.refusal() == "takes-no-jobs"
    desk.cancel("a-7")
    assert desk.refusal() == "no-such-job"


def test_what_waits_in_both_queues_is_demand() -> None:
    desk = desk_with(3, reference_us=10 * SECOND_US, input_bytes=100, tasks=4)
    desk.now_s = 5
    desk.job("a-0", Progress.RUNNING, started_us=5 * SECOND_US)
    read(desk, 15, jobs_waiting=1, tasks_waiting=30, jobs_running=1, waiting_tags=("fawkes-a-0-1",))
    sample = desk.state.window(ClusterId("a"), 0).samples[-1]
    assert (sample.jobs_waiting, sample.tasks_waiting) == (3, 38)
    assert sample.bytes_waiting == 300
    assert sample.job_slowdown == pytest.approx(1.5)  # all three have waited for 15 s of 10 s
    read(desk, 20, jobs_waiting=0, tasks_waiting=1, jobs_running=1)
    sample = desk.state.window(ClusterId("a"), 0).samples[-1]
    assert sample.bytes_waiting == 200
    assert sample.job_slowdown == pytest.approx((1.5 + 2 + 2) / 3)  # a-0 has run for 15 s


def test_unknown_input_is_not_no_input() -> None:
    desk = desk_with(2)
    read(desk, 1, jobs_waiting=0, tasks_waiting=0)
    sample = desk.state.window(ClusterId("a"), 0).samples[-1]
    assert (sample.bytes_waiting, sample.job_slowdown, sample.without_reference) == (None, None, 2)
    idle = desk_with(0)
    read(idle, 1, jobs_waiting=0, jobs_running=0)
    sample = idle.state.window(ClusterId("a"), 0).samples[-1]
    assert (sample.bytes_waiting, sample.job_slowdown, sample.tasks_waiting) == (0, 0.0, None)


def test_a_job_that_counts_as_running_before_it_has_an_application_gets_one_later() -> None:
    desk = Desk.running("a", count=4)
    desk.submit("a", 1)

    def seen(**facts: object) -> None:
        attempt = Attempt(launcher=Launcher.RUNNING, **facts)  # type: ignore[arg-type]
        desk.tell(AttemptSeen(at_us=desk.now_us, job=JobId("a-1"), attempt=1, seen=attempt))

    seen(applications=())
    while desk.state.jobs[JobId("a-1")].life is not JobLife.RUNNING:
        desk.wake()
    assert desk.state.jobs[JobId("a-1")].application == ""
    seen(applications=(AppSeen(id="application_1", life=AppLife.LIVE),))
    assert desk.state.jobs[JobId("a-1")].application == "application_1"
