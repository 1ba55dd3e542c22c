"""Connections to a host: those that it opens for us, and more of them where its sshd allows few sessions on one."""

from __future__ import annotations

import io
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from fawkes.live.nodes.fleet import Fleet
from fawkes.live.nodes.relay import NotTakenError
from fawkes.playbook import Script
from tests.live.nodes.test_ssh import AMPLE, Long
from tests.live.sshd import Sshd, write_key
from tests.support.waiting import wait_for


@pytest.fixture
def fleet(server: Sshd, tmp_path: Path) -> Iterator[Fleet]:
    known = tmp_path / "known_hosts"
    known.write_text(server.known_line())
    host = server.host(write_key(server.authorized, tmp_path / "id"))
    with Fleet({"node01": host}, known, connect_s=2) as fleet:
        yield fleet


def test_a_host_connects_for_us_over_the_connection_that_is_kept(server: Sshd, fleet: Fleet) -> None:
    fleet.run("node01", Script("true"), 20)
    with fleet.connect("node01", "10.98.1.1", 8020, 20):
        assert server.tunnels == [("10.98.1.1", 8020)]
    assert server.connections == 1


@pytest.fixture
def upper() -> Iterator[int]:
    """The port of a server that answers once in capital letters, ends its side, and keeps what comes then."""

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.sendall(connection.recv(1 << 16).upper())
            connection.shutdown(socket.SHUT_WR)
            while data := connection.recv(1 << 16):
                upper_got.append(data)
            upper_got.append(b"")

    upper_got.clear()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listener.getsockname()[1]
    thread.join(AMPLE)


upper_got: list[bytes] = []


@pytest.mark.slow
@pytest.mark.parametrize("noise", ["", "echo Welcome; echo quota >&2"])
def test_a_host_that_forwards_nothing_connects_by_a_session(server: Sshd, fleet: Fleet, upper: int, noise: str) -> None:
    server.forwards, server.noise = False, noise
    with fleet.connect("node01", "127.0.0.1", upper, 20) as connection:
        connection.sendall(b"a\0\n\xff")
        assert connection.recv(100) == b"A\0\n\xff"
        assert connection.recv(100) == b""
        connection.sendall(b"more")
        wait_for(lambda: b"".join(upper_got) == b"more")
    wait_for(lambda: upper_got[-1] == b"")
    wait_for(lambda: all(process.poll() is not None for process in server.processes))
    assert fleet.run("node01", Script("echo well"), 20).stdout == "well\n"
    assert (server.connections, server.tunnels) == (1, [])


def test_a_host_that_forwards_nothing_is_asked_to_once(
    server: Sshd, fleet: Fleet, caplog: pytest.LogCaptureFixture
) -> None:
    server.forwards = False
    for _ in range(2):
        with pytest.raises(NotTakenError, match=r"node01 does not get through to 127.0.0.1 port 1: Connection refused"):
            fleet.connect("node01", "127.0.0.1", 1, 20)
    assert (server.not_forwarded, caplog.messages) == (1, [])


def test_a_host_without_bash_or_forwarding_says_what_its_session_said(server: Sshd, fleet: Fleet) -> None:
    server.forwards, server.noise = False, "PATH=/nowhere"
    with pytest.raises(ConnectionError, match=r"its session does not begin bash; it said: .*env: not found"):
        fleet.connect("node01", "127.0.0.1", 1, 20)


@pytest.mark.slow
def test_a_connect_that_takes_too_long_is_given_up_and_ended_there(server: Sshd, fleet: Fleet) -> None:
    server.forwards = False
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
        # A queue of one that is full: the kernel answers no further connection.
        port = full.getsockname()[1]
        waiting = [socket.socket() for _ in range(3)]
        for each in waiting:
            each.setblocking(False)
            each.connect_ex(("127.0.0.1", port))
        with pytest.raises(ConnectionError, match="did not connect to it: no connection within"):
            fleet.connect("node01", "127.0.0.1", port, 0.5)
        for each in waiting:
            each.close()
        wait_for(lambda: all(process.poll() is not None for process in server.processes))


def test_a_host_that_cannot_be_reached_connects_to_nothing(server: Sshd, fleet: Fleet) -> None:
    server.close()
    with pytest.raises(ConnectionError, match="node01 did not connect to it"):
        fleet.connect("node01", "10.98.1.1", 8020, 20)


@pytest.mark.slow
def test_a_server_with_one_session_for_each_connection_gets_more_connections(
    server: Sshd, fleet: Fleet, tmp_path: Path
) -> None:
    server.most_sessions = 1
    long = Long(fleet, tmp_path)
    with long:
        for _ in range(3):
            assert fleet.run("node01", Script("echo short"), AMPLE).stdout == "short\n"
            assert fleet.run("node01", Script("cat"), AMPLE, stdin=io.BytesIO(b"data")).stdout == "data"
    assert long.results[0].stdout == "long\n"
    assert server.connections <= 4


@pytest.mark.slow
def test_many_lanes_that_died_at_once_cost_one_attempt(server: Sshd, fleet: Fleet, tmp_path: Path) -> None:
    server.most_sessions = 1
    with Long(fleet, tmp_path):
        fleet.run("node01", Script("true"), AMPLE)
    server.cut()
    server.most_sessions = None
    began = server.connections
    assert fleet.run("node01", Script("echo again"), AMPLE).stdout == "again\n"
    assert server.connections == began + 1
