"""Nodes that are folders of this machine: scripts for them run here, as they would over SSH."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Callable, Iterable
from io import BytesIO
from pathlib import Path
from typing import Any, cast

from fawkes.base.errors import HostError
from fawkes.config.nodes.inventory import InventoryNode
from fawkes.live.nodes.fleet import Fleet
from fawkes.live.nodes.ground import ControllerIdentity, Ground
from fawkes.live.nodes.ssh import ConnectionState, Result, SshDeadlineError, SshError
from fawkes.live.wire.hadoop_rpc import Connection
from fawkes.playbook import Script


def node_of(name: str, folder: Path) -> InventoryNode:
    """A node with its work folder below ``folder``."""
    values: dict[str, Any] = {
        "group": "g", "site": "s", "address": name, "data_address": name, "user": "u", "port": 22, "key": None,
        "may_core": True, "cores": 1, "memory_bytes": 1, "disk_bytes": 1, "capacity": 1.0,
        "work_dir": str(folder / name), "software_dir": "", "java_home": None, "attributes": {},
    }  # fmt: skip
    return InventoryNode(name=name, **values)


class LocalFleet:
    """A fleet of folders; the nodes of ``off`` do not answer, those of ``slow_s`` after so many seconds.

    What a node forwards to a port of ``forwards`` comes to that port of this machine.
    """

    def __init__(self, nodes: Iterable[InventoryNode]) -> None:
        self.nodes = list(nodes)
        self.off: set[str] = set()
        self.slow_s: dict[str, float] = {}
        self.forwards: dict[int, int] = {}

    def as_fleet(self) -> Fleet:
        """Itself, for who wants a fleet."""
        return cast(Fleet, self)

    def ground(self, epoch: int, controller: str, pool: str = f"pool-{os.getpid()}") -> Ground:
        """The ground of a controller on these nodes; its pool is that of no test in another process."""
        return Ground(self.nodes, ControllerIdentity(pool, epoch, controller), self, command_s=60, threads=4)

    def run(self, node: str, script: Script, deadline_s: float, **more: object) -> Result:
        """Run a script as the nodes do."""
        if node in self.off:
            raise SshError("it does not answer", host=node, state=ConnectionState.NO_ANSWER)
        if self.slow_s.get(node, 0) > deadline_s:
            late = ConnectionState.TIMED_OUT
            raise SshDeadlineError(f"no answer within {deadline_s:g} s", host=node, state=late)
        text = "{\n" + script.text + "\n} </dev/null\n"
        done = subprocess.run(["/bin/sh", "-s"], input=text.encode(), capture_output=True, check=False, timeout=60)
        if isinstance(sink := more.get("sink"), BytesIO):
            sink.write(done.stdout)
        printed, wrong = (said.decode(errors="replace") for said in (done.stdout, done.stderr))
        return Result(node, done.returncode, printed, wrong)

    def connect(self, node: str, address: str, port: int, limit_s: float) -> Connection:
        """Nothing else listens on these nodes."""
        if port in self.forwards:
            return cast(Connection, socket.create_connection(("127.0.0.1", self.forwards[port])))
        raise ConnectionRefusedError(f"{node} does not forward to {address}:{port}")

    def run_many(
        self, nodes: Iterable[str], work: Callable[[str], Script], deadline_s: float
    ) -> dict[str, Result | HostError]:
        """The same on many nodes."""
        results: dict[str, Result | HostError] = {}
        for node in nodes:
            try:
                results[node] = self.run(node, work(node), deadline_s)
            except HostError as error:
                results[node] = error
        return results
