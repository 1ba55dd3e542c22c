"""Delays in a ledger: those that the simulated world was told."""

from __future__ import annotations

from dataclasses import replace

from fawkes.base.units import SECOND_US
from fawkes.offline.record.measured import job_starts, seen_in
from fawkes.offline.record.span import span_of
from fawkes.report import history
from fawkes.sim.events.steps import Delays
from tests.offline.record.support import run

DELAYS = Delays(deploy_us=35 * SECOND_US, join_us=13 * SECOND_US, clean_us=7 * SECOND_US, job_start_us=2 * SECOND_US)


def test_the_delays_of_a_run_are_found_in_its_ledger() -> None:
    store = run(delays=DELAYS)
    seen = seen_in(store, span_of(store))
    assert set(seen.deploy_us) == {DELAYS.deploy_us}
    assert len(seen.deploy_us) == 2
    assert DELAYS.join_us in seen.join_us
    assert min(seen.join_us) == DELAYS.join_us
    assert set(seen.clean_us) == {DELAYS.clean_us}
    begun = job_starts(store)
    assert {job.started_us - begun[job.id, 1] for job in history.jobs(store) if job.started_us} == {DELAYS.job_start_us}


def test_a_load_shows_the_rate_of_a_core_node() -> None:
    store = run()
    rate = seen_in(store, span_of(store)).load_bytes_s
    # Only a has data: two replicas of 1 GB on two nodes of 200 MB a second.
    assert [round(rate_bytes / 1e6) for rate_bytes in rate] == [200]


def test_only_the_span_counts() -> None:
    store = run()
    middle_us = history.last_us(store) // 2
    early, late = span_of(store, until_us=middle_us), span_of(store, since_us=middle_us)
    assert early.last_seq + 1 == late.first_seq
    assert seen_in(store, late).deploy_us == ()
    assert len(seen_in(store, early).deploy_us) == 2
    joins = [len(seen_in(store, span).join_us) for span in (early, late, span_of(store))]
    assert joins[0] + joins[1] == joins[2]
    assert seen_in(store, replace(early, until_us=early.since_us)).clean_us == ()
