"""A small SSH server in this process: real protocol, real shells of this machine, and faults on demand."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Self

import paramiko
from paramiko import common

from fawkes.live.nodes.ssh import HostAddress


def new_key() -> paramiko.PKey:
    return paramiko.ECDSAKey.generate()


def write_key(key: paramiko.PKey, path: Path) -> Path:
    key.write_private_key_file(str(path))
    return path


class _Session(paramiko.ServerInterface):
    def __init__(self, server: Sshd) -> None:
        self._server = server
        self.destinations: dict[int, tuple[str, int]] = {}
        self._sessions = 0

    def get_allowed_auths(self, username: str) -> str:
        return self._server.wants

    def check_auth_publickey(self, username: str, key: paramiko.PKey) -> int:
        self._server.logins.append(username)
        if key != self._server.authorized or self._server.wants == "password":
            return common.AUTH_FAILED
        return common.AUTH_SUCCESSFUL if self._server.wants == "publickey" else common.AUTH_PARTIALLY_SUCCESSFUL

    def check_channel_request(self, kind: str, chanid: int) -> int:
        if self._server.refuse_channels:
            return common.OPEN_FAILED_RESOURCE_SHORTAGE
        if self._server.most_sessions is not None and self._sessions >= self._server.most_sessions:
            return common.OPEN_FAILED_CONNECT_FAILED
        self._sessions += 1
        return common.OPEN_SUCCEEDED

    def check_channel_direct_tcpip_request(
        self, chanid: int, origin: tuple[str, int], destination: tuple[str, int]
    ) -> int:
        if not self._server.forwards:
            self._server.not_forwarded += 1
            return common.OPEN_FAILED_ADMINISTRATIVELY_PROHIBITED
        self._server.tunnels.append(destination)
        self.destinations[chanid] = destination
        return common.OPEN_SUCCEEDED

    def check_channel_exec_request(self, channel: paramiko.Channel, command: bytes) -> bool:
        self._server.commands.append(command.decode())
        if self._server.silent_exec:
            self._server.stopped.wait()
            return False
        thread = threading.Thread(target=self._serve, args=(channel, command), daemon=True)
        thread.start()
        if self._server.hasty:
            thread.join()
        return True

    def _serve(self, channel: paramiko.Channel, command: bytes) -> None:
        self._server.serve(channel, command)
        self._sessions -= 1


@dataclass
class Sshd:
    """Listens on a free port of 127.0.0.1 until it is closed; every command runs in ``/bin/sh`` after ``noise``."""

    authorized: paramiko.PKey = field(default_factory=new_key)
    host_key: paramiko.PKey = field(default_factory=new_key)
    noise: str = ""
    """Shell text that the login shell runs before every command, as a .bashrc does."""
    drop: int = 0
    """How many connections to close before a word is said."""
    silent_exec: bool = False
    hasty: bool = False
    """True if a command ends, and its channel is closed, before the answer that it was begun."""
    refuse_channels: bool = False
    most_sessions: int | None = None
    """How many sessions a connection may have (MaxSessions)."""
    forwards: bool = True
    not_forwarded: int = 0
    wants: str = "publickey"
    """What a login needs, as in AuthenticationMethods; anything else than these two words comes after the key."""
    tunnels: list[tuple[str, int]] = field(default_factory=list)
    logins: list[str] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)
    connections: int = 0
    stopped: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self._transports: list[paramiko.Transport] = []
        self.processes: list[subprocess.Popen[bytes]] = []
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def host(self, key: Path, node: str = "node01", user: str = "tester") -> HostAddress:
        return HostAddress(node, "127.0.0.1", user, self.port, key)

    def known_line(self) -> str:
        return f"[127.0.0.1]:{self.port} {self.host_key.get_name()} {self.host_key.get_base64()}\n"

    def cut(self) -> None:
        """End every connection, as the death of the host would."""
        for transport in self._transports:
            transport.close()
        self._transports.clear()

    def close(self) -> None:
        self.stopped.set()
        # Wakes the thread that accepts: it would go on with the number of the file, which is soon another's.
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self.cut()
        for process in self.processes:
            process.kill()
            process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self.connections += 1
            if self.connections <= self.drop:
                connection.close()
                continue
            transport = paramiko.Transport(connection)
            transport.add_server_key(self.host_key)
            self._transports.append(transport)
            # With an event of its own the negotiation does not hold up the next connection.
            session = _Session(self)
            transport.start_server(threading.Event(), server=session)
            threading.Thread(target=self._forward, args=(transport, session), daemon=True).start()

    def _forward(self, transport: paramiko.Transport, session: _Session) -> None:
        # A channel that nobody refers to is closed: sessions are taken here before anything is asked of them.
        accepted: list[paramiko.Channel] = []
        while transport.is_active() and not self.stopped.is_set():
            channel = transport.accept(0.2)
            if channel is None:
                continue
            accepted.append(channel)
            if channel.chanid not in session.destinations:
                continue
            try:
                there = socket.create_connection(session.destinations[channel.chanid], timeout=5)
            except OSError:
                channel.close()
                continue
            there.settimeout(None)
            _pump(there.recv, channel.sendall, channel.close)
            _pump(channel.recv, there.sendall, partial(there.shutdown, socket.SHUT_RDWR))

    def serve(self, channel: paramiko.Channel, command: bytes) -> None:
        process = subprocess.Popen(
            ["/bin/sh", "-c", f"{self.noise}\n{command.decode()}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "LANG": "C"},
            bufsize=0,
        )
        self.processes.append(process)
        assert process.stdin
        assert process.stdout
        assert process.stderr
        readers = [_pump(process.stdout.read, channel.sendall), _pump(process.stderr.read, channel.sendall_stderr)]
        _pump(channel.recv, process.stdin.write, process.stdin.close)
        for reader in readers:
            reader.join()
        with contextlib.suppress(OSError, EOFError):
            channel.shutdown_write()
            channel.send_exit_status(process.wait() & 0xFF)
            channel.close()


def _pump(
    read: Callable[[int], bytes | None], write: Callable[[bytes], object], end: Callable[[], None] = lambda: None
) -> threading.Thread:
    def pump() -> None:
        with contextlib.suppress(OSError, EOFError, ValueError, paramiko.SSHException):
            while data := read(1 << 16):
                write(data)
        with contextlib.suppress(OSError, EOFError, paramiko.SSHException):
            end()

    thread = threading.Thread(target=pump, daemon=True)
    thread.start()
    return thread
