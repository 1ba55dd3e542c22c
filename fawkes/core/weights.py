"""From windows to weights (eq. 4): what policies answer, checked, and normalised."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from math import fsum, isfinite

from fawkes.core.model import ClusterId, Plain
from fawkes.core.window import Window


class Minimum(Enum):
    """What the policy None answers: this MR-cluster stays at its minimum."""

    MINIMUM = "minimum"


MINIMUM = Minimum.MINIMUM

#: A policy: a window and what it remembered of this MR-cluster -> y_i (or MINIMUM, or None: cannot tell) and a memory.
Measure = Callable[[Window, Plain], tuple[float | Minimum | None, Plain]]


@dataclass(frozen=True, slots=True)
class Measured:
    """The answers of a policy for all active MR-clusters.

    ``values`` are y_i, ``pinned`` answered MINIMUM, ``unreadable`` gave nothing to measure, ``failed`` is why the
    policy's answers cannot be used at all (it raised, or gave NaN, an infinity or a negative number).
    """

    values: Mapping[ClusterId, float]
    pinned: frozenset[ClusterId]
    unreadable: frozenset[ClusterId]
    memory: Mapping[ClusterId, Plain]
    failed: str = ""


def measure_all(measure: Measure, windows: Mapping[ClusterId, Window], memory: Mapping[ClusterId, Plain]) -> Measured:
    """Ask the policy about each MR-cluster; one bad answer makes all of them unusable (``failed`` says why)."""
    values: dict[ClusterId, float] = {}
    pinned: set[ClusterId] = set()
    unreadable: set[ClusterId] = set()
    remembered: dict[ClusterId, Plain] = {}
    for cluster, window in windows.items():
        if not window.samples:
            unreadable.add(cluster)
            continue
        try:
            answer, kept = measure(window, memory.get(cluster))
        except Exception as error:
            return _failed(f"{cluster}: {type(error).__name__}: {error}")
        if kept is not None:
            remembered[cluster] = kept
        if answer is None:
            unreadable.add(cluster)
        elif isinstance(answer, Minimum):
            pinned.add(cluster)
        elif not isinstance(answer, (int, float)):
            return _failed(f"{cluster}: {answer!r} is no number")
        elif not isfinite(answer) or answer < 0:
            return _failed(f"{cluster}: {answer} is no demand: a finite number of at least 0 is")
        else:
            values[cluster] = float(answer)
    return Measured(values, frozenset(pinned), frozenset(unreadable), remembered)


def _failed(why: str) -> Measured:
    return Measured({}, frozenset(), frozenset(), {}, failed=why)


def weights(values: Mapping[ClusterId, float]) -> dict[ClusterId, float]:
    """w_i = y_i / sum of all y (eq. 4); empty when all are 0: then the present shares are kept."""
    total = fsum(values.values())
    if total <= 0:
        return {}
    return {cluster: value / total for cluster, value in values.items()}
