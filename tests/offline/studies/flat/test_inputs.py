"""Tables of jobs, twins, deadlines and allocators: what they are, and what is refused with file and key."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fawkes.base.errors import ConfigError, UserError
from fawkes.offline.studies.flat.allocators import parsed, settings_of, split
from fawkes.offline.studies.flat.deadlines import TYPES, factors, shortest_s, type_named, with_deadlines
from fawkes.offline.studies.flat.jobs import read_jobs
from fawkes.offline.studies.flat.twins import TWINS, statistics, twin
from tests.offline.studies.flat.support import jobs_of


def table(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_a_table_is_read_in_order_of_submission(tmp_path: Path) -> None:
    file = table(tmp_path / "t.csv", "submit_s,tasks,work_s,deadline_s\n60,2,5,\n10,1,3.5,7\n")
    jobs = read_jobs(file)
    assert (jobs.submit_s.tolist(), jobs.tasks.tolist(), jobs.work_s.tolist()) == ([0, 50], [1, 2], [3.5, 5])
    assert jobs.deadline_s is not None
    assert jobs.deadline_s.tolist() == [7, np.inf]


def test_the_names_of_the_traces_columns_count_and_parquet_is_read(tmp_path: Path) -> None:
    file = tmp_path / "t.parquet"
    pd.DataFrame({"submit": [0.0], "maps": [3], "map_time_s": [9.0], "job_runtime_s": [4.0]}).to_parquet(file)
    jobs = read_jobs(file)
    assert (jobs.tasks[0], jobs.work_s[0]) == (3, 9)
    assert shortest_s(jobs, 2, "trace").tolist() == [4]


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("submit_s,work_s\n0,1\n", "tasks"),
        ("submit_s,tasks\n0,1\n", "work_s"),
        ("tasks,work_s\n1,1\n", "submit_s"),
        ("submit_s,tasks,work_s\n", "t.csv"),
        ("submit_s,tasks,work_s\n0,1,1\n0,0,1\n", "row 2, tasks"),
        ("submit_s,tasks,work_s\n0,1.5,1\n", "row 1, tasks"),
        ("submit_s,tasks,work_s\n0,1,\n", "row 1, work_s"),
        ("submit_s,tasks,work_s\n0,1,0\n", "row 1, work_s"),
        ("submit_s,tasks,work_s\n-1,1,1\n", "row 1, submit_s"),
        ("submit_s,tasks,work_s\n0,many,1\n", "row 1, tasks"),
        ("submit_s,tasks,work_s,deadline_s\n0,1,1,0\n", "row 1, deadline_s"),
        ("submit_s,tasks,work_s,deadline_s\n0,1,1,soon\n", "row 1, deadline_s"),
    ],
)
def test_a_table_without_tasks_or_work_is_refused_with_its_place(tmp_path: Path, text: str, key: str) -> None:
    with pytest.raises(ConfigError) as error:
        read_jobs(table(tmp_path / "t.csv", text))
    assert "t.csv" in error.value.where
    assert key in error.value.where


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("submit_s,tasks,work_s\n60,10,100,\n90,10,100,\n", "row 1"),
        ("submit_s,tasks,work_s\n60,10,100\n\n90,10,100,5 # late\n", "row 2"),
        ("# jobs\nsubmit_s,tasks,work_s,deadline_s\n60,10,100\n", "row 1"),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_a_row_of_another_length_is_refused(tmp_path: Path, text: str, row: str, packed: bool) -> None:
    file = tmp_path / ("t.csv.gz" if packed else "t.csv")
    file.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    with pytest.raises(ConfigError, match="fields, but the heading has") as error:
        read_jobs(file)
    assert error.value.key == row


@pytest.mark.parametrize("unit", ["s", "ms", "ns"])
def test_times_and_durations_of_parquet_are_seconds(tmp_path: Path, unit: str) -> None:
    begun, took = np.array([60, 0], dtype="M8[s]").astype(f"M8[{unit}]"), np.array([90, 30], dtype="m8[s]")
    frame = pd.DataFrame({"submit_s": begun, "tasks": [1, 1], "work_s": took.astype(f"m8[{unit}]")})
    frame.to_parquet(tmp_path / "t.parquet")
    jobs = read_jobs(tmp_path / "t.parquet")
    assert (jobs.submit_s.tolist(), jobs.work_s.tolist()) == ([0, 60], [30, 90])
    frame.assign(deadline_s=begun).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(ConfigError, match="deadline_s: has points in time, not seconds"):
        read_jobs(tmp_path / "t.parquet")


def test_what_is_no_table_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t.parquet").write_bytes(b"PAR1nothing")
    (tmp_path / "t.csv").write_bytes(b"\xff\xfe\x00")
    for name in ("t.parquet", "t.csv", "none.csv"):
        with pytest.raises(ConfigError):
            read_jobs(tmp_path / name)


@pytest.mark.slow
@pytest.mark.parametrize("name", TWINS)
def test_twins_have_the_reported_statistics(name: str) -> None:
    jobs, recipe = twin(name, 1), TWINS[name]
    found = statistics(jobs)
    assert found["jobs"] == recipe.jobs
    assert found["work_h"] == pytest.approx(recipe.work_h)
    for number, each in ((0, "one_task_percent"), (4, "above_1000_tasks_percent")):
        assert found[each] == pytest.approx(100 * recipe.classes[number].part, abs=0.5)
    assert found["above_1000_tasks_work_percent"] == pytest.approx(100 * recipe.classes[4].share)
    assert jobs.tasks.max() <= recipe.peak
    assert (np.diff(jobs.submit_s) >= 0).all()


def test_twins_come_from_their_seed() -> None:
    assert twin("TR1", 3).work_s.tobytes() == twin("tr1", 3).work_s.tobytes()
    assert twin("TR1", 3).work_s.tobytes() != twin("TR1", 4).work_s.tobytes()
    with pytest.raises(UserError, match="TR9"):
        twin("TR9", 1)


def test_9_deadline_factors_have_their_means_and_bounds() -> None:
    means = dict(zip(TYPES, (1, 2, 1.5, 3, 1.9, 2, 3), strict=True))
    bounds = {"Aria1x3x": (1, 3), "Aria2x4x": (2, 4)}
    for kind, mean in means.items():
        x = factors(kind, 100_000, 5)
        assert x.mean() == pytest.approx(mean, rel=0.01)
        low, high = bounds.get(kind, (x.min(), x.max()))
        assert low <= x.min() <= x.max() <= high


def test_9_with_the_capacity_as_basis_each_rate_is_one_over_x() -> None:
    jobs = with_deadlines(twin("TR1", 1, jobs=500), "Aria1x3x", 2250, 1)
    assert jobs.deadline_s is not None
    rates = jobs.work_s / jobs.deadline_s / np.minimum(jobs.tasks, 2250)
    np.testing.assert_allclose(rates, 1 / factors("Aria1x3x", 500, 1))


def test_the_peak_as_basis_makes_deadlines_that_fewer_cpus_cannot_meet() -> None:
    jobs = twin("TR1", 1, jobs=2000)
    assert (shortest_s(jobs, 2250, "peak") <= shortest_s(jobs, 2250)).all()
    with pytest.raises(UserError, match="peak"):
        shortest_s(jobs_of((0, 1, 1, 1.0)), 10, "peak")
    with pytest.raises(ConfigError, match="runtime_s"):
        shortest_s(jobs, 10, "trace")


def test_an_unknown_deadline_type_is_refused_with_a_suggestion() -> None:
    with pytest.raises(UserError, match="Did you mean Fixed2x"):
        type_named("Fixd2x")
    assert type_named("ARIA1X3X") == "Aria1x3x"


def test_allocators_are_read_with_their_options() -> None:
    assert split("A,B[x=1,y=2], C") == ["A", "B[x=1,y=2]", "C"]
    one = parsed("JUSTICE[correction=ema,alpha=0.2,window=50]")
    assert dict(one.options) == {"correction": "ema", "alpha": 0.2, "window": 50}
    assert str(parsed(str(one))) == str(one)


@pytest.mark.parametrize(
    "text",
    [
        "JUSTICE[x=1]", "JUSTICE[correction=kalman]", "JUSTICE[bootstrap=0]", "JUSTICE[alpha=2]", "PYTHIA[clamp=no]",
        "PYTHIA[bootstrap=1.5]", "ORACLE[top_up=1]",
    ],
)  # fmt: skip
def test_wrong_options_are_refused(text: str) -> None:
    with pytest.raises(UserError):
        settings_of(parsed(text), 10)


@pytest.mark.parametrize("text", ["", "JUSTICE[", "JUSTICE[correction]", "[x=1]"])
def test_what_is_no_allocator_is_refused(text: str) -> None:
    with pytest.raises(UserError):
        parsed(text)
