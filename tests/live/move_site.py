"""An MR-cluster whose masters move, on folders of this machine: real scripts, sleepers, a server that answers."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any
from uuid import uuid4

from fawkes.base.errors import HostError
from fawkes.core.values.effects import MoveMasters
from fawkes.core.values.model import ClusterId, Facts, NodeId, Role
from fawkes.live.edits import edit_log
from fawkes.live.edits.kept_copy import KeptCopy, MastersDataError
from fawkes.live.hadoop.doors import LIST
from fawkes.live.hadoop.orders import AddressedOrder
from fawkes.live.kerberos.keytab import TicketError
from fawkes.live.nodes.clusters import LiveCluster
from fawkes.live.wire.hadoop_rpc import LEAVE_SAFE_MODE
from fawkes.live.wire.masters import MasterAddresses
from fawkes.playbook import Lease
from playbooks import hadoop, moving
from playbooks.hadoop import Daemon
from tests.live.masters_server import (
    APPS,
    INFO,
    JMX,
    NODE_LIST,
    Server,
    beans,
    says,
    text,
)
from tests.live.masters_site import DATA, EDITS, NODES, OLD, TO, C, FolderCopies, MastersSite, masters_at
from tests.live.played import PlayedSetup
from tests.support.local_nodes import LocalFleet, node_of

SEGMENT = edit_log.open_name(1)
WHOLE = "The filesystem under path '/' is HEALTHY\n"
MISSING = (
    "/data/a 5 bytes, replicated: replication=2, 1 block(s): MISSING 1 blocks of total size 5 B\n"
    "0. BP-1:blk_1_1 len=5 MISSING!\n\n"
)
APPLICATION = "application_1795220018027_0001"


class FakeSetup(PlayedSetup):
    """Daemons are sleepers, and all masters answer at the one server."""

    def __init__(self, site: Site) -> None:
        self.site = site

    def masters(self, cluster: LiveCluster) -> MasterAddresses:
        # Masters that are gone answer nobody: the server is that of the others.
        return masters_at(
            "http://127.0.0.1:1" if cluster.master in self.site.silent else self.site.server.url, self.key
        )

    def files(self, cluster: LiveCluster, at: NodeId, role: Role) -> dict[str, str | bytes]:
        if self.no_keytab:
            raise TicketError("other users can read this keytab", where="keytabs/c-1.keytab")
        return {LIST: self.doors_list(cluster), "core-site.xml": cluster.master}

    def daemons(self, cluster: LiveCluster, at: NodeId, role: Role) -> list[Daemon]:
        names = ["namenode", "resourcemanager"] if at == cluster.master else []
        workers = [Daemon(name, ["/bin/sleep", "60"], follows=cluster.master) for name in ("datanode", "nodemanager")]
        return [Daemon(name, ["/bin/sh", "-c", "sleep 60", name]) for name in names] + workers

    def order(self, cluster: LiveCluster, which: str) -> AddressedOrder:
        return AddressedOrder(cluster.master, 8020, LEAVE_SAFE_MODE)

    def kill_order(self, cluster: LiveCluster, application: str) -> AddressedOrder:
        return AddressedOrder(cluster.master, 8032, LEAVE_SAFE_MODE)

    def close_order(self, cluster: LiveCluster, path: str) -> AddressedOrder:
        self.site.closed.append((cluster.master, path))
        return super().close_order(cluster, path)

    def refresh_argv(self, cluster: LiveCluster, which: str) -> list[str]:
        return ["/bin/touch", str(self.site.folder / which)]

    def kill_argv(self, cluster: LiveCluster, application: str) -> list[str]:
        return self.refresh_argv(cluster, application)


class MovedCopies(FolderCopies):
    """Copies of what lies on the old masters' node."""

    def __init__(self, site: Site) -> None:
        super().__init__(site.folder)
        self.site = site
        self.topped = 0
        self.fails = False
        self.damaged = False

    def take(self, *, copied_us: int = 7) -> KeptCopy:
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.copytree(self.site.root(OLD) / "nn" / "current", self.folder / "nn")
        return self.keep(copied_us)

    def fetch(self, cluster: ClusterId, at: NodeId) -> KeptCopy:
        raise AssertionError("there is no second copy")

    def top_up(self, cluster: ClusterId, old: NodeId) -> KeptCopy:
        assert not self.site.masters_on(old), "masters that are not stopped go on writing"
        if self.damaged:
            raise MastersDataError("its edits are damaged", where=old)
        self.topped += 1
        return self.take()

    def place(self, copy: KeptCopy, at: NodeId, lease: Lease) -> None:
        if self.fails:
            raise HostError("its disk is full", host=at)
        shutil.copytree(copy.files, self.site.root(at) / "nn" / "current")


