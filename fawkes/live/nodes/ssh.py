"""One SSH connection to one host, opened strictly.

Fabric opens it, from an explicit configuration that reads no file and no variable of the user; host keys are compared
with our own file. Each way of failing has its own sentence, and says whose move it is.
"""

from __future__ import annotations

import errno
import logging
import random
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any, Self

import paramiko
from fabric import Config, Connection

from fawkes.base.errors import DeadlineError, HostError
from fawkes.config.nodes.inventory import InventoryNode
from fawkes.config.nodes.jumps import Jump
from fawkes.live.nodes.known_hosts import Known, KnownHosts, host_name
from fawkes.live.wire.names import NAMES, SilentNameError
from fawkes.live.wire.own_faults import own_fault
from fawkes.playbook import Facts, failure, read_facts

_BANNER = "Error reading SSH protocol banner"
_KEEPALIVE_S = 15
_USER_TIMEOUT_MS = 20_000

# Without a handler Python prints paramiko's complaints about hosts that do not answer; they are ours to report.
logging.getLogger("paramiko").addHandler(logging.NullHandler())


class ConnectionState(StrEnum):
    """The reason why a host could not be used."""

    NAME_UNKNOWN = "name unknown"
    BEHIND = "behind a jump host that cannot be used"
    NO_ANSWER = "no answer"
    REFUSED = "connection refused"
    KEY_UNKNOWN = "host key unknown"
    KEY_CHANGED = "host key changed"
    AUTH_REFUSED = "login refused"
    LOST = "connection lost"
    NO_SHELL = "no shell"
    TIMED_OUT = "timed out"
    TOO_MUCH = "too much output"
    NOT_TRIED = "not tried"


NOBODY_ANSWERS = (ConnectionState.NO_ANSWER, ConnectionState.REFUSED, ConnectionState.BEHIND)
"""States of a host that is off, or whose sshd has not started yet."""


class SshError(HostError):
    """A host could not be reached, or the way to it broke; ``state`` says how."""

    def __init__(self, what: str, *, host: str, state: ConnectionState, hint: str = "") -> None:
        super().__init__(what, host=host, hint=hint)
        self.state = state


class SshDeadlineError(SshError, DeadlineError):
    """A script was not finished in its time; its process group has been ended on the far side."""


@dataclass(frozen=True)
class HostAddress:
    """The way to a host. ``key`` None asks the SSH agent; ``jump`` is the last host that SSH passes on its way."""

    node: str
    address: str
    user: str
    port: int = 22
    key: Path | None = None
    jump: HostAddress | None = None

    @classmethod
    def of(cls, node: InventoryNode) -> Self:
        """The way to a node of the inventory."""
        return cls(node.name, node.address, node.user, node.port, node.key, _jump(node.jump))


def _jump(jump: Jump | None) -> HostAddress | None:
    if jump is None:
        return None
    return HostAddress(jump.name, jump.address, jump.user, jump.port, jump.key, _jump(jump.before))


Dial = Callable[[str, int, float], socket.socket | paramiko.Channel]
"""Opens a connection to an address and port within so many seconds; OSError or SshError says why it cannot."""


@dataclass(frozen=True)
class Result:
    """The end of a script on a node: exit code, and what it wrote."""

    node: str
    exit: int
    stdout: str
    stderr: str

    @property
    def facts(self) -> Facts:
        """The facts that it printed as ``@key=value``."""
        return read_facts(self.stdout)

    def check(self, doing: str) -> Facts:
        """The facts of a script that ended well; else the error, which names ``doing`` (fawkes.playbook.failure)."""
        if self.exit != 0:
            raise failure(self.node, doing, self.exit, self.stderr)
        return self.facts


class _KeyError(paramiko.SSHException):
    """The host showed a key that is not one of those in our file."""

    def __init__(self, shown: paramiko.PKey) -> None:
        super().__init__("host key not accepted")
        self.shown = shown


class _OnlyThese(paramiko.MissingHostKeyPolicy):
    """Accepts the keys of our file alone: paramiko is given no others, so it asks for every host."""

    def __init__(self, known: Known) -> None:
        self._known = known

    def missing_host_key(self, client: paramiko.SSHClient, hostname: str, key: paramiko.PKey) -> None:
        if not self._known.accepts(key):
            raise _KeyError(key)


