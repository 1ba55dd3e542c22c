"""An MR-cluster is given back while it comes up: what was begun stops, and its nodes are wiped.

One that loads has an HDFS that takes writes: it is surveyed and saved before.
"""

from __future__ import annotations

from fawkes.base.units import SECOND_US
from fawkes.core.values.effects import Deploy, Effect, Host, Load, Reply, Retire, Save
from fawkes.core.values.events import Condition, DrainAsked, Progress
from fawkes.core.values.model import ClusterId, ClusterLife, JobId, JobLife, NodeId, NodeLife
from fawkes.engine import rebuild
from tests.support.desk import Desk
from tests.support.pools import settings

A = ClusterId("a")
NODES = ("node01", "node02")


def deploying(count: int = 4, **how: object) -> Desk:
    """`a` on node01 and node02, which is being deployed."""
    desk = Desk(count, how=settings(**how))
    desk.request("a")
    assert desk.state.clusters[A].life is ClusterLife.DEPLOYING
    return desk


def loading(count: int = 4, **how: object) -> Desk:
    """The same, one stage later."""
    desk = deploying(count, **how)
    desk.done("cluster:a")
    assert desk.state.clusters[A].life is ClusterLife.LOADING
    return desk


def worldly(desk: Desk) -> list[Effect]:
    """The effects of the latest decision on nodes and MR-clusters."""
    return [e for e in desk.last.effects if isinstance(e, Deploy | Load | Save | Retire | Host)]


def test_what_was_begun_stops_and_the_nodes_are_wiped() -> None:
    desk = deploying()
    version = desk.state.clusters[A].version
    generation = desk.node("node01").generation
    desk.now_s += 3
    desk.release("a")
    assert desk.refusal() == ""
    assert desk.state.clusters[A].life is ClusterLife.RETIRING
    # The stage is stopped before anybody begins to wipe.
    assert worldly(desk) == [Retire(A, version + 1), *(Host(NodeId(n), A, None, generation) for n in NODES)]
    assert sorted(desk.state.pending) == ["cluster:a", "host:node01", "host:node02", "tick"]
    assert desk.said("released") == [{"cluster": "a", "by": "ann", "discard": False}]
    assert desk.said("called-off") == [{"cluster": "a", "life": "deploying", "took_us": 3 * SECOND_US}]
    desk.clean_all()
    assert desk.said("gone") == [{"cluster": "a", "failed": ""}]
    assert desk.state.counts.free == 4
    assert desk.state.promised == 0


def test_answers_of_what_was_stopped_are_history() -> None:
    desk = deploying()
    version = desk.state.pending["cluster:a"].version
    desk.release("a")
    desk.done("cluster:a", version=version)
    assert (desk.codes(), worldly(desk)) == (["late-answer"], [])
    for condition in (Condition.SERVING, Condition.LOST):
        desk.see("node01", condition, "late")
    assert desk.lives("a") == dict.fromkeys(NODES, "cleaning")
    desk.clean_all()
    desk.done("cluster:a", version=version)
    assert desk.codes() == ["late-answer"]


def test_its_jobs_forbid_it_unless_it_is_forced_and_end_with_the_reason() -> None:
    desk = deploying()
    desk.submit("a", 1)
    desk.submit("a", 2)
    desk.release("a")
    assert desk.refusal() == "has-jobs"
    assert desk.state.clusters[A].life is ClusterLife.DEPLOYING
    desk.release("a", force=True)
    assert [(facts["job"], facts["stop"]) for facts in desk.said("job-cancelled")] == [
        ("a-1", "cluster-released"),
        ("a-2", "cluster-released"),
    ]
    assert not desk.state.jobs
    desk.submit("a", 3)
    assert desk.refusal() == "takes-no-jobs"


def test_between_two_tries_it_is_not_tried_again() -> None:
    desk = deploying(deploy_attempts=3, period_us=10**12)
    desk.failed("cluster:a", "no such folder")
    desk.release("a")
    assert desk.state.clusters[A].alert == ""
    assert desk.state.clusters[A].failed == ""
    for _ in range(3):
        desk.wake()
        assert not [e for e in worldly(desk) if isinstance(e, Deploy | Load)]
    desk.clean_all()
    assert not desk.state.clusters


