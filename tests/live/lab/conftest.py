from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from fawkes.live.lab import Lab, LabSpec, up

SMALL = 64_000_000
#: users of the hosts beside the one for SSH: only root can become others
OTHERS = ("alpha", "beta") if os.geteuid() == 0 else ()


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """Three hosts, shared by tests that leave them as they were: on, not paused, not cut."""
    site = tmp_path_factory.mktemp("shared") / "lab"
    spec = LabSpec(hosts=3, site=site, nodemanager_memory_bytes=SMALL, users=OTHERS, control_groups=False)
    with up(spec) as shared:
        yield shared
