"""A node whose clock Kerberos would not accept is found by reading its clock, and by nothing else."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fawkes.base.errors import HostError
from fawkes.core.values.model import NodeId
from fawkes.core.watching.fit import MOST_SKEW_US
from fawkes.live.kerberos.same_time import ahead_us, check_clocks, wrong_clock
from fawkes.live.nodes.ssh import Result
from fawkes.playbook import Script
from tests.support.local_nodes import LocalFleet, node_of

NODES = ["node01", "node02", "node03"]


class OddClocks(LocalFleet):
    """Nodes whose clocks are some seconds ahead; ``asked`` are those that ran a script."""

    def __init__(self, folder: Path, ahead_s: dict[str, int]) -> None:
        super().__init__([node_of(name, folder) for name in NODES])
        self.ahead_s = ahead_s
        self.asked: list[str] = []

    def run(self, node: str, script: Script, deadline_s: float, **more: object) -> Result:
        self.asked.append(node)
        now = time.time_ns() + self.ahead_s.get(node, 0) * 10**9
        return Result(node, 0, f"@clock_ns={now}\n", "")


def test_nodes_with_our_time_pass(tmp_path: Path) -> None:
    fleet = OddClocks(tmp_path, {"node02": 200, "node03": -200})
    check_clocks(fleet.ground(1, "c"), [NodeId(name) for name in NODES])
    assert sorted(fleet.asked) == NODES


@pytest.mark.parametrize(("off_s", "words"), [(360, "ahead of"), (-360, "behind")])
def test_a_clock_off_by_six_minutes_is_told_with_its_host(tmp_path: Path, off_s: int, words: str) -> None:
    ground = OddClocks(tmp_path, {"node02": off_s}).ground(1, "c")
    with pytest.raises(
        HostError, match=rf"node02: its clock is (6m00s|5m59s) {words} this machine's.*at most 5m00s.*chrony"
    ):
        check_clocks(ground, [NodeId(name) for name in NODES])


def test_a_clock_that_cannot_be_read_is_not_taken_for_a_right_one(tmp_path: Path) -> None:
    class NoDate(OddClocks):
        def run(self, node: str, script: Script, deadline_s: float, **more: object) -> Result:
            return Result(node, 0, "@clock_ns=1795910000N\n", "")

    with pytest.raises(HostError, match="node01: its clock cannot be read"):
        check_clocks(NoDate(tmp_path, {}).ground(1, "c"), [NodeId("node01")])


def test_real_nodes_answer(tmp_path: Path) -> None:
    check_clocks(LocalFleet([node_of("node01", tmp_path)]).ground(1, "c"), [NodeId("node01")])


@pytest.mark.slow
@given(st.integers(0, 10**15), st.integers(0, 10**12), st.integers(-(10**12), 10**12))
def test_the_way_there_is_never_taken_for_a_wrong_clock(before: int, took: int, off: int) -> None:
    read_at = before + took // 2
    ahead = ahead_us(read_at + off, before, before + took)
    assert abs(ahead) <= -(-abs(off) // 1000)
    assert abs(off) // 1000 - took // 1000 - 1 <= abs(ahead)


@pytest.mark.slow
@given(st.integers(-3 * MOST_SKEW_US, 3 * MOST_SKEW_US))
def test_just_more_than_the_limit_is_wrong(off_us: int) -> None:
    assert (wrong_clock("node01", off_us) is not None) == (abs(off_us) > MOST_SKEW_US)
