"""Promises of MR-clusters for the loss of their masters' disk, and where each comes from, in words."""

from __future__ import annotations

from typing import Final

from fawkes.core.values.lifecycle import WITH_MASTERS
from fawkes.core.values.model import ClusterState, MoveCause, Promise
from fawkes.report.words.facts import fold

GIVEN_UP: Final = "kept (standby was given up)"
"""The promise of an MR-cluster that asked for a second NameNode, gave its journal up, and has no new one yet."""


def promise(state: ClusterState) -> str | None:
    """The cost of losing the masters' disk: ``kept`` the last seconds, ``standby`` nothing; None without masters.

    An MR-cluster whose masters came back from a copy has no journal until it gets a new one: that is `GIVEN_UP`.
    """
    if state.master is None:
        return None
    return GIVEN_UP if state.spec.masters is Promise.STANDBY and state.standby is None else state.spec.masters.value


def masters_in_words(state: ClusterState) -> list[str]:
    """The place where the masters of an MR-cluster are, and its second NameNode; nothing without masters."""
    if state.life not in WITH_MASTERS or state.master is None:
        return []
    lines = [f"Its masters are on {state.master}; promise: {promise(state)}"]
    standby = state.standby
    if state.moving is not None and state.moving.cause is MoveCause.JOURNAL:
        waits = "when no job and no application of a user runs. No job begins before that"
        return [*lines, f"Its NameNode starts again with a new journal{'' if state.moving.begun else f', {waits}'}"]
    if standby is None:
        return lines
    where = f"Its journal is on {fold(standby.journal)}; "
    if standby.node is None:
        return [*lines, f"{where}no node has the second NameNode"]
    if standby.node == state.master:
        return [*lines, f"{where}the second NameNode on {standby.node} is taking over"]
    able = "can take over" if standby.ready else "cannot take over now"
    return [*lines, f"{where}the second NameNode on {standby.node} {able}"]
