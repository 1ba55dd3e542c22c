"""Times of events never run backwards, whoever posts them."""

from __future__ import annotations

import threading

import pytest

from fawkes.base.errors import DeadlineError, RefusedError
from fawkes.base.units import SECOND_US
from fawkes.core.values import events
from fawkes.core.values.model import JobId, NodeId
from fawkes.core.values.sight import Attempt
from fawkes.live.base.mailbox import Mailbox
from fawkes.live.base.timers import Clock, ClockStep, Mark, Timers

LIMIT_S = 20.0
FAR_US = 4_000_000_000 * SECOND_US


def test_an_older_time_is_moved_up() -> None:
    mailbox = Mailbox(Clock())
    for at_us in (5, 3, 7):
        mailbox.post(events.Woke(at_us=at_us))
    mailbox.end()
    assert [mailbox.take(), mailbox.take(), mailbox.take(), mailbox.take()] == [
        events.Woke(at_us=5),
        events.Woke(at_us=5),
        events.Woke(at_us=7),
        None,
    ]


def test_a_clock_that_was_set_back_goes_on_at_the_pace_of_the_monotonic_clock() -> None:
    wall, steady = [1_000_000_000_000], [5_000]
    clock = Clock(wall=lambda: wall[0], steady=lambda: steady[0])
    assert clock.now_us() == 1_000_000_000
    wall[0], steady[0] = 400_000_000_000, 3_005_000
    assert clock.now_us() == 1_000_003_000
    assert clock.step() == ClockStep(by_us=-600_003_000, moved_us=0)
    wall[0], steady[0] = 2_000_000_000_000, 4_005_000
    assert clock.now_us() == 1_000_004_000
    # It was set ahead by more than it was behind: our time follows by the rest.
    assert clock.step() == ClockStep(by_us=1_599_999_000, moved_us=999_996_000)
    assert (clock.now_us(), clock.step()) == (2_000_000_000, None)
    wall[0] = 0
    assert clock.now_us() == 2_000_000_000


def test_a_clock_that_is_off_a_little_is_followed_at_once_and_is_no_news() -> None:
    wall, steady = [5_000_000_000], [0]
    clock = Clock(wall=lambda: wall[0], steady=lambda: steady[0])
    wall[0] += 900_000_000
    assert (clock.now_us(), clock.step()) == (5_900_000, None)
    wall[0] -= 900_000_000
    assert (clock.now_us(), clock.step()) == (5_900_000, None)


def test_a_clock_that_was_set_ahead_is_told_before_anything_has_the_new_time() -> None:
    wall, steady = [5_000_000_000], [0]
    mailbox = Mailbox(Clock(wall=lambda: wall[0], steady=lambda: steady[0]))
    mailbox.tell(lambda at: events.Woke(at_us=at))
    wall[0] += 36_000 * 10**9
    steady[0] += 2 * 10**9
    # Its time was read before the clock was set.
    mailbox.post(events.Woke(at_us=5_500_000))
    at_us = 36_005_000_000
    assert [mailbox.take() for _ in range(3)] == [
        events.Woke(at_us=5_000_000),
        events.ClockSeen(at_us=at_us, by_us=35_998_000_000, moved_us=35_998_000_000),
        events.Woke(at_us=at_us),
    ]
    wall[0] -= 36_000 * 10**9
    mailbox.look()
    mailbox.look()
    mailbox.end()
    assert [mailbox.take(), mailbox.take()] == [events.ClockSeen(at_us=at_us, by_us=-36_000_000_000), None]


def test_a_clock_that_is_set_while_the_ledger_is_full_is_told_afterwards() -> None:
    wall = [5_000_000_000]
    mailbox = Mailbox(Clock(wall=lambda: wall[0], steady=lambda: 0))
    mailbox.hold(RefusedError("full"))
    for _ in range(2):
        wall[0] += 18_000 * 10**9
        mailbox.tell(lambda at: events.Woke(at_us=at))
    mailbox.release()
    mailbox.look()
    assert mailbox.take() == events.Woke(at_us=5_000_000)
    assert mailbox.take() == events.ClockSeen(at_us=36_005_000_000, by_us=36_000_000_000, moved_us=36_000_000_000)


