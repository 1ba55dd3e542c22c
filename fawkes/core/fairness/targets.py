"""Whole nodes from weights (facts, section 3): water-filling between bounds, then the largest remainder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import floor, fsum
from typing import Protocol, TypeVar

Key = TypeVar("Key", bound=str)
"""The name of who shares: an MR-cluster, or an executor on a node."""


class Limits(Protocol):
    """The least and the most of a part, as a real number."""

    @property
    def least(self) -> float:
        """The least."""

    @property
    def most(self) -> float:
        """The most, never below the least."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The least and the most nodes that an MR-cluster may have; ``least`` never exceeds ``most``."""

    least: int
    most: int


def fill(total: float, weights: Mapping[Key, float], bounds: Mapping[Key, Limits]) -> dict[Key, float]:
    """``total`` nodes (or cores) by weight between the bounds, as real numbers.

    MR-clusters whose part would fall below (above) their bounds are pinned there and the rest share what is left. The
    parts sum to ``total`` unless the bounds, or weights of 0, forbid it.
    """
    parts: dict[Key, float] = {}
    loose = set(weights)
    left = float(total)
    while loose:
        weight = fsum(weights[c] for c in loose)
        if weight <= 0:
            parts.update({c: float(bounds[c].least) for c in loose})
            break
        wanted = {c: max(0.0, left) * weights[c] / weight for c in loose}
        lifted = {c for c in loose if wanted[c] < bounds[c].least}
        cut = {c for c in loose if wanted[c] > bounds[c].most}
        missing = fsum(bounds[c].least - wanted[c] for c in lifted)
        spare = fsum(wanted[c] - bounds[c].most for c in cut)
        if not lifted and not cut:
            parts.update(wanted)
            break
        pinned = lifted if missing >= spare else cut
        for c in pinned:
            parts[c] = float(bounds[c].least if c in lifted else bounds[c].most)
        left -= fsum(parts[c] for c in pinned)
        loose -= pinned
    return {c: parts[c] for c in weights}


def whole_nodes(total: int, weights: Mapping[Key, float], bounds: Mapping[Key, Bounds]) -> dict[Key, int]:
    """``total`` nodes by weight, whole, between the bounds; ties go to the smaller id.

    Never less than the minimums, also when they sum to more than ``total`` (nodes were lost): the caller sees the sum.
    """
    parts = fill(total, weights, bounds)
    counts = {c: floor(part + 1e-9) for c, part in parts.items()}
    left = min(total, round(fsum(parts.values()))) - sum(counts.values())
    # Equal shares of a whole number differ in their last bits, from one tick to the next as well: a node would go to
    # and fro between them.
    order = sorted(parts, key=lambda c: (round(counts[c] - parts[c], 9), c))
    for c in order:
        if left <= 0:
            break
        if counts[c] < bounds[c].most and parts[c] > counts[c]:
            counts[c] += 1
            left -= 1
    return counts
