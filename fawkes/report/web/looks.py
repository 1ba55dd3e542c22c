"""Answers of the page, made ready by one thread: however many ask, the ledger is read once."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fawkes.base.errors import FawkesError, UserError
from fawkes.base.units import SECOND_US
from fawkes.core.deciding.ruling import ALIVE_US
from fawkes.core.values.decision import PutClock, PutClosing, PutCluster, PutPause, PutRules
from fawkes.core.values.model import ClusterLife, ClusterState, NodeId, NodeState
from fawkes.engine.ports import Entry
from fawkes.report import history
from fawkes.report.tables.board import board
from fawkes.report.tables.explain import Explanation, as_plain, explain_cluster, explain_node
from fawkes.report.tables.explain_job import explain_job
from fawkes.report.tables.explain_quota import curves
from fawkes.report.tables.headlines import headlines, trouble_lines
from fawkes.report.tables.node_rows import node_row
from fawkes.report.tables.rows import Due, Row, job_row, pool_row
from fawkes.report.tables.waste_rows import cluster_rows
from fawkes.report.web.course import MOST_ENDED, PoolCourse
from fawkes.report.web.metrics import Seen, metrics_text
from fawkes.store.base import CLUSTER, JOB, NODE, SAMPLE, TICK, Latest, Reader, Telling, place
from fawkes.store.lock import holder
from fawkes.store.quotas import QuotaReader
from fawkes.store.record import to_plain
from fawkes.store.sqlite import LEDGER_FILE, LedgerReader
from fawkes.store.steps import looking

STEPS_AT_ONCE = 1_000
"""Steps of a long ledger that are read before the page hears how far that is."""
ASK_EVERY_US = 5 * SECOND_US
"""Between two questions to the controller: whether it decides."""

_KEPT = (NODE, CLUSTER, SAMPLE, TICK, *(each.__name__ for each in (PutRules, PutPause, PutClock, PutClosing)))
_EXPLAIN: dict[str, Callable[[Reader, str], Explanation]] = {"node": explain_node, "cluster": explain_cluster}


@dataclass(frozen=True, slots=True)
class PageLook:
    """The answers of a moment: ``state`` as JSON, ``metrics`` as Prometheus reads them.

    ``seq`` is the last step that is in them, ``stale`` says why they may be old (empty: they are not). ``reading``: the
    history is being read.
    """

    seq: int = 0
    state: bytes = b'{"reading": 0, "of": null}'
    metrics: bytes = b""
    stale: str = ""
    reading: bool = True


class _Remembering(LedgerReader):
    """It reads what there is once, and then follows: of MR-clusters and jobs there are ever more."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._now: dict[str, dict[str, Latest]] = {}
        try:
            with looking(self._db):
                self._now = {kind: {row.subject: row for row in self.latest(kind)} for kind in _KEPT}
                self.due = Due(self)
                self.counts = Seen(self.last_seq(), history.last_us(self), history.nodes(self))
        except BaseException:
            self.close()
            raise
        self._let_go()

    def latest(self, kind: str, telling: Telling | None = None) -> list[Latest]:
        """The latest changes, as those of the ledger; of MR-clusters that are gone the newest only."""
        rows = self._now.get(kind)
        return super().latest(kind, telling) if rows is None else [row for _, row in sorted(rows.items())]

    def follow(self, entry: Entry) -> None:
        """One more step; each has to come once, in the order of the ledger."""
        self.counts.follow(entry)
        for change in entry.decision.changes:
            kind, subject = place(change)
            if kind in self._now:
                self._now[kind][subject] = Latest(subject, entry.seq, change)
            elif kind == JOB:
                self.due.read(subject, to_plain(change))
        if any(isinstance(change, PutCluster) for change in entry.decision.changes):
            self._let_go()

    def _let_go(self) -> None:
        gone = [state for state in history.clusters(self) if state.life is ClusterLife.GONE]
        for state in sorted(gone, key=lambda state: (state.since_us, state.id))[:-MOST_ENDED]:
            del self._now[CLUSTER][state.id]
            self._now[SAMPLE].pop(state.id, None)


