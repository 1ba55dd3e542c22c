"""Tasks on a node that leaves: the node's words as facts, and the wait until none of them runs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import cast

import pytest

from fawkes.base.errors import ElsewhereError, FawkesError, HostError
from fawkes.base.units import SECOND_US
from fawkes.core.values.effects import ClaimTasks, LookAtTasks, PreemptTasks, TaskOrder
from fawkes.core.values.model import ClusterId, JobId, NodeId
from fawkes.live.jobs.leaving import LeavingTasks
from fawkes.live.nodes.ssh import Result
from fawkes.playbook import Exit, Script
from tests.support.local_nodes import LocalFleet, node_of

A, B = "container_1_0001_01_000002", "container_1_0001_01_000003"
NODE, C, JOB = NodeId("node1"), ClusterId("alpha"), JobId("count")
LOOK = LookAtTasks(NODE, C, 1)
ROW = {
    "node": "node1", "container": A, "job": "count", "index": 7, "run_us": 1_500_000, "bytes": 4096, "kills": 2
}  # fmt: skip


def preempt(within_s: float = 60) -> PreemptTasks:
    orders = (TaskOrder(A, JOB, 0, True, 5), TaskOrder(B, JOB, 1, False, 5))
    return PreemptTasks(NODE, C, 1, orders, round(within_s * SECOND_US))


class Saying(LocalFleet):
    """A node that says these things, one after another; the last one again and again."""

    def __init__(self, *said: str, exit_code: int = 0) -> None:
        super().__init__([])
        self.said: Iterator[str] = iter(said)
        self.latest = ""
        self.exit_code = exit_code
        self.scripts = 0

    def run(self, node: str, script: Script, deadline_s: float, **more: object) -> Result:
        self.scripts += 1
        self.latest = next(self.said, self.latest)
        return Result(node, self.exit_code, self.latest, "epoch 9 is newer")


def hands(fleet: LocalFleet, stopping: threading.Event | None = None) -> LeavingTasks:
    fleet.nodes = [node_of("node1", Path("/"))]
    return LeavingTasks(fleet.ground(1, "c"), stopping or threading.Event())


def left(fleet: LocalFleet, effect: PreemptTasks, current: Callable[[], bool] = lambda: True) -> object:
    facts = hands(fleet).reach(effect, current)
    return None if facts is None else facts["left"]


@pytest.mark.parametrize(
    ("said", "rows"),
    [
        ("@looked=yes\n", []),
        (f"@task.{A}=count 7 2 150 4096\n@looked=yes\n", [ROW]),
        (f"@task.{A}=count 7 2 150 4096 25\n@looked=yes\n", [{**ROW, "restore_us": 250_000}]),
        (f"@task.{A}=count seven 2 150 4096\n@task.{B}=count\n@looked=yes\n", []),
    ],
)
def test_the_words_of_a_node_are_rows_or_nothing(said: str, rows: list[Mapping[str, object]]) -> None:
    assert hands(Saying(said)).reach(LOOK, lambda: True) == {"tasks": rows}


def test_a_node_that_did_not_see_all_of_its_processes_says_nothing() -> None:
    with pytest.raises(FawkesError, match="did not see all of its processes"):
        hands(Saying(f"@task.{A}=count 7 2 150 4096\n")).reach(LOOK, lambda: True)


def test_a_node_of_another_controller_is_not_touched() -> None:
    with pytest.raises(ElsewhereError):
        hands(Saying("", exit_code=Exit.FENCED)).reach(preempt(), lambda: True)


def test_it_waits_until_no_task_runs() -> None:
    fleet = Saying(
        f"@told.{A}=yes\n@told.{B}=yes\n",
        f"@went.{A}=runs\n@went.{B}=runs\n",
        f"@went.{A}=saved 312 4096\n@went.{B}=runs\n",
        f"@went.{A}=saved 312 4096\n@went.{B}=killed 5 0\n",
    )
    assert left(fleet, preempt()) == {A: ["saved", 4096, 3_120_000], B: ["killed", 0, 50_000]}
    assert fleet.scripts == 4


def test_why_a_task_could_not_be_saved_is_a_fact() -> None:
    fleet = Saying(
        f"@told.{A}=yes\n@why.{A}=CRIU cannot dump it\n", f"@went.{A}=killed 5 0\n@went.{B}=killed 6 0 no room\n"
    )
    facts = hands(fleet).reach(preempt(), lambda: True)
    assert facts == {
        "left": {A: ["killed", 0, 50_000], B: ["killed", 0, 60_000]},
        "why": {A: "CRIU cannot dump it", B: "no room"},
    }


@pytest.mark.parametrize(
    ("said", "how"),
    [
        ("", ["unknown", None, None]),
        (f"@went.{A}=gone\n", ["gone", None, None]),
        (f"@went.{A}=saved much\n", ["saved", None, None]),
        (f"@went.{A}=runs\n", ["runs", None, None]),
    ],
)
def test_when_its_time_is_over_it_says_what_is_known(said: str, how: list[object]) -> None:
    answer = left(Saying("", said), preempt(within_s=0))
    assert isinstance(answer, dict)
    assert answer[A] == how


def test_a_newer_goal_ends_the_wait() -> None:
    assert left(Saying("", f"@went.{A}=runs\n"), preempt(), current=lambda: False) is None


def test_a_controller_that_stops_does_not_wait() -> None:
    stopping = threading.Event()
    stopping.set()
    assert hands(Saying("", f"@went.{A}=runs\n"), stopping).reach(preempt(), lambda: True) is None


def test_a_node_that_does_not_answer_is_an_error_of_its_host() -> None:
    fleet = LocalFleet([])
    fleet.off.add("node1")
    with pytest.raises(HostError):
        hands(fleet).reach(LOOK, lambda: True)


def test_a_claim_asks_all_nodes_and_takes_what_those_say_that_answer() -> None:
    nodes = [node_of(name, Path("/")) for name in ("node1", "node2", "node3")]

    class Some(LocalFleet):
        def run(self, node: str, script: Script, deadline_s: float, **more: object) -> Result:
            if node == "node2":
                raise HostError("it does not answer", host=node)
            return Result(node, 0, f"@task.{A}=count 7 2 150 4096\n" + "@looked=yes\n" * (node == "node1"), "")

    claim = ClaimTasks(C, 1, JobId("important"), 5, 1, dict.fromkeys(map(NodeId, ("node1", "node2", "node3")), 1))
    facts = LeavingTasks(Some(nodes).ground(1, "c"), threading.Event()).reach(claim, lambda: True)
    assert facts is not None
    assert [row["node"] for row in cast(list[dict[str, object]], facts["tasks"])] == ["node1"]
