from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fawkes.base.errors import ConfigError
from fawkes.workload.formats import sls, synth
from fawkes.workload.model import TraceJob

DATA = Path(__file__).parents[1] / "data"


def written(tmp_path: Path, *objects: object) -> Path:
    path = tmp_path / "sls.json"
    path.write_text("\n".join(json.dumps(item) for item in objects))
    return path


def test_hadoops_own_example() -> None:
    trace = sls.read(DATA / "sls-2jobs.json")
    assert [(job.id, job.submit_us, job.maps, job.reduces, job.map_us, job.run_us) for job in trace.jobs] == [
        ("job_1", 0, 3, 0, 16_604_667, 95_375_000),
        ("job_2", 105_204_000, 2, 0, 20_876_000, 92_052_000),
    ]
    assert trace.header == {"queues": "sls_queue_1 1, sls_queue_2 1"}


def test_counts_durations_and_nodes(tmp_path: Path) -> None:
    job = {
        "job.start.ms": 500,
        "job.count": 2,
        "job.user": "ann",
        "job.tasks": [
            {"container.count": "3", "duration.ms": 2000, "container.start.ms": "1000"},
            {"count": 2, "container.start.ms": 1000, "container.end.ms": 8000, "container.type": "reduce"},
        ],
    }
    trace = sls.read(written(tmp_path, {"num.nodes": 3, "num.racks": 1}, job))
    made = TraceJob(id="job_1", submit_us=500_000, maps=3, reduces=2, map_us=2_000_000, reduce_us=7_000_000, user="ann")
    assert trace.jobs[0] == made
    assert [one.id for one in trace.jobs] == ["job_1", "job_1-2"]
    assert trace.header == {"num.nodes": "3", "num.racks": "1"}


@pytest.mark.parametrize(
    ("name", "map_us", "reduce_us"),
    [
        ("sls-start-zero.json", 1_000_000, 1_000_000),
        ("sls-durations.json", 20_000_000, 15_000_000),
        ("sls-overlap.json", 10_000_000, 11_500_000),
    ],
)
def test_a_reduce_has_the_life_that_sls_gives_it_whenever_its_maps_end(name: str, map_us: int, reduce_us: int) -> None:
    assert {(job.map_us, job.reduce_us) for job in sls.read(DATA / name).jobs} == {(map_us, reduce_us)}


def test_what_is_wrong_is_counted(tmp_path: Path) -> None:
    good = {"job.start.ms": 5, "job.tasks": [{"container.start.ms": 9, "container.end.ms": 3}]}
    trace = sls.read(
        written(
            tmp_path,
            {"rack": "r", "nodes": []},
            good | {"job.start.ms": -7},
            good | {"job.start.ms": "soon"},
            good | {"job.tasks": ["none"]},
            good | {"job.count": 0},
            good,
        )
    )
    assert [(job.id, job.maps, job.map_us) for job in trace.jobs] == [("job_1", 1, None)]
    assert trace.dropped.counts == {
        "without tasks": 1,
        "with a negative time or number": 1,
        "with a field that is not a number": 1,
        "with a task that is not an object": 1,
        "with a count that is not from 1 to 1000000": 1,
    }
    assert trace.mended.first_lines == {"with a task that ends before it starts": 6}


def test_jobs_drawn_from_hadoops_own_distributions() -> None:
    trace = synth.read(DATA / "sls-synth.json")
    assert len(trace.jobs) == 10
    assert trace == synth.read(DATA / "sls-synth.json", seed=2)
    assert trace.jobs != synth.read(DATA / "sls-synth.json", seed=3).jobs
    assert {(job.application, job.user) for job in trace.jobs} == {("class_1", "foobar")}
    assert all(1_000_000 <= job.submit_us < 60_000_000 for job in trace.jobs)
    assert trace.header == {"seed": "2", "description": "tiny jobs workload", "num_nodes": "20"}


def asked(**others: Any) -> dict[str, Any]:
    task = {"type": "map", "count": {"val": 400}, "time": {"val": 10, "std": 2}}
    reduce = {"type": "reduce", "count": {"discrete": ["2", "4"], "weights": [1, 0]}, "time": {"val": 3, "std": 0}}
    kind = {"class_name": "one", "class_weight": 1, "tasks": [task, reduce]}
    workload = {"workload_weight": 1, "job_classes": [kind], "time_distribution": [{"time": 7, "weight": 1}]}
    return {"num_jobs": 3, "rand_seed": 1, "workloads": [workload]} | others