def test_between_two_runs_the_monotonic_clock_says_how_long_it_was() -> None:
    noted = Mark("boot-1", at_us=100, steady_us=10, wall_us=100)
    last_us = 40_000_000
    mark = Mark.of(noted.text())
    assert mark == noted
    assert mark is not None
    now = Mark("boot-1", at_us=36_050_000_000, steady_us=50_000_010, wall_us=36_050_000_100)
    assert mark.since(now, last_us) == (10_000_100, 36_000_000_000)
    assert mark.since(now._replace(boot="boot-2"), last_us) == (None, 0)
    assert mark.since(now._replace(wall_us=50_000_200), last_us) == (10_000_100, 0)
    assert [Mark.of(text) for text in ("", "1 2 3", "a b c d")] == [None, None, None]


def test_a_restart_after_the_clock_was_set_back_begins_where_the_ledger_ends() -> None:
    clock = Clock(not_before_us=FAR_US)
    assert FAR_US <= clock.now_us() < FAR_US + 3600 * SECOND_US


def test_everything_is_due_when_the_clock_was_set_back() -> None:
    clock, woken, rounds = Clock(), threading.Semaphore(0), threading.Semaphore(0)
    timers = Timers(clock, woken.release)
    timers.wake_at(clock.now_us() + 3600 * SECOND_US)
    timers.every("samples", 3600 * SECOND_US, rounds.release)
    timers.catch_up()
    assert woken.acquire(timeout=LIMIT_S)
    assert rounds.acquire(timeout=LIMIT_S)
    timers.close()


