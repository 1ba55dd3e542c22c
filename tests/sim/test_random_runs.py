"""Random runs: whatever is asked and whatever fails, the invariants hold and everything comes to an end."""

from __future__ import annotations

import os
from collections import Counter
from copy import deepcopy
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings

from fawkes import engine
from fawkes.core.state.state import State, evolve
from fawkes.core.values.decision import Decision
from fawkes.core.values.events import Condition, Event, NodeObserved, NodesSeen, news_of
from fawkes.core.values.lifecycle import WITH_MASTERS
from fawkes.core.values.model import ClusterLife, ClusterState, JobLife, NodeId, NodeLife, Reason
from fawkes.policy import compile_policy
from fawkes.store.record import decision_of, loads, text_of
from tests.support.examples import examples
from tests.support.pools import Checked
from tests.support.scripts import Script, scripts

RUNS = int(os.environ.get("FAWKES_RANDOM_RUNS", examples(40)))
random_runs = settings(
    max_examples=RUNS,
    deadline=None,
    derandomize="FAWKES_RANDOM_RUNS" not in os.environ,
    suppress_health_check=list(HealthCheck),
    print_blob=True,
)

#: lives that must not last
PASSING_NODES = {NodeLife.JOINING, NodeLife.DRAINING, NodeLife.EVACUATING, NodeLife.CLEANING, NodeLife.LOST}
PASSING_CLUSTERS = {ClusterLife.DEPLOYING, ClusterLife.LOADING, ClusterLife.SAVING, ClusterLife.RETIRING}
PASSING_JOBS = {JobLife.STARTING, JobLife.CANCELLING, JobLife.RUNNING}
#: at one moment there is no more to decide than this
MOST_EVENTS_AT_ONCE = 300


class Careful(Checked):
    """An engine in whose world only replicas are destroyed only when nobody needs them any more."""

    def step(self, event: Event) -> Decision:
        """One turn, after a look at what was wiped right before."""
        news = news_of(event)
        for each in news:
            if isinstance(each, NodeObserved) and each.condition is Condition.CLEAN:
                self.wiped(each, self.world.destroyed[-len(news) :])
        return super().step(event)

    def wiped(self, event: NodeObserved, destroyed: list[NodeId]) -> None:
        """The node had the only replicas of something: its MR-cluster is over, or somebody gave them up."""
        state = self.state.nodes[event.node]
        owner = None if state.owner is None else self.state.clusters[state.owner]
        needed = owner is not None and owner.life in WITH_MASTERS and state.stores
        if needed and event.node in destroyed and state.life is NodeLife.CLEANING:
            assert state.discard, event


@pytest.mark.slow
@random_runs
@given(scripts())
def test_a_run_is_sound_and_ends(script: Script) -> None:
    run = script.play(Careful)
    everything_ended(run)
    every_question_has_one_answer(run, script)
    no_livelock(run)
    assert all(count == 1 for count in run.world.starts.values()), run.world.starts
    assert list(engine.replay(run.store.entries(), compile_policy)) == []
    for entry in run.store.entries():
        assert decision_of(loads(text_of(entry.decision))) == entry.decision


class Apart(Checked):
    """An engine that compares each decision on news of several nodes with those on each of the news by itself."""

    def step(self, event: Event) -> Decision:
        """One turn; the others are decided on a copy of the state."""
        if not isinstance(event, NodesSeen):
            return super().step(event)
        apart, reasons = deepcopy(self.state), list[Reason]()
        for news in event.seen:
            decision = self._loads.decide(apart, news)
            evolve(apart, news.at_us, decision.changes)
            reasons += decision.reasons
        together = super().step(event)
        assert list(together.reasons) == reasons
        assert (self.state.nodes, self.state.jobs) == (apart.nodes, apart.jobs)
        assert without_versions(self.state) == without_versions(apart)
        return together


def without_versions(state: State) -> list[ClusterState]:
    return [replace(cluster, version=0) for cluster in state.clusters.values()]


@pytest.mark.slow
@random_runs
@given(scripts())
def test_news_of_nodes_that_come_at_once_are_decided_as_each_by_itself(script: Script) -> None:
    """Only documents of members are fewer."""
    script.play(Apart)


def everything_ended(run: Checked) -> None:
    """An hour after the last action nothing is under way any more, and no job waits that could run."""
    state = run.state
    assert {n.node.id: n.life for n in state.nodes.values() if n.life in PASSING_NODES} == {}
    assert {c.id: c.life for c in state.clusters.values() if c.life in PASSING_CLUSTERS} == {}
    assert {j.id: j.life for j in state.jobs.values() if j.life in PASSING_JOBS} == {}
    for job in state.jobs.values():
        assert not state.clusters[job.cluster].active, f"{job.id} waits for ever"
    keys = {pending.key.partition(":")[0] for pending in state.pending.values()}
    assert keys <= {"tick", "back"}


def every_question_has_one_answer(run: Checked, script: Script) -> None:
    asks = [ask for event in script.events if (ask := getattr(event, "ask", ""))]
    assert Counter(reply.to for reply in run.world.replies) == Counter(asks)


def no_livelock(run: Checked) -> None:
    at_once = Counter(entry.event.at_us for entry in run.store.entries())
    assert max(at_once.values()) < MOST_EVENTS_AT_ONCE
