"""Starts of tasks: their time alone, and the cost of a crowd of them on the cores."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fawkes.offline.calibrate.observe import Start, alone_us, by_node, crowded_us


def starts(*spans: tuple[int, int]) -> list[Start]:
    return [Start(begin, end) for begin, end in spans]


@pytest.mark.parametrize(
    ("spans", "busy", "alone", "each"),
    [
        ([(0, 10), (20, 33)], [], (10, 13), ()),
        ([(0, 10), (9, 20)], [], (), ()),  # they met
        ([(0, 10), (10, 20)], [], (10, 10), ()),  # one after the other
        ([(0, 10), (20, 30)], [(25, 90)], (10,), ()),  # the second met a task that computes
        ([(0, 40), (1, 38), (2, 40), (3, 39)], [], (), (10,)),  # four for 40
        ([(0, 40), (1, 38), (2, 40), (3, 39)], [(39, 50)], (), ()),
        ([], [(0, 9)], (), ()),
    ],
)
def test_starts(
    spans: list[tuple[int, int]], busy: list[tuple[int, int]], alone: tuple[int, ...], each: tuple[int, ...]
) -> None:
    assert alone_us(starts(*spans), starts(*busy)) == alone
    assert crowded_us(starts(*spans), starts(*busy), 2) == each


@given(st.integers(1, 8), st.integers(0, 40), st.integers(1, 10**7))
def test_only_a_crowd_of_twice_the_cores_is_one(cores: int, more: int, each: int) -> None:
    count = 2 * cores + more
    crowd = [Start(0, count * each)] * count
    assert crowded_us(crowd, [], cores) == (each,)
    assert crowded_us(crowd[: 2 * cores - 1], [], cores) == ()


def test_nodes_are_taken_by_themselves() -> None:
    nodes = by_node([Start(0, 1, "b"), Start(0, 1, "a"), Start(5, 6, "b"), Start(0, 1)])
    assert nodes == [[Start(0, 1, "a")], [Start(0, 1, "b"), Start(5, 6, "b")]]
