"""Explanations that an administrator would accept, of a run of the real engine."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import islice

import pytest

from fawkes.base.errors import UserError
from fawkes.core.state.state import NO_TICK
from fawkes.core.values.decision import Decision
from fawkes.core.values.events import Progress, Started, Woke
from fawkes.core.values.model import Reason
from fawkes.report.tables.explain import (
    Explanation,
    as_plain,
    explain_cluster,
    explain_last,
    explain_node,
    explain_tick,
    grouped,
)
from fawkes.store.base import Reader
from fawkes.store.memory import MemoryStore
from tests.report.played import filled
from tests.support.masters import look, lost, moved, run, up


def _texts(explanation: Explanation) -> list[str]:
    return [line.text for line in explanation.lines]


def test_a_tick_that_moved_nodes(played: Reader) -> None:
    explained = explain_tick(played, 3)
    assert explained.title == "Tick 3, 2023-11-14T22:14:20.000Z"
    assert _texts(explained) == [
        "Policy TD over the last 20 s; 10 nodes in service",
        "Global discrimination (raw) 97.8 against tau 1.11: the shares are off by 49.4% RMS, "
        "5.3% is allowed (sqrt(tau)/T)",
        "The discrimination exceeds the threshold: nodes will move",
        "node[05-09] (transient) leave c-1, which holds 8 nodes and should have 3",
        "Which nodes leave first: those that are not in service yet, then those without an ApplicationMaster, "
        "then transient-core nodes with the least data, then those away from the masters' site, then by name",
        "Until the next tick:",
        "node[05-09] join c-2 as transient-core: c-2 held 2 nodes and should have 7",
    ]
    assert [(row["cluster"], row["nodes"], row["target"]) for row in explained.figures] == [
        ("c-1", 8, 3),
        ("c-2", 2, 7),
    ]


def test_a_tick_in_which_nothing_moved(played: Reader) -> None:
    assert _texts(explain_tick(played, 4)) == [
        "Policy TD over the last 20 s; 10 nodes in service",
        "Global discrimination (raw) 3.09 against tau 1.11: the shares are off by 8.8% RMS, "
        "5.3% is allowed (sqrt(tau)/T)",
        "Minimums and whole nodes allow no better balance: no node moves",
    ]


def test_a_tick_while_moves_are_stopped(played: Reader) -> None:
    assert _texts(explain_tick(played, 6))[2:] == [
        "The threshold is exceeded, but voluntary moves are stopped (a visit): no node moves",
        "Until the next tick:",
        "node08 joins c-1 as transient: c-1 held 2 nodes and should have 3",
    ]


def test_a_tick_in_shadow_says_that_nothing_was_done(played: Reader) -> None:
    store = MemoryStore()
    for entry in played.entries():
        event = replace(entry.event, shadow=True) if isinstance(entry.event, Started) else entry.event
        store.append(event, entry.decision)
    shadow = "The controller runs in shadow mode: it would do this, but nothing was done"
    assert shadow in _texts(explain_tick(store, 3))
    assert shadow not in _texts(explain_tick(played, 3))


def test_a_cluster_that_could_not_be_read() -> None:
    facts = {"tick": 1, "verdict": "balanced", "period_s": 20.0, "tau": 1.0, "raw": 0.0, "policy": "TD", "usable": 4}
    figures = {"a": {"weight": 1.0, "unreadable": False}, "b": {"weight": None, "unreadable": True}}
    store = MemoryStore()
    reason = Reason("tick", {**facts, "clusters": figures})
    store.append(Woke(at_us=1), Decision((replace(NO_TICK, tick=1),), (), (reason,)))
    assert "b could not be read and keeps its nodes" in _texts(explain_tick(store))


def test_the_latest_tick_and_the_latest_that_moved(played: Reader) -> None:
    latest = explain_tick(played)
    assert latest.title == "Tick 16, 2023-11-14T22:18:40.000Z"
    assert not any("discrimination" in text for text in _texts(latest))
    moved = explain_last(played)
    assert moved.title == "Tick 7, 2023-11-14T22:15:40.000Z"
    leave = "node[05-07] (transient-core) leave c-2, which holds 5 nodes and should have 2; "
    leave += "nodes with the least data leave first (3.8 GB)"
    assert leave in _texts(moved)


def test_a_node_that_was_handed_over(played: Reader) -> None:
    explained = explain_node(played, "node06")
    assert [(line.text, line.code) for line in explained.lines][:10] == [
        ("node06 has been serving c-3 as transient since 2023-11-14T22:15:50.500Z", ""),
        ("It went from c-2 to c-3 at 2023-11-14T22:15:40.000Z, within 10.5s", ""),
        (
            "node06 (transient-core) leaves c-2, which holds 5 nodes and should have 2; "
            "nodes with the least data leave first (1.2 GB)",
            "shrink",
        ),
        ("No task of c-2 runs on node06 any more; its blocks are copied next", "drained"),
        ("The blocks of node06 are safe on other nodes of c-2", "evacuated"),
        ("node06 is wiped, verified and free", "freed"),
        ("node06 joins c-3 as transient: c-3 held 4 nodes and should have 6", "grow"),
        ("node06 serves c-3 as transient", "serves"),
        ("It was decided at tick 7, 2023-11-14T22:15:40.000Z", ""),
        ("Policy TD over the last 20 s; 10 nodes in service", ""),
    ]
    assert [row["cluster"] for row in explained.figures] == ["c-1", "c-2", "c-3"]
    times = [line.at_us for line in explained.lines if line.at_us is not None]
    assert times == sorted(times)


def test_a_node_that_joined_later_goes_back_to_the_tick_that_set_the_target(played: Reader) -> None:
    store = filled(islice(played.entries(), 190))
    texts = _texts(explain_node(store, "node08"))
    assert "node08 joins c-1 as transient: c-1 held 2 nodes and should have 3" in texts
    assert "It was decided at tick 5, 2023-11-14T22:15:00.000Z" in texts


def test_a_node_that_an_admission_took(played: Reader) -> None:
    texts = _texts(explain_node(played, "node04"))
    assert texts[1:3] == [
        "It went from c-1 to c-2 at 2023-11-14T22:14:01.000Z, within 14.8s",
        "node04 (transient) leaves c-1 to make room for c-2",
    ]
    assert "c-2 gets node[03-04] as core nodes after waiting 2.8s" in texts


def test_a_node_that_was_lost_and_came_back(played: Reader) -> None:
    assert _texts(explain_node(played, "node10"))[1:4] == [
        "c-3 lost it at 2023-11-14T22:15:50.000Z; it came back after 4s",
        "node10 of c-3 stopped answering (its NodeManager is lost, its DataNode is dead): c-3 waits for it, "
        "because it may hold data",
        "node10 serves c-3 as core",
    ]


def test_a_cluster(played: Reader) -> None:
    explained = explain_cluster(played, "c-2")
    texts = _texts(explained)
    assert texts[:2] == [
        "c-2 has been running since 2023-11-14T22:14:19.750Z; it was requested at 2023-11-14T22:14:01.000Z",
        "It waited for nodes for 2.8s, was deployed in 12s, loaded its data in 4s",
    ]
    assert texts[2].startswith("Its masters are on node")
    assert texts[2].endswith("; promise: kept")
    assert "At the latest tick, 16 (2023-11-14T22:18:40.000Z):" in texts
    assert texts[-1].startswith("The policy TD measures 0 everywhere")
    gone = _texts(explain_cluster(played, "c-1"))
    assert gone[0].startswith("c-1 has been gone since ")
    assert gone[1] == "It waited for nodes for 0s, was deployed in 12s, loaded its data in 4s, saved its outputs in 2s"
    assert gone[-1] == "c-1 is gone"


def test_jobs_that_ended_after_the_copy_are_named() -> None:
    """One ended before the copy was made, one after it, one of another MR-cluster; a move without loss names none."""
    desk = up()
    for number in (1, 2):
        desk.submit("a", number)
        run(desk, f"a-{number}")
    desk.job("a-1", Progress.SUCCEEDED)
    desk.now_s += 10
    copied_us = desk.now_us
    desk.now_s += 1
    desk.job("a-2", Progress.SUCCEEDED)
    since_us = lost(desk)
    look(desk, copied_us=copied_us)
    moved(desk, copied_us=copied_us)
    assert since_us > copied_us
    unsure = [text for text in _texts(explain_cluster(desk.store, "a")) if "may lack its end" in text]
    assert unsure == ["Jobs that had succeeded after that copy, whose output may lack its end: a-2"]


def test_what_is_not_there(played: Reader) -> None:
    with pytest.raises(UserError, match=r"there is no tick 99\. The latest is 16"):
        explain_tick(played, 99)
    with pytest.raises(UserError, match=r"there is no node 'node99'\. The pool is node\[01-10\]"):
        explain_node(played, "node99")
    with pytest.raises(UserError, match=r"there is no MR-cluster 'c-9'\. There are: c-1, c-2, c-3"):
        explain_cluster(played, "c-9")


def test_an_empty_store() -> None:
    store = MemoryStore()
    with pytest.raises(UserError, match="there was no tick yet"):
        explain_tick(store)
    with pytest.raises(UserError, match="no tick has moved a node yet"):
        explain_last(store)
    with pytest.raises(UserError, match=r"there is no tick 1\. The first comes one period after the start"):
        explain_tick(store, 1)


def test_reasons_that_differ_in_the_node_alone_are_one() -> None:
    def shrink(node: str, held: int, data: int, target: int = 3) -> Reason:
        return Reason("shrink", {"node": node, "held": held, "data_bytes": data, "cluster": "c", "target": target})

    other = Reason("budget", {"cluster": "c", "wanted": 3, "granted": 1})
    groups = grouped([shrink("a", 8, 10), other, shrink("b", 7, 20), shrink("z", 6, 1, target=9), other])
    assert [(reason.code, nodes) for reason, nodes in groups] == [
        ("shrink", ("a", "b")),
        ("budget", ()),
        ("shrink", ("z",)),
        ("budget", ()),
    ]
    assert (groups[0][0].facts["held"], groups[0][0].facts["data_bytes"]) == (8, 30)


def test_plain_data_for_programs(played: Reader) -> None:
    plain = as_plain(explain_tick(played, 3))
    text = json.dumps(plain, allow_nan=False)
    again = json.loads(text)
    assert again["title"] == "Tick 3, 2023-11-14T22:14:20.000Z"
    (leave,) = [line for line in again["lines"] if line["code"] == "shrink"]
    assert leave["facts"]["nodes"] == [f"node0{i}" for i in range(5, 10)]
    assert again["figures"][0]["nodes"] == 8
