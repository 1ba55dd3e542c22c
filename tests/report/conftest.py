from __future__ import annotations

from pathlib import Path

import pytest

from fawkes.offline.runs.folder import copied
from fawkes.store.base import Reader
from fawkes.store.memory import MemoryStore
from tests.report.played import filled, play, recorded


@pytest.fixture(scope="session")
def played() -> Reader:
    """A run as it was recorded."""
    return filled(recorded())


@pytest.fixture(scope="session")
def fresh() -> Reader:
    """The same run by the engine of today."""
    store = MemoryStore()
    play(store)
    return store


@pytest.fixture(scope="session")
def played_ledger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The recorded run in the ledger of a state folder; not to be changed."""
    folder = tmp_path_factory.mktemp("state")
    copied(filled(recorded()), folder)
    return folder
