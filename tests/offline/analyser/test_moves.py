"""Nodes that left MR-clusters, counted from a ledger."""

from __future__ import annotations

from collections import Counter

from fawkes.offline.analyser.tables import moved_rows
from fawkes.report import history
from fawkes.store.memory import MemoryStore
from tests.report.played import filled, recorded


def test_each_node_that_left_is_counted_for_its_reason() -> None:
    store = filled(recorded())
    rows = moved_rows(store)
    left = Counter(move.source for move in history.moves(store) if move.source)
    assert left
    assert {name: sum(row["left_nodes"] for row in rows if row["cluster"] == name) for name in left} == left
    assert {row["killed_tasks"] for row in rows} == {None}
    assert [(row["cluster"], row["code"]) for row in rows] == sorted({(row["cluster"], row["code"]) for row in rows})
    again = Counter((move.source, move.reasons[0].code, move.node) for move in history.moves(store) if move.source)
    assert sum(row["again_nodes"] for row in rows) == sum(count > 1 for count in again.values())


def test_a_ledger_without_moves_has_no_rows() -> None:
    assert moved_rows(MemoryStore()) == []