class Site(MastersSite):
    """Three core nodes, the first one with masters; those that would be on a node of ``silent`` do not answer."""

    def __init__(self, folder: Path, server: Server) -> None:
        self.folder, self.server = folder, server
        self.fleet = LocalFleet([node_of(name, folder) for name in NODES])
        # Daemons are found by their marks, on all of this machine.
        pool = f"pool-{uuid4().hex[:8]}"
        self.copies = MovedCopies(self)
        self.silent: set[NodeId] = set()
        self.closed: list[tuple[NodeId, str]] = []
        super().__init__(self.fleet.ground(1, "x", pool), FakeSetup(self), self.copies, NODES, None)
        current = self.root(OLD) / "nn" / "current"
        current.mkdir(parents=True)
        (current / "VERSION").write_text(f"clusterID={pool}-{C}\n")
        image = (DATA / "fsimage-3.5.0").read_bytes()
        (current / edit_log.image_name(0)).write_bytes(image)
        sum_of = hashlib.md5(image).hexdigest()
        (current / f"{edit_log.image_name(0)}.md5").write_text(f"{sum_of} *{edit_log.image_name(0)}\n")
        (current / SEGMENT).write_bytes(EDITS)

    def masters_on(self, at: NodeId) -> set[str]:
        """The masters that the pid files of a node tell of."""
        script = hadoop.status(self.ground.folders(at, C), list(moving.MASTERS))
        facts, _ = self.ground.look(at, script)
        return {name for name, state in facts.under("daemon").items() if state == "running"}

    def end(self) -> None:
        self.fleet.off.clear()
        for at in NODES:
            self.ground.run(at, hadoop.stop(self.lease(at), list(hadoop.DAEMONS)), "stopping")

    # --- what the masters say

    def serves(
        self, *at: NodeId, applications: tuple[dict[str, Any], ...] = (), files: str = "", safe: str = ""
    ) -> None:
        live = {f"{n}:9866": {"xferaddr": f"{n}:9866", "adminState": "In Service", "lastBlockReport": 0} for n in at}
        info = {"name": "NameNodeInfo", "LiveNodes": json.dumps(live), "DeadNodes": "{}", "DecomNodes": "{}"}
        self.server.answers |= {
            INFO: says({"clusterInfo": {"state": "STARTED", "haState": "ACTIVE", "startedOn": 1}}),
            NODE_LIST: says({"nodes": {"node": [{"nodeHostName": n, "state": "RUNNING"} for n in at]}}),
            APPS: says({"apps": {"app": list(applications)}}),
            JMX: beans(NameNodeInfo={"beans": [{**info, "Safemode": safe}]}),
            "/fsck": text(files + (WHOLE if not files else WHOLE.replace("HEALTHY", "CORRUPT"))),
            "/ws/v1/history/info": says({"historyInfo": {}}),
        }

    def move(self, *, planned: bool = False, version: int = 5, from_copy: bool = False) -> Facts:
        return self.reach(MoveMasters(C, version, OLD, TO, planned, from_copy=from_copy))
