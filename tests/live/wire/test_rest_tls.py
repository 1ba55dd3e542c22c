"""HTTPS with the servers of an MR-cluster: just its own certificate is accepted, and deadlines hold as without."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.serialization import pkcs12

from fawkes.base.errors import FawkesError
from fawkes.live.kerberos.certificates import made, opened
from fawkes.live.kerberos.hadoop_kerberos import KEYSTORE_PASSWORD
from fawkes.live.wire.rest import KEY_HEADER, Deadline, NoTicketError, OwnFaultError, UnreadableError, get_json
from fawkes.live.wire.webhdfs import Hdfs
from tests.support.web import Request, serving

pytestmark = pytest.mark.slow


@dataclass
class Ticket:
    """A login whose tokens are counted; without any left it has no ticket."""

    fingerprint: str
    left: int = 100
    key: str = "the-key"

    def header(self) -> str:
        self.left -= 1
        if self.left < 0:
            raise FawkesError("the KDC gave no ticket")
        return f"Negotiate token-{self.left}"


@dataclass
class Server:
    url: str
    fingerprint: str
    asked: list[dict[str, str]] = field(default_factory=list)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with secured(tmp_path, "alpha") as opened:
        yield opened


@contextmanager
def secured(folder: Path, name: str) -> Iterator[Server]:
    keystore = made(name)
    key, certificate, _ = pkcs12.load_key_and_certificates(keystore, KEYSTORE_PASSWORD.encode())
    assert key is not None
    assert certificate is not None
    pem = folder / f"{name}.pem"
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    pem.write_bytes(key.private_bytes(*form) + certificate.public_bytes(serialization.Encoding.PEM))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    headers: list[dict[str, str]] = []
    silent = threading.Event()

    class Handler(Request):
        def answer(self) -> None:
            headers.append({key.lower(): value for key, value in self.headers.items()})
            if self.path.startswith("/silent"):
                silent.wait(30)
                return
            if self.path.startswith("/refuse"):
                cookie = {"set_cookie": "hadoop.auth=; Path=/; HttpOnly"} if self.path.endswith("ticket") else {}
                self.send(b"", int(self.path.split("/")[2]), **cookie)
                return
            self.send(b'{"FileStatus": {"type": "DIRECTORY", "length": 0, "modificationTime": 1}}')

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    httpd.socket = context.wrap_socket(httpd.socket, server_side=True)
    with serving(httpd):
        yield Server(f"https://127.0.0.1:{httpd.server_port}", opened(keystore).fingerprint, headers)
        silent.set()


def test_each_question_shows_the_key_and_a_proof_of_its_own(server: Server) -> None:
    ticket = Ticket(server.fingerprint)
    for _ in range(2):
        get_json(f"{server.url}/a", Deadline.after(5), key=ticket)
    assert [question[KEY_HEADER.lower()] for question in server.asked] == ["the-key", "the-key"]
    assert [question["authorization"] for question in server.asked] == ["Negotiate token-99", "Negotiate token-98"]


def test_another_certificate_gets_no_question_until_it_is_that_of_a_later_mr_cluster(server: Server) -> None:
    with pytest.raises(UnreadableError):
        get_json(f"{server.url}/a", Deadline.after(5), key=Ticket("0" * 64))
    assert server.asked == []
    assert get_json(f"{server.url}/a", Deadline.after(5), key=Ticket(server.fingerprint))


def test_without_a_login_no_https_is_spoken(server: Server) -> None:
    with pytest.raises(UnreadableError):
        get_json(f"{server.url}/a", Deadline.after(5), key="the-key")
    assert server.asked == []


def test_a_silent_server_ends_with_the_deadline(server: Server) -> None:
    with pytest.raises(UnreadableError, match="did not answer in time"):
        get_json(f"{server.url}/silent", Deadline.after(0.5), key=Ticket(server.fingerprint))


def test_without_a_ticket_nothing_is_asked(server: Server) -> None:
    with pytest.raises(NoTicketError) as caught:
        get_json(f"{server.url}/a", Deadline.after(5), key=Ticket(server.fingerprint, left=0))
    assert str(caught.value) == "the KDC gave no ticket", "the server that was not asked is not blamed"
    assert server.asked == []


def test_a_server_is_not_blamed_for_a_ticket_that_came_late(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    deadline, ticket = Deadline.after(60), Ticket(server.fingerprint)
    monkeypatch.setattr(ticket, "header", lambda: monkeypatch.setattr(Deadline, "left", lambda _: -1.0) or "")
    with pytest.raises(OwnFaultError, match="a ticket came too late to ask"):
        get_json(f"{server.url}/a", deadline, key=ticket)
    assert server.asked == []


@pytest.mark.parametrize(
    ("path", "kind"),
    [("401", NoTicketError), ("403/ticket", NoTicketError), ("403", UnreadableError), ("500/ticket", UnreadableError)],
)
def test_a_ticket_that_is_refused_says_nothing_of_the_server(
    server: Server, path: str, kind: type[UnreadableError]
) -> None:
    """HDFS forbids some things with the same status to whoever has a ticket."""
    with pytest.raises(UnreadableError) as caught:
        get_json(f"{server.url}/refuse/{path}", Deadline.after(5), key=Ticket(server.fingerprint))
    assert type(caught.value) is kind


def test_webhdfs_proves_each_request(server: Server) -> None:
    hdfs = Hdfs(server.url, "hadoop", key=Ticket(server.fingerprint))
    for _ in range(2):
        status = hdfs.status("/")
        assert status is not None
        assert status.folder
    proofs = [question["authorization"] for question in server.asked]
    assert len(set(proofs)) == len(proofs) == 2
    assert {question[KEY_HEADER.lower()] for question in server.asked} == {"the-key"}