def open_connection(
    host: HostAddress, file: KnownHosts, connect_s: float, until: float, dial: Dial = NAMES.connect
) -> Any:
    """An authenticated Fabric connection to a host whose key is in our file; SshError names what is wrong.

    ``dial`` makes the connection that SSH is spoken over. Nothing is sent to a host with an unknown or changed key.
    ``connect_s`` bounds each phase, ``until`` (monotonic) all of it. A server that drops connections because many come
    at once is tried again, at random intervals.
    """
    known = file.about(host.address, host.port)
    pause = 0.1
    patience = min(until, time.monotonic() + 2 * connect_s)
    while True:
        began = time.monotonic()
        limit_s = max(0.05, min(connect_s, until - began))
        try:
            return _open(host, known, limit_s, dial)
        except (OSError, EOFError, paramiko.SSHException) as error:
            now = time.monotonic()
            wait = pause * random.uniform(0.5, 1.5)  # noqa: S311
            # A host that is silent until the limit is not one that hung up.
            if not _dropped(error) or now - began > 0.9 * limit_s or now + wait >= patience:
                raise _explain(error, host, file.path, known) from error
            time.sleep(wait)
            pause = min(2 * pause, 2.0)


def shown_key(host: HostAddress, connect_s: float, dial: Dial = NAMES.connect) -> paramiko.PKey:
    """The key that a host shows, without logging in: for those who pin keys. SshError when it does not answer."""
    try:
        with (
            dial(host.address, host.port, connect_s) as sock,
            paramiko.Transport(sock) as transport,
        ):
            transport.banner_timeout = connect_s
            transport.start_client(timeout=connect_s)
            return transport.get_remote_server_key()
    except (OSError, EOFError, paramiko.SSHException) as error:
        raise _explain(error, host, Path(), Known()) from error


def _open(host: HostAddress, known: Known, limit_s: float, dial: Dial) -> Any:
    key = None if host.key is None else _private_key(host, host.key)
    sock = dial(host.address, host.port, limit_s)
    if isinstance(sock, socket.socket):
        # Without NODELAY each command waits 40 ms for nothing. With USER_TIMEOUT the kernel ends a connection whose
        # other side does not acknowledge; the keepalive makes sure that there is something to acknowledge.
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _USER_TIMEOUT_MS)
    connection = Connection(
        host.address,
        user=host.user,
        port=host.port,
        # Lazy: no file and no variable of the user or the system is read. One for each, for it is not thread-safe.
        config=Config(lazy=True),
        connect_kwargs={
            "sock": sock,
            "transport_factory": partial(_transport, known),
            "pkey": key,
            "allow_agent": key is None,
            "look_for_keys": False,
            "timeout": limit_s,
            "banner_timeout": limit_s,
            "auth_timeout": limit_s,
            "channel_timeout": limit_s,
        },
    )
    connection.client.set_missing_host_key_policy(_OnlyThese(known))
    try:
        connection.open()
        connection.transport.set_keepalive(_KEEPALIVE_S)
    except BaseException:
        connection.client.close()
        sock.close()
        raise
    return connection


class _AsksError(paramiko.AuthenticationException):
    """The host took the key, and asks for more."""


class _Transport(paramiko.Transport):
    def auth_interactive_dumb(self, username: str, handler: Any = None, submethods: str = "") -> list[str]:
        """Refused: paramiko would ask on the terminal, for ever where nobody sits."""
        raise _AsksError


def _transport(known: Known, sock: socket.socket, **options: Any) -> paramiko.Transport:
    """A transport that asks for the kinds of key that we know first: a host has several, our file perhaps one."""
    transport = _Transport(sock, **options)
    ours = {trusted.key.get_name() for trusted in known.trusted}
    kinds = transport.get_security_options()
    kinds.key_types = sorted(kinds.key_types, key=lambda kind: _key_name(kind) not in ours)
    return transport


def _key_name(algorithm: str) -> str:
    return "ssh-rsa" if algorithm.startswith("rsa-sha2-") else algorithm


_KEYS: dict[tuple[Path, int], paramiko.PKey] = {}


def _private_key(host: HostAddress, path: Path) -> paramiko.PKey:
    """The private key in a file, read once for all hosts; SshError when it cannot be used."""
    try:
        at = (path, path.stat().st_mtime_ns)
        if at not in _KEYS:
            _KEYS[at] = paramiko.PKey.from_path(path)
        return _KEYS[at]
    except (paramiko.PasswordRequiredException, TypeError) as error:  # the latter from the cryptography library
        what, hint = f"the key {path} has a passphrase", "Load it into the SSH agent and remove `key`"
        raise SshError(what, host=host.node, state=ConnectionState.AUTH_REFUSED, hint=hint) from error
    except Exception as error:  # a damaged file raises what its parser happens to raise
        if own_fault(error):
            raise
        what, hint = f"the key {path} cannot be read: {error}", "Correct `key` in inventory.toml"
        raise SshError(what, host=host.node, state=ConnectionState.AUTH_REFUSED, hint=hint) from error


def _dropped(error: Exception) -> bool:
    """True if the server hung up before it said who it is, as sshd does when many connect at once."""
    return _BANNER in str(error) or isinstance(error, EOFError | ConnectionResetError)


