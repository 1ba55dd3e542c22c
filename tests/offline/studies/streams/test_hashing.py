"""Consistent hashing of keys over holders (K26)."""

from __future__ import annotations

import pytest

from fawkes.offline.studies.streams.hashing import migration, ring_of

KEYS = [f"key-{at}" for at in range(3_000)]
NAMES = [f"holder-{at}" for at in range(9)]


@pytest.mark.parametrize("count", range(1, 9))
def test_a_new_holder_takes_about_its_share_and_only_for_itself(count: int) -> None:
    moved = migration("join", KEYS, ring_of(NAMES[:count]), ring_of(NAMES[: count + 1]))
    assert {new for _, new in moved.values()} == {NAMES[count]}
    assert 0.5 < len(moved) * (count + 1) / len(KEYS) < 2


@pytest.mark.parametrize("leaver", NAMES)
def test_only_the_keys_of_a_leaver_move(leaver: str) -> None:
    before, after = ring_of(NAMES), ring_of([each for each in NAMES if each != leaver])
    moved = migration("join", KEYS, before, after)
    assert set(moved) == {key for key in KEYS if before.holder(key) == leaver}
    assert leaver not in {new for _, new in moved.values()}


def test_the_order_of_holders_does_not_matter() -> None:
    assert ring_of(NAMES) == ring_of(NAMES[::-1])


def test_an_operator_that_cannot_hand_over_its_state_is_named() -> None:
    assert migration("sum", None, ring_of(NAMES), ring_of(NAMES)) == {}
    with pytest.raises(ValueError, match="operator sum cannot hand over its state"):
        migration("sum", None, ring_of(NAMES), ring_of(NAMES[1:]))


@pytest.mark.parametrize(
    ("holders", "points", "said"), [([], 1, "at least one"), (["a"], 0, "at least one"), (["a", "a"], 1, "twice: a")]
)
def test_rings_that_cannot_be_are_refused(holders: list[str], points: int, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        ring_of(holders, points)
