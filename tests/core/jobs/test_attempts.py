"""The outcome of an attempt: the whole truth table by a second formulation, and its meaning for a job."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import NamedTuple

import pytest

from fawkes.base.units import SECOND_US
from fawkes.core.jobs.attempts import CopyCourse, judge, live, may_begin
from fawkes.core.values.effects import CancelJob, StartJob
from fawkes.core.values.events import Progress
from fawkes.core.values.keys import Key
from fawkes.core.values.model import JobId, JobLife
from fawkes.core.values.sight import AppLife, AppSeen, Attempt, ClientCause, Launcher
from tests.support.desk import Desk

QUIET_S, START_S = 60, 120
LIVE, GOOD, BAD = AppLife.LIVE, AppLife.SUCCEEDED, AppLife.FAILED
JOB = "a-1"


def apps(*lives: AppLife) -> tuple[AppSeen, ...]:
    return tuple(AppSeen(id=f"application_{i}", life=life) for i, life in enumerate(lives, 1))


APPLICATIONS: tuple[tuple[AppSeen, ...] | None, ...] = (
    None,
    (),
    *(apps(life) for life in AppLife),
    *(apps(*pair) for pair in product(AppLife, repeat=2)),
)


class Case(NamedTuple):
    """Facts, and what the core knew before."""

    seen: Attempt
    began: bool
    cancelling: bool
    lasted: bool

    @property
    def lives(self) -> set[AppLife]:
        """The lives of the applications."""
        return {app.life for app in self.seen.applications or ()}

    @property
    def in_vain(self) -> bool:
        """The launcher left no result that settles it, and is not at work: YARN has the word."""
        contradicted = LIVE in self.lives or (self.seen.single and BAD in self.lives)
        finished_well = self.seen.launcher is Launcher.FINISHED and self.seen.exit == 0 and not contradicted
        silent = self.seen.launcher in (Launcher.NOT_KNOWN, Launcher.RUNNING)
        return not (self.seen.refused or finished_well or silent)

    @property
    def early(self) -> bool:
        """Its launcher left nothing behind, a moment ago: it may be just about to begin."""
        return self.seen.launcher is Launcher.LOST and self.seen.applications == () and not self.lasted

    @property
    def ended(self) -> bool:
        """YARN is known to run nothing of it any more."""
        return self.in_vain and self.seen.applications is not None and LIVE not in self.lives and not self.early

    @property
    def over(self) -> bool:
        """That, and nobody wants it stopped."""
        return self.ended and not (self.cancelling or self.seen.cancelled) and not self.displaced

    @property
    def displaced(self) -> bool:
        """A move of the masters ended it, or kept it from being begun, before YARN knew of it."""
        there = self.seen.launcher in (Launcher.FINISHED, Launcher.LOST)
        return self.ended and there and self.seen.displaced and not self.lives

    @property
    def client(self) -> bool:
        """Its client told how it ended: badly."""
        return self.seen.launcher is Launcher.FINISHED

    @property
    def blind(self) -> bool:
        """The client could not know how its one job ended: it was killed, or lost sight of it."""
        killed = (self.seen.exit or 0) > 128 and not self.seen.own
        return killed or (self.seen.single and self.seen.lost_sight)

    @property
    def shows(self) -> bool:
        """Something shows that a client which runs has got somewhere."""
        return bool(self.seen.applications) or self.seen.own or self.lasted


#: each case falls into exactly one of these
ROWS: dict[str, tuple[Callable[[Case], bool], Progress | None]] = {
    "refused": (lambda c: bool(c.seen.refused), Progress.REFUSED),
    "nobody knows": (lambda c: not c.seen.refused and c.seen.launcher is Launcher.NOT_KNOWN, None),
    "at work": (lambda c: not c.seen.refused and c.seen.launcher is Launcher.RUNNING and c.shows, Progress.RUNNING),
    "begins": (lambda c: not c.seen.refused and c.seen.launcher is Launcher.RUNNING and not c.shows, None),
    "ended well": (
        lambda c: not (c.seen.refused or c.in_vain) and c.client and c.seen.exit == 0,
        Progress.SUCCEEDED,
    ),
    "YARN is not known": (lambda c: c.in_vain and c.seen.applications is None, None),
    "YARN runs it": (lambda c: c.in_vain and LIVE in c.lives, Progress.RUNNING),
    "stopped": (
        lambda c: c.ended and (c.cancelling or c.seen.cancelled),
        Progress.CANCELLED,
    ),
    "displaced": (
        lambda c: c.displaced and not (c.cancelling or c.seen.cancelled or (c.seen.own and c.seen.began_us)),
        Progress.DISPLACED,
    ),
    "displaced, with an end of its own": (
        lambda c: c.displaced and not (c.cancelling or c.seen.cancelled) and bool(c.seen.own and c.seen.began_us),
        Progress.FAILED,
    ),
    "it may be about to begin": (lambda c: c.in_vain and c.early, None),
    "blind, all went well": (lambda c: c.over and c.client and c.blind and c.lives == {GOOD}, Progress.SUCCEEDED),
    "its client failed": (lambda c: c.over and c.client and not (c.blind and c.lives == {GOOD}), Progress.FAILED),
    "no client, all went well": (
        lambda c: c.over and not c.client and c.lives == {GOOD} and not c.seen.own,
        Progress.SUCCEEDED,
    ),
    "no client, there may be more to do": (
        lambda c: c.over and not c.client and c.lives == {GOOD} and c.seen.own,
        Progress.FAILED,
    ),
    "no client, one failed": (lambda c: c.over and not c.client and BAD in c.lives, Progress.FAILED),
    "it has vanished": (
        lambda c: c.over and not c.client and not c.lives and (c.began or c.seen.launcher is Launcher.LOST),
        Progress.FAILED,
    ),
    "it was never begun": (
        lambda c: c.over and not c.client and not c.lives and not c.began and c.seen.launcher is not Launcher.LOST,
        None,
    ),
}


def cases() -> Iterator[Case]:
    """Every case there is."""
    two = (False, True)
    for launcher, ended, seen_apps in product(Launcher, (None, 0, 1, 137), APPLICATIONS):
        marks = ("", "no such jar", "displaced", "displaced after it began")
        for cancelled, own, single, lost_sight, mark in product(two, two, two, two, marks):
            seen = Attempt(
                launcher=launcher,
                exit=ended,
                applications=seen_apps,
                cancelled=cancelled,
                own=own,
                single=single,
                lost_sight=lost_sight,
                refused=mark if "jar" in mark else "",
                displaced="displaced" in mark,
                began_us=1 if "began" in mark else None,
            )
            for began, cancelling, lasted in product(two, repeat=3):
                yield Case(seen, began, cancelling, lasted)


def progress_of(case: Case) -> Progress | None:
    verdict = judge(case.seen, began=case.began, cancelling=case.cancelling, lasted=case.lasted)
    return None if verdict is None else verdict.progress


@pytest.mark.slow
def test_every_case_falls_into_one_row_and_is_judged_by_it() -> None:
    met = set()
    for case in cases():
        (row,) = [name for name, (fits, _) in ROWS.items() if fits(case)]
        met.add(row)
        assert progress_of(case) is ROWS[row][1], (row, case)
    assert met == set(ROWS)


def test_unknown_applications_never_end_an_attempt_unless_its_launcher_or_its_request_does() -> None:
    for case in cases():
        if case.seen.applications is None and not case.seen.refused and case.seen.exit != 0:
            assert progress_of(case) in (None, Progress.RUNNING), case


@pytest.mark.slow
def test_an_attempt_that_yarn_runs_is_never_over() -> None:
    for case in cases():
        if live(case.seen) and not case.seen.refused:
            assert progress_of(case) in (None, Progress.RUNNING), case


def test_a_command_is_begun_only_when_nothing_of_it_was_and_yarn_is_known_to_run_nothing() -> None:
    for launcher, seen_apps in product(Launcher, APPLICATIONS):
        expected = launcher in (Launcher.ABSENT, Launcher.UNBORN) and seen_apps is not None and not seen_apps
        assert may_begin(Attempt(launcher=launcher, applications=seen_apps)) == expected


@pytest.mark.parametrize(
    ("seen", "error"),
    [
        (Attempt(launcher=Launcher.FINISHED, exit=2, applications=()), "exit code 2"),
        (Attempt(launcher=Launcher.FINISHED, applications=()), "exit code unknown"),
        (
            Attempt(launcher=Launcher.FINISHED, exit=0, single=True, applications=apps(BAD)),
            "after its client had ended",
        ),
        (Attempt(launcher=Launcher.FINISHED, exit=2, applications=(), words="out of memory"), "out of memory"),
        (Attempt(launcher=Launcher.LOST, applications=()), "its launcher is gone, and YARN has no application of it"),
        (Attempt(launcher=Launcher.LOST, applications=apps(BAD)), "its launcher is gone"),
        (Attempt(launcher=Launcher.LOST, applications=(AppSeen(id="x", life=BAD, said="killed by ann"),)), "killed by"),
        (Attempt(launcher=Launcher.LOST, applications=apps(GOOD, GOOD), own=True), "the 2 applications that it ran"),
        (Attempt(refused="there is no jar /x.jar"), "there is no jar /x.jar"),
    ],
)
def test_a_verdict_says_why_it_failed(seen: Attempt, error: str) -> None:
    verdict = judge(seen, began=False, cancelling=False, lasted=True)
    assert verdict is not None
    assert error in verdict.error


# What a job makes of it.


def begun(**facts: object) -> Desk:
    """A job that was handed over; nothing was heard of it yet."""
    desk = Desk.running("a", count=4, period_us=10**6 * SECOND_US)
    desk.submit("a", 1, **facts)
    assert desk.starts() == [(JOB, 1)]
    desk.now_s += 1
    return desk


def running(**facts: object) -> Desk:
    """A job that was seen to run."""
    desk = begun(**facts)
    desk.attempt(JOB, launcher=Launcher.RUNNING, applications=apps(LIVE))
    assert desk.state.jobs[JobId(JOB)].life is JobLife.RUNNING
    desk.now_s += 1
    return desk


def test_an_attempt_runs_when_its_application_is_seen() -> None:
    desk = begun()
    desk.attempt(JOB, launcher=Launcher.RUNNING, applications=())
    assert desk.state.jobs[JobId(JOB)].life is JobLife.STARTING
    app = AppSeen(id="application_7", life=LIVE, started_us=desk.now_us)
    desk.attempt(JOB, launcher=Launcher.RUNNING, applications=(app,))
    job = desk.state.jobs[JobId(JOB)]
    assert (job.life, job.application, job.started_us) == (JobLife.RUNNING, "application_7", desk.now_us)
    assert Key.QUIET.of(JOB) not in desk.state.pending


def test_a_client_that_runs_without_an_application_counts_as_running_after_a_while() -> None:
    desk = begun()
    desk.attempt(JOB, launcher=Launcher.RUNNING)
    desk.wait(QUIET_S / 2)
    desk.attempt(JOB, launcher=Launcher.RUNNING, applications=())
    desk.wait(QUIET_S / 2 - 1)
    assert desk.state.jobs[JobId(JOB)].life is JobLife.STARTING
    desk.wait(1)
    assert desk.state.jobs[JobId(JOB)].life is JobLife.RUNNING


def test_a_job_whose_client_runs_its_own_command_runs_at_once() -> None:
    desk = begun()
    desk.attempt(JOB, launcher=Launcher.RUNNING, own=True, began_us=desk.now_us)
    job = desk.state.jobs[JobId(JOB)]
    assert (job.life, job.started_us) == (JobLife.RUNNING, desk.now_us)


@pytest.mark.parametrize("launcher", [Launcher.LOST, Launcher.ABSENT, Launcher.UNBORN])
def test_a_job_goes_on_while_nobody_knows_what_yarn_runs(launcher: Launcher) -> None:
    """The masters' node was off; its web server is up before its recovery is done."""
    desk = running(retries=3)
    for _ in range(3):
        desk.attempt(JOB, launcher=launcher, applications=None)
        desk.wait(1000)
        assert desk.starts() == []
    assert desk.state.jobs[JobId(JOB)].life is JobLife.RUNNING
    assert desk.state.jobs[JobId(JOB)].attempt == 1


