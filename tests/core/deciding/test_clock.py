"""Jumps of the clock: nothing expires, retires or ends a quarantine by them; all durations are as without them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as tries
from hypothesis import strategies as st

from fawkes.base.units import SECOND_US
from fawkes.core.clusters.picture import picture, restored
from fawkes.core.deciding.clock import uncounted
from fawkes.core.values.decision import PutJob
from fawkes.core.values.events import ClockSeen, Condition, HoldAsked
from fawkes.core.values.model import ClusterId, ClusterLife, JobId, JobLife, JobState, NodeLife
from fawkes.core.values.sight import AppLife, AppSeen, Launcher
from tests.core.watching.test_stuck import STUCK
from tests.support import masters
from tests.support import standby as pair
from tests.support.desk import Desk
from tests.support.pools import settings, started

HOUR_S = 3600.0
TEN_HOURS_S = 10 * HOUR_S
IDLE: dict[str, Any] = {
    "tasks_waiting": 0, "tasks_running": 0, "jobs_waiting": 0, "jobs_running": 0, "jobs_done": 1, "tasks_done": 1,
    "hdfs_ops": 1,
}  # fmt: skip


def desk(**changes: Any) -> Desk:
    """MR-cluster a on two nodes, idle by a first reading; node03 is in quarantine for another half an hour."""
    running = Desk.running(
        "a",
        count=5,
        join_attempts=1,
        clock_jump_us=60 * SECOND_US,
        away_us=600 * SECOND_US,
        period_us=120 * SECOND_US,
        idle_us=int(4 * HOUR_S) * SECOND_US,
        **changes,
    )
    running.sample(a=IDLE)
    running.tick(a=10)
    for node in ("node03", "node04", "node05"):
        running.see(node, Condition.FAILED, "no Java")
        running.see(node, Condition.CLEAN)
    running.sample(a=IDLE)
    assert {running.node(n).life for n in ("node03", "node04", "node05")} == {NodeLife.OUT}
    return running


def set_clock(desk: Desk, by_s: float) -> None:
    """The machine's clock is set while the controller works: our time follows it ahead, and never back."""
    moved_s = max(0.0, by_s)
    desk.now_s += moved_s
    desk.tell(ClockSeen(at_us=desk.now_us, by_us=round(by_s * SECOND_US), moved_us=round(moved_s * SECOND_US)))


def restart(desk: Desk, after_s: float, *, steady_s: float | None, stepped_s: float = 0.0) -> None:
    """The controller starts again, so many seconds later by the machine's clock."""
    desk.now_s += max(0.0, after_s)
    assert desk.state.rules is not None
    desk.tell(
        started(
            5,
            at_s=desk.now_s,
            epoch=2,
            how=desk.state.rules.settings,
            steady_us=None if steady_s is None else round(steady_s * SECOND_US),
            stepped_us=round(stepped_s * SECOND_US),
        )
    )


def ages(desk: Desk) -> dict[str, object]:
    """All that durations are measured from, as seen from now; what nothing may change by the clock alone."""
    now, state = desk.now_us, desk.state
    facts: dict[str, object] = {key: each.deadline_us - now for key, each in state.pending.items()}
    facts |= {n: (s.life, s.owner, s.alert, s.back_us and s.back_us - now) for n, s in state.nodes.items()}
    facts |= {c: (s.life, s.alert, s.idle_us and s.idle_us - now) for c, s in state.clusters.items()}
    facts |= {j: (s.life, s.submitted_us - now, s.started_us and s.started_us - now) for j, s in state.jobs.items()}
    facts["samples"] = [(each.cluster, each.sample.at_us - now) for each in state.samples()]
    facts["moved"] = [at_us - now for at_us in state.last_tick.moved_us]
    return facts


@pytest.mark.parametrize("by_s", [TEN_HOURS_S, -TEN_HOURS_S])
def test_a_jump_is_said_and_nothing_expires_by_it(by_s: float) -> None:
    clocked = desk()
    before = ages(clocked)
    set_clock(clocked, by_s)
    (said,) = clocked.said("clock-jumped")
    assert (said["by_us"], said["ahead"]) == (10 * 3600 * SECOND_US, by_s > 0)
    assert clocked.codes() == ["clock-jumped"]
    assert ages(clocked) == before
    clocked.sample(a=IDLE)
    clocked.wait(600)
    assert clocked.state.clusters[ClusterId("a")].life is ClusterLife.RUNNING
    assert clocked.node("node03").life is NodeLife.OUT


