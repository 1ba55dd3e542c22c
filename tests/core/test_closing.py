"""The whole pool is given back: every MR-cluster or none, then the end of control."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fawkes.core.effects import EndControl, Reply, Retire, Save, Survey
from fawkes.core.events import Condition, Done, DownAsked, ReleaseAsked
from fawkes.core.keys import Key
from fawkes.core.model import ClusterId, ClusterLife, Facts, NodeLife
from tests.support.desk import Desk
from tests.support.pools import nodes, started

A, B, C = ClusterId("a"), ClusterId("b"), ClusterId("c")
CLEAN: Facts = {"undeclared": [], "applications": []}
DATA: Facts = {"undeclared": [{"path": "/user/ann", "bytes": 5}], "applications": []}
APPS: Facts = {"undeclared": [], "applications": [{"id": "application_1"}]}


def two() -> Desk:
    """a and b run, two core nodes each; nobody answers surveys but the test."""
    desk = Desk(5)
    desk.up("a")
    desk.up("b")
    desk.survey = None
    return desk


def down(desk: Desk, *, discard: bool = False, force: bool = False, dry_run: bool = False, ask: str = "d") -> None:
    desk.tell(DownAsked(at_us=desk.now_us, discard=discard, force=force, dry_run=dry_run, by="ann", ask=ask))


def answer(desk: Desk, cluster: str, facts: Facts = CLEAN) -> None:
    key = Key.SURVEY.of(cluster)
    version = desk.state.pending[key].version
    desk.tell(Done(at_us=desk.now_us, effect=key, version=version, facts=facts))


def replies(desk: Desk) -> dict[str, str]:
    """Who was answered, and by which refusal (empty: by none); those who asked for an MR-cluster apart."""
    found = [effect for effect in desk.world.effects if isinstance(effect, Reply)]
    found = [reply for reply in found if not reply.to.startswith("request-")]
    return {reply.to: reply.refused.code if reply.refused else "" for reply in found}


def refusals(desk: Desk) -> set[tuple[str, str]]:
    """MR-cluster and code of each refusal in the last answer."""
    (reply,) = (effect for effect in desk.last.effects if isinstance(effect, Reply))
    assert reply.refused is not None
    listed: list[dict[str, dict[str, str]]] = list(reply.refused.facts["refusals"])  # type: ignore[call-overload]
    return {(one["facts"]["cluster"], str(one["code"])) for one in listed}


def lives(desk: Desk) -> list[ClusterLife]:
    return [state.life for state in desk.state.clusters.values()]


def ends(desk: Desk) -> int:
    return sum(isinstance(effect, EndControl) for effect in desk.world.effects)


def finish(desk: Desk) -> None:
    """Saves succeed, and every node is seen clean."""
    for name in list(desk.state.clusters):
        if desk.state.clusters[name].life is ClusterLife.SAVING:
            desk.done(Key.CLUSTER.of(name))
    for node in list(desk.state.nodes.values()):
        if node.life is NodeLife.CLEANING:
            desk.see(node.node.id, Condition.CLEAN)


def test_nothing_is_released_before_every_survey_is_answered() -> None:
    desk = two()
    down(desk)
    assert {effect.cluster for effect in desk.last.effects if isinstance(effect, Survey)} == {A, B}
    answer(desk, "a")
    assert (lives(desk), replies(desk)) == ([ClusterLife.RUNNING] * 2, {})
    answer(desk, "b")
    assert replies(desk) == {"d": ""}
    assert {effect.cluster for effect in desk.last.effects if isinstance(effect, Save)} == {A, B}
    finish(desk)
    assert (lives(desk), ends(desk), desk.state.closing) == ([], 1, None)
    assert "pool-empty" in desk.codes()


@pytest.mark.parametrize(
    ("facts", "discard", "force", "code"),
    [
        (DATA, False, False, "undeclared-data"),
        (DATA, False, True, "undeclared-data"),
        (DATA, True, False, ""),
        (APPS, False, False, "foreign-applications"),
        (APPS, False, True, ""),
        ({"undeclared": None, "applications": []}, False, False, "survey-failed"),
        ({"undeclared": None, "applications": None}, True, True, ""),
    ],
)
def test_one_refusal_keeps_the_whole_pool(facts: Facts, discard: bool, force: bool, code: str) -> None:
    desk = Desk(5)
    desk.up("a")
    desk.up("b")
    desk.survey = facts
    down(desk, discard=discard, force=force)
    if not code:
        assert ClusterLife.RUNNING not in lives(desk)
        return
    desk.survey = None
    down(desk, discard=discard, force=force)
    answer(desk, "a", facts)
    answer(desk, "b")
    assert refusals(desk) == {("a", code)}
    assert (lives(desk), desk.state.closing) == ([ClusterLife.RUNNING] * 2, None)


def test_jobs_keep_the_pool_unless_forced() -> None:
    desk = two()
    desk.submit("b", 1)
    down(desk)
    answer(desk, "a", DATA)
    answer(desk, "b")
    assert refusals(desk) == {("a", "undeclared-data"), ("b", "has-jobs")}
    down(desk, force=True)
    answer(desk, "a")
    answer(desk, "b")
    assert set(lives(desk)) == {ClusterLife.SAVING}


def test_a_question_changes_nothing() -> None:
    desk = two()
    down(desk, dry_run=True)
    answer(desk, "a")
    answer(desk, "b")
    assert replies(desk) == {"d": ""}
    assert (lives(desk), desk.state.closing) == ([ClusterLife.RUNNING] * 2, None)


def test_those_that_wait_or_come_up_are_called_off_at_once() -> None:
    desk = Desk(5)
    desk.up("a")
    desk.request("b")
    desk.request("c", 4)
    assert lives(desk) == [ClusterLife.RUNNING, ClusterLife.DEPLOYING, ClusterLife.WAITING]
    down(desk)
    assert lives(desk) == [ClusterLife.SAVING, ClusterLife.RETIRING]
    assert any(isinstance(effect, Retire) and effect.cluster == B for effect in desk.last.effects)


def test_one_that_came_up_meanwhile_is_surveyed_too() -> None:
    desk = Desk(5)
    desk.up("a")
    desk.request("b")
    desk.survey = None
    down(desk)
    desk.done("cluster:b")
    desk.done("cluster:b")
    answer(desk, "a")
    assert lives(desk) == [ClusterLife.RUNNING] * 2
    answer(desk, "b", DATA)
    assert refusals(desk) == {("b", "undeclared-data")}


def test_an_agreed_end_goes_on_through_a_restart_and_takes_no_new_request() -> None:
    desk = two()
    down(desk)
    answer(desk, "a")
    answer(desk, "b")
    desk.tell(started(at_s=desk.now_s, nodes=nodes(5)))
    desk.request("c")
    assert desk.refusal() == "pool-closing"
    finish(desk)
    assert ends(desk) == 1
    desk.tell(started(at_s=desk.now_s, nodes=nodes(5)))
    desk.request("c")
    assert desk.refusal() == ""


def test_a_question_without_whoever_asked_is_forgotten() -> None:
    desk = two()
    down(desk)
    desk.tell(started(at_s=desk.now_s, nodes=nodes(5)))
    assert desk.state.closing is None
    answer(desk, "a")
    answer(desk, "b")
    assert (lives(desk), replies(desk)) == ([ClusterLife.RUNNING] * 2, {})


def test_a_release_on_its_own_goes_first() -> None:
    desk = two()
    down(desk)
    desk.tell(ReleaseAsked(at_us=desk.now_us, cluster=A, ask="r"))
    answer(desk, "b")
    assert "d" not in replies(desk)
    answer(desk, "a")
    assert replies(desk) == {"r": "", "d": ""}
    assert set(lives(desk)) == {ClusterLife.SAVING}


def test_data_may_be_given_up_after_it_was_agreed() -> None:
    desk = two()
    down(desk)
    answer(desk, "a")
    answer(desk, "b")
    desk.failed(Key.CLUSTER.of("a"), "the disk is full")
    down(desk, discard=True, ask="again")
    assert replies(desk)["again"] == ""
    assert lives(desk) == [ClusterLife.RETIRING] * 2


def test_a_lost_node_keeps_the_controller() -> None:
    desk = two()
    down(desk, discard=True, force=True)
    lost, *others = [name for name, node in desk.state.nodes.items() if node.life is NodeLife.CLEANING]
    desk.see(lost, Condition.FAILED, "it does not answer")
    for name in others:
        desk.see(name, Condition.CLEAN)
    assert (desk.state.nodes[lost].life, ends(desk)) == (NodeLife.LOST, 0)
    desk.wait(3600)
    desk.see(lost, Condition.CLEAN)
    assert ends(desk) == 1


def test_an_empty_pool_ends_at_once_and_a_second_question_is_no_harm() -> None:
    desk = Desk(2)
    down(desk)
    assert (replies(desk), ends(desk)) == ({"d": ""}, 1)
    down(desk, ask="e")
    assert (replies(desk), ends(desk)) == ({"d": "", "e": ""}, 2)


def test_who_asks_later_is_heard_instead() -> None:
    desk = two()
    down(desk)
    down(desk, discard=True, ask="later")
    assert replies(desk) == {"d": "down-overtaken"}
    answer(desk, "a", DATA)
    answer(desk, "b")
    assert replies(desk)["later"] == ""


@given(st.lists(st.sampled_from(["a", "b", "down", "release", "restart", "finish"]), max_size=12))
def test_a_pool_that_was_not_agreed_on_is_whole(story: list[str]) -> None:
    """Whatever comes in between, an end without a refusal is the only way in which both go."""
    desk = two()
    for word in story:
        match word:
            case "down":
                down(desk, ask=f"d{len(desk.world.effects)}")
            case "release":
                desk.tell(ReleaseAsked(at_us=desk.now_us, cluster=A, ask="r"))
            case "restart":
                desk.tell(started(at_s=desk.now_s, nodes=nodes(5)))
            case "finish":
                finish(desk)
            case _ if Key.SURVEY.of(word) in desk.state.pending:
                answer(desk, word, DATA)
    assert {B} <= set(desk.state.clusters)
    assert desk.state.clusters[B].life is ClusterLife.RUNNING
    assert ends(desk) == 0