def test_a_recovered_application_is_taken_up_again() -> None:
    desk = running(retries=3)
    desk.attempt(JOB, launcher=Launcher.LOST, applications=None)
    desk.attempt(JOB, launcher=Launcher.LOST, applications=apps(LIVE))
    assert desk.state.jobs[JobId(JOB)].life is JobLife.RUNNING
    desk.attempt(JOB, launcher=Launcher.LOST, applications=apps(GOOD))
    assert desk.codes() == ["job-succeeded"]


def test_an_application_of_an_attempt_that_nobody_saw_begin_is_taken_up() -> None:
    """The controller died right after the start; the launcher went with the masters' node, YARN recovered."""
    desk = begun()
    desk.attempt(JOB, launcher=Launcher.LOST, applications=apps(LIVE))
    assert desk.state.jobs[JobId(JOB)].life is JobLife.RUNNING


def test_a_second_attempt_needs_a_look_that_lasts() -> None:
    """The masters' node does not answer any more: what was seen last may have changed."""
    desk = running(retries=1)
    desk.attempt(JOB, launcher=Launcher.LOST, applications=())
    desk.attempt(JOB)
    desk.wait(10 * QUIET_S)
    assert desk.starts() == []
    desk.attempt(JOB, launcher=Launcher.LOST, applications=())
    assert desk.wait(QUIET_S) == ["retry", "job-released"]


