"""The rows of `fawkes status`, `nodes` and `jobs`, for who may read the ledger and for who asks a controller."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from fawkes.base.errors import UserError
from fawkes.report import history
from fawkes.report.tables.explain_job import left_us
from fawkes.report.tables.rows import Row, cluster_rows, job_row, node_rows, pool_row, seconds, standby_rows
from fawkes.store.base import Reader


def _job_rows(store: Reader, *, ended: bool = True) -> list[Row]:
    """Each job with the time that is left to its deadline, as of now or of the end of a simulated run."""
    now_us = history.now_us(store)
    return [{**job_row(state), "left_s": seconds(left_us(state, now_us))} for state in history.jobs(store, ended=ended)]


#: what there is to ask for
BOARDS: Mapping[str, Callable[[Reader], list[Row]]] = {
    "pool": lambda store: [pool_row(store)],
    "clusters": cluster_rows,
    "nodes": node_rows,
    "jobs": _job_rows,
    "jobs-there": partial(_job_rows, ended=False),
    "standby": standby_rows,
}


def board(store: Reader, of: str) -> list[dict[str, Any]]:
    """The rows of one of `BOARDS`; UserError for another name."""
    if of not in BOARDS:
        raise UserError(f"there are no rows of {of!r}", where="of", hint=f"There are: {', '.join(BOARDS)}")
    return BOARDS[of](store)
