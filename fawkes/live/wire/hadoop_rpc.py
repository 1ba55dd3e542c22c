"""The few orders that masters take only over Hadoop's own RPC, without starting a JVM for each (0.8 s and a core).

Enough of Hadoop RPC version 9 for single calls: protobuf messages of numbers and strings, one call for each connection.
MR-clusters with Kerberos are spoken to by SASL. Where a master refuses, `RpcError` says so, and the caller runs the
command line client on the master instead. Message numbers are those of RpcHeader.proto and IpcConnectionContext.proto.
"""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Protocol, Self

from fawkes.base.errors import FawkesError
from fawkes.live.wire import protobuf
from fawkes.live.wire.names import NAMES
from fawkes.live.wire.own_faults import own_fault
from fawkes.live.wire.protobuf import number, text, varint, zigzag
from fawkes.live.wire.rest import Deadline

_MAGIC = b"hrpc"
_VERSION, _SERVICE_CLASS, _SIMPLE_AUTH, _SASL_AUTH = 9, 0, 0, 0xDF
_PROTOBUF = 2
_FINAL_PACKET = 0
_CONNECTION_CONTEXT = -3
_SASL = -33
_SUCCEEDED, _NEGOTIATE, _INITIATE, _CHALLENGE, _RESPONSE, _WRAP = range(6)
_KERBEROS = b"KERBEROS"
_NO_RETRY = -1
_SUCCESS = 0
#: a thousand open files with names of the greatest length are 8 MB
_MOST_BYTES = 1 << 24

_YARN_ADMIN = "org.apache.hadoop.yarn.server.api.ResourceManagerAdministrationProtocolPB"
_HDFS_CLIENT = "org.apache.hadoop.hdfs.protocol.ClientProtocol"
_YARN_CLIENT = "org.apache.hadoop.yarn.api.ApplicationClientProtocolPB"
_MAPREDUCE_CLIENT = "org.apache.hadoop.mapreduce.v2.api.MRClientProtocolPB"
_DATANODE = "org.apache.hadoop.hdfs.protocol.ClientDatanodeProtocol"
_HDFS_POLICY = "org.apache.hadoop.security.authorize.RefreshAuthorizationPolicyProtocol"
_HA = "org.apache.hadoop.ha.HAServiceProtocol"
_GRACEFUL = 2
_LEAVE, _ENTER, _FORCE_EXIT = 1, 2, 4
_TASK_KINDS = {"m": 1, "r": 2}
_ALL_OPEN = 1
CLOSER = "fawkes"
"""The client by whose name HDFS closes files for us, and that has their leases from then on."""


class Connection(Protocol):
    """The part of a socket that an order needs; a channel of an SSH connection has it as well."""

    def sendall(self, data: bytes) -> Any:
        """Send all of it; OSError."""

    def recv(self, nbytes: int) -> bytes:
        """Up to so many bytes, none at the end; OSError."""

    def settimeout(self, timeout: float | None) -> None:
        """The time that (s) each read may take."""

    def __enter__(self) -> Self:
        """The connection, for a ``with`` block."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closed."""


class SaslSession(Protocol):
    """The client's side of SASL with the GSSAPI mechanism; all methods raise FawkesError."""

    def begin(self) -> bytes:
        """The first token for the server."""

    def answer(self, token: bytes) -> bytes:
        """The answer to a token of the server."""

    @property
    def wraps(self) -> bool:
        """True if what follows is encrypted."""

    def wrap(self, data: bytes) -> bytes:
        """The encrypted form."""

    def unwrap(self, data: bytes) -> bytes:
        """The bytes that were sent, decrypted."""


class Connect(Protocol):
    """Opens a connection to an address and port within so many seconds; OSError says why it cannot."""

    def __call__(self, address: str, port: int, limit_s: float, /) -> Connection:
        """The open connection."""


class RpcError(FawkesError):
    """The master did not answer, or refused; nothing is known of whether it acted when it did not answer."""


@dataclass(frozen=True, slots=True)
class Order:
    """One call: to which protocol, which method, with which message."""

    protocol: str
    method: str
    message: bytes = b""


