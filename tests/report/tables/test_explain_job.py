"""The fate of a job, with the numbers behind it."""

from __future__ import annotations

import pytest

from fawkes.base.errors import UserError
from fawkes.base.units import SECOND_US, show_time
from fawkes.core.jobs.deadlines import waits_now
from fawkes.core.values.events import CancelAsked, ClockSeen, PolicyText, Progress
from fawkes.core.values.model import JobId
from fawkes.policy.admission import compile_admission
from fawkes.report import history
from fawkes.report.tables.board import board
from fawkes.report.tables.explain_job import explain_job, left_us
from fawkes.report.tables.rows import job_row, pool_row
from tests.core.jobs.test_deadlines import desk_with, job, read, runs, submit, succeeds, taught, to_deadline
from tests.support.desk import Desk
from tests.support.pools import admission, settings

PYTHIA = admission("pythia")
BROKEN = """
from fawkes.policy import Done, Job, Memory, Queue, Verdict
NAME = "BROKEN"
def admit(queue: Queue, memory: Memory) -> list[Verdict]:
    return [1 / 0 for job in queue.jobs if job.id == "a-2"]
def learn(done: Done, memory: Memory) -> Memory:
    return memory
def late(job: Job, memory: Memory) -> bool:
    return False
"""


def texts(desk: Desk, name: str) -> list[str]:
    return [line.text for line in explain_job(desk.store, name).lines]


def test_a_job_that_is_let_in_shows_what_it_asked_for_and_got() -> None:
    desk = taught()
    submit(desk, 0)
    lines = texts(desk, "a-0")
    assert lines[0] == "job a-0 of a is starting"
    assert lines[1] == "Its deadline is +00:01:43.000, 1m40s after its submission"
    assert lines[2:5] == [
        "It was granted 5 of 20 CPUs",
        "Job a-0 waits in the queue of a",
        "Job a-0 is let in with 5 CPUs: it asks for 5 of 20 (fraction 0.5, queue factor 1)",
    ]
    assert all(line.at_us and line.seq for line in explain_job(desk.store, "a-0").lines[3:])


def test_a_job_that_waits_and_is_dropped_shows_both() -> None:
    desk = taught()
    for number in range(5):
        submit(desk, number)
    to_deadline(desk, "a-4")
    lines = texts(desk, "a-4")
    assert lines[0] == "job a-4 of a was dropped: its deadline has passed"
    assert [text for text in lines if text.startswith("Job a-4 waits: it asks for 5 CPUs of 20")]
    assert [text for text in lines if text.startswith("Job a-4 is dropped: its deadline has passed")]
    assert not [text for text in lines if "a-3" in text]


def newest(desk: Desk, name: str, chosen: PolicyText = PYTHIA) -> list[str]:
    """The lines of a job whose policy is asked once more, at the time of the last step."""
    policy = compile_admission(chosen, {})
    explained = explain_job(desk.store, name, lambda state: waits_now(desk.state, state, policy))
    return [line.text for line in explained.lines]


def test_a_job_that_waits_shows_its_newest_numbers_and_the_ledger_keeps_none_of_them() -> None:
    desk = taught()
    for number in range(5):
        submit(desk, number)
    at_submission = "Job a-4 waits: it asks for 5 CPUs of 20 (fraction 0.5, queue factor 1), and 0 are free"
    assert newest(desk, "a-4")[-1] == texts(desk, "a-4")[-1] == at_submission
    desk.now_s += 19
    read(desk)
    assert texts(desk, "a-4")[-1] == at_submission
    assert newest(desk, "a-4")[-2:] == [
        at_submission,
        "Job a-4 waits: it asks for 7 CPUs of 20 (fraction 0.5, queue factor 1.25), and 0 are free",
    ]
    assert [reason.code for reason in desk.last.reasons if reason.facts.get("job") == "a-4"] == []
    read(desk, slots=18)
    assert newest(desk, "a-4")[-1].endswith("and jobs hold 2 more than a has now")


def test_the_newest_numbers_of_a_job_that_does_not_wait_are_not_shown() -> None:
    desk = taught()
    submit(desk, 0)
    assert newest(desk, "a-0") == texts(desk, "a-0")


def test_a_job_that_waits_for_another_to_end_says_so() -> None:
    desk = taught(running=1)
    submit(desk, 0)
    submit(desk, 1)
    desk.now_s += 19
    read(desk)
    assert newest(desk, "a-1")[-1].endswith("and a runs 1 job, as many as max_running_jobs allows")


def test_a_policy_that_gives_no_numbers_is_named() -> None:
    desk = desk_with("baseline")
    for number in range(3):
        submit(desk, number)
    broken = PolicyText("BROKEN", "broken.py", BROKEN, "")
    assert "no usable answer for a (ZeroDivisionError" in newest(desk, "a-2", broken)[-1]


