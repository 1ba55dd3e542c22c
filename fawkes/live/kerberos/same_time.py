"""Comparison of the nodes' time with that of this machine: Kerberos refuses tickets that seem to be of another time."""

from __future__ import annotations

import time
from collections.abc import Collection

from fawkes.base.errors import HostError
from fawkes.base.units import show_duration
from fawkes.core.values.model import NodeId
from fawkes.core.watching.fit import MOST_SKEW_US, tickets_fail
from fawkes.live.nodes.ground import Ground
from fawkes.playbook import reading

_CLOCK = "fact clock_ns $(date +%s%N)"


def check_clocks(ground: Ground, nodes: Collection[NodeId]) -> None:
    """Read the clocks of nodes, all at once; changes nothing there.

    HostError for the first, by name, that is off by more than Kerberos takes, or does not say its time.
    """
    before = time.time_ns()
    answers = ground.run_on({node: reading(_CLOCK) for node in nodes}, "reading the clock")
    after = time.time_ns()
    for node, facts in sorted(ground.all_well(answers).items()):
        theirs = facts.number("clock_ns")
        if theirs is None:
            raise HostError("its clock cannot be read", host=node, hint="`date +%s%N` must print a number there")
        if (error := wrong_clock(node, ahead_us(theirs, before, after))) is not None:
            raise error


def ahead_us(theirs_ns: int, before_ns: int, after_ns: int) -> int:
    """The lead of a clock that was read between two moments of ours (us), beyond what the way there explains."""
    return (max(0, theirs_ns - after_ns) - max(0, before_ns - theirs_ns)) // 1000


def wrong_clock(node: str, off_us: int) -> HostError | None:
    """The error for a node whose clock is ``off_us`` ahead of ours; None when Kerberos takes that."""
    if not tickets_fail(off_us):
        return None
    side = "ahead of" if off_us > 0 else "behind"
    return HostError(
        f"its clock is {show_duration(abs(off_us))} {side} this machine's, and Kerberos takes at most "
        f"{show_duration(MOST_SKEW_US)}",
        host=node,
        hint="Let chrony or ntpd set both",
    )
