"""All hosts of a site: scripts, files and bytes to many at once, with a time limit and a result for each.

Connections are kept: the first script on a host pays for the login, those after it for one process. A host has a few
lanes, so that a long script does not hold up a short one. They share one connection, if its sshd allows it. A host
that fails is a value in the result, never the end of the others.
"""

from __future__ import annotations

import errno
import io
import socket
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import BinaryIO, Self

import paramiko

from fawkes.base.errors import HostError, UserError, cut
from fawkes.live.nodes.connections import Connections, left, within
from fawkes.live.nodes.jump import JumpHosts, as_socket
from fawkes.live.nodes.known_hosts import KnownHosts, remember
from fawkes.live.nodes.lane import Lane, LaneBrokenError, late, run_once
from fawkes.live.nodes.relay import NotTakenError
from fawkes.live.nodes.ssh import ConnectionState, HostAddress, Result, SshError, shown_key
from fawkes.live.wire.names import NAMES, Way
from fawkes.playbook import Folders, Lease, Script, changing, reading_in

Work = Script | Callable[[str], Script]


class _Host:
    """One host: its connections, and the lanes that are not in use."""

    def __init__(self, address: HostAddress, known: KnownHosts, jumps: JumpHosts, connect_s: float, lanes: int) -> None:
        self.address = address
        self._connect_s = connect_s
        self._slots = threading.BoundedSemaphore(lanes)
        self._lock = threading.Lock()
        self._idle: list[Lane] = []
        self.connections = Connections(address, known, jumps, connect_s)

    def run(self, script: Script, until: float, stdin: BinaryIO | None, sink: BinaryIO | None) -> Result:
        """Run a script; SshError says what is wrong with the host or the way to it."""
        since = time.monotonic()
        with within(self._slots, until, self.address.node):
            given = until - time.monotonic()
            try:
                if stdin is None:
                    return self._run_kept(script, since, until, sink)
                return self._run_fresh(script, since, until, stdin, sink)
            except LaneBrokenError as broken:
                raise self._explain(broken, given) from broken

    def _run_kept(self, script: Script, since: float, until: float, sink: BinaryIO | None) -> Result:
        again = False
        while True:
            # The second time not on another kept lane: that one may be as dead, and a script is sent twice at most.
            lane = (None if again else self._kept(until)) or self._new_lane(since, until)
            reused = lane.used
            try:
                result = lane.run(script, left(until), self._answer_s(until), sink)
            except LaneBrokenError as broken:
                lane.transport.close()
                # The host was restarted since the lane was last used: the script was not begun, so it may be sent
                # again. It may not if the host is silent: it could begin yet.
                if reused and not broken.begun and not broken.silent:
                    again = True
                    continue
                raise
            except SshError as error:
                if error.state is ConnectionState.TIMED_OUT:
                    self._give_back(lane)
                raise
            self._give_back(lane)
            return result

    def _run_fresh(self, script: Script, since: float, until: float, stdin: BinaryIO, sink: BinaryIO | None) -> Result:
        node = self.address.node
        with self.connections.session(since, until) as channel:
            try:
                return run_once(node, channel, script, stdin, left(until), self._answer_s(until), sink)
            except LaneBrokenError:
                channel.get_transport().close()
                raise

    def _kept(self, until: float) -> Lane | None:
        """A lane that is not in use."""
        with within(self._lock, until, self.address.node):
            while self._idle:
                lane = self._idle.pop()
                if lane.alive:
                    return lane
        return None

    def _new_lane(self, since: float, until: float) -> Lane:
        channel = self.connections.session(since, until)
        try:
            return Lane(self.address.node, channel, self._answer_s(until))
        except LaneBrokenError:
            channel.get_transport().close()
            raise

    def _give_back(self, lane: Lane) -> None:
        with self._lock:
            self._idle.append(lane)

    def _answer_s(self, until: float) -> float:
        return min(self._connect_s, left(until))

    def _explain(self, broken: LaneBrokenError, given_s: float) -> SshError:
        node = self.address.node
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
        user = self.address.user
        what = "its login shell does not begin the script"
        if broken.exit is not None:
            what = f"its session ended with exit code {broken.exit} before the script"
        said = f"; it said: {cut(broken.said, 200)}" if broken.said else ""
        return SshError(
            f"the login of {user!r} succeeded, but {what}{said}",
            host=self.address.node,
            state=ConnectionState.NO_SHELL,
            hint=f"Look there at the start files of the login shell of {user} (such as ~/.bashrc), and at ForceCommand "
            "of its sshd: without a terminal they must not start another shell, exit or wait",
        )


