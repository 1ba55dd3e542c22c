"""Room for the next job: looked for until there is some, and never taken for granted."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from fawkes.base.errors import FawkesError
from fawkes.core.values.effects import AwaitRoom
from fawkes.core.values.model import ClusterId, NodeId
from fawkes.live.eyes.measure import tasks_ready
from fawkes.live.eyes.room import Room
from fawkes.live.nodes.clusters import Clusters, LiveCluster
from fawkes.live.wire.masters import Target
from fawkes.live.wire.rest import Deadline, UnreadableError
from tests.live.masters_server import APPS, Server, am, hangs_up, says
from tests.live.played import PlayedSetup, live_cluster
from tests.live.readings import C1, ONE, app, job, live, target

EFFECT = AwaitRoom(C1, 3, 1000)


def known() -> Clusters:
    clusters = Clusters()
    clusters._put(live_cluster(C1, NodeId("node01"), ready=True, working=True))
    return clusters


class Masters(PlayedSetup):
    """Says how to read an MR-cluster, and what comes of each look: a number, or no answer."""

    def __init__(self, *looks: int | None) -> None:
        self._looks: Iterator[int | None] = iter(looks)
        self.left = len(looks)

    def target(self, cluster: LiveCluster) -> Any:
        return cluster.id

    def ready(self, target: Target, deadline: Deadline) -> int:
        self.left -= 1
        size = next(self._looks)
        if size is None:
            raise UnreadableError("http://rm", "does not answer")
        return size


def room(masters: Masters, clusters: Clusters | None = None) -> Room:
    return Room(known() if clusters is None else clusters, masters, masters.ready, threading.Event())


def test_it_is_looked_for_until_no_task_waits() -> None:
    masters = Masters(4, None, 1, 0, 0)
    assert room(masters).reach(EFFECT, lambda: True) == {}
    assert masters.left == 1, "who does not answer has not said that nothing waits"


def test_a_goal_that_is_not_wanted_any_more_ends_without_an_answer() -> None:
    masters = Masters(4, 0)
    assert room(masters).reach(EFFECT, lambda: masters.left > 0) is None


def test_an_mr_cluster_that_has_gone_is_a_failure() -> None:
    with pytest.raises(FawkesError, match="is not running"):
        room(Masters(), Clusters()).reach(AwaitRoom(ClusterId("gone"), 1, 1000), lambda: True)


@pytest.mark.parametrize(
    ("maps", "reduces", "ready"),
    [((9, 4, 0), (2, 0, 0), 5), ((9, 4, 5), (2, 0, 0), 0), ((9, 0, 9), (2, 1, 0), 1), ((9, 0, 9), (2, 2, 0), 0)],
)
def test_what_counts_as_waiting_is_what_a_reading_counts(
    server: Server, maps: tuple[int, int, int], reduces: tuple[int, int, int], ready: int
) -> None:
    server.answers[APPS] = live(app())
    server.answers[am(ONE)] = says({"jobs": {"job": [job(maps, reduces)]}})
    assert tasks_ready(target(server), Deadline.after(20)) == ready


def test_an_application_without_an_application_master_waits(server: Server) -> None:
    server.answers[APPS] = live(app(state="ACCEPTED"))
    assert tasks_ready(target(server), Deadline.after(20)) == 1


def test_masters_that_do_not_answer_say_nothing(server: Server) -> None:
    server.answers[APPS] = hangs_up
    with pytest.raises(UnreadableError):
        tasks_ready(target(server), Deadline.after(20))
