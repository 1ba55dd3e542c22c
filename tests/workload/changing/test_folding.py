from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fawkes.base.errors import UserError
from fawkes.workload.changing.folding import fold, java_random
from fawkes.workload.formats.rumen import read
from fawkes.workload.model import Trace, TraceJob, in_order

DATA = Path(__file__).parents[1] / "data"
S = 1_000_000


def test_the_jobs_are_those_that_hadoops_own_test_expects() -> None:
    trace, gold = (read(DATA / f"rumen-folder-{name}-jobs.json.gz") for name in ("input", "gold"))
    folded = fold(trace, cycle_us=100 * S, duration_us=300 * S, concentration=2, seed=100)
    assert len(folded.jobs) == 89
    assert folded.jobs == gold.jobs
    assert fold(trace, cycle_us=100 * S, duration_us=300 * S, concentration=2, seed=101).jobs != gold.jobs


def test_numbers_are_those_of_java() -> None:
    draw = java_random(100)
    # new java.util.Random(100).nextDouble(), three times
    assert [draw() for _ in range(3)] == [0.7220096548596434, 0.19497605734770518, 0.6671595726539502]


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.integers(0, 10**9), min_size=2, max_size=15, unique=True),
    st.integers(1, 10**9),
    st.integers(1, 10**9),
    st.floats(0.1, 5),
    st.integers(0, 9),
)
def test_a_folded_trace_lies_within_its_duration(
    times: list[int], cycle_us: int, duration_us: int, concentration: float, seed: int
) -> None:
    ordered = sorted(times)
    jobs = tuple(
        TraceJob(id=f"j{at}", submit_us=time, after=(f"j{at - 1}",) if at % 3 == 1 else ())
        for at, time in enumerate(ordered)
    )
    folded = fold(
        Trace(source="", jobs=jobs),
        cycle_us=cycle_us,
        duration_us=duration_us,
        concentration=concentration,
        seed=seed,
    )
    ids = [job.id for job in folded.jobs]
    assert len(set(ids)) == len(ids)
    assert {name.partition(".")[0] for name in ids} <= {job.id for job in jobs}
    assert all(0 <= job.submit_us < duration_us for job in folded.jobs)
    assert [job.submit_us for job in folded.jobs] == sorted(job.submit_us for job in folded.jobs)
    in_order(folded.jobs)
    ratio = (ordered[-1] - ordered[0]) * (len(jobs) + 1) / len(jobs) / cycle_us
    copies = duration_us / cycle_us * concentration / ratio
    assert int(copies) * len(jobs) <= len(ids) <= (int(copies) + 1) * len(jobs)


def test_copies_wait_for_the_copies_of_their_own_number() -> None:
    jobs = (
        TraceJob(id="a", submit_us=0),
        TraceJob(id="b", submit_us=1 * S, after=("a",)),
        TraceJob(id="c", submit_us=10 * S),
    )
    folded = fold(Trace(source="", jobs=jobs), cycle_us=5 * S, duration_us=5 * S, concentration=5.4)
    assert {job.id: job.after for job in folded.jobs if job.id.startswith("b")} == {"b": ("a",), "b.2": ("a.2",)}


def test_what_comes_too_soon_is_left_out() -> None:
    jobs = tuple(TraceJob(id=str(at), submit_us=at * S) for at in range(10))
    folded = fold(
        Trace(source="", jobs=jobs), cycle_us=9 * S, duration_us=9 * S, starts_after_us=4 * S, concentration=9
    )
    assert {job.id.partition(".")[0] for job in folded.jobs} == {"4", "5", "6", "7", "8", "9"}
    assert folded.jobs[0].submit_us == 0


@pytest.mark.parametrize("times", [[], [3 * S], [3 * S, 3 * S]])
def test_nothing_to_fold(times: list[int]) -> None:
    jobs = tuple(TraceJob(id=str(at), submit_us=time) for at, time in enumerate(times))
    with pytest.raises(UserError, match="fold"):
        fold(Trace(source="", jobs=jobs), cycle_us=S, duration_us=S)
    with pytest.raises(ValueError, match="cannot fold"):
        fold(Trace(source="", jobs=jobs), cycle_us=0, duration_us=S)
