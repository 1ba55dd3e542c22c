"""The measurement on real Hadoop reads facts from a ledger that worlds of today put there."""

from __future__ import annotations

from bench.hadoop import job_states
from fawkes.core.values.model import JobLife
from tests.support.pools import request, run, started, submit


def test_a_job_that_ran_is_seen_to_begin_and_to_end() -> None:
    ran = run([started(4), request("a", 0), submit("a", 1, 5, tasks=2)], 900)
    states = job_states(ran.store.entries(), "a-1")
    assert [state.life for state in states][-1] is JobLife.SUCCEEDED
    assert [state.started_us for state in states if state.started_us]
    assert job_states(ran.store.entries(), "another") == []
