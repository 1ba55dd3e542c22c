"""The connections to one host, and the sessions and forwarded ports on them.

One connection is enough for most servers. Where sshd lets no further session on it (MaxSessions), another one is
opened. Where sshd forwards nothing, a session does the work of a forwarded port.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import paramiko
from paramiko import common

from fawkes.base.errors import HostError
from fawkes.live.base import limits
from fawkes.live.nodes.jump import JumpHosts
from fawkes.live.nodes.known_hosts import KnownHosts
from fawkes.live.nodes.relay import NotTakenError, relay
from fawkes.live.nodes.ssh import ConnectionState, HostAddress, SshDeadlineError, SshError, open_connection

_BROKEN = (OSError, EOFError, paramiko.SSHException)

# paramiko calls each refused channel an error. Here a refusal is an answer, and who asked tells it if it matters.
logging.getLogger("paramiko.transport").addFilter(lambda record: "open FAILED" not in str(record.msg))


class _Login:
    """A login that has begun, when (monotonic), and the error with which it has failed.

    ``whole``: it had all of the time that a login gets. One that was cut short says nothing about the host.
    """

    def __init__(self, *, whole: bool) -> None:
        self.began = time.monotonic()
        self.whole = whole
        self.over = threading.Event()
        self.error: SshError | None = None


class _Connection:
    """One connection, and the sessions that we have on it, which are begun one after another."""

    def __init__(self, node: str, connection: Any) -> None:
        self._node = node
        self._connection = connection
        self._lock = threading.Lock()
        self._sessions: list[paramiko.Channel] = []
        self._most: int | None = None
        #: false once its sshd has refused to forward a port
        self.forwards = True

    @property
    def alive(self) -> bool:
        """True if it was open a moment ago."""
        return bool(self._connection.is_connected)

    def session(self, answer_s: float, until: float) -> paramiko.Channel | None:
        """A new session; None when it has as many as it had when its sshd refused another one.

        paramiko.ChannelException when its sshd refuses it now, other errors when it does not answer.
        """
        with within(self._lock, until, self._node):
            self._sessions = [channel for channel in self._sessions if not channel.closed]
            if self._most is not None and len(self._sessions) >= self._most:
                return None
            try:
                channel: paramiko.Channel = self._connection.transport.open_session(timeout=answer_s)
            except paramiko.ChannelException:
                # A session that has just been closed here may last a moment longer there: without one of ours open,
                # the refusal says nothing about how many there may be.
                self._most = len(self._sessions) or None
                raise
            self._sessions.append(channel)
            return channel

    def port(self, address: str, port: int, limit_s: float) -> paramiko.Channel:
        """A forwarded port; errors as for `session`."""
        channel: paramiko.Channel = self._connection.transport.open_channel(
            "direct-tcpip", (address, port), ("127.0.0.1", 0), timeout=limit_s
        )
        return channel

    def close(self) -> None:
        """Close it, with all that is on it."""
        self._connection.client.close()


class Connections:
    """The connections to one host: as few as its sshd lets us do with.

    A login that failed is the answer to everybody who had asked before it began. Else each of them would wait for a
    login of his own, one after another, and a question about a host without power would take minutes. Who asks while
    one is under way waits a moment for its end, and then begins the next one beside it.
    """

    def __init__(self, address: HostAddress, known: KnownHosts, jumps: JumpHosts, connect_s: float) -> None:
        self._address = address
        self._known = known
        self._jumps = jumps
        self._connect_s = connect_s
        self._lock = threading.Lock()
        self._open: list[_Connection] = []
        self._login: _Login | None = None

    def session(self, since: float, until: float) -> paramiko.Channel:
        """A fresh session on a connection that is there, or else on a new one; SshError when there is none."""
        while True:
            for connection in self._alive():
                try:
                    channel = connection.session(self._answer_s(until), until)
                except paramiko.ChannelException:
                    continue
                except _BROKEN:
                    # If it is there and silent, the others are no better, and each would take the same time.
                    silent = connection.alive
                    connection.close()
                    if silent:
                        self.drop()
                        break
                else:
                    if channel is not None:
                        return channel
            with self._new(since, until) as new:
                channel = None if new is None else self._first_session(new, until)
            if channel is not None:
                return channel

    def _first_session(self, new: _Connection, until: float) -> paramiko.Channel | None:
        try:
            return new.session(self._answer_s(until), until)
        except _BROKEN as error:
            new.close()
            said = f" ({error})" if str(error) else ""
            raise SshError(
                f"the login succeeded, but no shell started{said}",
                host=self._address.node,
                state=ConnectionState.NO_ANSWER,
                hint="Check that MaxSessions of its sshd is at least 1",
            ) from error

    def port(self, address: str, port: int, until: float) -> paramiko.Channel:
        """A connection that the host opens for us; OSError when it does not.

        NotTakenError (one as well) when the host does, and the address does not take the connection.
        """
        since = time.monotonic()
        node = self._address.node
        try:
            while (connection := next(iter(self._alive()), None)) is None:
                with self._new(since, until):
                    pass
            channel = self._forwarded(connection, address, port, until) if connection.forwards else None
            if channel is None:
                channel = self.session(since, until)
                relay(channel, address, port, left(until))
        except NotTakenError as error:
            raise NotTakenError(f"{node} does not get through to {address} port {port}: {error}") from error
        except (HostError, OSError, EOFError, paramiko.SSHException) as error:
            raise ConnectionError(f"{node} did not connect to it: {error}") from error
        channel.settimeout(left(until))
        return channel

    def drop(self) -> None:
        """Close all connections; the next use opens another."""
        for connection in list(self._open):
            connection.close()

    def _alive(self) -> list[_Connection]:
        """The connections that are open."""
        with self._lock:
            self._open = [connection for connection in self._open if connection.alive]
            return list(self._open)

    def _forwarded(self, connection: _Connection, address: str, port: int, until: float) -> paramiko.Channel | None:
        """A forwarded port; None where its sshd forwards none."""
        try:
            return connection.port(address, port, left(until))
        except paramiko.ChannelException as error:
            if error.code == common.OPEN_FAILED_CONNECT_FAILED:
                raise NotTakenError(str(error.text)) from error
            if error.code != common.OPEN_FAILED_ADMINISTRATIVELY_PROHIBITED:
                raise
            connection.forwards = False
            return None

    @contextmanager
    def _new(self, since: float, until: float) -> Iterator[_Connection | None]:
        """A new connection, which others see at the end of the block: its first session is for who has made it.

        None when somebody else's login has come to its end, which may have brought one.
        """
        login = self._begin(since, until)
        if login is None:
            yield None
            return
        try:
            try:
                dial = self._jumps.dial(self._address, until)
                client = open_connection(self._address, self._known, self._connect_s, until, dial)
            except SshError as error:
                login.error = error
                raise
            connection = _Connection(self._address.node, client)
            yield connection
            with self._lock:
                self._open.append(connection)
        finally:
            login.over.set()

    def _begin(self, since: float, until: float) -> _Login | None:
        """A login that the caller is to make; None when it is to look again. SshError when the latest one answers."""
        with self._lock:
            latest = self._login
            if latest is None or latest.over.is_set():
                if latest is not None and latest.error is not None and latest.whole and latest.began >= since:
                    error = latest.error
                    raise SshError(error.what, host=error.host, state=error.state, hint=error.hint)
                self._login = _Login(whole=until - time.monotonic() >= self._connect_s)
                return self._login
            moment = latest.began + limits.LOGIN_S
            if latest.began < since and moment <= time.monotonic():
                self._login = _Login(whole=until - time.monotonic() >= self._connect_s)
                return self._login
        # Its end is the answer to who asked before it began.
        latest.over.wait(left(until if latest.began >= since else min(moment, until)))
        if until <= time.monotonic():
            what = "all SSH sessions to it were busy until the deadline"
            raise SshDeadlineError(what, host=self._address.node, state=ConnectionState.TIMED_OUT)
        return None

    def _answer_s(self, until: float) -> float:
        return min(self._connect_s, left(until))


def left(until: float) -> float:
    """The seconds until then (monotonic), never quite none."""
    return max(0.05, until - time.monotonic())


@contextmanager
def within(lock: threading.Lock | threading.BoundedSemaphore, until: float, node: str) -> Iterator[None]:
    """Hold a lock; SshDeadlineError when others hold it until then (monotonic)."""
    if not lock.acquire(timeout=max(0.0, until - time.monotonic())):
        what = "all SSH sessions to it were busy until the deadline"
        raise SshDeadlineError(what, host=node, state=ConnectionState.TIMED_OUT)
    try:
        yield
    finally:
        lock.release()
