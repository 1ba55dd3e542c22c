"""Service to users: reports of masters become an alert and its end, and jobs wait meanwhile."""

from __future__ import annotations

from typing import Any

import pytest

from fawkes.base.units import SECOND_US
from fawkes.core.jobs import service
from fawkes.core.state import alerts
from fawkes.core.values.decision import Decision
from fawkes.core.values.effects import StartJob
from fawkes.core.values.events import Condition, MastersSeen, ServiceSeen
from fawkes.core.values.model import ClusterAlert, ClusterId, ClusterLife
from fawkes.core.values.sight import AppLife, AppSeen, ClientCause, Launcher, SafeMode, Service
from fawkes.report.tables.rows import cluster_row
from fawkes.store.record import text_of
from tests.support import masters
from tests.support.desk import Desk
from tests.support.pools import settings

A = ClusterId("a")
GOOD = {
    "safe_mode": SafeMode.OFF,
    "storing": 2,
    "manager": "ACTIVE",
    "computing": 2,
    "queues": 1,
}
LOW = {
    **GOOD,
    "safe_mode": SafeMode.LOW,
    "said": "Resources are low on NN. Please add or free up more resources.",
    "folder": "/srv/nn",
}
WRITES, RUNS = ClusterAlert.NO_WRITES, ClusterAlert.NO_RUNS


def desk_of(unusable_s: int = 5) -> Desk:
    desk = Desk.running("a", count=6, period_us=10**12, unusable_us=unusable_s * SECOND_US, silent_us=30 * SECOND_US)
    desk.now_s = 100
    return desk


def see(desk: Desk, **facts: object) -> Decision:
    return desk.tell(ServiceSeen(at_us=desk.now_us, cluster=A, service=Service(**facts)))  # type: ignore[arg-type]


def health(desk: Desk) -> tuple[str, str]:
    row = cluster_row(desk.cluster("a"), list(desk.state.nodes.values()), None, None, 1)
    return row["health"], row["why"]


@pytest.mark.parametrize(
    ("facts", "kind", "words"),
    [
        (LOW, WRITES, "Free space on node01 for /srv/nn; then HDFS takes writes by itself"),
        ({**LOW, "said": "Resources are low on NN. ... then turn off safe mode manually"}, WRITES, "-safemode leave"),
        ({**GOOD, "safe_mode": SafeMode.ASKED}, WRITES, "`hdfs dfsadmin -safemode leave` on node01 ends that"),
        ({**GOOD, "safe_mode": SafeMode.STARTING, "said": "The reported blocks 0"}, WRITES, "The reported blocks 0"),
        ({**GOOD, "safe_mode": SafeMode.OTHER}, WRITES, "it does not say why"),
        ({**GOOD, "full": 2}, WRITES, "no DataNode has room"),
        ({**GOOD, "storing": 0}, WRITES, "no DataNode is in service"),
        ({**GOOD, "manager": "STANDBY", "computing": None}, RUNS, "its ResourceManager is STANDBY"),
        ({**GOOD, "computing": 0}, RUNS, "no NodeManager runs"),
        ({**GOOD, "computing": 0, "unhealthy": ("node02",), "health": "disk"}, RUNS, "unhealthy (node02): disk"),
        ({**GOOD, "queues": 0, "stopped": ("root.x",)}, RUNS, "queues are stopped (root.x)"),
        ({**GOOD, "stopped": ("root.default",)}, RUNS, "queues are stopped (root.default)"),
    ],
)
def test_what_users_cannot_do_is_red_until_they_can_again(
    facts: dict[str, object], kind: ClusterAlert, words: str
) -> None:
    """An alert once it has lasted, and its end once the opposite has; no job begins in between."""
    desk = desk_of()
    see(desk, **GOOD)
    see(desk, **facts)
    assert health(desk) == ("green", "")
    desk.submit("a", 1)
    assert (desk.starts(), desk.codes()) == ([], ["job-queued", "job-held"])
    assert desk.wait(5) == ["unusable"]
    assert alerts.about(desk.cluster("a"), kind)
    assert health(desk)[0] == "red"
    assert words in health(desk)[1]
    desk.now_s = 200
    see(desk, **GOOD)
    assert (health(desk)[0], desk.starts()) == ("red", [])
    assert desk.wait(15) == ["usable", "job-released"]
    assert health(desk) == ("green", "")


@pytest.mark.parametrize(
    "facts",
    [
        GOOD,
        {},
        {"safe_mode": SafeMode.OFF},  # the ResourceManager says nothing
        {"manager": "ACTIVE", "computing": 2, "queues": 1},  # the NameNode says nothing
        {**GOOD, "storing": None, "computing": None, "queues": None},
        {**GOOD, "full": 1},
        {**GOOD, "stopped": ("root.x",)},
        {**GOOD, "unhealthy": ("node02",)},
    ],
)
def test_what_is_not_known_and_what_is_only_less_begins_nothing(facts: dict[str, object]) -> None:
    desk = desk_of()
    see(desk, **facts)
    assert "service:a" not in desk.state.pending
    assert health(desk) == ("green", "")
    desk.submit("a", 1)
    assert desk.starts() == [("a-1", 1)]


