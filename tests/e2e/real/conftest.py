"""Work, faults and the end on two MR-clusters: `tests/e2e/two_clusters.py` says what the tests share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.e2e.two_clusters import at_rest, two_clusters
from tests.support.site import RealSite


@pytest.fixture(scope="package")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealSite]:
    with two_clusters(tmp_path_factory.mktemp("real")) as site:
        yield site


@pytest.fixture
def site(running: RealSite) -> RealSite:
    return at_rest(running)
