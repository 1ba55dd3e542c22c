"""Deadlines under an admission policy: who is let in, with how many CPUs, who is dropped or killed, what is learned."""

from __future__ import annotations

from typing import Any

import pytest

from fawkes.base.units import SECOND_US
from fawkes.core.clusters.picture import picture, restored
from fawkes.core.jobs.deadlines import waits_now
from fawkes.core.values.decision import PutJob, PutLearned
from fawkes.core.values.effects import CancelJob, CountWork, Reply, StartJob
from fawkes.core.values.events import ClockSeen, Done, PolicyText, Progress, Submitted, Woke
from fawkes.core.values.model import ClusterId, JobId, JobLife, JobSpec, JobState, Plain, Reason
from fawkes.policy.admission import compile_admission
from tests.support.desk import Desk
from tests.support.pools import admission, settings
from tests.support.pools import started as begins

_A = ClusterId("a")


def desk_with(policy: str = "pythia", *, running: int = 99, text: str = "", **more: Any) -> Desk:
    """MR-cluster a with 20 slots, of which nothing is used."""
    chosen = PolicyText(policy, f"{policy}.py", text, "") if text else admission(policy)
    how = settings(period_us=10**12, admission=policy, **more)
    desk = Desk(4, how=how, admission=chosen)
    desk.up("a", max_running_jobs=running)
    read(desk)
    return desk


def read(desk: Desk, slots: int | None = 20, **facts: object) -> None:
    desk.now_s += 1
    desk.sample(a={"slots_total": slots, "jobs_running": 0, "jobs_waiting": 0, **facts})


def submit(desk: Desk, number: int, deadline_s: float | None = 100, tasks: int = 10, **facts: object) -> None:
    deadline_us = None if deadline_s is None else round(deadline_s * SECOND_US)
    desk.submit("a", number, tasks=tasks, deadline_us=deadline_us, **facts)


def runs(desk: Desk, name: str) -> None:
    desk.job(name, Progress.RUNNING, application=f"app-{name}", started_us=desk.now_us)


def succeeds(desk: Desk, name: str, work_s: float | None = None) -> None:
    desk.job(name, Progress.SUCCEEDED, finished_us=desk.now_us)
    if work_s is not None:
        desk.answer(f"work:{name}", work_us=round(work_s * SECOND_US))


def started(desk: Desk) -> list[tuple[str, int]]:
    return [(effect.job, effect.granted) for effect in desk.latest(StartJob)]


def learned(desk: Desk) -> Plain:
    return desk.state.learned.get("a")


def taught(jobs: int = 0, *, rate: float = 0.5, **more: Any) -> Desk:
    """PYTHIA has seen two jobs of this rate and knows its fraction; then so many are handed in."""
    desk = desk_with(**more)
    for number in (90, 91):
        submit(desk, number)
        runs(desk, f"a-{number}")
        desk.now_s += 1
        succeeds(desk, f"a-{number}", rate * 10 * 100)
    for number in range(jobs):
        submit(desk, number)
    return desk


def job(desk: Desk, name: str) -> JobState:
    return desk.state.jobs[JobId(name)]


def last_of(desk: Desk, name: str) -> JobState:
    """A job as the latest decision left it, ended ones too."""
    states = [change.state for change in desk.last.changes if isinstance(change, PutJob) and change.state.id == name]
    return states[-1]


def to_deadline(desk: Desk, name: str) -> None:
    """Its timer goes off, and nothing else does."""
    due_us = desk.state.pending[f"deadline:{name}"].deadline_us
    desk.now_s = due_us / SECOND_US
    desk.tell(Woke(at_us=due_us))


def late(desk: Desk) -> None:
    """Job a-0 runs until its deadline, 30 s after it was handed in."""
    submit(desk, 0, deadline_s=30)
    runs(desk, "a-0")
    to_deadline(desk, "a-0")


def test_without_a_policy_a_deadline_changes_nothing() -> None:
    plain, due = (Desk(4, how=settings(period_us=10**12)) for _ in range(2))
    for desk, facts in ((plain, {}), (due, {"deadline_us": 1})):
        desk.up("a")
        desk.submit("a", 0, **facts)
        desk.job("a-0", Progress.RUNNING, started_us=desk.now_us)
        desk.now_s += 60
        desk.job("a-0", Progress.SUCCEEDED, finished_us=desk.now_us)
    assert [entry.decision.reasons for entry in plain.store.entries()] == [
        entry.decision.reasons for entry in due.store.entries()
    ]
    assert last_of(due, "a-0").met is False


