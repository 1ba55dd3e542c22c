"""An MR-cluster with a journal on nodes that are folders of this machine: real scripts, and sleepers as daemons.

What the sleepers would say as NameNodes, JournalNodes and ResourceManagers follows from which of them run, and from the
orders that they were given over RPC.
"""

from __future__ import annotations

import json
import shutil
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

from fawkes.core.values.effects import ArmStandby, MoveMasters
from fawkes.core.values.model import ClusterId, Facts, NodeId, Role, Standby
from fawkes.live.edits import edit_log
from fawkes.live.edits.kept_copy import KeptCopy
from fawkes.live.hadoop.doors import LIST
from fawkes.live.hadoop.orders import AddressedOrder
from fawkes.live.hadoop.ports import Ports
from fawkes.live.hadoop.setup import masters_on
from fawkes.live.kerberos.keytab import TicketError
from fawkes.live.nodes.clusters import LiveCluster
from fawkes.live.nodes.ground import ControllerIdentity, Ground
from fawkes.live.wire.hadoop_rpc import REFRESH_HDFS, Connection
from fawkes.live.wire.masters import MasterAddresses
from fawkes.live.wire.protobuf import number, varint
from fawkes.live.wire.protobuf import text as text_field
from fawkes.playbook import Lease
from playbooks import hadoop, standby
from playbooks import lease as leases
from playbooks.hadoop import Daemon
from tests.live.masters_server import APPS, INFO, JMX, NODE_LIST, Handler, Query, Server, clear, hangs_up, says, text
from tests.live.masters_site import DATA, EDITS, NODES, OLD, TO, C, FolderCopies, MastersSite, masters_at
from tests.live.played import Call, PlayedSetup
from tests.support.local_nodes import LocalFleet, node_of

FOURTH = NodeId("node04")
ACTIVE, STANDBY = "transitionToActive", "transitionToStandby"
NAME = "c-1"
_GIVEN = """
at=${1#-Ddfs.namenode.name.dir=file://}
mkdir -p "$at/current" && cp %s "$at/current/VERSION"
"""
_SHARED = """
%s
for at in %s; do
    [ ! -e "$at/VERSION" ] || exit 1
    mkdir -p "$at" && echo begun >"$at/VERSION"
done
"""
EDITS_DIR = "dfs.namenode.shared.edits.dir"
#: an image, and every change after it
EDITS_ON_DISK = (
    *(f"fsimage_{2:019d}{suffix}" for suffix in ("", ".md5")),
    f"edits_{1:019d}-{4:019d}",
    f"edits_inprogress_{5:019d}",
)


class PairFleet(LocalFleet):
    """A fleet whose nodes forward to what listens on them; ``orders`` are those that were given, in their order."""

    site: PairSite

    def connect(self, node: str, address: str, port: int, limit_s: float) -> Connection:
        if node in self.off:
            raise TimeoutError(f"{node} does not answer")
        ports = Ports()
        names = {ports.namenode: "namenode", ports.admin: "resourcemanager", ports.datanode_ipc: "datanode"}
        daemon = names[port]
        if self.site.pid(NodeId(node), daemon) is None:
            raise ConnectionRefusedError(f"nothing listens on {address}:{port}")
        return Call(partial(self._ordered, NodeId(node), daemon))

    def _ordered(self, at: NodeId, daemon: str, data: bytes) -> bytes:
        """The answer to an order, as Hadoop gives it."""
        methods = [ACTIVE, STANDBY, "rollEdits", "refreshNodes", "refreshNamenodes", "triggerBlockReport"]
        methods += ["listOpenFiles", "recoverLease"]
        (method,) = [name for name in methods if name.encode() in data]
        why = self.site.told(at, daemon, method).encode()
        header = b"\x08\x00\x10" + (b"\x01" + bytes([5 << 3 | 2, len(why)]) + why if why else b"\x00")
        answer = self.site.open_files() if method == "listOpenFiles" else b""
        body = bytes([len(header)]) + header + varint(len(answer)) + answer
        return struct.pack(">I", len(body)) + body


class _Apart(Ground):
    """Daemons are found by their marks: on this one machine those of each node have a pool of their own."""

    def lease(self, node: NodeId, cluster: ClusterId, generation: int) -> Lease:
        right = super().lease(node, cluster, generation)
        return replace(right, pool=f"{right.pool}-{node}")


