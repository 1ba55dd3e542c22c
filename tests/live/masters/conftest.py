"""An MR-cluster with a journal on nodes that are folders of this machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fawkes.core.values.model import NodeId
from tests.live.masters_server import Server
from tests.live.masters_site import NODES
from tests.live.pair_site import PairSite, pair_site


@pytest.fixture
def nodes() -> tuple[NodeId, ...]:
    return NODES


@pytest.fixture
def site(tmp_path: Path, one_server: Server, nodes: tuple[NodeId, ...]) -> Iterator[PairSite]:
    with pair_site(tmp_path, one_server, nodes) as found:
        yield found