def test_a_job_is_let_in_with_what_it_asks_for() -> None:
    desk = taught()
    submit(desk, 0)
    assert started(desk) == [("a-0", 5)]
    assert (job(desk, "a-0").granted, job(desk, "a-0").granted_of) == (5, 20)
    (facts,) = desk.said("job-admitted")
    assert facts == {
        "job": "a-0",
        "cluster": "a",
        "cpus": 5,
        "asked": 5,
        "free": 20,
        "total": 20,
        "fraction": 0.5,
        "queue_factor": 1.0,
    }


def test_no_more_is_granted_than_there_is() -> None:
    desk = taught(jobs=5)
    assert [job(desk, f"a-{number}").granted for number in range(5)] == [5, 5, 5, 5, 0]
    (facts,) = desk.said("job-waits")
    assert (facts["asked"], facts["free"], facts["total"]) == (5, 0, 20)


def test_a_job_that_ends_makes_room() -> None:
    desk = taught()
    for number in range(5):
        submit(desk, number, deadline_s=10_000, tasks=8 if number == 4 else 10)
    runs(desk, "a-0")
    desk.now_s += 1
    succeeds(desk, "a-0")
    assert [name for name, _ in started(desk)] == ["a-4"]


def test_nothing_is_let_in_while_the_capacity_is_not_known() -> None:
    pythia, waits = admission("pythia"), Reason("job-waits", {"job": "a-0", "cluster": "a"})
    desk = Desk(4, how=settings(period_us=10**12, admission="pythia"), admission=pythia)
    desk.up("a", max_running_jobs=9)
    submit(desk, 0)
    assert desk.said("job-waits") == [waits.facts]
    assert waits_now(desk.state, job(desk, "a-0"), compile_admission(pythia, {})) == waits
    read(desk, None)
    assert started(desk) == []
    assert waits_now(desk.state, job(desk, "a-0"), compile_admission(pythia, {})) == waits
    read(desk)
    assert started(desk) == [("a-0", 10)]


def test_what_an_application_master_takes_is_no_room_for_tasks() -> None:
    desk = taught()
    read(desk, master_slots=1)
    for number in range(4):
        submit(desk, number)
    # 20 slots: three jobs hold 5 and a master each; the fourth would need 6 of the 2 that are left.
    assert [job(desk, f"a-{number}").granted for number in range(4)] == [5, 5, 5, 0]


def test_no_more_jobs_run_than_may() -> None:
    desk = taught(running=2)
    for number in range(3):
        submit(desk, number, tasks=2)
    assert [job(desk, f"a-{number}").life for number in range(3)] == [
        JobLife.STARTING,
        JobLife.STARTING,
        JobLife.QUEUED,
    ]
    assert desk.said("job-waits")[0]["max_running_jobs"] == 2


def test_a_job_of_unknown_size_without_a_deadline_takes_what_is_there() -> None:
    desk = taught()
    submit(desk, 0)
    spec = JobSpec(id=JobId("a-1"), cluster=_A)
    desk.tell(Submitted(at_us=desk.now_us, spec=spec))
    assert started(desk) == [("a-1", 15)]


def test_another_policy_does_not_get_the_memory_of_the_one_before() -> None:
    desk = taught()
    how = settings(period_us=10**12, admission="justice")
    desk.tell(begins(at_s=desk.now_s, how=how, admission=admission("justice"), epoch=2))
    assert learned(desk) is None
    read(desk)
    submit(desk, 0)
    assert started(desk) == [("a-0", 10)]


def test_the_same_policy_goes_on_with_what_it_knows() -> None:
    desk = taught()
    desk.tell(begins(at_s=desk.now_s, how=desk.engine.view.rules.settings, admission=admission("pythia"), epoch=2))  # type: ignore[union-attr]
    assert learned(desk) == [2, 0.5]


def test_a_deadline_counts_while_no_controller_runs() -> None:
    desk = taught(away_us=60 * SECOND_US, clock_jump_us=60 * SECOND_US)
    submit(desk, 0, deadline_s=3600)
    due_us = job(desk, "a-0").due_us
    desk.now_s += 1800
    how = desk.engine.view.rules.settings  # type: ignore[union-attr]
    steady_us = 1800 * SECOND_US
    desk.tell(begins(at_s=desk.now_s, how=how, admission=admission("pythia"), epoch=2, steady_us=steady_us))
    assert "away" in desk.codes()
    assert (job(desk, "a-0").due_us, desk.state.pending["deadline:a-0"].deadline_us) == (due_us, due_us)


