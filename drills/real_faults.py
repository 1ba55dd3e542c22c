"""Hands that break a lab: hosts, cables, disks, daemons, leases, answers, the ledger's disk; and mend it again."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from drills.plan import Fault, Kind, Plan
from fawkes.base.errors import FawkesError
from fawkes.core.values.model import ClusterId, NodeId
from fawkes.live.lab.folder import LabFolder
from tests.support.site import PROJECT, RealSite

_DAEMONS = {
    Kind.NAMENODE: "namenode",
    Kind.RESOURCE_MANAGER: "resourcemanager",
    Kind.DATANODE: "datanode",
    Kind.NODE_MANAGER: "nodemanager",
}
_ANSWERS = (Kind.DELAYED, Kind.STALE, Kind.MISSING, Kind.GARBAGE)
#: ends a daemon of a host as a defect or the kernel would
_KILL = """
for file in /proc/[0-9]*/cmdline; do
    case $(tr '\\0' ' ' <"$file" 2>/dev/null) in
        *" -Dproc_{daemon} "*) pid=${{file#/proc/}}; kill -9 "${{pid%/cmdline}}" ;;
    esac
done
:
"""
_DAMAGED = b"\x00not a lease"
_STATE_BYTES = 48 << 20
#: what a nearly full disk has left: a NameNode wants 100 MB, and what must be written meanwhile is small
_LEFT_BYTES = 60_000_000
_BALLAST = "ballast"


@dataclass(slots=True)
class Hands:
    """What can be done to a lab. ``disk`` is the folder of the ledger where it has a small disk of its own."""

    site: RealSite
    seed: int
    proxy: IO[str] | None = None
    disk: Path | None = None
    _leases: dict[NodeId, bytes] = field(default_factory=dict)
    _writers: dict[Fault, subprocess.Popen[bytes]] = field(default_factory=dict)

    @classmethod
    @contextmanager
    def on(cls, site: RealSite, plan: Plan, disk: Path | None) -> Iterator[Hands]:
        """Hands for a plan, with a proxy where it spoils answers."""
        hands = cls(site, plan.seed, disk=disk)
        if not any(fault.kind in _ANSWERS for fault in plan.faults):
            yield hands
            return
        command = [sys.executable, "-m", "drills.proxy"]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        with site.lab.popen(command, cwd=PROJECT, text=True, **pipes) as process:
            try:
                assert process.stdout is not None
                assert process.stdout.readline() == "ready\n", "the proxy did not begin"
                hands.proxy = process.stdin
                yield hands
            finally:
                process.kill()

    def can(self, kind: Kind) -> bool:
        """Whether this machine allows a fault: a small disk for the ledger needs the right to mount."""
        return kind is not Kind.STATE_DISK or self.disk is not None

    def strike(self, fault: Fault, node: NodeId, owner: ClusterId | None) -> None:
        """Break something of a node, or of the masters of the MR-cluster that has it."""
        lab = self.site.lab
        with suppress(FawkesError):
            match fault.kind:
                case Kind.POWER | Kind.REBOOTS:
                    lab.kill(node)
                case Kind.PAUSE:
                    lab.pause(node)
                case Kind.CUT:
                    lab.cut(node)
                case Kind.EMPTIED:
                    lab.kill(node)
                    _empty(self._disk_of(node))
                case Kind.LEASE:
                    self._damage(node)
                case Kind.LOW:
                    self._fill(node)
                case Kind.WRITER if owner is not None:
                    self._begin_to_write(fault, owner)
                case _:
                    self._strike_daemon(fault, node, owner)

    def _strike_daemon(self, fault: Fault, node: NodeId, owner: ClusterId | None) -> None:
        cluster = None if owner is None else self.site.state.clusters.get(owner)
        master = None if cluster is None else cluster.master
        if fault.kind in _ANSWERS:
            if master is not None and self.proxy is not None:
                self.proxy.write(f"{fault.kind} {self.site.hosts[master]} {fault.back_s} {self.seed}\n")
                self.proxy.flush()
            return
        of_master = fault.kind in (Kind.NAMENODE, Kind.RESOURCE_MANAGER)
        host = master if of_master else node
        if host is not None:
            # On a host that has no power meanwhile nothing is left to be killed.
            with suppress(AssertionError):
                self.site.on(host, _KILL.format(daemon=_DAEMONS[fault.kind]))

    def undo(self, fault: Fault, node: NodeId) -> None:
        """Mend what can be mended; daemons are Fawkes's own matter."""
        lab = self.site.lab
        with suppress(FawkesError):
            match fault.kind:
                case Kind.POWER | Kind.EMPTIED | Kind.REBOOTS:
                    lab.start(node)
                case Kind.PAUSE:
                    lab.resume(node)
                case Kind.CUT:
                    lab.mend(node)
                case Kind.LEASE:
                    self._repair(node)
                case Kind.LOW:
                    (self._disk_of(node) / _BALLAST).unlink(missing_ok=True)
                case Kind.WRITER if fault in self._writers:
                    self._writers.pop(fault).kill()

    def _disk_of(self, node: NodeId) -> Path:
        folder = LabFolder(self.site.lab.name)
        # As the lab sees it: disks of a limited size are mounted in there.
        return Path(f"/proc/{folder.warden_by_state()}/root{folder.path}/hosts/{node}/srv")

    def _fill(self, node: NodeId) -> None:
        disk = self._disk_of(node)
        found = os.statvfs(disk)
        size = found.f_bavail * found.f_frsize - _LEFT_BYTES
        with (disk / _BALLAST).open("wb") as out:
            if size > 0:
                os.posix_fallocate(out.fileno(), 0, size)

    def _begin_to_write(self, fault: Fault, owner: ClusterId) -> None:
        """A client that writes until it is killed: the file stays open in HDFS, if HDFS takes writes now."""
        with suppress(AssertionError, OSError):
            address, key = self.site.master(owner), self.site.key(owner)
            words = ("hold_open", f"http://{address}:9870", "root", "/output/held", f"{address}:9864")
            command = [sys.executable, "-m", "tests.support.inside", key, *words]
            nothing = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            self._writers[fault] = self.site.lab.popen(command, cwd=PROJECT, **nothing)

    def _damage(self, node: NodeId) -> None:
        lease = self._disk_of(node) / "fawkes" / "lease"
        if lease.exists():
            self._leases[node] = lease.read_bytes()
            lease.write_bytes(_DAMAGED)

    def _repair(self, node: NodeId) -> None:
        """An administrator puts the lease back as it was, unless somebody has written another."""
        lease = self._disk_of(node) / "fawkes" / "lease"
        if node in self._leases and lease.exists() and lease.read_bytes() == _DAMAGED:
            lease.write_bytes(self._leases.pop(node))

    def signal_controller(self, number: signal.Signals) -> None:
        """Stop the controller where it stands, or let it go on: the process in the lab, whose parent only waits."""
        assert self.site.controller is not None
        pid = self.site.controller.pid
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            os.kill(int(child), number)

    def fill_disk(self) -> None:
        """Not a byte more for the ledger."""
        assert self.disk is not None
        with suppress(OSError), (self.disk / _BALLAST).open("wb", buffering=0) as out:
            while True:
                out.write(bytes(1 << 12))

    def free_disk(self) -> None:
        """Somebody makes room."""
        assert self.disk is not None
        (self.disk / _BALLAST).unlink(missing_ok=True)


def _empty(disk: Path) -> None:
    """All that a host's disk holds is gone; the folders of the disk itself are not."""
    for entry in disk.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry, ignore_errors=True)
        else:
            entry.unlink()


@contextmanager
def small_disk(folder: Path, plan: Plan) -> Iterator[Path | None]:
    """A small disk for the ledger while the block lasts; None where the plan does not fill it, or it is not allowed."""
    wanted = any(fault.kind is Kind.STATE_DISK for fault in plan.faults)
    folder.mkdir(parents=True, exist_ok=True)
    options = ["-t", "tmpfs", "-o", f"size={_STATE_BYTES}", "tmpfs", str(folder)]
    if not wanted or os.geteuid() != 0 or subprocess.run(["mount", *options], check=False).returncode:
        yield None
        return
    try:
        yield folder
    finally:
        # For whoever looks into what failed.
        shutil.copytree(folder, folder.with_name("state-as-it-was"), ignore=shutil.ignore_patterns("*.sock"))
        subprocess.run(["umount", "-l", str(folder)], check=False)
