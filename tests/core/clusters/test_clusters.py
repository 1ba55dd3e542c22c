"""The life of an MR-cluster: its stages and their answers, failures, members, readings, idleness, release."""

from __future__ import annotations

import pytest

from fawkes.base.units import SECOND_US
from fawkes.core.state import alerts
from fawkes.core.values.effects import Deploy, Load, Save
from fawkes.core.values.events import Condition, Progress
from fawkes.core.values.model import (
    ClusterAlert,
    ClusterId,
    ClusterLife,
    JobId,
    JobLife,
    NodeId,
    NodeLife,
)
from tests.support.desk import Desk
from tests.support.pools import settings

A = ClusterId("a")


def test_from_request_to_gone_with_the_times_of_the_paper() -> None:
    desk = Desk(4)
    desk.now_s = 1
    desk.request("a")
    desk.now_s = 13
    desk.done("cluster:a")
    assert desk.cluster("a").life is ClusterLife.LOADING
    assert set(desk.lives("a").values()) == {"serving"}
    desk.now_s = 17
    desk.done("cluster:a")
    assert desk.cluster("a").life is ClusterLife.RUNNING
    running = desk.cluster("a")
    assert (running.wait_us, running.deploy_us, running.load_us) == (0, 12 * SECOND_US, 4 * SECOND_US)
    desk.done("membership:a")
    desk.release(A)
    assert desk.refusal() == ""
    assert desk.latest(Save)
    desk.now_s = 19
    desk.done("cluster:a")
    assert desk.cluster("a").life is ClusterLife.RETIRING
    assert desk.cluster("a").save_us == 2 * SECOND_US
    desk.clean_all()
    assert desk.codes()[-1] == "gone"
    assert not desk.state.clusters
    assert desk.state.counts.free == 4


def test_a_second_answer_about_the_stage_before_does_not_count() -> None:
    """A deployment that was asked for twice answers twice: the second answer must not pass for a load."""
    desk = Desk(4)
    desk.request("a")
    first = desk.state.pending["cluster:a"].version
    desk.done("cluster:a")
    desk.done("cluster:a", version=first)
    assert desk.codes() == ["late-answer"]
    assert desk.cluster("a").life is ClusterLife.LOADING
    second = desk.state.pending["cluster:a"].version
    desk.done("cluster:a")
    desk.release(A)
    desk.done("cluster:a", version=second)
    assert desk.codes() == ["late-answer"]
    assert desk.cluster("a").life is ClusterLife.SAVING


@pytest.mark.parametrize("stage", ["deploying", "loading"])
def test_a_stage_that_fails_is_tried_again_and_given_up_in_the_end(stage: str) -> None:
    desk = Desk(4, how=settings(deploy_attempts=3, period_us=10**12, silent_us=SECOND_US))
    desk.request("a")
    desk.submit("a", 1)
    if stage == "loading":
        desk.done("cluster:a")
        desk.done("membership:a")
    for _ in range(2):
        desk.failed("cluster:a", "no such folder")
        assert desk.cluster("a").alert == "no such folder"
        desk.wake()
        assert any(isinstance(effect, (Deploy, Load)) for effect in desk.last.effects)
    desk.failed("cluster:a", "no such folder")
    assert {"gave-up", "job-cancelled"} <= set(desk.codes())
    if stage == "loading":
        assert desk.cluster("a").life is ClusterLife.SAVING, "users may have written to its HDFS"
        desk.done("cluster:a")
    assert desk.cluster("a").life is ClusterLife.RETIRING
    assert not desk.state.jobs
    desk.clean_all()
    assert desk.said("gone") == [{"cluster": "a", "failed": "no such folder"}]


def test_a_load_is_tried_for_as_long_as_masters_may_be_silent() -> None:
    """Whoever lost power a moment ago fails each try at once, and is told as lost only later."""
    desk = Desk(4, how=settings(deploy_attempts=3, period_us=10**12, silent_us=30 * SECOND_US))
    desk.request("a")
    desk.done("cluster:a")
    begun_s = desk.now_s
    for _ in range(9):
        desk.failed("cluster:a", "connection refused")
        if desk.said("gave-up"):
            break
        desk.wake()
    assert desk.cluster("a").life is ClusterLife.SAVING
    assert desk.now_s - begun_s >= 30