def test_a_hopeless_job_is_told_so_at_once() -> None:
    desk = taught(jobs=4)
    submit(desk, 4, deadline_s=40)
    desk.now_s += 21
    read(desk)
    (facts,) = desk.said("job-dropped")
    dropped = (facts["job"], facts["stop"], facts["asked"], facts["most"])
    assert dropped == ("a-4", "hopeless", 12, 10)
    ended = last_of(desk, "a-4")
    assert (ended.life, ended.met, ended.run_us) == (JobLife.DROPPED, False, 0)
    assert "deadline:a-4" not in desk.state.pending
    assert learned(desk) == [2, 0.5]


def test_a_deadline_that_passes_in_the_queue_drops_the_job_then() -> None:
    desk = taught()
    for number in range(4):
        submit(desk, number, deadline_s=1000)
    submit(desk, 4, deadline_s=30)
    to_deadline(desk, "a-4")
    assert desk.said("job-dropped")[0]["stop"] == "over-deadline"


def test_capacity_that_is_gone_drops_nobody() -> None:
    desk = taught(jobs=5)
    read(desk, 0)
    assert desk.codes() == []
    assert job(desk, "a-4").life is JobLife.QUEUED
    assert job(desk, "a-0").granted == 5


def test_running_grants_stay_and_nothing_is_let_in_until_they_fit_again() -> None:
    desk = taught(jobs=3)
    read(desk, 12)
    submit(desk, 3, tasks=2)
    assert [job(desk, f"a-{number}").granted for number in range(4)] == [5, 5, 5, 0]


def test_a_late_job_runs_on_under_pythia_and_counts_as_missed() -> None:
    desk = taught()
    late(desk)
    assert job(desk, "a-0").life is JobLife.RUNNING
    desk.now_s += 1
    succeeds(desk, "a-0")
    ended = last_of(desk, "a-0")
    assert (ended.life, ended.met) == (JobLife.SUCCEEDED, False)


def test_to_the_microsecond_in_time_is_met() -> None:
    desk = taught()
    submit(desk, 0, deadline_s=30)
    runs(desk, "a-0")
    desk.now_s += 30
    succeeds(desk, "a-0")
    assert last_of(desk, "a-0").met is True


def test_reactive_kills_a_late_job_and_gives_its_room_to_the_next() -> None:
    desk = desk_with("reactive")
    submit(desk, 0, deadline_s=30, tasks=50)
    submit(desk, 1, deadline_s=60, tasks=3)
    runs(desk, "a-0")
    to_deadline(desk, "a-0")
    assert [type(effect) for effect in desk.latest(CancelJob)] == [CancelJob]
    desk.now_s += 1
    desk.job("a-0", Progress.CANCELLED)
    assert last_of(desk, "a-0").life is JobLife.KILLED
    assert desk.said("job-killed")[0]["stop"] == "over-deadline"
    assert started(desk) == [("a-1", 3)]


def test_one_that_succeeds_before_the_kill_arrives_has_succeeded() -> None:
    desk = desk_with("reactive")
    late(desk)
    succeeds(desk, "a-0")
    assert last_of(desk, "a-0").life is JobLife.SUCCEEDED


def test_justice_learns_that_a_killed_job_failed() -> None:
    desk = desk_with("justice", admission_parameters={"kill_threshold": 0})
    for number in (90, 91):
        submit(desk, number)
        runs(desk, f"a-{number}")
        desk.now_s += 1
        succeeds(desk, f"a-{number}", 500)
    late(desk)
    desk.now_s += 1
    desk.job("a-0", Progress.CANCELLED)
    memory = learned(desk)
    assert isinstance(memory, dict)
    assert (memory["met"], memory["completed"]) == (False, 2)


def test_a_job_is_learned_from_once() -> None:
    desk = desk_with()
    submit(desk, 0)
    runs(desk, "a-0")
    desk.now_s += 5
    succeeds(desk, "a-0")
    (count_work,) = desk.latest(CountWork)
    assert count_work.application == "app-a-0"
    answer = Done(at_us=desk.now_us, effect=count_work.key, version=1, facts={"work_us": 300 * SECOND_US})
    desk.tell(answer)
    assert learned(desk) == [1, pytest.approx(0.3)]
    desk.tell(answer)
    assert desk.codes() == ["late-answer"]
    assert not any(isinstance(change, PutLearned) for change in desk.last.changes)


