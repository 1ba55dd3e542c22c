"""Orders over Hadoop's RPC: what is sent, and what each answer means."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from fawkes.live.wire.hadoop_rpc import REFRESH_HDFS, REFRESH_YARN, RpcError, call, recover_lease
from fawkes.live.wire.rest import Deadline

LIMIT_S = 10.0
#: RpcResponseHeaderProto: callId 0, status SUCCESS
GOOD = bytes([0x08, 0x00, 0x10, 0x00])
#: status ERROR, exceptionClassName, errorMsg
BAD = bytes([0x08, 0x00, 0x10, 0x01]) + b"\x22\x03a.B" + b"\x2a\x0bno right\nat"


def framed(header: bytes) -> bytes:
    body = bytes([len(header)]) + header
    return struct.pack(">I", len(body)) + body


class Server:
    """Takes one connection, keeps what it got and answers with ``answer``, then hangs up."""

    def __init__(self, answer: bytes) -> None:
        self.got = b""
        self._answer = answer
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        connection, _ = self._listener.accept()
        with connection:
            connection.settimeout(LIMIT_S)
            while b"refreshNodes" not in self.got:
                self.got += connection.recv(4096)
            connection.sendall(self._answer)

    def close(self) -> None:
        self._thread.join(LIMIT_S)
        self._listener.close()


@contextmanager
def server(answer: bytes) -> Iterator[Server]:
    opened = Server(answer)
    try:
        yield opened
    finally:
        opened.close()


def test_a_good_answer_ends_the_call_and_the_order_was_sent_as_the_user() -> None:
    with server(framed(GOOD)) as master:
        call("127.0.0.1", master.port, REFRESH_YARN, "hadoop", Deadline.after(LIMIT_S))
    assert master.got.startswith(b"hrpc\x09\x00\x00")
    assert b"\x0a\x06hadoop" in master.got
    assert b"ResourceManagerAdministrationProtocolPB" in master.got
    assert master.got.endswith(b"\x18\x01" + b"\x02\x08\x02")  # protocol version 1; the message: GRACEFUL


def test_the_order_to_close_a_file_has_its_path_and_a_client() -> None:
    order = recover_lease("/a\u00e9")
    assert (order.method, order.message) == ("recoverLease", b"\x0a\x04/a\xc3\xa9" + b"\x12\x06fawkes")


def test_a_refusal_is_told_with_the_first_line_of_its_reason() -> None:
    with server(framed(BAD)) as master, pytest.raises(RpcError, match=r"refreshNodes was refused: no right$"):
        call("127.0.0.1", master.port, REFRESH_HDFS, "joe", Deadline.after(LIMIT_S))


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (b"", "the connection was closed"),
        (framed(GOOD)[:5], "the connection was closed"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "this is not Hadoop RPC"),
        (framed(bytes([0x08, 0x80])), "cut short"),
        (framed(bytes([0x0D, 0, 0, 0, 0])), "unknown kind"),
    ],
)
def test_what_is_no_answer_is_an_error(answer: bytes, why: str) -> None:
    with server(answer) as master, pytest.raises(RpcError, match=why):
        call("127.0.0.1", master.port, REFRESH_HDFS, "hadoop", Deadline.after(LIMIT_S))


def test_nobody_listening_is_an_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(RpcError, match="not answered"):
        call("127.0.0.1", port, REFRESH_HDFS, "hadoop", Deadline.after(LIMIT_S))
