"""Algorithm 2: a preempted task restarts, or goes on from its image here or on another node (Li, section 3.3.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import inf

from fawkes.core.preemption.values import Medium, seconds, total


class Way(StrEnum):
    """The way in which a task comes back."""

    RESTART = "restart"
    LOCAL = "local"
    REMOTE = "remote"
    WAIT = "wait"
    """No slot can be had now."""


@dataclass(frozen=True, slots=True)
class Image:
    """An image of a task: its bytes (None: not known), and the node that holds it (None: only the store does)."""

    bytes: float | None
    node: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A node on which the task could go on.

    ``queue_s``: seconds until its device is free, with the cost of displacing a task if that has to be; None: not
    known; infinite: no slot can be had there.
    """

    node: str
    medium: Medium
    queue_s: float | None = 0.0


@dataclass(frozen=True, slots=True)
class Resume:
    """The way, the node (None: any), and the seconds until the task runs (None: not known)."""

    way: Way
    node: str | None = None
    overhead_s: float | None = None


def resume(image: Image | None, places: Sequence[Place]) -> Resume:
    """The way on which a preempted task goes on; a tie goes to the node that holds the image.

    The remote node is the free one with the shortest queue, then the fastest network, then the first name.
    """
    if image is None:
        return Resume(Way.RESTART)
    free = [place for place in places if place.queue_s != inf]
    remotes = sorted((place for place in free if place.node != image.node), key=_shortest)
    ways = [_local(image, place) for place in free if place.node == image.node]
    ways += [_remote(image, place) for place in remotes[:1]]
    if not ways:
        return Resume(Way.WAIT)
    return min(ways, key=lambda way: inf if way.overhead_s is None else way.overhead_s)


def _local(image: Image, place: Place) -> Resume:
    return Resume(Way.LOCAL, place.node, total(seconds(image.bytes, place.medium.read), place.queue_s))


def _remote(image: Image, place: Place) -> Resume:
    medium = place.medium
    overhead_s = total(seconds(image.bytes, medium.network), seconds(image.bytes, medium.read), place.queue_s)
    return Resume(Way.REMOTE, place.node, overhead_s)


def _shortest(place: Place) -> tuple[float, float, str]:
    queue_s, network = place.queue_s, place.medium.network
    return (inf if queue_s is None else queue_s, 0.0 if network is None else -network, place.node)
