"""Building one host: a process becomes the first of new namespaces, dresses them up and turns into sshd."""

from __future__ import annotations

import json
import os
import signal
import socket
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from fawkes.live.lab.blueprint import DISKS, HOST_KEY, SSHD_LOG, Blueprint
from fawkes.live.lab.files import RUN_FOLDER, SHARED_FOLDER
from fawkes.live.lab.inside import groups, kernel
from fawkes.live.lab.inside.network import plug_in
from fawkes.live.lab.inside.wiring import LabHost

_MOUNT_POINTS = {"srv": "/srv", "tmp": "/tmp", "var-tmp": "/var/tmp"}  # noqa: S108 - mount points
_LONGEST_REPORT = 500
_ETC = ("hosts", "resolv.conf", "passwd", "group", "shadow")


@dataclass(frozen=True)
class Building:
    """A host that is being built: the process to reap and the pipe that tells how it goes."""

    host: LabHost
    builder: int
    report: int

    def finish(self) -> int:
        """Wait until sshd took over; its process id for the warden. OSError tells what went wrong."""
        with open(self.report, "rb") as pipe:
            text = pipe.read().decode(errors="replace")
        os.waitpid(self.builder, 0)
        said: dict[str, Any] = {}
        for line in text.splitlines():
            said |= json.loads(line)
        if "error" in said or "pid" not in said:
            number, why, what = said.get("error", (0, "it ended while it was being built", ""))
            raise OSError(number, why, f"{self.host.name}: {what}")
        return int(said["pid"])


def begin(blueprint: Blueprint, host: LabHost) -> Building:
    """Start to build a host while the caller goes on.

    Two forks: a new namespace of process ids holds the builder's child, not the builder; and the child, an orphan as
    soon as the builder ends, is then the warden's to reap.
    """
    report, out = os.pipe()
    builder = os.fork()
    if builder:
        os.close(out)
        return Building(host, builder, report)
    try:
        _build(blueprint, host, out)
    except OSError as error:
        _report(out, error=(error.errno or 0, error.strerror or str(error), error.filename or ""))
    except BaseException:
        _report(out, error=(0, traceback.format_exc(limit=-2)[-_LONGEST_REPORT:], ""))
    finally:
        os._exit(0)


def _report(out: int, **said: Any) -> None:
    """One line to whoever builds; short enough that two processes never mix theirs."""
    os.write(out, json.dumps(said).encode() + b"\n")


def _build(blueprint: Blueprint, host: LabHost, out: int) -> None:
    # Opened out here: a mount that a file is open for writing on cannot become read-only.
    log = os.open(blueprint.of_host(host) / SSHD_LOG, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    groups.enter(groups.of_host(blueprint.groups, host.name).values())
    kernel.unshare(kernel.NEW_MOUNTS | kernel.NEW_HOSTNAME | kernel.NEW_IPC | kernel.NEW_NETWORK | kernel.NEW_PIDS)
    socket.sethostname(host.name)
    plug_in(host, blueprint.rate_bytes)
    first = os.fork()
    if first:
        _report(out, pid=first)
        return
    _dress(blueprint, host)
    _become_sshd(blueprint, log)


def _dress(blueprint: Blueprint, host: LabHost) -> None:
    """Give the host its own disks, home and files; everything else of the machine it sees but cannot change."""
    folder = blueprint.of_host(host)
    # Opened first: they may lie in folders that the mounts below hide.
    disks = {name: _handle(folder / name) for name in DISKS}
    shared, etc = _handle(Path(blueprint.shared)), {name: _handle(blueprint.etc / name) for name in _ETC}
    sshd = _handle(Path(blueprint.sshd_root)) if blueprint.sshd_root else None
    own_groups = {mount: _handle(path) for mount, path in groups.of_host(blueprint.groups, host.name).items()}
    run_files = {
        "host_key": (folder / HOST_KEY).read_bytes(),
        "authorized_keys": (blueprint.etc / "authorized_keys").read_bytes(),
        "sshd_config": (blueprint.etc / "sshd_config").read_bytes(),
    }
    kernel.make_all_read_only()
    for name, source in etc.items():
        if Path("/etc", name).exists():
            kernel.bind(source, f"/etc/{name}")
    for name, target in _MOUNT_POINTS.items():
        kernel.bind(disks[name], target)
    if blueprint.noexec:
        kernel.forbid_programs(_MOUNT_POINTS["srv"])
    os.makedirs(blueprint.home, exist_ok=True)
    kernel.bind(disks["home"], blueprint.home)
    os.makedirs(SHARED_FOLDER, exist_ok=True)
    kernel.bind(shared, SHARED_FOLDER)
    for mount, group in own_groups.items():
        # A namespace for control groups as well would end each JVM where the machine has cgroup v1, too (JDK 17).
        kernel.bind(group, mount)
    kernel.mount("tmpfs", "/run", "tmpfs", data="mode=755")
    kernel.mount("tmpfs", "/dev/shm", "tmpfs", data="mode=1777")  # noqa: S108
    kernel.mount("devpts", "/dev/pts", "devpts", data="newinstance,ptmxmode=0666,mode=620")
    os.makedirs("/run/sshd", 0o755)
    os.makedirs(f"{RUN_FOLDER}/sshd")
    if sshd is not None:
        kernel.bind(sshd, f"{RUN_FOLDER}/sshd")
    for name, content in run_files.items():
        with open(os.open(f"{RUN_FOLDER}/{name}", os.O_WRONLY | os.O_CREAT, 0o600), "wb") as out:
            out.write(content)
    for user in blueprint.users:
        os.makedirs(user.home, 0o700, exist_ok=True)
        os.chown(user.home, user.id, user.id)
    kernel.mount("proc", "/proc", "proc")


def _handle(path: Path) -> str:
    """A path that goes on leading to a file or folder after something was mounted over it."""
    return f"/proc/self/fd/{os.open(path, os.O_PATH | os.O_CLOEXEC)}"


def _become_sshd(blueprint: Blueprint, log: int) -> NoReturn:
    if blueprint.user_id is not None:
        # Port 22 for a user without rights; and sshd as himself, for as "root" it would try to change to other users,
        # of whom this namespace has none.
        Path("/proc/sys/net/ipv4/ip_unprivileged_port_start").write_text("0")
        kernel.unshare(kernel.NEW_USERS)
        kernel.map_user(blueprint.user_id, 0, 0)
    os.chdir("/")
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDWR)
    for number, handle in enumerate((nothing, log, log)):
        os.dup2(handle, number)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    for each in (signal.SIGPIPE, signal.SIGINT, signal.SIGTERM, signal.SIGCHLD):
        signal.signal(each, signal.SIG_DFL)
    environment = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"}
    if blueprint.libraries:
        environment["LD_LIBRARY_PATH"] = ":".join(blueprint.libraries)
    command = [blueprint.sshd, "-D", "-e", "-f", f"{RUN_FOLDER}/sshd_config"]
    os.execve(command[0], command, environment)  # noqa: S606