#: the ResourceManager reads include and exclude files; each leaving node has its own time in the exclude file
REFRESH_YARN = Order(_YARN_ADMIN, "refreshNodes", number(1, _GRACEFUL))
#: the NameNode reads include and exclude files
REFRESH_HDFS = Order(_HDFS_CLIENT, "refreshNodes")
#: the masters read hadoop-policy.xml: whose RPC they take
REFRESH_YARN_POLICY = Order(_YARN_ADMIN, "refreshServiceAcls")
REFRESH_HDFS_POLICY = Order(_HDFS_POLICY, "refreshServiceAcl")
#: HDFS takes no writes, until it is told to take them again; what is there can be read
ENTER_SAFE_MODE = Order(_HDFS_CLIENT, "setSafeMode", number(1, _ENTER))
LEAVE_SAFE_MODE = Order(_HDFS_CLIENT, "setSafeMode", number(1, _LEAVE))
#: the same for a NameNode that knows fewer blocks than DataNodes have: it would stay in safe mode for ever
FORCE_EXIT_SAFE_MODE = Order(_HDFS_CLIENT, "setSafeMode", number(1, _FORCE_EXIT))
#: a DataNode reads its configuration again, and works for the NameNode that stands there
REFRESH_NAMENODES = Order(_DATANODE, "refreshNamenodes")
#: who asks for a change of the active master: a user, who is believed where no failover controller is
_BY_USER = text(1, number(1, 0))
#: a DataNode lists all its blocks to its NameNodes
REPORT_BLOCKS = Order(_DATANODE, "triggerBlockReport", number(1, 0))
#: a NameNode or ResourceManager becomes the active one; nothing happens to one that is
BECOME_ACTIVE = Order(_HA, "transitionToActive", _BY_USER)
#: it becomes a standby
BECOME_STANDBY = Order(_HA, "transitionToStandby", _BY_USER)
#: the NameNode ends its segment of edits and begins another one
ROLL_EDITS = Order(_HDFS_CLIENT, "rollEdits")


def kill_application(name: str) -> Order:
    """The ResourceManager ends an application; ValueError when ``name`` is not that of one.

    Its answer only says that it has begun to.
    """
    word, since, counted = name.split("_")
    if word != "application":
        raise ValueError(f"{name!r} is not the id of an application")
    return Order(_YARN_CLIENT, "forceKillApplication", text(1, number(1, int(counted)) + number(2, int(since))))


def kill_attempt(name: str) -> Order:
    """An ApplicationMaster kills an attempt of a task, which begins again; ValueError when ``name`` names none."""
    word, since, counted, kind, task, attempt = name.split("_")
    if word != "attempt" or kind not in _TASK_KINDS:
        raise ValueError(f"{name!r} is not the id of an attempt of a task")
    application = number(1, int(counted)) + number(2, int(since))
    job = text(1, application) + number(2, int(counted))
    of = text(1, job) + number(2, _TASK_KINDS[kind]) + number(3, int(task))
    return Order(_MAPREDUCE_CLIENT, "killTaskAttempt", text(1, text(1, of) + number(2, int(attempt))))


def recover_lease(path: str) -> Order:
    """The NameNode begins to close a file for a writer who is gone: one that is alive cannot write on."""
    return Order(_HDFS_CLIENT, "recoverLease", text(1, path.encode()) + text(2, CLOSER.encode()))


def list_open_files(folder: str, after: int = 0) -> Order:
    """The NameNode lists the files at or below a folder that are open for writing, a page of them; of all users.

    ``after`` is the number of the last file of the page before.
    """
    return Order(_HDFS_CLIENT, "listOpenFiles", number(1, after) + number(2, _ALL_OPEN) + text(3, folder.encode()))


def call(
    address: str,
    port: int,
    order: Order,
    user: str,
    deadline: Deadline,
    connect: Connect = NAMES.connect,
    session: SaslSession | None = None,
) -> bytes:
    """Give one order as ``user`` and wait for its end: the message that answers it; RpcError says why it was refused.

    With a ``session`` the order is given as its principal, and ``user`` does not count.
    """
    where = f"{address}:{port}"
    try:
        with connect(address, port, max(0.1, deadline.left())) as connection:
            if session is None:
                connection.sendall(_hello(_SIMPLE_AUTH) + _request(order, user))
                body = _framed(connection, deadline)
            else:
                _log_in(connection, session, deadline)
                body = _privately(connection, session, _request(order, ""), deadline)
            answer = _answer(body)
            said = _after_header(body) if answer[0] == _SUCCESS else b""
    except RpcError as error:
        raise RpcError(f"{order.method} was not sent: {error.what}", where=where) from error
    except (OSError, EOFError, ValueError, FawkesError) as error:
        # What this machine lacks is told without the place: the master has no part in it.
        if lack := own_fault(error):
            raise RpcError(f"{order.method} was not sent, for {lack}") from error
        raise RpcError(f"{order.method} was not answered: {error}", where=where) from error
    status, kind, what = answer
    if status != _SUCCESS:
        raise RpcError(f"{order.method} was refused: {what or kind or 'no reason given'}", where=where)
    return said


