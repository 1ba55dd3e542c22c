"""The few orders that masters take only over Hadoop's own RPC, without starting a JVM for each (0.8 s and a core).

Enough of Hadoop RPC version 9 for calls with simple authentication: protobuf messages of numbers and strings, one call
for each connection. Sites with Kerberos cannot be served so: `RpcError` says so, and the caller runs the command line
client on the master instead. Message numbers are those of RpcHeader.proto and IpcConnectionContext.proto.
"""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Protocol, Self

from fawkes.errors import FawkesError
from fawkes.live.names import NAMES
from fawkes.live.rest import Deadline

_MAGIC = b"hrpc"
_VERSION, _SERVICE_CLASS, _SIMPLE_AUTH = 9, 0, 0
_PROTOBUF = 2
_FINAL_PACKET = 0
_CONNECTION_CONTEXT = -3
_NO_RETRY = -1
_SUCCESS = 0
_MOST_BYTES = 1 << 20

_YARN_ADMIN = "org.apache.hadoop.yarn.server.api.ResourceManagerAdministrationProtocolPB"
_HDFS_CLIENT = "org.apache.hadoop.hdfs.protocol.ClientProtocol"
_YARN_CLIENT = "org.apache.hadoop.yarn.api.ApplicationClientProtocolPB"
_DATANODE = "org.apache.hadoop.hdfs.protocol.ClientDatanodeProtocol"
_HDFS_POLICY = "org.apache.hadoop.security.authorize.RefreshAuthorizationPolicyProtocol"
_GRACEFUL = 2
_LEAVE, _ENTER = 1, 2


class Connection(Protocol):
    """What an order needs of a socket; a channel of an SSH connection has it as well."""

    def sendall(self, data: bytes) -> Any:
        """Send all of it; OSError."""
        ...

    def recv(self, nbytes: int) -> bytes:
        """Up to so many bytes, none at the end; OSError."""
        ...

    def settimeout(self, timeout: float | None) -> None:
        """How long (s) each read may take."""
        ...

    def __enter__(self) -> Self:
        """For a ``with`` block."""
        ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closed."""
        ...


class Connect(Protocol):
    """Opens a connection to an address and port within so many seconds; OSError says why it cannot."""

    def __call__(self, address: str, port: int, limit_s: float, /) -> Connection:
        """The open connection."""
        ...


class RpcError(FawkesError):
    """The master did not answer, or refused; nothing is known of whether it acted when it did not answer."""


@dataclass(frozen=True, slots=True)
class Order:
    """One call: to which protocol, which method, with which message."""

    protocol: str
    method: str
    message: bytes = b""


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _text(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _zigzag(value: int) -> int:
    return value << 1 if value >= 0 else (-value << 1) - 1


#: the ResourceManager reads include and exclude files; each leaving node has its own time in the exclude file
REFRESH_YARN = Order(_YARN_ADMIN, "refreshNodes", _number(1, _GRACEFUL))
#: the NameNode reads include and exclude files
REFRESH_HDFS = Order(_HDFS_CLIENT, "refreshNodes")
#: the masters read hadoop-policy.xml: whose RPC they take
REFRESH_YARN_POLICY = Order(_YARN_ADMIN, "refreshServiceAcls")
REFRESH_HDFS_POLICY = Order(_HDFS_POLICY, "refreshServiceAcl")
#: HDFS takes no writes, until it is told to take them again; what is there can be read
ENTER_SAFE_MODE = Order(_HDFS_CLIENT, "setSafeMode", _number(1, _ENTER))
LEAVE_SAFE_MODE = Order(_HDFS_CLIENT, "setSafeMode", _number(1, _LEAVE))
#: a DataNode reads its configuration again, and works for the NameNode that stands there
REFRESH_NAMENODES = Order(_DATANODE, "refreshNamenodes")


def kill_application(name: str) -> Order:
    """The ResourceManager ends an application; ValueError when ``name`` is not that of one.

    Its answer only says that it has begun to.
    """
    word, since, number = name.split("_")
    if word != "application":
        raise ValueError(f"{name!r} is not the id of an application")
    return Order(_YARN_CLIENT, "forceKillApplication", _text(1, _number(1, int(number)) + _number(2, int(since))))


def call(
    address: str, port: int, order: Order, user: str, deadline: Deadline, connect: Connect = NAMES.connect
) -> None:
    """Give one order as ``user`` and wait for its end; RpcError says why it was not carried out."""
    where = f"{address}:{port}"
    try:
        with connect(address, port, max(0.1, deadline.left())) as connection:
            connection.sendall(_request(order, user))
            answer = _answer(connection, deadline)
    except (OSError, EOFError) as error:
        raise RpcError(f"{order.method} was not answered: {error}", where=where) from error
    status, kind, what = answer
    if status != _SUCCESS:
        raise RpcError(f"{order.method} was refused: {what or kind or 'no reason given'}", where=where)


def _request(order: Order, user: str) -> bytes:
    client = os.urandom(16)
    protocol = order.protocol.encode()
    context = _text(2, _text(1, user.encode())) + _text(3, protocol)
    header = _text(1, order.method.encode()) + _text(2, protocol) + _number(3, 1)
    hello = _MAGIC + bytes([_VERSION, _SERVICE_CLASS, _SIMPLE_AUTH])
    return (
        hello
        + _frame(_rpc_header(_CONNECTION_CONTEXT, client), context)
        + _frame(_rpc_header(0, client), header, order.message)
    )


def _rpc_header(call_id: int, client: bytes) -> bytes:
    return (
        _number(1, _PROTOBUF)
        + _number(2, _FINAL_PACKET)
        + _number(3, _zigzag(call_id))
        + _text(4, client)
        + _number(5, _zigzag(_NO_RETRY))
    )


def _frame(*messages: bytes) -> bytes:
    body = b"".join(_varint(len(message)) + message for message in messages)
    return struct.pack(">I", len(body)) + body


def _answer(connection: Connection, deadline: Deadline) -> tuple[int, str, str]:
    """Status, class of the exception, its first line."""
    (size,) = struct.unpack(">I", _read(connection, 4, deadline))
    if not 0 < size <= _MOST_BYTES:
        raise EOFError(f"an answer of {size} bytes: this is not Hadoop RPC")
    body = _read(connection, size, deadline)
    length, at = _read_varint(body, 0)
    fields = _fields(body[at : at + length])
    said = _string(fields.get(5))
    status = fields.get(2, _SUCCESS)
    return status if isinstance(status, int) else -1, _string(fields.get(4)), said.partition("\n")[0]


def _read(connection: Connection, size: int, deadline: Deadline) -> bytes:
    data = b""
    while len(data) < size:
        connection.settimeout(max(0.05, deadline.left()))
        piece = connection.recv(size - len(data))
        if not piece:
            raise EOFError("the connection was closed")
        data += piece
    return data


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(data):
            raise EOFError("the answer is cut short")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def _fields(data: bytes) -> dict[int, int | bytes]:
    found: dict[int, int | bytes] = {}
    at = 0
    while at < len(data):
        key, at = _read_varint(data, at)
        value: int | bytes
        if key & 7 == 0:
            value, at = _read_varint(data, at)
        elif key & 7 == 2:
            size, at = _read_varint(data, at)
            value, at = data[at : at + size], at + size
        else:
            raise EOFError(f"the answer has a field of an unknown kind ({key & 7})")
        found[key >> 3] = value
    return found


def _string(value: int | bytes | None) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else ""
