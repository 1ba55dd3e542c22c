"""Counts of nodes that left the MR-clusters of a ledger: the preemptions that Fawkes itself makes."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from fawkes.report import history

if TYPE_CHECKING:
    from fawkes.store.base import Reader


def moved_rows(store: Reader) -> list[dict[str, Any]]:
    """A row for each MR-cluster and reason code with the nodes that left for it.

    A ledger has no tasks by node, so the tasks that were lost are None, which is "not known".
    """
    left = [move for move in history.moves(store) if move.source]
    counts = Counter((move.source, str(move.reasons[0].code)) for move in left)
    again = Counter((source, code) for (source, code, _), count in Counter(
        (move.source, str(move.reasons[0].code), move.node) for move in left
    ).items() if count > 1)  # fmt: skip
    return [
        {"cluster": source, "code": code, "left_nodes": count, "again_nodes": again[source, code], "killed_tasks": None}
        for (source, code), count in sorted(counts.items())
    ]
