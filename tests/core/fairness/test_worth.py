"""Moves that pay: the laws of gains and costs, and what a tick does and says with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fawkes.core.clusters.picture import Picture, picture, restored
from fawkes.core.deciding.pool import decide
from fawkes.core.fairness.worth import Prices, QueuedWork, Sites, gain_s, loss_s, time_s, useful_nodes, weigh
from fawkes.core.state.state import State, evolve
from fawkes.core.values.events import Event
from fawkes.core.values.model import ClusterId, NodeId, NodeLife
from fawkes.policy import compile_policy
from fawkes.report.words.sentences import sentence
from fawkes.store.record import event_of, from_plain, text_of, to_plain
from fawkes.store.record import loads as read_text
from tests.support.desk import Desk
from tests.support.pools import nodes, policy, request, run, settings, started, submit

A, B, C = ClusterId("a"), ClusterId("b"), ClusterId("c")
QUIET = {"jobs_running": 0, "tasks_running": 0, "slots_used": 0, "tasks_done": 0}
CHEAP = Prices(join_s=5, move_s=10, kills=False)

some = st.floats(0, 1000)
loads = st.builds(
    QueuedWork, jobs=some, tasks=some, running=st.floats(0, 100), task_s=st.floats(1, 500), slots=st.floats(1, 16)
)
prices = st.builds(
    Prices,
    join_s=st.floats(0, 100),
    move_s=st.floats(0, 500),
    kills=st.booleans(),
    shared_cores=st.sampled_from([0.0, 2.0, 8.0]),
    join_cpu_s=st.floats(0, 30),
)


def load(jobs: float = 10, tasks: float = 100, task_s: float = 20, running: float = 0, slots: float = 2) -> QueuedWork:
    return QueuedWork(jobs=jobs, tasks=tasks, running=running, task_s=task_s, slots=slots)


@pytest.mark.slow
@given(load=loads, nodes=st.integers(1, 50), more=st.integers(1, 20), prices=prices)
def test_more_nodes_never_make_jobs_wait_and_fewer_never_help(
    load: QueuedWork, nodes: int, more: int, prices: Prices
) -> None:
    assert gain_s(load, nodes, more, prices.move_s, prices) >= -1e-6
    assert loss_s(load, nodes, min(more, nodes), prices) >= -1e-6
    assert time_s(load, nodes, prices) >= (load.task_s if load.tasks else 0)


@pytest.mark.slow
@given(load=loads, nodes=st.integers(1, 50), prices=prices, late=st.floats(1, 1000))
def test_a_node_that_comes_later_saves_no_more(load: QueuedWork, nodes: int, prices: Prices, late: float) -> None:
    soon = gain_s(load, nodes, 1, prices.move_s, prices)
    assert gain_s(load, nodes, 1, prices.move_s + late, prices) <= soon + 1e-6 * (1 + soon)


@st.composite
def pools(draw: st.DrawFn) -> dict[str, Any]:
    names = [A, B, C]
    have = {c: draw(st.integers(1, 12)) for c in names}
    free = draw(st.integers(0, 8))
    total = sum(have.values()) + free
    first = draw(st.integers(1, total - 2))
    second = draw(st.integers(1, total - first - 1))
    wanted = {A: first, B: second, C: total - first - second}
    return {
        "have": have,
        "wanted": wanted,
        "most": {c: max(have[c], draw(st.integers(1, total))) for c in names},
        "now": {c: draw(loads) for c in names},
        "expected": {c: draw(loads) for c in names},
        "free": free,
        "prices": draw(prices),
    }


@pytest.mark.slow
@given(pool=pools())
def test_nodes_are_neither_made_nor_lost_and_nobody_gives_more_than_is_wanted(pool: dict[str, Any]) -> None:
    found = weigh(**pool)
    have, wanted = pool["have"], pool["wanted"]
    assert sum(found.targets.values()) <= sum(have.values()) + pool["free"]
    assert sum(found.targets.values()) >= sum(have.values())
    for c, target in found.targets.items():
        assert target >= min(have[c], wanted[c])
    assert all(one.nodes > 0 and one.saves_s <= one.costs_s + 1e-6 * (1 + one.costs_s) for one in found.refused)
    assert found == weigh(**{**pool, "have": dict(reversed(have.items()))})


@pytest.mark.slow
@given(pool=pools())
def test_what_was_weighed_is_not_weighed_differently_right_after(pool: dict[str, Any]) -> None:
    """No oscillation: the same loads move nothing back."""
    first = weigh(**pool)
    back = weigh(**{**pool, "have": first.targets, "wanted": pool["have"], "free": 0, "expected": pool["now"]})
    again = weigh(**{**pool, "have": first.targets, "free": 0})
    assert sum(again.targets.values()) == sum(back.targets.values()) == sum(first.targets.values())
    for c, target in again.targets.items():
        towards = sorted((first.targets[c], pool["wanted"][c]))
        assert towards[0] <= target <= towards[1]


def test_nodes_go_from_those_with_nothing_to_do() -> None:
    idle, busy = load(jobs=0, tasks=0), load()
    found = weigh({A: 5, B: 5}, {A: 9, B: 1}, {A: 10, B: 10}, {A: busy, B: idle}, {A: busy, B: idle}, 0, CHEAP)
    assert found.targets == {A: 9, B: 1}
    assert not found.refused


def test_a_giver_with_as_much_to_do_keeps_its_nodes() -> None:
    same = {A: load(), B: load()}
    found = weigh({A: 5, B: 5}, {A: 8, B: 2}, {A: 10, B: 10}, same, same, 0, CHEAP)
    assert found.targets == {A: 5, B: 5}
    [refused] = found.refused
    assert (refused.giver, refused.taker, refused.nodes) == (B, A, 3)
    assert refused.saves_s < refused.costs_s


def test_only_those_nodes_move_that_pay() -> None:
    found = weigh(
        {A: 2, B: 10}, {A: 11, B: 1}, {A: 12, B: 12}, {A: load(), B: load()}, {A: load(), B: load()}, 0, CHEAP
    )
    assert 2 < found.targets[A] < 11
    assert found.refused


def test_a_move_that_comes_after_the_work_is_done_saves_nothing() -> None:
    slow = Prices(join_s=5, move_s=10_000, kills=False)
    busy, idle = load(), load(jobs=0.01, tasks=1)
    found = weigh({A: 5, B: 5}, {A: 9, B: 1}, {A: 10, B: 10}, {A: busy, B: idle}, {A: busy, B: idle}, 0, slow)
    assert found.targets == {A: 5, B: 5}


@pytest.mark.parametrize(("cores", "target"), [(0.0, 6), (1.0, 2), (2.0, 4), (4.0, 6)])
def test_where_cores_are_shared_only_as_many_nodes_join_as_use_them(cores: float, target: int) -> None:
    lab = Prices(join_s=5, move_s=10, kills=False, shared_cores=cores, join_cpu_s=1)
    found = weigh({A: 2}, {A: 6}, {A: 6}, {A: load()}, {A: load()}, 4, lab)
    assert found.targets == {A: target}
    assert bool(found.refused) == (target < 6)


@given(load=loads, nodes=st.integers(1, 50), prices=prices, feeds=st.floats(0.01, 10))
def test_nodes_beyond_those_that_can_be_fed_save_nothing_and_cost_nothing(
    load: QueuedWork, nodes: int, prices: Prices, feeds: float
) -> None:
    fed = replace(load, feeds=feeds)
    useful = useful_nodes(fed, prices)
    assert useful <= useful_nodes(load, prices)
    if nodes >= useful:
        assert gain_s(fed, nodes, 1, prices.move_s, prices) == 0
    if nodes - 1 >= max(useful, 0.5):
        assert loss_s(fed, nodes, 1, replace(prices, kills=False)) == 0


def test_a_giver_whose_disks_feed_no_more_tasks_loses_nothing() -> None:
    many = load(tasks=1000)
    fed = replace(many, feeds=0.2)
    for giver, target in ((many, 2), (fed, 8)):
        now = {A: load(jobs=3, tasks=60), B: giver}
        assert weigh({A: 2, B: 10}, {A: 8, B: 4}, {A: 12, B: 12}, now, now, 0, CHEAP).targets[A] == target


def test_nodes_come_home_to_jobs_that_wait_though_the_policy_does_not_ask() -> None:
    now = {A: load(jobs=1, tasks=40), B: load(jobs=10, tasks=100)}
    stay = {A: 8, B: 2}
    assert weigh(stay, stay, {A: 12, B: 12}, now, now, 0, CHEAP).targets == stay
    assert weigh(stay, stay, {A: 12, B: 12}, now, now, 0, CHEAP, least={A: 1, B: 1}).targets == {A: 5, B: 5}
    assert weigh(stay, stay, {A: 12, B: 12}, now, now, 0, CHEAP, least={A: 7, B: 1}).targets == {A: 7, B: 3}
    assert weigh(stay, stay, {A: 12, B: 4}, now, now, 0, CHEAP, least={A: 1, B: 1}).targets == {A: 6, B: 4}


@pytest.mark.slow
@given(pool=pools(), least=st.integers(0, 4))
def test_nodes_come_home_at_most_to_equal_parts_and_then_stay(pool: dict[str, Any], least: int) -> None:
    stay = {**pool, "wanted": pool["have"], "free": 0}
    kept = {c: min(least, have) for c, have in pool["have"].items()}
    found = weigh(**stay, least=kept).targets
    equal = sum(found.values()) / len(found)
    assert sum(found.values()) == sum(pool["have"].values())
    for c, target in found.items():
        assert target >= kept[c]
        assert target == pool["have"][c] or abs(target - equal) < abs(pool["have"][c] - equal)
        assert (target - equal) * (pool["have"][c] - equal) >= 0
    again = weigh(**{**stay, "have": found, "wanted": found}, least=kept).targets
    assert all((again[c] - found[c]) * (found[c] - equal) <= 0 for c in found)


def test_free_nodes_of_a_site_are_counted_once_and_those_of_another_go_to_tasks_that_wait() -> None:
    quiet, waits = load(jobs=1, tasks=1), load(jobs=10, tasks=400)
    sites = Sites(home={A: "s", B: "s"}, near={A: 2, B: 2}, free={"s": 2, "t": 6}, fed={A: 3, B: 3})
    have, most = {A: 2, B: 2}, {A: 12, B: 12}
    expected = {A: waits, B: waits}
    for now, far in (({A: waits, B: quiet}, {A: 3, B: 0}), ({A: quiet, B: quiet}, {A: 0, B: 0})):
        found = weigh(have, have, most, now, expected, 8, CHEAP, sites).targets
        assert found == {c: 3 + far[c] for c in have}


@pytest.mark.parametrize(("running", "target"), [(0, 4), (2, 3), (3, 2)])
def test_nodes_start_where_shared_cores_are_idle(running: float, target: int) -> None:
    lab = Prices(join_s=5, move_s=10, kills=False, shared_cores=4, join_cpu_s=18)
    few = {A: load(jobs=2, tasks=running, running=running)}
    found = weigh({A: 2}, {A: 4}, {A: 9}, few, few, 2, lab)
    assert found.targets == {A: target}
    assert [one.nodes for one in found.refused] == [4 - target] * (target < 4)


def test_killed_tasks_are_a_cost() -> None:
    busy = load(tasks=40, running=20)
    kept = loss_s(busy, 10, 1, CHEAP)
    assert loss_s(busy, 10, 1, Prices(join_s=5, move_s=10, kills=True)) > kept


def test_free_nodes_are_not_piled_up_with_the_first_who_asks() -> None:
    first, later = load(), load(jobs=5, tasks=50)
    found = weigh({A: 2, B: 2}, {A: 14, B: 2}, {A: 16, B: 16}, {A: first, B: later}, {A: first, B: later}, 12, CHEAP)
    assert sum(found.targets.values()) == 16
    assert found.targets[A] > found.targets[B] > 2


def test_nobody_gets_more_than_its_most() -> None:
    found = weigh({A: 2}, {A: 3}, {A: 3}, {A: load()}, {A: load()}, 5, CHEAP)
    assert found.targets == {A: 3}


@pytest.mark.parametrize(("still_s", "target"), [(0.0, 4), (120.0, 5)])
def test_work_that_stands_still_is_not_taken_for_done_before_a_node_comes(still_s: float, target: int) -> None:
    """Thirty tasks of a rigid job on 24 slots: they begin on 30 slots, or never."""
    slow = Prices(join_s=4, move_s=73, kills=False)
    rigid = QueuedWork(jobs=1, tasks=30, running=0, task_s=30, slots=6, still_s=still_s)
    idle = load(jobs=0, tasks=0)
    found = weigh({A: 4, B: 4}, {A: 5, B: 3}, {A: 8, B: 8}, {A: rigid, B: idle}, {A: rigid, B: idle}, 0, slow)
    assert found.targets == {A: target, B: 8 - target}


def test_of_two_that_stand_still_neither_gives_to_the_other() -> None:
    same = {c: QueuedWork(jobs=1, tasks=30, running=0, task_s=30, slots=6, still_s=120) for c in (A, B)}
    assert weigh({A: 4, B: 4}, {A: 6, B: 2}, {A: 8, B: 8}, same, same, 0, CHEAP).targets == {A: 4, B: 4}


# --- ticks


def two(count: int = 12, **changes: Any) -> Desk:
    return Desk.running("a", "b", count=count, moves_must_pay=True, **changes)


def read(desk: Desk, **waiting: int) -> Mapping[str, Any]:
    """A tick after readings of so many tasks that wait in as many jobs, and of a slot in use on each node."""
    desk.now_s += 20
    slots = {name: 2 * desk.state.held(ClusterId(name)).counted for name in waiting}
    rows = {name: {"jobs_waiting": tasks, "tasks_waiting": tasks} for name, tasks in sorted(waiting.items())}
    desk.sample(**{name: {**QUIET, **row, "slots_total": slots[name]} for name, row in rows.items()})
    desk.wake()
    return desk.said("tick")[0]


def settle(desk: Desk) -> None:
    """The moves that are under way end."""
    desk.clean_all()
    desk.settle_all()


def even() -> Desk:
    """Both have as much to do, and six nodes each."""
    desk = two()
    read(desk, a=60, b=60)
    settle(desk)
    assert desk.sizes() == {"a": 6, "b": 6}
    return desk


def test_a_tick_says_which_moves_would_not_pay() -> None:
    desk = even()
    facts = read(desk, a=8, b=4)
    assert facts["verdict"] == "not-worth"
    assert desk.sizes() == {"a": 6, "b": 6}
    [reason] = [reason for reason in desk.last.reasons if reason.code == "not-worth"]
    assert (reason.facts["giver"], reason.facts["cluster"], reason.facts["count"]) == ("b", "a", 2)
    assert sentence(reason).startswith("Not moved: 2 nodes of b would save the jobs of a ")


def test_free_nodes_do_not_wait_for_jobs_and_for_the_threshold() -> None:
    desk = two()
    assert read(desk, a=0, b=0)["verdict"] == "spare"
    settle(desk)
    assert desk.sizes() == {"a": 6, "b": 6}
    assert read(desk, a=0, b=0)["verdict"] == "no-weights"


def test_free_nodes_do_not_wait_for_the_confirmation_but_the_others_do() -> None:
    desk = two(confirmations=3)
    assert read(desk, a=60, b=0)["verdict"] == "spare"
    settle(desk)
    held = desk.sizes()
    assert sum(held.values()) == 12
    assert read(desk, a=90, b=0)["verdict"] == "confirming"
    assert desk.sizes() == held


@pytest.mark.parametrize(("rest_us", "stays"), [(0, False), (10**12, True)])
def test_nodes_come_home_only_when_the_last_moves_have_settled(rest_us: int, stays: bool) -> None:
    desk = two(settle_after_grow_us=rest_us)
    read(desk, a=60, b=0)
    settle(desk)
    held = desk.sizes()
    assert held["a"] > held["b"]
    read(desk, a=0, b=60)
    settle(desk)
    assert (desk.sizes() == held) == stays


def test_without_the_setting_free_nodes_wait_for_the_policy() -> None:
    desk = Desk.running("a", "b", count=12)
    assert read(desk, a=0, b=0)["verdict"] == "no-weights"
    assert desk.sizes() == {"a": 2, "b": 2}


def test_nobody_is_moved_while_moves_are_stopped() -> None:
    desk = two()
    desk.pause("repair")
    for tasks, verdict in ((0, "no-weights"), (60, "paused")):
        assert read(desk, a=tasks, b=0)["verdict"] == verdict
        assert desk.sizes() == {"a": 2, "b": 2}


def test_the_same_tick_moves_without_the_setting() -> None:
    desk = Desk.running("a", "b", count=12)
    read(desk, a=60, b=60)
    settle(desk)
    assert read(desk, a=90, b=60)["verdict"] == "unbalanced"
    settle(desk)
    assert desk.sizes() == {"a": 7, "b": 5}
    assert desk.state.last_tick.loads == {}
    assert desk.state.stages() == {}


def test_a_drain_that_somebody_asked_for_is_never_held_back() -> None:
    desk = even()
    desk.drain("node12", reason="repair")
    assert desk.node("node12").life is NodeLife.DRAINING


def test_an_admission_is_never_held_back() -> None:
    desk = even()
    desk.request("c", 2)
    assert sum(state.life is NodeLife.DRAINING for state in desk.state.nodes.values()) == 2


def test_the_stages_of_moves_are_timed_and_survive_a_picture() -> None:
    desk = two()
    read(desk, a=60, b=60)
    desk.now_s += 7
    settle(desk)
    assert desk.state.took_s(NodeLife.JOINING) == pytest.approx(7, abs=7)
    again = restored(picture(desk.state))
    assert again.stages() == desk.state.stages() != {}
    assert to_plain(picture(again)) == to_plain(picture(desk.state))


def test_a_load_is_forgotten_slowly() -> None:
    desk = even()
    read(desk, a=300, b=0)
    settle(desk)
    assert 0 < desk.state.last_tick.loads[B]["jobs"] < 60  # type: ignore[index]


def test_one_whose_load_is_not_known_keeps_what_it_has() -> None:
    desk = two()
    facts = desk.tick(a=30, b=10)
    assert facts["verdict"] == "not-worth"
    assert desk.sizes() == {"a": 2, "b": 2}


def test_times_are_seconds() -> None:
    assert time_s(load(tasks=10, task_s=20, slots=2), 5, CHEAP) == pytest.approx(20)
    assert time_s(load(tasks=100, task_s=20, slots=2), 5, CHEAP) == pytest.approx(200)
    assert time_s(load(tasks=100, task_s=20, slots=2), 5, CHEAP, 5, 50) == pytest.approx(125)


def test_one_without_load_gives_all_but_the_minimum_to_one_with_much() -> None:
    desk = even()
    for _ in range(30):
        read(desk, a=2000, b=0)
        settle(desk)
    assert desk.sizes() == {"a": 10, "b": 2}


@pytest.mark.parametrize(("link", "far"), [(0, 4), (1_000_000, 0)])
def test_nodes_of_another_site_join_only_as_far_as_the_link_feeds_them(link: int, far: int) -> None:
    pool = (*nodes(4), *(replace(node, id=NodeId(f"far-{node.id}"), site="far") for node in nodes(4)))
    desk = Desk(pool=pool, how=settings(moves_must_pay=True, site_link_bytes_s=link))
    desk.up("a")
    read(desk, a=200)
    settle(desk)
    held = [state for state in desk.state.nodes.values() if state.owner == A]
    assert sum(state.node.site == "far" for state in held) == far
    assert len(held) == 4 + far


@pytest.mark.parametrize(
    ("ready", "used", "stands"),
    [(None, 2, True), (6, 2, True), (0, 2, False), (6, 4, False)],
    ids=["rigid", "rigid, and asked for", "reduces that wait for maps", "no free slot"],
)
def test_tasks_that_wait_beside_free_slots_lack_nodes_and_not_cores(ready: int | None, used: int, stands: bool) -> None:
    """Two shared cores are at work with four nodes; a rigid job needs more slots at once all the same."""
    desk = two(shared_cores=2)
    numbers = {"jobs_waiting": 1, "jobs_running": 1, "tasks_waiting": 6, "tasks_running": 2, "slots_used": used}
    idle = {**QUIET, "jobs_waiting": 0, "tasks_waiting": 0, "tasks_ready": ready, "slots_total": 4}
    for _ in range(8):
        desk.now_s += 10
        desk.sample(a={**idle, **numbers}, b=idle)
        desk.wake()
        settle(desk)
    assert (desk.sizes()["a"] > 4) == stands


def test_short_jobs_count_more_often_than_long_ones() -> None:
    jobs = []
    for tasks in (1, 400):
        desk = two()
        desk.submit("a", 1, tasks=tasks)
        read(desk, a=10, b=0)
        jobs.append(desk.state.last_tick.loads[A]["jobs"])  # type: ignore[index]
    assert jobs[0] > 10 * jobs[1]


@pytest.mark.slow
def test_a_ledger_with_moves_that_pay_is_decided_alike_again_also_from_a_picture() -> None:
    how = settings(moves_must_pay=True)
    events: list[Event] = [started(12, how=how), request("a", 1), request("b", 2)]
    events += [submit("a", n, 4 + n, tasks=60) for n in range(6)] + [submit("b", n, 90 + n, tasks=80) for n in range(6)]
    entries = list(run(events, 400).store.entries())
    codes = {reason.code for entry in entries for reason in entry.decision.reasons}
    assert {"grow", "not-worth"} <= codes
    measure = compile_policy(policy(), how)
    state = State()
    for number, entry in enumerate(entries):
        decision = decide(state, event_of(read_text(text_of(entry.event))), measure)
        assert text_of(decision) == text_of(entry.decision), entry.seq
        evolve(state, entry.event.at_us, entry.decision.changes)
        if number % 9 == 0:
            state = restored(from_plain(Picture, read_text(text_of(picture(state)))))
