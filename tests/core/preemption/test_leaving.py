"""Tasks of nodes that leave: who is looked at, what each is told, and what is said of how it went."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from fawkes.base.catalog import Kind
from fawkes.base.units import SECOND_US
from fawkes.core.preemption.tasks import rows_of
from fawkes.core.values.effects import LookAtTasks, PreemptTasks
from fawkes.core.values.events import ClockSeen, Condition, Progress
from fawkes.core.values.model import ClusterId, NodeLife
from tests.core.preemption.support import task_row
from tests.support.desk import Desk
from tests.support.pools import bundled, settings

NODE, KEY = "node03", "tasks:node03"
row = partial(task_row, NODE)
LEAVE_S = 60


def desk_of(
    policy: str = "adaptive", *, saves: bool = True, leave_s: int = LEAVE_S, rate: int = 1_000_000, **more: Any
) -> Desk:
    """An MR-cluster with a job whose tasks can be saved, on three nodes of which one drains."""
    text = bundled(Kind.PREEMPTION, policy)
    how = settings(
        preemption=text.name,
        period_us=10**6 * SECOND_US,
        image_bytes_s=rate,
        transient_leave_us=leave_s * SECOND_US,
        transient_core_leave_us=leave_s * SECOND_US,
        **more,
    )
    desk = Desk(3, how=how, preemption=text)
    desk.up("a", 2)
    desk.submit("a", 1, saves=saves)
    desk.job("a-1", Progress.RUNNING)
    desk.balance(a=10)
    desk.drain(NODE)
    return desk


def effect_of(desk: Desk) -> LookAtTasks | PreemptTasks | None:
    pending = desk.state.pending.get(KEY)
    effect = None if pending is None else pending.effect
    assert effect is None or isinstance(effect, LookAtTasks | PreemptTasks)
    return effect


def orders(desk: Desk) -> dict[str, bool]:
    effect = effect_of(desk)
    return {order.container: order.save for order in effect.orders} if isinstance(effect, PreemptTasks) else {}


def test_a_node_that_drains_is_looked_at_once_it_begins() -> None:
    desk = desk_of()
    assert desk.node(NODE).life is NodeLife.DRAINING
    assert desk.latest(LookAtTasks) == [effect_of(desk)]


@pytest.mark.parametrize("how", [{"saves": False}, {"leave_s": 0}])
def test_nobody_is_looked_at_without_tasks_that_can_be_saved_or_without_time(how: dict[str, Any]) -> None:
    desk = desk_of(**how)
    assert desk.node(NODE).life in (NodeLife.DRAINING, NodeLife.CLEANING)
    assert effect_of(desk) is None


@pytest.mark.parametrize(
    ("policy", "task", "told", "cause"),
    [
        ("adaptive", row(1), {"container_1": True}, "policy"),
        ("adaptive", row(1, run_s=9), {"container_1": False}, "costs"),  # 5 s to write and 5 s to read
        ("adaptive", row(1, megabytes=61), {"container_1": False}, "late"),
        ("adaptive", row(1, megabytes=None), {"container_1": False}, "unknown"),
        ("adaptive", row(1, run_s=None), {"container_1": True}, "policy"),
        ("checkpoint", row(1, run_s=1), {"container_1": True}, "policy"),
        ("kill", row(1), {"container_1": False}, "policy"),
        ("kill", row(1, kills=5), {"container_1": True}, "policy"),
        ("wait", row(1), {}, "policy"),
    ],
)
def test_each_task_gets_the_answer_of_the_policy(
    policy: str, task: dict[str, Any], told: dict[str, bool], cause: str
) -> None:
    desk = desk_of(policy)
    desk.answer(KEY, tasks=[task])
    assert orders(desk) == told
    assert isinstance(effect_of(desk), PreemptTasks if told else LookAtTasks)
    (said,) = desk.said("task-must-go")
    assert (said["job"], said["index"], said["cause"]) == ("a-1", 1, cause)


def test_dumps_queue_so_that_those_that_would_be_late_are_ended() -> None:
    desk = desk_of("checkpoint")
    desk.answer(KEY, tasks=[row(number, megabytes=25) for number in (1, 2, 3)])
    assert sorted(orders(desk).values()) == [False, True, True]


def test_the_time_that_is_left_counts_from_the_beginning_of_the_leave() -> None:
    desk = desk_of("checkpoint")
    desk.now_s += LEAVE_S - 10
    desk.answer(KEY, tasks=[row(1, megabytes=11), row(2, megabytes=2)])
    effect = effect_of(desk)
    assert isinstance(effect, PreemptTasks)
    assert effect.within_us == 10 * SECOND_US
    assert orders(desk) == {"container_1": False, "container_2": True}


def test_a_jump_of_the_clock_takes_none_of_the_time_that_is_left() -> None:
    desk = desk_of("checkpoint", clock_jump_us=60 * SECOND_US)
    desk.now_s += 3600
    desk.tell(ClockSeen(at_us=desk.now_us, by_us=3600 * SECOND_US, moved_us=3600 * SECOND_US))
    desk.answer(KEY, tasks=[row(1)])
    effect = effect_of(desk)
    assert isinstance(effect, PreemptTasks)
    assert (effect.within_us, orders(desk)) == (LEAVE_S * SECOND_US, {"container_1": True})


def test_who_has_an_answer_is_not_told_again_and_a_later_task_is() -> None:
    desk = desk_of()
    desk.answer(KEY, tasks=[row(1)])
    desk.answer(KEY, left={"container_1": ["runs", None, None]})
    assert isinstance(effect_of(desk), LookAtTasks)
    desk.wait(2)
    desk.answer(KEY, tasks=[row(1), row(2)])
    assert orders(desk) == {"container_2": True}


@pytest.mark.parametrize(
    ("left", "how", "size"),
    [
        ({"container_1": ["saved", 77, 3_000_000]}, "saved", 77),
        ({"container_1": ["gone", None, None]}, "gone", None),
        ({"container_1": "nonsense"}, "unknown", None),
        ({}, "unknown", None),
        (None, "unknown", None),
    ],
)
def test_what_nobody_says_of_a_task_is_not_known(left: Any, how: str, size: int | None) -> None:
    desk = desk_of()
    desk.answer(KEY, tasks=[row(1)])
    desk.answer(KEY, left=left)
    (said,) = desk.said("task-went")
    assert (said["how"], said["size_bytes"], said["run_us"]) == (how, size, 30 * SECOND_US)


def test_why_a_task_could_not_be_saved_is_said() -> None:
    desk = desk_of()
    desk.answer(KEY, tasks=[row(1)])
    desk.answer(KEY, left={"container_1": ["killed", 0, 1]}, why={"container_1": "a socket"})
    (said,) = desk.said("task-went")
    assert (said["how"], said["error"]) == ("killed", "a socket")


def test_a_look_that_fails_is_repeated_and_tells_nobody_anything() -> None:
    desk = desk_of()
    desk.failed(KEY)
    assert orders(desk) == {}
    desk.wait(2)
    assert desk.latest(LookAtTasks)


def test_rows_that_say_nothing_of_use_are_no_tasks() -> None:
    desk = desk_of()
    desk.answer(KEY, tasks=["text", {}, {"node": NODE, "container": "c", "job": "a-1"}, row(1, index="2"), None])
    assert desk.codes() == []
    assert isinstance(effect_of(desk), LookAtTasks)


@pytest.mark.parametrize("value", [-1, True, "7", 7.5])
def test_what_is_no_number_of_a_task_is_not_known(value: object) -> None:
    (read,) = rows_of({"tasks": [row(1, bytes=value, kills=value, run_us=value)]})
    assert (read.memory, read.kills, read.run_us) == (None, 0, None)


def test_how_tasks_went_is_heard_until_the_node_is_wiped() -> None:
    desk = desk_of()
    desk.answer(KEY, tasks=[row(1)])
    desk.see(NODE, Condition.DRAINED)
    assert desk.node(NODE).life in (NodeLife.CLEANING, NodeLife.EVACUATING)
    assert isinstance(effect_of(desk), PreemptTasks)
    desk.answer(KEY, left={"container_1": ["saved", 77, 3_000_000]})
    assert [said["how"] for said in desk.said("task-went")] == ["saved"]
    assert effect_of(desk) is None


def test_a_look_ends_with_the_drain_and_orders_with_the_wipe() -> None:
    looks, told = desk_of(), desk_of()
    looks.see(NODE, Condition.DRAINED)
    assert effect_of(looks) is None
    told.answer(KEY, tasks=[row(1)])
    told.see(NODE, Condition.DRAINED)
    told.see(NODE, Condition.CLEAN)
    assert (told.node(NODE).owner, effect_of(told)) == (None, None)
    assert [said["how"] for said in told.said("task-went")] == ["unknown"]


def test_a_ledger_with_tasks_that_went_is_decided_again_alike() -> None:
    desk = desk_of()
    desk.answer(KEY, tasks=[row(1), row(2, run_s=1)])
    desk.answer(KEY, left={"container_1": ["saved", 5, 5], "container_2": ["killed", 0, 5]})
    assert desk.decided_otherwise() == []


def test_orders_that_were_perhaps_not_heard_are_given_again() -> None:
    desk = desk_of()
    desk.answer(KEY, tasks=[row(1)])
    desk.failed(KEY, "the cable is cut")
    assert desk.said("task-went") == []
    assert desk.node(NODE).life is NodeLife.DRAINING
    before = len(desk.world.effects)
    desk.wait(2)
    (again,) = (effect for effect in desk.world.effects[before:] if isinstance(effect, PreemptTasks))
    assert [order.container for order in again.orders] == ["container_1"]
    assert again.within_us < LEAVE_S * SECOND_US
    desk.answer(KEY, left={"container_1": ["saved", 77, 3_000_000]})
    assert [said["how"] for said in desk.said("task-went")] == ["saved"]


def test_how_tasks_of_a_host_went_that_is_gone_is_said_to_be_unknown() -> None:
    desk = desk_of()
    desk.answer(KEY, tasks=[row(1)])
    desk.failed(KEY, "its host has no power")
    desk.see(NODE, Condition.DRAINED)
    desk.wait(2)
    assert [said["how"] for said in desk.said("task-went")] == ["unknown"]
    assert effect_of(desk) is None


def test_orders_of_which_nothing_is_ever_heard_hold_up_no_node() -> None:
    desk = desk_of()
    desk.answer(KEY, tasks=[row(1)])
    codes = desk.wait(3 * LEAVE_S)
    assert desk.node(NODE).life is not NodeLife.DRAINING
    assert codes.count("task-went") == 1
    assert effect_of(desk) is None


def test_what_nobody_can_say_after_a_wipe_is_said_to_be_unknown() -> None:
    desk = desk_of()
    desk.answer(KEY, tasks=[row(1)])
    desk.see(NODE, Condition.DRAINED)
    desk.failed(KEY, "the MR-cluster leaves the node")
    assert [said["how"] for said in desk.said("task-went")] == ["unknown"]
    assert effect_of(desk) is None


def saves(desk: Desk, *rates: int) -> None:
    """The node saves 2 tasks of 5 MB together, in turn so fast: the second image is there after this time."""
    for number, rate in enumerate(rates):
        first, second = row(10 * number + 1), row(10 * number + 2)
        desk.answer(KEY, tasks=[first, second])
        took_us = 10_000_000 * SECOND_US // rate
        left = {first["container"]: ["saved", 77, took_us // 2], second["container"]: ["saved", 77, took_us]}
        desk.answer(KEY, left=left)
        desk.wait(2)


@pytest.mark.parametrize(
    ("rates", "rate"),
    [
        ((), 1_000_000),
        ((4_000_000,), 4_000_000),
        ((4_000_000, 8_000_000, 100), 4_000_000),
        ((9_000_000, 9_000_000, 9_000_000, 5_000_000, 5_000_000, 5_000_000), 5_000_000),
    ],
)
def test_a_forecast_is_made_by_the_median_of_the_latest_saves(rates: tuple[int, ...], rate: int) -> None:
    desk = desk_of("checkpoint", leave_s=10**6)
    saves(desk, *rates)
    desk.answer(KEY, tasks=[row(99, megabytes=20)])
    assert desk.said("task-must-go")[-1]["ready_us"] == 20_000_000 * SECOND_US // rate
    assert desk.decided_otherwise() == []


@pytest.mark.parametrize(
    "left",
    [
        {"container_1": ["killed", 0, 10], "container_2": ["saved", 77, 0]},
        {"container_1": ["runs", None, None], "container_2": ["saved", 77, None]},
        {"container_1": ["saved", 77, 10], "container_2": ["saved", 77, None]},
        {},
    ],
)
def test_saves_that_are_not_known_measure_nothing(left: dict[str, Any]) -> None:
    desk = desk_of("checkpoint")
    desk.answer(KEY, tasks=[row(1), row(2)])
    desk.answer(KEY, left=left)
    cluster = desk.state.clusters[ClusterId("a")]
    assert cluster.image_rates == ()
