"""Verdicts: what the paper says, what came out, and whether a rule that was fixed before holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

REPRODUCED, DIFFERS, NOT_SHOWN = "reproduced", "differs", "not shown"
HOLDS = "holds"
"""The rule holds, but what would refute the statement was not run."""
CANNOT_FAIL = "cannot fail"
DEPENDS = "depends on "
"""Followed by the value on which the paper is silent."""

Judged = tuple[str, str, str, str, bool]
"""Name, section, published, ours, and whether the rule holds."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """``name`` is its identifier; ``published`` is the paper's statement in our words, ``ours`` what came out.

    ``refuted_by`` says what would refute the statement, and what the rule says where that is so.
    """

    name: str
    section: str
    published: str
    ours: str
    verdict: str
    refuted_by: str = ""


def percent(value: float) -> str:
    """A part as percent, with its sign."""
    return f"{100 * value:+.0f} %"


def slope(points: Sequence[tuple[float, float]]) -> float:
    """The slope of the straight line through points, by least squares."""
    mean_x, mean_y = _means(points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / sum((x - mean_x) ** 2 for x, _ in points)


def line_fit(points: Sequence[tuple[float, float]]) -> float:
    """R2 of the straight line through points; 1 when they are all equal."""
    mean_x, mean_y = _means(points)
    xx = sum((x - mean_x) ** 2 for x, _ in points)
    xy = sum((x - mean_x) * (y - mean_y) for x, y in points)
    yy = sum((y - mean_y) ** 2 for _, y in points)
    return xy**2 / (xx * yy) if yy else 1.0


def _means(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    return sum(x for x, _ in points) / len(points), sum(y for _, y in points) / len(points)