def _explain(error: Exception, host: HostAddress, file: Path, known: Known) -> SshError:
    """The sentence for a connection that failed."""
    if isinstance(error, SshError):
        return error
    where = f"{host.address} port {host.port}"
    if lack := own_fault(error):
        return SshError(f"{where} could not be tried, for {lack}", host=host.node, state=ConnectionState.NOT_TRIED)
    if isinstance(error, _KeyError):
        return _wrong_key(host, file, known, error.shown)
    state, what, hint = _reason(error, host, where)
    return SshError(what, host=host.node, state=state, hint=hint)


def _reason(error: Exception, host: HostAddress, where: str) -> tuple[ConnectionState, str, str]:
    if isinstance(error, socket.gaierror):
        return (
            ConnectionState.NAME_UNKNOWN,
            f"the name {host.address!r} cannot be resolved",
            "Correct `address` in inventory.toml, or make this machine resolve the name",
        )
    if isinstance(error, SilentNameError):
        hint = "Repair the name service of this machine, or give `address` in inventory.toml as numbers"
        return ConnectionState.NO_ANSWER, str(error.strerror), hint
    if isinstance(error, ConnectionRefusedError):
        return ConnectionState.REFUSED, f"{where} refuses connections", "Check that sshd runs there, on this port"
    if isinstance(error, paramiko.AuthenticationException) or "No authentication methods" in str(error):
        with_what = f"the key {host.key}" if host.key else "any key of the SSH agent"
        if isinstance(error, _AsksError):
            what = f"the login of {host.user!r} with {with_what} needs a password or a code as well"
            return ConnectionState.AUTH_REFUSED, what, "Let the host accept the key alone for this user"
        accepts = error.allowed_types if isinstance(error, paramiko.BadAuthenticationType) else []
        but = f": it accepts {' and '.join(accepts)} only" if accepts and "publickey" not in accepts else ""
        return (
            ConnectionState.AUTH_REFUSED,
            f"user {host.user!r} cannot log in with {with_what}{but}",
            f"Put the public key into ~/.ssh/authorized_keys of {host.user} there, or correct `user` and `key`",
        )
    if isinstance(error, TimeoutError) or (isinstance(error, OSError) and error.errno in _UNREACHABLE):
        return (
            ConnectionState.NO_ANSWER,
            f"{where} does not answer",
            "Check that the host is on and the network to it works",
        )
    if _BANNER in str(error) or "No existing session" in str(error):
        return (
            ConnectionState.NO_ANSWER,
            f"{where} accepts connections but sends nothing, or hangs up",
            "The host may be paused or overloaded, or another program than sshd uses this port",
        )
    said = str(error) or type(error).__name__
    return ConnectionState.NO_ANSWER, f"{where} does not speak SSH ({said})", "Try `ssh -v` to it by hand"


_UNREACHABLE = {errno.EHOSTUNREACH, errno.ENETUNREACH, errno.EHOSTDOWN, errno.ETIMEDOUT}


def _wrong_key(host: HostAddress, file: Path, known: Known, shown: paramiko.PKey) -> SshError:
    name = host_name(host.address, host.port)
    shows = f"it shows {shown.get_name()} {shown.fingerprint}"
    accept = f"`fawkes check --trust {host.node}`"
    reasons = [*known.faults, *known.unsupported]
    revoked = [line.line for line in known.keys if line.revoked and line.key == shown]
    if revoked:
        lines = _several([f"line {number}" for number in revoked])
        return SshError(
            f"its host key is revoked: in {file}, {lines} revokes it; {shows}; nothing was sent to it",
            host=host.node,
            state=ConnectionState.KEY_CHANGED,
            hint=f"Give the host a new key, then accept that one: {accept}. Somebody else may have the old one",
        )
    if known.trusted:
        keys = _several([f"{line.key.get_name()} {line.key.fingerprint} (line {line.line})" for line in known.trusted])
        also = f", and {_several(reasons)}" if reasons else ""
        return SshError(
            f"its host key has CHANGED: {file} has {keys}{also}; {shows}; nothing was sent to it",
            host=host.node,
            state=ConnectionState.KEY_CHANGED,
            hint=f"If the host was installed again, accept the new key: `ssh-keygen -R '{name}' -f {file}`, then "
            f"{accept}; if not, somebody may be listening in",
        )
    if known.faults:
        why = f"in {file}, {_several(reasons)}"
        hint = f"Correct the file. If that leaves no line, compare the key with the host's own console, then: {accept}"
    elif reasons:
        why = f"in {file}, {_several(reasons)}"
        hint = f"Compare the key with the host's own console, then add the host's own key to the file: {accept}"
    else:
        why = f"{file} has no line for {name}"
        hint = f"Compare that with the host's own console, then accept it: {accept}"
    return SshError(
        f"its host key is not known: {why}; {shows}", host=host.node, state=ConnectionState.KEY_UNKNOWN, hint=hint
    )


_MOST_NAMED = 3


def _several(items: Sequence[str]) -> str:
    more = len(items) - _MOST_NAMED
    return " and ".join([*items[:_MOST_NAMED], *([f"{more} more"] if more > 0 else [])])
