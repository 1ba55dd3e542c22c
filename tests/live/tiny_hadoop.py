"""An MR-cluster of a few daemons on this machine alone, without hosts of its own: for what needs real answers only.

Its DataNodes are told apart by loopback names; for HDFS they are all the same host, so it shows nothing of placement.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from fawkes.core.values.model import NodeId
from fawkes.live.wire.masters import MasterAddresses, storage, why_no_jobs
from fawkes.live.wire.rest import Deadline, UnreadableError
from fawkes.playbook.dist import cache
from fawkes.playbook.dist.compile.java import find_java
from fawkes.playbook.dist.pins import PINS
from fawkes.playbook.dist.release import LIGHT_FLAGS, Release
from tests.playbook.dist.helpers import LocalShell
from tests.support.waiting import LIMIT_S, wait_for

BLOCK = 1 << 20


@dataclass
class TinyHadoop:
    """``storing`` are the nodes with a DataNode, the first two with ARCHIVE volumes; with ``yarn`` node01 computes.

    The masters listen at ``address``, and DataNodes are reached there.
    """

    folder: Path
    release: Release
    java_home: str
    yarn: bool
    ports: list[int] = field(default_factory=lambda: free_ports(30))
    storing: Sequence[str] = ("node01", "node02", "node03")
    address: str = "127.0.0.1"
    _stack: ExitStack = field(default_factory=ExitStack)
    _datanodes: dict[int, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def masters(self) -> MasterAddresses:
        names = {f"127.0.0.{n}": NodeId(f"node0{n}") for n in range(1, 4)}
        return MasterAddresses(
            resource_manager=f"http://{self.address}:{self.ports[0]}",
            namenode=f"http://{self.address}:{self.ports[1]}",
            history=f"http://{self.address}:{self.ports[2]}",
            user="root",
            nodes={**names, "localhost": NodeId("node01"), socket.gethostname().lower(): NodeId("node01")},
        )

    def exclude(self, *addresses: str) -> None:
        """Ask DataNodes to leave, by the addresses that blocks name; all others stay or come back."""
        (self.folder / "exclude").write_text("".join(f"{address}\n" for address in addresses))
        said = self.run("dfsadmin", "-refreshNodes")
        assert said.returncode == 0, said.stderr

    def admit(self, members: Sequence[str], leaving: Sequence[str] = ()) -> None:
        """Tell the NameNode who is a member, by the addresses that blocks name, and who of them is to leave.

        Without any members everybody is one.
        """
        (self.folder / "include").write_text("".join(f"{address}\n" for address in members))
        self.exclude(*leaving)

    def run(self, program: str, *args: str) -> subprocess.CompletedProcess[str]:
        """A client command to its end."""
        argv, env = self._command(program, "client", {})
        return subprocess.run([*argv, *args], env=env, capture_output=True, text=True, check=False, timeout=LIMIT_S)

    @contextmanager
    def job(self, *args: str) -> Iterator[subprocess.Popen[bytes]]:
        """A SleepJob with these arguments, while the block lasts."""
        argv, env = self._command("sleep", "client", {})
        with self._process([*argv, *args], env, self.folder / "job.log") as process:
            yield process

    @contextmanager
    def running(self) -> Iterator[None]:
        self.folder.mkdir(parents=True, exist_ok=True)
        for name in ("include", "exclude"):
            (self.folder / name).write_text("")
        argv, env = self._command("namenode-format", "namenode", {})
        made = subprocess.run(argv, env=env, capture_output=True, text=True, check=False)
        assert made.returncode == 0, made.stderr
        with self._stack as stack:
            stack.enter_context(self._daemon("namenode", {}))
            for number in range(1, len(self.storing) + 1):
                self.start_storage(number)
            for name in ("resourcemanager", "nodemanager", "historyserver") if self.yarn else ():
                stack.enter_context(self._daemon(name, {}))
            wait_for(self._ready, f"a tiny cluster in {self.folder}")
            yield

    def _ready(self) -> bool:
        if self.yarn:
            return not why_no_jobs(self.masters, ["node01"], self.storing, Deadline.after(10))
        try:
            seen = storage(self.masters, Deadline.after(10))
        except UnreadableError:
            return False
        return set(seen.in_service()) == set(self.storing) and not seen.safe_mode

    def start_storage(self, number: int) -> None:
        """Bring up a DataNode, with the data that it has."""
        datanode = self._daemon("datanode", self._datanode(number), str(number))
        self._datanodes[number] = self._stack.enter_context(datanode)

    def wipe_storage(self, number: int) -> None:
        """End a DataNode and delete its data."""
        process = self._datanodes[number]
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        shutil.rmtree(self.folder / f"datanode{number}")

    def _datanode(self, number: int) -> dict[str, str]:
        own = self.folder / f"datanode{number}"
        volumes = [f"[DISK]file://{own}/disk"] + ([f"[ARCHIVE]file://{own}/archive"] if number < 3 else [])
        disk = shutil.disk_usage(self.folder)
        data, web, ipc = self.ports[3 * number + 10 : 3 * number + 13]
        return {
            "dfs.datanode.hostname": f"127.0.0.{number}",
            "dfs.datanode.address": f"0.0.0.0:{data}",
            "dfs.datanode.http.address": f"0.0.0.0:{web}",
            "dfs.datanode.ipc.address": f"0.0.0.0:{ipc}",
            "dfs.datanode.data.dir": ",".join(volumes),
            # The second one has the most room on a volume: of two replicas HDFS deletes the other.
            "dfs.datanode.du.reserved": str(0 if number == 2 else disk.used + disk.free // 2),
        }

    def _sites(self, own: Path, extra: dict[str, str]) -> dict[str, dict[str, str]]:
        port = self.ports
        here = self.address
        class_path = ",".join(f"{self.release.root}/{entry}" for entry in self.release.task_class_path)
        small = {f"mapreduce.{kind}.memory.mb": "256" for kind in ("map", "reduce")}
        heaps = {f"mapreduce.{kind}.java.opts": "-Xmx128m -XX:TieredStopAtLevel=1" for kind in ("map", "reduce")}
        return {
            "core-site": {"fs.defaultFS": f"hdfs://{here}:{port[3]}", "hadoop.tmp.dir": f"{own}/tmp"},
            "hdfs-site": {
                "dfs.namenode.http-address": f"{here}:{port[1]}",
                "dfs.namenode.name.dir": f"file://{self.folder}/namenode/name",
                "dfs.namenode.datanode.registration.ip-hostname-check": "false",
                "dfs.namenode.fs-limits.min-block-size": "1024",
                "dfs.namenode.safemode.extension": "0",
                "dfs.namenode.decommission.interval": "1",
                "dfs.namenode.redundancy.interval.seconds": "1",
                "dfs.heartbeat.interval": "1",
                "dfs.hosts": f"{self.folder}/include",
                "dfs.hosts.exclude": f"{self.folder}/exclude",
                # However long a DataNode is silent, that is no reason to delete its replica and not another.
                "dfs.namenode.tolerate.heartbeat.multiplier": "1000",
                "dfs.replication": "1",
                "dfs.blocksize": str(BLOCK),
                "dfs.block.access.token.enable": "true",
                **extra,
            },
            "yarn-site": {
                "yarn.resourcemanager.webapp.address": f"{here}:{port[0]}",
                "yarn.resourcemanager.address": f"{here}:{port[4]}",
                "yarn.resourcemanager.scheduler.address": f"{here}:{port[5]}",
                "yarn.resourcemanager.resource-tracker.address": f"{here}:{port[6]}",
                "yarn.resourcemanager.admin.address": f"{here}:{port[7]}",
                "yarn.nodemanager.hostname": here,
                "yarn.nodemanager.address": f"{here}:{port[8]}",
                "yarn.nodemanager.localizer.address": f"{here}:{port[9]}",
                "yarn.nodemanager.webapp.address": f"{here}:{port[10]}",
                "yarn.nodemanager.aux-services": "mapreduce_shuffle",
                "yarn.nodemanager.resource.memory-mb": "1152",
                "yarn.nodemanager.resource.cpu-vcores": "8",
                "yarn.nodemanager.vmem-check-enabled": "false",
                "yarn.nodemanager.pmem-check-enabled": "false",
                "yarn.nodemanager.local-dirs": f"{own}/local",
                "yarn.nodemanager.log-dirs": f"{own}/logs",
                "yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": "99.5",
                "yarn.scheduler.minimum-allocation-mb": "128",
                "yarn.application.classpath": class_path,
            },
            "mapred-site": {
                "mapreduce.framework.name": "yarn",
                "mapreduce.application.classpath": class_path,
                "yarn.app.mapreduce.am.resource.mb": "384",
                "yarn.app.mapreduce.am.command-opts": "-Xmx256m -XX:TieredStopAtLevel=1",
                "mapreduce.client.submit.file.replication": "1",
                "mapreduce.shuffle.port": str(port[11]),
                "mapreduce.jobhistory.address": f"{here}:{port[12]}",
                "mapreduce.jobhistory.admin.address": f"{here}:{port[22]}",
                "mapreduce.jobhistory.webapp.address": f"{here}:{port[2]}",
                **small,
                **heaps,
            },
            "capacity-scheduler": {
                "yarn.scheduler.capacity.root.queues": "default",
                "yarn.scheduler.capacity.root.default.capacity": "100",
                "yarn.scheduler.capacity.maximum-am-resource-percent": "0.9",
            },
        }

    def _command(self, program: str, name: str, extra: dict[str, str]) -> tuple[list[str], dict[str, str]]:
        own = self.folder / name
        conf = own / "conf"
        conf.mkdir(parents=True, exist_ok=True)
        for site, values in self._sites(own, extra).items():
            rows = (f"<property><name>{k}</name><value>{escape(v)}</value></property>" for k, v in values.items())
            (conf / f"{site}.xml").write_text(f"<configuration>{''.join(rows)}</configuration>")
        # Figures of JMX are 1 s old instead of 10.
        (conf / "hadoop-metrics2.properties").write_text("*.period=1\n")
        argv = self.release.daemon_argv(
            program, java_home=self.java_home, conf_dir=str(conf), heap_mb=256, extra=LIGHT_FLAGS
        )
        env = {"PATH": os.environ["PATH"], "HADOOP_USER_NAME": "root"}
        return argv, {**env, **self.release.environment(self.java_home, str(conf))}

    def _daemon(
        self, program: str, extra: dict[str, str], number: str = ""
    ) -> AbstractContextManager[subprocess.Popen[bytes]]:
        argv, env = self._command(program, f"{program}{number}", extra)
        return self._process(argv, env, self.folder / f"{program}{number}.log")

    @contextmanager
    def _process(self, argv: list[str], env: dict[str, str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
        with (
            log.open("wb") as out,
            subprocess.Popen(
                argv, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True, cwd=self.folder
            ) as process,
        ):
            try:
                yield process
            finally:
                # A NodeManager ends its containers when it is asked, not when it is killed.
                if process.poll() is None and log.name == "nodemanager.log":
                    process.terminate()
                    with suppress(subprocess.TimeoutExpired):
                        process.wait(30)
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)


def free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [int(each.getsockname()[1]) for each in sockets]
    for each in sockets:
        each.close()
    return ports


@contextmanager
def tiny_hadoop(folder: Path, version: str, *, yarn: bool, **options: Any) -> Iterator[TinyHadoop]:
    """While the block lasts; ``options`` are further fields of `TinyHadoop`."""
    release = cache.get(PINS[version]).release
    java = find_java(LocalShell(env=os.environ), "this machine", release)
    cluster = TinyHadoop(folder, release, java.home, yarn, **options)
    with cluster.running():
        yield cluster
