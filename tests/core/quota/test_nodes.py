"""Whole nodes among MR-clusters by the same policies, and no move that is soon turned back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fawkes.core.fairness.targets import Bounds
from fawkes.core.quota.loop import step
from fawkes.core.quota.nodes import LatestMove, NodeNeeds, settled, settling_s, share_nodes, tell_nodes
from fawkes.core.quota.sight import ApplicationSeen, LoopState, PeriodLook
from fawkes.core.quota.values import Claim, Parameters, QuotaRules
from fawkes.core.values.model import ClusterId, NodeId
from tests.core.quota.support import NAMES, quota
from tests.core.quota.test_loop import App, goal, stage

POLICIES = {name: quota(name) for name in NAMES}


def cluster(name: str, requested: float, left_s: float | None = None, least: int = 1) -> Claim:
    return Claim(id=name, requested=requested, most=20, left_s=left_s, least=least)


@pytest.mark.parametrize(
    ("name", "nodes"),
    [
        ("edf_all", {"a": 13, "b": 1, "c": 2}),
        ("edf_pure", {"a": 10, "b": 4, "c": 2}),
        ("proportional", {"a": 5, "b": 4, "c": 7}),
    ],
)
def test_more_nodes_are_requested_than_there_are(name: str, nodes: dict[str, int]) -> None:
    claims = [cluster("a", 10, 50), cluster("b", 8, 60), cluster("c", 12, 70, least=2)]
    assert share_nodes(claims, 16, POLICIES[name]) == nodes


def test_enough_nodes_are_given_as_requested() -> None:
    assert share_nodes([cluster("a", 2.2), cluster("b", 0, least=2)], 16, POLICIES["edf_all"]) == {"a": 3, "b": 2}


@st.composite
def clusters_of(draw: st.DrawFn) -> list[Claim]:
    return [
        Claim(
            id=f"c{place}",
            requested=draw(st.floats(0, 30)),
            most=draw(st.integers(3, 30)),
            left_s=draw(st.none() | st.floats(-100, 1000)),
            rate=draw(st.none() | st.floats(1, 1e7)),
            weight=draw(st.floats(0, 1)),
            least=draw(st.integers(0, 3)),
        )
        for place in range(draw(st.integers(1, 5)))
    ]


@given(st.sampled_from(NAMES), clusters_of(), st.integers(15, 40))
def test_minimums_are_kept_and_all_nodes_are_given_under_contention(name: str, claims: list[Claim], nodes: int) -> None:
    given = share_nodes(claims, nodes, POLICIES[name])
    assert all(claim.least <= given[claim.id] <= claim.most for claim in claims)
    assert sum(given.values()) <= nodes
    wanted = sum(min(claim.most, max(claim.least, claim.requested)) for claim in claims)
    if wanted >= nodes:
        assert sum(given.values()) == nodes


def test_minimums_beyond_the_pool_are_kept_all_the_same() -> None:
    claims = [cluster("a", 5, least=5), cluster("b", 5, least=5)]
    assert share_nodes(claims, 8, POLICIES["proportional"]) == {"a": 5, "b": 5}


BOUNDS = {name: Bounds(1, 16) for name in "abc"}


def rested(
    targets: dict[str, int], held: dict[str, int], last: dict[str, LatestMove], nodes: int = 16
) -> dict[str, int]:
    return settled(targets, held, last, now_s=100, settle_s=60, nodes=nodes, bounds=BOUNDS)


@pytest.mark.parametrize(
    ("last", "after"),
    [
        ({}, {"a": 4, "b": 12}),
        ({"a": LatestMove(50, 2)}, {"a": 8, "b": 8}),
        ({"a": LatestMove(50, -2)}, {"a": 4, "b": 12}),
        ({"a": LatestMove(40, 2)}, {"a": 4, "b": 12}),
        ({"b": LatestMove(50, -2)}, {"a": 4, "b": 8}),
    ],
)
def test_no_move_is_turned_back_before_it_has_settled(last: dict[str, LatestMove], after: dict[str, int]) -> None:
    assert rested({"a": 4, "b": 12}, {"a": 8, "b": 8}, last) == after


@pytest.mark.parametrize(("nodes", "after"), [(20, {"a": 8, "b": 11}), (16, {"a": 7, "b": 9})])
def test_a_node_too_many_stays_while_nobody_waits_for_it(nodes: int, after: dict[str, int]) -> None:
    targets = {"a": 7, "b": 11 if nodes == 20 else 9}
    assert rested(targets, {"a": 8, "b": 8}, {}, nodes) == after


def test_a_minimum_wins_over_rest() -> None:
    assert rested({"a": 15, "b": 1}, {"a": 16, "b": 0}, {"a": LatestMove(90, 3)}) == {"a": 15, "b": 1}


@given(st.data())
def test_resting_gives_no_more_nodes_than_there_are(data: st.DataObject) -> None:
    counts = st.fixed_dictionaries({name: st.integers(1, 5) for name in "abc"})
    targets, held = data.draw(counts), data.draw(counts)
    moves = st.builds(LatestMove, st.floats(0, 100), st.integers(-3, 3))
    last = data.draw(st.dictionaries(st.sampled_from("abc"), moves))
    after = rested(targets, held, last)
    assert sum(after.values()) <= 16
    assert all(
        min(held[each], targets[each]) <= count <= max(held[each], targets[each]) for each, count in after.items()
    )
    for each, move in last.items():
        if 100 - move.at_s < 60:
            assert (after[each] - held[each]) * move.nodes >= 0


ONE = {ClusterId(name): Bounds(1, 16) for name in "abc"}
CORES: Mapping[NodeId, float | None] = {NodeId("n1"): 4.0, NodeId("n2"): 4.0}


def room_of(due_s: Mapping[str, float], cores: Mapping[NodeId, float | None] = CORES) -> LoopState:
    """An application of 40,000 records at 100 a second and core in each MR-cluster: 400 core seconds."""
    seen: list[ApplicationSeen] = []
    for name, due in due_s.items():
        app = App(goal(stage("0 a"), job=name, due_s=due)).seen()
        seen.append(replace(app, goal=replace(app.goal, cluster=ClusterId(name))))
    return step(LoopState(), PeriodLook(at_us=0, seen=tuple(seen), nodes=cores), quota("edf_pure"), QuotaRules()).room


def told(due_s: Mapping[str, float], pool: int, policy: str = "edf_pure", before: NodeNeeds | None = None) -> NodeNeeds:
    return tell_nodes(before or NodeNeeds(), room_of(due_s), CORES, ONE, pool, quota(policy), 60.0, 0)


@pytest.mark.parametrize(
    ("pool", "policy", "nodes"),
    [
        (16, "edf_pure", {"a": 5, "b": 3, "c": 0}),
        (6, "edf_pure", {"a": 4, "b": 1, "c": 0}),
        (6, "proportional", {"a": 3, "b": 2, "c": 0}),
    ],
)
def test_mr_clusters_get_what_their_plans_need_or_their_shares(pool: int, policy: str, nodes: dict[str, int]) -> None:
    """400 core seconds in 20 and in 40 s are 20 and 10 cores: 5 and 3 nodes; c, without jobs, keeps its minimum."""
    assert told({"a": 20, "b": 40}, pool, policy).nodes == nodes


def test_nothing_is_divided_while_a_need_is_not_known() -> None:
    room = room_of({"a": 20, "b": 40})
    known = {NodeId("n1"): 4.0}
    before = NodeNeeds({ClusterId("a"): 2}, {ClusterId("a"): LatestMove(0, 2)})
    assert tell_nodes(before, room, known, ONE, 6, quota("edf_pure"), 60.0, 0) == NodeNeeds(
        {ClusterId("a"): None, ClusterId("b"): None, ClusterId("c"): 0}, before.last
    )


def test_an_mr_cluster_that_grew_is_not_told_to_shrink_before_it_has_settled() -> None:
    grown = told({"a": 20, "b": 40}, 6, before=NodeNeeds({ClusterId("a"): 2, ClusterId("b"): 3}))
    assert {c: move.nodes for c, move in grown.last.items()} == {"a": 2, "b": -2}
    turned = told({"a": 40, "b": 20}, 6, before=grown)
    assert turned.nodes == grown.nodes
    later = replace(grown, last={c: LatestMove(-100.0, move.nodes) for c, move in grown.last.items()})
    assert told({"a": 40, "b": 20}, 6, before=later).nodes == {"a": 1, "b": 4, "c": 0}


def test_the_jobs_of_an_mr_cluster_that_ended_leave_no_rest() -> None:
    grown = told({"a": 20, "b": 40}, 6, before=NodeNeeds({ClusterId("a"): 2, ClusterId("b"): 3}))
    assert told({"b": 40}, 6, before=grown).nodes == {"a": 0, "b": 1, "c": 0}


def test_settling_is_a_join_and_five_response_times() -> None:
    assert settling_s(Parameters(pole=0.5), 20.0) == pytest.approx(20 + 5 * 3.1623, abs=1e-3)
    assert settling_s(Parameters(), None) > settling_s(Parameters(), 1.0)
