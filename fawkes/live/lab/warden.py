"""The warden of a lab: the first process of its outer namespaces. While it lives the lab lives.

Started by `fawkes.live.lab.lab.up` with the file of a blueprint. It says on standard output, one JSON value each line,
``{"pid": N}`` and then ``{"ready": true}`` or an error. Until the word ``commit`` arrives on standard input it ends as
soon as that pipe ends, and all of the lab with it: a killed `lab up` leaves nothing.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fawkes.base.errors import FawkesError, HostError, UserError
from fawkes.live.lab.blueprint import CONTROL, SSHD_LOG, Blueprint
from fawkes.live.lab.control import COMMIT, answer_next, error_as_data, refusal_as_data
from fawkes.live.lab.files import SSH_PORT
from fawkes.live.lab.inside import kernel, processes
from fawkes.live.lab.inside.host import begin
from fawkes.live.lab.inside.network import Switch
from fawkes.live.lab.inside.wiring import LINK, LabHost, node_set

_READY_LIMIT_S = 60.0
_RETRY_S = 0.005
_LISTENS = "0A"  # in /proc/PID/net/tcp


@dataclass
class _Life:
    """The life of a host: ``pid`` is None when it is off."""

    host: LabHost
    pid: int | None = None
    paused: bool = False
    cut: bool = False

    def as_data(self) -> dict[str, str]:
        state = "off" if self.pid is None else "paused" if self.paused else "on"
        network = "cut" if self.cut else "ok"
        return {"host": self.host.name, "address": self.host.address, "state": state, "network": network}


class Tie:
    """The pipes between the warden and the `lab up` that started it; they hold until that says ``commit``."""

    def __init__(self) -> None:
        self._tied = True

    def leave_if_alone(self) -> None:
        """End everything when `lab up` is gone before it said that the lab may outlive it."""
        if self._tied and select.select([sys.stdin.fileno()], [], [], 0)[0]:
            os._exit(1)

    def say(self, data: dict[str, Any]) -> None:
        """One line for `lab up`; without one who listens everything ends."""
        try:
            sys.stdout.write(json.dumps(data) + "\n")
            sys.stdout.flush()
        except BrokenPipeError:
            os._exit(1)

    def cut(self) -> None:
        """Wait for the word, then let go of the pipes."""
        if sys.stdin.buffer.readline() != COMMIT:
            os._exit(1)
        nothing = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1):
            os.dup2(nothing, number)
        self._tied = False


class Warden:
    """The hosts of a lab and what can be done to them."""

    def __init__(self, blueprint: Blueprint, tie: Tie) -> None:
        self._blueprint = blueprint
        self._tie = tie
        self._switch = Switch(blueprint.wiring, blueprint.link_rate_bytes)
        self._link_cut = False
        self._lives = {host.name: _Life(host) for host in blueprint.hosts}
        self._verbs = {
            "kill": self._kill,
            "start": self._start,
            "pause": self._pause,
            "resume": self._resume,
            "cut": self._cut,
            "mend": self._mend,
        }

    def power_on(self, lives: Iterable[_Life]) -> None:
        """Build hosts side by side and wait until each listens on its SSH port."""
        lives = list(lives)
        buildings = []
        for life in lives:
            self._tie.leave_if_alone()
            buildings.append(begin(self._blueprint, life.host))
        for life, building in zip(lives, buildings, strict=True):
            life.pid = building.finish()
            self._switch.attach(life.host, self._blueprint.rate_bytes)
            if life.cut:
                self._switch.set_cables(life.host, whole=False)
        limit = time.monotonic() + _READY_LIMIT_S
        for life in lives:
            while not _listens(life.pid):
                self._tie.leave_if_alone()
                if time.monotonic() > limit:
                    log = self._blueprint.of_host(life.host) / SSHD_LOG
                    raise HostError("its sshd does not listen", host=life.host.name, hint=f"Its log is {log}")
                time.sleep(_RETRY_S)

    def power_on_all(self) -> None:
        """Build all hosts."""
        self.power_on(self._lives.values())

    def do(self, verb: str, name: str) -> Any:
        """Answer a request of the command line: for ``status`` a list of hosts, else how the host is then."""
        if verb == "status":
            return [life.as_data() for life in self._lives.values()] + self._link()
        if name == LINK and verb in ("cut", "mend") and self._link():
            self._switch.set_links(whole=verb == "mend")
            self._link_cut = verb == "cut"
            return self._link()[0]
        if name not in self._lives:
            known = node_set(host.name for host in self._blueprint.wiring.nodes)
            others = "".join(f" and {host.name}" for host in self._blueprint.wiring.jump_hosts)
            raise UserError(f"lab {self._blueprint.name!r} has no host {name!r}", hint=f"Its hosts are {known}{others}")
        life = self._lives[name]
        try:
            self._verbs[verb](life)
        except OSError as error:
            raise HostError(f"{verb} failed: {error}", host=name) from error
        return life.as_data()

    def _link(self) -> list[dict[str, str]]:
        """The link between two sites as a row of the status; empty with one site."""
        if not self._blueprint.wiring.links:
            return []
        return [{"host": LINK, "address": "", "state": "on", "network": "cut" if self._link_cut else "ok"}]

    def reap(self) -> None:
        """Let processes that ended go; a host whose first process ended is off."""
        by_pid = {life.pid: life for life in self._lives.values()}
        while pid := _ended():
            if pid in by_pid:
                self._is_off(by_pid[pid])

    def _kill(self, life: _Life) -> None:
        if life.pid is not None:
            os.kill(life.pid, signal.SIGKILL)
            os.waitpid(life.pid, 0)
            self._is_off(life)

    def _is_off(self, life: _Life) -> None:
        life.pid, life.paused = None, False
        self._switch.remove(life.host)

    def _start(self, life: _Life) -> None:
        if life.pid is None:
            self.power_on([life])

    def _pause(self, life: _Life) -> None:
        processes.pause(life.host.name, self._pid_of(life))
        life.paused = True

    def _resume(self, life: _Life) -> None:
        processes.resume(self._pid_of(life))
        life.paused = False

    def _cut(self, life: _Life) -> None:
        self._set_cable(life, whole=False)

    def _mend(self, life: _Life) -> None:
        self._set_cable(life, whole=True)

    def _set_cable(self, life: _Life, *, whole: bool) -> None:
        if life.pid is not None:
            self._switch.set_cables(life.host, whole=whole)
        life.cut = not whole

    def _pid_of(self, life: _Life) -> int:
        if life.pid is None:
            raise UserError("this host is off", where=life.host.name, hint=f"fawkes lab start {life.host.name}")
        return life.pid


def _ended() -> int:
    """A process that ended and is hereby gone; 0 when there is none."""
    try:
        return os.waitpid(-1, os.WNOHANG)[0]
    except ChildProcessError:
        return 0


def _listens(pid: int | None) -> bool:
    """True if somebody listens on the SSH port in the network of this process: the warden may have no way to it."""
    try:
        sockets = [line.split() for line in Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]]
    except OSError:
        return False
    return any(local.endswith(f":{SSH_PORT:04X}") and state == _LISTENS for _, local, _, state, *_ in sockets)


def _enter_namespaces(blueprint: Blueprint, tie: Tie) -> None:
    """Come back as the first process of the outer namespaces; the process that was called ends."""
    user, group = os.getuid(), os.getgid()
    if blueprint.user_id is not None:
        kernel.unshare(kernel.NEW_USERS)
        kernel.map_user(0, user, group)
    kernel.unshare(kernel.NEW_MOUNTS | kernel.NEW_NETWORK | kernel.NEW_PIDS)
    kernel.mount("none", "/", flags=kernel.RECURSIVE | kernel.SLAVE)
    warden = os.fork()
    if warden:
        tie.say({"pid": warden})
        os._exit(0)
    kernel.mount("proc", "/proc", "proc")
    for name in ("hosts", "resolv.conf"):
        target = Path("/etc", name)
        if target.exists():
            kernel.bind(str(blueprint.etc / name), str(target))


def _mount_disks(blueprint: Blueprint) -> None:
    """Limited disks; here, not in the hosts, so that a host that is powered on again finds its files."""
    if blueprint.disk_bytes is not None:
        for host in blueprint.hosts:
            disk = str(blueprint.of_host(host) / "srv")
            kernel.mount("tmpfs", disk, "tmpfs", data=f"size={blueprint.disk_bytes},mode=755")


def _listen(blueprint: Blueprint) -> socket.socket:
    os.chdir(blueprint.folder)  # a path from here is short enough for a socket's address
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(CONTROL)
    listener.listen(64)
    os.chdir("/")
    return listener


def _serve(warden: Warden, listener: socket.socket) -> None:
    wake_read, wake_write = os.pipe()
    os.set_blocking(wake_read, False)
    os.set_blocking(wake_write, False)
    signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    warden.reap()
    while True:
        ready, _, _ = select.select([listener.fileno(), wake_read], [], [])
        if wake_read in ready:
            os.read(wake_read, 4096)
            warden.reap()
        if listener.fileno() in ready:
            answer_next(listener, warden.do)


def main(blueprint_file: str, lock: int) -> None:
    """Build the lab and keep it, and its lock, until the process is killed."""
    os.set_inheritable(lock, False)
    os.umask(0o022)
    blueprint, tie = Blueprint.from_json(Path(blueprint_file).read_text()), Tie()
    try:
        _enter_namespaces(blueprint, tie)
        signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
        _mount_disks(blueprint)
        warden = Warden(blueprint, tie)
        warden.power_on_all()
        listener = _listen(blueprint)
    except FawkesError as error:
        tie.say(error_as_data(error))
        os._exit(1)
    except OSError as error:
        tie.say(refusal_as_data(error))
        os._exit(1)
    tie.say({"ready": True})
    tie.cut()
    _serve(warden, listener)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
