"""Membership documents: constant in the ledger, complete in the world."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import pytest

from fawkes.core.clusters.picture import picture, restored
from fawkes.core.deciding.invariants import unsound
from fawkes.core.state.members import in_full
from fawkes.core.state.state import State, evolve
from fawkes.core.values.decision import Decision, PutPending
from fawkes.core.values.effects import Goal, Member, Membership
from fawkes.core.values.events import Condition
from fawkes.core.values.model import ClusterId, NodeId, NodeLife, Role
from fawkes.engine.ports import Entry
from fawkes.store.record import decision_of, loads, text_of
from tests.support.desk import Desk, grown
from tests.support.pools import nodes, started

A = ClusterId("a")


def one_leaves(desk: Desk) -> Decision:
    """One node begins to leave: the MR-cluster's membership changes."""
    desk.see("node03", Condition.LOST, "no answer")
    return desk.last


def stored_bytes(desk: Desk) -> int:
    """The bytes that a step stores when one node leaves."""
    return len(text_of(one_leaves(desk)))


def test_what_is_stored_of_a_change_of_members_does_not_grow_with_the_members() -> None:
    assert stored_bytes(grown(Role.TRANSIENT, 10)) == stored_bytes(grown(Role.TRANSIENT, 90))


@pytest.mark.slow
def test_what_is_pending_does_not_hold_the_members() -> None:
    small, large = grown(Role.TRANSIENT, 10), grown(Role.TRANSIENT, 90)
    for desk in (small, large):
        one_leaves(desk)
    sizes = [len(text_of(desk.state.pending["membership:a"])) for desk in (small, large)]
    assert sizes[0] == sizes[1]


def test_the_world_gets_the_document_in_full() -> None:
    desk = grown(Role.TRANSIENT, 10)
    one_leaves(desk)
    (document,) = desk.members()
    transient = {NodeId(f"node{n:02d}"): Member(Goal.SERVING, Role.TRANSIENT, 1, 0) for n in range(4, 11)}
    core = {NodeId(f"node{n:02d}"): Member(Goal.SERVING, Role.CORE, 1, 0) for n in (1, 2)}
    assert document.members == core | transient
    assert document.version == desk.state.clusters[A].version


def test_a_document_says_how_long_tasks_may_run_on() -> None:
    desk = Desk.running("a", count=4, transient_leave_us=30_000_000)
    desk.up("b", 1)
    desk.tick(a=100, b=0)
    desk.settle("a")
    desk.tick(a=0, b=100)
    (document,) = [d for d in desk.members() if d.cluster == A]
    assert document.members[NodeId("node04")] == Member(Goal.DRAINING, Role.TRANSIENT, 1, 30_000_000)


def test_a_new_engine_tells_every_master_its_members_in_full() -> None:
    desk = grown(Role.TRANSIENT, 6)
    one_leaves(desk)
    new = Desk(6, state=restored(picture(desk.state)))
    (document,) = new.members()
    assert sorted(document.members) == ["node01", "node02", "node04", "node05", "node06"]


def test_a_ledger_whose_documents_name_their_members_is_still_read_and_taken_over() -> None:
    desk = grown(Role.TRANSIENT, 6)
    one_leaves(desk)
    state = State()
    for entry in as_it_was(desk.store.entries()):
        evolve(state, entry.event.at_us, entry.decision.changes)
    pending = state.pending["membership:a"].effect
    assert isinstance(pending, Membership)
    assert len(pending.members) == 5
    assert (state.clusters, state.nodes) == (desk.state.clusters, desk.state.nodes)
    new = Desk(6, state=state)
    assert sorted(new.members()[0].members) == ["node01", "node02", "node04", "node05", "node06"]


def as_it_was(entries: Iterable[Entry]) -> Iterator[Entry]:
    """The steps as ledgers held them before: each document with its members."""
    state = State()
    for entry in entries:
        evolve(state, entry.event.at_us, entry.decision.changes)
        effects = in_full(state, entry.decision.effects)
        full = {effect.key: effect for effect in effects}
        changes = tuple(
            replace(change, effect=full[change.key]) if isinstance(change, PutPending) and change.effect else change
            for change in entry.decision.changes
        )
        old = replace(entry.decision, changes=changes, effects=effects)
        yield replace(entry, decision=decision_of(loads(text_of(old))))


def test_the_same_documents_are_decided_again() -> None:
    desk = grown(Role.TRANSIENT, 6)
    one_leaves(desk)
    assert desk.decided_otherwise() == []


def test_a_document_that_would_name_the_node_of_another_is_unsound() -> None:
    desk = grown(Role.TRANSIENT, 6)
    one_leaves(desk)
    decision = desk.last
    state = desk.state
    assert not any("as a member" in wrong for wrong in unsound(state, decision))
    state.nodes[NodeId("node05")] = replace(state.nodes[NodeId("node05")], owner=ClusterId("b"))
    assert "a would count node05 of b as a member" in unsound(state, decision)
    state.nodes[NodeId("node05")] = replace(state.nodes[NodeId("node05")], owner=None, life=NodeLife.FREE)
    assert "a would count node05 of None as a member" in unsound(state, decision)


def test_a_first_start_has_no_documents() -> None:
    desk = Desk(2)
    assert desk.members() == []
    assert desk.tell(started(2, nodes=nodes(3))).effects
