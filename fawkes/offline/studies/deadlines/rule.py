"""What a rule of the deadline chapter is: a reported number with a band, and the models on which it must not hold.

Where the dissertation gives one number for one case, the band is a few points around it. Where it says "up to", ours
is within half and twice the reported gain: the traces are not public, and a twin has neither their bursts nor their
repeated jobs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from fawkes.offline.studies.deadlines.runs import BASELINE, JUSTICE, ORACLE, PYTHIA, REACTIVE
from fawkes.offline.studies.deadlines.study import Study
from fawkes.offline.studies.paper.judging.rules import percent

Check = Callable[[Study], tuple[str, bool]]

#: models that refute: whose rows stand for whose
MODELS: Mapping[str, Mapping[str, str]] = {
    "no-admission": {PYTHIA: REACTIVE, JUSTICE: REACTIVE, ORACLE: REACTIVE},
    "never-late": {BASELINE: ORACLE, REACTIVE: ORACLE},
    "blind": {PYTHIA: BASELINE, JUSTICE: BASELINE},
    "all-knowing": {PYTHIA: ORACLE, JUSTICE: ORACLE, REACTIVE: ORACLE, BASELINE: ORACLE},
}
ABOUT: Mapping[str, str] = {
    "no-admission": "PYTHIA, Justice and the Oracle do what Reactive FS does",
    "never-late": "both fair shares do what the Oracle does",
    "blind": "PYTHIA and Justice do what Baseline FS does",
    "all-knowing": "all do what the Oracle does",
}

POINTS, FEW_POINTS = 0.05, 0.03


@dataclass(frozen=True, slots=True)
class Rule:
    """A statement and its check. ``axes``: open readings it depends on. ``models``: where the check must not hold."""

    name: str
    published: str
    check: Check
    axes: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    refuted_by: str = ""

    @property
    def section(self) -> str:
        """The chapter, or P2 for the follow-up paper."""
        return self.name.partition("-")[0]


def up_to(ours: float, reported: float) -> bool:
    """True if a gain is from half to twice the reported one."""
    return reported / 2 <= ours <= reported * 2


def near(ours: float, reported: float, points: float) -> bool:
    """True if a part is within so many points of the reported one."""
    return abs(ours - reported) <= points


def largest(gains: Mapping[str, float]) -> tuple[str, float]:
    """The largest of these, and its name."""
    return max(gains.items(), key=lambda item: item[1])


def up_to_check(
    metric: str, kinds: Sequence[str], capacity: int, one: str, other: str, reported: float, trace: str = "TR1"
) -> Check:
    """A check of the largest gain over these types, against a reported "up to"."""

    def check(study: Study) -> tuple[str, bool]:
        kind, gain = largest(study.gains(metric, kinds, capacity, one, other, trace))
        return f"{percent(gain)} ({kind})", up_to(gain, reported)

    return check
