"""A site with a ledger, for commands that read it."""

from __future__ import annotations

import shutil
from contextlib import closing
from pathlib import Path

import pytest

from fawkes.store.sqlite import Ledger
from tests.report.played import recorded


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site with the ledger of a recorded run as it grows step by step, not to be changed."""
    site = tmp_path_factory.mktemp("site")
    with closing(Ledger(site / "state", durable=False)) as ledger:
        for entry in recorded():
            ledger.append(entry.event, entry.decision)
    return site


@pytest.fixture
def site(written: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(written, tmp_path / "site"))
