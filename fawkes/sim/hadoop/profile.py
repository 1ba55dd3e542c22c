"""The demands of a job on the machine: its tasks, their times and their bytes, as the model of Hadoop needs them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fawkes.base.units import SECOND_US
from fawkes.core.values.model import Facts, JobSpec

#: output of a task of which nothing else is known; in readings alone, it is written in no time
PLAIN_TASK_BYTES = 10**8
_PLAIN_TASK_US = 10 * SECOND_US


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """A MapReduce job; each figure is of one task.

    ``*_us`` is time that passes whatever the machine does (sleeping), ``*_cpu_us`` is time on one core of speed 1.
    ``map_read_bytes`` come from HDFS, ``map_output_bytes`` are spilled and shuffled. ``output_bytes`` of each reduce,
    or of each map when there is none, go to HDFS once (replicas are the constants' matter). ``noted_bytes`` are
    counted as output without being written: of tasks known by their times alone. With ``gang`` (1) maps start all at
    once or not at all, and all start again when one loses its node, as the processors of a rigid job do; what begins
    and ends jobs and tasks is within their time.
    """

    maps: int
    reduces: int = 0
    map_us: int = 0
    map_cpu_us: int = 0
    map_read_bytes: int = 0
    map_output_bytes: int = 0
    reduce_us: int = 0
    reduce_cpu_us: int = 0
    output_bytes: int = 0
    noted_bytes: int = 0
    gang: int = 0

    @property
    def shuffle_bytes(self) -> float:
        """Bytes that each reduce fetches."""
        return self.maps * self.map_output_bytes / self.reduces if self.reduces else 0.0


def profile_of(spec: JobSpec) -> Profile:
    """The profile in a job's details, by what is known of it: ``profile``, ``sleep``, or tasks of equal length.

    That of ``stages`` is for quotas, and says nothing here.
    """
    given = spec.details.get("profile")
    if isinstance(given, Mapping) and given and "stages" not in given:
        whole = set(map(type, given.values())) == {int}
        return Profile(**(given if whole else {name: _number(value) for name, value in given.items()}))
    sleep = spec.details.get("sleep")
    if isinstance(sleep, Mapping):
        names = ("maps", "map_us", "reduces", "reduce_us")
        return Profile(**{name: _whole(sleep, name) for name in names})
    array = spec.details.get("array")
    if isinstance(array, Mapping) and array.get("task_us"):
        return Profile(maps=spec.tasks, map_us=_whole(array, "task_us"))
    seconds = spec.details.get("task_s")
    task_us = int(seconds * SECOND_US) if isinstance(seconds, int | float) else _PLAIN_TASK_US
    return Profile(maps=spec.tasks, map_us=task_us, noted_bytes=PLAIN_TASK_BYTES)


def has_chance(spec: JobSpec, profile: Profile) -> bool:
    """True if equal tasks of a job differ by chance: not those that sleep, nor the processors of a rigid job.

    Of those two the times are known. The last of many tasks with chances of their own ends late: a rigid job of 16
    processors would take a third longer than its log says.
    """
    return not profile.gang and not isinstance(spec.details.get("sleep"), Mapping)


def _whole(facts: Facts, name: str) -> int:
    return _number(facts.get(name, 0))


def _number(value: object) -> int:
    if type(value) is int:
        return value
    return int(value) if isinstance(value, int | float) else 0
