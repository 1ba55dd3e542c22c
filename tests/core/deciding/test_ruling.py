"""The rule over a pool: the table of docs/decisions/who-rules.md, and laws for any leases."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fawkes.core.deciding.ruling import FolderStanding, KnownPool, LeaseSeen, alive, judge
from fawkes.core.values.model import NodeId

ONE, TWO = NodeId("node01"), NodeId("node02")
OWN = KnownPool(
    epoch=7, controller="us", generations={ONE: 3, TWO: 1}, starts=frozenset({(5, "before"), (2, "us"), (7, "us")})
)
ADOPTED = replace(OWN, starts=frozenset({(6, "adopts"), (7, "us")}), adopted=6)


def lease(node: NodeId = ONE, epoch: int = 7, controller: str = "us", generation: int = 3) -> LeaseSeen:
    return LeaseSeen(
        node=node, epoch=epoch, controller=controller, cluster="a" if generation else "", generation=generation
    )


@pytest.mark.parametrize(
    ("case", "known", "in_place", "leases", "standing"),
    [
        ("the true one restarts", OWN, True, [lease()], FolderStanding.RULES),
        ("its last start reached no node", OWN, True, [lease(epoch=5, controller="before")], FolderStanding.RULES),
        ("copied or moved", OWN, False, [lease()], FolderStanding.ELSEWHERE),
        ("copied before a later start", OWN, False, [lease(epoch=8, controller="they")], FolderStanding.BEHIND),
        ("a backup from before a start", OWN, True, [lease(epoch=8, controller="they")], FolderStanding.BEHIND),
        ("another one of the same epoch", OWN, True, [lease(controller="they")], FolderStanding.BEHIND),
        ("a backup from before a hand-over", OWN, True, [lease(generation=4)], FolderStanding.BEHIND),
        ("a node that it has never handed out", OWN, True, [lease(NodeId("new"), generation=1)], FolderStanding.BEHIND),
        ("an older hand-over of an earlier start", OWN, True, [lease(epoch=2, generation=9)], FolderStanding.RULES),
        ("an older start of another ledger", OWN, True, [lease(epoch=5, controller="they")], FolderStanding.STRANGER),
        ("the same from a copy", OWN, False, [lease(epoch=5, controller="they")], FolderStanding.STRANGER),
        ("a start before it was adopted", ADOPTED, True, [lease(epoch=5, controller="lost")], FolderStanding.RULES),
        ("another one since then", ADOPTED, True, [lease(epoch=6, controller="they")], FolderStanding.STRANGER),
        ("an empty folder, nodes that are held", None, True, [lease()], FolderStanding.EMPTY),
        ("an empty folder, a free node", None, True, [lease(generation=0)], FolderStanding.EMPTY),
        ("a new pool", None, True, [], FolderStanding.RULES),
        ("a copy of a pool that no node knows", OWN, False, [], FolderStanding.RULES),
        ("a lease that was repaired by hand", OWN, True, [lease(epoch=0, controller="hand")], FolderStanding.RULES),
    ],
)
def test_the_cases_of_the_record(
    case: str, known: KnownPool | None, in_place: bool, leases: list[LeaseSeen], standing: FolderStanding
) -> None:
    assert judge(known, in_place=in_place, leases=leases, all_answered=True).standing is standing, case


def test_a_new_pool_begins_while_nodes_are_off() -> None:
    assert judge(None, in_place=True, leases=[], all_answered=False).standing is FolderStanding.RULES


def test_a_node_of_another_controller_is_set_apart_beside_its_own() -> None:
    own, other = lease(), lease(TWO, epoch=4, controller="they")
    for in_place, standing in ((True, FolderStanding.RULES), (False, FolderStanding.ELSEWHERE)):
        verdict = judge(OWN, in_place=in_place, leases=[own, other], all_answered=True)
        assert (verdict.standing, verdict.leases, verdict.strangers) == (standing, (own,), (other,))


def test_a_copy_is_not_believed_because_no_node_answers() -> None:
    assert judge(OWN, in_place=False, leases=[], all_answered=False).standing is FolderStanding.ELSEWHERE


def test_a_sealed_ledger_starts_although_a_node_is_dead() -> None:
    assert judge(OWN, in_place=True, leases=[lease()], all_answered=False).standing is FolderStanding.RULES


def test_a_take_over_that_was_killed_before_it_was_stored_is_not_ahead_of_itself() -> None:
    known = KnownPool(epoch=7, controller="us", claimed=(8, "us-again"))
    begun = lease(TWO, epoch=8, controller="us-again", generation=1)
    assert judge(known, in_place=False, leases=[lease(generation=0), begun], all_answered=True) == judge(
        known, in_place=False, leases=[begun, lease(generation=0)], all_answered=True
    )
    verdict = judge(known, in_place=False, leases=[begun], all_answered=True)
    assert (verdict.standing, verdict.epoch) == (FolderStanding.ELSEWHERE, 9)
    assert judge(OWN, in_place=False, leases=[begun], all_answered=True).standing is FolderStanding.BEHIND


LEASES = st.lists(
    st.builds(
        lease,
        st.sampled_from([ONE, TWO, NodeId("node03")]),
        st.integers(0, 9),
        st.sampled_from(["us", "they"]),
        st.integers(0, 5),
    ),
    max_size=4,
)


@pytest.mark.slow
@given(LEASES, st.booleans(), st.booleans())
def test_who_may_start_is_above_every_lease_and_nobody_else_is_told_so(
    leases: list[LeaseSeen], in_place: bool, all_answered: bool
) -> None:
    verdict = judge(OWN, in_place=in_place, leases=leases, all_answered=all_answered)
    assert verdict.epoch > max([OWN.epoch, *(lease.epoch for lease in leases)])
    newer = [row for row in leases if row.epoch > OWN.epoch or (row.epoch, row.controller) == (OWN.epoch, "they")]
    if newer:
        assert verdict.standing is FolderStanding.BEHIND
    # A refused start changes nothing, so the next one is judged in the same way: as often as it is tried.
    assert judge(OWN, in_place=in_place, leases=leases, all_answered=all_answered) == verdict


@pytest.mark.parametrize(
    ("before", "after", "nodes"),
    [
        ({}, {}, []),
        ({ONE: "c 4"}, {ONE: "c 4"}, []),
        ({ONE: "c 4"}, {ONE: "c 5"}, [ONE]),
        ({ONE: "c 4"}, {}, []),
        ({}, {ONE: "c 5"}, []),
    ],
)
def test_a_controller_lives_where_its_beat_grows(
    before: dict[NodeId, str], after: dict[NodeId, str], nodes: list[NodeId]
) -> None:
    assert alive(before, after) == nodes
