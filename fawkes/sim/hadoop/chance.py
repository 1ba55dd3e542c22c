"""The factor by which an attempt takes longer or shorter than the mean: the same number for the same task, always.

Numbers are looked up by a counter, not drawn one after another: attempt number n of a job gets the same whatever
happened before, on any policy and in any process. No logarithm is taken on the way, whose last bit may differ from one
library to the next.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from math import exp
from statistics import NormalDist

#: entries of the table of quantiles: the tails end at 3.7 standard deviations
QUANTILES = 4096
_BITS = 12
_MASK = (1 << 64) - 1

NO_STREAM = 0
"""The stream of a job whose tasks do not differ."""


@dataclass(frozen=True, slots=True)
class Chance:
    """Factors of work: lognormal with mean 1 and deviation ``spread``; a ``share`` of them ``straggle`` times it.

    A ``speculative`` second attempt begins when the mean is over, and the one that ends first counts.
    """

    spread: float = 0.0
    share: float = 0.0
    straggle: float = 1.0
    speculative: bool = False

    def factor(self, stream: int, number: int) -> float:
        """The factor of a job's attempt number so and so, maps and reduces counted together; 1 for ``NO_STREAM``."""
        if stream == NO_STREAM or (not self.spread and not self.share):
            return 1.0
        bits = mixed((stream + number * 0x9E3779B97F4A7C15) & _MASK)
        factor = quantiles(self.spread)[bits >> (64 - _BITS)]
        if (bits & 0xFFFFFFFF) < self.share * 2**32:
            factor *= self.straggle
        if self.speculative and factor > 1.0:
            # The second attempt's own chance: the bits below those of the first.
            factor = min(factor, 1.0 + quantiles(self.spread)[(bits >> (64 - 2 * _BITS)) & (QUANTILES - 1)])
        return factor


def factor_of_node(seed: int, node: str, spread: float) -> float:
    """The work of tasks on a node over that on one of mean speed; the same for a node's name, always."""
    if not spread:
        return 1.0
    return quantiles(spread)[mixed(stream_of(seed, node, 0)) >> (64 - _BITS)]


def stream_of(seed: int, job: str, attempt: int) -> int:
    """The place where a job's numbers begin, 64 bits."""
    return int.from_bytes(hashlib.sha256(f"{seed} {attempt} {job}".encode()).digest()[:8])


def mixed(bits: int) -> int:
    """64 bits from 64 bits, each of which depends on all (SplitMix64's finalizer; Steele, Lea and Flood 2014)."""
    bits = ((bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    bits = ((bits ^ (bits >> 27)) * 0x94D049BB133111EB) & _MASK
    return bits ^ (bits >> 31)


@lru_cache
def quantiles(spread: float) -> tuple[float, ...]:
    """Equally likely factors in rising order, whose mean is 1 to within a thousandth."""
    normal = NormalDist(0.0, spread) if spread else None
    if normal is None:
        return (1.0,) * QUANTILES
    return tuple(exp(normal.inv_cdf((n + 0.5) / QUANTILES) - spread * spread / 2) for n in range(QUANTILES))
