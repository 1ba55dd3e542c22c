"""The waste of preemption, in words and as rows; not known is a value of its own."""

from __future__ import annotations

from typing import Any

import pytest

from fawkes.core.preemption.account import Account
from fawkes.core.preemption.waste import Waste
from fawkes.report.tables.waste_rows import TASKS, WASTE, waste_in_words, waste_row

FULL = Account(
    waste=Waste(killed_s=60, dumping_s=20, restoring_s=10, useful_s=900),
    measured=True,
    waiting_s=30,
    unknown_s=10,
    saved=3,
    killed=2,
    unknown=1,
    unseen=1,
)


def test_an_account_in_words() -> None:
    assert waste_in_words(FULL) == (
        "Slot time of tasks: 15m00s useful; 1m30s wasted (9.0% at least), 1m00s of killed work, 20s of dumping and 10s "
        "of restoring; 30s waited without a slot between a save and the next start. Not known: how 1 task went, that "
        "had run for 10s; when 1 saved task ran again"
    )


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({}, "10s wasted (10.0%),"),
        ({"unknown": 2, "unknown_s": 100}, "10s wasted (5.0% at least),"),
        ({"unknown": 1}, "10s wasted (10.0% at least),"),
        ({"unseen": 1}, "10s wasted (10.0% at least),"),
    ],
)
def test_a_part_without_what_is_not_known_is_the_least_that_was_wasted(told: dict[str, Any], words: str) -> None:
    account = Account(waste=Waste(killed_s=10, useful_s=90), measured=True, killed=1, **told)
    assert words in waste_in_words(account)


def test_where_no_task_had_to_go_there_are_no_words() -> None:
    assert waste_in_words(Account(waste=Waste(useful_s=9), measured=True)) == ""


def test_what_is_useful_is_not_known_without_readings() -> None:
    told = Account(waste=Waste(killed_s=5), killed=1)
    assert "not known useful; 5s wasted," in waste_in_words(told)
    assert (waste_row(told)["useful_s"], waste_row(told)["wasted_part"]) == (None, None)


def test_a_row_has_the_keys_that_tables_ask_for() -> None:
    assert tuple(waste_row(FULL)) == (*WASTE, *TASKS)
