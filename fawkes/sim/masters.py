"""Masters of simulated MR-clusters: where they are, what is seen of lost ones, and others that take over."""

from __future__ import annotations

from collections.abc import Collection

from fawkes.core.effects import LookAtMasters
from fawkes.core.model import Facts, NodeId
from fawkes.sim.model import Cluster


def look(effect: LookAtMasters, cluster: Cluster, gone: Collection[NodeId], now_us: int) -> Facts:
    """The facts of a look at masters: those of a node without power are silent; a copy has everything until then."""
    silent = effect.old in gone
    return {
        "old": "silent" if silent else "answers",
        "image": None if silent else True,
        "copied_us": now_us,
        "txid": 0,
        "copy_at": "controller",
        "reached": sorted(node for node in cluster.nodes if node not in gone and node != effect.old),
        "applications": [],
    }


def move(cluster: Cluster) -> Facts:
    """What is told once masters serve on another node. What ran under the old ones has ended."""
    for attempt in list(cluster.jobs):
        cluster.cancel(attempt)
    return {
        "reached": sorted(cluster.nodes),
        "missing": [],
        "missing_files": 0,
        "open": [],
        "finished": [],
        "ended": [],
    }
