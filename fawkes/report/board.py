"""The rows of `fawkes status`, `nodes` and `jobs`, for who may read the ledger and for who asks a controller."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fawkes.errors import UserError
from fawkes.report import history
from fawkes.report.rows import Row, cluster_rows, job_row, node_rows, pool_row
from fawkes.store.base import Reader

#: what there is to ask for
BOARDS: Mapping[str, Callable[[Reader], list[Row]]] = {
    "pool": lambda store: [pool_row(store)],
    "clusters": cluster_rows,
    "nodes": node_rows,
    "jobs": lambda store: [job_row(state) for state in history.jobs(store)],
}


def board(store: Reader, of: str) -> list[dict[str, Any]]:
    """The rows of one of `BOARDS`; UserError for another name."""
    if of not in BOARDS:
        raise UserError(f"there are no rows of {of!r}", where="of", hint=f"There are: {', '.join(BOARDS)}")
    return BOARDS[of](store)
