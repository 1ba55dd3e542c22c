"""Connections by way of jump hosts: one SSH connection to each of them, shared by all nodes behind it."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import paramiko
from paramiko.common import OPEN_FAILED_ADMINISTRATIVELY_PROHIBITED

from fawkes.live.base import limits
from fawkes.live.nodes.known_hosts import KnownHosts
from fawkes.live.nodes.lane import answers
from fawkes.live.nodes.ssh import ConnectionState, Dial, HostAddress, SshError, open_connection
from fawkes.live.wire.hadoop_rpc import Connection
from fawkes.live.wire.names import NAMES

_CHUNK = 1 << 16


class JumpHosts:
    """The connections to all jump hosts of a fleet; they are opened when a node needs them, and again when lost.

    ``connect_s`` bounds each phase of a login. A jump host that could not be used is not tried again for that time, so
    that the nodes behind it do not wait for it one after another.
    """

    def __init__(self, known: KnownHosts, connect_s: float) -> None:
        self._known = known
        self._connect_s = connect_s
        self._lock = threading.Lock()
        self._hosts: dict[HostAddress, _JumpHost] = {}

    def dial(self, host: HostAddress, until: float) -> Dial:
        """Opens connections to a host: from its jump host, or from here when it has none.

        SshError of the host, in the state BEHIND, when the jump host cannot be used; so does what it returns.
        """
        if host.jump is None:
            return NAMES.connect
        jump = self._host(host.jump)
        jump.transport(host, until)
        return partial(jump.connect, host, until)

    def unknown(self) -> list[HostAddress]:
        """The jump hosts whose key was not known when they were tried last."""
        return [jump.address for jump in list(self._hosts.values()) if jump.failed is ConnectionState.KEY_UNKNOWN]

    def forget(self) -> None:
        """Try all jump hosts again when they are needed next."""
        for jump in list(self._hosts.values()):
            jump.forget()

    def close(self) -> None:
        """Close every connection."""
        for jump in list(self._hosts.values()):
            jump.drop()

    def _host(self, address: HostAddress) -> _JumpHost:
        with self._lock:
            if address not in self._hosts:
                login = partial(self._log_in, address)
                self._hosts[address] = _JumpHost(address, login, self._connect_s)
            return self._hosts[address]

    def _log_in(self, address: HostAddress, until: float) -> Any:
        dial = _prompt if address.jump is None else self.dial(address, until)
        return open_connection(address, self._known, self._connect_s, until, dial)


class _PromptSocket(socket.socket):
    """Acknowledges at once: sshd without a session has no NODELAY, and would hold each second packet for 40 ms."""

    def recv(self, size: int, flags: int = 0, /) -> bytes:
        data = super().recv(size, flags)
        self.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)  # the kernel forgets it after a while
        return data


def _prompt(address: str, port: int, limit_s: float, /) -> socket.socket:
    return _PromptSocket(fileno=NAMES.connect(address, port, limit_s).detach())


class _JumpHost:
    def __init__(self, address: HostAddress, log_in: Callable[[float], Any], connect_s: float) -> None:
        self.address = address
        self._log_in = log_in
        self._connect_s = connect_s
        self._lock = threading.Lock()
        self._refusals = threading.Lock()
        self._connection: Any = None
        self._failure: SshError | None = None
        self._failed_at = 0.0

    @property
    def failed(self) -> ConnectionState | None:
        """The error of the last login, None if it did not."""
        failure = self._failure
        return None if failure is None else failure.state

    def transport(self, host: HostAddress, until: float) -> paramiko.Transport:
        """An open connection to the jump host; SshError of the ``host`` behind it."""
        if not self._lock.acquire(timeout=max(0.0, until - time.monotonic())):
            raise self._behind(host, "there was no time left to log in there")
        try:
            if self._connection is None or not self._connection.is_connected:
                self._open(host, until)
            transport: paramiko.Transport = self._connection.transport
            return transport
        finally:
            self._lock.release()

    def connect(self, host: HostAddress, until: float, address: str, port: int, limit_s: float, /) -> paramiko.Channel:
        """A connection that the jump host opens to an address; SshError of the ``host`` that is meant."""
        transport = self.transport(host, until)
        where, us = f"{address} port {port}", self.address
        try:
            return self._channel(transport, (address, port), limit_s)
        except paramiko.ChannelException as error:
            if error.code == OPEN_FAILED_ADMINISTRATIVELY_PROHIBITED:
                hint = (
                    f"Let sshd of {us.node} forward connections for user {us.user}: AllowTcpForwarding, "
                    "DisableForwarding and PermitOpen in its sshd_config"
                )
                raise self._behind(host, f"it does not forward connections to {where}", hint) from error
            what = f"{where} does not take connections from it"
            hint = f"Check that the host is on, that sshd runs there, and that {us.node} resolves the name"
            raise self._behind(host, what, hint, state=ConnectionState.NO_ANSWER) from error
        except (OSError, EOFError, paramiko.SSHException) as error:
            if not transport.is_active():
                raise self._behind(host, "the connection to it was lost", "Try again") from error
            if answers(transport, min(limit_s, limits.JUMP_HOST_S)):
                hint = f"Check that the host is on and the network between {us.node} and it works"
                no_answer = ConnectionState.NO_ANSWER
                raise self._behind(host, f"{where} does not answer", hint, state=no_answer) from error
            transport.close()
            what, hint = "it does not answer, although the login succeeded", "Check that it is on and not paused"
            silent = SshError(what, host=us.node, state=ConnectionState.NO_ANSWER, hint=hint)
            self._failure, self._failed_at = silent, time.monotonic()
            raise self._of(host, silent) from error

    def _channel(self, transport: paramiko.Transport, place: tuple[str, int], limit_s: float) -> paramiko.Channel:
        def channel() -> paramiko.Channel | None:
            try:
                return transport.open_channel("direct-tcpip", place, ("127.0.0.1", 0), timeout=limit_s)
            except paramiko.ChannelException:
                raise
            except paramiko.SSHException as error:
                if "Unable to open channel" not in str(error) or time.monotonic() > until:
                    raise
                return None

        until = time.monotonic() + limit_s
        opened = channel()
        if opened is None:
            # Of several that are refused at the same time paramiko gives only one the reason, and this one may lose it
            # again, to each of those that ask for the first time.
            with self._refusals:
                while opened is None:
                    opened = channel()
        return opened

    def forget(self) -> None:
        """Try it again when it is needed next."""
        self._failure = None

    def drop(self) -> None:
        """Close the connection."""
        connection = self._connection
        if connection is not None:
            connection.client.close()

    def _open(self, host: HostAddress, until: float) -> None:
        began = time.monotonic()
        if self._failure is None or began - self._failed_at > self._connect_s:
            self._failure = None
            try:
                self._connection = self._log_in(until)
                return
            except SshError as error:
                # A login that was cut short says nothing about the jump host.
                if until - began < self._connect_s:
                    raise self._of(host, error) from error
                self._failure, self._failed_at = error, time.monotonic()
        raise self._of(host, self._failure) from self._failure

    def _of(self, host: HostAddress, error: SshError) -> SshError:
        """The error of a jump host as one of a host behind it; the first jump host that fails is named."""
        if error.state in (ConnectionState.BEHIND, ConnectionState.NOT_TRIED):
            return SshError(error.what, host=host.node, state=error.state, hint=error.hint)
        return self._behind(host, error.what, error.hint)

    def _behind(
        self, host: HostAddress, what: str, hint: str = "", *, state: ConnectionState = ConnectionState.BEHIND
    ) -> SshError:
        return SshError(f"behind {self.address.node}: {what}", host=host.node, state=state, hint=hint)


def as_socket(connection: Connection) -> socket.socket:
    """A socket that is joined to a connection which has none, such as a channel of SSH: TLS and `select` need one."""
    ours, theirs = socket.socketpair()
    connection.settimeout(None)

    def up() -> None:
        # Whoever closes the socket has done with the connection: nothing here closes one direction alone.
        with contextlib.suppress(OSError, EOFError, paramiko.SSHException), connection, theirs:
            while data := theirs.recv(_CHUNK):
                connection.sendall(data)

    def down() -> None:
        with contextlib.suppress(OSError, EOFError, paramiko.SSHException):
            while data := connection.recv(_CHUNK):
                theirs.sendall(data)
        with contextlib.suppress(OSError):
            theirs.shutdown(socket.SHUT_RDWR)

    for work in (up, down):
        threading.Thread(target=work, name=f"ssh-{work.__name__}", daemon=True).start()
    return ours