@pytest.mark.slow
def test_what_was_to_happen_happens_after_the_same_time_as_without_a_jump() -> None:
    clocked = desk()
    set_clock(clocked, TEN_HOURS_S)
    clocked.wait(1790)
    assert clocked.node("node03").life is NodeLife.OUT
    clocked.wait(20)
    assert clocked.node("node03").life is not NodeLife.OUT
    for _ in range(300):
        clocked.sample(a=IDLE)
        if "a" not in clocked.state.clusters or clocked.state.clusters[ClusterId("a")].life is not ClusterLife.RUNNING:
            break
        clocked.wait(60)
    else:
        raise AssertionError("an MR-cluster that is idle for more than its idle time is to go")


def test_a_clock_that_is_set_by_little_is_no_jump() -> None:
    clocked = desk()
    before = ages(clocked)
    set_clock(clocked, 30)
    assert clocked.codes() == []
    assert ages(clocked) != before


@pytest.mark.parametrize(
    ("after_s", "steady_s", "stepped_s", "code"),
    [
        (TEN_HOURS_S, 5.0, TEN_HOURS_S - 5, "clock-jumped"),
        (-TEN_HOURS_S, 5.0, -TEN_HOURS_S - 5, "clock-jumped"),
        (TEN_HOURS_S, TEN_HOURS_S, 0.0, "away"),
        (TEN_HOURS_S, None, 0.0, "away"),
    ],
)
def test_between_two_runs_nothing_retires_or_ends_by_the_clock(
    after_s: float, steady_s: float | None, stepped_s: float, code: str
) -> None:
    clocked = desk()
    restart(clocked, after_s, steady_s=steady_s, stepped_s=stepped_s)
    assert code in clocked.codes()
    clocked.sample(a=IDLE)
    clocked.wait(60)
    assert clocked.state.clusters[ClusterId("a")].life is ClusterLife.RUNNING
    assert clocked.node("node03").life is NodeLife.OUT


def test_a_restart_within_minutes_counts_in_full() -> None:
    clocked = desk()
    deadline_us = clocked.state.pending["back:node03"].deadline_us
    restart(clocked, 300, steady_s=300)
    assert not {"away", "clock-jumped"} & set(clocked.codes())
    assert clocked.state.pending["back:node03"].deadline_us == deadline_us


@pytest.mark.slow
@given(st.integers(-(10**12), 10**12), st.one_of(st.none(), st.integers(0, 10**12)), st.integers(0, 10**10))
def test_of_the_time_between_two_runs_never_more_counts_than_passed(
    passed_us: int, steady_us: int | None, away_us: int
) -> None:
    rest_us = uncounted(settings(away_us=away_us), passed_us, steady_us)
    counted_us = max(0, passed_us) - rest_us
    assert 0 <= counted_us <= max(0, passed_us)
    if away_us and passed_us > 0:
        assert counted_us <= away_us
        assert steady_us is None or counted_us <= steady_us


def test_a_jump_survives_a_picture_and_is_decided_again() -> None:
    clocked = desk()
    set_clock(clocked, TEN_HOURS_S)
    again = restored(picture(clocked.state))
    assert picture(again) == picture(clocked.state)
    assert clocked.decided_otherwise() == []


def reasons(desk: Desk) -> list[str]:
    """The codes of all reasons that were ever given."""
    return [reason.code for entry in desk.store.entries() for reason in entry.decision.reasons]


ACTS: dict[str, Callable[[Desk], object]] = {
    "idle": lambda d: d.sample(a=IDLE),
    "busy": lambda d: d.sample(a={"tasks_waiting": 40, "jobs_running": 2, "jobs_waiting": 0}),
    "unread": lambda d: d.sample(a={"error": "no answer"}),
    "silent": lambda d: d.masters("a", "no answer"),
    "answers": lambda d: d.masters("a"),
    "a minute": lambda d: d.wait(60),
    "a second": lambda d: d.wait(1),
    "half an hour": lambda d: d.wait(1800),
    "submit": lambda d: d.submit("a", len(d.state.jobs) + 1),
    "undrain": lambda d: d.undrain("node03"),
    "drain": lambda d: d.drain("node04"),
    "serves": lambda d: [d.see(n, Condition.SERVING) for n in d.lives("a")],
    "fails": lambda d: [d.see(n, Condition.FAILED, "no Java") for n in d.lives("a")],
}


