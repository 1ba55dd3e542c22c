"""Algorithm 1: tables of values, and laws of every answer."""

from __future__ import annotations

from dataclasses import replace
from math import inf

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fawkes.core.preemption.preempt import CAP, decide
from fawkes.core.preemption.values import Action, Answer, Cause, Choice, Device, Medium, Need, Task, Why
from tests.core.preemption.support import MB, MEDIUM, NAMES, POLICIES, RATE, device, task

ARRIVES = Need(cause=Cause.PRIORITY, priority=1)
LEAVES = Need(cause=Cause.LEAVES, within_s=60.0)
SAVED = {Action.FULL, Action.INCREMENTAL}


def alone(victim: Task, at: Device, need: Need = ARRIVES, name: str = "adaptive", **other: float) -> Answer:
    return decide([victim], {"n": at}, need, POLICIES[name], **other)[victim.id]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("progress_s", "action", "why"),
    [(112.4, Action.KILL, Why.COSTS), (112.5, Action.FULL, Why.POLICY), (None, Action.FULL, Why.POLICY)],
)
def test_a_task_of_5_gb_is_saved_if_its_progress_is_above_112_4_s(
    progress_s: float | None, action: Action, why: Why
) -> None:
    """K1 and K2; progress that is not known is not taken for nothing."""
    answer = alone(task("a", 5120, progress_s), device(10.0))
    assert (answer.action, answer.why) == (action, why)


@pytest.mark.parametrize(
    ("victim", "megabytes"),
    [
        (task("first"), 1000),
        (task("again", imaged=True, dirty=0.1), 100),
        (task("by rate", imaged=True, dirty_rate=0.1 / 60), 100),
        (task("all of it", imaged=True, dirty_rate=1.0), 1000),
        (task("no rate", imaged=True), 1000),
        (task("no progress", imaged=True, dirty_rate=0.1, progress_s=None), 1000),
    ],
    ids=lambda value: value.id if isinstance(value, Task) else "",
)
def test_a_dump_writes_what_changed_or_all_when_that_is_not_known(victim: Task, megabytes: float) -> None:
    """K3."""
    assert victim.image_bytes == pytest.approx(megabytes * MB)


def test_the_smallest_goes_first_and_dumping_stops_when_the_demand_is_met() -> None:
    """K4."""
    tasks = [task(name, 1024 * size, 900.0) for name, size in (("four", 4), ("one", 1), ("two", 2), ("eight", 8))]
    answers = decide(tasks, {"n": device()}, replace(ARRIVES, slots=3), POLICIES["adaptive"])
    ends = {name: answer.ready_s for name, answer in answers.items() if answer.action in SAVED}
    assert ends == pytest.approx({"one": 10.24, "two": 30.72, "four": 71.68})
    assert answers["eight"] == Answer(Action.WAIT, Why.SPARED)


def test_dumps_of_a_node_follow_one_another_and_those_of_two_nodes_do_not() -> None:
    """K6."""
    both = [task("a"), task("b")]
    apart = [task("a"), task("b", node="m")]
    devices = {"n": device(), "m": device()}
    for tasks, ends in ((both, [10, 20]), (apart, [10, 10])):
        answers = decide(tasks, devices, ARRIVES, POLICIES["checkpoint"])
        assert [answers[name].ready_s for name in "ab"] == pytest.approx(ends)


def test_a_node_with_a_shorter_queue_goes_first() -> None:
    devices = {"n": device(30.0), "m": device()}
    tasks = [task("busy", 500, 900.0), task("idle", 1000, 900.0, node="m")]
    answers = decide(tasks, devices, replace(ARRIVES, slots=1), POLICIES["adaptive"])
    assert [name for name, answer in answers.items() if answer.action in SAVED] == ["idle"]


