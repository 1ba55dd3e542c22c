"""All hosts of a site: scripts, files and bytes to many at once, with a time limit and a result for each.

Connections are kept: the first script on a host pays for the login, those after it for one process. A host has one
connection with a few lanes on it, so that a long script does not hold up a short one. A host that fails is a value
in the result, never the end of the others.
"""

from __future__ import annotations

import io
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import Any, BinaryIO, Self

import paramiko

from fawkes.errors import HostError, UserError, cut
from fawkes.live.known_hosts import KnownHosts, remember
from fawkes.live.lane import Lane, LaneBrokenError, late, run_once
from fawkes.live.ssh import (
    ConnectionState,
    HostAddress,
    Result,
    SshDeadlineError,
    SshError,
    open_connection,
    shown_key,
)
from fawkes.playbook import Folders, Lease, Script, changing, reading_in

Work = Script | Callable[[str], Script]

_BROKEN = (OSError, EOFError, paramiko.SSHException)


@dataclass(frozen=True, slots=True)
class _Failure:
    """A login that failed, and when (monotonic) it had begun."""

    began: float
    error: SshError


class _Host:
    """One host: its connection, and the lanes that are not in use.

    A login that failed is the answer to everybody who had asked before it began. Else each of them would wait for a
    login of his own, one after another, and a question about a host without power would take minutes.
    """

    def __init__(self, address: HostAddress, known: KnownHosts, connect_s: float, lanes: int) -> None:
        self._address = address
        self._known = known
        self._connect_s = connect_s
        self._slots = threading.BoundedSemaphore(lanes)
        self._lock = threading.Lock()
        self._connection: Any = None
        self._idle: list[Lane] = []
        self._failure: _Failure | None = None

    def run(self, script: Script, until: float, stdin: BinaryIO | None, sink: BinaryIO | None) -> Result:
        """Run a script; SshError says what is wrong with the host or the way to it."""
        asked = time.monotonic()
        with _within(self._slots, until, self._address.node):
            given = until - time.monotonic()
            try:
                if stdin is None:
                    return self._run_kept(script, asked, until, sink)
                return self._run_fresh(script, asked, until, stdin, sink)
            except LaneBrokenError as broken:
                raise self._explain(broken, given) from broken

    def tunnel(self, address: str, port: int, until: float) -> paramiko.Channel:
        """A connection that the host opens for us; OSError when it does not."""
        asked = time.monotonic()
        try:
            with _within(self._lock, until, self._address.node):
                if self._connection is None or not self._connection.is_connected:
                    self._connection = self._open(asked, until)
                channel: paramiko.Channel = self._connection.transport.open_channel(
                    "direct-tcpip", (address, port), ("127.0.0.1", 0), timeout=self._left(until)
                )
        except (HostError, EOFError, paramiko.SSHException) as error:
            raise ConnectionError(f"{self._address.node} did not connect to it: {error}") from error
        channel.settimeout(self._left(until))
        return channel

    def drop(self) -> None:
        """Close the connection; the next use opens another."""
        connection = self._connection
        if connection is not None:
            connection.client.close()

    def _run_kept(self, script: Script, asked: float, until: float, sink: BinaryIO | None) -> Result:
        while True:
            lane = self._lane(asked, until)
            reused = lane.used
            try:
                result = lane.run(script, self._left(until), self._answer_s(until), sink)
            except LaneBrokenError as broken:
                lane.transport.close()
                # The host was restarted since the lane was last used: the script was not begun, so it may be sent
                # again. It may not if the host is silent: it could begin yet.
                if reused and not broken.begun and not broken.silent:
                    continue
                raise
            except SshError as error:
                if error.state is ConnectionState.TIMED_OUT:
                    self._give_back(lane)
                raise
            self._give_back(lane)
            return result

    def _run_fresh(self, script: Script, asked: float, until: float, stdin: BinaryIO, sink: BinaryIO | None) -> Result:
        node = self._address.node
        with self._channel(asked, until) as channel:
            try:
                return run_once(node, channel, script, stdin, self._left(until), self._answer_s(until), sink)
            except LaneBrokenError:
                channel.get_transport().close()
                raise

    def _lane(self, asked: float, until: float) -> Lane:
        while True:
            with _within(self._lock, until, self._address.node):
                while self._idle:
                    lane = self._idle.pop()
                    if lane.alive:
                        return lane
            channel = self._channel(asked, until)
            try:
                return Lane(self._address.node, channel, self._answer_s(until))
            except LaneBrokenError:
                channel.get_transport().close()
                raise

    def _channel(self, asked: float, until: float) -> paramiko.Channel:
        """A channel on the connection that is there, or else on a new one."""
        with _within(self._lock, until, self._address.node):
            kept = self._connection is not None and self._connection.is_connected
            if kept:
                try:
                    return self._open_channel(until)
                except _BROKEN:
                    self._connection.client.close()
            self._connection = self._open(asked, until)
            try:
                return self._open_channel(until)
            except _BROKEN as error:
                self._connection.client.close()
                said = f" ({error})" if str(error) else ""
                raise SshError(
                    f"the login succeeded, but no shell started{said}",
                    host=self._address.node,
                    state=ConnectionState.NO_ANSWER,
                    hint="Check that MaxSessions of its sshd is at least 4",
                ) from error

    def _open(self, asked: float, until: float) -> Any:
        """A new connection, for who holds the lock."""
        failure, began = self._failure, time.monotonic()
        if failure is not None and failure.began >= asked:
            error = failure.error
            raise SshError(error.what, host=error.host, state=error.state, hint=error.hint)
        try:
            connection = open_connection(self._address, self._known, self._connect_s, until)
        except SshError as error:
            # A login that was cut short says nothing about the host.
            self._failure = _Failure(began, error) if until - began >= self._connect_s else None
            raise
        self._failure = None
        return connection

    def _open_channel(self, until: float) -> paramiko.Channel:
        channel: paramiko.Channel = self._connection.transport.open_session(timeout=self._answer_s(until))
        return channel

    def _give_back(self, lane: Lane) -> None:
        with self._lock:
            self._idle.append(lane)

    def _left(self, until: float) -> float:
        return max(0.05, until - time.monotonic())

    def _answer_s(self, until: float) -> float:
        return min(self._connect_s, self._left(until))

    def _explain(self, broken: LaneBrokenError, given_s: float) -> SshError:
        node = self._address.node
        if broken.silent and broken.begun:
            return late(node, given_s)
        if broken.silent and given_s < self._connect_s:
            # Too short a time to say that the host does not answer.
            return late(node, given_s)
        if broken.answers or broken.exit is not None:
            return self._no_shell(broken)
        if broken.silent:
            return SshError(
                "it does not answer, although an earlier login succeeded",
                host=node,
                state=ConnectionState.NO_ANSWER,
                hint="Check that the host is on and the network to it works",
            )
        when = "while the script ran" if broken.begun else "before the script began"
        return SshError(f"the connection was lost {when}", host=node, state=ConnectionState.LOST, hint="Try again")

    def _no_shell(self, broken: LaneBrokenError) -> SshError:
        """The error for a login that succeeded, and whose session did not run the script."""
        user = self._address.user
        what = "its login shell does not begin the script"
        if broken.exit is not None:
            what = f"its session ended with exit code {broken.exit} before the script"
        said = f"; it said: {cut(broken.said, 200)}" if broken.said else ""
        return SshError(
            f"the login of {user!r} succeeded, but {what}{said}",
            host=self._address.node,
            state=ConnectionState.NO_SHELL,
            hint=f"Look there at the start files of the login shell of {user} (such as ~/.bashrc), and at ForceCommand "
            "of its sshd: without a terminal they must not start another shell, exit or wait",
        )