def test_an_unknown_number_of_tasks_or_no_deadline_teaches_nothing() -> None:
    desk = desk_with()
    desk.submit("a", 0, tasks=1, deadline_us=100 * SECOND_US)
    submit(desk, 1, deadline_s=None)
    for name in ("a-0", "a-1"):
        runs(desk, name)
        desk.now_s += 1
    succeeds(desk, "a-1")
    assert not desk.latest(CountWork)


def test_a_job_of_which_nobody_knows_when_it_ended_teaches_nothing() -> None:
    desk = desk_with("justice", clock_jump_us=60 * SECOND_US)
    submit(desk, 0)
    runs(desk, "a-0")
    desk.now_s += 7200
    desk.tell(ClockSeen(at_us=desk.now_us, by_us=7200 * SECOND_US, moved_us=7200 * SECOND_US))
    desk.job("a-0", Progress.SUCCEEDED)
    assert desk.codes() == ["job-succeeded"]
    assert desk.latest(CountWork) == []


@pytest.mark.parametrize("error", ["the history server does not answer", "no number"])
def test_work_that_nobody_can_count_is_asked_for_a_few_times_and_then_not_learned(error: str) -> None:
    desk = desk_with()
    submit(desk, 0)
    runs(desk, "a-0")
    desk.now_s += 5
    succeeds(desk, "a-0")
    times, codes = 1, []
    while "work:a-0" in desk.state.pending:
        if error == "no number":
            desk.done("work:a-0")
        else:
            desk.failed("work:a-0", error)
        codes += desk.codes()
        if "work:a-0" in desk.state.pending:
            desk.wake()
            times += sum(isinstance(effect, CountWork) for effect in desk.last.effects)
    assert (times, codes[-1]) == (5, "work-not-known")
    assert desk.said("work-not-known")[0]["error"] == error
    assert learned(desk) is None


@pytest.mark.parametrize("pool", [False, True])
def test_work_of_an_mr_cluster_that_is_gone_teaches_only_the_pool(pool: bool) -> None:
    desk = desk_with(learn_from_pool=pool)
    submit(desk, 0)
    runs(desk, "a-0")
    desk.now_s += 5
    succeeds(desk, "a-0")
    desk.release("a")
    desk.done("cluster:a")
    desk.clean_all()
    assert "a" not in desk.state.clusters
    desk.answer("work:a-0", work_us=300 * SECOND_US)
    assert list(desk.state.learned) == ([""] if pool else [])


def test_what_was_learned_survives_a_picture_and_goes_with_its_cluster() -> None:
    desk = taught()
    again = restored(picture(desk.state))
    assert again.learned == {"a": [2, 0.5]}


def test_a_pool_can_learn_as_one() -> None:
    desk = taught(learn_from_pool=True)
    assert desk.state.learned == {"": [2, 0.5]}


def test_a_retry_keeps_its_deadline_and_asks_anew() -> None:
    desk = taught()
    submit(desk, 0, deadline_s=50, retries=1)
    runs(desk, "a-0")
    desk.now_s += 10
    desk.job("a-0", Progress.FAILED, error="no luck")
    assert started(desk) == [("a-0", 7)]
    assert desk.said("job-admitted")[0]["queue_factor"] == 1.25
    assert desk.state.pending["deadline:a-0"].deadline_us == job(desk, "a-0").due_us


def test_a_job_that_begins_again_elsewhere_keeps_its_deadline() -> None:
    desk = taught()
    submit(desk, 0, deadline_s=50)
    runs(desk, "a-0")
    desk.job("a-0", Progress.DISPLACED)
    assert job(desk, "a-0").attempt == 2
    assert desk.state.pending["deadline:a-0"].deadline_us == job(desk, "a-0").due_us


def test_a_deadline_of_an_engine_with_a_policy_ends_nothing_in_one_without() -> None:
    desk = taught()
    submit(desk, 0, deadline_s=50)
    runs(desk, "a-0")
    later = Desk(4, how=settings(period_us=10**12), state=desk.state)
    to_deadline(later, "a-0")
    assert (later.codes(), job(later, "a-0").life) == ([], JobLife.RUNNING)
    assert later.cluster("a").alert == ""


def test_a_cancelled_job_leaves_no_timer() -> None:
    desk = taught(jobs=5)
    desk.cancel("a-4")
    assert "deadline:a-4" not in desk.state.pending


