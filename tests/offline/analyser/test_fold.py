"""The 5-second rule, waste and repeats on logs by hand, and that batches do not matter."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fawkes.offline.analyser import fold
from fawkes.offline.analyser.fold import EVICT, FINISH, KILL, SCHEDULE, SUBMIT
from fawkes.offline.analyser.tables import group_rows, hour_rows, repeat_rows, sentences
from fawkes.offline.analyser.trace import Log
from tests.offline.analyser.support import line, state_of, state_of_lines, written

VICTIM = [line(10, SCHEDULE, machine=7, priority=1), line(100, EVICT, machine=7, priority=1)]
END = line(200, SUBMIT, job=9)
VICTIM_2 = [line(110, SCHEDULE, job=4, machine=7), line(120, EVICT, job=4, machine=7)]


@pytest.mark.parametrize(
    ("time_s", "machine", "priority", "preempted"),
    [
        (104.9, 7, 2, 1),
        (105.0, 7, 2, 1),
        (105.000001, 7, 2, 0),
        (105.1, 7, 2, 0),
        (100.0, 7, 2, 1),
        (104.9, 7, 1, 0),
        (104.9, 7, 0, 0),
        (104.9, 8, 2, 0),
        (104.9, "", 2, 0),
    ],
)
def test_the_rule(tmp_path: Path, time_s: float, machine: object, priority: int, preempted: int) -> None:
    other = line(time_s, SCHEDULE, job=2, machine=machine, priority=priority)
    whole = group_rows(state_of_lines(tmp_path, [*VICTIM, other, END]))[0]
    assert (whole["evictions"], whole["preemptions"], whole["undecided"]) == (1, preempted, 0)


def test_lines_of_the_same_time_count_in_any_order(tmp_path: Path) -> None:
    before = line(100, SCHEDULE, job=2, machine=7, priority=2)
    whole = group_rows(state_of_lines(tmp_path, [VICTIM[0], before, VICTIM[1], END]))[0]
    assert whole["preemptions"] == 1
    earlier = line(99.999999, SCHEDULE, job=2, machine=7, priority=2)
    assert group_rows(state_of_lines(tmp_path, [VICTIM[0], earlier, VICTIM[1], END]))[0]["preemptions"] == 0


def test_other_events_than_schedules_preempt_nobody(tmp_path: Path) -> None:
    others = [line(101, kind, job=2 + kind, machine=7, priority=9) for kind in (0, 2, 3, 4, 5, 6, 7, 8)]
    assert group_rows(state_of_lines(tmp_path, [*VICTIM, *others, END]))[0]["preemptions"] == 0


def test_what_the_log_does_not_have_is_undecided(tmp_path: Path) -> None:
    state = state_of_lines(tmp_path, VICTIM)
    row, (hour,), (times,) = group_rows(state)[0], hour_rows(state), repeat_rows(state)
    for each in (row, hour):
        assert (each["undecided"], each["preemptions"], each["preemption_rate"]) == (1, None, None)
    assert (row["evicted_cpu_h"], row["preempted_cpu_h"]) == (pytest.approx(0.5 * 90 / 3600), None)
    assert (times["evicted_tasks"], times["preempted_tasks"]) == (1, None)
    assert "(100.0%), preemptions unknown" in " ".join(sentences(state))
    in_time = line(102, SCHEDULE, job=2, machine=7, priority=2)
    row = group_rows(state_of_lines(tmp_path, [*VICTIM, in_time]))[0]
    assert (row["preemptions"], row["undecided"]) == (1, 0)
    nowhere = [VICTIM[0], line(100, EVICT, priority=1), END]
    assert group_rows(state_of_lines(tmp_path, nowhere))[0]["undecided"] == 1


def test_table_3_of_the_thesis(tmp_path: Path) -> None:
    def event(time_s: float, kind: int, machine: object = "") -> str:
        return line(time_s, kind, job=153, index=822, machine=machine, cpu=0.07)

    lines = [
        event(0.5, SUBMIT), event(1, SCHEDULE, 65), event(14.7093, EVICT, 65), event(14.7093, SUBMIT),
        event(16.2124, SCHEDULE, 611), event(1635.089, EVICT, 611), event(1635.089, SUBMIT),
        event(1637.392, SCHEDULE, 575), event(2170.126, FINISH, 575),
    ]  # fmt: skip
    state = state_of_lines(tmp_path, lines)
    whole = group_rows(state)[0]
    seconds = [whole[name] * 3600 / 0.07 for name in ("evicted_cpu_h", "used_cpu_h")]
    assert seconds == pytest.approx([13.7093 + 1618.8766, 13.7093 + 1618.8766 + 532.734], abs=1e-3)
    assert [(row["at_least"], row["evicted_tasks"], row["preempted_tasks"]) for row in repeat_rows(state)] == [
        (1, 1, 0), (2, 1, 0)
    ]  # fmt: skip


def test_time_that_is_not_known_is_no_waste(tmp_path: Path) -> None:
    lines = [
        line(0, SCHEDULE, job=1, machine=1), line(50, SCHEDULE, job=2, machine=1, cpu=""),
        line(100, EVICT, job=1, machine=1), line(101, EVICT, job=2, machine=1, cpu=""),
        line(102, EVICT, job=3, machine=1), END,
    ]  # fmt: skip
    row = group_rows(state_of_lines(tmp_path, lines))[0]
    assert (row["evictions"], row["unmeasured"], row["used_cpu_h"], row["wasted"]) == (3, 3, None, None)
    assert (row["evicted_cpu_h"], row["preempted_cpu_h"]) == (None, None)
    some = group_rows(state_of_lines(tmp_path, [*lines[:-1], *VICTIM_2, END]))[0]
    assert (some["unmeasured"], some["evicted_cpu_h"]) == (3, pytest.approx(0.5 * 10 / 3600))


BEGUN = line(0, SCHEDULE, job=5)


@pytest.mark.parametrize(
    ("others", "unmeasured"),
    [
        ([BEGUN], 1),
        ([BEGUN, line(150, FINISH, job=5)], 1),
        ([BEGUN, line(150, KILL, job=5)], 1),
        ([line(20, SCHEDULE, job=5, cpu="")], 1),
        ([line(20, SCHEDULE, job=5, cpu=""), line(150, KILL, job=5, cpu="")], 1),
        ([line(20, SCHEDULE, job=5), line(150, SCHEDULE, job=5)], 1),
        ([line(150, FINISH, job=5)], 1),
        ([line(150, KILL, job=5, machine=7)], 1),
        ([line(150, KILL, job=5)], 0),
        ([line(20, SCHEDULE, job=5), line(150, KILL, job=5)], 0),
    ],
)
def test_a_share_needs_the_time_of_all_attempts(tmp_path: Path, others: list[str], unmeasured: int) -> None:
    lines = sorted([*others, *VICTIM_2, END], key=lambda each: int(each.partition(",")[0]))
    state = state_of_lines(tmp_path, lines)
    row, said = group_rows(state)[0], " ".join(sentences(state))
    assert (row["unmeasured"], row["wasted"] is None) == (unmeasured, unmeasured > 0)
    assert row["evicted_cpu_h"] == pytest.approx(0.5 * 10 / 3600)
    assert ("wasted at least 0.0 of at least" in said, "(share unknown)" in said) == (unmeasured > 0, unmeasured > 0)


def test_the_waste_of_a_preemption_without_a_time_is_not_known(tmp_path: Path) -> None:
    other = line(101, SCHEDULE, job=2, machine=7, priority=2)
    lines = [VICTIM[0].replace("10000000", "0", 1), VICTIM[1], other, *VICTIM_2, END]
    row = group_rows(state_of_lines(tmp_path, lines))[0]
    assert (row["preemptions"], row["evicted_cpu_h"], row["preempted_cpu_h"]) == (1, pytest.approx(5 / 3600), None)


def test_tasks_that_still_run_have_used_their_time(tmp_path: Path) -> None:
    lines = [line(100, SCHEDULE, machine=1, cpu=0.5), line(3700, SUBMIT, job=2)]
    row = group_rows(state_of_lines(tmp_path, lines))[0]
    assert (row["used_cpu_h"], row["evicted_cpu_h"], row["wasted"]) == (pytest.approx(0.5), 0, 0)


def test_groups_and_hours(tmp_path: Path) -> None:
    lines = [
        line(10, SCHEDULE, job=1, machine=1, priority=0, scheduling_class=1),
        line(20, KILL, job=5, priority=10, scheduling_class=3),
        line(3590, EVICT, job=1, machine=1, priority=0, scheduling_class=1),
        line(3592, SCHEDULE, job=2, machine=1, priority=9, scheduling_class=2),
        line(7300, SCHEDULE, job=1, machine=1, priority=0, scheduling_class=1),
    ]
    state = state_of_lines(tmp_path, lines)
    shown = {(row["by"], row["group"]): (row["schedules"], row["evictions"], row["preemptions"], row["eviction_rate"])
             for row in group_rows(state)}  # fmt: skip
    assert shown == {
        ("log", "all"): (3, 1, 1, 1 / 3),
        ("band", "free (0-1)"): (2, 1, 1, 0.5),
        ("band", "production (9-11)"): (1, 0, 0, 0.0),
        ("priority", "priority 0"): (2, 1, 1, 0.5),
        ("priority", "priority 9"): (1, 0, 0, 0.0),
        ("priority", "priority 10"): (0, 0, 0, None),
        ("class", "class 1"): (2, 1, 1, 0.5),
        ("class", "class 2"): (1, 0, 0, 0.0),
        ("class", "class 3"): (0, 0, 0, None),
    }
    hours = [(row["hour"], row["schedules"], row["evictions"], row["preemptions"]) for row in hour_rows(state)]
    assert hours == [(0, 2, 1, 1), (2, 1, 0, 0)]


EVENTS = st.lists(
    st.tuples(
        st.integers(0, 12), st.sampled_from(range(9)), st.integers(1, 4), st.sampled_from([1, 2, ""]),
        st.integers(0, 3), st.sampled_from([0, 2]), st.sampled_from([0.5, 0.25, ""]),
    ),
    min_size=1, max_size=60,
)  # fmt: skip


def lines_of(events: list[tuple[Any, ...]]) -> list[str]:
    time, lines = 0.0, []
    for gap, kind, job, machine, priority, scheduling_class, cpu in events:
        time += gap / 2
        lines.append(line(time, kind, job=job, machine=machine, priority=priority,
                          scheduling_class=scheduling_class, cpu=cpu))  # fmt: skip
    return lines


@pytest.mark.slow
@given(events=EVENTS, size=st.integers(1, 9))
@settings(max_examples=60, deadline=None)
def test_any_batches_give_the_same_totals(events: list[tuple[Any, ...]], size: int) -> None:
    with TemporaryDirectory() as folder:
        path = written(Path(folder) / "log.csv", lines_of(events), packed=False)
        whole, parts = state_of(path)[0], state_of(path, size=size)[0]
    for each in fields(fold.Totals):
        ours, theirs = getattr(whole.totals, each.name), getattr(parts.totals, each.name)
        assert ours == theirs if each.name == "hours" else np.allclose(ours, theirs), each.name
    for name in fold.Repeats._fields:
        assert np.array_equal(getattr(whole.repeats, name), getattr(parts.repeats, name)), name


@pytest.mark.slow
@given(events=EVENTS)
@settings(max_examples=60, deadline=None)
def test_the_rule_as_a_sentence_says_it(events: list[tuple[Any, ...]]) -> None:
    """Each eviction beside each schedule, by plain loops."""
    rows, time = [], 0.0
    for gap, kind, job, machine, priority, scheduling_class, _ in events:
        time += gap / 2
        rows.append((time, kind, job, machine, priority, scheduling_class))
    expected = sum(
        any(
            kind == SCHEDULE and place == machine and higher > priority and at <= then <= at + 5
            for then, kind, _, place, higher, _ in rows
        )
        for at, what, _, machine, priority, _ in rows
        if what == EVICT and machine != ""
    )
    with TemporaryDirectory() as folder:
        state = state_of(written(Path(folder) / "log.csv", lines_of(events), packed=False), size=5)[0]
    assert state.totals.preemptions.sum() == expected


def test_a_state_has_no_line_for_tasks_that_ended(tmp_path: Path) -> None:
    lines = [each for job in range(2_000) for each in (
        line(job, SCHEDULE, job=job, machine=1), line(job + 0.5, FINISH, job=job, machine=1)
    )]  # fmt: skip
    (batch,) = Log([written(tmp_path / "log.csv.gz", lines)]).batches()
    state, sizes = fold.start(), []
    for begin in range(0, 4_000, 100):
        state = fold.fold(state, batch.take(slice(begin, begin + 100)))
        sizes.append(len(state.recent.task) + len(state.running.task) + len(state.repeats.task))
    assert max(sizes) <= 12
