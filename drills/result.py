"""What came of a drill, as a line of the journal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from drills.checks import Failure
from drills.loss import Loss
from drills.plan import PLAN_VERSION, Fault


@dataclass(frozen=True, slots=True)
class Tried:
    """A fault, and which node it struck at which second; None when the story never gave it the chance."""

    fault: Fault | Loss
    node: str = ""
    at_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What came of the drill of a seed in a world (``sim`` or ``real``); ``figures`` are what was measured in it."""

    seed: int
    world: str
    tried: tuple[Tried, ...]
    failures: tuple[Failure, ...]
    steps: int
    took_s: float
    lost_to_faults: int = 0
    figures: Mapping[str, float] = field(default_factory=dict)

    def plain(self) -> dict[str, Any]:
        """As it is written into the journal."""
        return {
            "plan": PLAN_VERSION,
            "seed": self.seed,
            "world": self.world,
            "failures": [[failure.check, failure.what] for failure in self.failures],
            "tried": [[*tried.fault.row, tried.at_s is not None] for tried in self.tried],
            "lost_to_faults": self.lost_to_faults,
            "steps": self.steps,
            "took_s": round(self.took_s, 3),
            "figures": {name: round(value, 1) for name, value in self.figures.items()},
        }
