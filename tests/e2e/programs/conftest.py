"""One lab and one MR-cluster run HiBench's programs and BTWorld's queries, beside each other; then it goes.

Small data, and small jobs in one container each (uber tasks): what is looked at is whether results are right. Only what
the tests that were asked for look at is run: two queries and one program in `make nightly`, all in
`make drills`.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from fawkes.core.values.lifecycle import ENDED_JOBS
from fawkes.core.values.model import ClusterLife, JobState
from fawkes.playbook.dist import pieces
from fawkes.workload.btworld.load import programs as btworld_programs
from fawkes.workload.hibench.load import Program, of_size
from fawkes.workload.hibench.programs import Table
from fawkes.workload.hibench.programs import programs as hibench_programs
from tests.support.site import RealSite, real_site

SETTINGS = 'preset = "demo"\nperiod = "20s"\nsample_every = "5s"\nidle_time = "never"\n'
CLUSTER = """
min_nodes = 2
replication = 1
block_size = "1MiB"
max_running_jobs = 2
outputs = [{ path = "/HiBench", save_to = "../saved/hibench" }, { path = "/btworld", save_to = "../saved/btworld" }]
"""
SMALL = {"mapreduce.job.ubertask.enable": "true"}
EARLY = "bt-early"
"""A query whose input is not there."""
SEVERAL = {"btworld", "bt-tktl", "pagerank", "kmeans"}
"""Jobs of several MR-jobs."""
BTWORLD_BYTES = 300_000
BTWORLD_DAYS = 3
QUERIES = ("ToT", "TKTL")
"""The second one reads what the first one wrote."""
QUERIES_IN = "/btworld/queries"
PROGRAMS: Mapping[str, Program] = {
    program.name: program
    for program in (
        replace(of_size("wordcount", 300_000), files=2, reduces=1),
        replace(of_size("sort", 100_000), files=2, reduces=2),
        replace(of_size("terasort", 200_000), files=2, reduces=1),
        replace(of_size("pagerank", 5_000, iterations=2), files=2, reduces=1),
        replace(of_size("kmeans", 6_300, iterations=2, dimensions=3), clusters=3, k=4, files=2, reduces=1),
    )
}
SAMPLES = f"--count {PROGRAMS['kmeans'].count} --dimensions 3 --clusters 3"


@dataclass(frozen=True)
class Ran:
    """Results of the run: jobs, the applications of those of several as YARN knew them, and what was saved."""

    jobs: Mapping[str, JobState]
    applications: Mapping[str, Sequence[Mapping[str, Any]]]
    saved: Path


@pytest.fixture(scope="package")
def ran(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Ran]:
    asked = {item.path.name for item in request.session.items}
    pieces.provide(pieces.of_name("pig"))
    with real_site(tmp_path_factory.mktemp("programs") / "lab", 2, SETTINGS, memory_mb=3000) as site:
        site.write("clusters/p.toml", CLUSTER)
        site.run()
        site.request("p")
        both = [_once(tables for name, tables in each.items() if name in asked) for each in _programs()]
        _run(site, [deque(tables) for tables in both])
        names = [table["id"] for tables in both for table in tables]
        applications = {name: site.applications("p", name) for name in SEVERAL & set(names)}
        site.fawkes("release", "p", "--yes")
        site.until_life(ClusterLife.GONE, "p")
        yield Ran({name: site.ledger.jobs[name] for name in names}, applications, site.root / "saved")


def _programs() -> tuple[dict[str, list[Table]], dict[str, list[Table]]]:
    """The results that the tests of a module look at, in its order; BTWorld's and HiBench's."""
    (_, early) = btworld_programs(BTWORLD_BYTES, queries=["DS"], sets="/nowhere", properties=SMALL)
    btworld = partial(btworld_programs, BTWORLD_BYTES, files=2, days=BTWORLD_DAYS, properties=SMALL)
    return {
        "test_btworld.py": [*btworld(queries=QUERIES, sets=QUERIES_IN), {**early, "id": EARLY}],
        "test_btworld_whole.py": btworld(),
    }, {
        "test_hibench.py": hibench_programs([PROGRAMS["kmeans"]], properties=SMALL),
        "test_hibench_all.py": hibench_programs(list(PROGRAMS.values()), properties=SMALL),
    }


def _once(each: Iterable[list[Table]]) -> list[Table]:
    """The jobs of modules without those that several of them name; a query that fails comes last."""
    by_id = {table["id"]: table for tables in each for table in tables}
    return sorted(by_id.values(), key=lambda table: bool(table["id"] == EARLY))


def _run(site: RealSite, queues: Sequence[deque[dict[str, Any]]]) -> None:
    """Each queue one after another, the queues beside each other; a queue ends with its first failure."""
    running: dict[int, str] = {}

    def over() -> bool:
        for at, queue in enumerate(queues):
            job = site.ledger.jobs.get(running.get(at, ""))
            if at in running and (job is None or job.life not in ENDED_JOBS):
                continue
            if job is not None and job.life.value != "succeeded":
                queue.clear()
            running.pop(at, None)
            if queue:
                running[at] = _submit(site, queue.popleft())
        return not running

    site.until("the end of all programs", over, limit_s=1800)


def _submit(site: RealSite, table: Mapping[str, Any]) -> str:
    rows = [f"{key} = {json.dumps(value)}" for key, value in table.items() if key != "properties"]
    rows += [
        "[properties]",
        *(f"{json.dumps(key)} = {json.dumps(value)}" for key, value in table.get("properties", {}).items()),
    ]
    name = str(table["id"])
    site.fawkes("submit", "p", site.write(f"jobs/{name}.toml", "\n".join(rows) + "\n"))
    return name
