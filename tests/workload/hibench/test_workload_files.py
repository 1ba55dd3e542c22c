"""workloads/btworld-small.toml and workloads/hibench-small.toml: what they submit is what ``programs`` gives."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fawkes.base.catalog import Catalog, Kind
from fawkes.config.clusters.details import JobDetails
from fawkes.config.jobs.jobs import job_of
from fawkes.config.site.site import Site
from fawkes.offline.scenarios.read import read_plan
from fawkes.workload.btworld.load import programs as btworld_programs
from fawkes.workload.hibench.load import of_size
from fawkes.workload.hibench.programs import programs as hibench_programs

SMALL = {"mapreduce.job.ubertask.enable": "true"}
MICRO = [
    replace(of_size("wordcount", 4_000_000), files=2, reduces=1),
    replace(of_size("sort", 2_000_000), files=2, reduces=2),
    replace(of_size("terasort", 2_000_000), files=2, reduces=1),
]
GRAPH = [
    replace(of_size("pagerank", 23_000, iterations=2), files=2, reduces=1),
    replace(of_size("kmeans", 140_000, iterations=2), files=2, reduces=1),
]


@pytest.mark.parametrize(
    ("name", "tables"),
    [
        ("btworld-small", {"bt": btworld_programs(2_000_000, files=2)}),
        ("hibench-small", {"micro": hibench_programs(MICRO), "graph": hibench_programs(GRAPH)}),
    ],
)
def test_a_file_submits_the_programs_and_can_be_simulated(
    tmp_path: Path, name: str, tables: dict[str, list[dict[str, Any]]]
) -> None:
    catalog = Catalog(site=tmp_path)
    assert catalog.find(Kind.WORKLOAD, name).path.is_file()

    demands = read_plan(Site(tmp_path), catalog, name).demands

    assert [demand.spec.id for demand in demands] == list(tables)
    for demand in demands:
        wanted = [job_of(program, cluster=demand.spec.id, file="", folder=Path()) for program in tables[demand.spec.id]]
        specs = [job.spec for job in demand.all_jobs]
        assert [spec.id for spec in specs] == [spec.id for spec in wanted]
        for mine, other in zip(specs, wanted, strict=True):
            own = JobDetails.of(mine.details)
            assert replace(own, properties={}) == JobDetails.of(other.details)
            assert own.properties in (SMALL, {})
            assert mine.input_bytes == other.input_bytes
            assert not mine.tasks_estimated
