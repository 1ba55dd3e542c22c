"""A preemption policy that fails on real victims: the tasks wait, the fault is told once, and the pool goes on."""

from __future__ import annotations

import pytest

from fawkes.core.preemption.values import Choice, Victim
from fawkes.core.values.model import ClusterAlert, ClusterId
from tests.core.preemption import test_claiming, test_leaving
from tests.support.desk import Desk


def failing(desk: Desk, answer: object) -> None:
    def preempt(victims: list[Victim]) -> object:
        if isinstance(answer, Exception):
            raise answer
        return answer

    desk.engine._loads._preempt = preempt  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (ZeroDivisionError("division by zero"), "ZeroDivisionError: division by zero"),
        (TimeoutError("took more than 10 s"), "TimeoutError: took"),
        ([], "for 1 victims"),
        ([Choice("save", first=10**400)], "OverflowError"),
    ],
)
def test_tasks_of_a_node_that_leaves_are_waited_for(answer: object, said: str) -> None:
    desk = test_leaving.desk_of()
    failing(desk, answer)
    desk.answer(test_leaving.KEY, tasks=[test_leaving.row(1)])
    (facts,) = desk.said("preemption-failed")
    assert said in str(facts["failed"])
    assert (facts["cluster"], facts["policy"]) == ("a", "ADAPTIVE")
    assert desk.state.clusters[ClusterId("a")].alert_kind is ClusterAlert.PREEMPTION
    assert [task["action"] for task in desk.said("task-must-go")] == ["wait"]
    assert test_leaving.orders(desk) == {}
    desk.wait(2)
    desk.answer(test_leaving.KEY, tasks=[test_leaving.row(2)])
    assert desk.said("preemption-failed") == [], "it is said once"
    failing(desk, [Choice("kill")])
    desk.wait(2)
    desk.answer(test_leaving.KEY, tasks=[test_leaving.row(3)])
    assert test_leaving.orders(desk) == {"container_3": False}
    assert desk.state.clusters[ClusterId("a")].alert == ""


def test_nobody_goes_for_a_claim_and_the_policy_is_not_asked_again_for_it() -> None:
    desk, asked = test_claiming.desk_of(), []
    test_claiming.see(desk, 4, size=2.0)

    def preempt(victims: list[Victim]) -> object:
        asked.append(victims)
        raise ValueError("no idea")

    desk.engine._loads._preempt = preempt  # type: ignore[assignment]
    desk.answer(test_claiming.KEY, tasks=[test_claiming.row(number) for number in range(8)])
    assert test_claiming.orders(desk) == {}
    assert len(desk.said("preemption-failed")) == len(asked) == 1
