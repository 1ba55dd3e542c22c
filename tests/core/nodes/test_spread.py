"""The spread of input over the core nodes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fawkes.core.nodes.spread import SKEW_LIMIT, skew_of, uneven

CORE = ("node1", "node2", "node3")
BLOCK = 100
HELD = st.dictionaries(st.sampled_from(CORE), st.integers(0, 10**6))


@pytest.mark.parametrize(
    ("held", "skew"),
    [
        ({"node1": 10, "node2": 10, "node3": 10}, 1.0),
        ({"node1": 30}, 3.0),
        ({"node1": 20, "node2": 10, "node3": 0}, 2.0),
        ({}, 1.0),
        ({"node1": 10, "node2": 10, "node3": 10, "stranger": 99}, 1.0),
    ],
)
def test_skew_is_the_fullest_over_the_mean(held: dict[str, int], skew: float) -> None:
    assert skew_of(held, CORE) == skew


@pytest.mark.parametrize(
    ("held", "said"),
    [
        ({}, ""),
        ({"node1": 200}, ""),
        ({"node1": 201}, "the fullest core node has 201 B of the input, the emptiest 0 B"),
        ({"node1": 1250, "node2": 1000, "node3": 750}, ""),
        ({"node1": 1251, "node2": 1000, "node3": 749}, "the fullest core node has 1.3 KB of the input"),
        ({"node1": 10, "node9": 0}, "input lies on node9, which are not core nodes"),
    ],
)
def test_what_is_wrong_with_a_spread(held: dict[str, int], said: str) -> None:
    words = uneven(held, CORE, BLOCK)
    assert words.startswith(said)
    assert bool(words) is bool(said)


@pytest.mark.slow
@given(HELD)
def test_a_spread_of_which_nothing_is_said_has_no_node_far_above_the_mean(held: dict[str, int]) -> None:
    if not uneven(held, CORE, BLOCK):
        sizes = [held.get(node, 0) for node in CORE]
        assert 3 * max(sizes) <= SKEW_LIMIT * sum(sizes) or max(sizes) - min(sizes) <= 2 * BLOCK
