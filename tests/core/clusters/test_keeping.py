"""When the second copy and a new image of the masters' data are due, and when a fault of copies is news."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fawkes.base.units import SECOND_US
from fawkes.core.clusters.keeping import KeepRules, is_news

RULES = KeepRules(second_every_us=10 * SECOND_US, edits_bytes=1000, image_rest_us=60 * SECOND_US)


@pytest.mark.parametrize(("behind_s", "due"), [(0, False), (9, False), (10, True), (500, True)])
def test_the_second_copy_is_due_when_it_lacks_so_much_time(behind_s: int, due: bool) -> None:
    assert RULES.second_due(700 * SECOND_US, (700 - behind_s) * SECOND_US) is due


@pytest.mark.parametrize(
    ("edits", "tried_s", "due"),
    [
        (1000, None, False),
        (1001, None, True),
        (1001, 100, True),
        (1001, 101, False),
        (10**9, 159, False),
        (0, 0, False),
    ],
)
def test_a_new_image_is_due_for_many_edits_but_not_again_at_once(edits: int, tried_s: int | None, due: bool) -> None:
    tried_us = None if tried_s is None else tried_s * SECOND_US
    assert RULES.image_due(edits, 160 * SECOND_US, tried_us) is due


@pytest.mark.slow
@given(st.lists(st.integers(0, 5 * SECOND_US), max_size=200))
def test_attempts_to_make_an_image_keep_their_distance(pauses: list[int]) -> None:
    at_us, tried = 0, list[int]()
    for pause in pauses:
        at_us += pause
        if RULES.image_due(2000, at_us, tried[-1] if tried else None):
            tried.append(at_us)
    assert all(later - before >= RULES.image_rest_us for before, later in pairwise(tried))
    assert not pauses or tried


FULL = "/s/c-1: the disk has no room for 289 bytes more of the copy. 256 MB must stay free"


@pytest.mark.parametrize(
    ("last", "error", "ago_s", "news"),
    [
        (None, "", 0, True),
        ("", "", 999, False),
        ("", FULL, 0, True),
        (FULL, "", 0, True),
        (FULL, FULL, 999, False),
        (FULL, FULL.replace("289", "1.5"), 999, False),
        (FULL, FULL.replace("c-1", "c-2"), 60, True),
        ("node03: no answer", "node04: no answer", 60, True),
        ("node03: no answer", FULL, 59, False),
        ("node03: no answer", FULL, 60, True),
    ],
)
def test_another_fault_of_copies_is_news_but_no_other_number(
    last: str | None, error: str, ago_s: int, news: bool
) -> None:
    assert is_news(last, error, ago_s * SECOND_US) is news
