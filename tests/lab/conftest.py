from __future__ import annotations

from collections.abc import Iterator

import pytest

from fawkes.lab import Lab, LabSpec, up

SMALL = 64_000_000


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """Three hosts, shared by tests that leave them as they were: on, not paused, not cut."""
    site = tmp_path_factory.mktemp("shared") / "lab"
    with up(LabSpec(hosts=3, site=site, nodemanager_memory_bytes=SMALL, users=("alpha", "beta"))) as shared:
        yield shared