def test_what_is_not_known_ends_nothing() -> None:
    desk = desk_of()
    see(desk, **LOW)
    desk.wait(5)
    see(desk)
    desk.wait(60)
    assert alerts.about(desk.cluster("a"), WRITES)
    desk.submit("a", 1)
    assert desk.starts() == []


def test_a_short_safe_mode_is_no_alert_and_holds_a_job_only_for_so_long() -> None:
    desk = desk_of()
    see(desk, **{**GOOD, "safe_mode": SafeMode.STARTING})
    desk.submit("a", 1)
    desk.now_s += 3
    see(desk, **GOOD)
    assert desk.starts() == [("a-1", 1)]
    assert desk.wait(60) == []
    assert health(desk) == ("green", "")


def test_the_words_of_an_alert_are_those_of_now() -> None:
    desk = desk_of()
    see(desk, **LOW)
    desk.wait(5)
    see(desk, **{**GOOD, "safe_mode": SafeMode.ASKED})
    assert "somebody has put it into safe mode" in health(desk)[1]


def test_a_namenode_that_goes_in_and_out_for_an_hour_is_one_alert_and_a_small_ledger() -> None:
    """The world tells a change at most every 10 s: `limits.SERVICE_TOLD_US`."""
    desk = desk_of()
    said = []
    for turn in range(360):
        see(desk, **(GOOD if turn % 2 else LOW))
        said += desk.codes()
        said += desk.wait(10)
    assert said == ["unusable"]
    assert alerts.about(desk.cluster("a"), WRITES)
    steps = [step for step in desk.store.entries() if step.event.at_us >= 100 * SECOND_US]
    assert sum(len(text_of(s.event)) + len(text_of(s.decision)) for s in steps) < 1_000_000


def test_a_job_that_fails_meanwhile_does_not_begin_its_next_attempt() -> None:
    desk = desk_of()
    desk.submit("a", 1, retries=1)
    see(desk, **LOW)
    desk.attempt("a-1", launcher=Launcher.FINISHED, exit=1, applications=())
    assert (desk.codes(), desk.starts()) == (["retry"], [])
    desk.now_s += 20
    see(desk, **GOOD)
    assert desk.starts() == [("a-1", 2)]


def test_a_deployment_is_red_for_a_full_disk_and_not_for_what_is_still_to_come() -> None:
    desk = Desk(6, how=settings(unusable_us=5 * SECOND_US))
    desk.request("a")
    assert desk.cluster("a").life is ClusterLife.DEPLOYING
    see(desk, safe_mode=SafeMode.STARTING, storing=0, manager="INITIALIZING", computing=0, queues=0)
    assert "service:a" not in desk.state.pending
    see(desk, **{**LOW, "storing": 0})
    desk.wait(5)
    assert health(desk)[0] == "red"
    assert "nearly full" in health(desk)[1]


def test_what_daemons_said_while_they_came_up_holds_no_job_and_is_no_alert() -> None:
    desk = Desk(6, how=settings(unusable_us=5 * SECOND_US))
    desk.request("a")
    see(desk, safe_mode=SafeMode.OFF, storing=2, manager="INITIALIZING")
    desk.done("cluster:a")
    desk.done("cluster:a")
    desk.submit("a", 1)
    assert desk.starts() == [("a-1", 1)]
    desk.wait(8)
    assert not alerts.about(desk.cluster("a"), *service.UNUSABLE)


def test_safe_mode_of_fawkes_itself_is_no_alert() -> None:
    """While a save or a move of the masters is under way; what was an alert before ends with their begin."""
    desk = desk_of()
    see(desk, **LOW)
    desk.wait(5)
    desk.release(A)
    assert desk.cluster("a").life is ClusterLife.SAVING
    assert not alerts.about(desk.cluster("a"), *service.UNUSABLE)
    see(desk, **{**GOOD, "safe_mode": SafeMode.ASKED})
    assert desk.wait(60) == []
    assert not alerts.about(desk.cluster("a"), *service.UNUSABLE)


def test_masters_that_do_not_answer_are_said_before_their_daemons_count_as_lost() -> None:
    desk = desk_of()
    desk.masters("a", "refused")
    desk.wait(5)
    assert alerts.about(desk.cluster("a"), ClusterAlert.SILENT)
    assert "after 30 s of silence" in health(desk)[1]
    assert desk.node("node01").life == "serving"
    desk.masters("a")
    assert health(desk) == ("green", "")


