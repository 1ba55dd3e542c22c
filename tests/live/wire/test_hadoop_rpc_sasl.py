"""Orders over Hadoop's RPC by SASL: who speaks when, and that nothing of an order goes over the wire in the clear."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

from fawkes.base.errors import FawkesError
from fawkes.live.wire.hadoop_rpc import REFRESH_HDFS, RpcError, call
from fawkes.live.wire.rest import Deadline

LIMIT_S = 10.0
#: RpcResponseHeaderProto: callId, status SUCCESS
GOOD = bytes([0x08, 0x00, 0x10, 0x00])
BAD = bytes([0x08, 0x00, 0x10, 0x02]) + b"\x22\x03a.B" + b"\x2a\x05no: x"
SUCCESS, NEGOTIATE, INITIATE, CHALLENGE, RESPONSE, WRAP = range(6)
#: SaslAuth: method, mechanism, protocol, server, challenge
TOKEN = b"\x0a\x05TOKEN\x12\x0aDIGEST-MD5\x1a\x00\x22\x07default\x2a\x03abc"
TICKET = b"\x0a\x08KERBEROS\x12\x06GSSAPI\x1a\x06hadoop\x22\x05alpha\x2a\x03xyz"


@dataclass
class Backwards:
    """A session whose encryption turns bytes round."""

    wraps: bool = True
    ticket: bool = True

    def begin(self) -> bytes:
        if not self.ticket:
            raise FawkesError("the KDC gave no ticket")
        return b"first"

    def answer(self, token: bytes) -> bytes:
        return b"to " + token

    def wrap(self, data: bytes) -> bytes:
        return data[::-1]

    def unwrap(self, data: bytes) -> bytes:
        return data[::-1]


def message(state: int, token: bytes | None = None, *offers: bytes, header: bytes = GOOD) -> bytes:
    body = bytes([0x10, state])
    if token is not None:
        body += b"\x1a" + bytes([len(token)]) + token
    for offer in offers:
        body += b"\x22" + bytes([len(offer)]) + offer
    return framed(bytes([len(header)]) + header + bytes([len(body)]) + body)


def framed(body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + body


ANSWER = framed(bytes([len(GOOD)]) + GOOD)


@dataclass
class Master:
    """Answers each message with the next of its answers, and keeps what it got."""

    answers: list[bytes]
    hello: bytes = b""
    got: list[bytes] = field(default_factory=list)
    port: int = 0

    @contextmanager
    def serving(self) -> Iterator[Master]:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            self.port = listener.getsockname()[1]
            thread = threading.Thread(target=self._serve, args=(listener,))
            thread.start()
            yield self
            thread.join(LIMIT_S)

    def _serve(self, listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection, connection.makefile("rb") as stream:
            connection.settimeout(LIMIT_S)
            self.hello = stream.read(7)
            for answer in self.answers:
                size = stream.read(4)
                if len(size) < 4:
                    return
                self.got.append(stream.read(struct.unpack(">I", size)[0]))
                connection.sendall(answer)
            # What the client still sends is read: a connection with unread bytes would be reset instead of closed.
            connection.shutdown(socket.SHUT_WR)
            stream.read()


def order(master: Master, session: Backwards) -> None:
    call("127.0.0.1", master.port, REFRESH_HDFS, "root", Deadline.after(LIMIT_S), session=session)


LOGIN: list[bytes] = [
    message(NEGOTIATE, None, TOKEN, TICKET),
    message(CHALLENGE, b"one"),
    message(CHALLENGE, b"two"),
    message(SUCCESS),
]


def test_a_private_order_is_given_after_the_login_and_never_in_the_clear() -> None:
    with Master([*LOGIN, message(WRAP, ANSWER[::-1])]).serving() as master:
        order(master, Backwards())
    assert master.hello == b"hrpc\x09\x00\xdf"
    negotiate, initiate, *responses, wrapped = master.got
    assert negotiate.endswith(bytes([2, 0x10, NEGOTIATE]))
    # The token, and the offer that was chosen without its challenge.
    assert b"\x1a\x05first" in initiate
    assert initiate.endswith(TICKET.removesuffix(b"\x2a\x03xyz"))
    assert [response[-6:] for response in responses] == [b"to one", b"to two"]
    assert b"refreshNodes" not in b"".join(master.got)
    assert b"refreshNodes" in wrapped[::-1]
    assert b"root" not in wrapped[::-1]


def test_without_protection_the_order_follows_as_it_is() -> None:
    # Context and call are two messages here.
    with Master([*LOGIN, b"", ANSWER]).serving() as master:
        order(master, Backwards(wraps=False))
    assert b"refreshNodes" in master.got[-1]


@pytest.mark.parametrize(
    ("answers", "why"),
    [
        ([message(NEGOTIATE, None, TOKEN)], "the master takes no Kerberos ticket"),
        ([message(NEGOTIATE, header=BAD)], "no: x"),
        ([*LOGIN[:2], message(NEGOTIATE, header=BAD)], "no: x"),
        ([*LOGIN[:1], message(WRAP, b"?")], "the master broke off the login"),
        ([*LOGIN[:3]], "the connection was closed"),
        ([*LOGIN, message(SUCCESS)], "the answer is not encrypted"),
        ([*LOGIN, message(WRAP, framed(bytes([len(BAD)]) + BAD)[::-1])], r"refreshNodes was refused: no: x$"),
    ],
)
def test_what_the_master_refuses_is_told(answers: list[bytes], why: str) -> None:
    with Master(answers).serving() as master, pytest.raises(RpcError, match=why):
        order(master, Backwards())


def test_without_a_ticket_the_order_is_not_given() -> None:
    with Master(LOGIN).serving() as master, pytest.raises(RpcError, match="the KDC gave no ticket"):
        order(master, Backwards(ticket=False))
    assert len(master.got) == 1
