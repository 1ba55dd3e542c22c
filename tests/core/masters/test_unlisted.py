"""A member that the second NameNode does not list waits, is restarted once, and then serves all the same."""

from __future__ import annotations

import pytest

from fawkes.core.masters.unlisted import RESTART_US, SERVES_US, Unlisted, unlisted


@pytest.mark.parametrize(
    ("waited_us", "restarted", "move"),
    [
        (0, False, Unlisted.WAIT),
        (RESTART_US - 1, False, Unlisted.WAIT),
        (RESTART_US, False, Unlisted.RESTART),
        (SERVES_US - 1, False, Unlisted.RESTART),
        (RESTART_US, True, Unlisted.WAIT),
        (SERVES_US - 1, True, Unlisted.WAIT),
        (SERVES_US, True, Unlisted.SERVES),
        (SERVES_US, False, Unlisted.SERVES),
    ],
)
def test_the_next_move(waited_us: int, restarted: bool, move: Unlisted) -> None:
    assert unlisted(waited_us, restarted=restarted) is move