class Watcher:
    """Reads the ledger of a state folder step by step, all in one thread: the ledger's file belongs to it.

    ``idle`` asks a controller that is alive why it decides nothing (empty: it decides): its ledger cannot say that.
    The history is read when it is ``wanted``: what there is now, and the metrics, do not need it.
    """

    def __init__(
        self,
        folder: Path,
        now_us: Callable[[], int] = lambda: time.time_ns() // 1000,
        idle: Callable[[], str] = lambda: "",
    ) -> None:
        self._folder = folder
        self._now_us = now_us
        self._idle = idle
        self._asked_us, self._why_idle = 0, ""
        self._reader: _Remembering | None = None
        self.wanted = False
        self._course = PoolCourse()
        self._look = PageLook()
        self._rows: dict[NodeId, tuple[NodeState, ClusterState | None, Row]] = {}
        self._now: dict[str, Any] = {}
        self._curves = (-1, b"")
        self._seq = (-1, -1)
        self._file = -1

    def look(self) -> PageLook:
        """The newest look; the one before when nothing has happened. FawkesError when the ledger cannot be read."""
        reader = self._opened()
        for entry in reader.entries(reader.counts.seq):
            reader.follow(entry)
            if self._course.seq == entry.seq - 1:
                self._course.follow(entry)
        last = reader.counts.seq
        if self.wanted and self._course.seq < last:
            for entry in reader.entries(self._course.seq, last=min(last, self._course.seq + STEPS_AT_ONCE)):
                self._course.follow(entry)
        stale, read = self._stale(reader), self._course.seq
        if (self._seq, stale) != ((last, read), self._look.stale):
            if self._seq[0] != last:
                self._now = self._boards(reader)
            self._seq, self._look = (last, read), self._made(reader, stale)
        return self._look

    def course(self) -> bytes:
        """The curves up to the newest look, as JSON; made when they are asked for."""
        if self._curves[0] != self._course.seq:
            self._curves = self._course.seq, _json(self._course.plain())
        return self._curves[1]

    def explain(self, of: str, name: str, end_s: float = float("inf")) -> dict[str, Any]:
        """The reason why a node, an MR-cluster or a job is as it is; UserError for what the ledger does not know.

        Of a job under quotas there are ``curves`` as well. It may be called in another thread: its readers are its own.
        TimeoutError when it is not known at ``end_s`` of the monotonic clock.
        """
        if of != "job" and of not in _EXPLAIN:
            raise UserError(f"{of!r} cannot be explained", hint=f"There are: {', '.join(_EXPLAIN)}, job")

        def late() -> bool:
            return time.monotonic() > end_s

        try:
            with closing(LedgerReader(self._folder)) as ledger, closing(QuotaReader(self._folder)) as quotas:
                ledger.ends(late)
                quotas.ends(late)
                if of != "job":
                    return as_plain(_EXPLAIN[of](ledger, name))
                courses = quotas.courses(name, *history.span(ledger, name))
                return as_plain(explain_job(ledger, name, courses=courses)) | {"curves": curves(courses)}
        except FawkesError:
            if late():
                raise TimeoutError from None
            raise

    def close(self) -> None:
        """Give the file back."""
        if self._reader is not None:
            self._reader.close()
            self._reader = None

    def _opened(self) -> _Remembering:
        """The ledger; from its beginning when another one has taken the place of the file."""
        try:
            file = (self._folder / LEDGER_FILE).stat().st_ino
        except OSError:
            file = -1
        if self._reader is None or file != self._file:
            self.close()
            self._course, self._file, self._seq, self._curves = PoolCourse(), file, (-1, -1), (-1, b"")
            self._reader = _Remembering(self._folder)
        return self._reader

    def _stale(self, reader: LedgerReader) -> str:
        """The reason why what is shown may be old; a simulated run never is, because it is over."""
        if history.simulated(reader):
            return ""
        held = holder(self._folder)
        if held is None:
            return "No controller is running for this site. What is shown is its last word"
        now_us = self._now_us()
        if now_us - max(held.alive_us, held.since_us) > ALIVE_US:
            return f"The controller ({held}) gives no sign of life. What is shown may be old"
        # The clock of the machine may be set back.
        if abs(now_us - self._asked_us) >= ASK_EVERY_US:
            self._asked_us, self._why_idle = now_us, self._idle()
        return self._why_idle and f"{self._why_idle}. What is shown may be old"

    def _boards(self, reader: _Remembering) -> dict[str, Any]:
        """The rows of the pool, MR-clusters and nodes, and what `fawkes status` says above and below them.

        Rows of nodes that are as they were are not made again.
        """
        clusters = {state.id: state for state in history.clusters(reader)}
        rows = {}
        for state in history.nodes(reader):
            owner = None if state.owner is None else clusters.get(state.owner)
            known = self._rows.get(state.node.id)
            same = known is not None and known[0] is state and known[1] is owner
            rows[state.node.id] = known if known is not None and same else (state, owner, node_row(state, owner))
        self._rows = rows
        pool, shown = pool_row(reader, reader.due), board(reader, "clusters")
        return {
            "pool": pool,
            "clusters": shown,
            "nodes": [row for _, _, row in rows.values()],
            "headlines": headlines(pool),
            "troubles": {row["cluster"]: trouble_lines([row]) for row in shown},
        }

    def _made(self, reader: _Remembering, stale: str) -> PageLook:
        boards, course, last = self._now, self._course, reader.counts.seq
        text = metrics_text(boards["pool"], boards["clusters"], boards["nodes"], reader.counts, stale=bool(stale))
        if course.seq < last:
            state = {"reading": course.seq, "of": last, "stale": stale, **boards}
            return PageLook(course.seq, _json(state), text, stale, reading=self.wanted)
        state = {
            "seq": course.seq,
            "stale": stale,
            "simulated": boards["pool"]["simulated"],
            **boards,
            "waste": cluster_rows(course.waste),
            "jobs": [job_row(job) for job in course.newest_jobs()],
            "job_count": course.job_count,
            "moves": course.shown(course.moves),
            "steps": course.shown(course.steps),
        }
        return PageLook(course.seq, _json(state), text, stale, reading=False)


def _json(value: object) -> bytes:
    return json.dumps(value, allow_nan=False, separators=(",", ":")).encode()


def trouble(error: FawkesError) -> bytes:
    """The state that the page gets while the ledger cannot be read."""
    return _json({"trouble": str(error)})
