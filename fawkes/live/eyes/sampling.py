"""One round of readings over all MR-clusters that work; none waits for another's nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace

from fawkes.base.errors import FawkesError
from fawkes.core.values.events import Sampled
from fawkes.core.values.model import ClusterId, NodeId, Reading
from fawkes.live.base import limits
from fawkes.live.base.timers import Clock
from fawkes.live.eyes.measure import Sampler
from fawkes.live.hadoop.setup import Setup
from fawkes.live.nodes.clusters import MOST_CLUSTERS, Clusters
from fawkes.live.wire.masters import Target


class Sampling:
    """Makes `Sampled` events. An MR-cluster whose nodes cannot be asked how to read it is unreadable by itself."""

    def __init__(
        self,
        clusters: Clusters,
        setup: Setup,
        reader: Sampler,
        clock: Clock,
        planned: Callable[[], Mapping[ClusterId, int | None]] = dict,
    ) -> None:
        """``planned`` says how many nodes the plans of each MR-cluster's jobs under quotas need."""
        self._planned = planned
        self._clusters = clusters
        self._setup = setup
        self._reader = reader
        self._clock = clock
        self._threads = ThreadPoolExecutor(max_workers=MOST_CLUSTERS, thread_name_prefix="targets")
        self._known: dict[tuple[ClusterId, NodeId], Future[Target]] = {}

    def round(self) -> Sampled | None:
        """A reading of each MR-cluster that works; None when there is none."""
        working = [cluster for cluster in self._clusters.all() if cluster.working]
        if not working:
            return None
        keys = {(cluster.id, cluster.master): cluster for cluster in working}
        self._known = {key: target for key, target in self._known.items() if key in keys}
        for key, cluster in keys.items():
            if key not in self._known:
                self._known[key] = self._threads.submit(self._setup.target, cluster)
        wait(self._known.values(), timeout=limits.TARGETS_S)
        readings: list[Reading] = []
        targets: list[Target] = []
        for key in keys:
            target = self._target(key)
            if isinstance(target, Reading):
                readings.append(target)
            else:
                targets.append(target)
        if targets:
            readings += self._reader.sample(targets)
        planned = self._planned()
        readings = [replace(row, nodes_planned=None if row.error else planned.get(row.cluster)) for row in readings]
        return Sampled(at_us=self._clock.now_us(), readings=tuple(sorted(readings, key=lambda row: row.cluster)))

    def close(self) -> None:
        """Ask nobody any more."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _target(self, key: tuple[ClusterId, NodeId]) -> Target | Reading:
        """The place where to read, or why not; what failed is asked for again the next time."""
        known = self._known[key]
        if not known.done():
            return Reading(cluster=key[0], error=f"{key[1]} has not reported how to read its MR-cluster")
        try:
            return known.result()
        except FawkesError as error:
            del self._known[key]
            return Reading(cluster=key[0], error=str(error))
