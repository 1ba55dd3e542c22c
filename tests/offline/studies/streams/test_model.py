"""The model of streams: what its rescales cost, and laws of cores and records in every run."""

from __future__ import annotations

import pytest

from fawkes.offline.studies.streams import fixed
from fawkes.offline.studies.streams.cases import StreamCase
from fawkes.offline.studies.streams.play import moved_share, play

CASES = [
    StreamCase(mode=mode, batch=batch)
    for mode in ("elastic", "default", "peak")
    for batch in ("", "kill", "checkpoint")
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.mode} {case.batch}")
def test_cores_and_records_are_conserved(case: StreamCase) -> None:
    row = play(case)
    course = row["course"]
    assert all(second["cores"] + second["batch"] <= fixed.CORES for second in course)
    assert all(second["served"] <= second["cores"] and second["queue"] <= fixed.QUEUE_MOST for second in course)
    arrived = sum(length * rate for length, rate in fixed.STEP)
    assert row["served"] + row["dropped"] + course[-1]["queue"] == pytest.approx(arrived)


def test_batch_tasks_lose_their_cores_at_once_when_killed_and_late_when_saved() -> None:
    kill, saved = (play(StreamCase(mode="elastic", batch=policy)) for policy in ("kill", "checkpoint"))
    assert kill["over_s"] == 0 < saved["over_s"]
    assert saved["batch_core_s"] > kill["batch_core_s"]


def test_two_thirds_of_the_keys_move_when_holders_are_three_times_as_many() -> None:
    assert moved_share(1, 3) == pytest.approx(2 / 3, abs=0.1)
    assert moved_share(3, 3) == 0


def test_a_load_that_stays_low_changes_nothing() -> None:
    course = play(StreamCase(mode="elastic", batch="kill"))["course"]
    assert {second["wants"] for second in course[:60]} == {fixed.BASE_CORES}
