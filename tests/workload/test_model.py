from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fawkes.base.errors import ExitStatus, UserError
from fawkes.workload.model import Dropped, TraceJob, in_order


def job(name: str, *after: str) -> TraceJob:
    return TraceJob(id=name, submit_us=0, after=after)


@pytest.mark.parametrize("times", [{"submit_us": -1}, {"submit_us": 0, "think_us": -1}])
def test_no_time_is_negative(times: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="negative"):
        TraceJob(id="a", **times)


@pytest.mark.parametrize(("maps", "reduces", "tasks"), [(None, None, 0), (3, None, 3), (3, 2, 5), (None, 2, 2)])
def test_tasks_are_those_that_are_known(maps: int | None, reduces: int | None, tasks: int) -> None:
    assert TraceJob(id="a", submit_us=0, maps=maps, reduces=reduces).tasks == tasks


def test_what_was_dropped_is_told_most_frequent_first() -> None:
    dropped = Dropped({"with this": 1, "with that": 3}, {"with this": 2, "with that": 7})
    assert dropped.total == 4
    assert str(dropped) == "3 lines with that (first: line 7); 1 line with this (first: line 2)"
    assert str(Dropped()) == ""


@pytest.mark.parametrize(
    ("jobs", "said"),
    [
        ([job("a"), job("b"), job("a")], "two jobs 'a'"),
        ([job("a"), job("b", "a", "x")], "'b' is after 'x', which does not exist"),
        ([job("a", "a")], "'a' after 'a'"),
        ([job("a", "d"), job("b", "c"), job("c", "b"), job("d")], "'b' after 'c' after 'b'"),
        ([job("d"), job("a", "d", "b"), job("b", "a")], "'a' after 'b' after 'a'"),
        ([job("x", "c"), job("a", "b"), job("b", "c"), job("c", "a")], "'c' after 'a' after 'b' after 'c'"),
    ],
)
def test_an_order_that_cannot_be_is_refused_and_says_why(jobs: list[TraceJob], said: str) -> None:
    with pytest.raises(UserError, match=said) as caught:
        in_order(jobs)
    assert caught.value.exit_status is ExitStatus.USAGE


def test_a_job_may_name_another_one_twice() -> None:
    in_order([job("a"), job("b", "a", "a")])


def test_a_long_chain_needs_no_deep_stack() -> None:
    jobs = [job("0"), *(job(str(at), str(at - 1)) for at in range(1, 5000))]
    in_order(jobs)
    assert [placed.id for placed in in_order(jobs[::-1])] == [str(at) for at in range(5000)]


@given(st.data())
@settings(max_examples=30, deadline=None)
def test_each_job_stands_behind_all_that_it_is_after(data: st.DataObject) -> None:
    count = data.draw(st.integers(0, 12))
    jobs = [
        job(str(at), *map(str, data.draw(st.lists(st.integers(0, at - 1), max_size=3)) if at else ()))
        for at in range(count)
    ]
    jobs = data.draw(st.permutations(jobs))
    placed = in_order(jobs)
    place = {each.id: at for at, each in enumerate(placed)}
    assert sorted(placed, key=lambda each: each.id) == sorted(jobs, key=lambda each: each.id)
    assert all(place[other] < place[each.id] for each in jobs for other in each.after)
