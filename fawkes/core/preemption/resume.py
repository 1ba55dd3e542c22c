"""Algorithm 2: a preempted task restarts, or goes on from its image here or on another node (Li, section 3.3.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from math import inf

from fawkes.core.preemption.values import Device, seconds, total


class Way(StrEnum):
    """The way in which a task comes back; ``WAIT``: no slot can be had now."""

    RESTART = "restart"
    LOCAL = "local"
    REMOTE = "remote"
    WAIT = "wait"


@dataclass(frozen=True, slots=True)
class Image:
    """An image of a task: its bytes (None: not known), and the node that holds it (None: only the store does)."""

    bytes: float | None
    node: str | None


@dataclass(frozen=True, slots=True)
class Resume:
    """The way, the node (None: any), and the seconds until the task runs (None: not known)."""

    way: Way
    node: str | None = None
    overhead_s: float | None = None


def resume(image: Image | None, devices: Mapping[str, Device]) -> Resume:
    """The way on which a preempted task goes on, on one of these nodes; a tie goes to the node that holds the image.

    A queue here includes what it costs to displace a task; it is infinite where no slot can be had. The remote node is
    the free one with the shortest queue, then the fastest network, then the first name.
    """
    if image is None:
        return Resume(Way.RESTART)
    free = {node: device for node, device in devices.items() if device.queue_s != inf}
    ways = [_way(Way.LOCAL, image, node, free[node]) for node in free if node == image.node]
    remotes = [(_shortest(device), node) for node, device in free.items() if node != image.node]
    if remotes:
        _, node = min(remotes)
        ways.append(_way(Way.REMOTE, image, node, free[node]))
    return min(ways, key=lambda each: inf if each.overhead_s is None else each.overhead_s, default=Resume(Way.WAIT))


def _way(way: Way, image: Image, node: str, device: Device) -> Resume:
    network_s = seconds(image.bytes, device.medium.network) if way is Way.REMOTE else 0.0
    return Resume(way, node, total(network_s, seconds(image.bytes, device.medium.read), device.queue_s))


def _shortest(device: Device) -> tuple[float, float]:
    queue_s, network = device.queue_s, device.medium.network
    return (inf if queue_s is None else queue_s, 0.0 if network is None else -network)
