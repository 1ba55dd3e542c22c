"""The names in a ledger, for the completion of a shell: at once, or none; nothing else of the store is imported."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

_LEDGER = "ledger.sqlite"
_PATIENCE_S = 0.1


def names(state: Path, kind: str) -> list[str]:
    """The names of a kind (``node``, ``cluster`` or ``job``), the newest first.

    None are found without a ledger, and in one that cannot be read now: whoever presses a key wants no error.
    """
    uri = f"{(state / _LEDGER).absolute().as_uri()}?mode=ro"
    query = "SELECT subject FROM latest WHERE kind = ? ORDER BY seq DESC"
    try:
        with closing(sqlite3.connect(uri, uri=True, timeout=_PATIENCE_S)) as ledger:
            return [str(name) for (name,) in ledger.execute(query, (kind,))]
    except sqlite3.Error:
        return []