@pytest.mark.parametrize(
    ("after_s", "jump_s", "ends"),
    [
        (40, 0, "the job met it 1m00s early"),
        (130, 0, "the job missed it by 30s"),
        (7200, 7200, "when the job ended, and so whether it met it, is not known"),
    ],
)
def test_how_a_deadline_ended(after_s: float, jump_s: int, ends: str) -> None:
    desk = desk_with("baseline", clock_jump_us=60 * SECOND_US)
    submit(desk, 0)
    runs(desk, "a-0")
    desk.now_s += after_s
    if jump_s:
        desk.tell(ClockSeen(at_us=desk.now_us, by_us=jump_s * SECOND_US, moved_us=jump_s * SECOND_US))
    succeeds(desk, "a-0")
    assert texts(desk, "a-0")[1].endswith(ends)


def test_a_job_that_never_was_is_told() -> None:
    with pytest.raises(UserError, match=r"there is no job 'b-7'.*fawkes jobs"):
        explain_job(desk_with().store, "b-7")


def rows(desk: Desk) -> dict[str, tuple[object, ...]]:
    listed = [job_row(state) for state in history.jobs(desk.store)]
    return {row["job"]: (row["state"], row["deadline_s"], row["cpus"], row["outcome"]) for row in listed}


def test_rows_have_deadline_grant_and_outcome() -> None:
    desk = desk_with("reactive")
    submit(desk, 0)
    runs(desk, "a-0")
    submit(desk, 1, deadline_s=None)
    assert rows(desk) == {"a-0": ("running", 100.0, 10, None), "a-1": ("starting", None, 10, None)}
    runs(desk, "a-1")
    submit(desk, 2, deadline_s=20)
    to_deadline(desk, "a-2")
    desk.now_s += 5
    succeeds(desk, "a-0")
    assert rows(desk)["a-0"] == ("succeeded", 100.0, 10, "met")
    assert rows(desk)["a-2"] == ("dropped", 20.0, None, "dropped")


def test_a_killed_job_and_one_that_was_cancelled() -> None:
    desk = desk_with("reactive")
    for number in (0, 1):
        submit(desk, number)
        runs(desk, f"a-{number}")
    desk.tell(CancelAsked(at_us=desk.now_us, job=JobId("a-1")))
    desk.job("a-1", Progress.CANCELLED, finished_us=desk.now_us)
    to_deadline(desk, "a-0")
    desk.job("a-0", Progress.CANCELLED, finished_us=desk.now_us)
    assert rows(desk)["a-0"][3] == "killed"
    assert rows(desk)["a-1"][3] is None
    assert pool_row(desk.store)["deadlines"] == {
        "waiting": 0, "running": 0, "met": 0, "missed": 0, "dropped": 0, "killed": 1,
    }  # fmt: skip


def test_the_pool_counts_no_deadlines_without_an_admission_policy() -> None:
    desk = Desk(4)
    assert (pool_row(desk.store)["admission"], pool_row(desk.store)["deadlines"]) == (None, None)


def test_the_time_that_is_left_counts_on_after_the_deadline() -> None:
    desk = desk_with("baseline")
    submit(desk, 0)
    state = job(desk, "a-0")
    assert left_us(state, state.submitted_us + 30 * SECOND_US) == 70 * SECOND_US
    assert left_us(state, state.submitted_us + 130 * SECOND_US) == -30 * SECOND_US


@pytest.mark.parametrize(
    ("wall_s", "simulated", "left_s"), [(-3600, False, 60), (0, False, 60), (30, False, 30), (30, True, 60)]
)
def test_the_time_that_is_left_is_by_the_time_of_the_ledger(
    monkeypatch: pytest.MonkeyPatch, wall_s: int, simulated: bool, left_s: int
) -> None:
    """It is ahead of the machine's clock after that was set back."""
    desk = desk_with("baseline")
    desk.now_s += 7200
    submit(desk, 0)
    desk.now_s += 39
    read(desk)
    monkeypatch.setattr(history, "simulated", lambda _: simulated)
    monkeypatch.setattr("fawkes.report.history.time.time_ns", lambda: (desk.now_us + wall_s * SECOND_US) * 1000)
    (row,) = board(desk.store, "jobs")
    assert row["left_s"] == left_s


def test_a_job_whose_masters_do_not_answer_says_so_while_it_runs() -> None:
    desk = Desk(4, how=settings(stale_us=10 * SECOND_US, period_us=10**12))
    desk.now_s = 1
    desk.up("a")
    desk.submit("a", 1)
    desk.job("a-1", Progress.RUNNING)
    desk.now_s += 20
    desk.sample(a={"error": "no answer"})
    since = show_time(desk.now_us)
    silent = f"The masters of a have not answered since {since}: how far the job is, is not known"
    assert texts(desk, "a-1")[1] == silent
    desk.sample(a={})
    assert silent not in texts(desk, "a-1")
    desk.sample(a={"error": "no answer"})
    desk.job("a-1", Progress.SUCCEEDED)
    assert silent not in texts(desk, "a-1")
