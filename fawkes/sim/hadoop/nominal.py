"""The time that the tasks of a job take when each has what it asks for, all streams of the machine to itself."""

from __future__ import annotations

from fawkes.base.units import SECOND_US
from fawkes.sim.hadoop.constants import Constants
from fawkes.sim.hadoop.profile import Profile


def nominal_work_us(profile: Profile, of: Constants) -> int:
    """The time of all tasks of a job together, each alone on a core node: what an oracle is told beforehand.

    Real tasks share disks, cores and network with others and take longer; chances of a task are not in it.
    """
    starts_us = 0 if profile.gang else max(of.task_start_us, of.task_start_cpu_us) + of.task_end_us
    kept = profile.map_output_bytes if profile.reduces else profile.output_bytes * of.output_passes
    maps_us = _phase_us(of, profile.map_us, profile.map_cpu_us, _disk_us(of, profile.map_read_bytes + kept))
    each_us = maps_us + starts_us
    if not profile.reduces:
        return round(profile.maps * each_us)
    fetched = profile.shuffle_bytes
    fetch_us = _phase_us(of, _network_us(of, fetched), 2 * _disk_us(of, fetched))
    written_us = _disk_us(of, fetched + profile.output_bytes * of.output_passes)
    reduce_us = fetch_us + _phase_us(of, profile.reduce_us, profile.reduce_cpu_us, written_us) + starts_us
    return round(profile.maps * each_us + profile.reduces * reduce_us)


def _phase_us(of: Constants, *streams: float) -> float:
    """The longest stream, and of the others the part that does not run beside it."""
    longest = max(streams)
    return longest + of.serial * (sum(streams) - longest)


def _disk_us(of: Constants, count: float) -> float:
    return count / of.disk_bytes_s * SECOND_US


def _network_us(of: Constants, count: float) -> float:
    return count / of.network_bytes_s * SECOND_US