def test_what_cannot_succeed_is_given_up_at_once() -> None:
    desk = Desk(4)
    desk.request("a")
    desk.failed("cluster:a", "the jar is not there", final=True)
    assert desk.cluster("a").life is ClusterLife.RETIRING


def test_outputs_that_cannot_be_saved_keep_their_nodes() -> None:
    desk = Desk.running("a", count=4, period_us=10**12)
    desk.release(A)
    for _ in range(6):
        desk.failed("cluster:a", "disk full")
        desk.wake()
        assert desk.latest(Save)
    assert desk.cluster("a").life is ClusterLife.SAVING
    assert desk.lives("a") == {"node01": "serving", "node02": "serving"}
    desk.release(A, discard=True)
    assert desk.cluster("a").life is ClusterLife.RETIRING


def test_the_same_failure_of_a_save_is_told_now_and_then() -> None:
    desk = Desk.running("a", count=4, period_us=10**12)
    desk.release(A)
    told = []
    for _ in range(40):
        desk.failed("cluster:a", "disk full")
        told += desk.said("not-reached")
        desk.wait_for("cluster:a")
    assert [facts["tries"] for facts in told] == [*range(1, 17), 32]
    desk.failed("cluster:a", "quota exceeded")
    assert [facts["error"] for facts in desk.said("not-reached")] == ["quota exceeded"]


def test_files_that_were_closed_for_a_save_are_told_by_themselves_however_it_ended() -> None:
    desk = Desk.running("a", count=4, period_us=10**12, close_us=7)
    desk.release(A)
    (effect,) = desk.latest(Save)
    assert effect.close_us == 7
    rows = [{"path": "/output/x", "bytes": 5, "client": "DFSClient_1", "host": "node02"}]
    said = [{"cluster": "a", "files": rows, "count": 1}]
    desk.failed("cluster:a", "/output/y is still open", closed=rows, closed_count=1)
    assert desk.said("files-closed") == said
    assert [reason.keys() & {"closed", "closed_count"} for reason in desk.said("not-reached")] == [set()]
    assert alerts.about(desk.cluster("a"), ClusterAlert.STAGE)
    desk.wake()
    desk.answer("cluster:a", closed=rows, closed_count=1)
    assert desk.said("files-closed") == said
    assert desk.cluster("a").life is ClusterLife.RETIRING
    assert not alerts.about(desk.cluster("a"), ClusterAlert.STAGE)


def test_a_save_whose_files_never_close_fills_no_ledger() -> None:
    """Files are given 10 s to be closed by each try, in vain: for an hour."""
    desk = Desk.running("a", count=4, period_us=10**12, close_us=10 * SECOND_US)
    desk.release(A)
    begun_us, tries = desk.now_us, 0
    while desk.now_us < begun_us + 3600 * SECOND_US:
        desk.failed("cluster:a", "/output/y is still open")
        desk.wake()
        tries += 1
    assert tries <= 3600 / 30 + 10
    assert desk.cluster("a").life is ClusterLife.SAVING


def test_an_answer_that_never_comes_is_asked_for_again() -> None:
    desk = Desk(4, how=settings(period_us=10**12))
    desk.request("a")
    began_s = desk.now_s
    desk.wake()
    assert desk.now_s - began_s == desk.engine.view.rules.settings.deploy_us / SECOND_US  # type: ignore[union-attr]
    assert desk.said("asked-again") == [{"effect": "cluster:a", "tries": 2}]
    assert desk.latest(Deploy)


def test_members_that_are_told_again_are_the_members_of_now() -> None:
    """The masters did not answer; meanwhile a node left, was wiped, and works for somebody else."""
    desk = Desk.running("a", "b", count=5, membership_us=40 * SECOND_US)
    desk.tick(a=1000, b=1)
    desk.settle("a")
    desk.tick(a=1, b=1000)
    assert desk.lives("a")["node05"] == "draining"
    unanswered = desk.state.pending["membership:a"]
    desk.see("node05", Condition.DRAINED)
    desk.see("node05", Condition.CLEAN)
    assert desk.node("node05").owner == "b"
    desk.settle("b")
    while desk.now_us < unanswered.deadline_us:
        desk.wake()
    (document,) = desk.members()
    assert sorted(document.members) == ["node01", "node02"]
    assert document.version > unanswered.version
    assert desk.state.pending["membership:a"].tries == 2


