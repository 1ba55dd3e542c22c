"""A member that the masters have and their second NameNode does not: how long it is held up by that."""

from __future__ import annotations

from enum import Enum, auto

from fawkes.base.units import SECOND_US

RESTART_US = 10 * SECOND_US
"""After this time without a DataNode in the second NameNode's list, the DataNode is started again, once."""
SERVES_US = 20 * SECOND_US
"""After this time the member serves all the same: the masters that are active have it."""


class Unlisted(Enum):
    """The next move for a member that the second NameNode does not list."""

    WAIT = auto()
    RESTART = auto()
    SERVES = auto()


def unlisted(waited_us: int, *, restarted: bool) -> Unlisted:
    """The next move after so long without it in the second NameNode's list."""
    if waited_us >= SERVES_US:
        return Unlisted.SERVES
    return Unlisted.RESTART if waited_us >= RESTART_US and not restarted else Unlisted.WAIT
