"""The way from times of single tasks, as histories have them, to the means that a workload keeps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fawkes.base.units import MOST_BYTES

MS_US = 1000


@dataclass(frozen=True, slots=True)
class TaskSpan:
    """The time when a task ran, in milliseconds of the history's own clock."""

    start_ms: int
    end_ms: int

    @classmethod
    def of(cls, start: object, end: object) -> TaskSpan:
        """The span between two numbers of a history."""
        start_ms, end_ms = known(start), known(end)
        return cls(-1 if start_ms is None else start_ms, -1 if end_ms is None else end_ms)

    @property
    def is_sound(self) -> bool:
        """True if both times are known and in order."""
        return 0 <= self.start_ms <= self.end_ms


def map_us(maps: Sequence[TaskSpan]) -> int | None:
    """The mean time of a map; None when no time is known."""
    return _mean_us(span.end_ms - span.start_ms for span in maps if span.is_sound)


def reduce_us(reduces: Sequence[TaskSpan], maps: Sequence[TaskSpan]) -> int | None:
    """The mean time of a reduce without what it waited for maps; None when no time is known.

    A reduce that begins early fetches what is there and waits: counted from the end of the last map, its time is that
    of the work which is left.
    """
    last_ms = max((span.end_ms for span in maps if span.is_sound), default=0)
    return _mean_us(max(0, span.end_ms - max(span.start_ms, last_ms)) for span in reduces if span.is_sound)


def known(value: object) -> int | None:
    """A number of a history; None for -1 and whatever else is no number that can be."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MOST_BYTES:
        return None
    return int(value)


def total(values: Iterable[int | None]) -> int | None:
    """The sum of what is known; None when nothing is."""
    there = [value for value in values if value is not None]
    return sum(there) if there else None


def _mean_us(times_ms: Iterable[int]) -> int | None:
    there = list(times_ms)
    return round(sum(there) * MS_US / len(there)) if there else None