def test_lower_priorities_go_first_and_equal_ones_never() -> None:
    tasks = [task("middle", 10, 900.0, priority=1), task("low", 1000, 900.0), task("high", 10, 900.0, priority=2)]
    need = Need(cause=Cause.PRIORITY, priority=2, slots=1)
    answers = decide(tasks, {"n": device()}, need, POLICIES["adaptive"])
    assert [name for name, answer in answers.items() if answer.why is not Why.SPARED] == ["low"]
    answers = decide(tasks, {"n": device()}, replace(need, slots=9), POLICIES["kill"])
    assert {name for name, answer in answers.items() if answer.action is Action.KILL} == {"low", "middle"}
    assert set(decide(tasks, {"n": device()}, replace(need, priority=None), POLICIES["kill"]).values()) == {
        Answer(Action.WAIT, Why.SPARED)
    }


@pytest.mark.parametrize(
    ("victim", "at", "need", "name", "answer"),
    [
        (task("in time"), device(50.0), LEAVES, "checkpoint", Answer(Action.FULL, Why.POLICY, 60.0)),
        (task("late"), device(50.1), LEAVES, "checkpoint", Answer(Action.KILL, Why.LATE, 0.0)),
        (task("no size", None), device(), LEAVES, "checkpoint", Answer(Action.KILL, Why.UNKNOWN, 0.0)),
        (task("no size", None), device(), ARRIVES, "checkpoint", Answer(Action.FULL, Why.POLICY, None)),
        (task("no size", None), device(), ARRIVES, "adaptive", Answer(Action.KILL, Why.UNKNOWN, 0.0)),
        (task("no queue"), device(None), ARRIVES, "adaptive", Answer(Action.KILL, Why.UNKNOWN, 0.0)),
        (task("no network"), device(medium=Medium(write=RATE, read=RATE)), LEAVES, "checkpoint",
         Answer(Action.KILL, Why.UNKNOWN, 0.0)),
        (task("slow network"), device(medium=replace(MEDIUM, network=RATE / 2)), LEAVES, "checkpoint",
         Answer(Action.FULL, Why.POLICY, 20.0)),
        (task("no rate"), device(medium=Medium(write=0, read=RATE)), ARRIVES, "adaptive",
         Answer(Action.KILL, Why.UNKNOWN, 0.0)),
        (task("no CRIU", can_save=False), device(), ARRIVES, "checkpoint", Answer(Action.KILL, Why.CANNOT, 0.0)),
        (task("waits"), device(), LEAVES, "wait", Answer(Action.WAIT, Why.POLICY, 60.0)),
        (task("waits"), device(), replace(LEAVES, within_s=0.0), "wait", Answer(Action.KILL, Why.LATE, 0.0)),
        (task("waits"), device(), ARRIVES, "wait", Answer(Action.WAIT, Why.POLICY, None)),
        (task("capped", kills=CAP), device(), ARRIVES, "kill", Answer(Action.FULL, Why.POLICY, 10.0)),
        (task("fresh", 1000, 0.0, kills=CAP), device(), ARRIVES, "adaptive", Answer(Action.FULL, Why.POLICY, 10.0)),
        (task("capped", can_save=False, kills=CAP), device(), ARRIVES, "kill", Answer(Action.WAIT, Why.CAP, None)),
        (task("capped", kills=CAP), device(55.0), LEAVES, "adaptive", Answer(Action.KILL, Why.CAP, 0.0)),
        (task("share"), device(), Need(cause=Cause.SHARE), "adaptive", Answer(Action.FULL, Why.POLICY, 10.0)),
    ],
)  # fmt: skip
def test_answers(victim: Task, at: Device, need: Need, name: str, answer: Answer) -> None:
    assert alone(victim, at, need, name) == answer


def test_a_store_without_room_means_kills() -> None:
    """K21."""
    tasks = [task("a"), task("b"), task("c", None)]
    answers = decide(tasks, {"n": device()}, ARRIVES, POLICIES["checkpoint"], room_bytes=1500 * MB)
    assert [answers[name].why for name in "abc"] == [Why.POLICY, Why.STORE, Why.STORE]


