"""Streams in job files: how many executors, in what time a batch is to be done, and when a monitor acts."""

from __future__ import annotations

from pydantic import Field

from fawkes.base.units import SECOND_US
from fawkes.config.files.fields import DurationUs, Part
from fawkes.config.files.loader import Faults, Strict
from fawkes.core.streams.values import Thresholds

KIND = "stream"
PRIORITY = 9
"""The priority of a stream that says none: its executors come first."""
#: names of the core -> keys of the file
_KEYS = {"monitoring_s": "pause", "lasting_s": "lasting", "cpu": "overload"}


class Monitor(Strict):
    """The time when the congestion monitor of a stream acts."""

    overload: Part = Field(default=0.9, description="batches that take more of their time than this are too many")
    idle: Part = Field(default=0.5, description="batches that take less of their time than this need fewer executors")
    lasting_us: DurationUs = Field(default=10 * SECOND_US, alias="lasting", description="how long either must last")
    pause_us: DurationUs = Field(default=30 * SECOND_US, alias="pause", description="between two actions")


def thresholds(monitor: Monitor, least: int, faults: Faults) -> Thresholds | None:
    """The thresholds of a stream with at least so many executors; None, with a fault, where two contradict."""
    try:
        return Thresholds(
            cpu=monitor.overload,
            memory=None,
            network=None,
            idle=monitor.idle,
            lasting_s=monitor.lasting_us / SECOND_US,
            monitoring_s=monitor.pause_us / SECOND_US,
            least_workers=least,
        )
    except ValueError as error:
        text = str(error)
        for name, key in _KEYS.items():
            text = text.replace(name, key)
        faults.add(text, "monitor", "Change one of the two")
        return None
