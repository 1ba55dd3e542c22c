"""A recorded run beside a simulated one; here both are simulated."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from fawkes.offline.outcomes.beside import NOBODY, beside, turns
from fawkes.offline.scenarios.scenario import simulate
from fawkes.report import history
from fawkes.store.base import Writer
from tests.offline.support import demand, jobs, plan, ready, two


@pytest.fixture(scope="module")
def recorded() -> Writer:
    return simulate(ready(two()))


@pytest.mark.slow
def test_a_run_beside_itself_is_the_same(recorded: Writer) -> None:
    likeness = beside(recorded, recorded)
    assert likeness.likeness == 1.0
    assert likeness.job_error == 0.0
    assert [row.job for row in likeness.jobs] == [f"a-{n}" for n in range(4)] + [f"b-{n}" for n in range(12)]
    assert all(row.recorded_s == row.simulated_s > 0 for row in likeness.jobs)
    assert all(
        (row.recorded_at_s, row.recorded_nodes) == (row.simulated_at_s, row.simulated_nodes) for row in likeness.turns
    )
    assert likeness.recorded_makespan_s == likeness.simulated_makespan_s > 0


def test_turns_are_the_moves_in_their_order(recorded: Writer) -> None:
    moves = turns(recorded)
    assert (moves[0].way, moves[0].nodes) == ((NOBODY, "a", "core"), 2)
    assert [turn.at_s for turn in moves] == sorted(turn.at_s for turn in moves)
    assert all(move.way != next_.way for move, next_ in pairwise(moves))


def test_without_balancing_the_moves_are_missing(recorded: Writer) -> None:
    still = simulate(ready(two(), "None"))
    likeness = beside(recorded, still)
    assert likeness.likeness < 1.0
    only_recorded = [row for row in likeness.turns if row.simulated_at_s is None]
    assert {row.role for row in only_recorded} == {"transient"}
    assert all(row.simulated_nodes is None and row.recorded_nodes for row in only_recorded)


def test_errors_are_of_the_recorded_time(recorded: Writer) -> None:
    late = ready(two())
    slow = simulate(replace(late, constants=replace(late.constants, job_end_us=60_000_000)))
    likeness = beside(recorded, slow)
    longer = likeness.jobs[0]
    assert longer.error == pytest.approx(longer.simulated_s / longer.recorded_s - 1)
    assert likeness.job_error is not None
    assert likeness.job_error > 0.1
    assert likeness.plain()["jobs"][0]["error"] == longer.error


def test_jobs_of_one_run_alone_are_left_out(recorded: Writer) -> None:
    fewer = simulate(ready(plan(demand("a", come=jobs("a", 2)))))
    likeness = beside(recorded, fewer)
    assert [row.job for row in likeness.jobs] == ["a-0", "a-1"]
    nothing = beside(simulate(ready(plan(demand("z", come=jobs("z", 1))))), fewer)
    assert (nothing.jobs, nothing.job_error) == ((), None)


def test_of_a_span_only_what_began_in_it_counts(recorded: Writer) -> None:
    whole = beside(recorded, recorded)
    last_us = history.last_us(recorded)
    assert beside(recorded, recorded, (0, last_us + 1)) == whole
    late = [job for job in history.jobs(recorded) if job.submitted_us >= 5_000_000]
    part = beside(recorded, recorded, (5_000_000, last_us + 1))
    assert [row.job for row in part.jobs] == [job.id for job in late]
    assert 0 < len(part.jobs) < len(whole.jobs)
    assert part.recorded_makespan_s == pytest.approx(whole.recorded_makespan_s - 5)
    assert part.turns[0].recorded_at_s is None or part.turns[0].recorded_at_s >= 0


def test_of_a_span_the_makespan_is_of_the_jobs_that_were_simulated(recorded: Writer) -> None:
    fewer = simulate(ready(plan(demand("a", come=jobs("a", 1)))))
    likeness = beside(recorded, fewer, (0, history.last_us(recorded) + 1))
    assert (
        likeness.recorded_makespan_s
        == likeness.jobs[0].recorded_s
        + next(job.started_us for job in history.jobs(recorded) if job.id == "a-0" and job.started_us) / 1e6
    )
