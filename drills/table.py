"""The table of what was tried and what was lost, from a journal."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from drills.journal import Row
from drills.loss import CASES, row_of
from drills.plan import AFTER, BEFORE, LIVES, SPOTS, Kind, Spot

#: as many seeds of failures a line names
_SEEDS = 6


@dataclass(slots=True)
class Line:
    """A fault on a kind of node in a life: in how many drills it struck, and the seeds of those that failed."""

    kind: str
    spot: str
    life: str
    runs: int = 0
    failed: list[str] = field(default_factory=list)

    def cells(self) -> tuple[str, str, str, str, str, str]:
        """As text."""
        seeds = ", ".join(self.failed[:_SEEDS]) + (", ..." if len(self.failed) > _SEEDS else "")
        return self.kind, self.spot, self.life, f"{self.runs:,}", str(len(self.failed)), seeds


_COUNTS = ("drills", "failed", "seeds")
_FAULTS = ("fault", "node", "life")
_LOSSES = ("promise", "phase", "controller")
_FIGURES = ("decided", "HDFS", "HDFS since", "YARN", "YARN since", "written", "lost", "told", "restored", "anew")
#: what the figures of a loss are
FIGURES = (
    "Seconds from the loss to the decision; without HDFS and YARN, since the loss and since the decision. Files that "
    "were written, files that were lost, blocks and files that were told as lost. Masters that were restored by an "
    "operator, MR-clusters that were requested anew (1)."
)
#: the world in which masters are lost by phase
MASTERS = "masters"


def head(world: str) -> tuple[str, ...]:
    """What the columns of the lines are called."""
    return (*(_LOSSES if world == MASTERS else _FAULTS), *_COUNTS)


def lines(rows: Iterable[Row], world: str) -> list[Line]:
    """One line for each fault that a plan can have, those that never struck included.

    A drill with several faults counts for each of them: what failed in it need not be each one's doing.
    """
    found = {key: Line(*key) for key in (_losses() if world == MASTERS else _possible())}
    for row in rows:
        if row["world"] != world:
            continue
        for kind, spot, life in dict.fromkeys(tuple(tried[:3]) for tried in row["tried"] if tried[3]):
            line = found.setdefault((kind, spot, life), Line(kind, spot, life))
            line.runs += 1
            if row["failures"]:
                line.failed.append(str(row["seed"]))
    return list(found.values())


def figures(rows: Iterable[Row]) -> list[tuple[str, ...]]:
    """What was measured in each drill that measured something: the names first, then a line for each drill."""
    measured = [row for row in rows if row.get("figures")]
    cells = [
        (str(row["seed"]), *row["tried"][0][:3], *(f"{row['figures'].get(name, '-')}" for name in _FIGURES))
        for row in measured
    ]
    return [("seed", *_LOSSES, *_FIGURES), *cells] if cells else []


def _losses() -> list[tuple[str, str, str]]:
    return [row_of(*case) for case in CASES]


def _possible() -> list[tuple[str, str, str]]:
    found = [
        (str(kind), str(spot), str(life))
        for kind, spots in SPOTS.items()
        for spot in spots
        for life in LIVES.get(spot, ())
    ]
    found += [(str(Kind.KILLED), str(Spot.CONTROLLER), life) for life in (BEFORE, AFTER)]
    return [*found, (str(Kind.STATE_DISK), str(Spot.CONTROLLER), BEFORE)]


def summary(rows: Iterable[Row], world: str) -> str:
    """How many drills there were in a world, how many failed, and what came of those."""
    mine = [row for row in rows if row["world"] == world]
    failed = [row for row in mine if row["failures"]]
    seconds = sum(row["took_s"] for row in mine)
    text = f"{world}: {len(mine):,} drills, {len(failed)} failed, {seconds:,.0f} s"
    for row in failed:
        text += f"\n  seed {row['seed']}: " + "; ".join(f"{check}: {what}" for check, what in row["failures"][:3])
    return text
