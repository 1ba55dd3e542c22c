from __future__ import annotations

from pathlib import Path

import pytest

from fawkes.store.base import Reader
from fawkes.store.memory import MemoryStore
from fawkes.store.sqlite import Ledger
from tests.report.played import fill, play, recorded


@pytest.fixture(scope="session")
def played() -> Reader:
    """A run as it was recorded."""
    store = MemoryStore()
    fill(store, recorded())
    return store


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
    ledger = Ledger(folder)
    # Three hundred commits to a slow disk would take longer than all other tests of reports together.
    ledger._db.execute("PRAGMA synchronous = OFF")
    fill(ledger, recorded())
    ledger.close()
    return folder
