"""An important job takes room from less important tasks: who is asked, how many go, and when nobody does."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from fawkes.base.catalog import Kind
from fawkes.base.units import SECOND_US
from fawkes.core.values.effects import ClaimTasks, PreemptTasks
from fawkes.core.values.events import Progress
from fawkes.core.values.model import JobId
from fawkes.core.values.sight import Work
from fawkes.core.values.tags import tag_of
from fawkes.report.tables.explain_job import explain_job
from tests.core.preemption.support import task_row
from tests.support.desk import Desk
from tests.support.pools import bundled, settings

KEY = "claim:a"
NODES = ("node01", "node02")


def desk_of(policy: str = "adaptive", *, saves: bool = True, priority: int = 5) -> Desk:
    """An MR-cluster on two nodes with a job whose tasks can be saved, and one with a priority that has just begun."""
    text = bundled(Kind.PREEMPTION, policy)
    how = settings(preemption=text.name, image_bytes_s=1_000_000, period_us=10**6 * SECOND_US)
    desk = Desk(2, how=how, preemption=text)
    desk.up("a")
    desk.submit("a", 1, saves=saves)
    desk.job("a-1", Progress.RUNNING)
    desk.submit("a", 2, priority=priority)
    if priority <= 0:
        desk.now_s += 3
        desk.sample(a={"tasks_waiting": 0, "jobs_running": 1})
    desk.job("a-2", Progress.RUNNING)
    desk.now_s += 3
    return desk


def see(
    desk: Desk,
    waiting: int | None = 3,
    *,
    master: bool = True,
    moves: bool = False,
    every_s: int = 1,
    of: int = 0,
    size: float = 1.0,
) -> list[ClaimTasks]:
    """Two readings by which the second job waits for so many containers; the claims that follow."""
    before = len(desk.world.effects)
    for running in (0, int(moves)):
        desk.now_s += every_s
        rows = (
            Work(tag=tag_of(JobId("a-1"), 1), application="app-1", master=True, waiting=0, running=8),
            Work(
                tag=tag_of(JobId("a-2"), 1),
                application="app-2",
                master=master,
                waiting=waiting,
                running=running,
                size=size,
            ),
        )
        desk.sample(a={"work": rows, "jobs_running": 2, "tasks_waiting": 3, "master_slots": of})
    return [effect for effect in desk.world.effects[before:] if isinstance(effect, ClaimTasks)]


def row(number: int, *, run_s: int = 30, node: str = "", job: str = "a-1") -> dict[str, Any]:
    return task_row(node or NODES[number % 2], number, job=job, run_s=run_s)


def orders(desk: Desk) -> dict[str, dict[str, bool]]:
    effects = desk.latest(PreemptTasks)
    return {effect.node: {order.container: order.save for order in effect.orders} for effect in effects}


@pytest.mark.parametrize(
    ("how", "slots"),
    [
        ({"waiting": 3}, 3),
        ({"waiting": 3, "moves": True}, None),
        ({"waiting": 0}, None),
        ({"waiting": None}, None),
        ({"waiting": None, "master": False, "every_s": 5}, 1),
        ({"waiting": 1, "master": False, "every_s": 5}, 1),
        ({"waiting": 1, "master": False, "every_s": 4}, None),
        ({"waiting": 1, "master": False, "every_s": 5, "of": 2}, 2),
        ({"waiting": 2, "size": 3.0}, 6),
        ({"waiting": 3, "size": 0.5}, 2),
    ],
)
def test_a_claim_is_for_the_room_that_is_lacking(how: dict[str, Any], slots: int | None) -> None:
    claims = see(desk_of(), **how)
    assert [claim.slots for claim in claims] == ([] if slots is None else [slots])


@pytest.mark.parametrize("how", [{"saves": False}, {"priority": 0}])
def test_nobody_is_asked_whose_tasks_could_not_go(how: dict[str, Any]) -> None:
    assert see(desk_of(**how)) == []


def test_a_job_that_yarn_does_not_know_yet_claims_nothing() -> None:
    desk = desk_of()
    for _ in range(3):
        desk.now_s += 1
        desk.sample(a={"work": (), "jobs_running": 2, "tasks_waiting": 3})
    assert KEY not in desk.state.pending


def test_as_many_tasks_go_as_are_lacking_whatever_node_they_are_on() -> None:
    desk = desk_of()
    (claim,) = see(desk, 3)
    assert set(claim.nodes) == set(NODES)
    desk.answer(KEY, tasks=[row(number) for number in range(8)])
    told = orders(desk)
    assert sum(map(len, told.values())) == 3
    assert all(save for order in told.values() for save in order.values())
    assert {said["claimant"] for said in desk.said("task-must-go")} == {"a-2"}


@pytest.mark.parametrize(("megabytes", "within_s"), [(5, 60), (200, 400)])
def test_tasks_get_twice_the_time_that_they_should_need_and_a_minute_at_least(megabytes: int, within_s: int) -> None:
    desk = desk_of("checkpoint")
    see(desk)
    desk.answer(KEY, tasks=[task_row(NODES[0], 1, run_s=10_000, megabytes=megabytes)])
    assert [effect.within_us for effect in desk.latest(PreemptTasks)] == [within_s * SECOND_US]


def test_while_a_job_waits_less_important_ones_ask_for_nothing_until_after_its_next_claim() -> None:
    (claim,) = see(desk_of(), 3)
    assert claim.priority == 5
    assert claim.hold_us > settings().doubt_us


@pytest.mark.parametrize(
    ("how", "going"),
    [
        ({"waiting": None, "master": False, "every_s": 5, "of": 2}, {"node01": 2}),
        ({"waiting": 1, "size": 3.0}, {"node01": 3}),
        ({"waiting": 2, "size": 2.0}, {"node01": 4}),
        ({"waiting": 2, "size": 3.0}, {"node01": 3, "node02": 3}),
        ({"waiting": 3, "size": 3.0}, {"node01": 3, "node02": 3}),
        ({"waiting": 1, "size": 9.0}, {"node01": 5}),
    ],
)
def test_room_for_a_larger_container_is_made_on_one_node(how: dict[str, Any], going: dict[str, int]) -> None:
    """Even if the tasks of another node cost less: five on the first and three, two of them new, on the second."""
    desk = desk_of()
    see(desk, **how)
    new = [row(number, run_s=20, node="node02") for number in range(5, 7)]
    desk.answer(KEY, tasks=[*(row(number, node="node01") for number in range(5)), *new, row(7, node="node02")])
    assert {node: len(told) for node, told in orders(desk).items()} == going


def test_a_claim_is_not_forgotten_when_tasks_of_another_node_go_meanwhile() -> None:
    desk = desk_of()
    see(desk, 3)
    desk.answer(KEY, tasks=[row(0)])
    desk.wait(60)
    see(desk, 3)
    desk.answer("tasks:node01", left={"container_0": ["saved", 5, 5]})
    desk.answer(KEY, tasks=[row(1)])
    assert list(orders(desk)) == ["node02"]


def test_a_policy_that_waits_ends_nothing() -> None:
    desk = desk_of("wait")
    see(desk)
    desk.answer(KEY, tasks=[row(1)])
    assert orders(desk) == {}


def test_tasks_that_have_only_begun_are_ended_and_not_saved() -> None:
    desk = desk_of()
    see(desk)
    desk.answer(KEY, tasks=[row(1, run_s=2)])
    assert orders(desk) == {"node02": {"container_1": False}}


def test_tasks_of_the_job_itself_and_of_jobs_that_nobody_knows_stay() -> None:
    desk = desk_of()
    see(desk)
    desk.answer(KEY, tasks=[row(1, job="a-2"), row(2, job="a-9"), row(3, node="node09")])
    assert orders(desk) == {}


def test_tasks_of_a_node_that_was_handed_over_since_stay() -> None:
    desk = desk_of()
    see(desk)
    state = desk.node("node02")
    desk.state.put_node(replace(state, generation=state.generation + 1))
    desk.answer(KEY, tasks=[row(1), row(2)])
    assert orders(desk) == {"node01": {"container_2": True}}


def test_the_next_claim_waits_until_readings_show_what_became_free() -> None:
    desk = desk_of()
    see(desk)
    desk.answer(KEY, tasks=[row(1)])
    assert see(desk) == []
    desk.answer("tasks:node02", left={"container_1": ["saved", 5, 5]})
    desk.now_s += 5
    assert see(desk) == []
    desk.wait(60)
    assert [claim.slots for claim in see(desk)] == [3]


def test_a_node_with_orders_under_way_is_left_alone() -> None:
    desk = desk_of()
    see(desk)
    desk.answer(KEY, tasks=[row(1)])
    desk.wait(60)
    (claim,) = see(desk)
    assert set(claim.nodes) == {"node01"}


@pytest.mark.parametrize(("waiting", "slots"), [(3, [1]), (2, [])])
def test_tasks_that_are_on_their_way_are_not_claimed_again(waiting: int, slots: list[int]) -> None:
    desk = desk_of()
    see(desk, 3)
    desk.answer(KEY, tasks=[row(0), row(2)])
    desk.wait(60)
    assert [claim.slots for claim in see(desk, waiting)] == slots


def test_room_that_became_free_just_now_is_not_claimed_again() -> None:
    desk = desk_of()
    see(desk, 3)
    desk.answer(KEY, tasks=[row(0), row(2)])
    desk.now_s += 60
    desk.answer("tasks:node01", left={"container_0": ["saved", 5, 5], "container_2": ["saved", 5, 5]})
    assert see(desk) == []
    desk.wait(60)
    assert [claim.slots for claim in see(desk)] == [3]


def test_a_claimant_that_has_got_room_claims_what_it_lacks_at_once() -> None:
    desk = desk_of()
    see(desk, None, master=False, every_s=5)
    desk.answer(KEY, tasks=[row(0)])
    desk.now_s += 1
    desk.answer("tasks:node01", left={"container_0": ["saved", 5, 5]})
    assert see(desk, None, master=False) == []
    assert [claim.slots for claim in see(desk, 3)] == [3]


def test_nodes_that_do_not_answer_are_asked_again_later() -> None:
    desk = desk_of()
    see(desk)
    desk.failed(KEY)
    assert (orders(desk), see(desk)) == ({}, [])
    desk.wait(60)
    assert len(see(desk)) == 1


def test_a_task_that_does_not_go_for_a_claim_is_not_asked_again() -> None:
    """Nothing ends it: it goes on, and no work is lost."""
    desk = desk_of()
    see(desk)
    desk.answer(KEY, tasks=[row(1), row(3)])
    desk.answer("tasks:node02", left={"container_1": ["runs", None, None], "container_3": ["saved", 5, 5]})
    desk.wait(60)
    see(desk)
    desk.answer(KEY, tasks=[row(1), row(5)])
    assert orders(desk) == {"node02": {"container_5": True}}
    desk.answer("tasks:node02", left={"container_5": ["runs", None, None]})
    assert [(said["how"], said["leaves"]) for said in desk.said("task-went")] == [("runs", False)]
    lines = [line.text for line in explain_job(desk.store, "a-1").lines]
    assert lines[-2] == "Tasks that had to go: 3. 1 saved 5 B in 0s in all; 2 did not go and went on"
    assert desk.decided_otherwise() == []


def test_a_ledger_with_claims_is_decided_again_alike() -> None:
    desk = desk_of()
    see(desk)
    desk.answer(KEY, tasks=[row(number) for number in range(4)])
    desk.wait(60)
    assert desk.decided_otherwise() == []
