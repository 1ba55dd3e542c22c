"""Where masters go when they are lost, when somebody asks, and when their node leaves; what holds them back."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from fawkes.core.effects import CancelJob, Effect, Host, LookAtMasters, Membership, MoveMasters, StartJob
from fawkes.core.events import (
    CancelAsked,
    Condition,
    CopySeen,
    Done,
    DrainAsked,
    Failed,
    MastersSeen,
    MoveMastersAsked,
    NodeObserved,
    Progress,
    ReleaseAsked,
    RestoreAsked,
    RetryAsked,
    UndrainAsked,
    Woke,
)
from fawkes.core.model import (
    ClusterId,
    ClusterLife,
    ClusterState,
    Facts,
    JobId,
    JobLife,
    MoveCause,
    NodeId,
    NodeLife,
    Role,
)
from fawkes.core.settings import Settings
from fawkes.core.sight import Compute, Launcher, Stored
from fawkes.units import SECOND_US
from tests.support.desk import Desk
from tests.support.pools import settings, started

A = ClusterId("a")
KEY = "masters:a"
SILENT_S, PATIENCE_S, GAP_S = 30, 120, 60
OLD, NEW, THIRD = NodeId("node01"), NodeId("node02"), NodeId("node03")


def how(**changes: object) -> Settings:
    return settings(
        silent_us=SILENT_S * SECOND_US,
        masters_lost_us=PATIENCE_S * SECOND_US,
        copy_gap_us=GAP_S * SECOND_US,
        copy_us=60 * SECOND_US,
        **changes,
    )


def up(minimum: int = 3, count: int = 6, **changes: object) -> Desk:
    """a runs on its core nodes, its masters on the first."""
    desk = Desk(count, how=how(**changes))
    desk.up("a", minimum)
    assert cluster(desk).master == OLD
    return desk


def cluster(desk: Desk) -> ClusterState:
    return desk.state.clusters[A]


def at(desk: Desk, after_s: float) -> None:
    """So much time passes, with every timer on the way."""
    until_s = desk.now_s + after_s
    while (wake_us := desk.state.wake_us) is not None and wake_us <= until_s * SECOND_US:
        desk.now_s = max(desk.now_s, wake_us / SECOND_US)
        desk.tell(Woke(at_us=desk.now_us))
    desk.now_s = until_s


def ever(desk: Desk, code: str) -> list[Facts]:
    """The facts of every reason with this code so far."""
    return [reason.facts for entry in desk.store.entries() for reason in entry.decision.reasons if reason.code == code]


def all_of(desk: Desk, kind: type[Effect]) -> list[Effect]:
    return [effect for effect in desk.world.effects if isinstance(effect, kind)]


def silence(desk: Desk) -> None:
    desk.tell(MastersSeen(at_us=desk.now_us, cluster=A, error="no answer"))


def lost(desk: Desk, patience_s: float = PATIENCE_S) -> int:
    """The masters have been silent for as long as they are waited for; when they fell silent (us)."""
    since_us = desk.now_us
    silence(desk)
    at(desk, SILENT_S)
    at(desk, patience_s)
    return since_us


def look(desk: Desk, **facts: object) -> None:
    """The look at the masters is answered: their node is silent, the copy is a second old, all others are reached."""
    since_us = desk.state.clusters[A].moving.since_us  # type: ignore[union-attr]
    others = [n for n in desk.state.nodes_of(A) if n != cluster(desk).master]
    known: dict[str, object] = {"old": "silent", "image": None, "copied_us": since_us - SECOND_US, "reached": others}
    known |= {"txid": 7, "copy_at": "controller", "applications": []}
    version = desk.state.pending[KEY].version
    desk.tell(Done(at_us=desk.now_us, effect=KEY, version=version, facts=known | facts))


def moved(desk: Desk, **facts: object) -> None:
    version = desk.state.pending[KEY].version
    desk.tell(Done(at_us=desk.now_us, effect=KEY, version=version, facts=facts))


def refused(desk: Desk, **facts: object) -> None:
    version = desk.state.pending[KEY].version
    desk.tell(Failed(at_us=desk.now_us, effect=KEY, version=version, error="it broke", facts=facts))


def begun(desk: Desk) -> bool:
    return bool(all_of(desk, MoveMasters))


# Lost masters.


def test_lost_masters_are_waited_for_then_looked_at_then_others_take_over() -> None:
    desk = up()
    since_us = lost(desk, PATIENCE_S - 1)
    assert not all_of(desk, LookAtMasters)
    at(desk, 1)
    assert all_of(desk, LookAtMasters) == [LookAtMasters(A, cluster(desk).version, OLD, NEW)]
    look(desk)
    assert all_of(desk, MoveMasters) == [MoveMasters(A, cluster(desk).version, OLD, NEW, planned=False)]
    assert (cluster(desk).master, desk.node(OLD).life) == (NEW, NodeLife.LOST)
    moved(desk, copied_us=since_us - SECOND_US)
    assert (cluster(desk).moving, cluster(desk).alert) == (None, "")
    (said,) = desk.said("masters-moved")
    assert (said["node"], said["instead_of"], said["lacks_us"]) == (NEW, OLD, SECOND_US)
    back = [effect for effect in desk.last.effects if isinstance(effect, Host)]
    assert [(one.node, one.role) for one in back] == [(OLD, Role.CORE)]
    (document,) = (effect for effect in desk.world.effects if isinstance(effect, Membership) and effect.master == NEW)
    assert (document.afresh, document.copy_on) == (True, THIRD)


@pytest.mark.parametrize("when_s", [0, 1, SILENT_S, SILENT_S + PATIENCE_S - 1, SILENT_S + PATIENCE_S + 5])
def test_masters_that_answer_in_time_stay(when_s: float) -> None:
    desk = up()
    silence(desk)
    at(desk, when_s)
    desk.tell(MastersSeen(at_us=desk.now_us, cluster=A))
    at(desk, 1000)
    assert (cluster(desk).moving, begun(desk), cluster(desk).master) == (None, False, OLD)


def test_masters_are_waited_for_for_ever_where_the_settings_say_so() -> None:
    desk = Desk(6, how=settings(masters_lost_us=0))
    desk.up("a", 3)
    silence(desk)
    at(desk, 100_000)
    assert not all_of(desk, LookAtMasters)


def test_an_image_that_is_gone_is_not_waited_for() -> None:
    desk = up()
    silence(desk)
    at(desk, SILENT_S)
    generation = desk.node(OLD).generation
    desk.tell(
        NodeObserved(
            at_us=desk.now_us,
            node=OLD,
            generation=generation,
            condition=Condition.FAILED,
            error="its NameNode has no image",
            facts={"no_image": True},
        )
    )
    assert len(all_of(desk, LookAtMasters)) == 1
    assert "patience:a" not in desk.state.pending


HELD: Mapping[str, tuple[Mapping[str, object], str]] = {
    "nothing is said": ({"old": None}, "not known whether they still run"),
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
    assert len(all_of(desk, LookAtMasters)) > 1


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


def test_masters_that_answer_the_look_stay() -> None:
    desk = up()
    lost(desk)
    look(desk, old="answers")
    assert (cluster(desk).moving, begun(desk)) == (None, False)


def test_without_another_core_node_they_wait_for_one() -> None:
    desk = up(2, count=3)
    desk.tell(DrainAsked(at_us=desk.now_us, node=NEW, reason="x"))
    lost(desk)
    assert not all_of(desk, LookAtMasters)
    assert "no other core node" in cluster(desk).alert
    desk.tell(UndrainAsked(at_us=desk.now_us, node=NEW))
    assert all_of(desk, LookAtMasters)


def test_masters_that_answer_right_before_the_deed_keep_their_jobs() -> None:
    desk = up()
    desk.submit("a", 1)
    run(desk, "a-1")
    lost(desk)
    look(desk)
    refused(desk, alive=True)
    assert (cluster(desk).master, cluster(desk).moving) == (OLD, None)
    job = desk.state.jobs[JobId("a-1")]
    assert (job.life, job.attempt) == (JobLife.RUNNING, 1)
    assert not [e for e in desk.last.effects if isinstance(e, StartJob)]


def test_a_move_that_fails_is_tried_again_and_then_on_another_node() -> None:
    desk = up(3, deploy_attempts=3)
    lost(desk)
    look(desk)
    for _ in range(2):
        refused(desk)
        assert cluster(desk).alert
        at(desk, 100)
        assert all_of(desk, MoveMasters)[-1] == MoveMasters(A, cluster(desk).version, OLD, NEW, planned=False)
    refused(desk)
    assert all_of(desk, LookAtMasters)[-1] == LookAtMasters(A, cluster(desk).version, NEW, THIRD)


def test_while_they_move_nothing_is_concluded_about_nodes_and_jobs() -> None:
    desk = up()
    desk.submit("a", 1)
    run(desk, "a-1")
    lost(desk)
    look(desk)
    before = (desk.lives("a"), desk.state.jobs[JobId("a-1")])
    documents = len(all_of(desk, Membership))
    silence(desk)
    desk.look(THIRD, Compute.LOST, Stored.DEAD)
    desk.attempt("a-1", launcher=Launcher.ABSENT, applications=())
    at(desk, SILENT_S + 10)
    assert (desk.lives("a"), desk.state.jobs[JobId("a-1")]) == before
    assert len(all_of(desk, Membership)) == documents
    assert len(all_of(desk, StartJob)) == 1


def test_a_new_engine_goes_on_with_the_move_and_begins_no_job_meanwhile() -> None:
    desk = up()
    desk.submit("a", 1)
    run(desk, "a-1")
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


def run(desk: Desk, job: str) -> None:
    desk.job(job, Progress.RUNNING, application=f"application_{job}")


def test_jobs_that_ran_begin_again_and_that_is_no_retry() -> None:
    desk = up()
    desk.submit("a", 1)
    run(desk, "a-1")
    lost(desk)
    look(desk)
    moved(desk)
    job = desk.state.jobs[JobId("a-1")]
    assert (job.life, job.attempt, job.displaced) == (JobLife.STARTING, 2, 1)
    (start,) = (e for e in desk.last.effects if isinstance(e, StartJob))
    assert start.attempt == 2
    desk.job("a-1", Progress.FAILED, attempt=2)
    assert desk.said("job-failed"), "it had no retries, and the loss of the masters gave it none"


def test_a_job_that_has_succeeded_by_its_history_is_not_run_twice() -> None:
    desk = up()
    desk.submit("a", 1)
    run(desk, "a-1")
    lost(desk)
    look(desk)
    moved(desk, finished=["application_a-1"])
    assert desk.said("job-succeeded")
    assert len(all_of(desk, StartJob)) == 1


def test_a_job_that_was_being_cancelled_is_cancelled() -> None:
    desk = up()
    desk.submit("a", 1)
    run(desk, "a-1")
    desk.tell(CancelAsked(at_us=desk.now_us, job=JobId("a-1")))
    assert all_of(desk, CancelJob)
    lost(desk)
    look(desk)
    moved(desk)
    assert desk.said("job-cancelled")


def test_a_command_of_its_own_is_not_run_twice() -> None:
    desk = up()
    desk.submit("a", 1)
    desk.attempt("a-1", launcher=Launcher.RUNNING, applications=(), own=True)
    lost(desk)
    look(desk)
    moved(desk)
    (said,) = desk.said("job-failed")
    assert "not begun a second time" in str(said["error"])
    assert len(all_of(desk, StartJob)) == 1


def test_no_job_begins_while_masters_are_lost() -> None:
    desk = up()
    lost(desk)
    desk.submit("a", 1)
    assert not all_of(desk, StartJob)
    look(desk)
    moved(desk)
    assert len(all_of(desk, StartJob)) == 1


# Planned moves.


def ask(desk: Desk, to: NodeId | None = None, *, now: bool = False) -> None:
    desk.tell(MoveMastersAsked(at_us=desk.now_us, cluster=A, to=to, now=now, by="ann", ask="m"))


def test_a_planned_move_waits_for_jobs_and_for_what_users_run() -> None:
    desk = up()
    desk.submit("a", 1)
    run(desk, "a-1")
    ask(desk, THIRD)
    desk.submit("a", 2)
    assert not all_of(desk, LookAtMasters)
    desk.job("a-1", Progress.SUCCEEDED)
    assert all_of(desk, LookAtMasters) == [LookAtMasters(A, cluster(desk).version, OLD, THIRD)]
    look(desk, old="answers", applications=[{"id": "application_9"}])
    assert not begun(desk)
    at(desk, 100)
    look(desk, old="answers", applications=None)
    assert not begun(desk)
    at(desk, 100)
    look(desk, old="answers", applications=[{"id": "x", "tags": ["fawkes-copy.in-1"]}])
    assert all_of(desk, MoveMasters) == [MoveMasters(A, cluster(desk).version, OLD, THIRD, planned=True)]
    assert len(all_of(desk, StartJob)) == 1, "the second job waits until they have moved"
    moved(desk, copied_us=None)
    assert (cluster(desk).master, desk.node(OLD).life) == (THIRD, NodeLife.SERVING)
    assert len(all_of(desk, StartJob)) == 2
    assert desk.said("masters-moved")[0]["lacks_us"] == 0


def test_with_now_nothing_is_waited_for_and_jobs_begin_again() -> None:
    desk = up()
    desk.submit("a", 1)
    run(desk, "a-1")
    ask(desk, now=True)
    look(desk, old="answers", applications=None)
    moved(desk)
    assert [e.attempt for e in all_of(desk, StartJob)] == [1, 2]  # type: ignore[union-attr]


@pytest.mark.parametrize("old", ["silent", "stopped", "runs", None])
def test_a_planned_move_needs_masters_that_answer(old: str | None) -> None:
    desk = up()
    ask(desk)
    look(desk, old=old, image=True)
    assert not begun(desk)


def test_masters_that_are_lost_before_a_planned_move_are_lost_masters() -> None:
    desk = up()
    desk.submit("a", 1)
    run(desk, "a-1")
    ask(desk)
    lost(desk)
    assert cluster(desk).moving.cause is MoveCause.LOST  # type: ignore[union-attr]
    look(desk)
    assert begun(desk)


def test_the_masters_leave_a_node_that_is_drained_and_it_leaves_after_them() -> None:
    desk = up(2, count=4)
    desk.tell(DrainAsked(at_us=desk.now_us, node=OLD, reason="a fan", ask="d"))
    assert desk.refusal() == ""
    look(desk, old="answers")
    moved(desk)
    assert cluster(desk).master == NEW
    desk.settle("a")
    desk.settle("a")
    assert desk.node(OLD).life is NodeLife.DRAINING


def test_an_undrain_calls_the_move_off() -> None:
    desk = up()
    desk.submit("a", 1)
    run(desk, "a-1")
    desk.tell(DrainAsked(at_us=desk.now_us, node=OLD, reason="a fan"))
    assert cluster(desk).moving is not None
    desk.tell(UndrainAsked(at_us=desk.now_us, node=OLD))
    assert cluster(desk).moving is None


REFUSED: Mapping[str, tuple[NodeId | None, str]] = {
    "itself": (OLD, "no-such-master"),
    "free": (NodeId("node06"), "no-such-master"),
    "unknown": (NodeId("node99"), "no-such-master"),
}


@pytest.mark.parametrize("case", sorted(REFUSED))
def test_where_masters_cannot_go(case: str) -> None:
    to, code = REFUSED[case]
    desk = up()
    ask(desk, to)
    assert (desk.refusal(), cluster(desk).moving) == (code, None)


def test_who_cannot_be_asked_to_move_masters() -> None:
    desk = up()
    desk.tell(MoveMastersAsked(at_us=desk.now_us, cluster=ClusterId("b"), ask="m"))
    assert desk.refusal() == "no-such-cluster"
    ask(desk)
    ask(desk)
    assert desk.refusal() == "masters-moving"
    desk = Desk(2, how=how())
    desk.request("a", 2)
    ask(desk)
    assert desk.refusal() == "not-running"


# Restore.


def restore(desk: Desk, to: NodeId | None = None, *, dry_run: bool = False) -> None:
    desk.tell(RestoreAsked(at_us=desk.now_us, cluster=A, to=to, dry_run=dry_run, by="ann", ask="r"))


def test_a_restore_takes_an_old_copy_and_few_nodes() -> None:
    desk = up(4)
    at(desk, 1000)
    lost(desk)
    look(desk, copied_us=5, reached=[])
    assert not begun(desk)
    restore(desk)
    look(desk, copied_us=5, reached=[])
    assert begun(desk)
    moved(desk, copied_us=5)
    assert desk.said("masters-moved")[0]["lacks_us"] > 900 * SECOND_US  # type: ignore[operator]


@pytest.mark.parametrize("facts", [{"old": "answers"}, {"old": None}, {"copied_us": None}])
def test_a_restore_needs_a_copy_and_masters_that_do_not_answer(facts: Mapping[str, object]) -> None:
    desk = up()
    lost(desk)
    restore(desk)
    look(desk, **facts)
    assert not begun(desk)


def test_the_node_that_lost_its_disk_can_have_the_masters_back() -> None:
    desk = up(1, count=2)
    lost(desk)
    assert not all_of(desk, LookAtMasters)
    restore(desk, OLD)
    assert all_of(desk, LookAtMasters) == [LookAtMasters(A, cluster(desk).version, OLD, OLD)]
    look(desk, old="stopped", image=False, reached=[])
    moved(desk)
    assert cluster(desk).master == OLD


def test_living_masters_are_not_restored_and_a_dry_run_changes_nothing() -> None:
    desk = up()
    restore(desk)
    assert desk.refusal() == "masters-answer"
    desk.tell(RestoreAsked(at_us=desk.now_us, cluster=ClusterId("b"), ask="r"))
    assert desk.refusal() == "no-such-cluster"
    lost(desk)
    before = cluster(desk)
    restore(desk, dry_run=True)
    assert (desk.refusal(), cluster(desk)) == ("", before)
    restore(desk, NodeId("node06"))
    assert desk.refusal() == "no-such-master"
    look(desk)
    restore(desk)
    assert desk.refusal() == "masters-moving"


# Copies, retries, ends.


def test_masters_that_are_not_copied_for_long_are_an_alert() -> None:
    desk = up()
    desk.tell(CopySeen(at_us=desk.now_us, cluster=A, error="full"))
    at(desk, 59)
    assert not cluster(desk).alert
    at(desk, 2)
    assert "not copied" in cluster(desk).alert
    desk.tell(CopySeen(at_us=desk.now_us, cluster=A))
    assert (cluster(desk).alert, len(desk.said("copied-again"))) == ("", 1)


def test_a_copy_that_works_again_in_time_is_no_news() -> None:
    desk = up()
    desk.tell(CopySeen(at_us=desk.now_us, cluster=A, error="full"))
    at(desk, 30)
    desk.tell(CopySeen(at_us=desk.now_us, cluster=A))
    at(desk, 100)
    assert (cluster(desk).alert, desk.said("not-copied")) == ("", [])


def test_a_retry_looks_at_once() -> None:
    desk = up()
    lost(desk)
    look(desk, copied_us=None)
    count = len(all_of(desk, LookAtMasters))
    desk.tell(RetryAsked(at_us=desk.now_us, subject="a", ask="t"))
    assert len(all_of(desk, LookAtMasters)) == count + 1


def test_an_mr_cluster_that_is_given_up_moves_no_masters() -> None:
    desk = up()
    lost(desk)
    look(desk)
    desk.tell(ReleaseAsked(at_us=desk.now_us, cluster=A, discard=True, force=True))
    assert cluster(desk).life is ClusterLife.RETIRING
    assert not {KEY, "patience:a", "copy:a"} & set(desk.state.pending)


def test_a_release_waits_for_masters_that_move() -> None:
    desk = up()
    ask(desk)
    desk.tell(ReleaseAsked(at_us=desk.now_us, cluster=A, ask="e"))
    assert desk.refusal() == "masters-moving"