def test_the_end_of_what_was_begun_is_asked_for_until_it_is_told_or_all_nodes_are_clean() -> None:
    desk = deploying(period_us=10**12, clean_us=10**12)
    desk.release("a")
    for tries in (2, 3):
        desk.wake()
        assert desk.said("asked-again") == [{"effect": "cluster:a", "tries": tries}]
        assert [type(effect) for effect in worldly(desk)] == [Retire]
    desk.done("cluster:a")
    assert sorted(desk.state.pending) == ["host:node01", "host:node02", "tick"]
    assert desk.state.clusters[A].life is ClusterLife.RETIRING
    desk.clean_all()
    assert not desk.state.clusters

    other = deploying()
    other.release("a")
    other.clean_all()
    assert not other.state.clusters
    assert sorted(other.state.pending) == ["tick"]


def test_a_second_release_changes_nothing() -> None:
    desk = deploying()
    desk.release("a")
    nodes = dict(desk.state.nodes)
    desk.release("a", discard=True, force=True)
    assert desk.refusal() == ""
    assert [type(effect) for effect in desk.last.effects] == [Reply]
    assert desk.state.nodes == nodes
    desk.clean_all()
    desk.release("a")
    assert desk.refusal() == "no-such-cluster"


def test_a_pause_stops_moves_and_no_release() -> None:
    desk = deploying()
    desk.pause("benchmark")
    desk.release("a")
    desk.clean_all()
    assert not desk.state.clusters


def test_whoever_waits_gets_the_nodes_and_the_name_is_free_again() -> None:
    desk = deploying()
    desk.request("b", 3)
    assert desk.state.clusters[ClusterId("b")].life is ClusterLife.WAITING
    desk.release("a")
    assert desk.state.clusters[ClusterId("b")].life is ClusterLife.ADMITTED
    desk.see("node01", Condition.CLEAN)
    assert desk.state.clusters[ClusterId("b")].life is ClusterLife.DEPLOYING
    desk.request("a", 1)
    assert desk.refusal() == "cluster-exists"
    desk.see("node02", Condition.CLEAN)
    desk.request("a", 1)
    assert desk.refusal() == ""
    assert desk.lives("a") == {"node02": "joining"}
    assert desk.node("node02").generation == 2, "an answer about the one before is none about this one"


def test_a_node_that_cannot_be_wiped_keeps_nobody_waiting() -> None:
    desk = deploying()
    desk.release("a")
    desk.see("node01", Condition.CLEAN)
    desk.see("node02", Condition.FAILED, "no answer")
    assert not desk.state.clusters
    assert desk.node("node02").life is NodeLife.LOST
    while not desk.latest(Host):
        desk.wake()
    assert worldly(desk) == [Host(NodeId("node02"), A, None, 1)]
    desk.see("node02", Condition.CLEAN)
    assert desk.state.counts.free == 4


def test_the_node_of_the_masters_leaves_with_its_mr_cluster_and_not_before() -> None:
    desk = deploying()
    desk.submit("a", 1)
    ask = DrainAsked(at_us=desk.now_us, node=NodeId("node01"), reason="new fans", ask="d")
    desk.tell(ask)
    assert desk.said("master-node") == [{"node": "node01", "cluster": "a", "life": "deploying", "jobs": ["a-1"]}]
    desk.release("a", force=True)
    desk.tell(ask)
    assert desk.refusal() == ""
    desk.clean_all()
    assert (desk.node("node01").life, desk.node("node02").life) == (NodeLife.OUT, NodeLife.FREE)
    desk.undrain("node01")
    assert desk.state.counts.free == 4


def test_a_core_node_of_one_that_is_being_saved_may_be_drained() -> None:
    desk = Desk.running("a", count=4)
    desk.release("a")
    desk.drain("node02", reason="new fans")
    assert desk.refusal() == ""
    assert desk.lives("a") == dict.fromkeys(NODES, "serving"), "nothing leaves before it is saved"
    desk.done("cluster:a")
    desk.clean_all()
    assert (desk.node("node01").life, desk.node("node02").life) == (NodeLife.FREE, NodeLife.OUT)


