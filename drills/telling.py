"""The story of a drill, as somebody reads it who looks for what went wrong."""

from __future__ import annotations

from collections.abc import Iterable

from drills.result import Tried
from fawkes.base.units import SECOND_US
from fawkes.engine.ports import Entry

#: reasons that come all the time and explain nothing
_QUIET = frozenset({"tick", "job-queued"})


def tell(entries: Iterable[Entry], tried: Iterable[Tried]) -> None:
    """Print each step that had a reason, and each fault when it struck."""
    faults = sorted((each for each in tried if each.at_s is not None), key=lambda each: each.at_s or 0.0)
    for entry in entries:
        at_s = entry.event.at_us / SECOND_US
        while faults and (faults[0].at_s or 0.0) <= at_s:
            fault = faults.pop(0)
            print(f"{fault.at_s:9.3f}       ** {fault.fault.row[0]}: {fault.node or 'the controller'}")
        for reason in entry.decision.reasons:
            if reason.code not in _QUIET:
                facts = " ".join(f"{key}={value}" for key, value in reason.facts.items() if value not in ("", None))
                print(f"{at_s:9.3f} {entry.seq:5d} {reason.code}: {facts}")
