"""An HDFS in memory, a site whose masters' data is kept, and a place for what is saved."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fawkes.live.wire.rest import close_session
from tests.live.fake_hdfs import FakeHdfs, running
from tests.live.kept_site import KeptSite, kept_site


@pytest.fixture
def server() -> Iterator[FakeHdfs]:
    with running() as server:
        yield server
    close_session()


@pytest.fixture
def site(tmp_path: Path) -> Iterator[KeptSite]:
    with kept_site(tmp_path) as site:
        yield site


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "saved" / "wc"
