"""Random stories of MR-clusters with second NameNodes: jobs succeed once, and one node's death loses no write."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace
from random import Random

import pytest

from fawkes import engine
from fawkes.base.units import SECOND_US
from fawkes.core.values.events import Event, Progress, Requested
from fawkes.core.values.model import ClusterId, JobLife, NodeId, Promise
from fawkes.policy import compile_policy
from fawkes.sim.engines import Engine
from fawkes.sim.events.steps import Loss
from fawkes.sim.world import SimWorld
from fawkes.store.record import decision_plain, dumps
from tests.sim.masters.test_masters_stories import ACTED_S, MODELS, NODES, REPAIRED_S, UNTIL_S, events, lives, losses
from tests.support.pools import Checked, settings, started

SEEDS = int(os.environ.get("FAWKES_STANDBY_SEEDS", "20"))


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


def played(seed: int, model: Engine = "readable", *, one_at_a_time: bool = False) -> Checked:
    """The story of a seed, played to its end; owners and invariants are looked at after each step."""
    chance = Random(f"standby {seed}")
    how = settings(
        masters_lost_us=chance.choice((5, 20, 60)) * SECOND_US,
        copy_gap_us=3600 * SECOND_US,
        standby_us=chance.choice((5, 30)) * SECOND_US,
        journal_us=Random(f"journal {seed}").choice((0, 20, 600)) * SECOND_US,
        spare_masters=True,
        stale_us=30 * SECOND_US,
        quarantine_us=60 * SECOND_US,
        join_us=30 * SECOND_US,
        clean_us=20 * SECOND_US,
        deploy_us=60 * SECOND_US,
        membership_us=10 * SECOND_US,
        start_job_us=20 * SECOND_US,
    )
    world = SimWorld(until_us=UNTIL_S * SECOND_US, engine=model)
    world.script([started(NODES, how=how), *map(with_second, events(chance))])
    for loss in singly(chance) if one_at_a_time else losses(chance):
        world.suffer(loss)
    run = Checked(world)
    run.run()
    return run


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
    given_up = {facts["cluster"] for _, facts in run.reasons("gave-up")}
    served = {job: life for job, life in lives(run).items() if job.split("-")[0] not in given_up}
    assert set(served.values()) <= {JobLife.SUCCEEDED}, served
    ends = [end for cluster in run.world.clusters.values() for end in cluster.ended.items()]
    good = Counter(job for (job, _), end in ends if end.progress is Progress.SUCCEEDED)
    assert set(good.values()) <= {1}, good
    assert set(run.world.starts.values()) <= {1}, run.world.starts
    assert list(engine.replay(run.store.entries(), compile_policy)) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(SEEDS))
def test_one_node_at_a_time_takes_nothing_that_was_acknowledged(seed: int) -> None:
    run = played(seed, one_at_a_time=True)
    served_once(run)
    assert [facts["lacks_us"] for _, facts in run.reasons("masters-moved") if facts["lacks_us"]] == []
    assert run.reasons("standby-given-up") == []
    assert [facts for _, facts in run.reasons("masters-moved") if facts["missing"]] == []
    assert not_whole(run) == {}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(SEEDS))
def test_every_job_is_served_once_whatever_befalls_nodes(seed: int) -> None:
    run = played(seed)
    served_once(run)
    assert not_whole(run) == {}
    assert run.world.now_us > REPAIRED_S * SECOND_US


def test_the_stories_have_what_they_are_about() -> None:
    codes = Counter(
        reason.code for seed in range(6) for entry in played(seed).store.entries() for reason in entry.decision.reasons
    )
    assert {"masters-move", "masters-moved", "standby-ready", "standby-arm", "standby-armed"} <= set(codes)
    assert {"standby-given-up", "journal-wanted", "journal-begin", "journal-begun"} <= set(codes)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_both_models_tell_the_same_stories(seed: int) -> None:
    ledgers = [
        [(entry.event.at_us, dumps(decision_plain(entry.decision))) for entry in played(seed, model).store.entries()]
        for model in MODELS
    ]
    assert ledgers[0] == ledgers[1]