class PairSetup(PlayedSetup):
    """Daemons are sleepers, and each node answers for itself."""

    def __init__(self, site: PairSite) -> None:
        self.site = site

    def masters(self, cluster: LiveCluster) -> MasterAddresses:
        return masters_at(f"{self.site.server.url}/{cluster.master}", self.key)

    def journal_url(self, cluster: LiveCluster, at: NodeId) -> str:
        return f"{self.site.server.url}/{at}/journal"

    def files(self, cluster: LiveCluster, at: NodeId, role: Role) -> dict[str, str | bytes]:
        if self.no_keytab:
            raise TicketError("it is not there", where="keytabs/c-1.keytab")
        edits = self.settings(cluster)["hdfs-site"].get(EDITS_DIR)
        site = f"<name>{EDITS_DIR}</name>\n<value>{edits}</value>\n" if edits else ""
        journal = " ".join(cluster.journal)
        return {LIST: self.doors_list(cluster), "journal": journal, "history": cluster.master, "hdfs-site.xml": site}

    def settings(self, cluster: LiveCluster) -> dict[str, dict[str, str]]:
        return {"hdfs-site": {EDITS_DIR: f"qjournal://{';'.join(cluster.journal)}/{NAME}"} if cluster.journal else {}}

    def daemons(self, cluster: LiveCluster, at: NodeId, role: Role) -> list[Daemon]:
        follows = cluster.master if cluster.standby is None else f"hdfs://{NAME}"
        workers = [Daemon(name, ["/bin/sleep", "60"], follows=follows) for name in ("datanode", "nodemanager")]
        sleeper = ["/bin/sh", "-c", "exec sleep 60"]
        return [Daemon(name, sleeper) for name in masters_on(cluster, at)] + workers

    def bootstrap_argv(self, cluster: LiveCluster, at: NodeId) -> list[str]:
        script = self.site.folder / "bootstrap.sh"
        script.write_text(_GIVEN % (self.site.root(cluster.master) / "nn" / "current" / "VERSION"))
        return ["/bin/sh", str(script), "-bootstrapStandby", "-nonInteractive"]

    def share_argv(self, cluster: LiveCluster) -> list[str]:
        folders = [str(self.site.root(at) / "journal" / NAME / "current") for at in cluster.journal]
        script = self.site.folder / "share.sh"
        script.write_text(_SHARED % ("exit 1" if self.site.shares_not else "", " ".join(folders)))
        return ["/bin/sh", str(script), "-initializeSharedEdits", "-nonInteractive"]

    def order(self, cluster: LiveCluster, which: str) -> AddressedOrder:
        return AddressedOrder(cluster.master, Ports().namenode, REFRESH_HDFS)

    def close_order(self, cluster: LiveCluster, path: str) -> AddressedOrder:
        self.site.closed.append(path)
        return super().close_order(cluster, path)


@contextmanager
def pair_site(folder: Path, server: Server, nodes: tuple[NodeId, ...] = NODES) -> Iterator[PairSite]:
    """A `PairSite` for a block; all that it started is ended."""
    clear(server)
    site = PairSite(folder, server, nodes)
    try:
        yield site
    finally:
        site.end()