def test_jobs_of_which_no_grant_can_be_kept_are_refused_or_let_in_without_a_promise() -> None:
    desk = taught()
    submit(desk, 0, unkept="a script may run several jobs side by side")
    (reply,) = desk.latest(Reply)
    assert reply.refused is not None
    assert reply.refused.code == "no-promise"
    allowed = taught(admit_unkept=True)
    submit(allowed, 0, unkept="a script may run several jobs side by side")
    assert started(allowed) == [("a-0", 5)]


def test_what_deadlines_need_is_a_number_of_the_window() -> None:
    desk = taught(jobs=6)
    read(desk)
    latest = desk.state.latest(_A)
    assert latest is not None
    assert latest.sample.cpus_wanted == 32, "four hold 5, two ask for a little more by now"


_TEXT = """
NAME = "MINE"
def admit(queue, memory):
    {admit}
def learn(done, memory):
    return None
def late(job, memory):
    return {late}
"""


@pytest.mark.parametrize(
    ("admit", "said"),
    [
        ("return [Verdict('zzz', 1)] if len(queue.jobs) == 1 and queue.fixed else []", "'zzz' is not in the queue"),
        ("return 1 / (0 if queue.fixed and queue.jobs else 1) * [] if queue.fixed else []", "ZeroDivisionError"),
        ("return [Verdict(job.id, 99) for job in queue.jobs] if queue.fixed else []", "99 CPUs for 10 tasks"),
    ],
)
def test_a_policy_that_fails_lets_nobody_in_and_is_the_alert(admit: str, said: str) -> None:
    text = "from fawkes.policy import Verdict\n" + _TEXT.format(admit=admit, late=False)
    desk = desk_with("mine", text=text)
    submit(desk, 0)
    assert started(desk) == []
    (facts,) = desk.said("admission-failed")
    assert said in str(facts["failed"])
    assert said in desk.state.clusters[_A].alert
    read(desk)
    assert desk.codes() == [], "it is said once"


@pytest.mark.parametrize(
    ("late", "error"),
    [("1 / job.granted > 2", "ZeroDivisionError"), ("'no' if job.id == 'a-0' else False", "late answered 'no'")],
)
def test_a_policy_that_fails_at_a_deadline_kills_nobody(late: str, error: str) -> None:
    desk = desk_with("mine", text=_TEXT.format(admit="return []", late=late))
    submit(desk, 0, deadline_s=5)
    to_deadline(desk, "a-0")
    assert error in str(desk.said("admission-failed")[0]["failed"])
    assert job(desk, "a-0").life is JobLife.QUEUED


def test_a_policy_learns_by_the_numbers_with_which_it_let_a_job_in() -> None:
    text = "from fawkes.policy import Verdict\n" + _TEXT.format(
        admit="return [Verdict(job.id, 5, why={'n': 7}) for job in queue.jobs] if queue.fixed else []", late=False
    ).replace("return None", "return done.why")
    desk = desk_with("mine", text=text)
    submit(desk, 0)
    runs(desk, "a-0")
    desk.now_s += 5
    succeeds(desk, "a-0", 20)
    assert learned(desk) == {"n": 7}


def test_verdicts_are_carried_out_in_the_order_of_the_policy() -> None:
    last_first = "return [Verdict(job.id, 10) for job in queue.jobs[::-1]][:2] if queue.fixed else []"
    text = "from fawkes.policy import Verdict\n" + _TEXT.format(admit=last_first, late=False)
    desk = desk_with("mine", text=text)
    read(desk, None)
    for number in range(2):
        submit(desk, number)
    assert started(desk) == []
    read(desk)
    assert [name for name, _ in started(desk)] == ["a-1", "a-0"]


#: a policy that gives its one number any name, and remembers it as it was
NAMES = """
from fawkes.policy import Ask, by_request
NAME = "NAMES"
def admit(queue, memory):
    return by_request(queue, lambda job: Ask(1, why={"%s": 7}), priority="ttd")
def learn(done, memory):
    return repr(done.why)
def late(job, memory):
    return True
"""


@pytest.mark.parametrize("name", ["code", "self", "job", "cluster", "cpus", "stop", "asked", "free", "total", "rung"])
def test_a_number_of_a_policy_may_have_any_name(name: str) -> None:
    desk = desk_with("names", text=NAMES % name)
    submit(desk, 1)
    facts = desk.said("job-admitted")[-1]
    assert [facts[key] for key in ("job", "cluster", "cpus", "asked", "free", "total")] == ["a-1", "a", 1, 1, 20, 20]
    assert 7 in facts.values()
    runs(desk, "a-1")
    succeeds(desk, "a-1", 1.0)
    assert learned(desk) == f"{{{name!r}: 7.0}}"
