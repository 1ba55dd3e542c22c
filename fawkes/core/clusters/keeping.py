"""The due times of kept copies of an MR-cluster's masters: the second copy, a new image, and when they may go."""

from __future__ import annotations

import re
from dataclasses import dataclass

from fawkes.base.units import SECOND_US
from fawkes.core.state import alerts
from fawkes.core.values.model import ClusterAlert, ClusterLife, ClusterState


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepRules:
    """A site's rules for the copies of its masters' data; times in microseconds.

    The second copy counts when both the masters' disk and the controller's are lost. A NameNode reads the edits beside
    its image when it starts: with more than ``edits_bytes`` it gets a new image. Making one costs a program as large as
    the NameNode, so that ``image_rest_us`` pass between two attempts, however these ended.
    """

    second_every_us: int = 10_000_000
    edits_bytes: int = 64 << 20
    image_rest_us: int = 600_000_000

    def second_due(self, copied_us: int, second_us: int) -> bool:
        """True if the second copy, which has everything up to ``second_us``, is to get what the first one has."""
        return copied_us - second_us >= self.second_every_us

    def image_due(self, edits_bytes: int, at_us: int, tried_us: int | None) -> bool:
        """True if a new image is to be made at ``at_us``; ``tried_us`` is when the last attempt began."""
        rested = tried_us is None or at_us - tried_us >= self.image_rest_us
        return edits_bytes > self.edits_bytes and rested


#: the ledger is on the same disk as the first copy, and must always find room
LEFT_FREE_BYTES = 256 << 20


def fits(free_bytes: int, size_bytes: int) -> bool:
    """True if the controller's disk has room for so much more of a copy."""
    return free_bytes - size_bytes >= LEFT_FREE_BYTES


def outgrows(looks: int) -> bool:
    """True if so many looks in one round all found more edits (gigabytes): the rest comes with the next round."""
    return looks >= 300


def is_torn(looks: int) -> bool:
    """True if so many looks in a row found the same operation half written: nobody writes the rest of it."""
    return looks > 5


_NUMBER = re.compile(r"(?<![\w.-])\d[\d.,]*")


def is_news(last: str | None, error: str, ago_us: int) -> bool:
    """True if ``error``, why copying does not work, is to be told when ``last`` was so long ago (None: never).

    That it works or not is told at once, another reason once a minute: two may take turns. Other numbers in it are no
    other reason; digits within names, as of nodes, are no numbers.
    """
    if not last or not error:
        return last != error
    return ago_us >= 60 * SECOND_US and _NUMBER.sub("", last) != _NUMBER.sub("", error)


def copies_needed(cluster: ClusterState | None) -> bool:
    """True unless an MR-cluster has gone and nothing of it was lost: its kept copies are of no use then.

    ``cluster`` is the latest that the ledger has of it; None: the ledger never had it, so that nothing is known. What
    was lost while it was there, and was not acknowledged by `fawkes retry`, may still be read from the copies.
    """
    return cluster is None or cluster.life is not ClusterLife.GONE or alerts.about(cluster, ClusterAlert.WRITES)
