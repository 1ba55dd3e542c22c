"""Clients that are slow, silent, many or malformed get nothing, and everybody else is answered."""

from __future__ import annotations

import select
import socket
import ssl
from collections.abc import Iterator
from contextlib import ExitStack, nullcontext, suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import requests

from fawkes.base.errors import UserError
from fawkes.report.web.serve import MOST_CONNECTIONS, MOST_HEADER_BYTES, key_of, serve
from tests.report.web.serving import certified, served

pytestmark = pytest.mark.slow
PATIENCE_S = 60.0
#: far more than a server reads at once, which comes on top of the limit
_TOO_MUCH = 64 * MOST_HEADER_BYTES


@pytest.fixture(scope="module")
def url(played_ledger: Path) -> Iterator[str]:
    with served(played_ledger, request_s=3.0) as (address, _):
        while "seq" not in requests.get(f"{address}api/state", timeout=PATIENCE_S).json():
            pass
        yield address


def connected(url: str) -> socket.socket:
    host, port = urlsplit(url).hostname, urlsplit(url).port
    return socket.create_connection((host, port), PATIENCE_S)


def spoken(url: str, raw: bytes) -> bytes:
    """The answer to these bytes, until the server closes the connection."""
    answer = b""
    with connected(url) as connection:
        try:
            connection.sendall(raw)
            while piece := connection.recv(65536):
                answer += piece
        except ConnectionError:
            pass
    return answer


def works(url: str) -> bool:
    return requests.get(f"{url}metrics", timeout=PATIENCE_S).status_code == 200


MALFORMED = {
    "no HTTP": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    "no host": b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n",
    "another host": b"GET /api/state HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n",
    "long line": b"GET /" + b"a" * (_TOO_MUCH) + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "long header": b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * (_TOO_MUCH) + b"\r\n\r\n",
    "many headers": b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"A: b\r\n" * (_TOO_MUCH // 6) + b"\r\n",
    "two lengths": b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
    "chunks": b"GET / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n0\r\n\r\n",
    "zero byte": b"GET /\x00 HTTP/1.1\r\nHost: localhost\r\n\r\n",
}


@pytest.mark.parametrize("raw", MALFORMED.values(), ids=MALFORMED)
def test_malformed_requests_are_refused(url: str, raw: bytes) -> None:
    answer = spoken(url, raw)
    assert answer[:13] in (b"", b"HTTP/1.1 400 ")
    assert b"Traceback" not in answer
    assert works(url)


def test_connections_that_say_nothing_or_half_are_closed(url: str) -> None:
    assert spoken(url, b"") == b""
    assert spoken(url, b"GET / HTTP/1.1\r\nHost: local") == b""
    assert works(url)


def test_many_idle_connections_go_and_the_page_stays(url: str) -> None:
    with ExitStack() as stack:
        idle = [stack.enter_context(connected(url)) for _ in range(2 * MOST_CONNECTIONS)]
        for connection in idle:
            assert connection.recv(65536)[:13] in (b"", b"HTTP/1.1 503 ")
    assert works(url)


def test_connections_that_never_begin_tls_are_closed(played_ledger: Path, tmp_path: Path) -> None:
    pem = certified(tmp_path)
    with served(played_ledger, 0.5, pem) as (address, _), connected(address) as connection:
        # By itself asyncio would wait for a minute.
        connection.settimeout(PATIENCE_S / 2)
        assert connection.recv(1) == b""
        assert requests.get(f"{address}api/state", timeout=PATIENCE_S, verify=str(pem)).status_code == 200


def test_tls_below_1_3_takes_ciphers_that_encrypt_and_no_others(played_ledger: Path, tmp_path: Path) -> None:
    with served(played_ledger, pem=certified(tmp_path)) as (address, _):
        for ciphers, fits in (("ECDHE+AESGCM", True), ("aNULL:eNULL:@SECLEVEL=0", False), ("SHA1:!eNULL", False)):
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            context.maximum_version = ssl.TLSVersion.TLSv1_2
            context.set_ciphers(ciphers)
            with connected(address) as connection, nullcontext() if fits else pytest.raises(ssl.SSLError):
                context.wrap_socket(connection).close()


def test_who_takes_nothing_of_an_answer_is_hung_up_on(played_ledger: Path) -> None:
    with served(played_ledger, 0.2) as (address, _), socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect((urlsplit(address).hostname, urlsplit(address).port))
        ask = b"GET /api/course HTTP/1.1\r\nHost: localhost\r\n\r\n"
        wait = select.poll()
        wait.register(connection, select.POLLOUT)
        # More answers than the system holds for anybody: 4 MB on this side's behalf, as much on the server's.
        with suppress(ConnectionError):
            while not wait.poll(PATIENCE_S * 1000)[0][1] & (select.POLLHUP | select.POLLERR):
                connection.sendall(ask)
        assert works(address)


def test_a_port_in_use_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UserError, match="cannot listen") as caught:
            serve(tmp_path, port=port, key="", names=(), ready=lambda _: None)
    assert f"127.0.0.1:{port}" in str(caught.value)


def test_a_key_is_read_from_a_file_of_its_owner(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text("0123456789abcdef\n")
    file.chmod(0o600)
    assert key_of(file) == "0123456789abcdef"
    assert key_of(None) != key_of(None)


@pytest.mark.parametrize(
    ("content", "mode", "says"),
    [
        (b"0123456789abcdef", 0o640, "others can read"),
        (b"0123456789abcdef", 0o604, "others can read"),
        (b"short", 0o600, "at least 16"),
        (b"", 0o600, "at least 16"),
        (b"0123456789 abcdef", 0o600, "at least 16"),
        (b"\xff" * 20, 0o600, "not UTF-8"),
    ],
)
def test_a_bad_key_is_refused_and_not_shown(tmp_path: Path, content: bytes, mode: int, says: str) -> None:
    file = tmp_path / "key"
    file.write_bytes(content)
    file.chmod(mode)
    with pytest.raises(UserError, match=says) as caught:
        key_of(file)
    assert str(file) in str(caught.value)
    assert not content or content.decode("latin-1") not in str(caught.value)


def test_a_key_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such file"):
        key_of(tmp_path / "nothing")
