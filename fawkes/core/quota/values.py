"""Parameters of quotas, and the values that planner, controllers and supervisors exchange (Baresi et al., Table 3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import TypeGuard

from fawkes.base.errors import ConfigError, cut

#: sums of quotas may exceed a node's cores by so much, which is the rounding of floats
TOLERANCE = 1e-9
#: beyond it nothing is a number of records, cores or seconds; a float cannot hold every whole number of a file
_LARGEST = 1e300


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """The parameters of Table 3: times in seconds, quotas in cores.

    alpha and phi are in (0, 1], beta and gamma in [0, 1], eta is above 1, the pole in [0, 1); all others are above 0,
    but for the least quota, which may be 0.
    """

    alpha: float = 1.0
    beta: float = 0.3
    gamma: float = 0.0
    phi: float = 1.0
    eta: float = 10.0
    pole: float = 0.0
    period_s: float = 0.5
    quantum: float = 0.05
    least: float = 0.0


#: of a site that writes nothing: an executor keeps enough to answer its driver
LIVE = Parameters(least=0.05)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaRules:
    """A site's rules for quotas; times in microseconds.

    An application whose driver has not answered for ``silent_us`` has no limit until it does. A node lifts its limits
    by itself when no controller has set any for ``guard_us``.
    """

    parameters: Parameters = LIVE
    silent_us: int = 10_000_000
    guard_us: int = 5_000_000


def number_of(value: object, file: str, key: str) -> float:
    """A finite number of a file; ConfigError with file and key for anything else."""
    if not is_number(value):
        raise ConfigError(f"is {cut(repr(value))}", file=file, key=key, hint="It must be a finite number")
    return float(value)


def is_number(value: object) -> TypeGuard[int | float]:
    """True for a finite number; booleans and numbers beyond 1e300 are none."""
    return isinstance(value, int | float) and not isinstance(value, bool) and -_LARGEST <= value <= _LARGEST


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A request of an executor for cores of its node, or of an MR-cluster for nodes of the pool.

    ``most`` is what it can use: its unfinished tasks, at most the node. ``left_s`` is the time to the deadline of its
    application (None: it has none, negative: it has passed), ``rate`` its mean nominal rate, ``weight`` that of a
    weighting policy, and ``least`` the minimum that it keeps.
    """

    id: str
    requested: float
    most: float
    left_s: float | None = None
    rate: float | None = None
    weight: float = 1.0
    submitted_s: float = 0.0
    least: float = 0.0


@dataclass(frozen=True, slots=True)
class Portion:
    """The answer of a quota policy for a claim.

    Claims with a number ``first`` are served one after another, the smallest first. All others share what is left by
    ``weight``. Neither gets more than ``most``, where that is a number.
    """

    first: float | None = None
    weight: float = 0.0
    most: float | None = None


Divide = Callable[[Sequence[Claim]], Sequence[Portion]]
"""A quota policy, made callable: a portion for each claim, in the order of the claims."""


def round_up(cores: float, quantum: float) -> float:
    """Cores rounded up to whole quanta (resolution 13)."""
    return quanta(ceil(cores / quantum - TOLERANCE), quantum)


def quanta(count: float, quantum: float) -> float:
    """The cores of so many quanta, without the noise of floats."""
    return round(count * quantum, 9)
