"""Answers of the page, made ready by one thread: however many ask, the ledger is read once."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fawkes.base.errors import FawkesError, UserError
from fawkes.core.deciding.ruling import ALIVE_US
from fawkes.report import history
from fawkes.report.tables.board import board
from fawkes.report.tables.explain import Explanation, as_plain, explain_cluster, explain_node
from fawkes.report.tables.explain_job import explain_job
from fawkes.report.tables.rows import job_row
from fawkes.report.web.course import Course
from fawkes.report.web.metrics import metrics_text
from fawkes.store.base import Reader
from fawkes.store.lock import holder
from fawkes.store.sqlite import LEDGER_FILE, LedgerReader

STEPS_AT_ONCE = 2_000
"""Steps of a long ledger that are read before the page hears how far that is."""

_EXPLAIN: dict[str, Callable[[Reader, str], Explanation]] = {
    "node": explain_node,
    "cluster": explain_cluster,
    "job": explain_job,
}


@dataclass(frozen=True, slots=True)
class Look:
    """The answers of a moment: ``state`` and ``course`` as JSON, ``metrics`` as Prometheus reads them.

    ``seq`` is the last step that is in them, ``stale`` says why they may be old (empty: they are not). ``reading``: the
    ledger was not read to its end yet.
    """

    seq: int = 0
    state: bytes = b'{"reading": 0, "of": null}'
    course: bytes = b"{}"
    metrics: bytes = b""
    stale: str = ""
    reading: bool = True


class Watcher:
    """Reads the ledger of a state folder step by step, all in one thread: the ledger's file belongs to it."""

    def __init__(self, folder: Path, now_us: Callable[[], int] = lambda: time.time_ns() // 1000) -> None:
        self._folder = folder
        self._now_us = now_us
        self._reader: LedgerReader | None = None
        self._course = Course()
        self._look = Look()
        self._seq = -1
        self._file = -1

    def look(self) -> Look:
        """The newest look; the one before when nothing has happened. FawkesError when the ledger cannot be read."""
        reader = self._opened()
        last = reader.last_seq()
        for count, entry in enumerate(reader.entries(self._course.seq), start=1):
            self._course.follow(entry)
            if count == STEPS_AT_ONCE:
                break
        stale = self._stale(reader)
        if self._course.seq < last:
            reading = {"reading": self._course.seq, "of": last}
            return Look(seq=self._course.seq, state=_json(reading), stale=stale)
        if (self._seq, stale) != (self._course.seq, self._look.stale):
            self._seq = self._course.seq
            self._look = self._made(reader, stale)
        return self._look

    def explain(self, of: str, name: str) -> dict[str, Any]:
        """Why a node, an MR-cluster or a job is as it is; UserError for what the ledger does not know."""
        if of not in _EXPLAIN:
            raise UserError(f"{of!r} cannot be explained", hint=f"There are: {', '.join(_EXPLAIN)}")
        return as_plain(_EXPLAIN[of](self._opened(), name))

    def close(self) -> None:
        """Give the file back."""
        if self._reader is not None:
            self._reader.close()
            self._reader = None

    def _opened(self) -> LedgerReader:
        """The ledger; from its beginning when another one has taken the place of the file."""
        try:
            file = (self._folder / LEDGER_FILE).stat().st_ino
        except OSError:
            file = -1
        if self._reader is None or file != self._file:
            self.close()
            self._course, self._file = Course(), file
            self._reader = LedgerReader(self._folder)
        return self._reader

    def _stale(self, reader: LedgerReader) -> str:
        """Why what is shown may be old; a simulated run never is, because it is over."""
        if history.simulated(reader):
            return ""
        held = holder(self._folder)
        if held is None:
            return "No controller is running for this site. What is shown is its last word"
        silent_us = self._now_us() - max(held.alive_us, held.since_us)
        if silent_us > ALIVE_US:
            return f"The controller ({held}) gives no sign of life. What is shown may be old"
        return ""

    def _made(self, reader: LedgerReader, stale: str) -> Look:
        pool, clusters, nodes = board(reader, "pool")[0], board(reader, "clusters"), board(reader, "nodes")
        course = self._course
        state = {
            "seq": course.seq,
            "stale": stale,
            "simulated": pool["simulated"],
            "pool": pool,
            "clusters": clusters,
            "nodes": nodes,
            "jobs": [job_row(job) for job in course.newest_jobs()],
            "job_count": course.job_count,
            "moves": list(course.moves),
            "steps": list(course.steps),
        }
        text = metrics_text(pool, clusters, nodes, course, stale=bool(stale))
        return Look(course.seq, _json(state), _json(course.plain()), text, stale, reading=False)


def _json(value: object) -> bytes:
    return json.dumps(value, allow_nan=False, separators=(",", ":")).encode()


def trouble(error: FawkesError) -> bytes:
    """The state that the page gets while the ledger cannot be read."""
    return _json({"trouble": str(error)})
