"""What came of a drill, as a line of the journal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from drills.checks import Failure
from drills.plan import PLAN_VERSION, Fault

#: what stands for a life where the controller is struck at a step of the ledger
BEFORE, AFTER = "before its effects", "after its effects"


@dataclass(frozen=True, slots=True)
class Tried:
    """A fault, and which node it struck at which second; None when the story never gave it the chance."""

    fault: Fault
    node: str = ""
    at_s: float | None = None

    @property
    def row(self) -> tuple[str, str, str]:
        """Where it stands in the table: what, which kind of node, in which life."""
        life = str(self.fault.life) or (AFTER if self.fault.told else BEFORE)
        return str(self.fault.kind), str(self.fault.spot), life


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What came of the drill of a seed in a world (``sim`` or ``real``)."""

    seed: int
    world: str
    tried: tuple[Tried, ...]
    failures: tuple[Failure, ...]
    steps: int
    took_s: float
    lost_to_faults: int = 0

    def plain(self) -> dict[str, Any]:
        """As it is written into the journal."""
        return {
            "plan": PLAN_VERSION,
            "seed": self.seed,
            "world": self.world,
            "failures": [[failure.check, failure.what] for failure in self.failures],
            "tried": [[*tried.row, tried.at_s is not None] for tried in self.tried],
            "lost_to_faults": self.lost_to_faults,
            "steps": self.steps,
            "took_s": round(self.took_s, 3),
        }
