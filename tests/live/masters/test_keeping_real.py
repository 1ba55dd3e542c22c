"""The masters' data of a real NameNode and ResourceManager: copied while they work, and what others start with."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest
import requests

from fawkes.config.clusters.details import ClusterDetails
from fawkes.core.clusters.keeping import KeepRules
from fawkes.core.values.effects import Deploy, Goal, Member, Membership
from fawkes.core.values.model import ClusterId, ClusterSpec, NodeId, Role
from fawkes.live.base.mailbox import Mailbox
from fawkes.live.base.timers import Clock
from fawkes.live.edits import edit_log
from fawkes.live.edits.kept_copy import KeptCopy
from fawkes.live.hadoop.setup import Setup
from fawkes.live.masters.keeping import Keeper
from fawkes.live.nodes.clusters import Clusters, LiveCluster
from fawkes.live.nodes.fleet import Fleet
from fawkes.live.nodes.ground import ControllerIdentity, Ground
from fawkes.playbook import Folders, Lease
from fawkes.playbook.dist import cache
from fawkes.playbook.dist.compile.java import find_java
from fawkes.playbook.dist.pins import PINS
from fawkes.playbook.dist.release import LIGHT_FLAGS
from playbooks import lease as leases
from playbooks import node
from tests.live.sshd import Sshd, write_key
from tests.live.tiny_hadoop import TinyHadoop
from tests.playbook.dist.helpers import LocalShell
from tests.support.local_nodes import node_of
from tests.support.waiting import wait_for

pytestmark = [pytest.mark.hadoop, pytest.mark.drill]

OLD, NEW = NodeId("node01"), NodeId("node02")
RECOVERY = {
    "yarn.resourcemanager.recovery.enabled": "true",
    "yarn.resourcemanager.store.class": (
        "org.apache.hadoop.yarn.server.resourcemanager.recovery.FileSystemRMStateStore"
    ),
}


@dataclass
class Masters(TinyHadoop):
    """Masters whose folders are where a test says; nodes are folders behind an SSH server."""

    state: str = ""
    stack: ExitStack = field(default_factory=ExitStack)

    def begin(self, program: str, name: str, extra: dict[str, str]) -> subprocess.Popen[bytes]:
        """Start a daemon that a test may kill by itself."""
        argv, env = self._command(program, program, extra)
        return self.stack.enter_context(self._process(argv, env, self.folder / f"{name}.log"))

    def format(self, folders: Path) -> str:
        """Format the NameNode; the name of the MR-cluster in HDFS."""
        argv, env = self._command("namenode-format", "namenode", self.names(folders))
        subprocess.run(argv, env=env, check=True, capture_output=True)
        found = edit_log.origin((folders / "current/VERSION").read_text())
        assert found is not None
        return found.cluster

    @staticmethod
    def names(folder: Path) -> dict[str, str]:
        return {"dfs.namenode.name.dir": f"file://{folder}"}

    def web(self, path: str, operation: str, method: str = "GET") -> Any:
        url = f"{self.masters.namenode}/webhdfs/v1/{path}?op={operation}&user.name=root"
        answer = requests.request(method, url, timeout=20)
        answer.raise_for_status()
        return answer.json()

    def listed(self) -> set[str]:
        """The names in the root folder."""
        return {row["pathSuffix"] for row in self.web("", "LISTSTATUS")["FileStatuses"]["FileStatus"]}

    def applications(self) -> dict[str, str]:
        """How each application ended."""
        url = f"{self.masters.resource_manager}/ws/v1/cluster/apps"
        rows = requests.get(url, timeout=5).json()["apps"]["app"]
        return {row["id"]: row["finalStatus"] for row in rows}

    def checkpoint_argv(self, cluster: LiveCluster, at: NodeId) -> list[str]:
        """See `setup.Setup`."""
        self._command(
            "namenode", "checkpoint", {"dfs.namenode.checkpoint.dir": f"file://{self.folder}/checkpoint/data"}
        )
        conf = str(self.folder / "checkpoint/conf")
        return self.release.daemon_argv(
            "checkpoint", java_home=self.java_home, conf_dir=conf, heap_mb=256, extra=LIGHT_FLAGS
        )

    def environment(self, cluster: LiveCluster, at: NodeId) -> dict[str, str]:
        """See `setup.Setup`."""
        return self.release.environment(self.java_home, str(self.folder / "checkpoint/conf"))

    def _sites(self, own: Path, extra: dict[str, str]) -> dict[str, dict[str, str]]:
        sites = super()._sites(own, extra)
        sites["yarn-site"].update(RECOVERY)
        # With less, a NameNode refuses an image that comes soon after another one.
        sites["hdfs-site"]["dfs.namenode.checkpoint.txns"] = "100"
        sites["yarn-site"]["yarn.resourcemanager.fs.state-store.uri"] = f"file://{self.state}"
        return sites


@dataclass
class Site:
    """The masters on `OLD`, known to a keeper that is asked for rounds."""

    masters: Masters
    cluster: ClusterId
    ground: Ground
    clusters: Clusters
    mailbox: Mailbox
    keeper: Keeper

    def folders(self, at: NodeId) -> Folders:
        return self.ground.folders(at, self.cluster)

    def lease(self, at: NodeId) -> Lease:
        return self.ground.lease(at, self.cluster, 1)

    def runs(self, at: NodeId, process: subprocess.Popen[bytes]) -> None:
        """Leave the pid file of the NameNode, as its start does."""
        started = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[19]
        boot = Path("/proc/sys/kernel/random/boot_id").read_text()
        Path(self.folders(at).run, "namenode.pid").write_text(f"{process.pid} {started} {boot}")

    def copied(self) -> KeptCopy:
        began_us = self.mailbox.clock.now_us()

        def look() -> KeptCopy | None:
            self.keeper.round()
            copy = self.keeper.newest(self.cluster)
            return copy if copy is not None and copy.copied_us >= began_us else None

        return wait_for(look, "a copy")

    def made(self, *names: str) -> None:
        for name in names:
            self.masters.web(name, "MKDIRS", "PUT")


def namenode_and_manager(masters: Masters, number: int, names: Path) -> tuple[subprocess.Popen[bytes], ...]:
    return (
        masters.begin("namenode", f"namenode-{number}", masters.names(names)),
        masters.begin("resourcemanager", f"resourcemanager-{number}", {}),
    )


@pytest.fixture
def masters(tmp_path: Path) -> Iterator[Masters]:
    release = cache.get(PINS["3.5.0"]).release
    java = find_java(LocalShell(env=os.environ), "this machine", release)
    masters = Masters(tmp_path / "hadoop", release, java.home, yarn=True)
    masters.folder.mkdir()
    (masters.folder / "exclude").write_text("")
    with masters.stack:
        yield masters


def answering(look: Callable[[], Any]) -> Callable[[], Any]:
    """Its answer, once there is one."""

    def tried() -> Any:
        try:
            return look()
        except (requests.RequestException, KeyError, TypeError):
            return None

    return tried


def test_others_start_with_all_that_was_acknowledged(masters: Masters, tmp_path: Path) -> None:
    formatted = tmp_path / "formatted"
    pool, _, rest = masters.format(formatted).partition("-")
    cluster = ClusterId(rest)
    server = masters.stack.enter_context(Sshd())
    key, known = write_key(server.authorized, tmp_path / "id"), tmp_path / "known"
    known.write_text(server.known_line())
    hosts = {str(at): server.host(key, at) for at in (OLD, NEW)}
    fleet = masters.stack.enter_context(Fleet(hosts, known, connect_s=5))
    ground = Ground(
        [node_of(at, tmp_path) for at in hosts], ControllerIdentity(pool, 1, "x"), fleet, command_s=60, threads=4
    )
    clusters, mailbox = Clusters(), Mailbox(Clock())
    setup = cast(Setup, masters)
    keeper = Keeper(ground, clusters, fleet, mailbox, tmp_path / "kept", setup, KeepRules(edits_bytes=20_000))
    masters.stack.callback(keeper.close)
    site = Site(masters, cluster, ground, clusters, mailbox, keeper)
    members = {at: Member(Goal.SERVING, Role.CORE, 1) for at in (OLD, NEW)}
    for at in members:
        ground.run(at, leases.take(site.lease(at)), "taking")
        ground.run(at, node.prepare(site.lease(at)), "preparing")
    old, new = Path(site.folders(OLD).nn), Path(site.folders(NEW).nn)
    formatted.rename(old)
    masters.state = str(site.folders(OLD).rm_state)
    daemons = namenode_and_manager(masters, 1, old)
    for number in range(1, 4):
        masters.stack.enter_context(masters._daemon("datanode", masters._datanode(number), str(number)))
    for name in ("nodemanager", "historyserver"):
        masters.begin(name, name, {})
    wait_for(masters._ready, "the masters")
    site.runs(OLD, daemons[0])
    spec = ClusterSpec(id=cluster, min_nodes=2, details=ClusterDetails(hadoop_version="3.5.0").plain())
    clusters.deploying(Deploy(cluster, 1, spec, members, OLD))
    clusters.mark(cluster, ready=True)

    site.made(*(f"a{number}" for number in range(50)))
    site.copied()
    with masters.job("-m", "1", "-r", "0", "-mt", "100") as job:
        assert job.wait(200) == 0
    site.made(*(f"b{number}" for number in range(300)))
    wait_for(lambda: (site.copied().image > 0) or None, "an image of the edits")
    site.made("last")
    before, applications = masters.listed(), masters.applications()
    copy = site.copied()

    # Power off: the disk with all of it is gone.
    for daemon in daemons:
        os.killpg(daemon.pid, signal.SIGKILL)
        daemon.wait()
    old.rename(tmp_path / "lost")
    keeper.place(copy, NEW, site.lease(NEW))
    masters.state = str(site.folders(NEW).rm_state)
    daemons = namenode_and_manager(masters, 2, new)
    wait_for(answering(masters.listed), "the new NameNode")
    assert masters.listed() == before
    assert wait_for(answering(masters.applications), "the new ResourceManager") == applications

    # The copy goes on from there.
    wait_for(masters._ready, "its DataNodes")
    site.runs(NEW, daemons[0])
    clusters.changed(Membership(cluster, 2, members, master=NEW))
    site.made("on the new one")
    assert site.copied().transaction > copy.transaction
    assert not (tmp_path / "kept" / f"{cluster}.before").exists()
