"""What starts of tasks show: their time alone, and what a crowd of them costs on the cores."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fawkes.calibrate.starts import Start, alone_us, by_node, cpu_us


def starts(*spans: tuple[int, int]) -> list[Start]:
    return [Start(begin, end) for begin, end in spans]


@pytest.mark.parametrize(
    ("spans", "busy", "alone", "each"),
    [
        ([(0, 10), (20, 33)], [], (10, 13), ()),
        ([(0, 10), (9, 20)], [], (), ()),  # they met
        ([(0, 10), (10, 20)], [], (10, 10), ()),  # one after the other
        ([(0, 10), (20, 30)], [(25, 90)], (10,), ()),  # the second met a task that computes
        ([(0, 40), (1, 38), (2, 40), (3, 39)], [], (), (20,)),  # four on two cores for 40
        ([(0, 40), (1, 38), (2, 40), (3, 39)], [(39, 50)], (), ()),
        ([], [(0, 9)], (), ()),
    ],
)
def test_starts(
    spans: list[tuple[int, int]], busy: list[tuple[int, int]], alone: tuple[int, ...], each: tuple[int, ...]
) -> None:
    assert alone_us(starts(*spans), starts(*busy)) == alone
    assert cpu_us(starts(*spans), starts(*busy), 2) == each


@given(st.integers(1, 8), st.integers(1, 40), st.integers(1, 10**7))
def test_a_crowd_that_shares_the_cores_gives_back_what_each_took(cores: int, more: int, each: int) -> None:
    count = 2 * cores + more
    end = -(-count * each // cores)
    found = cpu_us([Start(0, end)] * count, [], cores)
    assert list(found) == pytest.approx([each], abs=1)


def test_nodes_are_taken_by_themselves() -> None:
    found = by_node([Start(0, 1, "b"), Start(0, 1, "a"), Start(5, 6, "b"), Start(0, 1)])
    assert found == [[Start(0, 1, "a")], [Start(0, 1, "b"), Start(5, 6, "b")]]