def test_members_that_failed_to_be_told_are_told_later_and_the_alert_ends() -> None:
    desk = Desk.running("a", count=5, period_us=10**12)
    desk.see("node02", Condition.LOST, "no answer")
    desk.failed("membership:a", "refresh timed out")
    assert desk.cluster("a").alert == "its masters do not have its new member list: refresh timed out"
    while not desk.members():
        desk.wake()
    desk.done("membership:a")
    assert desk.cluster("a").alert == ""


def test_late_answers_about_members_are_history() -> None:
    desk = Desk.running("a", count=4)
    desk.done("membership:a", version=1)
    assert desk.codes() == ["late-answer"]
    desk.done("membership:z", version=1)
    assert desk.codes() == ["late-answer"]


def test_one_that_cannot_be_read_is_frozen_after_a_while_and_thaws() -> None:
    desk = Desk.running("a", "b", stale_us=6 * SECOND_US)
    desk.now_s = 2
    desk.sample(a={"tasks_waiting": 5, "jobs_running": 1}, b={"tasks_waiting": 5, "jobs_running": 1})
    desk.now_s = 6
    desk.sample(a={"error": "no route"})
    assert desk.cluster("a").unreadable_us is None
    desk.now_s = 8
    desk.sample(a={"error": "no route"})
    assert desk.cluster("a").unreadable_us == 8 * SECOND_US
    assert desk.cluster("a").alert == "its masters cannot be read: no route"
    facts = desk.tick(b=1000)
    assert facts["verdict"] == "unbalanced"
    assert desk.sizes() == {"a": 2, "b": 8}
    row = facts["clusters"]["a"]  # type: ignore[index]
    assert (row["unreadable"], row["weight"], row["target"]) == (True, None, None)
    desk.sample(a={"tasks_waiting": 5, "jobs_running": 1})
    assert (desk.cluster("a").unreadable_us, desk.cluster("a").alert) == (None, "")


def test_one_without_any_reading_is_neither_grown_nor_shrunk() -> None:
    desk = Desk.running("a", "b")
    desk.tick(b=100)
    assert desk.sizes() == {"a": 2, "b": 8}


def test_an_idle_one_is_saved_and_leaves() -> None:
    desk = Desk.running("a", count=4, idle_us=50 * SECOND_US)
    for _ in range(2):
        _quiet_tick(desk)
        assert desk.cluster("a").life is ClusterLife.RUNNING
    _quiet_tick(desk)
    assert desk.cluster("a").life is ClusterLife.SAVING
    assert desk.said("idle") == [{"cluster": "a", "since_us": 0}]


def _quiet_tick(desk: Desk, **reading: object) -> None:
    desk.now_s = desk.state.pending["tick"].deadline_us / SECOND_US - 1
    desk.sample(a={"jobs_waiting": 0, "jobs_running": 0, "tasks_waiting": 0, **reading})
    desk.wake()


@pytest.mark.parametrize(
    "counter",
    [
        pytest.param("tasks_done", id="tasks that ran between two readings"),
        pytest.param("hdfs_ops", id="users who only read and write files"),
    ],
)
def test_what_was_counted_since_the_last_reading_is_no_idleness(counter: str) -> None:
    desk = Desk.running("a", count=4, idle_us=50 * SECOND_US)
    for count in range(8):
        _quiet_tick(desk, **{counter: count})
        assert desk.cluster("a").life is ClusterLife.RUNNING
    for _ in range(4):
        assert desk.cluster("a").life is ClusterLife.RUNNING
        _quiet_tick(desk, **{counter: 8})
    assert desk.cluster("a").life is ClusterLife.SAVING


def test_one_that_cannot_be_read_is_not_retired() -> None:
    desk = Desk.running("a", count=4, idle_us=50 * SECOND_US)
    _quiet_tick(desk)
    for _ in range(6):
        desk.sample(a={"error": "no answer"})
        desk.tick()
    assert desk.cluster("a").life is ClusterLife.RUNNING


def test_a_counter_of_use_that_is_not_known_says_nothing() -> None:
    desk = Desk.running("a", count=4, idle_us=50 * SECOND_US)
    for ops in (5, None, 7):
        assert desk.cluster("a").life is ClusterLife.RUNNING
        _quiet_tick(desk, hdfs_ops=ops)
    assert desk.cluster("a").life is ClusterLife.SAVING