class PairSite(MastersSite):
    """Three core nodes with a journal: masters on the first, the second NameNode on the second.

    ``orders`` are those that were given, ``refuses`` those that are refused. Daemons on nodes of ``lost`` answer
    nobody, though they run. ``txid`` is the last transaction; one without its journal may not write.
    """

    def __init__(self, folder: Path, server: Server, nodes: tuple[NodeId, ...] = NODES) -> None:
        self.folder, self.server = folder, server
        self.fleet = PairFleet([node_of(name, folder) for name in nodes])
        self.fleet.site = self
        pool = f"pool-{uuid4().hex[:8]}"
        ground = _Apart(self.fleet.nodes, ControllerIdentity(pool, 1, "x"), self.fleet, command_s=60, threads=4)
        self.version = f"namespaceID=1\nclusterID={pool}-{C}\nblockpoolID=BP-1\n"
        self.copies = PairCopies(self)
        super().__init__(ground, PairSetup(self), self.copies, nodes, Standby(journal=NODES, node=TO, ready=True))
        self.says: dict[int, str] = {}
        self.writer: int | None = None
        self.orders: list[tuple[str, str, str]] = []
        self.refuses: set[tuple[str, str]] = set()
        self.lost: set[NodeId] = set()
        self.shares_not = False
        self.txid = 7
        self.applications: list[dict[str, Any]] = []
        #: clients and the files that they hold open, and the files that were closed
        self.writers: dict[str, str] = {}
        self.closed: list[str] = []
        for at in nodes:
            self.answer(at)
            if at in NODES:
                self.give_journal(at)
        for at in (OLD, TO):
            self.give_image(at)
        self.start_all()

    # --- nodes

    def give_journal(self, at: NodeId) -> None:
        current = self.root(at) / "journal" / NAME / "current"
        current.mkdir(parents=True)
        for name in standby.JOURNAL_FILES:
            (current / name).write_text(f"{name} of {at}\n")

    def give_image(self, at: NodeId) -> None:
        current = self.root(at) / "nn" / "current"
        current.mkdir(parents=True)
        (current / "VERSION").write_text(self.version)
        for name in EDITS_ON_DISK:
            (current / name).touch()

    def start_all(self) -> None:
        """All daemons run; the masters' node has the active ones."""
        for at in self.nodes:
            self.start(at)
        self.told(OLD, "namenode", "transitionToActive")
        self.told(OLD, "resourcemanager", "transitionToActive")
        self.orders.clear()

    def stop(self, at: NodeId, *names: str) -> None:
        self.ground.run(at, hadoop.stop(self.lease(at), list(names), grace_s=1), "stopping")

    def end(self) -> None:
        self.fleet.off.clear()
        for at in self.nodes:
            self.ground.run(at, leases.take(self.lease(at)), "taking")
            self.ground.run(at, standby.stop(self.lease(at), list(hadoop.DAEMONS), grace_s=1), "stopping")

    def pid(self, at: NodeId, daemon: str) -> int | None:
        """The process of a daemon that runs on a node; None while the node is off."""
        if at in self.fleet.off:
            return None
        try:
            pid = int((self.root(at) / "run" / f"{daemon}.pid").read_text().split()[0])
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return None
        return None if state == "Z" else pid

    def running(self, at: NodeId) -> set[str]:
        return {name for name in hadoop.DAEMONS if self.pid(at, name) is not None}

    # --- what the daemons say and do

    def has_journal(self, at: NodeId) -> bool:
        there = (self.root(at) / "journal" / NAME / "current" / "VERSION").exists()
        return there and self.pid(at, "journalnode") is not None and at not in self.lost

    def journal_of(self, at: NodeId) -> list[NodeId]:
        """The journal that stands in the configuration of a node."""
        conf = self.root(at) / "conf" / "journal"
        return [NodeId(name) for name in conf.read_text().split()] if conf.exists() else list(NODES)

    def role(self, at: NodeId, pid: int) -> str:
        """The role that a master reports; one without a journal need not be told."""
        return self.says.get(pid, "standby" if self.journal_of(at) else "active")

    def told(self, at: NodeId, daemon: str, method: str) -> str:
        """Follow an order; why not, if it is refused."""
        pid = self.pid(at, daemon)
        assert pid is not None
        self.orders.append((at, daemon, method))
        if (at, method) in self.refuses:
            return "it is told to refuse"
        journal = self.journal_of(at)
        most = 2 * sum(map(self.has_journal, journal)) > len(journal)
        if daemon == "namenode" and method == "transitionToActive":
            if not most:
                return "most of the journal does not answer"
            self.writer = pid
        if daemon == "namenode" and method == "rollEdits":
            if self.writer != pid or not most:
                return "IPC's epoch 1 is less than the last promised epoch 2"
            self.txid += 2
        if daemon == "namenode" and method == "transitionToStandby":
            for part in filter(self.has_journal, journal):
                (self.root(part) / "journal" / NAME / "current" / f"edits_{1:019d}-{self.txid:019d}").touch()
        if method.startswith("transitionTo"):
            self.says[pid] = method.removeprefix("transitionTo").lower()
        return ""

    def open_files(self) -> bytes:
        """The NameNode's list of open files."""
        rows = [
            number(1, n) + text_field(2, path.encode()) + text_field(3, client.encode()) + text_field(4, b"10.0.0.1")
            for n, (client, path) in enumerate(self.writers.items(), 1)
        ]
        return b"".join(text_field(1, row) for row in rows) + number(2, 0)

    def answer(self, at: NodeId) -> None:
        """Let the daemons of a node answer over HTTP, each while it runs."""

        def of(daemon: str, make: Callable[[int], object]) -> Callable[[Handler, Query], None]:
            def answered(handler: Handler, query: Query) -> None:
                pid = self.pid(at, daemon)
                if pid is None or at in self.lost:
                    hangs_up(handler, query)
                else:
                    says(make(pid))(handler, query)

            return answered

        def namenode(pid: int) -> object:
            live = {
                f"{n}:9866": {"xferaddr": f"{n}:9866", "adminState": "In Service"}
                for n in self.nodes
                if self.pid(n, "datanode")
            }
            info = {"LiveNodes": json.dumps(live), "DeadNodes": "{}", "DecomNodes": "{}", "Safemode": ""}
            last = json.dumps({"LastAppliedOrWrittenTxId": str(self.txid)})
            return {
                "beans": [
                    {"name": "Hadoop:service=NameNode,name=NameNodeInfo", "JournalTransactionInfo": last, **info},
                    {"name": "Hadoop:service=NameNode,name=NameNodeStatus", "State": self.role(at, pid)},
                ]
            }

        def info(pid: int) -> object:
            role = self.role(at, pid).upper()
            return {"clusterInfo": {"state": "STARTED", "haState": role, "startedOn": pid}}

        def computing(pid: int) -> object:
            up = [n for n in self.nodes if self.pid(n, "nodemanager")]
            return {"nodes": {"node": [{"nodeHostName": n, "state": "RUNNING"} for n in up]}}

        def journal(pid: int) -> object:
            known = {NAME: {"Formatted": "true"}} if self.has_journal(at) else {}
            rows = [
                {"name": "Hadoop:service=JournalNode,name=JournalNodeInfo", "JournalsStatus": json.dumps(known)},
                {"name": f"Hadoop:service=JournalNode,name=Journal-{NAME}", "LastWrittenTxId": self.txid},
            ]
            return {"beans": rows}

        self.server.answers |= {
            f"/{at}{JMX}": of("namenode", namenode),
            f"/{at}{INFO}": of("resourcemanager", info),
            f"/{at}{NODE_LIST}": of("resourcemanager", computing),
            f"/{at}{APPS}": of("resourcemanager", lambda pid: {"apps": {"app": self.applications}}),
            f"/{at}/fsck": text("The filesystem under path '/' is HEALTHY\n"),
            f"/{at}/ws/v1/history/info": of("historyserver", lambda pid: {"historyInfo": {}}),
            f"/{at}/journal{JMX}": of("journalnode", journal),
        }

    # --- goals

    def take_over(self, *, planned: bool = False, version: int = 5) -> Facts:
        return self.reach(MoveMasters(C, version, OLD, TO, planned, standby=True))

    def give_up(self) -> None:
        """Its masters work without a journal from now on, on their own node."""
        self.clusters.arm(C, None)
        cluster, setup = self.cluster(), self.setup
        for at in self.nodes:
            right = self.lease(at)
            self.ground.run(at, standby.stop(right, list(hadoop.DAEMONS), grace_s=1), "stopping")
            self.ground.run(at, standby.end_journal(right, namenode=at != OLD), "ending the journal")
            self.ground.run(at, hadoop.configure(right, setup.files(cluster, at, Role.CORE)), "configuring")
        self.says.clear()
        for at in self.nodes:
            self.start(at)
        self.orders.clear()

    def begin(self, journal: tuple[NodeId, ...] = NODES, current: Callable[[], bool] = lambda: True) -> Facts | None:
        """A new journal, beside masters that work without one."""
        return self.mover.reach(ArmStandby(C, 9, OLD, Standby(journal=journal), ()), current)

    def arm(self, at: NodeId, journal: tuple[NodeId, ...] = NODES) -> Facts:
        return self.reach(ArmStandby(C, 9, OLD, Standby(journal=journal, node=at), NODES))

    def move(self) -> Facts:
        """Moves the masters by the kept copy, as if nothing had a journal."""
        return self.reach(MoveMasters(C, 6, OLD, TO, planned=False))


class PairCopies(FolderCopies):
    """A copy, if it was taken, of a NameNode without a journal."""

    def __init__(self, site: PairSite) -> None:
        super().__init__(site.folder)
        self.site = site

    def take(self) -> None:
        nn = self.folder / "nn"
        nn.mkdir(parents=True)
        (nn / "VERSION").write_text(self.site.version)
        image = nn / edit_log.image_name(0)
        shutil.copy(DATA / "fsimage-3.5.0", image)
        image.with_name(f"{image.name}.md5").write_text("of the image\n")
        (nn / edit_log.open_name(1)).write_bytes(EDITS)
        self.keep()

    def place(self, copy: KeptCopy, at: NodeId, lease: Lease) -> None:
        assert self.site.pid(at, "namenode") is None, "a NameNode would go on with its own files"
        shutil.copytree(copy.files, self.site.root(at) / "nn" / "current")
