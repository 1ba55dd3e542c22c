"""The whole pool is given back: every MR-cluster or none, then the end of control."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fawkes.base.units import SECOND_US
from fawkes.core.clusters.closing import longest_us
from fawkes.core.state.state import evolve
from fawkes.core.values.effects import EndControl, Retire, Save, Survey
from fawkes.core.values.events import Condition, DownAsked, Event
from fawkes.core.values.keys import Key
from fawkes.core.values.model import ClusterId, ClusterLife, Facts, NodeLife
from fawkes.store.record import change_of
from tests.support.desk import Desk
from tests.support.pools import nodes, request, run, settings, started

A, B, C = ClusterId("a"), ClusterId("b"), ClusterId("c")
CLEAN: Facts = {"undeclared": [], "applications": []}
DATA: Facts = {"undeclared": [{"path": "/user/ann", "bytes": 5}], "applications": []}
APPS: Facts = {"undeclared": [], "applications": [{"id": "application_1"}]}


def two() -> Desk:
    """a and b run, two core nodes each; nobody answers surveys but the test."""
    desk = Desk.running("a", "b", count=5)
    desk.survey = None
    return desk


def down(desk: Desk, *, discard: bool = False, force: bool = False, dry_run: bool = False, ask: str = "d") -> None:
    desk.tell(DownAsked(at_us=desk.now_us, discard=discard, force=force, dry_run=dry_run, by="ann", ask=ask))


def answer(desk: Desk, cluster: str, facts: Facts = CLEAN) -> None:
    desk.answer(Key.SURVEY.of(cluster), **facts)


def asked_to_go() -> Desk:
    """Both run, and somebody has asked for the end of all."""
    desk = two()
    down(desk)
    return desk


def refusals(desk: Desk) -> set[tuple[str, str]]:
    """MR-cluster and code of each refusal in the last answer."""
    refused = desk.reply().refused
    assert refused is not None
    listed: list[dict[str, dict[str, str]]] = list(refused.facts["refusals"])  # type: ignore[call-overload]
    return {(row["facts"]["cluster"], str(row["code"])) for row in listed}


def asked(desk: Desk) -> set[str]:
    """The MR-clusters that the latest decision surveys."""
    return {str(effect.cluster) for effect in desk.latest(Survey)}


def lives(desk: Desk) -> list[ClusterLife]:
    return [state.life for state in desk.state.clusters.values()]


def ends(desk: Desk) -> int:
    return sum(isinstance(effect, EndControl) for effect in desk.world.effects)


def finish(desk: Desk) -> None:
    """Saves succeed, and every node is seen clean."""
    for name in list(desk.state.clusters):
        if desk.state.clusters[name].life is ClusterLife.SAVING:
            desk.done(Key.CLUSTER.of(name))
    desk.clean_all()


def test_nothing_is_released_before_every_survey_is_answered() -> None:
    desk = asked_to_go()
    assert {effect.cluster for effect in desk.latest(Survey)} == {A, B}
    answer(desk, "a")
    assert (lives(desk), desk.replies()) == ([ClusterLife.RUNNING] * 2, {})
    answer(desk, "b")
    assert desk.replies() == {"d": ""}
    assert {effect.cluster for effect in desk.latest(Save)} == {A, B}
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
    desk = Desk.running("a", "b", count=5)
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
    assert desk.replies() == {"d": ""}
    assert (lives(desk), desk.state.closing) == ([ClusterLife.RUNNING] * 2, None)


def test_those_that_wait_or_come_up_are_called_off_at_once() -> None:
    desk = Desk.running("a", count=5)
    desk.request("b")
    desk.request("c", 4)
    assert lives(desk) == [ClusterLife.RUNNING, ClusterLife.DEPLOYING, ClusterLife.WAITING]
    down(desk)
    assert lives(desk) == [ClusterLife.SAVING, ClusterLife.RETIRING]
    assert any(isinstance(effect, Retire) and effect.cluster == B for effect in desk.last.effects)


def test_one_that_came_up_meanwhile_is_surveyed_too() -> None:
    desk = Desk.running("a", count=5)
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
    desk = asked_to_go()
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
    desk = asked_to_go()
    desk.tell(started(at_s=desk.now_s, nodes=nodes(5)))
    assert desk.state.closing is None
    answer(desk, "a")
    answer(desk, "b")
    assert (lives(desk), desk.replies()) == ([ClusterLife.RUNNING] * 2, {})


def test_a_release_on_its_own_goes_first() -> None:
    desk = asked_to_go()
    desk.release(A, ask="r")
    answer(desk, "b")
    assert "d" not in desk.replies()
    answer(desk, "a")
    assert desk.replies() == {"r": "", "d": ""}
    assert set(lives(desk)) == {ClusterLife.SAVING}


def test_data_may_be_given_up_after_it_was_agreed() -> None:
    desk = asked_to_go()
    answer(desk, "a")
    answer(desk, "b")
    desk.failed(Key.CLUSTER.of("a"), "the disk is full")
    down(desk, discard=True, ask="again")
    assert desk.replies()["again"] == ""
    assert asked(desk) == {"a", "b"}
    answer(desk, "a", {"undeclared": None, "applications": []})
    answer(desk, "b", APPS)
    assert lives(desk) == [ClusterLife.RETIRING, ClusterLife.SAVING], "what users run on b is not given up"
    down(desk, discard=True, force=True, ask="all")
    assert lives(desk) == [ClusterLife.RETIRING] * 2


@pytest.mark.parametrize(("facts", "kept"), [({"undeclared": None, "applications": []}, False), (APPS, True)])
def test_a_save_is_given_up_with_the_pool_only_if_users_run_nothing(facts: Facts, kept: bool) -> None:
    desk = two()
    desk.release(A, ask="r")
    answer(desk, "a")
    down(desk, discard=True)
    assert asked(desk) == {"a", "b"}
    answer(desk, "b")
    answer(desk, "a", facts)
    assert desk.replies()["d"] == ("pool-kept" if kept else "")
    assert lives(desk) == ([ClusterLife.SAVING, ClusterLife.RUNNING] if kept else [ClusterLife.RETIRING] * 2)


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
    assert (desk.replies(), ends(desk)) == ({"d": ""}, 1)
    down(desk, ask="e")
    assert (desk.replies(), ends(desk)) == ({"d": "", "e": ""}, 2)


def test_who_asks_later_is_heard_instead() -> None:
    desk = asked_to_go()
    down(desk, discard=True, ask="later")
    assert desk.replies() == {"d": "down-overtaken"}
    answer(desk, "a", DATA)
    answer(desk, "b")
    assert desk.replies()["later"] == ""


@pytest.mark.slow
@given(st.lists(st.sampled_from(["a", "b", "down", "release", "restart", "finish"]), max_size=12))
def test_a_pool_that_was_not_agreed_on_is_whole(story: list[str]) -> None:
    """Whatever comes in between, an end without a refusal is the only way in which both go."""
    desk = two()
    for word in story:
        match word:
            case "down":
                down(desk, ask=f"d{len(desk.world.effects)}")
            case "release":
                desk.release(A, ask="r")
            case "restart":
                desk.tell(started(at_s=desk.now_s, nodes=nodes(5)))
            case "finish":
                finish(desk)
            case _ if Key.SURVEY.of(word) in desk.state.pending:
                answer(desk, word, DATA)
    assert {B} <= set(desk.state.clusters)
    assert desk.state.clusters[B].life is ClusterLife.RUNNING
    assert ends(desk) == 0


STALE_S, LONGEST_S = settings().stale_us / SECOND_US, longest_us(settings()) / SECOND_US


@pytest.mark.parametrize(("slow_s", "again"), [(0, set()), (STALE_S, set()), (STALE_S + 1, {"a"}), (59, {"a"})])
def test_an_answer_that_grew_old_while_others_were_awaited_is_asked_for_again(slow_s: float, again: set[str]) -> None:
    desk = asked_to_go()
    answer(desk, "a")
    desk.wait(slow_s)
    answer(desk, "b")
    assert asked(desk) == again
    assert (desk.replies() == {}) == bool(again)
    if again:
        assert lives(desk) == [ClusterLife.RUNNING] * 2
        answer(desk, "a")
    assert desk.replies() == {"d": ""}
    assert set(lives(desk)) == {ClusterLife.SAVING}


@pytest.mark.parametrize(("facts", "code"), [(DATA, "undeclared-data"), (APPS, "foreign-applications")])
def test_what_users_began_while_others_were_awaited_keeps_the_pool(facts: Facts, code: str) -> None:
    desk = asked_to_go()
    answer(desk, "a")
    desk.wait(50)
    answer(desk, "b")
    answer(desk, "a", facts)
    assert refusals(desk) == {("a", code)}
    assert lives(desk) == [ClusterLife.RUNNING] * 2


def test_a_refusal_is_told_without_asking_anybody_again() -> None:
    desk = asked_to_go()
    answer(desk, "a", DATA)
    desk.wait(50)
    answer(desk, "b")
    assert refusals(desk) == {("a", "undeclared-data")}


@pytest.mark.parametrize("silent", [["a"], ["b"], ["a", "b"]])
def test_masters_that_never_answer_are_named_in_a_refusal_within_the_time(silent: list[str]) -> None:
    desk = asked_to_go()
    for name in {"a", "b"} - set(silent):
        answer(desk, name)
    desk.wait(LONGEST_S)
    kept = [reason for entry in desk.store.entries() for reason in entry.decision.reasons if reason.code == "pool-kept"]
    listed = [row["facts"]["cluster"] for row in kept[0].facts["refusals"]]  # type: ignore[attr-defined]
    assert (desk.replies(), listed) == ({"d": "pool-kept"}, silent)
    assert lives(desk) == [ClusterLife.RUNNING] * 2


def test_masters_that_do_not_answer_again_are_named_too() -> None:
    desk = asked_to_go()
    answer(desk, "a")
    desk.wait(50)
    answer(desk, "b")
    desk.wait(LONGEST_S - 50)
    assert desk.replies() == {"d": "pool-kept"}
    assert desk.state.closing is None


def test_a_release_of_somebody_else_does_not_keep_the_question_open() -> None:
    desk = asked_to_go()
    answer(desk, "b")
    desk.wait(50)
    desk.release(A, ask="r")
    desk.wait(LONGEST_S - 50)
    assert desk.replies() == {}
    desk.sample(b={"jobs_waiting": 0})
    assert refusals(desk) == {("a", "survey-failed")}
    answer(desk, "a")
    assert desk.replies()["r"] == ""


@pytest.mark.slow
@example([("a", 31, CLEAN), ("release", 0, CLEAN), ("b", 0, CLEAN)])
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["a", "b", "release", "none"]), st.integers(0, 40), st.sampled_from([CLEAN, CLEAN, DATA])
        ),
        max_size=14,
    )
)
def test_a_pool_goes_only_by_young_answers_and_each_question_is_answered_in_time(
    story: list[tuple[str, int, Facts]],
) -> None:
    desk = asked_to_go()
    asked_s = desk.now_s
    answered: dict[str, float] = {}
    for who, wait_s, facts in story:
        if desk.replies().get("d") is not None:
            break
        if who == "release":
            desk.release(A, dry_run=True, ask="r")
        elif Key.SURVEY.of(who) in desk.state.pending:
            answer(desk, who, facts)
            answered[who] = desk.now_s
        if desk.replies().get("d") == "":
            assert set(answered) == {"a", "b"}
            assert all(desk.now_s - at_s <= STALE_S for at_s in answered.values())
            break
        desk.wait(wait_s)
    desk.wait(asked_s + LONGEST_S - desk.now_s)
    # While somebody else's survey is under way the next reading ends the question.
    desk.sample(b={"jobs_waiting": 0})
    assert "d" in desk.replies()


def test_what_is_given_up_holds_no_save() -> None:
    desk = two()
    down(desk, force=True)
    answer(desk, "a")
    answer(desk, "b")
    saves = desk.latest(Save)
    assert [(save.undeclared, save.applications) for save in saves] == [(False, True)] * 2


def test_applications_may_be_given_up_after_it_was_agreed() -> None:
    desk = asked_to_go()
    answer(desk, "a")
    answer(desk, "b")
    assert {effect.applications for effect in desk.latest(Save)} == {False}
    down(desk, force=True, ask="again")
    assert {(effect.undeclared, effect.applications) for effect in desk.latest(Save)} == {(False, True)}
    down(desk, force=True, ask="third")
    assert not desk.latest(Save)


def test_jobs_that_were_given_up_stay_given_up_when_data_is_too() -> None:
    desk = two()
    down(desk, force=True)
    answer(desk, "a")
    answer(desk, "b")
    down(desk, discard=True, ask="again")
    assert lives(desk) == [ClusterLife.RETIRING] * 2


@pytest.mark.slow
@pytest.mark.parametrize(("silent", "ended"), [("", True), ("b", False)])
def test_the_simulated_world_is_given_back_as_a_whole_or_not_at_all(silent: str, ended: bool) -> None:
    """From the question to the end of control; or masters of one MR-cluster never answer the survey."""

    def faults(step: str, name: str) -> str | None:
        return "" if (step, name) == ("survey", silent) else None

    events: list[Event] = [
        started(6),
        request("a", 1),
        request("b", 1),
        DownAsked(at_us=300 * SECOND_US, by="ann", ask="d"),
    ]
    engine = run(events, 1000, faults=faults)
    world = engine.world
    (reply,) = (reply for reply in world.replies if reply.to == "d")
    assert (reply.refused is None, world.ended) == (ended, ended)
    assert set(engine.state.clusters) == (set() if ended else {"a", "b"})
    kept = engine.reasons("pool-kept")
    assert len(kept) == (not ended)
    if kept:
        at_s, facts = kept[0]
        assert at_s - 300 <= LONGEST_S
        assert "'cluster': 'b'" in str(facts)
        assert "'cluster': 'a'" not in str(facts)


def test_a_question_of_an_earlier_version_is_understood_and_nothing_goes_by_it() -> None:
    """It did not store when somebody asked, nor when the answers came."""
    plain = {"kind": "PutClosing", "closing": {"by": "ann", "ask": "d", "surveyed": ["a", "b"]}}
    desk = two()
    evolve(desk.state, desk.now_us, [change_of(plain)])
    desk.sample(a={"jobs_waiting": 0}, b={"jobs_waiting": 0})
    assert asked(desk) == {"a", "b"}
    assert lives(desk) == [ClusterLife.RUNNING] * 2
