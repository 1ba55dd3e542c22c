"""Nodes behind jump hosts: one connection to each, and what is told when one of them cannot be used."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from fawkes.base.errors import HostError
from fawkes.live.nodes.fleet import Fleet
from fawkes.live.nodes.ssh import ConnectionState, HostAddress, Result, SshError
from fawkes.live.wire.names import NAMES
from fawkes.live.wire.rest import Deadline, UnreadableError, close_session, get_json, session
from fawkes.playbook import Script
from tests.live.sshd import Sshd, write_key
from tests.support.web import LastingRequest, LastingServer, serving

pytestmark = pytest.mark.slow

NODES = [f"node{number}" for number in range(6)]
AMPLE = 20.0


class Site(SimpleNamespace):
    """The jump hosts ``first`` and ``second``, and a server that stands for all nodes behind them."""

    first: Sshd
    second: Sshd
    node: Sshd
    known: Path
    hosts: dict[str, HostAddress]

    def fleet(self, connect_s: float = 10.0, *, fanout: int = 32, **changes: object) -> Fleet:
        hosts = {name: replace(host, **changes) for name, host in self.hosts.items()}  # type: ignore[arg-type]
        return Fleet(hosts, self.known, connect_s=connect_s, fanout=fanout)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with Sshd() as node, Sshd(authorized=node.authorized) as first, Sshd(authorized=node.authorized) as second:
        key = write_key(node.authorized, tmp_path / "id")
        known = tmp_path / "known_hosts"
        known.write_text(first.known_line() + second.known_line() + node.known_line())
        jump = replace(second.host(key, "second"), jump=first.host(key, "first"))
        hosts = {name: replace(node.host(key, name), jump=jump) for name in NODES}
        yield Site(first=first, second=second, node=node, known=known, hosts=hosts)


def told(fleet: Fleet) -> tuple[ConnectionState, str]:
    """The state and the error of all nodes that were tried at once: the same for each."""
    errors = fleet.run_many(NODES, Script("true"), AMPLE).values()
    outcomes = {(error.state, f"{error.what}. {error.hint}") for error in errors if isinstance(error, SshError)}
    assert len(outcomes) == 1, errors
    assert all(isinstance(error, HostError) for error in errors)
    return outcomes.pop()


def works(fleet: Fleet) -> bool:
    results = fleet.run_many(NODES, Script("echo here"), AMPLE).values()
    return all(isinstance(result, Result) and result.stdout == "here\n" for result in results)


def test_one_connection_to_each_jump_host_serves_all_nodes(site: Site) -> None:
    with site.fleet() as fleet:
        assert works(fleet)
        assert (site.first.connections, site.second.connections, site.node.connections) == (1, 1, len(NODES))
        assert site.first.tunnels == [("127.0.0.1", site.second.port)]


def test_a_jump_host_that_comes_back_is_used_again(site: Site) -> None:
    with site.fleet() as fleet:
        assert works(fleet)
        site.second.cut()
        assert works(fleet)
        assert (site.first.connections, site.second.connections) == (1, 2)


def test_the_keys_of_jump_hosts_are_pinned_like_those_of_nodes(site: Site) -> None:
    site.known.write_text(site.node.known_line())
    with site.fleet() as fleet:
        for name, server in (("first", site.first), ("second", site.second)):
            before = len(server.logins)
            state, what = told(fleet)
            assert state is ConnectionState.BEHIND
            assert f"behind {name}: its host key is not known" in what
            assert f"accept it: `fawkes check --trust {name}`" in what
            assert len(server.logins) == before
            assert [jump.node for jump in fleet.unknown_jumps()] == [name]
            fleet.trust(name, fleet.shown_key(name))
        assert works(fleet)
    assert site.known.read_text().endswith(site.first.known_line() + site.second.known_line())


def test_a_changed_key_of_a_jump_host_is_refused(site: Site) -> None:
    other = site.second.known_line().replace(f":{site.second.port}", f":{site.first.port}")
    site.known.write_text(other + site.second.known_line() + site.node.known_line())
    with site.fleet() as fleet:
        state, what = told(fleet)
    assert state is ConnectionState.BEHIND
    assert "behind first: its host key has CHANGED" in what
    assert site.first.logins == []


@pytest.mark.parametrize(
    ("wants", "said"),
    [
        ("password", "it accepts password only. Put the public key"),
        ("keyboard-interactive", "needs a password or a code as well. Let the host accept the key alone"),
    ],
)
def test_a_jump_host_that_asks_for_a_password_is_told(site: Site, wants: str, said: str) -> None:
    site.first.wants = wants
    with site.fleet() as fleet:
        state, what = told(fleet)
    assert state is ConnectionState.BEHIND
    assert what.startswith("behind first: ")
    assert said in what
    assert site.first.connections == 1


def test_a_jump_host_that_forwards_nothing_is_told(site: Site) -> None:
    site.second.forwards = False
    with site.fleet() as fleet:
        state, what = told(fleet)
    assert state is ConnectionState.BEHIND
    assert f"behind second: it does not forward connections to 127.0.0.1 port {site.node.port}" in what
    assert "AllowTcpForwarding" in what


def test_nodes_do_not_wait_one_after_another_for_a_jump_host_that_is_silent(site: Site) -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        jump = replace(site.hosts["node0"], node="mute", port=mute.getsockname()[1], jump=None)
        with site.fleet(0.5, fanout=1, jump=jump) as fleet:
            state, what = told(fleet)
            mute.settimeout(0.1)
            came = 0
            while True:
                try:
                    mute.accept()[0].close()
                except TimeoutError:
                    break
                came += 1
    assert state is ConnectionState.BEHIND
    assert "behind mute: 127.0.0.1 port" in what
    assert came < len(NODES)


def test_a_jump_host_that_is_refused_or_not_resolved_is_told(site: Site) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = free.getsockname()[1]
    with site.fleet(jump=replace(site.hosts["node0"], node="login", port=port, jump=None)) as fleet:
        assert "behind login: 127.0.0.1 port" in told(fleet)[1]
    nameless = replace(site.hosts["node0"], node="login", address="no-such-host.invalid", jump=None)
    with site.fleet(jump=nameless) as fleet:
        assert "behind login: the name 'no-such-host.invalid' cannot be resolved" in told(fleet)[1]


# --- servers of nodes


class _Web(LastingRequest):
    def answer(self) -> None:
        size = int(self.headers.get("content-length", 0))
        said = {"bytes": len(self.rfile.read(size))} if self.command == "PUT" else {"path": self.path}
        self.send(json.dumps(said).encode())


@pytest.fixture
def web() -> Iterator[int]:
    with serving(LastingServer(("127.0.0.1", 0), _Web)) as server:
        yield server.server_port
    close_session()


def test_servers_of_nodes_are_asked_by_way_of_the_node(site: Site, web: int) -> None:
    with Fleet(site.hosts, site.known, connect_s=AMPLE, behind={"localhost": "node0"}):
        for _ in range(2):
            assert get_json(f"http://localhost:{web}/a", Deadline.after(AMPLE)) == {"path": "/a"}
        assert site.node.tunnels == [("localhost", web)]
        with session() as mine:
            data = b"x" * (4 << 20)
            assert mine.put(f"http://localhost:{web}/b", data=data, timeout=AMPLE).json() == {"bytes": len(data)}
        with NAMES.connect("LOCALHOST", web, AMPLE) as plain:
            plain.sendall(b"GET /c HTTP/1.0\r\n\r\n")
            assert plain.recv(12) == b"HTTP/1.1 200"
        with pytest.raises(UnreadableError, match="localhost:1/"):
            get_json("http://localhost:1/", Deadline.after(AMPLE))
    assert NAMES.way("localhost") is None


def test_a_lost_jump_host_makes_servers_unreadable_and_nothing_else(site: Site, web: int) -> None:
    with Fleet(site.hosts, site.known, connect_s=AMPLE, behind={"localhost": "node0"}):
        get_json(f"http://localhost:{web}/a", Deadline.after(AMPLE))
        site.first.close()
        with pytest.raises(UnreadableError) as caught:
            get_json(f"http://localhost:{web}/a", Deadline.after(5))
    assert caught.value.status is None
