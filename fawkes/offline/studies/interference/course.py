"""The course of a run: what each framework held and did at each moment, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from fawkes.core.watching.stuck import Standing, stands_still
from fawkes.offline.studies.interference.values import Bundle, InterferenceStudy


class FrameworkShare(NamedTuple):
    """The resources that one framework holds and uses, and its standing, at one moment."""

    held: Bundle
    used: Bundle
    standing: Standing

    @property
    def running(self) -> int:
        """The number of tasks that run."""
        return int(self.standing.running or 0)

    @property
    def stuck(self) -> bool:
        """True if its work stands still."""
        return bool(stands_still(self.standing))


class RunMoment(NamedTuple):
    """All frameworks after everything that happened at one time."""

    at_us: int
    shares: dict[str, FrameworkShare]


@dataclass(frozen=True, slots=True)
class Ended:
    """The fate of one framework; times from the start of the run, None where it never came to that."""

    framework: str
    registered_us: int
    first_us: int | None
    finished_us: int | None
    stuck_us: int
    lost_tasks: int
    dropped: tuple[str, ...]
    starts: tuple[tuple[int, int], ...]

    @property
    def took_us(self) -> int | None:
        """The time from the registration to the end of its last job."""
        return None if self.finished_us is None else self.finished_us - self.registered_us


@dataclass(frozen=True, slots=True)
class RunCourse:
    """A run: its moments in order, and what came of each framework."""

    study: InterferenceStudy
    moments: tuple[RunMoment, ...]
    ended: dict[str, Ended]

    def at(self, at_us: int) -> RunMoment:
        """The state at a time: that of the last moment not after it."""
        return next(moment for moment in reversed(self.moments) if moment.at_us <= at_us)

    def stuck_spans(self, framework: str) -> list[tuple[int, int]]:
        """The spans in which the work of a framework stood still."""
        spans: list[tuple[int, int]] = []
        ends = [*(moment.at_us for moment in self.moments[1:]), self.study.limit_us]
        for now, until_us in zip(self.moments, ends, strict=True):
            share = now.shares.get(framework)
            if share is not None and share.stuck and until_us > now.at_us:
                begun = spans.pop()[0] if spans and spans[-1][1] == now.at_us else now.at_us
                spans.append((begun, until_us))
        return spans