def _request(order: Order, user: str) -> bytes:
    client = os.urandom(16)
    protocol = order.protocol.encode()
    context = (text(2, text(1, user.encode())) if user else b"") + text(3, protocol)
    header = text(1, order.method.encode()) + text(2, protocol) + number(3, 1)
    return _frame(_rpc_header(_CONNECTION_CONTEXT, client), context) + _frame(
        _rpc_header(0, client), header, order.message
    )


def _hello(authentication: int) -> bytes:
    return _MAGIC + bytes([_VERSION, _SERVICE_CLASS, authentication])


def _log_in(connection: Connection, session: SaslSession, deadline: Deadline) -> None:
    """Log in, until the master knows who calls; RpcError when it does not accept that."""
    connection.sendall(_hello(_SASL_AUTH) + _sasl(_NEGOTIATE))
    offers = [value for field, value in _sasl_answer(connection, deadline) if field == 4 and isinstance(value, bytes)]
    ours = next((offer for offer in offers if dict(protobuf.fields(offer)).get(1) == _KERBEROS), None)
    if ours is None:
        raise RpcError("the master takes no Kerberos ticket")
    connection.sendall(_sasl(_INITIATE, session.begin(), text(4, _without_challenge(ours))))
    while True:
        answer = dict(_sasl_answer(connection, deadline))
        token = answer.get(3, b"")
        if answer.get(2) == _SUCCEEDED:
            return
        if answer.get(2) != _CHALLENGE or not isinstance(token, bytes):
            raise EOFError("the master broke off the login")
        connection.sendall(_sasl(_RESPONSE, session.answer(token)))


def _without_challenge(offer: bytes) -> bytes:
    """The part of an offer that the client repeats: method, mechanism, protocol, server."""
    repeated = ((field, value) for field, value in protobuf.fields(offer) if field < 5)
    return b"".join(text(field, value) for field, value in repeated if isinstance(value, bytes))


def _sasl(state: int, token: bytes | None = None, more: bytes = b"") -> bytes:
    message = number(2, state) + (b"" if token is None else text(3, token)) + more
    return _frame(_rpc_header(_SASL, b""), message)


def _sasl_answer(connection: Connection, deadline: Deadline) -> list[tuple[int, int | bytes]]:
    """The fields of the master's SASL message, in order; RpcError when it answers with an exception instead."""
    body = _framed(connection, deadline)
    status, kind, what = _answer(body)
    if status != _SUCCESS:
        raise RpcError(what or kind or "the login was refused")
    return list(protobuf.fields(_after_header(body)))


def _privately(connection: Connection, session: SaslSession, request: bytes, deadline: Deadline) -> bytes:
    """The answer to a request after the login, without its length."""
    if not session.wraps:
        connection.sendall(request)
        return _framed(connection, deadline)
    connection.sendall(_sasl(_WRAP, session.wrap(request)))
    token = dict(_sasl_answer(connection, deadline)).get(3)
    if not isinstance(token, bytes):
        raise EOFError("the answer is not encrypted")
    answer = session.unwrap(token)
    return answer[4:]


def _rpc_header(call_id: int, client: bytes) -> bytes:
    return (
        number(1, _PROTOBUF)
        + number(2, _FINAL_PACKET)
        + number(3, zigzag(call_id))
        + text(4, client)
        + number(5, zigzag(_NO_RETRY))
    )


def _frame(*messages: bytes) -> bytes:
    body = b"".join(varint(len(message)) + message for message in messages)
    return struct.pack(">I", len(body)) + body


def _framed(connection: Connection, deadline: Deadline) -> bytes:
    """The next message of a master, without its length."""
    (size,) = struct.unpack(">I", _read(connection, 4, deadline))
    if not 0 < size <= _MOST_BYTES:
        raise EOFError(f"an answer of {size} bytes: this is not Hadoop RPC")
    return _read(connection, size, deadline)


def _answer(body: bytes) -> tuple[int, str, str]:
    """Status, class of the exception, its first line; ValueError when it is no answer."""
    fields = dict(protobuf.fields(protobuf.message(body)))
    said = _string(fields.get(5))
    status = fields.get(2, _SUCCESS)
    return status if isinstance(status, int) else -1, _string(fields.get(4)), said.partition("\n")[0]


def _after_header(body: bytes) -> bytes:
    """The second message of an answer; empty where it has none. ValueError when it is cut short."""
    size, at = protobuf.read_varint(body, 0)
    return protobuf.message(body, at + size) if at + size < len(body) else b""


def _read(connection: Connection, size: int, deadline: Deadline) -> bytes:
    data = b""
    while len(data) < size:
        connection.settimeout(max(0.05, deadline.left()))
        piece = connection.recv(size - len(data))
        if not piece:
            raise EOFError("the connection was closed")
        data += piece
    return data


def _string(value: int | bytes | None) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else ""