def test_samples_are_constants_distributions_or_lists(tmp_path: Path) -> None:
    trace = synth.read(written(tmp_path, asked()))
    for job in trace.jobs:
        assert (job.submit_us, job.maps, job.reduces, job.reduce_us) == (7_000_000, 400, 2, 3_000_000)
        # The mean of 400 lognormal times of mean 10 s and deviation 2 s: four of its own deviations are 0.4 s.
        assert abs((job.map_us or 0) - 10_000_000) < 400_000


def with_deadlines(**kind: Any) -> dict[str, Any]:
    document = asked(num_jobs=200)
    document["workloads"][0]["job_classes"][0] |= kind
    return document


@pytest.mark.slow
def test_deadlines_are_factors_of_a_duration_for_those_with_a_reservation(tmp_path: Path) -> None:
    said = with_deadlines(reservation={"val": 0.5}, deadline_factor={"val": 10}, duration={"val": 60})
    deadlines = [job.deadline_us for job in synth.read(written(tmp_path, said)).jobs]
    assert set(deadlines) == {None, 600_000_000}
    # Of 200 jobs half have one: four deviations of a fair coin are 28.
    assert abs(deadlines.count(None) - 100) <= 28


@pytest.mark.slow
def test_deadlines_leave_all_else_of_the_jobs_as_it_was(tmp_path: Path) -> None:
    plain = synth.read(written(tmp_path, asked(num_jobs=200)))
    said = with_deadlines(reservation={"val": 1}, deadline_factor={"val": 3, "std": 1}, duration={"val": 60})
    given = synth.read(written(tmp_path, said))
    assert all(job.deadline_us for job in given.jobs)
    assert [replace(job, deadline_us=None) for job in given.jobs] == list(plain.jobs)


def test_deadlines_of_the_old_form() -> None:
    deadlines = [job.deadline_us for job in synth.read(DATA / "sls-synth.json").jobs]
    known = [deadline_us for deadline_us in deadlines if deadline_us is not None]
    assert 0 < len(known) < 10
    assert all(400_000_000 < deadline_us < 800_000_000 for deadline_us in known)


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        ({"deadline_factor": {"val": 2, "dist": "UNIFORM"}}, "deadline_factor has the unknown dist 'UNIFORM'"),
        ({"deadline_factor": {"val": -2}}, "val is -2"),
        ({"deadline_factor": {"val": 0}}, "gives a deadline of 0 s"),
        ({"deadline_factor": {"discrete": ["x"]}}, "gives no number"),
        ({"duration": None}, "duration is missing"),
    ],
)
def test_a_wrong_deadline_is_named(kind: dict[str, Any], says: str, tmp_path: Path) -> None:
    said = {"reservation": {"val": 1}, "deadline_factor": {"val": 2}, "duration": {"val": 60}} | kind
    with pytest.raises(ConfigError) as caught:
        synth.read(written(tmp_path, with_deadlines(**said)))
    assert says in caught.value.what
    assert caught.value.file


@pytest.mark.parametrize(
    ("others", "says"),
    [
        ({"num_jobs": None}, "num_jobs is missing"),
        ({"num_jobs": -3}, "num_jobs is -3"),
        ({"num_jobs": 10**9}, "num_jobs is more than"),
        ({"workloads": []}, "workloads is missing"),
        ({"workloads": [{"workload_weight": 0}]}, "workloads have no weight"),
        ({"workloads": [{"job_classes": [3]}]}, "job_classes is not a list of tables"),
        ({"num_jobs": 0}, "has no job"),
    ],
)
def test_a_wrong_key_is_named(others: dict[str, Any], says: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        synth.read(written(tmp_path, asked(**others)))
    assert says in caught.value.what


@pytest.mark.parametrize("old", [True, False])
def test_times_that_spread_beyond_all_numbers_are_named(old: bool, tmp_path: Path) -> None:
    document = asked()
    (kind,) = document["workloads"][0]["job_classes"]
    if old:
        del kind["tasks"]
        kind |= {"mtasks_avg": 1, "mtime_avg": 1e-200, "mtime_stddev": 1e10}
    else:
        kind["tasks"][0]["time"] |= {"val": 1e-200, "std": 1e10}
    with pytest.raises(ConfigError) as caught:
        synth.read(written(tmp_path, document))
    assert caught.value.what == f"{'mtime_stddev' if old else 'time'} spreads too far, by 1e+10 around 1e-200"