def test_a_spec_has_its_own_idle_time() -> None:
    desk = Desk(6, how=settings(idle_us=10 * SECOND_US))
    desk.up("a", idle_us=10**12)
    for _ in range(4):
        _quiet_tick(desk)
    assert desk.cluster("a").life is ClusterLife.RUNNING


@pytest.mark.parametrize("code", ["no-such-cluster", "has-jobs"])
def test_a_release_that_is_refused_says_why(code: str) -> None:
    desk = Desk(6)
    if code == "has-jobs":
        desk.up("a")
        desk.submit("a", 1)
    desk.release(A)
    assert desk.refusal() == code


def test_a_forced_release_ends_all_jobs_with_the_mr_cluster() -> None:
    desk = Desk.running("a", count=6)
    for number in range(3):
        desk.submit("a", number)
    desk.job("a-0", Progress.RUNNING)
    desk.release(A, force=True)
    assert {j: s.life for j, s in desk.state.jobs.items()} == {"a-0": JobLife.CANCELLING}
    desk.done("cluster:a")
    assert desk.cluster("a").life is ClusterLife.RETIRING
    # Its ResourceManager is being wiped: nobody will ever answer.
    assert not desk.state.jobs
    assert not [key for key in desk.state.pending if key.startswith(("job:", "limit:"))]
    desk.job("a-0", Progress.CANCELLED)
    assert desk.codes() == ["late-answer"]
    desk.clean_all()
    assert not desk.state.clusters


def test_a_forced_release_is_a_cancellation_and_no_failure() -> None:
    desk = Desk.running("a", count=6)
    desk.submit("a", 0)
    desk.job("a-0", Progress.RUNNING)
    desk.release(A, force=True)
    desk.job("a-0", Progress.CANCELLED)
    assert desk.codes() == ["job-cancelled"]


def test_a_new_mr_cluster_of_an_old_name_has_no_past() -> None:
    desk = Desk.running("a")
    desk.balance(a=10)
    assert desk.sizes() == {"a": 10}
    desk.release(A, discard=True)
    desk.clean_all()
    desk.up("a")
    assert desk.sizes() == {"a": 2}, "the targets of the one before are no targets of this one"
    assert not desk.state.jobs_of(A)
    assert desk.state.window(A, -1).samples == ()


def test_joining_nodes_are_wiped_too_when_their_mr_cluster_ends() -> None:
    desk = Desk.running("a", count=6)
    desk.tick(a=10)
    desk.release(A, discard=True)
    assert set(desk.lives("a").values()) == {"cleaning"}
    assert all(state.life is NodeLife.CLEANING for state in desk.state.nodes.values())


def test_job_ids_are_free_again_with_the_next_mr_cluster_of_the_name() -> None:
    desk = Desk.running("a", count=6)
    desk.submit("a", 1)
    desk.release(A, discard=True, force=True)
    desk.clean_all()
    desk.up("a")
    desk.submit("a", 1)
    assert desk.refusal() == ""
    assert desk.state.jobs[JobId("a-1")].life is JobLife.STARTING
    assert NodeId("node01") in desk.state.nodes_of(A)


@pytest.mark.parametrize("fact", ["refused", "away"])
@pytest.mark.parametrize("bad", ["node01", "node02"])
def test_a_node_that_cannot_be_used_does_not_end_a_deployment(bad: str, fact: str) -> None:
    """One that refuses or is away is replaced, also the one for the masters; it serves again once it was wiped."""
    desk = Desk(4)
    desk.request("a")
    desk.failed("cluster:a", "its lease is empty", **{fact: bad})  # type: ignore[arg-type]
    assert desk.cluster("a").life is ClusterLife.DEPLOYING
    assert desk.node(bad).life is NodeLife.CLEANING
    (deploy,) = desk.latest(Deploy)
    assert NodeId(bad) not in deploy.members
    assert deploy.anew
    assert len(deploy.members) == 2
    assert deploy.master in deploy.members
    desk.see(bad, Condition.FAILED, "its lease is empty")
    assert (desk.node(bad).life, desk.node(bad).owner) == (NodeLife.LOST, None)
    desk.done("cluster:a")
    assert desk.cluster("a").life is ClusterLife.LOADING
    desk.see(bad, Condition.CLEAN)
    assert desk.node(bad).life is NodeLife.FREE