def test_an_attempt_that_vanished_is_tried_again_once() -> None:
    desk = running(retries=1)
    desk.attempt(JOB, launcher=Launcher.LOST, applications=())
    desk.wait(QUIET_S - 1)
    assert desk.state.jobs[JobId(JOB)].life is JobLife.RUNNING, "its client may be just about to begin"
    assert desk.wait(1) == ["retry", "job-released"]
    assert desk.starts() == [(JOB, 2)]
    desk.attempt(JOB, launcher=Launcher.LOST, applications=())
    assert desk.codes() == ["late-answer"]


def test_an_attempt_that_was_never_begun_is_begun_when_its_deadline_has_passed() -> None:
    desk = begun()
    desk.attempt(JOB, launcher=Launcher.UNBORN, applications=())
    assert desk.state.jobs[JobId(JOB)].life is JobLife.STARTING
    assert desk.codes() == []
    desk.wait(START_S)
    assert desk.starts() == [(JOB, 1)]


def test_what_keeps_a_job_from_beginning_is_said_once_until_it_is_another_or_the_job_runs() -> None:
    desk = begun()
    for error, codes in [("too long", ["job-not-begun"]), ("too long", []), ("no disk", ["job-not-begun"])]:
        desk.attempt(JOB, launcher=Launcher.NOT_KNOWN, error=error)
        assert desk.codes() == codes
    waits = desk.state.jobs[JobId(JOB)].waits
    assert waits is not None
    assert waits.facts["error"] == "no disk"
    desk.attempt(JOB, launcher=Launcher.RUNNING, applications=apps(LIVE))
    assert (desk.state.jobs[JobId(JOB)].life, desk.state.jobs[JobId(JOB)].waits) == (JobLife.RUNNING, None)


