"""A site of three nodes that are folders of this machine behind a real SSH server, with files of a NameNode on one."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from fawkes.config.clusters.details import ClusterDetails
from fawkes.core.clusters.keeping import KeepRules
from fawkes.core.values.effects import Deploy, Membership
from fawkes.core.values.events import CopySeen
from fawkes.core.values.model import ClusterId, ClusterSpec, NodeId
from fawkes.live.base.mailbox import Mailbox
from fawkes.live.base.timers import Clock
from fawkes.live.data.copying import Brought, Copier
from fawkes.live.data.second_copy import SecondCopy
from fawkes.live.edits.kept_copy import CopyFolder, KeptCopy
from fawkes.live.masters.keeping import Keeper
from fawkes.live.nodes.clusters import Clusters
from fawkes.live.nodes.fleet import Fleet
from fawkes.live.nodes.ground import ControllerIdentity, Ground
from fawkes.playbook import Folders, Lease
from playbooks import hadoop, node
from playbooks import lease as leases
from tests.live.namenode_files import NameNodeFiles
from tests.live.played import core
from tests.live.sshd import Sshd, write_key
from tests.support.local_nodes import node_of

CLUSTER = ClusterId("c-1")
MASTER, SECOND, THIRD = NodeId("node01"), NodeId("node02"), NodeId("node03")
NODES = (MASTER, SECOND, THIRD)
#: longer than a round takes on a busy machine
AGAIN_S = 0.5
PATIENCE_S = 30.0


@dataclass
class KeptSite:
    folder: Path
    server: Sshd
    fleet: Fleet
    ground: Ground
    clusters: Clusters
    mailbox: Mailbox
    keeper: Keeper
    nn: NameNodeFiles

    def lease(self, at: NodeId) -> Lease:
        return self.ground.lease(at, CLUSTER, 1)

    def folders(self, at: NodeId) -> Folders:
        return self.ground.folders(at, CLUSTER)

    def path(self, at: NodeId, name: str) -> Path:
        return Path(self.folders(at).root) / name

    def copy(self) -> CopyFolder:
        """The controller's copy, taken up from the disk."""
        return CopyFolder(self.folder / "state" / CLUSTER, f"pool-{CLUSTER}")

    def bring(self, copy: CopyFolder, *, at: NodeId = MASTER, compare: bool = False) -> Brought:
        """Bring a copy up to date, and note it."""
        brought = Copier(self.ground, self.fleet, self.mailbox.clock.now_us).bring(copy, CLUSTER, at, compare=compare)
        copy.note(brought.at_us, changed=brought.changed)
        return brought

    def second(self, copy: CopyFolder) -> SecondCopy:
        return SecondCopy(copy, self.ground, self.fleet)

    def run_namenode(self, at: NodeId = MASTER) -> None:
        """A process that counts as the NameNode of a node."""
        self.ground.run(
            at, hadoop.start(self.lease(at), [hadoop.Daemon("namenode", ["/bin/sleep", "600"])]), "starting"
        )

    def stop_namenode(self, at: NodeId = MASTER) -> None:
        self.ground.run(at, hadoop.stop(self.lease(at), ["namenode"]), "stopping")

    def lives(self, *, master: NodeId = MASTER, copy_on: NodeId | None = SECOND, ready: bool = True) -> None:
        """The MR-cluster is known, with masters and second copy on these nodes."""
        members = core(*NODES)
        spec = ClusterSpec(id=CLUSTER, min_nodes=3, details=ClusterDetails(hadoop_version="3.5.0").plain())
        self.clusters.deploying(Deploy(CLUSTER, 1, spec, members, MASTER))
        self.clusters.changed(Membership(CLUSTER, 2, members, master=master, copy_on=copy_on))
        self.clusters.mark(CLUSTER, ready=ready)

    def round(self) -> KeptCopy:
        """A round that copies all that was acknowledged when it began; no other one is under way when it has ended."""
        began_us = self.mailbox.clock.now_us()
        late = time.monotonic() + PATIENCE_S
        while time.monotonic() < late:
            # One may be skipped, because an earlier one is not over.
            self.keeper.round()
            soon = time.monotonic() + AGAIN_S
            while time.monotonic() < soon:
                copy = self.keeper.newest(CLUSTER)
                if copy is not None and copy.copied_us >= began_us:
                    return copy
                threading.Event().wait(0.01)
        raise AssertionError("nothing was copied")

    def told(self) -> str:
        """The next that is told of the copies."""
        event = self.mailbox.take()
        assert isinstance(event, CopySeen)
        return event.error


def content(folder: Path) -> dict[str, bytes]:
    """The files of image and edits in a folder."""
    return {path.name: path.read_bytes() for path in folder.glob("*_*") if path.name != "seen_txid"}


def state(folder: Path) -> dict[str, bytes]:
    """The files of a state store that count."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not path.name.startswith(".") and path.suffix != ".tmp"
    }


@contextmanager
def kept_site(folder: Path) -> Iterator[KeptSite]:
    with Sshd() as server:
        key = write_key(server.authorized, folder / "id")
        known = folder / "known_hosts"
        known.write_text(server.known_line())
        nodes = [replace(node_of(name, folder), user=os.environ.get("USER", "root")) for name in NODES]
        with Fleet({name: server.host(key, name) for name in NODES}, known, connect_s=5) as fleet:
            ground = Ground(nodes, ControllerIdentity("pool", 1, "x"), fleet, command_s=60, threads=4)
            clusters, mailbox = Clusters(), Mailbox(Clock())
            keeper = Keeper(ground, clusters, fleet, mailbox, folder / "state", rules=KeepRules(second_every_us=0))
            for at in NODES:
                ground.run(at, leases.take(ground.lease(at, CLUSTER, 1)), "taking")
                ground.run(at, node.prepare(ground.lease(at, CLUSTER, 1)), "preparing")
            nn = NameNodeFiles(Path(ground.folders(MASTER, CLUSTER).nn) / "current")
            try:
                yield KeptSite(folder, server, fleet, ground, clusters, mailbox, keeper, nn)
            finally:
                keeper.close()
                ground.run_on({at: hadoop.stop(ground.lease(at, CLUSTER, 1), ["namenode"]) for at in NODES}, "stopping")
