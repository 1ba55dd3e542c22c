"""The judgement if masters may go to another node, on the facts of a look at them (`effects.LookAtMasters`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fawkes.core.jobs.displaced import rows
from fawkes.core.masters import journal, masters_to, standby
from fawkes.core.state.draft import Draft
from fawkes.core.values.effects import LookAtMasters
from fawkes.core.values.model import ClusterLife, ClusterState, Facts, MastersMove, MoveCause, NodeId, NodeLife
from fawkes.core.values.tags import is_copy

#: how the old masters were seen when they cannot serve any more once they are stopped
_STOPPABLE = frozenset({"stopped", "runs"})
_NAMED = 5


def at_work(facts: Facts) -> list[str]:
    """The applications that hold a planned move, by id; those that copy data for Fawkes do not."""
    found = facts.get("applications")
    if not isinstance(found, Sequence) or isinstance(found, str):
        return ["which ones is not known"]
    return [str(row.get("id") if isinstance(row, Mapping) else row) for row in found if not is_copy(row)][:_NAMED]


def objection(draft: Draft, cluster: ClusterState, moving: MastersMove, effect: LookAtMasters, facts: Facts) -> str:
    """The reason why the masters must not be moved on these facts; empty when they may.

    A second NameNode that follows has everything, and shuts the old one out of the journal, stopped or not. It is
    waited for before anything else is tried.

    Stopped masters whose disk is there lose nothing. A copy may lack the last moments before they were silent, and
    masters that nobody can stop have lost their MR-cluster only when most nodes that store data are reached.
    """
    old = facts.get("old")
    follows = standby.may_take_over(cluster, effect.to, facts)
    if moving.planned:
        if old != "answers":
            return "its masters do not answer"
        if moving.cause is MoveCause.JOURNAL:
            return journal.objection(draft, cluster, facts)
        return "" if follows or cluster.standby is None else "its second NameNode cannot take over"
    if follows and moving.cause is not MoveCause.RESTORE:
        return ""
    if cluster.standby is not None and moving.cause is not MoveCause.RESTORE and not _waited(draft, moving):
        return "its second NameNode cannot take over yet"
    if moving.cause is not MoveCause.RESTORE and (heir := _heir(draft, cluster, effect)):
        return f"its second NameNode on {heir} follows, and is waited for"
    if old not in _STOPPABLE and old != "silent":
        return "it is not known whether they still run"
    if old in _STOPPABLE and facts.get("image") is True and not moving.unreadable:
        return _why_not_of_disk(draft, cluster, moving, facts)
    return _why_no_copy(draft, cluster, moving, facts)


def _why_not_of_disk(draft: Draft, cluster: ClusterState, moving: MastersMove, facts: Facts) -> str:
    """The reason why stopped masters must not be moved with what is on their disk; empty when they may."""
    if not standby.is_ahead(cluster):
        return ""
    if moving.cause is not MoveCause.RESTORE and standby.journal_answers(cluster, facts):
        return f"they can read the journal, and are waited for. Without them: `fawkes restore {cluster.id}`"
    return _why_no_copy(draft, cluster, moving, facts)


def _heir(draft: Draft, cluster: ClusterState, effect: LookAtMasters) -> NodeId | None:
    """The node of a second NameNode that follows, as far as is known, and that this was no look at; else None.

    It has everything. A look at it that did not end says nothing of it.
    """
    second = cluster.standby
    if second is None or not second.ready or second.node in (None, effect.to):
        return None
    fit = [n.node.id for n in draft.nodes_of(cluster.id) if n.life is NodeLife.SERVING and not n.kept_out]
    return second.node if second.node in fit else None


def never_copied(draft: Draft, cluster: ClusterState, moving: MastersMove, effect: LookAtMasters, facts: Facts) -> bool:
    """True if what lost masters knew is nowhere: their disk is seen to be empty, nothing was copied, and it is loading.

    What users wrote meanwhile cannot come back by waiting. A disk that may come back is waited for.
    """
    empty = facts.get("old") in _STOPPABLE and facts.get("image") is False
    loads = cluster.life is ClusterLife.LOADING and moving.cause is MoveCause.LOST
    return empty and loads and objection(draft, cluster, moving, effect, facts) == _no_copy(cluster, moving)


def _no_copy(cluster: ClusterState, moving: MastersMove) -> str:
    return f"there is no copy of their data. {masters_to.if_gone(cluster, moving.old)}"


def _why_no_copy(draft: Draft, cluster: ClusterState, moving: MastersMove, facts: Facts) -> str:
    """The reason why a copy of what they knew must not be taken; empty when it may."""
    copied_us = facts.get("copied_us")
    if not isinstance(copied_us, int):
        return _no_copy(cluster, moving)
    if moving.cause is MoveCause.RESTORE:
        return ""
    gap_us = moving.since_us - copied_us
    if gap_us > draft.settings.copy_gap_us:
        seconds = gap_us // 1_000_000
        return f"the copy of their data is {seconds} s older than their last answer: `fawkes restore {cluster.id}`"
    if facts.get("old") == "silent" and not _most_reached(draft, cluster, moving, facts):
        return (
            "their node does not answer, nor do most of the others that store data: they may still serve these. "
            f"If they do not: `fawkes restore {cluster.id}`"
        )
    return ""


def _waited(draft: Draft, moving: MastersMove) -> bool:
    """True if masters were lost for as long as they are waited for: a second NameNode may be about to follow.

    What it has is more than a copy has, and the copy ends the journal.
    """
    patience_us = draft.settings.masters_lost_us
    return bool(patience_us) and draft.at_us - moving.since_us >= patience_us


def _most_reached(draft: Draft, cluster: ClusterState, moving: MastersMove, facts: Facts) -> bool:
    reached = rows(facts, "reached")
    others = [n.node.id for n in draft.nodes_of(cluster.id) if n.stores and n.node.id != moving.old]
    return 2 * sum(name in reached for name in others) > len(others)