def test_a_task_at_the_cap_is_left_alone_while_others_can_go() -> None:
    tasks = [task("capped", kills=CAP, can_save=False), task("b"), task("c")]
    for within_s, killed in ((None, {"b", "c"}), (60.0, {"b", "c"})):
        need = replace(ARRIVES, slots=2, within_s=within_s)
        answers = decide(tasks, {"n": device()}, need, POLICIES["kill"])
        assert {name for name, answer in answers.items() if answer.action is Action.KILL} == killed


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ([], "for 1 victims"),
        ([7], "answered 7 for a"),
        ([Choice("stop")], "'stop', not wait"),
        ([Choice("save", below_s=-1.0)], "below_s of the choice of a is -1"),
        ([Choice("save", first=inf)], "first of the choice of a is inf"),
    ],
)
def test_an_answer_that_is_none_is_refused(answer: list[Choice], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        decide([task("a")], {"n": device()}, ARRIVES, lambda victims: answer)


def test_two_tasks_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="same id"):
        decide([task("a"), task("a")], {"n": device()}, ARRIVES, POLICIES["kill"])


TIMES = st.one_of(st.none(), st.floats(0, 500))
TASKS = st.lists(
    st.builds(
        task,
        st.just("?"),
        st.one_of(st.none(), st.floats(0, 9000)),
        TIMES,
        node=st.sampled_from("nm"),
        imaged=st.booleans(),
        dirty_rate=st.one_of(st.none(), st.floats(0, 0.1)),
        priority=st.integers(0, 2),
        kills=st.integers(0, 7),
        can_save=st.booleans(),
    ),
    max_size=6,
).map(lambda drawn: [replace(each, id=str(place)) for place, each in enumerate(drawn)])
NEEDS = st.builds(
    Need,
    cause=st.sampled_from(Cause),
    slots=st.one_of(st.none(), st.integers(0, 14)),
    within_s=TIMES,
    priority=st.one_of(st.none(), st.integers(0, 3)),
)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(TASKS, TIMES, NEEDS, st.sampled_from(NAMES), st.one_of(st.just(inf), st.floats(0, 1e10)))
def test_laws_of_every_answer(tasks: list[Task], queue_s: float | None, need: Need, name: str, room: float) -> None:
    devices = {"n": device(queue_s), "m": device()}
    answers = decide(tasks, devices, need, POLICIES[name], room_bytes=room)
    assert list(answers) == [each.id for each in tasks]
    gone = [answer for answer in answers.values() if answer.action is not Action.WAIT or answer.ready_s is not None]
    assert need.slots is None or len(gone) <= need.slots
    if need.within_s is not None:
        assert all(answer.ready_s is not None and answer.ready_s <= need.within_s for answer in gone)
        if need.cause is Cause.LEAVES and need.slots is None:
            assert len(gone) == len(tasks)
    saved = 0.0
    for each in tasks:
        answer = answers[each.id]
        if answer.action in SAVED:
            assert each.can_save
            assert (answer.action is Action.INCREMENTAL) == each.imaged
            saved += each.image_bytes or 0.0
        if answer.action is Action.KILL and each.kills >= CAP:
            assert need.within_s is not None
        if answer.why is not Why.SPARED:
            assert need.concerns(each)
    assert saved <= room * (1 + 1e-9)


@settings(max_examples=40, deadline=None)
@given(st.floats(1, 9000), st.floats(0, 500), st.floats(0, 100))
def test_adaptive_kills_exactly_where_that_is_no_dearer(megabytes: float, progress_s: float, queue_s: float) -> None:
    overhead_s = queue_s + megabytes / 100 + megabytes / 100
    answer = alone(task("a", megabytes, progress_s), device(queue_s))
    if abs(overhead_s - progress_s) > 1e-6:
        assert (answer.action is Action.KILL) == (progress_s < overhead_s)
