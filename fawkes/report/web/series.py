"""Series of bounded length: the course of a number over a week takes no more room than that of an hour."""

from __future__ import annotations

from itertools import groupby

from fawkes.base.units import SECOND_US

Point = tuple[int, float | None]
"""A moment (us) and the value from then on; None: not known from then on."""


class Series:
    """A step function that keeps at most ``most`` points.

    When it is full, its time is divided into ever wider spans, and of each the first, last, lowest and highest point
    are kept, and the first without a value. So no peak and no gap is lost. The result depends on the points alone,
    not on how many came at once.
    """

    def __init__(self, most: int = 1_200) -> None:
        self._most = most
        self._span_us = 1
        self.points: list[Point] = []

    def add(self, at_us: int, value: float | None) -> None:
        """Add a value from a moment on; the same value again, and None before the first value, is no news."""
        if self.points:
            last_us, last = self.points[-1]
            if value == last:
                return
            if last_us == at_us:
                self.points.pop()
        elif value is None:
            return
        self.points.append((at_us, value))
        self.bound(self._most)

    def bound(self, most: int) -> None:
        """Keep at most so many points from now on."""
        self._most = most
        while len(self.points) > most:
            self._thin()

    @property
    def values(self) -> list[float | None]:
        """The values of the points."""
        return [value for _, value in self.points]

    def plain(self, start_us: int) -> list[list[float | None]]:
        """Moments, in seconds since ``start_us``, and values, for JSON."""
        return [[(at_us - start_us) / SECOND_US for at_us, _ in self.points], self.values]

    def _thin(self) -> None:
        self._span_us *= 2
        spans = groupby(self.points, key=lambda point: point[0] // self._span_us)
        self.points = [point for _, span in spans for point in _kept(list(span))]


def _kept(points: list[Point]) -> list[Point]:
    """The points of one span that a picture cannot do without."""
    known = [index for index, (_, value) in enumerate(points) if value is not None]
    kept = {0, len(points) - 1}
    if known:
        kept |= {
            min(known, key=lambda index: points[index][1] or 0.0),
            max(known, key=lambda index: points[index][1] or 0.0),
        }
    gaps = [index for index, (_, value) in enumerate(points) if value is None]
    return [points[index] for index in sorted(kept | set(gaps[:1]))]
