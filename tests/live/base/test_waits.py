"""A wait of work is reported when it has lasted, and again after twice the time."""

from __future__ import annotations

from fawkes.base.units import SECOND_US
from fawkes.core.values.events import WaitSeen
from fawkes.live.base import limits
from fawkes.live.base.mailbox import Mailbox
from fawkes.live.base.waits import Waits
from tests.live.played import SetClock

FIRST_S = limits.WAIT_TOLD_US // SECOND_US


class Hour(SetClock):
    """An hour of rounds, one each second, in which one effect waits for what a test says."""

    def __init__(self) -> None:
        super().__init__()
        self.mailbox = Mailbox(self)
        self.waits = Waits(self.mailbox)

    def seconds(self, count: int) -> None:
        for _ in range(count):
            self.now += SECOND_US
            self.waits.round()

    def told(self) -> list[tuple[int, str]]:
        """When something was told, in seconds, and what for."""
        self.mailbox.end()
        waits: list[tuple[int, str]] = []
        while (event := self.mailbox.take()) is not None:
            assert isinstance(event, WaitSeen)
            waits.append((event.since_us // SECOND_US, event.waits_for))
        return waits


def test_a_wait_of_an_hour_is_told_a_few_times() -> None:
    hour = Hour()
    hour.waits.note("cluster:a", 1, "x")
    hour.seconds(3600)
    assert hour.told() == [(0, "x")] * 7


def test_another_wait_another_try_and_what_gets_on_begin_anew() -> None:
    hour = Hour()
    hour.waits.note("cluster:a", 1, "x")
    hour.seconds(FIRST_S - 1)
    hour.waits.note("cluster:a", 1, "x")
    hour.waits.note("cluster:a", 1, "y")
    hour.seconds(FIRST_S - 1)
    hour.waits.note("cluster:a", 2, "y")
    hour.seconds(FIRST_S - 1)
    hour.waits.moves("cluster:a")
    hour.seconds(FIRST_S - 1)
    hour.waits.moves("cluster:b")
    hour.waits.over("cluster:b")
    hour.seconds(1)
    hour.waits.over("cluster:a")
    hour.seconds(100)
    assert hour.told() == [(3 * (FIRST_S - 1), "y")]
