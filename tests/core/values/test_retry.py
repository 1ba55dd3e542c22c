"""`fawkes retry`: what waits for its next try is tried at once."""

from __future__ import annotations

import pytest

from fawkes.base.units import SECOND_US
from fawkes.core.values.effects import Deploy, Effect, Host, Membership, Save
from fawkes.core.values.events import Condition, RetryAsked
from fawkes.core.values.model import NodeLife, Role
from fawkes.core.values.sight import Compute, Stored
from tests.support.desk import Desk, grown
from tests.support.pools import settings

NODE = "node03"
BROKEN_TRIES = 12


def retry(desk: Desk, subject: str) -> list[Effect]:
    """The effects that begin when somebody has repaired something."""
    desk.tell(RetryAsked(at_us=desk.now_us, subject=subject, by="ann", ask="q"))
    return [effect for effect in desk.last.effects if isinstance(effect, (Host, Deploy, Membership, Save))]


def facts(desk: Desk) -> dict[str, object]:
    return dict(desk.reply().facts)


def broken_wipe() -> Desk:
    """node03 could not be wiped, so often that the next try is far away."""
    desk = grown(Role.TRANSIENT)
    desk.drain(NODE)
    desk.look(NODE, Compute.LEFT)
    for _ in range(BROKEN_TRIES):
        desk.see(NODE, Condition.FAILED, "no answer")
        desk.wait_for(f"host:{NODE}")
    desk.see(NODE, Condition.FAILED, "no answer")
    return desk


def test_a_node_that_was_repaired_is_tried_at_once() -> None:
    desk = broken_wipe()
    (effect,) = retry(desk, NODE)
    assert isinstance(effect, Host)
    assert (effect.node, effect.role) == (NODE, None)
    assert (desk.refusal(), facts(desk)["tried"]) == ("", 1)
    assert desk.said("retry-asked")[0]["by"] == "ann"


def test_after_it_the_waits_begin_anew() -> None:
    desk = broken_wipe()
    wait_us = desk.state.pending[f"host:{NODE}"].deadline_us - desk.now_us
    assert wait_us == 30 * SECOND_US
    retry(desk, NODE)
    assert desk.state.pending[f"host:{NODE}"].tries == 1
    desk.see(NODE, Condition.FAILED, "no answer")
    assert desk.state.pending[f"host:{NODE}"].deadline_us - desk.now_us == 2 * SECOND_US


def test_a_lost_node_with_data_is_asked_for_at_once_and_keeps_its_data() -> None:
    desk = grown()
    desk.look(NODE, Compute.LOST, Stored.DEAD)
    (effect,) = retry(desk, NODE)
    assert isinstance(effect, Host)
    assert effect.role is Role.TRANSIENT_CORE
    assert desk.node(NODE).life is NodeLife.LOST


def test_an_mr_cluster_is_tried_with_its_nodes_and_its_members() -> None:
    desk = grown()
    for node in (NODE, "node04"):
        desk.look(node, Compute.LOST, Stored.DEAD)
    desk.failed("membership:a", "no answer")
    effects = retry(desk, "a")
    assert sorted(effect.key for effect in effects) == ["host:node03", "host:node04", "membership:a"]
    assert all(effect.afresh for effect in effects if isinstance(effect, Membership))
    assert facts(desk)["tried"] == 3


@pytest.mark.parametrize("stage", ["deploy", "save"])
def test_a_stage_that_failed_is_tried_at_once(stage: str) -> None:
    desk = Desk(3, how=settings(period_us=10**6 * SECOND_US))
    if stage == "deploy":
        desk.request("a", 2)
    else:
        desk.up("a")
        desk.release("a")
    desk.failed("cluster:a", "the storage is full")
    (effect,) = retry(desk, "a")
    assert isinstance(effect, (Deploy, Save))
    assert desk.state.pending["cluster:a"].tries == 1


@pytest.mark.parametrize(
    ("subject", "code"),
    [("nobody", "no-such-subject"), ("", "no-such-subject"), ("a", "nothing-to-retry"), (NODE, "nothing-to-retry")],
)
def test_there_may_be_nothing_to_retry(subject: str, code: str) -> None:
    desk = grown()
    before = dict(desk.state.pending)
    assert retry(desk, subject) == []
    assert desk.refusal() == code
    assert dict(desk.state.pending) == before


def test_a_name_of_an_mr_cluster_that_is_gone_is_nobody_s() -> None:
    desk = Desk(3)
    desk.request("a", 2, deploy_on_first_job=True)
    desk.release("a")
    retry(desk, "a")
    assert desk.refusal() == "no-such-subject"


def test_what_is_under_way_elsewhere_is_left_alone() -> None:
    desk = grown()
    for node in (NODE, "node04"):
        desk.look(node, Compute.LOST, Stored.DEAD)
    assert [effect.key for effect in retry(desk, NODE)] == ["host:node03"]
