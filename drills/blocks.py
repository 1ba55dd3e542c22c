"""A small model of what lies in HDFS: which node holds which file, for worlds that do not model it themselves.

A file is one block. It is lost when its last replica is: by a fault that emptied a disk, or by a wipe. The first is
bad luck, the second must never happen to a file that is still wanted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from fawkes.core.values.model import ClusterId, NodeId


@dataclass(slots=True)
class File:
    """A file and the nodes that hold it. ``written``: by a job; it was loaded otherwise."""

    cluster: ClusterId
    path: str
    replication: int
    written: bool
    replicas: set[NodeId] = field(default_factory=set)
    lost_by: str = ""


class Blocks:
    """The files of all MR-clusters of a drill. A file of an MR-cluster that was given back is not wanted any more."""

    def __init__(self) -> None:
        self.files: dict[tuple[ClusterId, str], File] = {}

    def of(self, cluster: ClusterId) -> list[File]:
        """The files of an MR-cluster, in the order of their making."""
        return [file for file in self.files.values() if file.cluster == cluster]

    def place(
        self, cluster: ClusterId, path: str, *, nodes: Collection[NodeId], replication: int, written: bool
    ) -> bool:
        """A new file on the nodes that hold least; False when there is no node for it. Again is the same file."""
        if (cluster, path) in self.files:
            return True
        file = File(cluster, path, replication, written)
        file.replicas.update(self._emptiest(nodes, replication))
        if file.replicas:
            self.files[cluster, path] = file
        return bool(file.replicas)

    def replicate(self, cluster: ClusterId, *, live: Collection[NodeId], into: Collection[NodeId]) -> None:
        """What HDFS does by itself: files with too few replicas on ``live`` nodes are copied to others of ``into``."""
        for file in self.of(cluster):
            here = file.replicas.intersection(live)
            if here and len(here) < file.replication:
                file.replicas.update(self._emptiest(set(into) - here, file.replication - len(here)))

    def copy(self, file: File, *, into: Collection[NodeId]) -> None:
        """A file that leaves a node is copied to as many of ``into`` as it lacks there."""
        lacking = file.replication - len(file.replicas.intersection(into))
        if lacking > 0:
            file.replicas.update(self._emptiest(set(into) - file.replicas, lacking))

    def missing(self, cluster: ClusterId, *, live: Collection[NodeId]) -> list[str]:
        """The files of an MR-cluster without any live replica, by name."""
        return sorted(file.path for file in self.of(cluster) if file.replicas.isdisjoint(live))

    def wipe(self, node: NodeId, by: str) -> list[File]:
        """A node's disk is empty from now on; the files that lost their last replica by that."""
        lost = []
        for file in self.files.values():
            if node in file.replicas:
                file.replicas.discard(node)
                if not file.replicas:
                    file.lost_by = by
                    lost.append(file)
        return lost

    def lose_all(self, cluster: ClusterId, by: str) -> list[File]:
        """The names of all files of an MR-cluster are gone, and so is their content; the files that were there."""
        lost = [file for file in self.of(cluster) if not file.lost_by]
        for file in lost:
            file.replicas.clear()
            file.lost_by = by
        return lost

    def forget(self, cluster: ClusterId) -> None:
        """An MR-cluster was given back: nobody wants its files there any more."""
        for file in self.of(cluster):
            del self.files[file.cluster, file.path]

    def _emptiest(self, nodes: Iterable[NodeId], count: int) -> list[NodeId]:
        held = dict.fromkeys(sorted(nodes), 0)
        for file in self.files.values():
            for node in file.replicas:
                if node in held:
                    held[node] += 1
        return sorted(held, key=lambda node: (held[node], node))[:count]
