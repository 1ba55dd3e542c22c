"""An SSH server of a test's own, and a key that opens it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.live.sshd import Sshd, write_key


@pytest.fixture
def server() -> Iterator[Sshd]:
    with Sshd() as server:
        yield server


@pytest.fixture
def key(server: Sshd, tmp_path: Path) -> Path:
    return write_key(server.authorized, tmp_path / "id")
