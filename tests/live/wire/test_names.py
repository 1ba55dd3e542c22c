"""Host names, when nobody says which address they have."""

from __future__ import annotations

import socket
import threading

import pytest

from fawkes.live.wire.names import NameLookups, SilentNameError

LIMIT_S = 20.0


def row(address: str) -> tuple[object, ...]:
    return (socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 0))


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "[::1]", "fe80::1%eth0"])
def test_an_address_is_not_looked_up(address: str) -> None:
    def never(host: str) -> list[object]:
        raise AssertionError(host)

    assert NameLookups(never).addresses(address, 0.0) == [address.strip("[]")]


def test_each_address_comes_once_in_their_order() -> None:
    assert NameLookups(lambda host: [row("10.0.0.2"), row("10.0.0.1"), row("10.0.0.2")]).addresses("n", LIMIT_S) == [
        "10.0.0.2",
        "10.0.0.1",
    ]


def test_a_silent_name_server_costs_one_thread_however_often_it_is_asked() -> None:
    over, hosts = threading.Event(), []

    def silent(host: str) -> list[object]:
        hosts.append(host)
        over.wait()
        return [row("10.0.0.1")]

    names = NameLookups(silent)
    for _ in range(20):
        with pytest.raises(SilentNameError, match="with the address of n"):
            names.addresses("n", 0.0)
    assert hosts == ["n"]
    # What is answered late is an answer for whoever waits then.
    over.set()
    assert names.addresses("n", LIMIT_S) == ["10.0.0.1"]


def test_names_do_not_wait_for_each_other() -> None:
    over = threading.Event()
    names = NameLookups(lambda host: [row("10.0.0.1")] if host == "good" or over.wait() else [])
    with pytest.raises(SilentNameError):
        names.addresses("silent", 0.0)
    assert names.addresses("good", LIMIT_S) == ["10.0.0.1"]
    over.set()


def test_a_name_that_does_not_exist_or_is_none() -> None:
    with pytest.raises(socket.gaierror):
        NameLookups().addresses("no-such-host.invalid", LIMIT_S)
    with pytest.raises(socket.gaierror):
        NameLookups().addresses("x" * 300, LIMIT_S)


def test_the_first_address_that_takes_a_connection_is_used() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        names = NameLookups(lambda host: [row("127.0.0.2"), row("127.0.0.1")])
        with names.connect("n", port, LIMIT_S) as connection:
            assert connection.getpeername() == ("127.0.0.1", port)
    with pytest.raises(ConnectionRefusedError):
        names.connect("n", port, LIMIT_S)
