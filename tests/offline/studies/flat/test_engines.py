"""The compiled pool against the readable one, which asks the policies' own files: the same ends, times and measures."""

from __future__ import annotations

import inspect
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fawkes.offline.studies.flat.allocators import DEFAULTS, parsed
from fawkes.offline.studies.flat.compiled import layout
from fawkes.offline.studies.flat.deadlines import TYPES, with_deadlines
from fawkes.offline.studies.flat.jobs import FlatJobs
from fawkes.offline.studies.flat.metrics import FlatOutcome
from fawkes.offline.studies.flat.play import admission_of
from fawkes.offline.studies.flat.twins import twin
from tests.offline.studies.flat.support import Row, jobs_of, policy, run

#: half a minute where it has not been compiled before
pytestmark = pytest.mark.slow

PRIORITY = st.sampled_from(layout.PRIORITIES)
ALLOCATORS = st.one_of(
    st.just("FIFO"),
    st.builds("{}[top_up={}]".format, st.sampled_from(["BASELINE", "REACTIVE"]), st.integers(0, 1)),
    st.builds("ORACLE[priority={}]".format, PRIORITY),
    st.builds(
        "PYTHIA[bootstrap={},clamp={},priority={},kill_threshold={}]".format,
        st.integers(1, 4), st.integers(0, 1), PRIORITY, st.integers(-1, 4),
    ),
    st.builds(
        "JUSTICE[bootstrap={},correction={},fraction={},priority={},rounding={},learn_killed={},alpha={},window={},"
        "kill_threshold={}]".format,
        st.integers(1, 4), st.sampled_from(layout.CORRECTIONS), st.sampled_from(layout.FRACTIONS), PRIORITY,
        st.sampled_from(layout.ROUNDINGS), st.sampled_from(layout.LEARN), st.sampled_from([0.1, 0.5, 1.0]),
        st.sampled_from([0, 1, 3]), st.integers(-1, 12),
    ),
)  # fmt: skip


@st.composite
def loads(draw: st.DrawFn) -> tuple[FlatJobs, int]:
    """Up to 40 jobs that come close together; many at one time, some without a deadline or with a hopeless one."""
    capacity = draw(st.integers(1, 30))
    rows: list[Row] = []
    at = 0.0
    for _ in range(draw(st.integers(1, 40))):
        at += draw(st.sampled_from([0.0, 0.0, 1.0, 60.0, 13.7]))
        tasks = draw(st.sampled_from([1, 1, 2, 5, 12, 50]))
        work = draw(st.sampled_from([1.0, 40.0, 60.0, 333.3, 2000.0]))
        x = draw(st.sampled_from([0.5, 1.0, 1.5, 2.0, 3.3, inf]))
        rows.append((at, tasks, work, x * work / min(tasks, capacity)))
    return jobs_of(*rows), capacity


def assert_equal(one: FlatOutcome, other: FlatOutcome) -> None:
    assert one.ends.tolist() == other.ends.tolist()
    np.testing.assert_array_equal(one.granted, other.granted)
    for name in ("finish_s", "start_s", "consumed_s"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    known = None if other.utilisation is None else pytest.approx(other.utilisation, rel=1e-12)
    assert one.utilisation == known
    for name in ("fairness", "equality"):
        mine, theirs = getattr(one, name), getattr(other, name)
        assert mine.count == theirs.count
        assert mine.mean == pytest.approx(theirs.mean, rel=1e-9)
        assert mine.variance == pytest.approx(theirs.variance, rel=1e-6, abs=1e-12)
        assert mine.batches == pytest.approx(theirs.batches, rel=1e-9)
    assert [each.intervals for each in one.idle] == [each.intervals for each in other.idle]
    for mine, theirs in zip(one.idle, other.idle, strict=True):
        assert mine.existence == pytest.approx(theirs.existence)
        assert mine.longer == pytest.approx(theirs.longer)


@settings(max_examples=60, deadline=None)
@given(load=loads(), allocator=ALLOCATORS)
def test_both_pools_come_to_the_same(load: tuple[FlatJobs, int], allocator: str) -> None:
    jobs, capacity = load
    assert_equal(run(jobs, capacity, allocator), run(jobs, capacity, allocator, readable=False))


MANAGERS = ("BASELINE", "REACTIVE", "ORACLE", "PYTHIA", "JUSTICE")
#: each type of deadline and each allocator once; `make nightly` has all pairs
TWINS = [
    pytest.param(kind, allocator, marks=[pytest.mark.nightly] if (at + number) % len(MANAGERS) else [])
    for at, kind in enumerate(TYPES)
    for number, allocator in enumerate(MANAGERS)
]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "allocator"), TWINS)
def test_both_pools_come_to_the_same_on_a_small_twin(kind: str, allocator: str) -> None:
    jobs = with_deadlines(twin("TR1", 3, jobs=60), kind, 500, 3)
    assert_equal(run(jobs, 500, allocator), run(jobs, 500, allocator, readable=False))


@pytest.mark.parametrize("name", DEFAULTS)
def test_the_compiled_pool_has_the_options_of_the_files(name: str) -> None:
    loaded = admission_of(policy(name), parsed(name))
    functions = loaded.module.functions.values()  # type: ignore[attr-defined]
    defaults = {
        each.name: each.default
        for function in functions
        for each in inspect.signature(function).parameters.values()
        if each.default is not inspect.Parameter.empty
    }
    assert defaults == dict(DEFAULTS[name])


def test_the_same_run_twice_gives_the_same_bytes() -> None:
    jobs = with_deadlines(twin("TR1", 1, jobs=2000), "Aria1x3x", 100, 1)
    one, other = (run(jobs, 100, "JUSTICE", readable=False) for _ in range(2))
    assert repr(one.plain()) == repr(other.plain())
    assert one.finish_s.tobytes() == other.finish_s.tobytes()
