"""Streams: how many executors one is told to have by its batches, what it claims, and what it gives back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fawkes.base.catalog import Kind
from fawkes.base.units import SECOND_US
from fawkes.core.jobs.streaming import needed, reading_of
from fawkes.core.streams.values import ScaleIn, ScaleUp, Shuffle, Thresholds
from fawkes.core.values.effects import ClaimTasks, ClearSaved, PreemptTasks, SteerStream
from fawkes.core.values.events import Progress
from fawkes.core.values.model import Facts, JobId, StreamSpec
from fawkes.core.values.sight import StreamSeen, Work
from fawkes.core.values.tags import tag_of
from fawkes.report.tables.explain_job import explain_job
from tests.core.preemption.support import task_row
from tests.support.desk import Desk
from tests.support.pools import bundled, settings

SPEC = StreamSpec(
    least=1, most=8, batch_us=4 * SECOND_US, guarantee=0.5, thresholds=Thresholds(memory=None, network=None)
)
KEY = "stream:a-1"


def seen(
    executors: int = 2,
    took_s: float = 2.0,
    arrive: float = 10.0,
    batch: int = 2,
    wanted: int = 2,
    present: float | None = None,
    start: int | None = 0,
) -> StreamSeen:
    """A stream with a batch of what arrived in the batch before it; YARN has given it also those that ``start``."""
    rows = round(arrive * max(4.0, took_s))
    return StreamSeen(
        wanted=wanted, executors=executors, batch=batch, rows=rows, arrive=arrive, took_us=round(took_s * SECOND_US),
        present=present, given=None if start is None else executors + start,
    )  # fmt: skip


def desk_of(**job: Any) -> Desk:
    """An MR-cluster on two nodes with a stream that has just begun."""
    policy = bundled(Kind.PREEMPTION, "adaptive")
    desk = Desk(2, how=settings(preemption=policy.name, period_us=10**6 * SECOND_US), preemption=policy)
    desk.up("a")
    desk.submit("a", 1, priority=9, stream=SPEC)
    desk.job("a-1", Progress.RUNNING)
    if job:
        desk.submit("a", 2, **job)
        desk.now_s += 3
        desk.sample(a={"tasks_waiting": 0, "jobs_running": 1, "tasks_ready": 0})
        desk.job("a-2", Progress.RUNNING)
    return desk


def see(
    desk: Desk, stream: StreamSeen | None, *, ready: int | None = 0, slots: int = 8, room: int | None = None
) -> None:
    """A reading, 3 s after the one before; by default an executor takes a slot."""
    desk.now_s += 3
    stream = None if stream is None else replace(stream, room=slots if room is None else room)
    row = Work(tag=tag_of(JobId("a-1"), 1), application="app-1", master=True, running=1, waiting=0, stream=stream)
    other = Work(tag=tag_of(JobId("a-2"), 1), application="app-2", master=True, waiting=ready, running=8)
    desk.sample(a={"work": (row, other), "jobs_running": 2, "tasks_ready": ready, "slots_total": slots})


def congested(desk: Desk, *, executors: int = 1, ready: int | None = 0, slots: int = 8, looks: int = 6) -> Desk:
    """The same after readings of batches that take longer and longer."""
    for number in range(2, looks + 2):
        see(desk, seen(executors, 5.0 + 3 * number, 20.0, number), ready=ready, slots=slots)
    return desk


def reasons(desk: Desk) -> list[Facts]:
    said = (reason for entry in desk.store.entries() for reason in entry.decision.reasons)
    return [reason.facts for reason in said if reason.code == "stream-steered"]


def told(desk: Desk) -> list[int]:
    return [effect.executors for effect in desk.effects(SteerStream)]


def test_a_stream_whose_batches_are_late_gets_more_and_says_why() -> None:
    desk = congested(desk_of())
    assert told(desk) == [2]
    (said,) = reasons(desk)
    assert (said["before"], said["executors"], said["needs"]) == (1, 2, 2)
    assert str(said["error"]).endswith("more workers")


def test_a_stream_that_is_done_early_gives_back_all_that_it_does_not_need() -> None:
    desk = congested(desk_of())
    desk.answer(KEY)
    for number in range(7, 30):
        see(desk, seen(2, 0.4, 10.0, number))
    assert told(desk) == [2, 1]


@pytest.mark.parametrize("stream", [None, StreamSeen(wanted=1, executors=1)])
def test_a_stream_that_says_nothing_is_left_alone(stream: StreamSeen | None) -> None:
    desk = desk_of()
    for _ in range(20):
        see(desk, stream)
    assert told(desk) == []


def test_what_others_wait_for_is_given_back_down_to_the_guarantee() -> None:
    desk = congested(desk_of(saves=True), slots=2)
    assert told(desk) == [2]
    see(desk, seen(2, 3.0, batch=9), ready=3, slots=2)
    assert told(desk) == [2, 1]
    see(desk, seen(1, 3.0, batch=10), ready=0, slots=2)
    assert told(desk) == [2, 1, 2]


@pytest.mark.parametrize("others", [3, None])
def test_a_stream_whose_guarantee_is_not_known_takes_nothing_from_others_and_gives_back(others: int | None) -> None:
    desk = desk_of(saves=True)

    def look(stream: StreamSeen, ready: int | None) -> None:
        desk.now_s += 3
        row = Work(tag=tag_of(JobId("a-1"), 1), application="app-1", master=True, running=1, waiting=0, stream=stream)
        desk.sample(a={"work": (row,), "jobs_running": 2, "tasks_ready": ready, "slots_total": 8})

    for number in range(2, 8):
        look(seen(1, 5.0 + 3 * number, 20.0, number), others)
    assert told(desk) == []
    look(seen(1, 29.0, 20.0, 8), 0)
    desk.answer(KEY)
    assert told(desk) == [2]
    for number in range(9, 32):
        look(seen(2, 0.4, 10.0, number), others)
    assert told(desk) == [2, 1]


def test_a_stream_that_is_taken_back_is_told_nothing_more() -> None:
    desk = desk_of()
    desk.cancel("a-1")
    assert told(congested(desk)) == []


def test_a_stream_takes_nothing_back_while_nobody_knows_who_waits() -> None:
    desk = congested(desk_of(saves=True), slots=2)
    see(desk, seen(2, 3.0, batch=9), ready=3, slots=2)
    see(desk, seen(1, 3.0, batch=10), ready=None, slots=2)
    assert told(desk) == [2, 1]


def test_others_whose_tasks_nobody_knows_take_nothing_from_a_stream() -> None:
    desk = congested(desk_of(saves=True), slots=2)
    see(desk, seen(2, 3.0, batch=9), ready=None, slots=2)
    assert told(desk) == [2]


def test_a_stream_claims_its_guarantee_and_no_more() -> None:
    desk = congested(desk_of(saves=True, priority=9), slots=2)
    desk.answer(KEY)
    for number in range(7, 12):
        see(desk, seen(1, 3.0, batch=number, wanted=2), slots=2)
    assert not desk.effects(ClaimTasks)
    for number in range(12, 15):
        see(desk, seen(1, 3.0, batch=number, wanted=2), slots=4)
    (claim,) = desk.effects(ClaimTasks)
    assert (claim.job, claim.slots, claim.priority) == ("a-1", 1, 10)


def claims(desk: Desk, *streams: StreamSeen) -> list[int]:
    """The slots that a stream claims, of which nothing was lacking before these readings."""
    congested(desk, slots=2)
    desk.answer(KEY)
    for number, stream in enumerate(streams, 12):
        see(desk, replace(stream, batch=number), slots=16)
    return [claim.slots for claim in desk.effects(ClaimTasks)]


ONE_OF_TWO, STARTS = seen(1, 3.0), seen(1, 3.0, start=1)


@pytest.mark.parametrize(
    ("streams", "slots"),
    [
        ([ONE_OF_TWO] * 2, []),
        ([ONE_OF_TWO] * 3, [1]),
        ([STARTS] * 9, []),
        ([ONE_OF_TWO, ONE_OF_TWO, STARTS, ONE_OF_TWO, ONE_OF_TWO], []),
        ([seen(1, 3.0, start=None)] * 9, []),
        ([seen(1, 3.0, wanted=1)] * 9, []),
        ([seen(2, 3.0, start=-1)] * 9, []),
        ([seen(0, 3.0), seen(0, 3.0), *[ONE_OF_TWO] * 2], []),
        ([seen(0, 3.0), seen(0, 3.0), *[ONE_OF_TWO] * 3], [1]),
    ],
)
def test_a_stream_claims_what_yarn_has_not_given_it_for_a_while(streams: list[StreamSeen], slots: list[int]) -> None:
    """An executor that only starts is not lacking; nor is one for which nobody asks YARN yet, or that is not known."""
    assert claims(desk_of(saves=True), *streams) == slots


@pytest.mark.parametrize(("given", "orders"), [(1, 1), (2, 0)])
def test_nobody_goes_for_a_stream_that_got_room_while_the_nodes_were_asked(given: int, orders: int) -> None:
    desk = desk_of(saves=True)
    assert claims(desk, *[ONE_OF_TWO] * 3) == [1]
    see(desk, replace(ONE_OF_TWO, batch=15, given=given), slots=16)
    desk.answer("claim:a", tasks=[task_row("node01", 1, job="a-2")])
    assert len(desk.effects(PreemptTasks)) == orders


def test_executors_count_by_their_memory_and_not_as_tasks() -> None:
    desk = congested(desk_of(saves=True, priority=9), slots=8)
    desk.answer(KEY)
    for number in range(8, 10):
        see(desk, seen(1, 3.0, batch=number), slots=8, room=2)
    assert not desk.effects(ClaimTasks), "half of two is one"
    for number in range(10, 13):
        see(desk, seen(1, 3.0, batch=number), slots=12, room=4)
    (claim,) = desk.effects(ClaimTasks)
    assert claim.slots == 3, "an executor has the room of three tasks"


def test_executors_that_came_late_in_a_batch_do_not_count_for_all_of_it() -> None:
    """20 records a second, of which an executor handles 10: three of them need two thirds of the time."""
    late = replace(seen(4, 9.0, 20.0, present=2.2), rows=198)
    assert needed(ScaleUp(), 2, late, SPEC) == 3
    assert needed(ScaleUp(), 3, replace(late, executors=3), SPEC) == 3, "they have not shown yet what they do"
    assert needed(ScaleUp(), 3, replace(late, executors=3, rows=270, present=3.0), SPEC) == 4


def test_a_step_that_changes_nothing_puts_off_no_other() -> None:
    desk = congested(desk_of())
    desk.answer(KEY)
    for number in range(8, 20):
        see(desk, seen(2, 5.0 + 3 * number, 10.0, number, present=1.0))
    assert told(desk) == [2], "by what one executor does, two are enough"
    see(desk, seen(2, 80.0, 10.0, 20, present=2.0))
    assert told(desk) == [2, 3]


def test_how_a_stream_does_is_explained_while_it_runs() -> None:
    desk = desk_of()
    see(desk, StreamSeen(wanted=1, executors=0))
    assert "It has 0 of 1 executors, and no batch has ended yet" in explained(desk)
    see(desk, seen(2, took_s=6.0, batch=7, wanted=3))
    text = "It has 2 of 3 executors. 10 records come in a second; batch 7 took 6s, with a latency of 9s"
    assert text in explained(desk), "60 records came in 6 s"
    desk.job("a-1", Progress.SUCCEEDED)
    assert text not in explained(desk)


def explained(desk: Desk) -> list[str]:
    return [line.text for line in explain_job(desk.store, "a-1").lines]


def test_a_slow_start_is_no_congestion() -> None:
    desk = desk_of()
    for since_s in range(0, 30, 3):
        see(desk, replace(seen(1, 8.0 + since_s, batch=1), since_us=since_s * SECOND_US))
    assert told(desk) == []


@pytest.mark.parametrize("ended", [Progress.SUCCEEDED, Progress.FAILED, Progress.CANCELLED])
def test_what_was_noted_for_a_stream_is_removed_when_it_has_ended(ended: Progress) -> None:
    desk = desk_of()
    desk.job("a-1", ended)
    desk.done("clear:a-1")
    (clear,) = desk.effects(ClearSaved)
    assert (clear.job, clear.attempt) == ("a-1", 1)


def test_an_order_that_was_not_noted_is_given_again_while_the_stream_runs() -> None:
    desk = congested(desk_of())
    desk.failed(KEY, "HDFS does not answer")
    while KEY in desk.state.pending and len(told(desk)) < 2:
        desk.wake()
    assert told(desk) == [2, 2]
    desk.job("a-1", Progress.SUCCEEDED)
    desk.failed(KEY, "HDFS does not answer")
    assert KEY not in desk.state.pending


def test_a_ledger_with_streams_is_decided_again_alike() -> None:
    desk = congested(desk_of())
    assert told(desk) == [2]
    assert desk.decided_otherwise() == []


@given(
    now=st.integers(1, 8),
    executors=st.integers(0, 10),
    took_s=st.floats(0, 100),
    arrive=st.floats(0, 1e6),
    rows=st.integers(0, 10**7),
    action=st.sampled_from([ScaleUp(), ScaleIn(), Shuffle()]),
)
def test_no_step_leaves_the_limits_or_goes_the_wrong_way(
    now: int, executors: int, took_s: float, arrive: float, rows: int, action: ScaleUp | ScaleIn | Shuffle
) -> None:
    stream = StreamSeen(
        wanted=now, executors=executors, batch=1, rows=rows, arrive=arrive, took_us=round(took_s * SECOND_US)
    )
    after = needed(action, now, stream, SPEC)
    assert SPEC.least <= after <= SPEC.most
    if isinstance(action, ScaleUp):
        assert now <= after <= max(2 * now, now + 1)
        assert after > now or now == SPEC.most or executors < now
    elif isinstance(action, ScaleIn):
        assert after < now or now == SPEC.least
    else:
        assert after == now


def test_a_batch_in_time_has_no_queue_and_a_late_one_what_came_meanwhile() -> None:
    early, late = reading_of(seen(took_s=2.0), SPEC, SECOND_US), reading_of(seen(took_s=6.0), SPEC, SECOND_US)
    assert (early.queue, early.cpu) == (0.0, 0.5)
    assert (late.queue, late.cpu) == (20.0, 1.0)


@pytest.mark.parametrize(("since_s", "queue", "cpu"), [(5.9, 0.0, 0.25), (7.0, 0.0, 0.25), (9.0, 20.0, 1.0)])
def test_a_batch_under_way_is_late_once_it_runs_for_longer_than_it_may(
    since_s: float, queue: float, cpu: float
) -> None:
    # It began 3 s after the last one, which took 1 of its 4 s, had ended.
    now = reading_of(replace(seen(took_s=1.0), since_us=round(since_s * SECOND_US)), SPEC, SECOND_US)
    assert (now.queue, now.cpu) == (queue, cpu)


def test_nodes_come_for_a_stream_that_lacks_executors_and_go_when_it_needs_them_no_more() -> None:
    """A stream on a, other jobs on b; a node has three slots, and only moves that pay are made."""
    desk = Desk.running("a", "b", count=6, moves_must_pay=True)

    def period(stream: tuple[int, int], other: tuple[int, int]) -> dict[str, int]:
        """Readings of tasks that wait and run for a period, with the moves at its end; the nodes after these."""
        at_s = desk.state.pending["tick"].deadline_us / SECOND_US
        desk.wait(at_s - 1 - desk.now_s)
        desk.sample(
            **{
                name: {
                    "tasks_waiting": waiting, "tasks_running": running, "tasks_ready": 0, "tasks_done": 0,
                    "jobs_running": int(waiting + running > 0), "jobs_waiting": 0, "slots_used": running,
                    "slots_total": 3 * len(desk.lives(name)),
                }
                for name, (waiting, running) in {"a": stream, "b": other}.items()
            }
        )  # fmt: skip
        desk.wait(1)
        desk.clean_all()
        desk.settle_all()
        return desk.sizes()

    assert period((0, 2), (9, 6)) == {"a": 2, "b": 4}
    assert period((0, 2), (0, 0)) == {"a": 2, "b": 4}, "nobody lacks anything"
    assert period((5, 3), (0, 0)) == {"a": 3, "b": 3}, "the stream is congested"
    assert period((0, 8), (3, 6)) == {"a": 3, "b": 3}, "what it uses it keeps"
    assert period((0, 2), (6, 9)) == {"a": 2, "b": 4}, "after its load"
