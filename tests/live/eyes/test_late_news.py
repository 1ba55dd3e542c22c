"""Late news and young masters: what a watch tells first, what again, and which reports have a node's own blocks."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from fawkes.base.units import SECOND_US
from fawkes.core.values.effects import Goal, Member
from fawkes.core.values.events import NodeSeen
from fawkes.core.values.model import Role
from fawkes.core.values.proof import Proof, not_proven
from tests.live.eyes.test_watch import (
    DOUBT_S,
    END,
    IN,
    LEAVING,
    LEFT,
    MASTER,
    MISSING_S,
    WORKER,
    Bench,
    bench,
    file_of,
    known,
    server,
)
from tests.live.masters_server import JMX, Server, says

__all__ = ["bench", "server"]


@pytest.mark.parametrize("up_min", [0, 1000])
def test_a_report_of_a_namenode_that_has_begun_anew_has_the_nodes_own_blocks_only_after_it_listed_them(
    bench: Bench, up_min: int
) -> None:
    """The NameNode tells the minutes since then; of one that never did, those since its machine was started."""
    bench.look()
    bench.wish(Goal.EVACUATING)
    bench.hdfs(IN, LEAVING, NNStartedTimeInMillis=7, Uptime=5_000)
    bench.worker(lastBlockReport=up_min)
    bench.report = file_of("/x").replace("Live_repl=0", "MISSING!") + END
    (first,) = bench.seen()
    assert (known(first).known, known(first).has_own, known(first).missing) == (True, False, ("/x",))
    bench.hdfs(IN, LEAVING, NNStartedTimeInMillis=7, Uptime=65_000)
    bench.worker(lastBlockReport=up_min + 1)
    assert [known(sight).known for sight in bench.seen(after_s=60)] == [False]
    bench.worker(lastBlockReport=0)
    bench.report = file_of("/x", 2) + END
    (second,) = bench.seen()
    assert (known(second).has_own, known(second).missing, known(second).at_risk) == (True, (), ("/x",))
    bench.worker(lastBlockReport=1)
    assert ([known(sight).known for sight in bench.seen(after_s=60)], bench.reports()) == ([False], 2)
    # It is dead to the NameNode, and back: what it has is not listed until it has told of it again.
    bench.hdfs(IN, None, NNStartedTimeInMillis=7, Uptime=130_000)
    assert [known(sight).has_own for sight in bench.seen(after_s=1)] == [False]
    bench.hdfs(IN, LEFT, NNStartedTimeInMillis=7, Uptime=131_000)
    bench.worker(lastBlockReport=1)
    assert [known(sight).has_own for sight in bench.seen(after_s=1)] == [False]


def test_what_another_node_is_missing_at_is_told_when_it_has_changed(bench: Bench) -> None:
    """It died while its peer was late; when that is heard from again, nothing is lost."""
    bench.wish(Goal.EVACUATING)
    bench.hdfs(IN, None)
    bench.report = file_of("/a", 1) + END
    live = json.loads(bench.bean["LiveNodes"])
    live["node01:9866"]["lastContact"] = 15
    bench.server.answers[JMX] = says({"beans": [bench.bean | {"LiveNodes": json.dumps(live)}]})
    (held,) = bench.seen()
    assert not_proven(held, Proof(()), since_us=0) == "no healthy node has /a"
    bench.hdfs(IN, None)
    (safe,) = bench.seen(after_s=1)
    assert not_proven(safe, Proof(()), since_us=0) == ""


def test_news_of_others_does_not_wait_for_a_report(server: Server) -> None:
    bench = Bench(server)
    bench.members = {**bench.members, MASTER: Member(Goal.EVACUATING, Role.CORE, 1)}
    bench.list_again()
    bench.hdfs(LEFT, IN)
    bench.fsck_takes_s = 60
    told = {e.node: e.at_us - e.sight.asked_us for e in bench.look() if isinstance(e, NodeSeen)}
    assert told == {MASTER: 60 * SECOND_US, WORKER: 0}


@pytest.mark.parametrize(("goal", "wait_s"), [(Goal.SERVING, MISSING_S), (Goal.DRAINING, DOUBT_S)])
def test_a_missing_node_is_told_of_again_when_that_has_lasted_and_ever_less_often(
    server: Server, goal: Goal, wait_s: int
) -> None:
    bench = Bench(server)
    bench.wish(goal)
    bench.yarn(node01="RUNNING")
    (first,) = bench.seen()
    again = [s.asked_us - first.asked_us for _ in range(5 * wait_s) for s in bench.seen(after_s=1)]
    assert again == [times * wait_s * SECOND_US for times in (1, 2, 4)]
    bench.yarn(node01="RUNNING", node02="RUNNING")
    assert len(bench.seen()) == 1
    assert bench.seen(after_s=10 * wait_s) == []


@pytest.mark.parametrize(("goal", "wait_s"), [(Goal.SERVING, 5), (Goal.DRAINING, 7)])
def test_a_reload_changes_how_long_a_node_is_missing_before_it_is_told_of_again(
    server: Server, goal: Goal, wait_s: int
) -> None:
    bench = Bench(server)
    bench.wish(goal)
    bench.yarn(node01="RUNNING")
    bench.seen()
    bench.rules = replace(bench.rules, missing_us=5 * SECOND_US, doubt_us=7 * SECOND_US)
    assert bench.seen(after_s=wait_s - 1) == []
    assert len(bench.seen(after_s=1)) == 1
