"""Consistent hashing: keys and holders share one range, so a new holder takes only its own keys (Li, section 4.4.1)."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from hashlib import blake2b

POINTS = 128
"""Virtual points of a holder: the more there are, the more equal are the shares of holders."""


@dataclass(frozen=True, slots=True)
class Ring:
    """Points of holders by place. A key belongs to the next point, and those after the last one to the first."""

    points: tuple[tuple[int, str], ...]

    def holder(self, key: str) -> str:
        """The holder of a key."""
        return self.points[bisect(self.points, (_place(key), "")) % len(self.points)][1]


def ring_of(holders: Collection[str], points: int = POINTS) -> Ring:
    """The ring of some holders; ValueError without holders or points, or when a holder is named twice."""
    if not holders or points < 1:
        raise ValueError("a ring needs at least one holder with at least one point")
    if len(set(holders)) < len(holders):
        raise ValueError(f"a holder is named twice: {', '.join(sorted(holders))}")
    return Ring(tuple(sorted((_place(f"{holder}/{at}"), holder) for holder in holders for at in range(points))))


def migration(operator: str, keys: Iterable[str] | None, before: Ring, after: Ring) -> dict[str, tuple[str, str]]:
    """The keys of an operator that move, each with its old and its new holder.

    ``keys`` is None for an operator that cannot hand over its state. ValueError if it has to: it names the operator.
    """
    if keys is None:
        if before == after:
            return {}
        raise ValueError(f"operator {operator} cannot hand over its state, so its keys cannot move to other tasks")
    holders = {key: (before.holder(key), after.holder(key)) for key in keys}
    return {key: (old, new) for key, (old, new) in holders.items() if old != new}


def _place(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest())
