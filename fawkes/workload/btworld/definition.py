"""The workflow as data: queries, their MR-jobs, what these read and write; read from ``workloads/btworld``.

What is a fact and what is reconstruction stands beside each number in ``workflow.toml``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from fawkes.base.catalog import Kind, bundled_dir
from fawkes.config.files.loader import Faults, Strict, load

RAW = "raw"
"""The set that the generator makes; all others are made by queries."""


Name = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9-]*$")]


class Number(Strict):
    """A number and where it comes from."""

    value: float = Field(ge=0)
    source: Literal["paper", "measured", "reconstruction"]


class ResultSet(Strict):
    """``[[set]]``: a folder of results, or what one MR-job leaves to the next of the same query."""

    name: Name
    part: Number = Field(description="of the raw data")


class MRJob(Strict):
    """``[[query.job]]``: the sets that an MR-job reads and writes, and whether it computes or is bound by disks."""

    name: Name
    kind: Literal["compute", "disk"]
    reads: Name
    writes: Name
    shuffle: Number = Field(description="a part of what it reads; 0: no reduces")


class Query(Strict):
    """``[[query]]``: a query, its script and its MR-jobs one after another."""

    name: Name
    title: str
    script: str = Field(description="the file of Pig Latin beside the definition")
    semantics: Literal["port", "reconstruction"]
    jobs: list[MRJob] = Field(alias="job", min_length=1)

    @property
    def reads(self) -> tuple[str, ...]:
        """The sets that it reads and does not make itself."""
        own = {job.writes for job in self.jobs}
        return tuple(dict.fromkeys(job.reads for job in self.jobs if job.reads not in own))


class Workflow(Strict):
    """The file: the queries in an order in which they can run, and the sets of results."""

    title: str = ""
    results: list[ResultSet] = Field(alias="set", min_length=1)
    queries: list[Query] = Field(alias="query", min_length=1)

    @property
    def sets(self) -> dict[str, Number]:
        """The sets by name, as parts of the raw data."""
        return {data_set.name: data_set.part for data_set in self.results}

    def jobs(self) -> Iterator[tuple[Query, MRJob]]:
        """Every MR-job with its query."""
        return ((query, job) for query in self.queries for job in query.jobs)

    def depends(self, query: Query) -> tuple[Query, ...]:
        """The queries whose results it reads."""
        makers = {job.writes: maker for maker, job in self.jobs()}
        return tuple({makers[name].name: makers[name] for name in query.reads if name != RAW}.values())


def folder() -> Path:
    """The place where scripts, generator and definition lie."""
    return bundled_dir(Kind.WORKLOAD) / Kind.WORKLOAD.value / "btworld"


def workflow(path: Path | None = None) -> Workflow:
    """The workflow in a file, by default the one that came with Fawkes.

    ConfigError for a set that is not there, that two jobs write or that is read before it is written.
    """
    path = path or folder() / "workflow.toml"
    flow = load(Workflow, path)
    _check(flow, path)
    return flow


def _check(flow: Workflow, path: Path) -> None:
    faults = Faults(path)
    known = flow.sets.keys()
    made = {RAW}
    for query in flow.queries:
        if not (path.parent / query.script).is_file():
            faults.add(
                f"there is no file {query.script!r}", f"query[{query.name}].script", f"Put it into {path.parent}"
            )
        for job in query.jobs:
            key = f"query[{query.name}].job[{job.name}]"
            for name in {job.reads, job.writes} - known:
                faults.add(f"there is no [[set]] {name!r}", key, "Say what part of the raw data it is")
            if job.reads in known - made:
                faults.add(f"reads {job.reads!r} before it is written", f"{key}.reads", "Move its query further down")
            if job.writes in made:
                faults.add(f"{job.writes!r} is written twice", f"{key}.writes", "Give each job a set of its own")
            made.add(job.writes)
    faults.refuse()