def test_masters_that_do_not_answer_are_said_also_during_a_save() -> None:
    desk = desk_of()
    desk.release("a")
    desk.masters("a", "refused")
    desk.wait(5)
    assert desk.cluster("a").life is ClusterLife.SAVING
    assert alerts.about(desk.cluster("a"), ClusterAlert.SILENT)


@pytest.mark.parametrize("gone", [(), ("namenode",)])
def test_no_job_begins_while_masters_do_not_answer(gone: tuple[str, ...]) -> None:
    """Each attempt would fail at once, so that a whole queue was lost, one job after another."""
    desk = desk_of()
    desk.tell(MastersSeen(at_us=desk.now_us, cluster=A, error="refused", silent="namenode", gone=gone))
    desk.submit("a", 1)
    desk.wait(11)
    assert not desk.effects(StartJob)
    assert desk.said("job-held") == []
    desk.submit("a", 2)
    assert desk.said("job-held")[0]["error"] == "its masters do not answer"
    desk.tell(MastersSeen(at_us=desk.now_us, cluster=A))
    if gone:
        desk.see(desk.cluster("a").master or "", Condition.SERVING)
    assert desk.effects(StartJob)[0].job == "a-1"


@pytest.mark.parametrize(
    ("facts", "code", "again"),
    [
        ({}, "displaced", [("a-1", 2)]),
        ({"own": True}, "job-failed", []),
        ({"cause": ClientCause.OUTPUT_EXISTS, "words": "it exists"}, "job-failed", []),
    ],
)
def test_a_job_that_was_begun_right_before_its_masters_died_begins_again(
    facts: dict[str, Any], code: str, again: list[tuple[str, int]]
) -> None:
    """The NameNode is gone, and a ResourceManager that answers knows of no application."""
    desk = desk_of()
    desk.submit("a", 1)
    assert desk.starts() == [("a-1", 1)]
    desk.masters("a", "refused")
    desk.attempt("a-1", launcher=Launcher.FINISHED, exit=255, applications=(), **facts)
    assert desk.codes() == [code]
    desk.masters("a")
    assert desk.starts() == again


def test_a_job_whose_client_could_not_log_in_begins_again_once_others_can() -> None:
    """A queue would be lost otherwise, one job after another; commands of their own end all the same."""
    desk = desk_of()
    desk.submit("a", 1)
    failed: dict[str, Any] = {
        "launcher": Launcher.FINISHED,
        "exit": 1,
        "applications": (),
        "cause": ClientCause.NO_LOGIN,
    }
    for attempt in range(1, 5):
        assert desk.starts()[0] == ("a-1", attempt)
        desk.attempt("a-1", attempt, **failed, words="it could not log in at the KDC")
        assert desk.cluster("a").alert == "its jobs cannot begin: it could not log in at the KDC"
        assert desk.starts() == []
        desk.wait_for("login:a")
        assert desk.cluster("a").alert != "", "nobody has logged in yet"
    began = AppSeen(id="application_1_1", life=AppLife.LIVE)
    desk.attempt("a-1", 5, launcher=Launcher.RUNNING, applications=(began,))
    assert desk.cluster("a").alert == ""


def test_what_is_known_of_masters_that_do_not_answer_is_not_said_less_exactly() -> None:
    desk = desk_of()
    error, gone = "refused", ("resourcemanager",)
    desk.tell(MastersSeen(at_us=desk.now_us, cluster=A, error=error, gone=gone))
    before = alerts.text(desk.cluster("a"), ClusterAlert.SILENT)
    assert "Fawkes starts it again" in before
    desk.wait(10)
    assert alerts.text(desk.cluster("a"), ClusterAlert.SILENT) == before


def test_a_fact_that_was_seen_before_a_silence_begins_nothing_in_it() -> None:
    desk = desk_of()
    see(desk, **LOW)
    desk.masters("a", "refused")
    desk.wait(10)
    assert not alerts.about(desk.cluster("a"), WRITES)


def test_without_the_setting_nothing_is_an_alert() -> None:
    """Ledgers of earlier versions decide the same as before."""
    desk = desk_of(0)
    desk.masters("a", "refused")
    see(desk, **LOW)
    desk.wait(20)
    assert health(desk) == ("green", "")


def test_a_move_of_the_masters_is_judged_by_what_is_seen_last_once_it_has_ended() -> None:
    desk = masters.up(unusable_us=5 * SECOND_US)
    see(desk, **LOW)
    desk.wait(5)
    masters.ask(desk, now=True)
    masters.look(desk, old="answers", image=True)
    assert masters.begun(desk)
    assert not alerts.about(desk.cluster("a"), *service.UNUSABLE)
    see(desk, **{**GOOD, "safe_mode": SafeMode.STARTING})
    desk.wait(20)
    assert not alerts.about(desk.cluster("a"), *service.UNUSABLE)
    masters.moved(desk)
    desk.wait(5)
    assert alerts.about(desk.cluster("a"), WRITES)
