"""Where masters go when they are lost, what holds them back, and what becomes of jobs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from fawkes.base.units import SECOND_US
from fawkes.core.values import events
from fawkes.core.values.effects import CancelJob, Host, LookAtMasters, Membership, MoveMasters, StartJob
from fawkes.core.values.events import Condition
from fawkes.core.values.model import ClusterLife, JobId, JobLife, NodeLife, Role
from fawkes.core.values.sight import AppLife, AppSeen, Compute, Launcher, Stored
from tests.support.desk import Desk
from tests.support.masters import (
    GAP_S,
    KEY,
    NEW,
    OLD,
    PATIENCE_S,
    SILENT_S,
    THIRD,
    A,
    ask,
    at,
    at_work,
    begun,
    cluster,
    ever,
    how,
    look,
    lost,
    move_of,
    moved,
    refused,
    restore,
    silence,
    taken_over,
    up,
)
from tests.support.pools import settings, started

# Lost masters.


def test_lost_masters_are_waited_for_then_looked_at_then_others_take_over() -> None:
    desk = up()
    since_us = lost(desk, PATIENCE_S - 1)
    assert not desk.effects(LookAtMasters)
    at(desk, 1)
    looked = LookAtMasters(A, cluster(desk).version, OLD, NEW)
    assert desk.effects(LookAtMasters) == [looked]
    look(desk)
    assert cluster(desk).version == looked.move_version
    assert desk.effects(MoveMasters) == [MoveMasters(A, cluster(desk).version, OLD, NEW, planned=False)]
    assert (cluster(desk).master, move_of(desk).to, desk.node(OLD).life) == (NEW, NEW, NodeLife.LOST)
    moved(desk, copied_us=since_us - SECOND_US)
    assert (cluster(desk).moving, cluster(desk).alert) == (None, "")
    (said,) = desk.said("masters-moved")
    assert (said["node"], said["instead_of"], said["lacks_us"]) == (NEW, OLD, SECOND_US)
    back = desk.latest(Host)
    assert [(one.node, one.role) for one in back] == [(OLD, Role.CORE)]
    (document,) = (effect for effect in desk.effects(Membership) if effect.master == NEW)
    assert (document.afresh, document.copy_on) == (True, THIRD)


@pytest.mark.parametrize("when_s", [0, 1, SILENT_S, SILENT_S + PATIENCE_S - 1, SILENT_S + PATIENCE_S + 5])
def test_masters_that_answer_in_time_stay(when_s: float) -> None:
    desk = up()
    silence(desk)
    at(desk, when_s)
    desk.tell(events.MastersSeen(at_us=desk.now_us, cluster=A))
    at(desk, 1000)
    assert (cluster(desk).moving, begun(desk), cluster(desk).master) == (None, False, OLD)


def test_masters_are_waited_for_for_ever_where_the_settings_say_so() -> None:
    desk = Desk(6, how=settings(masters_lost_us=0, period_us=10**12))
    desk.up("a", 3)
    silence(desk)
    at(desk, 100_000)
    assert not desk.effects(LookAtMasters)


def test_an_image_that_is_gone_is_not_waited_for() -> None:
    desk = up()
    silence(desk)
    at(desk, SILENT_S)
    desk.see(OLD, events.Condition.FAILED, "its NameNode has no image", no_image=True)
    assert len(desk.effects(LookAtMasters)) == 1
    assert "patience:a" not in desk.state.pending


HELD: Mapping[str, tuple[Mapping[str, object], str]] = {
    "nothing is said": ({"old": None}, "not known whether they still run"),
    "they could not be asked": ({"old": "unknown"}, "not known whether they still run"),
    "no copy": ({"copied_us": None}, "there is no copy"),
    "a copy of no time": ({"copied_us": "soon"}, "there is no copy"),
    "an old copy": ({"copied_us": 0, "since": 1000}, "s older than their last answer"),
    "nobody else is reached": ({"reached": []}, "they may still serve"),
    "one of three others": ({"reached": [NEW]}, "they may still serve"),
    "who is reached is not known": ({"reached": None}, "they may still serve"),
    "no image and an old copy": ({"old": "stopped", "image": False, "copied_us": 0, "since": 1000}, "s older"),
    "not known whether there is an image": ({"old": "runs", "image": None, "copied_us": None}, "there is no copy"),
}


@pytest.mark.parametrize("case", sorted(HELD))
def test_masters_are_not_moved_on_facts_that_do_not_show_that_it_is_safe(case: str) -> None:
    facts, why = HELD[case]
    desk = up(4)
    at(desk, float(facts.get("since", 0)))  # type: ignore[arg-type]
    lost(desk)
    look(desk, **{name: value for name, value in facts.items() if name != "since"})
    assert not begun(desk)
    assert why in cluster(desk).alert
    assert why in ever(desk, "masters-held")[-1]["error"]  # type: ignore[operator]
    # Asked again and again, and said once.
    at(desk, 500)
    look(desk, **{name: value for name, value in facts.items() if name != "since"})
    assert (begun(desk), len(ever(desk, "masters-held"))) == (False, 1)
    assert len(desk.effects(LookAtMasters)) > 1


SAFE: Mapping[str, Mapping[str, object]] = {
    "stopped with its disk": {"old": "stopped", "image": True, "copied_us": None, "reached": []},
    "hangs with its disk": {"old": "runs", "image": True, "copied_us": None, "reached": []},
    "stopped without a disk": {"old": "stopped", "image": False, "reached": []},
    "silent, most are reached": {"reached": [NEW, THIRD]},
    "the oldest copy that will do": {"gap_s": GAP_S},
}


@pytest.mark.parametrize("case", sorted(SAFE))
def test_masters_move_when_the_old_ones_cannot_serve_any_more(case: str) -> None:
    facts = dict(SAFE[case])
    desk = up(4)
    since_us = lost(desk)
    if "gap_s" in facts:
        facts = {"copied_us": since_us - int(facts["gap_s"]) * SECOND_US}  # type: ignore[call-overload]
    look(desk, **facts)
    assert begun(desk)


def test_half_of_the_other_nodes_are_not_most_of_them() -> None:
    """The other half may still be served by masters that nobody can stop."""
    desk = up(3)
    lost(desk)
    look(desk, reached=[NEW])
    assert not begun(desk)
    assert "they may still serve" in cluster(desk).alert


def test_masters_that_answer_the_look_stay() -> None:
    desk = up()
    lost(desk)
    look(desk, old="answers")
    assert (cluster(desk).moving, begun(desk)) == (None, False)


def test_without_another_core_node_they_wait_for_one() -> None:
    desk = up(2)
    desk.see(NEW, Condition.LOST)
    lost(desk)
    assert not desk.effects(LookAtMasters)
    assert f"no other core node of it is in service. When {OLD} answers" in cluster(desk).alert
    assert f"`fawkes restore a --to {OLD}`" in cluster(desk).alert
    assert "--discard-data" not in cluster(desk).alert, "the other node has blocks, and may serve again"
    desk.see(NEW, Condition.SERVING)
    assert desk.effects(LookAtMasters)


def test_a_core_node_that_is_to_leave_takes_lost_masters_while_it_serves() -> None:
    """No other one can, and without masters it never leaves; it is not where masters would be asked to go."""
    desk = up(2)
    desk.drain(NEW, reason="x")
    assert desk.node(NEW).life is NodeLife.SERVING
    ask(desk, NEW)
    assert desk.refusal() == "no-such-master"
    lost(desk)
    restore(desk, NEW, dry_run=True)
    assert desk.refusal() == ""
    look(desk)
    assert begun(desk)


def test_a_core_node_that_stays_takes_them_before_one_that_is_to_leave() -> None:
    desk = up(3, count=3)
    desk.drain(NEW, reason="x")
    lost(desk)
    assert [effect.to for effect in desk.effects(LookAtMasters)] == [THIRD]


def test_masters_go_to_core_nodes_alone() -> None:
    desk = up(2, count=3, growth=Role.TRANSIENT_CORE)
    desk.balance(a=10)
    assert desk.node(THIRD).life is NodeLife.SERVING
    ask(desk, THIRD)
    assert desk.refusal() == "no-such-master"
    desk.see(NEW, Condition.LOST)
    lost(desk)
    assert not desk.effects(LookAtMasters)


def test_only_masters_on_the_one_node_that_stores_data_say_what_gives_it_up() -> None:
    desk = up(1, count=2)
    lost(desk)
    assert "gone for good, give up its data: `fawkes release a --discard-data --force`" in cluster(desk).alert


def test_masters_that_answer_right_before_the_deed_keep_their_jobs() -> None:
    desk = at_work(up())
    lost(desk)
    look(desk)
    refused(desk, alive=True)
    assert (cluster(desk).master, cluster(desk).moving) == (OLD, None)
    job = desk.state.jobs[JobId("a-1")]
    assert (job.life, job.attempt) == (JobLife.RUNNING, 1)
    # It is the attempt that runs: how it stands is asked for again, for what was seen meanwhile did not count.
    assert [e.attempt for e in desk.latest(StartJob)] == [1]


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("began_us", [None, 1])
def test_a_job_whose_client_was_ended_for_a_move_that_went_back_begins_again(own: bool, began_us: int | None) -> None:
    desk = up()
    desk.submit("a", 1)
    ask(desk, now=True)
    look(desk, old="answers")
    refused(desk, alive=True)
    ended: dict[str, Any] = {"exit": 143, "displaced": True, "own": own, "began_us": began_us}
    desk.attempt("a-1", launcher=Launcher.FINISHED, applications=None, **ended)
    desk.attempt("a-1", launcher=Launcher.FINISHED, applications=(), **ended)
    if own and began_us:
        assert "not begun a second time" in str(desk.said("job-failed"))
        return
    job = desk.state.jobs[JobId("a-1")]
    assert (job.life, job.attempt, job.displaced) == (JobLife.STARTING, 2, 1)


def test_a_planned_move_is_tried_again_where_it_began_because_files_may_have_come_there() -> None:
    desk = up(3, deploy_attempts=2)
    ask(desk)
    look(desk, old="answers")
    for _ in range(4):
        refused(desk)
        at(desk, 100)
    assert {(e.old, e.to) for e in desk.effects(MoveMasters)} == {(OLD, NEW)}
    assert len(desk.effects(LookAtMasters)) == 1
    refused(desk, alive=True)
    assert (cluster(desk).master, cluster(desk).moving) == (OLD, None)


def test_a_copy_from_before_a_move_that_failed_is_as_old_as_it_is() -> None:
    """The node that is given up may have taken files meanwhile."""
    desk = up(4, deploy_attempts=2)
    since_us = lost(desk)
    look(desk)
    for _ in range(2):
        refused(desk)
        at(desk, 100)
    (*_, again) = desk.effects(LookAtMasters)
    assert again.old == NEW
    look(desk, copied_us=since_us - SECOND_US)
    assert len({(e.old, e.to) for e in desk.effects(MoveMasters)}) == 1
    assert "older than their last answer" in cluster(desk).alert


def loading() -> Desk:
    """a is being loaded, and nothing of it was copied yet."""
    desk = Desk(6, how=how(deploy_attempts=2))
    desk.request("a", 3)
    desk.done("cluster:a")
    return desk


def test_a_load_waits_for_masters_that_are_away() -> None:
    desk = loading()
    silence(desk)
    for _ in range(5):
        desk.failed("cluster:a")
        at(desk, 4)
    assert (cluster(desk).life, desk.said("gave-up")) == (ClusterLife.LOADING, [])
    taken_over(desk)
    assert cluster(desk).life is ClusterLife.LOADING
    assert desk.state.pending["cluster:a"].tries == 1


def test_tries_to_load_that_failed_while_masters_were_silent_do_not_count() -> None:
    desk = loading()
    silence(desk)
    desk.failed("cluster:a")
    at(desk, 4)
    assert desk.state.pending["cluster:a"].tries > 1
    desk.tell(events.MastersSeen(at_us=desk.now_us, cluster=A))
    assert desk.state.pending["cluster:a"].tries == 1


def test_a_look_that_takes_longer_than_its_time_gets_more() -> None:
    """A node without power holds each look: with the same time again none would ever end."""
    desk = up()
    lost(desk)
    given_s = []
    for _ in range(4):
        deadline_us = desk.state.pending[KEY].deadline_us
        given_s.append(deadline_us / SECOND_US - desk.now_s)
        at(desk, given_s[-1])
    first = how().membership_us / SECOND_US
    assert given_s == [first, 2 * first, 4 * first, 4 * first]
    look(desk)
    assert begun(desk)


def test_an_mr_cluster_that_loses_its_masters_before_the_first_copy_is_given_up() -> None:
    """It was never loaded, so nothing is lost; nobody waits for a disk that is known to be empty."""
    desk = loading()
    lost(desk)
    look(desk, old="stopped", image=False, copied_us=None)
    assert cluster(desk).life is ClusterLife.RETIRING
    assert "before anything was copied" in cluster(desk).failed
    (facts,) = ever(desk, "gave-up")
    assert "Request it again" in str(facts["error"])
    assert not begun(desk)


@pytest.mark.parametrize(
    "facts",
    [
        {"old": "silent", "image": None},
        {"old": "stopped", "image": None},
        {"old": "runs", "image": True},
    ],
)
def test_a_disk_that_may_come_back_is_waited_for_in_the_middle_of_a_load(facts: dict[str, object]) -> None:
    desk = loading()
    lost(desk)
    look(desk, copied_us=None, **facts)
    assert cluster(desk).life is ClusterLife.LOADING
    assert desk.said("gave-up") == []


def test_an_mr_cluster_that_was_loaded_is_never_given_up_by_itself() -> None:
    desk = up()
    lost(desk)
    look(desk, old="stopped", image=False, copied_us=None)
    assert cluster(desk).life is ClusterLife.RUNNING
    assert "no copy" in cluster(desk).alert


def test_a_move_that_fails_is_tried_again_and_then_on_another_node() -> None:
    desk = up(3, deploy_attempts=3)
    lost(desk)
    look(desk)
    for _ in range(2):
        refused(desk)
        assert cluster(desk).alert
        at(desk, 100)
        assert desk.effects(MoveMasters)[-1] == MoveMasters(A, cluster(desk).version, OLD, NEW, planned=False)
    refused(desk)
    (*_, again) = desk.effects(LookAtMasters)
    assert (again.old, again.to, desk.node(NEW).life) == (NEW, THIRD, NodeLife.LOST)


def test_a_move_that_fails_for_want_of_a_kdc_gives_up_no_node() -> None:
    desk = up(3, deploy_attempts=2)
    lost(desk)
    look(desk)
    for _ in range(9):
        desk.failed(KEY, "node02: namenode ended: failure to login", site=True)
        assert "failure to login" in cluster(desk).alert
        at(desk, 100)
        assert (begun(desk), desk.node(NEW).life) == (True, NodeLife.SERVING)
    # Another reason counts from the beginning.
    refused(desk)
    at(desk, 100)
    assert desk.node(NEW).life is NodeLife.SERVING
    refused(desk)
    assert desk.node(NEW).life is NodeLife.LOST


def test_while_they_move_nothing_is_concluded_about_nodes_and_jobs() -> None:
    desk = at_work(up())
    lost(desk)
    look(desk)
    before = (desk.lives("a"), desk.state.jobs[JobId("a-1")])
    documents = len(desk.effects(Membership))
    silence(desk)
    desk.look(THIRD, Compute.LOST, Stored.DEAD)
    desk.attempt("a-1", launcher=Launcher.ABSENT, applications=())
    at(desk, SILENT_S + 10)
    assert (desk.lives("a"), desk.state.jobs[JobId("a-1")]) == before
    assert len(desk.effects(Membership)) == documents
    assert len(desk.effects(StartJob)) == 1


def test_a_new_engine_goes_on_with_the_move_and_begins_no_job_meanwhile() -> None:
    desk = at_work(up())
    lost(desk)
    look(desk)
    again = desk.tell(
        started(at_s=desk.now_s, how=how(), nodes=tuple(n.node for n in desk.state.nodes.values()), epoch=2)
    )
    assert [e for e in again.effects if isinstance(e, MoveMasters)]
    assert not [e for e in again.effects if isinstance(e, StartJob | Membership)]
    moved(desk)
    assert cluster(desk).master == NEW


# Jobs.


def test_jobs_that_ran_begin_again_and_that_is_no_retry() -> None:
    desk = at_work(up())
    taken_over(desk)
    job = desk.state.jobs[JobId("a-1")]
    assert (job.life, job.attempt, job.displaced) == (JobLife.STARTING, 2, 1)
    (start,) = desk.latest(StartJob)
    assert start.attempt == 2
    desk.job("a-1", events.Progress.FAILED, attempt=2)
    assert desk.said("job-failed"), "it had no retries, and the loss of the masters gave it none"


def test_a_job_that_has_succeeded_by_its_history_is_not_run_twice() -> None:
    desk = at_work(up())
    taken_over(desk, finished=["application_a-1"])
    assert desk.said("job-succeeded")
    assert len(desk.effects(StartJob)) == 1


def test_a_job_that_was_being_cancelled_is_cancelled() -> None:
    desk = at_work(up())
    desk.cancel("a-1")
    assert desk.effects(CancelJob)
    taken_over(desk)
    assert desk.said("job-cancelled")


def test_a_command_of_its_own_is_not_run_twice() -> None:
    desk = up()
    desk.submit("a", 1)
    first = AppSeen(id="application_1", life=AppLife.SUCCEEDED)
    desk.attempt("a-1", launcher=Launcher.RUNNING, applications=(first,), own=True)
    assert desk.state.jobs[JobId("a-1")].application == first.id
    taken_over(desk, finished=[first.id])
    (said,) = desk.said("job-failed")
    assert "not begun a second time" in str(said["error"])
    assert len(desk.effects(StartJob)) == 1


def test_no_job_begins_while_masters_are_lost() -> None:
    desk = up()
    lost(desk)
    desk.submit("a", 1)
    assert not desk.effects(StartJob)
    look(desk)
    moved(desk)
    assert len(desk.effects(StartJob)) == 1
