from __future__ import annotations

from pathlib import Path

import pytest

from fawkes.store.base import Reader
from fawkes.store.memory import MemoryStore
from fawkes.store.sqlite import Ledger
from tests.report.played import play


@pytest.fixture(scope="session")
def played() -> Reader:
    """A finished run, simulated."""
    store = MemoryStore()
    play(store)
    return store


@pytest.fixture(scope="session")
def played_ledger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same run, in the ledger of a state folder; not to be changed."""
    folder = tmp_path_factory.mktemp("state")
    ledger = Ledger(folder)
    # Three hundred commits to a slow disk would take longer than all other tests of reports together.
    ledger._db.execute("PRAGMA synchronous = OFF")
    play(ledger)
    ledger.close()
    return folder