@pytest.mark.slow
@tries(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.sampled_from(sorted(ACTS)), max_size=12),
    st.lists(st.tuples(st.integers(0, 12), st.floats(61, 10**6) | st.floats(-(10**6), -61)), min_size=1, max_size=3),
)
def test_a_run_with_jumps_decides_as_the_same_run_without(acts: list[str], jumps: list[tuple[int, float]]) -> None:
    plain, jumping = desk(), desk()
    for at, act in enumerate([*acts, "a second"]):
        for when, by_s in jumps:
            if when == at:
                # Whole seconds: both desks count in floats.
                set_clock(jumping, float(round(by_s)))
        ACTS[act](plain)
        ACTS[act](jumping)
        assert ages(jumping) == ages(plain)
    assert [code for code in reasons(jumping) if code != "clock-jumped"] == reasons(plain)


def with_jobs(*, jumps: tuple[float, ...] = (), **facts: Any) -> Desk:
    """MR-cluster a, and job a-0 that is handed over two hours after these jumps."""
    clocked = Desk.running("a", count=4, period_us=10**12, clock_jump_us=60 * SECOND_US, away_us=600 * SECOND_US)
    for by_s in jumps:
        set_clock(clocked, by_s)
        clocked.now_s += 5
    clocked.now_s += 2 * HOUR_S
    clocked.submit("a", 0, **facts)
    return clocked


def app(clocked: Desk, name: str, began_s: float, ended_s: float | None = None) -> JobState:
    """The application of a job, with YARN's times; the job after that."""
    state = {"launcher": Launcher.RUNNING} if ended_s is None else {"launcher": Launcher.FINISHED, "exit": 0}
    ended_us = None if ended_s is None else round(ended_s * SECOND_US)
    life = AppLife.LIVE if ended_s is None else AppLife.SUCCEEDED
    seen = AppSeen(id=f"app-{name}", life=life, started_us=round(began_s * SECOND_US), finished_us=ended_us)
    clocked.attempt(name, applications=(seen,), **state)
    return next(change.state for change in clocked.last.changes if isinstance(change, PutJob))


@pytest.mark.parametrize(("jumps", "behind_s"), [((HOUR_S, -HOUR_S), HOUR_S), ((), HOUR_S), ((), 1800), ((), -HOUR_S)])
def test_a_time_limit_counts_from_the_start_of_the_attempt(jumps: tuple[float, ...], behind_s: float) -> None:
    clocked = with_jobs(jumps=jumps)
    app(clocked, "a-0", clocked.now_s)
    clocked.submit("a", 1, time_limit_us=1800 * SECOND_US)
    clocked.now_s += 2400
    clocked.sample(a={"tasks_waiting": 0, "jobs_running": 1})
    assert clocked.starts() == [("a-1", 1)]
    assert restored(picture(clocked.state)).handed_us == clocked.state.handed_us
    clocked.now_s += 5
    app(clocked, "a-1", clocked.now_s - 3 - behind_s)
    limit_us = clocked.state.pending["limit:a-1"].deadline_us - clocked.now_us
    assert 1790 * SECOND_US <= limit_us <= 1800 * SECOND_US


def test_a_job_is_told_as_long_as_it_ran_while_the_controllers_machine_was_suspended() -> None:
    clocked = with_jobs(reference_us=3600 * SECOND_US, deadline_us=7200 * SECOND_US)
    began_s = clocked.now_s
    app(clocked, "a-0", began_s)
    clocked.now_s += 60
    set_clock(clocked, 8 * HOUR_S)
    ended = app(clocked, "a-0", began_s, began_s + 7 * HOUR_S)
    assert (ended.wait_us, ended.run_us, ended.slowdown, ended.met) == (0, 7 * 3600 * SECOND_US, 7.0, False)
    assert ended.finished_us == clocked.now_us


@pytest.mark.parametrize("jumps", [(HOUR_S, -HOUR_S), (-HOUR_S,), ()])
@pytest.mark.parametrize("behind_s", [-HOUR_S, 0.0, HOUR_S])
@pytest.mark.parametrize("seen", [True, False])
def test_the_times_of_a_job_are_those_that_yarn_measured(jumps: tuple[float, ...], behind_s: float, seen: bool) -> None:
    clocked = with_jobs(jumps=jumps, deadline_us=600 * SECOND_US, reference_us=1000 * SECOND_US)
    began_s = clocked.now_s - behind_s
    if seen:
        app(clocked, "a-0", began_s)
    clocked.now_s += 3000
    ended = app(clocked, "a-0", began_s, began_s + 3000)
    assert (ended.wait_us, ended.run_us, ended.slowdown, ended.met) == (0, 3000 * SECOND_US, 3.0, False)


