"""BTWorld as a workload: MR-jobs with sizes for the simulator, tables of jobs for a live MR-cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from fawkes.base.errors import UserError
from fawkes.workload.btworld.definition import MRJob, Query, Workflow, folder, workflow
from fawkes.workload.formats.swim import maps_of
from fawkes.workload.model import Trace, TraceJob

Order = Literal["sequential", "dependencies"]
Table = dict[str, Any]

RAW_FOLDER = "/btworld/raw"
SETS_FOLDER = "/btworld/sets"
WHOLE = "btworld.pig"

#: RECONSTRUCTION: input for one reduce, as Pig ships it; the most reduces of a job, one wave on 10 nodes of 2 slots
REDUCER_BYTES = 10**9
MOST_REDUCES = 20


def workload_of(
    size_bytes: int,
    *,
    queries: Sequence[str] = (),
    order: Order = "sequential",
    think_us: int = 0,
    cluster: str = "",
) -> Trace:
    """The MR-jobs of the workflow over so many bytes of raw data, or of some of its queries (TT is ``ToT``).

    ``sequential``, as in the paper: each job is after the one before it. ``dependencies``: a query starts as soon as
    those are done whose results it reads; without them, when they are left out (their results are there then).
    ``cluster`` is the MR-cluster that runs them. UserError for an unknown query or no data.
    """
    if size_bytes < 1:
        raise UserError(f"{size_bytes} bytes of raw data", hint="Ask for a size such as 100GB")
    flow = workflow()
    chosen = _chosen(flow, queries)
    jobs: list[TraceJob] = []
    last: dict[str, str] = {}
    for query in chosen:
        waits = tuple(last[before.name] for before in flow.depends(query) if before.name in last)
        for step, job in enumerate(query.jobs):
            behind = (jobs[-1].id,) if jobs and (order == "sequential" or step) else waits
            made = _job(flow, job, size_bytes, f"bt-{job.name.lower()}")
            jobs.append(replace(made, after=behind, think_us=think_us if behind else 0, cluster=cluster))
        last[query.name] = jobs[-1].id
    return Trace(source="BTWorld", jobs=tuple(jobs), header={"title": flow.title, "raw_bytes": str(size_bytes)})


def _job(flow: Workflow, job: MRJob, raw_bytes: int, name: str) -> TraceJob:
    read = max(1, round(flow.sets[job.reads].value * raw_bytes))
    return TraceJob(
        id=name,
        submit_us=0,
        application=f"BT-{job.name}",
        input_bytes=read,
        shuffle_bytes=round(job.shuffle.value * read),
        output_bytes=round(flow.sets[job.writes].value * raw_bytes),
        maps=maps_of(read),
        reduces=min(MOST_REDUCES, -(-read // REDUCER_BYTES)) if job.shuffle.value else 0,
    )


def programs(
    size_bytes: int,
    *,
    queries: Sequence[str] = (),
    seed: int = 1,
    files: int = 4,
    days: int = 7,
    sets: str = SETS_FOLDER,
    properties: Mapping[str, str] = {},
) -> list[Table]:
    """Tables as those of ``[[job]]``: the data is made and put into HDFS, then Pig runs.

    Without ``queries`` the whole workflow is one job; else each of them is a job, to be run in this order one after
    another. ``sets`` is a folder in HDFS, ``properties`` are Hadoop's keys for each MR-job.
    """
    flow = workflow()
    scripts = [(f"bt-{query.name.lower()}", query.script, query.title) for query in _chosen(flow, queries)]
    if not queries:
        scripts = [("btworld", WHOLE, flow.title)]
    made = [_prepare(size_bytes, seed, files, days)]
    made += [
        {
            "id": name,
            "title": title,
            "kind": "pig",
            "pig": str(folder() / script),
            "args": ["-stop_on_failure", "-param", f"raw={RAW_FOLDER}", "-param", f"sets={sets}"],
            "files": [str(path) for path in _beside(script)],
            "input": [RAW_FOLDER],
            "input_size": f"{size_bytes}B",
            **({"properties": dict(properties)} if properties else {}),
        }
        for name, script, title in scripts
    ]
    return made


def _prepare(size_bytes: int, seed: int, files: int, days: int) -> Table:
    """The table of the job that makes the records on the master, puts them into HDFS and compares the bytes."""
    words = f"--size {size_bytes} --seed {seed} --parts {files} --days {days}"
    return {
        "id": "bt-prepare",
        "title": "BTWorld: records of trackers",
        "kind": "script",
        "command": f"sh prepare.sh {RAW_FOLDER} python3 scrapes.py {words}",
        "files": [str(folder().parent / "prepare.sh"), str(folder() / "scrapes.py")],
        "tasks": 1,
    }


def _chosen(flow: Workflow, names: Sequence[str]) -> tuple[Query, ...]:
    known = {query.name: query for query in flow.queries}
    for name in names:
        if name not in known:
            raise UserError(f"BTWorld has no query {name!r}", hint=f"Known: {', '.join(known)}")
    return tuple(query for query in flow.queries if not names or query.name in names)


def _beside(script: str) -> list[Path]:
    """The files that a script imports or runs: the macro, and for the whole workflow each query."""
    here = folder()
    return [here / "scrapes.macro", *(sorted(here.glob("*.pig")) if script == WHOLE else [])]
