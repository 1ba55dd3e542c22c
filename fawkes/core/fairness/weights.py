"""The way from windows to weights (eq. 4): what policies answer, checked, and normalised."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from math import fsum, isfinite

from fawkes.core.values.model import ClusterId, Plain
from fawkes.core.values.window import Window


class Minimum(Enum):
    """The answer of the policy None: this MR-cluster stays at its minimum."""

    MINIMUM = "minimum"


MINIMUM = Minimum.MINIMUM
#: how deep a policy's memory may be nested
DEEPEST = 20

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
            # A copy: a policy that changed its memory in place would change what is stored of earlier ticks.
            answer, kept = measure(window, plain_copy(memory.get(cluster)))
            if kept is not None:
                remembered[cluster] = plain_copy(kept)
            value = answer if answer is None or isinstance(answer, Minimum) else _demand(answer)
        except Exception as error:
            return Measured({}, frozenset(), frozenset(), {}, failed=f"{cluster}: {in_words(error)}")
        if value is None:
            unreadable.add(cluster)
        elif isinstance(value, Minimum):
            pinned.add(cluster)
        else:
            values[cluster] = value
    return Measured(values, frozenset(pinned), frozenset(unreadable), remembered)


def in_words(error: Exception) -> str:
    """An error of a policy in words, with the notes that were added on its way, such as its line.

    ``raised`` is its name where it comes from a worker.
    """
    name = getattr(error, "raised", type(error).__name__)
    return ", ".join([f"{name}: {error}", *getattr(error, "__notes__", ())])


def _demand(answer: object) -> float:
    if isinstance(answer, bool) or not isinstance(answer, (int, float)):
        raise ValueError(f"{answer!r} is not a number")
    value = float(answer)
    if not isfinite(value) or value < 0:
        raise ValueError(f"{answer} is not a demand, which must be a finite number of at least 0")
    return value


def plain_copy(value: Plain, depth: int = 0) -> Plain:
    """A copy of a policy's memory as the ledger gives it back: lists, mappings by sorted text, finite numbers.

    ValueError for anything else. A policy that finds its keys in another order after a restart would decide otherwise.
    """
    if depth > DEEPEST:
        raise ValueError("the memory is nested too deeply")
    if isinstance(value, (list, tuple)):
        return [plain_copy(each, depth + 1) for each in value]
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {_text(key): plain_copy(value[key], depth + 1) for key in sorted(value)}
    if isinstance(value, str):
        return _text(value)
    if value is None or type(value) in (bool, int) or (type(value) is float and isfinite(value)):
        return value
    raise ValueError(f"the memory holds {value!r}; it may hold only numbers, strings, lists and mappings")


def _text(value: str) -> str:
    if not value.isascii():
        # UnicodeEncodeError, a ValueError, for half of a pair: no ledger can hold it.
        value.encode()
    return str(value)


def weights(values: Mapping[ClusterId, float]) -> dict[ClusterId, float]:
    """w_i = y_i / sum of all y (eq. 4); empty when all are 0: then the present shares are kept."""
    most = max(values.values(), default=0.0)
    if most <= 0:
        return {}
    # Divided by the largest first: the sum of very large demands would be an infinity, of very small ones 0.
    scaled = {cluster: value / most for cluster, value in values.items()}
    total = fsum(scaled.values())
    return {cluster: value / total for cluster, value in scaled.items()}
