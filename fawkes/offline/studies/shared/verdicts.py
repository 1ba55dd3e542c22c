"""Verdicts: what a paper says, what came out, whether a rule that was fixed before holds, and whether it could fail."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

REPRODUCED, DIFFERS, NOT_SHOWN = "reproduced", "differs", "not shown"
HOLDS = "holds"
"""The rule holds, but what would refute the statement was not run."""
CANNOT_FAIL = "cannot fail"
DEPENDS = "depends on "
"""Followed by the value on which the paper is silent."""


class NotRunError(LookupError):
    """A run that an experiment needs was not made."""


@dataclass(frozen=True, slots=True)
class RuleVerdict:
    """``name`` is its identifier; ``published`` is the paper's statement in our words, ``ours`` what came out.

    ``refuted_by`` says what would refute the statement, and what the rule says where that is so.
    """

    name: str
    section: str
    published: str
    ours: str
    verdict: str
    refuted_by: str = ""


def refuted(plain: RuleVerdict, by: str, on_models: Mapping[str, bool | None]) -> RuleVerdict:
    """The verdict with what would refute it, and whether the rule holds on each refuting model (None: not run)."""
    texts = {True: "the rule holds there too", False: "differs", None: "not run"}
    shown = ", ".join(f"{model}: {texts[holds]}" for model, holds in on_models.items())
    verdict = after_models(plain.verdict, on_models.values())
    return replace(plain, refuted_by=f"{by} ({shown})" if shown else by, verdict=verdict)


def after_models(verdict: str, on_models: Iterable[bool | None]) -> str:
    """The verdict once refuting models were looked at: never "reproduced" unless the rule fails on each of them.

    Without a refuting model the statement follows from how the experiment was made: it "cannot fail".
    """
    passed = list(on_models)
    if verdict == DIFFERS:
        return DIFFERS
    if True in passed or not passed:
        return CANNOT_FAIL
    return HOLDS if verdict == REPRODUCED and None in passed else verdict


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