def test_a_short_job_that_is_seen_late_by_another_clock_is_not_shorter() -> None:
    clocked = with_jobs()
    began_s = clocked.now_s - HOUR_S
    clocked.now_s += 8
    app(clocked, "a-0", began_s)
    clocked.now_s += 4
    ended = app(clocked, "a-0", began_s, began_s + 10)
    assert ended.run_us == 10 * SECOND_US


@pytest.mark.parametrize("ran_s", [-100, 5000])
def test_a_clock_of_yarn_that_was_set_while_a_job_ran_is_not_believed(ran_s: float) -> None:
    clocked = with_jobs()
    app(clocked, "a-0", clocked.now_s)
    clocked.now_s += 300
    ended = app(clocked, "a-0", clocked.now_s - 300, clocked.now_s - 300 + ran_s)
    assert ended.run_us == 300 * SECOND_US


def test_a_job_without_a_duration_by_one_clock_has_neither_met_its_deadline_nor_a_slowdown() -> None:
    clocked = with_jobs(deadline_us=600 * SECOND_US, reference_us=1000 * SECOND_US)
    app(clocked, "a-0", clocked.now_s)
    set_clock(clocked, 8 * HOUR_S)
    clocked.attempt("a-0", launcher=Launcher.FINISHED, exit=0, applications=())
    ended = next(change.state for change in clocked.last.changes if isinstance(change, PutJob))
    assert (ended.life, ended.met, ended.slowdown, ended.run_us) == (JobLife.SUCCEEDED, None, None, None)
    assert JobId("a-0") not in clocked.state.handed_us


@pytest.mark.parametrize("subject", ["node03", "a"])
@pytest.mark.parametrize("restarts", [False, True])
def test_a_hold_ends_by_no_jump_of_the_clock(subject: str, restarts: bool) -> None:
    clocked = desk()
    until_us = clocked.now_us + 7200 * SECOND_US
    clocked.tell(HoldAsked(at_us=clocked.now_us, subject=subject, by="ann", reason="disk", until_us=until_us, ask="q"))
    if restarts:
        restart(clocked, TEN_HOURS_S, steady_s=0, stepped_s=TEN_HOURS_S)
    else:
        set_clock(clocked, TEN_HOURS_S)
    until_us += int(TEN_HOURS_S) * SECOND_US
    hold = clocked.cluster("a").hold if subject == "a" else clocked.node(subject).hold
    assert hold is not None
    assert hold.until_us == clocked.state.pending[f"hold:{subject}"].deadline_us == until_us
    assert "hold-ended" not in clocked.wait(7190)
    assert "hold-ended" in clocked.wait(20)


def test_a_second_namenode_is_waited_for_as_long_as_without_a_jump() -> None:
    """The copy lacks what came after it, and ends the journal."""
    clocked = pair.lost(pair.up(clock_jump_us=60 * SECOND_US))
    masters.look(clocked, standby="", journal=[])
    pair.see(clocked, error="it starts again", ready=False)
    since_us = masters.move_of(clocked).since_us
    set_clock(clocked, HOUR_S)
    clocked.wait_for("masters:a")
    assert clocked.now_us - since_us < (HOUR_S + masters.PATIENCE_S) * SECOND_US
    masters.look(clocked, standby="", journal=[])
    assert not masters.begun(clocked)
    assert masters.move_of(clocked).since_us == since_us, "the age of the copy counts from there"


def test_tasks_stand_still_and_nodes_take_no_longer_by_a_jump() -> None:
    still = Desk.running("a", count=4, stuck_us=600 * SECOND_US, period_us=20 * SECOND_US, clock_jump_us=60 * SECOND_US)
    for _ in range(12):
        still.wait(10)
        still.sample(a=STUCK)
    assert still.cluster("a").still_us is not None
    set_clock(still, HOUR_S)
    still.wait(10)
    still.sample(a=STUCK)
    assert "stuck" not in still.codes()
    joins = Desk(4, how=settings(period_us=10**6 * SECOND_US, moves_must_pay=True, clock_jump_us=60 * SECOND_US))
    joins.up("a", 2)
    before = dict(joins.state.stages())
    joins.drain("node02")
    assert joins.node("node03").life is NodeLife.JOINING
    set_clock(joins, HOUR_S)
    joins.see("node03", Condition.SERVING)
    assert joins.state.stages() == before