def test_many_threads_post_in_order_of_time() -> None:
    mailbox = Mailbox(Clock())

    def post_many() -> None:
        for _ in range(200):
            mailbox.tell(lambda at: events.Woke(at_us=at))

    threads = [threading.Thread(target=post_many) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    mailbox.end()
    times = [event.at_us for event in iter(mailbox.take, None)]
    assert len(times) == 1600
    assert times == sorted(times)


def _seen(at_us: int, node: str, condition: events.Condition, error: str = "") -> events.NodeObserved:
    return events.NodeObserved(at_us=at_us, node=NodeId(node), generation=1, condition=condition, error=error)


def _rest(mailbox: Mailbox) -> list[events.Event]:
    mailbox.end()
    return list(iter(mailbox.take, None))


def test_a_held_mailbox_keeps_the_latest_of_each_fact_and_refuses_requests() -> None:
    mailbox = Mailbox(Clock())
    mailbox.post(events.Woke(at_us=1))
    refusal = RefusedError("the disk is full")
    mailbox.hold(refusal)
    for at_us in range(2, 1002, 2):
        mailbox.post(events.Woke(at_us=at_us))
        mailbox.post(_seen(at_us + 1, "n1", events.Condition.LOST, f"since {at_us}"))
    mailbox.post(_seen(2000, "n1", events.Condition.SERVING))
    mailbox.post(_seen(2001, "n2", events.Condition.LOST))
    mailbox.post(events.Done(at_us=2002, effect="deploy:a", version=1))
    mailbox.post(events.Done(at_us=2003, effect="deploy:a", version=2))
    for at_us, exit_code in ((2004, None), (2005, 0)):
        mailbox.post(events.AttemptSeen(at_us=at_us, job=JobId("j"), attempt=1, seen=Attempt(exit=exit_code)))
    mailbox.post(_seen(2006, "n1", events.Condition.LOST, "again"))
    with pytest.raises(RefusedError) as caught:
        mailbox.post(events.PauseAsked(at_us=2007, reason="a visit"))
    assert caught.value is refusal is mailbox.refusal
    mailbox.release()
    mailbox.post(events.PauseAsked(at_us=2008, reason="a visit"))
    assert [(event.at_us, type(event).__name__) for event in _rest(mailbox)] == [
        (1, "Woke"),
        (1000, "Woke"),
        (2001, "NodesSeen"),
        (2002, "Done"),
        (2003, "Done"),
        (2005, "AttemptSeen"),
        (2006, "NodeObserved"),
        (2008, "PauseAsked"),
    ]


def test_news_of_nodes_that_have_come_by_now_are_taken_at_once_and_in_order() -> None:
    mailbox = Mailbox(Clock())
    first, second, third = (_seen(at_us, f"n{at_us}", events.Condition.CLEAN) for at_us in (1, 2, 4))
    for event in (first, second, events.Woke(at_us=3), third):
        mailbox.post(event)
    assert mailbox.take() == events.NodesSeen(at_us=2, seen=(first, second))
    assert mailbox.at_work()[0] == "NodesSeen"
    assert _rest(mailbox) == [events.Woke(at_us=3), third]


def test_the_end_is_not_taken_for_news() -> None:
    mailbox = Mailbox(Clock())
    mailbox.post(first := _seen(1, "n1", events.Condition.CLEAN))
    mailbox.end()
    assert [mailbox.take(), mailbox.take()] == [first, None]


def test_waiting_ends_with_the_run() -> None:
    mailbox = Mailbox(Clock())
    assert mailbox.wait(0.0)
    threading.Timer(0.05, mailbox.end).start()
    assert not mailbox.wait(LIMIT_S)


@pytest.mark.parametrize("zone", ["UTC", "CET-1CEST,M3.5.0,M10.5.0/3", "Mars/Olympus"])
def test_the_timer_goes_off_once_at_the_latest_time_it_was_set_to(zone: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever time people read off the clocks of this machine."""
    monkeypatch.setenv("TZ", zone)
    clock, fired = Clock(), threading.Semaphore(0)
    timers = Timers(clock, fired.release)
    timers.every("hour", 3600 * SECOND_US, fired.release)
    timers.wake_at(clock.now_us() + 3600 * SECOND_US)
    timers.wake_at(clock.now_us())
    assert fired.acquire(timeout=LIMIT_S)
    timers.close()
    assert not fired.acquire(blocking=False)


@pytest.mark.slow
def test_a_round_that_takes_long_is_never_beside_itself_and_does_not_pile_up() -> None:
    clock = Clock()
    timers = Timers(clock, lambda: None)
    lock, rounds, overlaps = threading.Lock(), threading.Semaphore(0), []

    def slow() -> None:
        if not lock.acquire(blocking=False):
            overlaps.append(1)
            return
        rounds.release()
        threading.Event().wait(0.15)
        lock.release()

    timers.every("slow", 50_000, slow)
    for _ in range(4):
        assert rounds.acquire(timeout=LIMIT_S)
    timers.close()
    assert overlaps == []


def test_what_the_engine_works_on_is_known() -> None:
    mailbox = Mailbox(Clock())
    assert mailbox.at_work() == ("", 0.0)
    mailbox.post(events.Woke(at_us=1))
    mailbox.take()
    kind, seconds = mailbox.at_work()
    assert (kind, seconds >= 0) == ("Woke", True)


def test_a_look_is_answered_between_two_events_by_the_thread_that_takes_them() -> None:
    mailbox = Mailbox(Clock())
    taker = threading.Thread(target=mailbox.take)
    taker.start()
    assert mailbox.between(threading.current_thread, 20) is taker
    with pytest.raises(ZeroDivisionError):
        mailbox.between(lambda: 1 // 0, 20)
    mailbox.end()
    taker.join()


def test_a_look_that_nobody_has_time_for_is_given_up_and_never_made() -> None:
    mailbox, looks = Mailbox(Clock()), list[int]()
    with pytest.raises(DeadlineError, match=r"has not looked at this within 0.01 s"):
        mailbox.between(lambda: looks.append(1), 0.01)
    mailbox.end()
    assert mailbox.take() is None
    assert looks == []
