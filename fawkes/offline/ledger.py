"""A store in memory as a ledger file, like that of a live run."""

from __future__ import annotations

import os
from pathlib import Path

from fawkes.store.base import Reader
from fawkes.store.sqlite import LEDGER_FILE, Ledger


class _Draft(Ledger):
    """A ledger that nobody relies on before it is complete: its steps need not be on disk one by one.

    A thousand steps, each waited for, take a minute on a slow disk.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._db.execute("PRAGMA synchronous = OFF")


def copied(store: Reader, folder: Path) -> None:
    """All steps of a store as the ledger of a state folder, on disk when this returns."""
    ledger = _Draft(folder)
    try:
        for entry in store.entries():
            ledger.append(entry.event, entry.decision)
    finally:
        ledger.close()
    file = os.open(folder / LEDGER_FILE, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
