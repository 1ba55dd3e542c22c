"""Room for the next job: looked for between the readings, so that a small job does not wait for one."""

from __future__ import annotations

import threading
from collections.abc import Callable

from fawkes.base.errors import FawkesError
from fawkes.base.units import SECOND_US
from fawkes.core.values.effects import AwaitRoom
from fawkes.core.values.model import Facts
from fawkes.live.base import limits
from fawkes.live.hadoop.setup import Setup
from fawkes.live.nodes.clusters import Clusters
from fawkes.live.wire.masters import Target
from fawkes.live.wire.rest import Deadline, UnreadableError


class Room:
    """Reaches `AwaitRoom` goals. ``ready`` counts the tasks of an MR-cluster that lack nothing but room."""

    def __init__(
        self,
        clusters: Clusters,
        setup: Setup,
        ready: Callable[[Target, Deadline], int],
        stopping: threading.Event,
    ) -> None:
        self._clusters = clusters
        self._setup = setup
        self._ready = ready
        self._stopping = stopping

    def reach(self, effect: AwaitRoom, current: Callable[[], bool]) -> Facts | None:
        """No facts, as soon as none of these tasks was seen to wait; None when the goal is not wanted any more.

        FawkesError when the MR-cluster has gone, or its nodes do not say how it is read. Masters that do not answer are
        asked again: what they have not said is not known.
        """
        while current():
            self._stopping.wait(effect.every_us / SECOND_US)
            cluster = self._clusters.get(effect.cluster)
            if cluster is None:
                raise FawkesError("it is not running, so there is no room in it", where=effect.cluster)
            try:
                if self._ready(self._setup.target(cluster), Deadline.after(limits.APPLICATIONS_S)) == 0:
                    return {} if current() else None
            except UnreadableError:
                continue
        return None
