"""Shared parts of tests in which masters go elsewhere: an MR-cluster on folders of this machine, and its copy."""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import cast

from fawkes.config.clusters.details import ClusterDetails
from fawkes.core.values.effects import ArmStandby, Deploy, LookAtMasters, MoveMasters
from fawkes.core.values.model import ClusterId, ClusterSpec, Facts, NodeId, Promise, Role, Standby
from fawkes.live.clusters.given import GivenNotes
from fawkes.live.clusters.membership import MembershipKeeper
from fawkes.live.edits import edit_log
from fawkes.live.edits.kept_copy import KeptCopy
from fawkes.live.hadoop.ha import NameNodePair
from fawkes.live.masters.keeping import Keeper
from fawkes.live.masters.moving import MastersMover
from fawkes.live.masters.succession import Means
from fawkes.live.nodes.clusters import Clusters, LiveCluster
from fawkes.live.nodes.ground import Ground
from fawkes.live.wire.masters import MasterAddresses
from fawkes.live.wire.rest import Key
from fawkes.playbook import Lease
from playbooks import hadoop, node
from playbooks import lease as leases
from tests.live.played import PlayedSetup, core

C = ClusterId("c-1")
OLD, TO, THIRD = NODES = tuple(NodeId(f"node0{n}") for n in (1, 2, 3))
DATA = Path(__file__).with_name("data")
EDITS = (DATA / "edits-blocks-3.5.0").read_bytes()
LAST = edit_log.operations(EDITS[edit_log.HEADER_BYTES :], 0).last
ORIGIN = edit_log.Namespace("pool-c-1", "1", "1", "BP-1")


def masters_at(url: str, key: Key = "") -> MasterAddresses:
    """The addresses of masters that all answer at one place."""
    return MasterAddresses(
        resource_manager=url, namenode=url, history=url, user="root", nodes={name: name for name in NODES}, key=key
    )


class FolderCopies:
    """The controller's copy, if one was taken: a folder that is copied to nodes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "kept"
        self.given = GivenNotes(folder / "notes")
        self.kept: KeptCopy | None = None

    def keep(self, copied_us: int = 7) -> KeptCopy:
        """The folder is the copy from now on."""
        self.kept = KeptCopy(
            origin=ORIGIN, copied_us=copied_us, transaction=LAST, image=0, size_bytes=0, folder=self.folder
        )
        return self.kept

    def newest(self, cluster: ClusterId) -> KeptCopy | None:
        return self.kept

    def second(self, cluster: ClusterId, at: NodeId) -> int | None:
        return None

    def held(self, cluster: ClusterId) -> AbstractContextManager[None]:
        return nullcontext()


class MastersSite:
    """Core nodes of an MR-cluster, the first one with masters."""

    def __init__(
        self,
        ground: Ground,
        setup: PlayedSetup,
        copies: FolderCopies,
        nodes: tuple[NodeId, ...],
        standby: Standby | None,
    ) -> None:
        self.ground, self.setup, self.nodes, self.standby = ground, setup, nodes, standby
        self.clusters = Clusters()
        promise = Promise.KEPT if standby is None else Promise.STANDBY
        spec = ClusterSpec(id=C, min_nodes=3, details=ClusterDetails().plain(), masters=promise)
        self.clusters.deploying(Deploy(C, 1, spec, core(*nodes), OLD, standby))
        self.clusters.mark(C, ready=True)
        membership = MembershipKeeper(ground, self.clusters, setup, workers_s=10.0)
        self.pair, keeper = NameNodePair(ground, setup), cast(Keeper, copies)
        self.mover = MastersMover(Means(ground, self.clusters, setup, membership, keeper, threading.Event(), self.pair))
        for at in nodes:
            ground.run(at, leases.take(self.lease(at)), "taking")
            ground.run(at, node.prepare(self.lease(at)), "preparing")

    def lease(self, at: NodeId) -> Lease:
        return self.ground.lease(at, C, 1)

    def root(self, at: NodeId) -> Path:
        return Path(self.ground.folders(at, C).root)

    def cluster(self) -> LiveCluster:
        cluster = self.clusters.get(C)
        assert cluster is not None
        return cluster

    def start(self, at: NodeId) -> None:
        """Start all daemons of a node."""
        daemons = self.setup.daemons(self.cluster(), at, Role.CORE)
        self.ground.run(at, hadoop.start(self.lease(at), daemons), "starting")

    def reach(self, effect: LookAtMasters | MoveMasters | ArmStandby) -> Facts:
        """The facts by which a goal ends that nobody replaces."""
        facts = self.mover.reach(effect, lambda: True)
        assert facts is not None
        return facts

    def look(self, to: NodeId = TO) -> Facts:
        return self.reach(LookAtMasters(C, 4, OLD, to))
