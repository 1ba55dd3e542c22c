"""The machine's clock is stepped by ten hours both ways under an engine that takes its events from a real mailbox."""

from __future__ import annotations

import pytest

from fawkes.base.units import SECOND_US
from fawkes.core.values.events import Sampled, Woke
from fawkes.core.values.model import ClusterId, ClusterLife, Reading
from fawkes.live.base.mailbox import Mailbox
from fawkes.live.base.timers import Clock
from tests.support.desk import Desk
from tests.support.pools import settings

pytestmark = pytest.mark.slow

HOUR_NS = 3600 * 10**9
QUIET = Reading(
    cluster=ClusterId("a"), jobs_waiting=0, jobs_running=0, tasks_waiting=0, tasks_running=0, jobs_done=1, hdfs_ops=1
)


class Machine:
    """A wall clock that can be set, and one that cannot."""

    def __init__(self) -> None:
        self.wall_ns, self.steady_ns = 0, 0
        self.mailbox = Mailbox(Clock(wall=lambda: self.wall_ns, steady=lambda: self.steady_ns))
        self.desk = Desk(3, how=settings(idle_us=4 * 3600 * SECOND_US, clock_jump_us=60 * SECOND_US))
        self.desk.up("a")
        # The timer goes off once a minute here, so that a deadline may have passed a little.
        self.desk.checks = False

    def passes(self, seconds: int) -> None:
        """Time passes, with a reading each minute, and the timer goes off whenever it may."""
        for _ in range(seconds // 60):
            self.wall_ns += 60 * 10**9
            self.steady_ns += 60 * 10**9
            at_us = self.mailbox.clock.now_us()
            self.mailbox.post(Sampled(at_us=at_us, readings=(QUIET,)))
            self.mailbox.tell(lambda at: Woke(at_us=at))
        self.mailbox.end()
        while (event := self.mailbox.take()) is not None:
            self.desk.now_s = event.at_us / SECOND_US
            self.desk.tell(event)

    def said(self) -> list[str]:
        """The codes of everything that was decided about the clock."""
        return [
            reason.code
            for entry in self.desk.store.entries()
            for reason in entry.decision.reasons
            if reason.code == "clock-jumped"
        ]

    def life(self) -> ClusterLife:
        """How the idle MR-cluster stands."""
        return self.desk.state.clusters[ClusterId("a")].life


@pytest.mark.parametrize("steps", [(10,), (-10,), (10, -10), (-10, 10), (10, 10, -20)])
def test_an_idle_mr_cluster_outlives_every_step_and_not_its_idle_time(steps: tuple[int, ...]) -> None:
    machine = Machine()
    machine.passes(1800)
    for hours in steps:
        machine.wall_ns += hours * HOUR_NS
        machine.passes(1800)
        assert machine.life() is ClusterLife.RUNNING
    assert machine.said() == ["clock-jumped"] * len(steps)
    machine.passes((4 * 3600) - 1800 * (1 + len(steps)) - 600)
    assert machine.life() is ClusterLife.RUNNING
    machine.passes(1200)
    assert machine.life() is ClusterLife.SAVING