def test_what_could_not_be_begun_is_tried_again_soon_and_ever_more_slowly() -> None:
    desk = begun()
    waits = []
    for _ in range(7):
        desk.attempt(JOB, launcher=Launcher.NOT_KNOWN, error="no answer")
        began_s = desk.now_s
        while not desk.starts():
            desk.wake()
        waits.append(desk.now_s - began_s)
    assert waits == [2, 4, 8, 16, 30, 30, 30]


def test_how_an_attempt_failed_and_where_its_log_is() -> None:
    desk = running()
    ended = AppSeen(id="application_7", life=BAD, finished_us=desk.now_us - 5)
    desk.attempt(JOB, launcher=Launcher.FINISHED, exit=1, applications=(ended,), words="disk full")
    assert desk.said("job-failed")[0]["error"] == "disk full"
    assert desk.said("job-failed")[0]["log"] == f"fawkes logs a --job {JOB}"


def test_an_attempt_that_is_seen_to_run_on_changes_nothing() -> None:
    desk = running()
    desk.attempt(JOB, launcher=Launcher.RUNNING, applications=apps(LIVE))
    assert (desk.last.changes, desk.last.effects) == ((), ())


def test_facts_about_an_earlier_attempt_or_no_job_are_history() -> None:
    desk = running()
    before = desk.state.jobs[JobId(JOB)]
    for job, attempt in ((JOB, 0), (JOB, 2), ("a-99", 1)):
        desk.attempt(job, attempt, launcher=Launcher.FINISHED, exit=0, applications=())
        assert desk.codes() == ["late-answer"]
    assert desk.state.jobs[JobId(JOB)] == before


