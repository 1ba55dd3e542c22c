"""Contents of a record that is taken from a ledger: the jobs, and those that are skipped, with the reason."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from fawkes.base.errors import UserError
from fawkes.base.units import SECOND_US
from fawkes.core.values.decision import Decision, PutCluster, PutJob
from fawkes.core.values.events import PolicyText, ReleaseAsked, Started, Woke
from fawkes.core.values.model import ClusterId, ClusterLife, ClusterSpec, ClusterState, JobId, JobLife, JobState, Reason
from fawkes.core.values.settings import Settings
from fawkes.offline.record.span import recorded_span, span_of
from fawkes.store.memory import MemoryStore
from tests.offline.record.support import run, sleep_job
from tests.support.pools import nodes

POLICY = PolicyText("TD", "td.py", "", "0")


def started(at_s: int, **settings: Any) -> Started:
    return Started(
        at_us=at_s * SECOND_US, version="1", pool="p", epoch=1, controller="", settings=Settings(**settings),
        nodes=(), policy=POLICY,
    )  # fmt: skip


def job(name: str, life: JobLife, at_s: int, took_s: int | None = 10, **more: Any) -> PutJob:
    begun = at_s * SECOND_US
    state = JobState(spec=sleep_job(name, "c"), life=life, submitted_us=begun, started_us=begun)
    return PutJob(replace(state, finished_us=None if took_s is None else begun + took_s * SECOND_US, **more))


def store_of(*steps: tuple[Any, tuple[Any, ...]]) -> MemoryStore:
    store = MemoryStore()
    for event, changes in steps:
        store.append(event, Decision(changes=changes))
    return store


def woke(at_s: int, *changes: Any) -> tuple[Any, tuple[Any, ...]]:
    return Woke(at_us=at_s * SECOND_US), changes


CLUSTER = PutCluster(ClusterState(spec=ClusterSpec(id=ClusterId("c"), min_nodes=2), life=ClusterLife.RUNNING))


def test_only_jobs_that_succeeded_are_kept() -> None:
    store = store_of(
        (started(0), (CLUSTER,)),
        woke(1, job("good", JobLife.SUCCEEDED, 1), job("bad", JobLife.FAILED, 1, why="exit 3")),
        woke(2, job("ours", JobLife.CANCELLED, 2), job("long", JobLife.RUNNING, 2, None)),
        woke(99, job("twice", JobLife.SUCCEEDED, 3, attempt=2)),
    )
    recorded = recorded_span(store, span_of(store))
    assert [kept.id for kept in recorded.jobs] == ["good", "twice"]
    assert recorded.left_out == {
        "job bad": "failed: exit 3",
        "job ours": "cancelled",
        "job long": "running: it had not ended",
    }
    assert "twice was tried 2 times; its last attempt counts" in recorded.notes


def test_jobs_that_were_ended_for_their_deadline_are_kept_where_their_tasks_are_known() -> None:
    jar = {"kind": "jar", "jar": "/a.jar"}
    unknown = job("unknown", JobLife.DROPPED, 4, 0)
    store = store_of(
        (started(0), (CLUSTER,)),
        woke(1, job("good", JobLife.SUCCEEDED, 1)),
        woke(2, job("dropped", JobLife.DROPPED, 2, 0, stop=Reason("hopeless"))),
        woke(3, job("killed", JobLife.KILLED, 3, 5)),
        woke(4, PutJob(replace(unknown.state, spec=replace(unknown.state.spec, details=jar), why="too late"))),
    )
    recorded = recorded_span(store, span_of(store))
    assert [kept.id for kept in recorded.jobs] == ["good", "dropped", "killed"]
    assert recorded.left_out == {"job unknown": "dropped: too late"}


def test_a_span_keeps_what_was_submitted_in_it() -> None:
    store = store_of(
        (started(0), (CLUSTER,)),
        woke(10, job("early", JobLife.SUCCEEDED, 10)),
        woke(20, job("late", JobLife.SUCCEEDED, 20)),
        woke(30, job("later", JobLife.SUCCEEDED, 30)),
    )
    recorded = recorded_span(store, span_of(store, 15 * SECOND_US, 25 * SECOND_US))
    assert [kept.id for kept in recorded.jobs] == ["late"]
    assert (recorded.span.first_seq, recorded.span.last_seq) == (3, 3)
    assert "c existed before the span; an offline run requests it when the span begins" in recorded.notes
    assert "jobs that were submitted before the span and ran on into it are skipped (1)" in recorded.notes


@pytest.mark.parametrize(
    ("life", "kept"), [(ClusterLife.RUNNING, True), (ClusterLife.SAVING, False), (ClusterLife.RETIRING, False)]
)
def test_a_cluster_that_is_being_given_back_when_the_span_begins_is_left_out(life: ClusterLife, kept: bool) -> None:
    """Offline it would hold its nodes until it has been idle."""
    other = ClusterState(spec=ClusterSpec(id=ClusterId("other"), min_nodes=2), life=life)
    store = store_of(
        (started(0), (CLUSTER, PutCluster(other))),
        woke(20, job("late", JobLife.SUCCEEDED, 20)),
        woke(21, PutCluster(replace(other, life=ClusterLife.GONE, since_us=21 * SECOND_US))),
    )
    recorded = recorded_span(store, span_of(store, 15 * SECOND_US))
    assert [state.id for state in recorded.clusters] == (["c", "other"] if kept else ["c"])
    said = {} if kept else {"MR-cluster other": "it was already being released when the span began"}
    assert recorded.left_out == said


@pytest.mark.parametrize(
    "new",
    [{"settings": Settings(tau=2.0)}, {"nodes": nodes(2)}, {"preemption": replace(POLICY, sha256="1")}],
    ids=["settings", "nodes", "preemption"],
)
def test_the_rules_are_those_that_held_longest(new: dict[str, Any]) -> None:
    later = replace(started(10), **new)
    store = store_of((started(0), (CLUSTER,)), (later, ()), woke(100, job("one", JobLife.SUCCEEDED, 1)))
    recorded = recorded_span(store, span_of(store))
    assert recorded.rules == later
    assert "settings, policies or nodes changed during the span (other versions: 1)" in recorded.notes


def test_releases_by_hand_are_told() -> None:
    release = ReleaseAsked(at_us=5 * SECOND_US, cluster=ClusterId("c"))
    store = store_of((started(0), (CLUSTER,)), (release, ()), woke(9, job("one", JobLife.SUCCEEDED, 1)))
    assert recorded_span(store, span_of(store)).notes == (
        "c was released by hand; an offline run keeps it until it has been idle",
    )


def test_mr_clusters_that_were_gone_or_failed_are_left_out() -> None:
    gone = ClusterState(spec=ClusterSpec(id=ClusterId("old"), min_nodes=2), life=ClusterLife.GONE, since_us=1)
    failed = ClusterState(
        spec=ClusterSpec(id=ClusterId("bad"), min_nodes=2), life=ClusterLife.GONE, since_us=10**9, failed="no Java"
    )
    store = store_of(
        (started(0), (CLUSTER, PutCluster(gone), PutCluster(failed))), woke(9, job("one", JobLife.SUCCEEDED, 5))
    )
    recorded = recorded_span(store, span_of(store, 2 * SECOND_US))
    assert [cluster.id for cluster in recorded.clusters] == ["c"]
    assert recorded.left_out == {"MR-cluster bad": "it failed: no Java"}


def test_slots_are_those_of_the_readings() -> None:
    store = run()
    recorded = recorded_span(store, span_of(store))
    assert recorded.node_slots == 4
    assert {JobId("a-0"), JobId("b-5")} <= set(recorded.slots)
    assert all(4 <= slots <= 32 for slots in recorded.slots.values())


@pytest.mark.parametrize(
    ("since_s", "until_s", "says"), [(200, None, "no step"), (None, 0, "no step"), (11, 13, "no job was submitted")]
)
def test_a_span_without_jobs_is_refused(since_s: int | None, until_s: int | None, says: str) -> None:
    store = store_of((started(0), (CLUSTER,)), woke(9, job("one", JobLife.SUCCEEDED, 5)), woke(12), woke(20))
    us = [None if at is None else at * SECOND_US for at in (since_s, until_s)]
    with pytest.raises(UserError, match=says):
        recorded_span(store, span_of(store, *us))


def test_jobs_that_all_failed_are_refused() -> None:
    store = store_of((started(0), (CLUSTER,)), woke(9, job("one", JobLife.FAILED, 5)))
    with pytest.raises(UserError, match="none of the 1 jobs succeeded"):
        recorded_span(store, span_of(store))
    with pytest.raises(UserError, match="no step"):
        span_of(MemoryStore())
