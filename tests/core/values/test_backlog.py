from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fawkes.core.values.backlog import Backlog, Waiting
from fawkes.core.values.lifecycle import ENDED_JOBS
from fawkes.core.values.model import ClusterId, JobId, JobLife, JobSpec, JobState

pytestmark = pytest.mark.slow

STEPS = st.lists(st.tuples(st.integers(0, 9), st.sampled_from(JobLife)), max_size=60)


def job(number: int, order: int, life: JobLife = JobLife.QUEUED) -> JobState:
    """Every second one says how large its input is, every third one how long it takes alone."""
    spec = JobSpec(
        id=JobId(f"j{number}"),
        cluster=ClusterId("c"),
        tasks=1 + number,
        input_bytes=None if number % 2 else 10 * number,
        reference_us=None if number % 3 else 7,
    )
    return JobState(spec=spec, life=life, order=order)


@given(steps=STEPS, without=st.sets(st.integers(0, 9)))
def test_what_it_keeps_of_its_jobs_is_what_a_walk_finds(steps: list[tuple[int, JobLife]], without: set[int]) -> None:
    """The steps are as in the core: a new job is queued behind all that have not ended; any life may follow."""
    backlog, walked = Backlog(), dict[JobId, JobState]()
    for number, life in steps:
        known = walked.get(JobId(f"j{number}"))
        order = max((each.order for each in walked.values()), default=0) + 1
        assert backlog.last_order == order - 1
        new = job(number, order) if known is None else replace(known, life=life)
        backlog.put(new)
        if new.life in ENDED_JOBS:
            walked.pop(new.id)
        else:
            walked[new.id] = new
        left_out = {JobId(f"j{n}") for n in without}
        queued = [each for each in walked.values() if each.life is JobLife.QUEUED]
        assert backlog.head() == next(iter(queued), None)
        assert backlog.head(left_out) == next((each for each in queued if each.id not in left_out), None)
        assert set(backlog.busy) == {each.id for each in walked.values() if each.life is not JobLife.QUEUED}
        assert list(backlog.jobs) == list(walked)
        sizes = [each.spec.input_bytes for each in queued if each.spec.input_bytes is not None]
        assert backlog.waiting == Waiting(len(queued), sum(each.spec.tasks for each in queued), len(sizes), sum(sizes))
        assert backlog.referenced == {each.id: each for each in walked.values() if each.spec.reference_us}