def test_a_deployment_without_its_release_is_given_up_at_once() -> None:
    """A release that the controller's cache lacks and cannot fetch is lacking a moment later as well, on any node."""
    desk = Desk(2, how=settings(deploy_attempts=3))
    desk.request("a")
    desk.failed("cluster:a", "the controller's cache lacks Hadoop 3.5.0", no_release=True)
    assert desk.cluster("a").failed == "the controller's cache lacks Hadoop 3.5.0"
    assert set(desk.lives("a").values()) == {"cleaning"}


@pytest.mark.parametrize("life", [ClusterLife.DEPLOYING, ClusterLife.LOADING])
def test_an_mr_cluster_is_not_given_up_for_a_kdc_that_is_away(life: ClusterLife) -> None:
    """However often it is tried; what fails afterwards for another reason counts from the beginning."""
    desk = Desk(2, how=settings(deploy_attempts=3, period_us=10**12))
    desk.request("a")
    if life is ClusterLife.LOADING:
        desk.done("cluster:a")
    for _ in range(20):
        desk.failed("cluster:a", "the KDC gave no ticket", site=True)
        assert (desk.cluster("a").life, desk.cluster("a").alert) == (life, "the KDC gave no ticket")
        desk.wait_for("cluster:a")
    for _ in range(2):
        desk.failed("cluster:a", "it broke")
        desk.wait_for("cluster:a")
    assert desk.cluster("a").life is life


@pytest.mark.parametrize("fact", ["refused", "away"])
def test_without_another_node_a_deployment_waits_until_one_is_free(fact: str) -> None:
    """However often it is tried: somebody repairs the node, or another one becomes free."""
    desk = Desk.running("b", count=4, deploy_attempts=3, period_us=10**12)
    desk.request("a")
    bad, key = "node04", "cluster:a"
    for _ in range(9):
        desk.failed(key, "its lease is empty", **{fact: bad})  # type: ignore[arg-type]
        assert desk.cluster("a").life is ClusterLife.DEPLOYING
        assert desk.cluster("a").alert.startswith("its lease is empty. Its deployment goes on when node04 answers")
        assert desk.node(bad).life is NodeLife.JOINING
        assert "asked-again" in desk.wait_for(key)
    desk.release("b", discard=True, force=True)
    desk.clean_all()
    desk.failed(key, "its lease is empty", **{fact: bad})  # type: ignore[arg-type]
    assert (desk.node(bad).life, desk.cluster("a").alert) == (NodeLife.CLEANING, "")
    desk.done(key)
    assert desk.cluster("a").life is ClusterLife.LOADING


def test_a_deployment_that_does_not_end_in_time_has_no_more_tries_than_one_that_fails() -> None:
    desk = Desk(2, how=settings(deploy_attempts=2, period_us=10**12))
    desk.request("a")
    for _ in range(5):
        assert "asked-again" in desk.wait_for("cluster:a")
    desk.failed("cluster:a", "Maven failed")
    assert "gave-up" in desk.codes()


def test_tries_without_a_node_that_is_away_do_not_count_against_a_deployment() -> None:
    """Once it answers, what would be the same on every node has its own tries, and ends it only then."""
    desk = Desk(2, how=settings(deploy_attempts=2, period_us=10**12))
    desk.request("a")
    for _ in range(9):
        desk.failed("cluster:a", "no answer", away="node02")
        desk.wait_for("cluster:a")
    desk.failed("cluster:a", "Maven failed")
    assert desk.cluster("a").life is ClusterLife.DEPLOYING
    desk.wait_for("cluster:a")
    desk.failed("cluster:a", "Maven failed")
    assert desk.cluster("a").failed == "Maven failed"


def test_input_with_too_few_replicas_is_an_alert_until_the_namenode_counts_none() -> None:
    desk = Desk(4)
    desk.request("a")
    desk.done("cluster:a")
    desk.answer("cluster:a", sets=[{"to": "/in", "thin": 4}, {"to": "/more", "thin": 0}])
    assert desk.cluster("a").alert.startswith("blocks of its input have fewer replicas than wanted: 4 in /in. Each")
    for thin, stands in ((4, True), (None, True), (0, False), (2, False)):
        desk.wait(1)
        desk.sample(a={"thin_blocks": thin})
        assert bool(desk.cluster("a").alert) is stands
