"""The checks of the show of moving nodes, on the ledger of the same jobs in the simulated world."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from bench.deadline_jobs import Row
from bench.need import MIX, POLICY, URGENT, Seen, checks, document, moves, offline
from fawkes.core.values.decision import PutLearned
from fawkes.core.values.model import Reason
from fawkes.engine.ports import Entry
from fawkes.store.base import Reader
from fawkes.store.memory import MemoryStore


@cache
def ledger() -> Reader:
    return offline()


ROWS = (Row(POLICY, URGENT, "tight-1", "met", 3, 3, 60.0),)


def twice(entry: Entry) -> Entry:
    """A step that admits, and that learns, twice."""
    more = [reason for reason in entry.decision.reasons if reason.code == "job-admitted"]
    again = [change for change in entry.decision.changes if isinstance(change, PutLearned)]
    decision = entry.decision
    reasons: tuple[Reason, ...] = (*decision.reasons, *more)
    return replace(entry, decision=replace(decision, reasons=reasons, changes=(*decision.changes, *again)))


def test_offline_every_check_holds() -> None:
    assert {name for name, holds in checks(ledger(), ROWS).items() if not holds} == set()


def test_a_job_that_is_admitted_or_learned_from_twice_is_noticed() -> None:
    store = MemoryStore()
    for entry in map(twice, ledger().entries()):
        store.append(entry.event, entry.decision)
    failed = {name for name, holds in checks(store, ROWS).items() if not holds}
    assert failed == {"no job was admitted twice", "each job was learned from once"}


@pytest.mark.parametrize(("at_once", "holds"), [(3, True), (4, False), (None, True)])
def test_more_tasks_than_granted_are_noticed(at_once: int | None, holds: bool) -> None:
    verdicts = checks(ledger(), [replace(ROWS[0], at_once=at_once)])
    assert verdicts["no job ran more tasks at once than it was granted"] is holds


def test_moves_have_their_reasons() -> None:
    lines = moves(ledger())
    assert lines
    assert all(line.count("|") == 7 for line in lines)
    text = document(Seen(ROWS, lines, {"tight-6": "Job tight-6 waits"}, {"holds": False}))
    assert lines[0] in text
    assert "| holds | NO |" in text


def test_the_jobs_come_in_the_order_of_their_times() -> None:
    assert [plan.at_s for plan in MIX] == sorted(plan.at_s for plan in MIX)
