"""WKLD-A of the paper in small (facts, section 7.1): the points A to E can be seen, and again after any change."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fawkes import engine
from fawkes.core.state.state import State, evolve
from fawkes.core.values.decision import PutJob
from fawkes.core.values.effects import Host
from fawkes.core.values.events import Event
from fawkes.core.values.model import JobLife, Role
from fawkes.policy import compile_policy
from tests.support.pools import Checked, policy, request, run, settings, sizes, started, submit

NODES = 10


def workload(name: str) -> list[Event]:
    """Three MR-clusters of 2 core nodes on 10 nodes; c-3 gets more work, so that it is alone in the end."""
    events: list[Event] = [started(NODES, policy=policy(name), how=settings(policy=name.upper(), idle_us=20_000_000))]
    for cluster, at_s, jobs in (("c-1", 1, 9), ("c-2", 12, 9), ("c-3", 65, 30)):
        events.append(request(cluster, at_s))
        events += [submit(cluster, number, at_s + 1, tasks=8, task_s=10) for number in range(jobs)]
    return sorted(events, key=lambda event: event.at_us)


@pytest.fixture(scope="module", params=["jd", "td"])
def played(request: pytest.FixtureRequest) -> Checked:
    return run(workload(request.param), 1500)


def times(played: Checked, code: str, cluster: str) -> list[float]:
    return [at_s for at_s, facts in played.reasons(code) if facts.get("cluster") == cluster]


def holdings(played: Checked) -> Iterator[tuple[float, dict[str, int]]]:
    """How many nodes each MR-cluster held after each step."""
    state = State()
    for entry in played.store.entries():
        evolve(state, entry.event.at_us, entry.decision.changes)
        yield entry.event.at_us / 1e6, sizes(state)


def most(played: Checked, cluster: str, before_s: float = 10**9) -> int:
    return max(held.get(cluster, 0) for at_s, held in holdings(played) if at_s < before_s)


@pytest.mark.slow
def test_a_the_first_two_get_their_minimums_from_idle_nodes(played: Checked) -> None:
    (first,), (second,) = times(played, "admitted", "c-1"), times(played, "admitted", "c-2")
    assert first == 1
    # c-2 arrives while c-1 is still brought up, and nobody shrinks for it.
    assert second == 12 < times(played, "loaded", "c-1")[0]
    assert not [at_s for at_s, _ in played.reasons("shrink") if at_s <= second]
    assert not [at_s for at_s, _ in played.reasons("shrink-to-admit") if at_s <= second]


def test_b_the_first_gets_all_other_nodes_while_the_second_loads(played: Checked) -> None:
    loaded = times(played, "loaded", "c-2")[0]
    before = [held for at_s, held in holdings(played) if at_s < loaded]
    assert max(held.get("c-1", 0) for held in before) == NODES - 2
    assert all(held.get("c-2", 2) == 2 for held in before)


def test_c_the_first_shrinks_for_the_minimum_of_the_third(played: Checked) -> None:
    gave = [facts for at_s, facts in played.reasons("shrink-to-admit") if facts["newcomer"] == "c-3"]
    assert len(gave) == 2
    request_s, admitted = 65, times(played, "admitted", "c-3")[0]
    assert request_s < admitted <= request_s + 20, "within T"


def test_d_the_first_shrinks_for_the_share_of_the_second(played: Checked) -> None:
    active = times(played, "loaded", "c-2")[0]
    assert [at_s for at_s in times(played, "shrink", "c-1") if at_s > active]
    assert [at_s for at_s in times(played, "grow", "c-2") if at_s > active]


def test_e_the_third_grows_to_all_when_the_others_are_gone(played: Checked) -> None:
    gone = max(times(played, "gone", "c-1")[0], times(played, "gone", "c-2")[0])
    assert most(played, "c-3", before_s=gone) < NODES
    after = [held for at_s, held in holdings(played) if at_s > gone and set(held) == {"c-3"}]
    assert max(held["c-3"] for held in after) == NODES


def test_all_jobs_succeed_once_and_all_nodes_are_free_again(played: Checked) -> None:
    ended = [
        change.state.life
        for entry in played.store.entries()
        for change in entry.decision.changes
        if isinstance(change, PutJob) and change.state.finished_us is not None
    ]
    assert ended == [JobLife.SUCCEEDED] * 48
    assert set(played.world.starts.values()) == {1}
    assert played.state.counts.free == NODES
    assert not played.state.clusters


def test_nodes_that_grow_are_transient(played: Checked) -> None:
    assert {facts["role"] for _, facts in played.reasons("grow")} == {Role.TRANSIENT}


def test_each_move_has_a_reason_and_each_tick_a_verdict(played: Checked) -> None:
    ticks = [facts for _, facts in played.reasons("tick")]
    assert [facts["tick"] for facts in ticks] == list(range(1, len(ticks) + 1))
    assert {"unbalanced", "no-weights"} <= {facts["verdict"] for facts in ticks}
    for entry in played.store.entries():
        codes = {reason.code for reason in entry.decision.reasons}
        hosts = [effect for effect in entry.decision.effects if isinstance(effect, Host)]
        assert not hosts or codes & {"grow", "shrink", "drained", "saved", "asked-again"}, entry


def test_it_decides_the_same_again(played: Checked) -> None:
    assert list(engine.replay(played.store.entries(), compile_policy)) == []
