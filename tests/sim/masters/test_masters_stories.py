"""Random stories in which masters' nodes die, again and again: each node has one owner, each job one good end.

With a second NameNode the death of one node at a time loses no write.
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace
from functools import cache
from random import Random

import pytest
from _pytest.mark import ParameterSet

from fawkes import engine
from fawkes.base.units import SECOND_US
from fawkes.core.values.decision import PutJob
from fawkes.core.values.events import DrainAsked, Event, MoveMastersAsked, Progress, Requested, UndrainAsked
from fawkes.core.values.model import ClusterId, JobId, JobLife, NodeId, Promise
from fawkes.policy import compile_policy
from fawkes.sim.engines import Engine
from fawkes.sim.events.steps import Loss
from fawkes.sim.world import SimWorld
from fawkes.store.record import text_of
from tests.support.pools import Checked, request, settings, started, submit

SEEDS = int(os.environ.get("FAWKES_MASTERS_SEEDS", "20"))
STANDBY_SEEDS = int(os.environ.get("FAWKES_STANDBY_SEEDS", "20"))
#: seeds from here on are played at night
BY_DAY = 2
ACTED_S = 600
REPAIRED_S = 900
UNTIL_S = 3600
NODES = 9
NAMES = ("a", "b")


def by_day(count: int) -> list[ParameterSet]:
    """So many seeds, the first of which `make test` plays."""
    return [pytest.param(seed, marks=pytest.mark.nightly if seed >= BY_DAY else ()) for seed in range(count)]


def losses(chance: Random) -> list[Loss]:
    """Nodes that lose their power, most of them those of masters; all are repaired in the end, some of them empty."""
    found = []
    for _ in range(chance.randint(1, 4)):
        at_us = chance.randint(30 * SECOND_US, ACTED_S * SECOND_US)
        back_us = at_us + chance.choice((2, 15, 31, 45, 52, 60, 200)) * SECOND_US
        if chance.random() < 0.3:
            back_us = REPAIRED_S * SECOND_US
        emptied = chance.random() < 0.3
        if chance.random() < 0.75:
            found.append(Loss(NodeId(""), at_us, back_us, masters_of=ClusterId(chance.choice(NAMES)), emptied=emptied))
        else:
            node = NodeId(f"node{chance.randint(1, NODES):02d}")
            found.append(Loss(node, at_us, back_us, emptied=emptied))
    return found


def events(chance: Random) -> list[Event]:
    """Two MR-clusters with core nodes to spare, jobs all the time, moves that are asked for, and drains."""
    found: list[Event] = [
        request(name, 1 + chance.randint(0, 20), minimum=chance.choice((3, 4)), max_running_jobs=chance.randint(1, 3))
        for name in NAMES
    ]
    for name in NAMES:
        for number in range(chance.randint(2, 8)):
            at_s, tasks, task_s = chance.randint(25, ACTED_S), chance.choice((1, 4, 12)), chance.choice((2, 10, 40))
            found.append(submit(name, number, at_s, tasks=tasks, task_s=task_s, retries=chance.randint(0, 2)))
    for number in range(chance.randint(0, 2)):
        at_us, cluster = chance.randint(40, ACTED_S) * SECOND_US, ClusterId(chance.choice(NAMES))
        now = chance.random() < 0.5
        found.append(MoveMastersAsked(at_us=at_us, cluster=cluster, now=now, by="test", ask=f"move-{number}"))
    if chance.random() < 0.4:
        node, at_s = NodeId(f"node{chance.randint(1, 4):02d}"), chance.randint(40, ACTED_S)
        found += [DrainAsked(at_us=at_s * SECOND_US, node=node, reason="test")]
        found += [UndrainAsked(at_us=(at_s + 100) * SECOND_US, node=node)]
    return sorted(found, key=lambda event: event.at_us)


def singly(chance: Random) -> list[Loss]:
    """One node at a time loses its power or its disk, and is back long before the next one does."""
    found, at_s = [], 60
    while at_s < ACTED_S:
        back_us = (at_s + chance.choice((2, 15, 31, 45, 60))) * SECOND_US
        emptied = chance.random() < 0.5
        if chance.random() < 0.6:
            masters_of = ClusterId(chance.choice(("a", "b")))
            found.append(Loss(NodeId(""), at_s * SECOND_US, back_us, masters_of=masters_of, emptied=emptied))
        else:
            node = NodeId(f"node{chance.randint(1, NODES):02d}")
            found.append(Loss(node, at_s * SECOND_US, back_us, emptied=emptied))
        at_s += 300 + chance.randint(0, 60)
    return found


def with_second(event: Event) -> Event:
    """A request for an MR-cluster asks for a second NameNode as well."""
    if not isinstance(event, Requested):
        return event
    return replace(event, spec=replace(event.spec, masters=Promise.STANDBY, replication=2))


@cache
def played(seed: int, model: Engine = "readable", *, second: bool = False, one_at_a_time: bool = False) -> Checked:
    """The story of a seed, played to its end; owners and invariants are looked at after each step."""
    chance = Random(f"{'standby' if second else 'masters'} {seed}")
    changes: dict[str, object] = {
        "masters_lost_us": chance.choice((5, 20, 60)) * SECOND_US,
        "copy_gap_us": (3600 if second else 60) * SECOND_US,
        "spare_masters": True,
        "stale_us": 30 * SECOND_US,
        "quarantine_us": 60 * SECOND_US,
        "join_us": 30 * SECOND_US,
        "clean_us": 20 * SECOND_US,
        "deploy_us": 60 * SECOND_US,
        "membership_us": 10 * SECOND_US,
        "start_job_us": 20 * SECOND_US,
    }
    if second:
        changes["standby_us"] = chance.choice((5, 30)) * SECOND_US
        changes["journal_us"] = Random(f"journal {seed}").choice((0, 20, 600)) * SECOND_US
    world = SimWorld(until_us=UNTIL_S * SECOND_US, engine=model)
    script = events(chance)
    world.script([started(NODES, how=settings(**changes)), *(map(with_second, script) if second else script)])
    for loss in singly(chance) if one_at_a_time else losses(chance):
        world.suffer(loss)
    run = Checked(world)
    run.run()
    return run


def lives(run: Checked) -> dict[JobId, JobLife]:
    """The life of each job at the end."""
    changes = [change for entry in run.store.entries() for change in entry.decision.changes]
    return {change.state.id: change.state.life for change in changes if isinstance(change, PutJob)}


def not_whole(run: Checked) -> dict[ClusterId, object]:
    """The MR-clusters whose second NameNode or journal is not whole, or that the ledger takes for something else."""
    found: dict[ClusterId, object] = {}
    for name, cluster in run.state.clusters.items():
        pair = run.world.masters.second.pairs.get(name)
        if (pair is None) != (cluster.standby is None):
            found[name] = (pair, cluster.standby)
        elif pair is not None and cluster.standby is not None:
            same = pair.standby.journal == cluster.standby.journal
            if pair.sight() != (cluster.standby.node, True, "") or not cluster.standby.ready or not same:
                found[name] = (pair, cluster.standby)
    return found


def served_once(run: Checked) -> None:
    """Each job has succeeded once, and each attempt was begun once at most."""
    # One that loses its masters while it loads is given up, and its jobs with it.
    given_up = {facts["cluster"] for _, facts in run.reasons("gave-up")}
    served = {job: life for job, life in lives(run).items() if job.split("-")[0] not in given_up}
    assert set(served.values()) <= {JobLife.SUCCEEDED}, served
    ends = [end for cluster in run.world.clusters.values() for end in cluster.ended.items()]
    good = Counter(job for (job, _), end in ends if end.progress is Progress.SUCCEEDED)
    assert set(good.values()) <= {1}, good
    assert set(run.world.starts.values()) <= {1}, run.world.starts
    assert list(engine.replay(run.store.entries(), compile_policy)) == []


def codes(*, second: bool) -> set[str]:
    """The reasons that some stories give."""
    entries = (entry for seed in range(6) for entry in played(seed, second=second).store.entries())
    return {reason.code for entry in entries for reason in entry.decision.reasons}


@pytest.mark.slow
@pytest.mark.parametrize("seed", by_day(SEEDS))
def test_every_job_is_served_once_whatever_befalls_masters(seed: int) -> None:
    served_once(played(seed, second=False))


@pytest.mark.slow
@pytest.mark.parametrize("seed", by_day(STANDBY_SEEDS))
def test_one_node_at_a_time_takes_nothing_that_was_acknowledged(seed: int) -> None:
    run = played(seed, second=True, one_at_a_time=True)
    served_once(run)
    assert [facts["lacks_us"] for _, facts in run.reasons("masters-moved") if facts["lacks_us"]] == []
    assert run.reasons("standby-given-up") == []
    assert [facts for _, facts in run.reasons("masters-moved") if facts["missing"]] == []
    assert not_whole(run) == {}


@pytest.mark.slow
@pytest.mark.parametrize("seed", by_day(STANDBY_SEEDS))
def test_every_job_is_served_once_whatever_befalls_nodes(seed: int) -> None:
    run = played(seed, second=True)
    served_once(run)
    assert not_whole(run) == {}
    assert run.world.now_us > REPAIRED_S * SECOND_US


@pytest.mark.slow
def test_the_stories_have_what_they_are_about() -> None:
    assert codes(second=False) >= {"masters-move", "masters-moved", "displaced"}
    told = codes(second=True)
    assert told >= {"masters-move", "masters-moved", "standby-ready", "standby-arm", "standby-armed"}
    assert told >= {"standby-given-up", "journal-wanted", "journal-begin", "journal-begun"}


@pytest.mark.slow
@pytest.mark.parametrize("second", [False, True])
@pytest.mark.parametrize("seed", by_day(3))
def test_both_models_tell_the_same_stories(seed: int, second: bool) -> None:
    runs = (played(seed, second=second), played(seed, model="compiled", second=second))
    first, other = [[(e.event.at_us, text_of(e.decision)) for e in run.store.entries()] for run in runs]
    assert first == other
