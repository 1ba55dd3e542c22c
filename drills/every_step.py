"""The systematic drill: the controller is killed after every stored event of a story, and another takes over.

The story has moves of transient-core nodes, a load and a save. A ledger that fills its disk at each step is the third
of the ways: the event is not even stored then.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from drills.plan import Fault, Kind, Plan, Spot, plan_of
from drills.result import Result
from drills.simulated import Drill, play

#: stories with moves of transient-core and of core nodes, a load and a save
SEEDS = (25, 34, 40)
AWAY_S = 12
WAYS = ((Kind.KILLED, False), (Kind.KILLED, True), (Kind.STATE_DISK, False))


def story(seed: int) -> Plan:
    """A story without a fault."""
    return replace(plan_of(seed), faults=())


def every_step(seed: int, every: int = 1) -> Iterator[tuple[Fault, Result]]:
    """The drill of each kill, after every step or every so many; first that of the story alone must hold."""
    plan = story(seed)
    alone = Drill(plan)
    quiet = alone.run()
    if quiet.failures:
        raise ValueError(f"the story of seed {seed} fails by itself: {quiet.failures[0].what}")
    for step in range(2, quiet.steps + 1, every):
        for kind, told in WAYS:
            fault = Fault(kind=kind, spot=Spot.CONTROLLER, step=step, told=told, back_s=AWAY_S)
            yield fault, play(replace(plan, faults=(fault,)))


def codes(seed: int) -> set[str]:
    """What happens in the story: the codes of its reasons, evacuations of transient-core nodes among them."""
    drill = Drill(story(seed))
    drill.run()
    return {reason.code for entry in drill.store.entries() for reason in entry.decision.reasons}
