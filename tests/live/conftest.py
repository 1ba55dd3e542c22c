"""Masters that answer what a test wants; a module may set up ``server`` in another way."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fawkes.live.wire.rest import close_session
from tests.live.job_bench import Bench
from tests.live.masters_server import Server, clear, healthy, running
from tests.support.stub import Stub, stub_master


@pytest.fixture(scope="module")
def one_server() -> Iterator[Server]:
    """The server of a module; what it answers is of the test before."""
    with running() as server:
        yield server
    close_session()


@pytest.fixture
def server(one_server: Server) -> Iterator[Server]:
    """The masters of a healthy MR-cluster."""
    healthy(one_server)
    yield one_server
    clear(one_server)


@pytest.fixture
def master() -> Iterator[Stub]:
    """A ResourceManager without answers yet."""
    with stub_master() as stub:
        yield stub


@pytest.fixture
def bench(master: Stub) -> Bench:
    """One job on one MR-cluster, of which nothing was begun yet."""
    return Bench(master)
