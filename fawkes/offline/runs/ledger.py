"""A store in memory as a ledger file, like that of a live run."""

from __future__ import annotations

import os
from pathlib import Path

from fawkes.store.base import Reader
from fawkes.store.sqlite import LEDGER_FILE, Ledger


def copied(store: Reader, folder: Path) -> None:
    """All steps of a store as the ledger of a state folder, on disk when this returns."""
    # A thousand steps, each waited for, take a minute on a slow disk.
    ledger = Ledger(folder, durable=False)
    try:
        with ledger.whole():
            for entry in store.entries():
                ledger.append(entry.event, entry.decision)
    finally:
        ledger.close()
    file = os.open(folder / LEDGER_FILE, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
