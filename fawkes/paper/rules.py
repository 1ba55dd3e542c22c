"""Verdicts: what the paper says, what came out, and whether a rule that was fixed before holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

REPRODUCED, DIFFERS, NOT_SHOWN = "reproduced", "differs", "not shown"

Judged = tuple[str, str, str, str, bool]
"""Name, section, published, ours, and whether the rule holds."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """``name`` is its identifier; ``published`` is the paper's statement in our words, ``ours`` what came out."""

    name: str
    section: str
    published: str
    ours: str
    verdict: str


def percent(value: float) -> str:
    """A part as percent, with its sign."""
    return f"{100 * value:+.0f} %"


def line_fit(points: Sequence[tuple[float, float]]) -> float:
    """R2 of the straight line through points; 1 when they are all equal."""
    count = len(points)
    mean_x, mean_y = sum(x for x, _ in points) / count, sum(y for _, y in points) / count
    xx = sum((x - mean_x) ** 2 for x, _ in points)
    xy = sum((x - mean_x) * (y - mean_y) for x, y in points)
    yy = sum((y - mean_y) ** 2 for _, y in points)
    return xy**2 / (xx * yy) if yy else 1.0