class Fleet:
    """Runs scripts on hosts over connections that it keeps. Use from any thread; not across a fork.

    ``connect_s`` bounds each phase of a login and the wait for the first sign of a script; ``fanout`` how many hosts
    `run_many` serves at once; ``lanes`` how many scripts run on one host at once. ``behind`` has names and addresses of
    servers that only a node reaches, with that node: meanwhile `live.names` connects to them by way of it. As a context
    manager it closes at the end.
    """

    def __init__(
        self,
        hosts: Mapping[str, HostAddress],
        known_hosts: Path,
        *,
        connect_s: float = 10.0,
        fanout: int = 32,
        lanes: int = 4,
        behind: Mapping[str, str] | None = None,
    ) -> None:
        self._known = KnownHosts(known_hosts)
        self._file = known_hosts
        self._connect_s = connect_s
        self._lanes = lanes
        self._jumps = JumpHosts(self._known, connect_s)
        self._hosts: Mapping[str, _Host] = {}
        self._ways: Mapping[str, Way] = {}
        self.know(hosts, behind or {})
        self._threads = ThreadPoolExecutor(fanout, thread_name_prefix="ssh")

    def know(self, hosts: Mapping[str, HostAddress], behind: Mapping[str, str]) -> None:
        """Reaches these hosts from now on, and no others; connections to those that stay as they are stay open."""
        was, ways = self._hosts, self._ways
        same = {node for node, address in hosts.items() if node in was and was[node].address == address}
        self._hosts = {
            node: was[node] if node in same else _Host(address, self._known, self._jumps, self._connect_s, self._lanes)
            for node, address in hosts.items()
        }
        self._ways = {place: partial(self._socket, node) for place, node in behind.items()}
        NAMES.lead(self._ways)
        NAMES.leave(ways)
        for node in was.keys() - same:
            was[node].connections.drop()

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

        By a forwarded port, or by a session if the sshd of the node forwards none. OSError when the node is not
        reached or has no way (no bash); NotTakenError (one as well) when the address does not take the connection.
        """
        return self._host(node).connections.port(address, port, time.monotonic() + limit_s)

    def shown_key(self, node: str) -> paramiko.PKey:
        """The host key that a node or jump host shows now, without logging in; its ``fingerprint`` is for people."""
        address = self.address(node)
        dial = self._jumps.dial(address, time.monotonic() + self._connect_s)
        return shown_key(address, self._connect_s, dial)

    def unknown_jumps(self) -> list[HostAddress]:
        """The jump hosts that could not be used because their keys are not known."""
        return self._jumps.unknown()

    def trust(self, node: str, key: paramiko.PKey) -> None:
        """Accept a host key: write it into the known_hosts file. A changed one must be removed by hand first."""
        address = self.address(node)
        remember(self._file, address.address, address.port, key)
        self._jumps.forget()

    def drop(self, node: str) -> None:
        """Close the connections to a node; the next use logs in again."""
        self._host(node).connections.drop()

    def close(self) -> None:
        """Close every connection. Scripts that run there are ended by their own deadlines."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        NAMES.leave(self._ways)
        for host in self._hosts.values():
            host.connections.drop()
        self._jumps.close()

    def _socket(self, node: str, address: str, port: int, limit_s: float) -> socket.socket:
        try:
            return as_socket(self.connect(node, address, port, limit_s))
        # As the kernel would say it: with a text that `rest.reason_of` finds.
        except NotTakenError as error:
            raise ConnectionRefusedError(errno.ECONNREFUSED, str(error)) from error
        except ConnectionError as error:
            raise OSError(errno.EHOSTUNREACH, str(error)) from error

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
        if node not in self._hosts:
            raise UserError(f"the inventory has no node {node!r}")
        return self._hosts[node]

    def address(self, node: str) -> HostAddress:
        """The address of a node, or of a jump host whose key is not known; UserError for another name."""
        jumps = {jump.node: jump for jump in self._jumps.unknown()}
        return jumps[node] if node in jumps and node not in self._hosts else self._host(node).address


# The size tells a stream that ended from one that broke.
_RECEIVE = r"""
path={path}; new=$path.$$.new
mkdir -p "${path%/*}" && (umask 077 && cat >"$new") && [ "$(wc -c <"$new")" -eq {size} ] && chmod {mode} "$new" &&
    mv -f "$new" "$path" || { rm -f "$new"; echo "$path was not written" >&2; exit 73; }
"""