def cancelled() -> Desk:
    desk = running()
    desk.cancel(JOB, ask="c")
    desk.now_s += 1
    return desk


def test_a_job_is_cancelled_when_its_launcher_and_yarn_agree() -> None:
    desk = cancelled()
    for launcher, known in ((Launcher.RUNNING, apps(LIVE)), (Launcher.LOST, None)):
        desk.attempt(JOB, launcher=launcher, applications=known)
        assert desk.state.jobs[JobId(JOB)].life is JobLife.CANCELLING
        assert desk.latest(CancelJob) == [], "it was asked to stop, and does"
    desk.attempt(JOB, launcher=Launcher.LOST, applications=apps(BAD))
    assert desk.codes() == ["job-cancelled"]


def test_an_application_that_yarn_learned_of_too_late_is_stopped_as_well() -> None:
    desk = cancelled()
    desk.attempt(JOB, launcher=Launcher.FINISHED, exit=143, cancelled=True, applications=apps(LIVE))
    assert desk.latest(CancelJob) == [CancelJob(JobId(JOB), desk.state.jobs[JobId(JOB)].cluster, 1)]
    desk.attempt(JOB, launcher=Launcher.FINISHED, exit=143, cancelled=True, applications=apps(BAD))
    assert desk.codes() == ["job-cancelled"]


def test_a_job_that_was_quicker_than_its_cancellation_has_succeeded() -> None:
    desk = cancelled()
    desk.attempt(JOB, launcher=Launcher.FINISHED, exit=0, applications=apps(GOOD))
    assert desk.codes() == ["job-succeeded"]


def test_a_cancelled_job_is_never_tried_again() -> None:
    desk = running(retries=5)
    desk.cancel(JOB)
    desk.attempt(JOB, launcher=Launcher.LOST, applications=())
    assert desk.wait(QUIET_S) == ["job-cancelled"]
    assert desk.latest(StartJob) == []


# Copies.

ABSENT, LOST = Launcher.ABSENT, Launcher.LOST
RUNNING = Attempt(launcher=Launcher.RUNNING, applications=())
GONE = Attempt(launcher=LOST, applications=())


def copied(*looks: tuple[int, Attempt], began: bool = False) -> Progress | None:
    """The verdict on a copy after looks at these seconds."""
    course = CopyCourse(began)
    for at_s, seen in looks:
        course = course.after(seen, at_s * SECOND_US)
    verdict = course.verdict(QUIET_S * SECOND_US)
    return None if verdict is None else verdict.progress


