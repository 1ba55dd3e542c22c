"""HDFS and YARN are surveyed before an MR-cluster ends: undeclared data and foreign applications hold it."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import pytest

from fawkes.base.units import SECOND_US
from fawkes.core.state import alerts
from fawkes.core.values.effects import Reply, Retire, Save, Survey
from fawkes.core.values.events import Done
from fawkes.core.values.keys import Key
from fawkes.core.values.model import ClusterAlert, ClusterId, ClusterLife
from fawkes.core.values.settings import Settings
from tests.support.desk import Desk
from tests.support.pools import settings

A = ClusterId("a")
KEY = Key.SURVEY.of("a")
IDLE_S = 100
DATA = [{"path": "/user/alice", "bytes": 5}]
APPS = [{"id": "application_1", "user": "alice"}]
CLEAN: Mapping[str, object] = {"undeclared": [], "applications": []}


def how(**changes: object) -> Settings:
    return settings(period_us=10 * SECOND_US, idle_us=IDLE_S * SECOND_US, **changes)


def silent(**changes: object) -> Desk:
    """a runs; nobody answers surveys but the test."""
    desk = Desk(3, how=how(**changes))
    desk.up("a")
    desk.survey = None
    return desk


def answer(desk: Desk, facts: Mapping[str, object] = CLEAN) -> None:
    desk.answer(KEY, **facts)


def test_a_release_is_answered_only_when_the_survey_is() -> None:
    desk = silent()
    desk.release("a")
    (effect,) = desk.latest(Survey)
    assert effect.request["by"] == "ann"
    assert "q" not in desk.replies()
    assert desk.cluster("a").life is ClusterLife.RUNNING
    answer(desk)
    assert desk.replies()["q"] == ""
    assert desk.said("released")[0]["by"] == "ann"
    assert desk.cluster("a").life is ClusterLife.SAVING
    assert desk.latest(Save)
    assert KEY not in desk.state.pending


ANSWERS: dict[str, tuple[Mapping[str, object], bool, bool, str, str]] = {
    # the answer; whether data, applications hold it; the codes
    "nothing": (CLEAN, False, False, "", ""),
    "data": ({"undeclared": DATA, "applications": []}, True, False, "undeclared-data", ""),
    "applications": ({"undeclared": [], "applications": APPS}, False, True, "", "foreign-applications"),
    "both": ({"undeclared": DATA, "applications": APPS}, True, True, "undeclared-data", "foreign-applications"),
    "data not known": ({"undeclared": None, "applications": []}, True, False, "survey-failed", ""),
    "applications not known": ({"undeclared": [], "applications": None}, False, True, "", "survey-failed"),
    "nothing said": ({}, True, True, "survey-failed", "survey-failed"),
    "a number": ({"undeclared": 0, "applications": 0}, True, True, "survey-failed", "survey-failed"),
}


@pytest.mark.parametrize(("discard", "force"), [(False, False), (True, False), (False, True)])
@pytest.mark.parametrize("case", sorted(ANSWERS))
def test_discard_and_force_each_lift_only_their_part(case: str, discard: bool, force: bool) -> None:
    facts, data, applications, data_code, application_code = ANSWERS[case]
    expected = data_code if data and not discard else application_code if applications and not force else ""
    desk = silent()
    desk.release("a", discard=discard, force=force)
    answer(desk, facts)
    assert desk.replies()["q"] == expected
    if expected:
        assert desk.cluster("a").life is ClusterLife.RUNNING
        assert set(desk.lives("a").values()) == {"serving"}
    else:
        assert desk.cluster("a").life is (ClusterLife.RETIRING if discard else ClusterLife.SAVING)


def test_a_refusal_names_what_was_found_and_counts_all_of_it() -> None:
    desk = silent()
    desk.release("a")
    answer(desk, {"undeclared": [{"path": f"/d{i}"} for i in range(9)], "applications": []})
    (refused,) = (effect.refused for effect in desk.latest(Reply))
    assert refused is not None
    assert refused.facts["count"] == 9
    assert [row["path"] for row in refused.facts["undeclared"]] == ["/d0", "/d1", "/d2", "/d3", "/d4"]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("tags", "held"),
    [
        (["fawkes-copy.save-out-1"], False),
        (["fawkes-j1-1"], True),
        (["mine", "fawkes-j1-1"], True),
        (["fawkes"], True),
        ([], True),
        (None, True),
        ("fawkes-copy.x", True),
        ([None, 3], True),
    ],
)
def test_a_tag_of_ours_alone_does_not_make_an_application_ours(tags: object, held: bool) -> None:
    """A job that an adoption found without its declaration runs on with our tag."""
    desk = silent()
    desk.release("a")
    answer(desk, {"undeclared": [], "applications": [{"id": "application_1", "user": "alice", "tags": tags}]})
    assert desk.replies()["q"] == ("foreign-applications" if held else "")


def test_whoever_gives_up_data_and_applications_waits_for_no_survey() -> None:
    desk = silent()
    desk.release("a", discard=True, force=True)
    assert desk.latest(Survey) == []
    assert desk.replies()["q"] == ""
    assert desk.cluster("a").life is ClusterLife.RETIRING


@pytest.mark.parametrize(("discard", "force"), [(False, False), (True, False), (False, True)])
def test_a_survey_that_fails_refuses_the_release(discard: bool, force: bool) -> None:
    desk = silent()
    desk.release("a", discard=discard, force=force)
    desk.failed(KEY, "the NameNode is in safe mode")
    assert desk.replies()["q"] == "survey-failed"
    assert desk.cluster("a").life is ClusterLife.RUNNING
    assert KEY not in desk.state.pending


def test_a_survey_that_nobody_answers_refuses_the_release_in_time() -> None:
    desk = silent()
    desk.release("a")
    deadline_us = desk.state.pending[KEY].deadline_us
    assert deadline_us == desk.now_us + how().membership_us
    version = desk.state.pending[KEY].version
    desk.wait(how().membership_us / SECOND_US)
    assert desk.replies()["q"] == "survey-failed"
    # Its answer comes all the same.
    desk.tell(Done(at_us=desk.now_us, effect=KEY, version=version, facts=CLEAN))
    assert desk.codes() == ["late-answer"]
    assert desk.cluster("a").life is ClusterLife.RUNNING


@pytest.mark.parametrize("force", [False, True])
def test_a_job_that_was_handed_in_meanwhile_holds_it_unless_it_is_forced(force: bool) -> None:
    desk = silent()
    desk.release("a", force=force)
    desk.submit("a", 1)
    answer(desk)
    assert desk.replies()["q"] == ("" if force else "has-jobs")
    assert desk.cluster("a").life is (ClusterLife.SAVING if force else ClusterLife.RUNNING)


def test_the_later_of_two_releases_gets_the_survey_and_the_earlier_one_is_told() -> None:
    desk = silent()
    desk.release("a", ask="first")
    desk.release("a", discard=True, ask="second")
    assert desk.replies()["first"] == "overtaken"
    answer(desk, {"undeclared": DATA, "applications": []})
    assert desk.replies()["second"] == ""


@pytest.mark.parametrize("by", ["a release without questions", "a save that was over at once"])
def test_whoever_waits_for_a_survey_is_answered_when_another_ends_the_mr_cluster(by: str) -> None:
    desk = silent()
    desk.release("a", ask="first")
    if by == "a release without questions":
        desk.release("a", discard=True, force=True, ask="second")
        assert desk.cluster("a").life is ClusterLife.RETIRING
    else:
        desk.release("a", ask="second")
        answer(desk)
        desk.done("cluster:a")
    assert desk.replies() == {"first": "overtaken", "second": ""}
    assert KEY not in desk.state.pending


def test_a_survey_is_asked_for_again_by_the_next_controller() -> None:
    desk = silent()
    desk.release("a")
    effect = desk.state.pending[KEY].effect
    again = Desk(3, state=desk.state, how=how())
    assert effect in again.last.effects


# Idle MR-clusters.


def idle(desk: Desk, seconds: float, **reading: object) -> list[str]:
    """Readings that say that nothing waits and nothing runs, for a while; the codes of all reasons."""
    codes: list[str] = []
    until_s = desk.now_s + seconds
    while desk.now_s < until_s:
        codes += desk.wait(5)
        desk.sample(a={"jobs_waiting": 0, "jobs_running": 0, **reading})
    return codes


def test_an_idle_mr_cluster_with_nothing_undeclared_is_retired() -> None:
    desk = Desk(3, how=how())
    desk.up("a")
    codes = idle(desk, 2 * IDLE_S)
    assert {"idle", "shrink"} & set(codes) == {"idle"}
    assert desk.cluster("a").life is ClusterLife.SAVING


@pytest.mark.parametrize(
    ("facts", "code"),
    [
        ({"undeclared": DATA, "applications": []}, "undeclared-data"),
        ({"undeclared": [], "applications": APPS}, "foreign-applications"),
        ({"undeclared": None, "applications": []}, "survey-failed"),
        ({"undeclared": [], "applications": None}, "survey-failed"),
    ],
)
def test_an_idle_mr_cluster_is_held_and_asked_again_only_after_another_idle_time(
    facts: Mapping[str, object], code: str
) -> None:
    desk = Desk(3, how=how())
    desk.up("a")
    desk.survey = facts
    times = []
    for _ in range(60):
        codes = idle(desk, 10)
        times += [desk.now_s] * codes.count("not-retired")
    assert desk.cluster("a").life is ClusterLife.RUNNING
    assert alerts.about(desk.cluster("a"), ClusterAlert.IDLE)
    because = [r.facts["because"] for e in desk.store.entries() for r in e.decision.reasons if r.code == "not-retired"]
    assert set(because) == {code}
    assert len(times) == 5
    assert min(later - earlier for earlier, later in pairwise(times)) >= IDLE_S
    # As soon as nothing speaks against it any more, it goes with the next survey.
    desk.survey = CLEAN
    idle(desk, 2 * IDLE_S)
    assert desk.cluster("a").life is ClusterLife.SAVING
    assert desk.cluster("a").alert == ""


def test_a_site_may_have_idle_mr_clusters_retired_with_undeclared_data() -> None:
    for facts, life in (
        ({"undeclared": DATA, "applications": []}, ClusterLife.SAVING),
        ({"undeclared": None, "applications": []}, ClusterLife.SAVING),
        ({"undeclared": DATA, "applications": APPS}, ClusterLife.RUNNING),
        ({"undeclared": [], "applications": None}, ClusterLife.RUNNING),
    ):
        desk = Desk(3, how=how(retire_undeclared=True))
        desk.up("a")
        desk.survey = facts
        idle(desk, 2 * IDLE_S)
        assert desk.cluster("a").life is life


def test_one_survey_at_a_time_is_asked_for_of_an_idle_mr_cluster() -> None:
    desk = silent(membership_us=1000 * SECOND_US)
    idle(desk, 3 * IDLE_S)
    assert len(desk.effects(Survey)) == 1


def test_an_mr_cluster_that_is_used_while_it_is_surveyed_stays() -> None:
    for act in ("job", "reading", "reading, and it is over"):
        desk = silent(membership_us=1000 * SECOND_US)
        idle(desk, 2 * IDLE_S)
        assert KEY in desk.state.pending
        if act == "job":
            desk.submit("a", 1)
        else:
            desk.sample(a={"jobs_waiting": 0, "jobs_running": 1})
        if act == "reading, and it is over":
            desk.now_s += 1
            desk.sample(a={"jobs_waiting": 0, "jobs_running": 0})
        answer(desk)
        assert desk.cluster("a").life is ClusterLife.RUNNING
        assert desk.codes() == []


def test_a_survey_of_an_idle_mr_cluster_that_nobody_answers_holds_it() -> None:
    desk = silent()
    codes = idle(desk, 2 * IDLE_S)
    assert "not-retired" in codes
    assert desk.cluster("a").life is ClusterLife.RUNNING


@pytest.mark.parametrize("act", ["job", "reading"])
def test_an_mr_cluster_that_is_not_idle_any_more_does_not_say_that_it_is(act: str) -> None:
    desk = Desk(3, how=how())
    desk.up("a")
    desk.survey = {"undeclared": DATA, "applications": []}
    idle(desk, 1.5 * IDLE_S)
    assert desk.cluster("a").alert.startswith("idle, but kept")
    if act == "job":
        desk.submit("a", 1)
        desk.cancel("a-1")
    else:
        desk.sample(a={"jobs_waiting": 0, "jobs_running": 1})
    assert desk.cluster("a").alert == ""


def test_an_mr_cluster_that_retires_has_no_survey() -> None:
    desk = silent()
    desk.release("a")
    desk.release("a", discard=True, force=True, ask="second")
    assert not desk.latest(Retire)
    desk.tell(Done(at_us=desk.now_us, effect=KEY, version=desk.cluster("a").version, facts=CLEAN))
    assert desk.codes() == ["late-answer"]


@pytest.mark.parametrize("force", [False, True])
def test_a_save_is_held_by_applications_unless_they_were_given_up(force: bool) -> None:
    desk = silent()
    desk.release("a", force=force)
    answer(desk)
    (save,) = desk.latest(Save)
    assert save.applications == force


def test_applications_that_hold_a_save_may_be_given_up_later() -> None:
    desk = silent()
    desk.release("a")
    answer(desk)
    desk.failed(Key.CLUSTER.of("a"), "alice runs application_1")
    version = desk.cluster("a").version
    desk.release("a", force=True, ask="again")
    assert desk.replies()["again"] == ""
    assert desk.latest(Save) == [Save(A, version + 1, False, True)]
    assert (desk.cluster("a").life, desk.cluster("a").alert) == (ClusterLife.SAVING, "")
    desk.release("a", force=True, ask="third")
    assert desk.latest(Save) == []


def test_a_site_that_retires_with_data_gives_it_up_also_when_applications_are_given_up_later() -> None:
    desk = Desk(3, how=how(retire_undeclared=True))
    desk.up("a")
    idle(desk, 2 * IDLE_S)
    desk.release("a", force=True)
    (save,) = desk.latest(Save)
    assert (save.undeclared, save.applications) == (True, True)


@pytest.mark.parametrize("facts", [CLEAN, {"undeclared": None, "applications": []}])
def test_a_save_is_given_up_when_users_run_nothing(facts: Mapping[str, object]) -> None:
    desk = silent()
    desk.release("a")
    answer(desk)
    desk.release("a", discard=True, ask="again")
    answer(desk, facts)
    assert (desk.replies()["again"], desk.cluster("a").life) == ("", ClusterLife.RETIRING)


@pytest.mark.parametrize("facts", [{"undeclared": [], "applications": APPS}, {"undeclared": [], "applications": None}])
def test_a_save_is_not_given_up_over_what_users_run(facts: Mapping[str, object]) -> None:
    desk = silent()
    desk.release("a")
    answer(desk)
    desk.release("a", discard=True, ask="again")
    answer(desk, facts)
    assert desk.replies()["again"] in ("foreign-applications", "survey-failed")
    assert desk.cluster("a").life is ClusterLife.SAVING
    desk.release("a", discard=True, force=True, ask="all")
    assert (desk.replies()["all"], desk.cluster("a").life) == ("", ClusterLife.RETIRING)


def test_a_save_that_ends_while_it_is_surveyed_is_not_given_up() -> None:
    desk = silent()
    desk.release("a")
    answer(desk)
    desk.release("a", discard=True, ask="again")
    desk.done(Key.CLUSTER.of("a"))
    assert desk.cluster("a").life is ClusterLife.RETIRING
    assert desk.replies()["again"] == "overtaken"