@contextmanager
def _within(lock: threading.Lock | threading.BoundedSemaphore, until: float, node: str) -> Iterator[None]:
    if not lock.acquire(timeout=max(0.0, until - time.monotonic())):
        what = "all SSH sessions to it were busy until the deadline"
        raise SshDeadlineError(what, host=node, state=ConnectionState.TIMED_OUT)
    try:
        yield
    finally:
        lock.release()


class Fleet:
    """Runs scripts on hosts over connections that it keeps. Use from any thread; not across a fork.

    ``connect_s`` bounds each phase of a login and the wait for the first sign of a script; ``fanout`` how many hosts
    `run_many` serves at once; ``lanes`` how many scripts run on one host at once. As a context manager it closes at
    the end.
    """

    def __init__(
        self,
        hosts: Mapping[str, HostAddress],
        known_hosts: Path,
        *,
        connect_s: float = 10.0,
        fanout: int = 32,
        lanes: int = 4,
    ) -> None:
        known = KnownHosts(known_hosts)
        self._file = known_hosts
        self._connect_s = connect_s
        self._addresses = dict(hosts)
        self._hosts = {node: _Host(address, known, connect_s, lanes) for node, address in hosts.items()}
        self._threads = ThreadPoolExecutor(fanout, thread_name_prefix="ssh")

    def run(
        self,
        node: str,
        script: Script,
        deadline_s: float,
        stdin: BinaryIO | None = None,
        sink: BinaryIO | None = None,
    ) -> Result:
        """Run a script on a node within ``deadline_s``, connecting included; whatever its exit code, a Result.

        The script's standard input is empty, or ``stdin`` to its end. What it prints is in the result, or goes to
        ``sink`` as bytes while it comes; an OSError of the sink is raised as it is, and the script is given up.
        SshError (a HostError) when the host cannot be used; SshDeadlineError (a DeadlineError as well) when it was
        late: its process group has been ended then. A script may be sent twice if a kept connection turns out to be
        dead before the script was begun.
        """
        return self._host(node).run(script, time.monotonic() + deadline_s, stdin, sink)

    def run_many(self, nodes: Iterable[str], work: Work, deadline_s: float) -> dict[str, Result | HostError]:
        """Run a script, or what ``work`` makes for each node, on all of them; ``deadline_s`` counts for each alone.

        A result or an error for each node, in the order given. Errors of ``work`` itself are raised.
        """
        scripts = {node: work if isinstance(work, Script) else work(node) for node in nodes}
        futures = {node: self._threads.submit(self._try, node, script, deadline_s) for node, script in scripts.items()}
        return {node: future.result() for node, future in futures.items()}

    def put(
        self,
        node: str,
        data: bytes | BinaryIO,
        path: PurePosixPath,
        *,
        mode: int = 0o644,
        deadline_s: float = 300.0,
        lease: Lease | None = None,
    ) -> None:
        """Write a file on a node, whole or not at all, making its folder; ``lease`` must allow it if given.

        A stream must be seekable. HostError, or what the lease refuses with.
        """
        stream = io.BytesIO(data) if isinstance(data, bytes) else data
        at = stream.tell()
        size = stream.seek(0, io.SEEK_END) - at
        stream.seek(at)
        body = Script.of(_RECEIVE, path=path, size=size, mode=f"{mode:o}")
        script = body if lease is None else changing(lease, "{body}", stdin=True, body=body)
        self.run(node, script, deadline_s, stdin=stream).check(f"writing {path}")

    def get(
        self,
        node: str,
        path: PurePosixPath,
        *,
        sink: BinaryIO | None = None,
        deadline_s: float = 300.0,
        folders: Folders | None = None,
    ) -> bytes:
        """The bytes of a file on a node, or b"" when they went to ``sink``; HostError when it cannot be read.

        A file in the ``folders`` of an MR-cluster is read as the MR-cluster's own user, if it has one.
        """
        kept = io.BytesIO()
        text = "exec cat {path}"
        script = Script.of(text, path=path) if folders is None else reading_in(folders, text, path=path)
        self.run(node, script, deadline_s, sink=kept if sink is None else sink).check(f"reading {path}")
        return kept.getvalue()

    def connect(self, node: str, address: str, port: int, limit_s: float) -> paramiko.Channel:
        """A connection to ``address`` that a node opens for us, which its servers take for one of the node's own.

        OSError when the node, its sshd (AllowTcpForwarding) or the address does not let us.
        """
        return self._host(node).tunnel(address, port, time.monotonic() + limit_s)

    def shell(self) -> FleetShell:
        """The same for code that has scripts as plain text (fawkes.dist)."""
        return FleetShell(self)

    def shown_key(self, node: str) -> paramiko.PKey:
        """The host key that a node shows now, without logging in; its ``fingerprint`` is for people."""
        return shown_key(self._address(node), self._connect_s)

    def trust(self, node: str, key: paramiko.PKey) -> None:
        """Accept a host key: write it into the known_hosts file. A changed one must be removed by hand first."""
        address = self._address(node)
        remember(self._file, address.address, address.port, key)

    def drop(self, node: str) -> None:
        """Close the connection to a node; the next use logs in again."""
        self._host(node).drop()

    def close(self) -> None:
        """Close every connection. Scripts that run there are ended by their own deadlines."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        for host in self._hosts.values():
            host.drop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _try(self, node: str, script: Script, deadline_s: float) -> Result | HostError:
        try:
            return self.run(node, script, deadline_s)
        except HostError as error:
            return error

    def _host(self, node: str) -> _Host:
        self._address(node)
        return self._hosts[node]

    def _address(self, node: str) -> HostAddress:
        if node not in self._addresses:
            raise UserError(f"the inventory has no node {node!r}")
        return self._addresses[node]


class FleetShell:
    """Scripts as plain text on the hosts of a fleet: what `fawkes.dist.remote.RemoteShell` asks for."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet

    def run(
        self,
        host: str,
        script: str,
        *,
        input: BinaryIO | None = None,  # noqa: A002
        deadline_s: float,
    ) -> Result:
        """As `Fleet.run`."""
        return self._fleet.run(host, Script(script), deadline_s, stdin=input)


# The size tells a stream that ended from one that broke.
_RECEIVE = r"""
path={path}; new=$path.$$.new
mkdir -p "${path%/*}" && (umask 077 && cat >"$new") && [ "$(wc -c <"$new")" -eq {size} ] && chmod {mode} "$new" &&
    mv -f "$new" "$path" || { rm -f "$new"; echo "$path was not written" >&2; exit 73; }
"""
