"""What of the facts about nodes gets through while masters are not as they should be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from drills.hdfs import MUTE, Hdfs
from drills.plan import Kind
from fawkes.core.state.state import State
from fawkes.core.values.events import Event, MastersSeen, NodeObserved, NodeSeen, NodesSeen, Sampled, in_one
from fawkes.core.values.model import ClusterId, NodeId, Reading
from fawkes.core.values.sight import Compute, Sight, Stored

#: hands events back to the world, each at its time
Script = Callable[[list[Event]], None]


class Seeing:
    """Stands between a simulated world and its engine; remembers what was seen last, for masters that repeat it."""

    def __init__(self, hdfs: Hdfs) -> None:
        self._hdfs = hdfs
        self._readings: dict[ClusterId, Reading] = {}
        self._sights: dict[tuple[NodeId, int], Sight] = {}

    def through(self, event: Event, state: State, script: Script) -> Event | None:
        """The event as the controller sees it; None when it sees nothing now, and is told later."""
        match event:
            case Sampled():
                return replace(event, readings=tuple(self._read(reading, event.at_us) for reading in event.readings))
            case MastersSeen() if not event.error and self._spell(event.cluster, event.at_us) in MUTE:
                self._later(event, event.cluster, script)
                return None
            case NodeSeen():
                return self._seen(event, state, script)
            case NodesSeen():
                news = [self.through(news, state, script) for news in event.seen]
                left = [seen for seen in news if isinstance(seen, NodeObserved | NodeSeen)]
                return in_one(left) if left else None
        return event

    def _spell(self, cluster: ClusterId, at_us: int) -> Kind | None:
        return self._hdfs.disturbed(cluster, at_us)

    def _later(self, event: Event, cluster: ClusterId, script: Script) -> None:
        """What a controller sees when it looks again, once the masters are right again."""
        until_us = self._hdfs.right_again_us(cluster, event.at_us)
        if isinstance(event, NodeSeen):
            event = replace(event, sight=replace(event.sight, asked_us=until_us))
        script([replace(event, at_us=until_us)])

    def _read(self, reading: Reading, at_us: int) -> Reading:
        match self._spell(reading.cluster, at_us):
            case Kind.STALE:
                reading = self._readings.get(reading.cluster, reading)
            case Kind.MISSING:
                reading = Reading(cluster=reading.cluster, jobs_running=reading.jobs_running)
        self._readings[reading.cluster] = reading
        return reading

    def _seen(self, event: NodeSeen, state: State, script: Script) -> NodeSeen | None:
        sight, spell = event.sight, self._spell(event.cluster, event.at_us)
        if sight.blocks is not None and sight.blocks.known:
            sight = replace(sight, blocks=self._hdfs.report(event.cluster, event.node, state, sight.asked_us))
        before = self._sights.get((event.node, event.generation))
        if spell is not None:
            self._later(event, event.cluster, script)
        if spell in MUTE or (spell is Kind.STALE and before is None):
            return None
        if spell is Kind.STALE and before is not None:
            sight = replace(sight, compute=before.compute, stored=before.stored)
        elif spell is Kind.MISSING:
            sight = replace(sight, compute=Compute.NOT_KNOWN, stored=Stored.NOT_KNOWN, blocks=None)
        self._sights[event.node, event.generation] = sight
        return replace(event, sight=sight)
