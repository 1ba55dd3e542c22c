"""Hosts that are unfit, to the last microsecond and byte."""

from __future__ import annotations

import pytest

from fawkes.core.clusters.keeping import is_torn
from fawkes.core.watching import fit


@pytest.mark.parametrize(("took_us", "known"), [([], False), ([2_000_000] * 2, False), ([2_000_000] * 3, True)])
def test_a_slow_shell_is_looked_at_again(took_us: list[int], known: bool) -> None:
    assert fit.shell_is_known(took_us) is known
    assert fit.shell_is_known([*took_us, 1_000_000])


def test_the_limits_of_a_host() -> None:
    assert [fit.clock_differs(us) for us in (-1_000_001, -1_000_000, 1_000_000, 1_000_001)] == [
        True,
        False,
        False,
        True,
    ]
    assert [fit.tickets_fail(us) for us in (-300_000_001, -300_000_000, 300_000_000, 300_000_001)] == [
        True,
        False,
        False,
        True,
    ]
    assert [fit.stored_bytes(*row) for row in ((0, 3), (100, 1), (100, 3))] == [0, 102, 306]
    assert [fit.shell_is_slow(us) for us in (1_000_000, 1_000_001)] == [False, True]
    assert [fit.disk_is_full(free, 10**12) for free in (10**10 - 1, 10**10)] == [True, False]
    assert [fit.disk_is_full(free, 10**7) for free in (10**7 - 1, 10**7)] == [True, False]
    assert [fit.disk_takes_no_block(free) for free in (700_000_000, 2**30 + 2**27)] == [True, False]
    assert [fit.disk_is_smaller(free, 1_100) for free in (999, 1_000)] == [True, False]
    assert [fit.inodes_are_few(*row) for row in ((0, 0), (999, 5_000), (1_000, 5_000))] == [False, True, False]


def test_an_operation_that_stays_half_written_is_torn() -> None:
    assert [is_torn(looks) for looks in (5, 6)] == [False, True]
