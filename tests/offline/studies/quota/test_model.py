"""The model of stages: tasks at a shared speed, laws of every run, and nodes that come and go."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fawkes.offline.studies.quota import fixed
from fawkes.offline.studies.quota.cases import QuotaCase, alone
from fawkes.offline.studies.quota.experiments.together import _B2, _B3
from fawkes.offline.studies.quota.fixed import APPLICATIONS
from fawkes.offline.studies.quota.play import QuotaPlay, dealt, full_s, play, stage_lengths
from fawkes.offline.studies.quota.tasks import Part, lengths_of

LENGTHS = st.lists(st.floats(0.1, 20), min_size=1, max_size=40)


@given(LENGTHS, st.integers(1, 8), st.lists(st.tuples(st.floats(0, 8), st.floats(0, 9)), max_size=20))
@example([1.0] * 9, 2, [(3.0, 0.0), (1.5, 2.0)])
def test_no_work_is_lost_or_done_twice(lengths: list[float], slots: int, steps: list[tuple[float, float]]) -> None:
    """However the quota goes: what was done is at most cores times seconds, and each task is somewhere."""
    part, most = Part(lengths, slots), 0.0
    for seconds, speed in steps:
        left = part.advance(seconds, speed)
        assert 0 <= left <= seconds
        most += speed * (seconds - left)
        begun = [length for length, (start, _) in zip(lengths, part.tasks, strict=True) if start < part.at]
        undone = sum(part.running()) + sum(part.waiting())
        assert sum(lengths) - undone <= most + 1e-6
        assert len(begun) + len(part.waiting()) == len(lengths)
        assert part.done + part.left == len(lengths)


@given(LENGTHS, st.integers(1, 8))
def test_with_a_core_for_each_slot_a_part_takes_what_list_scheduling_gives(lengths: list[float], slots: int) -> None:
    part = Part(lengths, slots)
    assert part.full_s >= max(max(lengths), sum(lengths) / slots) - 1e-9
    assert part.full_s <= sum(lengths) / slots + max(lengths)
    assert part.advance(part.full_s + 5, float(slots)) == pytest.approx(5)
    assert (part.left, part.running(), part.waiting()) == (0, [], [])


def test_half_the_cores_take_twice_the_time_as_long_as_all_slots_work() -> None:
    full, half = Part([1.0] * 40, 4), Part([1.0] * 40, 4)
    full.advance(5, 4)
    half.advance(10, 2)
    assert full.at == half.at == pytest.approx(5)


def test_a_lost_node_gives_its_running_tasks_back_whole() -> None:
    part = Part([4.0, 4.0, 4.0], 2)
    part.advance(1, 2)
    assert part.running() == [3.0, 3.0]
    assert part.running(afresh=True) == [4.0, 4.0]
    assert part.waiting() == [4.0]


@pytest.mark.parametrize("skew", [None, 0.5, 1.0, 3.0])
def test_lengths_have_the_mean_that_they_should_have(skew: float | None) -> None:
    drawn = lengths_of(1, "group-by", 1, 500, 2.0, skew)
    assert sum(drawn) / len(drawn) == pytest.approx(2.0)
    assert drawn == lengths_of(1, "group-by", 1, 500, 2.0, skew) != lengths_of(2, "group-by", 1, 500, 2.0, skew)


def test_on_all_cores_an_application_takes_the_time_of_table_6() -> None:
    for app, known in APPLICATIONS.items():
        case = alone(app, 0, 1)
        assert sum(map(full_s, stage_lengths(case, case.arrivals[0], 1, None))) == pytest.approx(known.work_s)


def test_tasks_are_dealt_whole() -> None:
    assert [len(part) for part in dealt([1.0] * 10, 4)] == [3, 3, 2, 2]


def test_exponents_are_those_that_the_tight_and_loose_rows_imply() -> None:
    thetas = [round(app.theta, 2) for app in APPLICATIONS.values()]
    assert thetas == [0.45, 0.44, 0.55, 0.62, 0.71, 0.79, 0.73, 0.76]


@pytest.mark.slow
@settings(max_examples=12, deadline=None)
@given(
    st.sampled_from([*_B2.values(), *_B3.values()]), st.integers(1, 9), st.sampled_from([0.0, 0.4, 1.0]),
)  # fmt: skip
def test_no_node_ever_gives_more_cores_than_it_has(case: QuotaCase, seed: int, gamma: float) -> None:
    watched: list[float] = []

    class Watched(QuotaPlay):
        def _enact(self) -> None:
            super()._enact()
            watched.extend(
                sum(app.executors[node].quota for app in self._active() if app.executors[node].part.left)
                for node in self.nodes
            )

    row = Watched(replace(case, seed=seed, gamma=gamma)).run()
    assert max(watched) <= fixed.CORES + 1e-6
    assert all(app["cores"] <= fixed.NODES * fixed.CORES + 1e-6 for app in row["apps"])


@pytest.mark.parametrize(("first", "then"), [(3, 4), (4, 3), (2, 4)])
def test_nodes_that_come_and_go_leave_no_task_undone(first: int, then: int) -> None:
    case = replace(alone("group-by", 60, 1), change_s=20.0, nodes=first, nodes_then=then)
    (app,) = play(case)["apps"]
    assert abs(app["error"]) < 2
    assert len(app["stage_errors"]) == len(APPLICATIONS["group-by"].parts)


def test_the_same_case_gives_the_same_row() -> None:
    case = replace(alone("PageRank", 40, 3), traced=True)
    row = play(case)
    assert row == play(case)
    assert [point[1] for point in row["trace"][:2]] == sorted(point[1] for point in row["trace"][:2])


def test_gamma_1_ends_no_later() -> None:
    """X16."""
    case = alone("group-by", 40, 1)
    careful, hasty = (play(replace(case, gamma=gamma))["apps"][0] for gamma in (0.0, 1.0))
    assert hasty["duration_s"] < careful["duration_s"]
    assert hasty["duration_s"] == pytest.approx(APPLICATIONS["group-by"].work_s, rel=0.02)