def test_a_controller_that_is_killed_right_after_goes_on() -> None:
    desk = deploying()
    desk.submit("a", 1)
    desk.release("a", force=True)
    for seen in ((), ("node01",)):
        for node in seen:
            desk.see(node, Condition.CLEAN)
        new = Desk(4, state=rebuild(desk.store.entries()))
        left = [node for node in NODES if node not in seen]
        stop = new.state.pending["cluster:a"].effect
        assert isinstance(stop, Retire), "the world may be one in which the stage still goes on"
        assert worldly(new) == [stop, *(Host(NodeId(n), A, None, 1) for n in left)]
        new.clean_all()
        assert not new.state.clusters
        assert new.state.counts.free == 4


def test_a_shadow_run_refuses_it() -> None:
    desk = Desk(4, shadow=True, state=deploying().state)
    desk.release("a", force=True)
    assert desk.refusal() == "shadow"
    assert desk.state.clusters[A].life is ClusterLife.DEPLOYING


def test_a_save_that_is_not_wanted_any_more_is_stopped() -> None:
    desk = Desk.running("a", count=4)
    desk.release("a")
    assert [type(effect) for effect in worldly(desk)] == [Save]
    desk.release("a", discard=True)
    assert [type(effect) for effect in worldly(desk)] == [Retire, Host, Host]
    assert desk.said("discarded") == [{"cluster": "a"}]


def test_what_was_reached_needs_no_stop() -> None:
    desk = Desk.running("a", count=4)
    desk.release("a")
    desk.done("cluster:a")
    assert [type(effect) for effect in worldly(desk)] == [Host, Host]


def test_a_job_that_came_too_late_does_not_bring_it_back() -> None:
    """A forced release of one that runs, whose job answers when the nodes are being wiped."""
    desk = loading()
    desk.submit("a", 1)
    desk.done("cluster:a")
    assert desk.state.jobs[JobId("a-1")].life is JobLife.STARTING
    desk.release("a", force=True, discard=True)
    desk.job("a-1", Progress.RUNNING)
    assert desk.codes() == ["late-answer"]
    desk.clean_all()
    assert not desk.state.clusters


def test_one_that_loads_is_surveyed_and_saved_and_its_load_is_history() -> None:
    desk = loading()
    load = desk.state.pending["cluster:a"].version
    desk.now_s += 3
    desk.release("a")
    assert desk.refusal() == ""
    assert desk.said("called-off") == [{"cluster": "a", "life": "loading", "took_us": 3 * SECOND_US}]
    assert worldly(desk) == [Save(A, desk.state.clusters[A].version)]
    desk.done("cluster:a", version=load)
    assert (desk.codes(), desk.state.clusters[A].life) == (["late-answer"], ClusterLife.SAVING)
    desk.done("cluster:a")
    desk.clean_all()
    assert desk.said("gone") == [{"cluster": "a", "failed": ""}]


def test_data_that_came_while_it_loaded_holds_it() -> None:
    desk = loading()
    row = {"path": "/user/ann", "bytes": 5, "owner": "ann", "files": 1, "newest": []}
    desk.survey = {"undeclared": [row], "applications": []}
    desk.release("a")
    assert desk.refusal() == "undeclared-data"
    assert desk.state.clusters[A].life is ClusterLife.LOADING
    desk.release("a", discard=True)
    assert desk.refusal() == ""
    assert [type(effect) for effect in worldly(desk)] == [Retire, Host, Host]


def test_one_that_loads_and_whose_data_is_not_known_stays() -> None:
    desk = loading()
    desk.survey = None
    desk.release("a")
    desk.failed("survey:a", "no answer")
    assert desk.refusal() == "survey-failed"
    assert desk.state.clusters[A].life is ClusterLife.LOADING


def test_one_that_cannot_be_loaded_is_saved_before_it_is_wiped() -> None:
    desk = loading(deploy_attempts=1, silent_us=0)
    desk.failed("cluster:a", "no such folder")
    assert desk.said("gave-up") == [{"cluster": "a", "error": "no such folder"}]
    assert [type(effect) for effect in worldly(desk)] == [Save]
    desk.done("cluster:a")
    desk.clean_all()
    assert desk.said("gone") == [{"cluster": "a", "failed": "no such folder"}]
