"""A controller without a file, a port or memory of its own says that it could not ask, and blames nobody."""

from __future__ import annotations

import errno
import os
import resource
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from fawkes.base.errors import FawkesError
from fawkes.live.controller.world import _facts, _facts_of_host
from fawkes.live.nodes.fleet import Fleet
from fawkes.live.nodes.ssh import ConnectionState, HostAddress, SshError
from fawkes.live.wire.hadoop_rpc import REFRESH_HDFS, RpcError, call
from fawkes.live.wire.names import NameLookups
from fawkes.live.wire.own_faults import own_fault
from fawkes.live.wire.rest import Deadline, OwnFaultError, close_session, get_json
from fawkes.playbook import Script
from tests.live.masters_server import Handler, Query, Server, says

AMPLE = 20.0
MOVE = "LimitNOFILE in its unit"


@pytest.fixture
def no_files() -> Iterator[Callable[[], None]]:
    """Takes all files that this process may open, until the test ends."""
    taken: list[int] = []
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)

    def take() -> None:
        close_session()
        used = max(map(int, os.listdir("/proc/self/fd")))
        resource.setrlimit(resource.RLIMIT_NOFILE, (used + 2, hard))
        with suppress(OSError):
            while True:
                taken.append(os.open(os.devnull, os.O_RDONLY))

    yield take
    for each in taken:
        os.close(each)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_masters_are_not_called_silent(server: Server, no_files: Callable[[], None]) -> None:
    server.answers["/doc"] = says({})
    no_files()
    with pytest.raises(OwnFaultError, match=MOVE):
        get_json(f"{server.url}/doc", Deadline.after(AMPLE))


def test_an_order_blames_no_master(no_files: Callable[[], None]) -> None:
    no_files()
    with pytest.raises(RpcError, match=MOVE) as caught:
        call("127.0.0.1", 1, REFRESH_HDFS, "u", Deadline.after(AMPLE))
    assert _facts(caught.value) == {"site": True}


def test_a_node_is_not_called_silent_or_away(tmp_path: Path, no_files: Callable[[], None]) -> None:
    with Fleet({"node01": HostAddress("node01", "127.0.0.1", "u", key=tmp_path / "key")}, tmp_path / "k") as fleet:
        (tmp_path / "key").write_text("")
        no_files()
        with pytest.raises(SshError, match=MOVE) as caught:
            fleet.run("node01", Script("true"), AMPLE)
    assert caught.value.state is ConnectionState.NOT_TRIED
    assert _facts(caught.value) == _facts_of_host(caught.value) == {"site": True}


@pytest.mark.parametrize(
    ("number", "own"),
    [
        (errno.EMFILE, True), (errno.ENFILE, True), (errno.ENOMEM, True), (errno.EADDRNOTAVAIL, True),
        (errno.ECONNREFUSED, False), (errno.EHOSTUNREACH, False), (errno.ETIMEDOUT, False),
    ],
)  # fmt: skip
def test_an_errors_root_tells_whose_fault_it_is(number: int, own: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> list[str]:
        raise OSError(number, os.strerror(number))

    names = NameLookups(fails)
    monkeypatch.setattr("fawkes.live.wire.rest.NAMES", names)
    with pytest.raises(FawkesError) as caught:
        get_json("http://node01:1/doc", Deadline.after(AMPLE))
    assert isinstance(caught.value, OwnFaultError) is own
    assert bool(own_fault(caught.value)) is own


def test_a_server_costs_one_connection_however_many_threads_ask_it(server: Server) -> None:
    ports: list[int] = []

    def answer(handler: Handler, query: Query) -> None:
        ports.append(handler.client_address[1])
        says({})(handler, query)

    server.answers["/doc"] = answer
    for _ in range(8):
        with ThreadPoolExecutor(1) as thread:
            thread.submit(get_json, f"{server.url}/doc", Deadline.after(AMPLE)).result()
    assert (len(ports), len(set(ports))) == (8, 1)