@pytest.mark.parametrize("exit_code", [1, 137, None])
@pytest.mark.parametrize("launcher", [Launcher.FINISHED, LOST, ABSENT, Launcher.UNBORN])
def test_a_copy_is_complete_when_all_its_applications_are(launcher: Launcher, exit_code: int | None) -> None:
    assert copied((0, Attempt(launcher=launcher, exit=exit_code, applications=apps(GOOD)))) is Progress.SUCCEEDED
    assert copied((0, Attempt(launcher=launcher, exit=exit_code, applications=apps(GOOD, BAD)))) is Progress.FAILED
    assert copied((0, Attempt(launcher=launcher, exit=exit_code, applications=apps(GOOD, LIVE)))) is Progress.RUNNING
    assert copied((0, Attempt(launcher=launcher, exit=exit_code))) is None


def test_a_client_that_ended_well_has_copied_everything() -> None:
    assert copied((0, Attempt(launcher=Launcher.FINISHED, exit=0))) is Progress.SUCCEEDED


def test_a_client_that_failed_without_an_application_has_copied_nothing() -> None:
    assert copied((0, Attempt(launcher=Launcher.FINISHED, exit=1, applications=()))) is Progress.FAILED


def test_a_copy_that_left_nothing_behind_is_gone_only_when_that_lasts() -> None:
    looks = [(second, GONE) for second in range(QUIET_S + 1)]
    assert copied(*looks[:-1]) is None
    assert copied(*looks) is Progress.FAILED
    assert copied(*looks[:-1], (QUIET_S, RUNNING), (QUIET_S + 1, GONE)) is None


def test_a_copy_that_was_begun_and_is_nowhere_has_failed() -> None:
    seen = Attempt(launcher=ABSENT, applications=())
    assert copied((0, seen)) is None
    assert copied((0, seen), began=True) is Progress.FAILED
    assert copied((0, RUNNING), (1, seen)) is Progress.FAILED


def test_a_copy_of_which_nothing_was_known_was_not_begun() -> None:
    assert copied((0, Attempt()), (1, Attempt(launcher=ABSENT, applications=()))) is None


def test_nothing_is_said_of_a_copy_that_nobody_has_seen() -> None:
    assert CopyCourse().verdict(0) is None


@pytest.mark.parametrize(
    ("cause", "known", "again"),
    [
        (ClientCause.OUTPUT_EXISTS, (), False),
        (ClientCause.NO_CLASS, (), False),
        (ClientCause.NOT_KNOWN, (), True),
        (ClientCause.OUTPUT_EXISTS, apps(BAD), True),
    ],
)
def test_what_fails_for_a_reason_that_lasts_is_not_tried_again(
    cause: ClientCause, known: tuple[AppSeen, ...], again: bool
) -> None:
    """The next attempt of a job that has got to YARN may find something else: its output is set aside before."""
    desk = begun(retries=3)
    words = "its output folder /out exists already"
    desk.attempt(JOB, launcher=Launcher.FINISHED, exit=255, applications=known, cause=cause, words=words)
    assert desk.codes() == (["retry", "job-released"] if again else ["job-failed"])
    assert [facts["error"] for facts in desk.said("retry") + desk.said("job-failed")] == [words]


@pytest.mark.parametrize("launcher", [Launcher.LOST, Launcher.FINISHED])
def test_what_was_seen_of_an_attempt_is_kept_while_yarn_does_not_answer(launcher: Launcher) -> None:
    """A command of its own would be begun a second time when its masters have moved."""
    desk = begun()
    desk.attempt(JOB, launcher=launcher, exit=1, own=True, error="no answer")
    job = desk.state.jobs[JobId(JOB)]
    assert job.own
    assert job.seen is not None
    assert (job.seen.launcher, job.waits and job.waits.code) == (launcher, "job-not-begun")
