"""Scenarios: a workload file with tables for offline runs: pool, model, loads, faults.

A workload without these tables is a scenario as it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from fawkes.base.units import SECOND_US, show_bytes, show_duration
from fawkes.config.files.fields import (
    Capacity,
    DurationUs,
    Factor,
    JobCount,
    LocalPath,
    Name,
    NodeCount,
    Positive,
    PositiveDurationUs,
    Seed,
    SizeBytes,
    between,
)
from fawkes.config.files.include import tables_including
from fawkes.config.files.loader import Faults, Strict, check, did_you_mean, written
from fawkes.config.workloads.changes import blamed, changed
from fawkes.config.workloads.model import Count, completed
from fawkes.config.workloads.workloads import WorkloadTable

TraceFormat = Literal["table", "history", "sls", "synth", "rumen", "gwf", "wta", "swf", "swim"]
"""The names of ``fawkes.workload.formats.formats``, which are read late."""


_TIME = between(SECOND_US, 3600 * SECOND_US, "no controller waits longer for an answer", show_duration)
_MEMORY = between(10**7, 10**12, "no machine that simulates has more", show_bytes)


class PoolNode(Strict):
    """``[[pool.node]]``: one node of a pool whose nodes are not alike."""

    id: str = Field(min_length=1, description="its name")
    site: str = Field(default="", description="the physical cluster that it stands in")
    capacity: Capacity = Field(default=1.0, description="the weight of the node in shares")
    core: bool = Field(default=True, description="whether it may be a core node")


class PoolTable(Strict):
    """``[pool]``: equal nodes, spread evenly over sites, named node01, node02, ...; or each node by itself."""

    nodes: NodeCount | None = Field(default=None, description="how many nodes")
    node: list[PoolNode] = Field(default=[], description="each node by itself: id, site, capacity, core")
    sites: list[Name] = Field(default=["site"], min_length=1, description="the physical clusters that they stand in")
    disk: SizeBytes = Field(default=2 * 10**12, description='the disk of a node, for min_nodes = "auto"')


class LoadTable(Strict):
    """``[[load]]``: the jobs of one MR-cluster, of the paper, of applications, or of a trace."""

    cluster: Name = Field(description="the MR-cluster that runs them, but those of a trace that name one")
    paper: str | None = Field(default=None, description="a workload of the paper: WKLD-A to WKLD-E")
    part: Name | None = Field(default=None, description="whose jobs of it: c-1, c-2 or c-3; else those of its own name")
    apps: list[str] | None = Field(
        default=None, description="applications by their codes, such as WC, or the paths of files"
    )
    jobs: dict[str, JobCount] | None = Field(default=None, description="how many jobs of each size")
    arrivals: str = Field(default="batch", description="average, batch, bursty or sequential")
    per_hour: Positive | None = Field(default=None, description="jobs an hour, for average and bursty arrivals")
    trace: LocalPath | None = Field(default=None, description="a file beside this one")
    format: TraceFormat | None = Field(default=None, description="the format of the trace; else by its content")
    demands: LocalPath | None = Field(default=None, description="a table of what each task asks, beside this file")
    limit: Count | None = Field(default=None, description="only so many jobs, the first ones")
    time_factor: Factor = Field(default=1.0, description="arrivals are multiplied by it")
    size_factor: Factor = Field(default=1.0, description="bytes are multiplied by it")
    reference: Literal["alone", "none"] = Field(
        default="alone", description="reference times: of each job alone on its minimum nodes, or none"
    )


class FaultTable(Strict):
    """``[[fault]]``: a node that loses its power, or the one that has the masters of an MR-cluster then."""

    node: str | None = Field(default=None, description="the node")
    masters_of: Name | None = Field(
        default=None, description="the MR-cluster whose masters' node it is, instead of `node`"
    )
    at_us: DurationUs = Field(alias="at", description="when, from the start of the run")
    back_us: DurationUs | None = Field(
        default=None, alias="back", description="when it has power again, from the start of the run; never without it"
    )
    emptied: bool = Field(default=False, description="whether its disk is lost as well")


class BoundsTable(Strict):
    """``[bounds]``: what one call of a policy may take in an offline run, which ends when the policy takes more."""

    policy_time_us: Annotated[PositiveDurationUs, _TIME] = Field(
        default=10 * SECOND_US, alias="policy_time", description="time on a processor until it has answered"
    )
    policy_memory_bytes: Annotated[SizeBytes, _MEMORY] = Field(
        default=10**9, alias="policy_memory", description="memory beyond that of the interpreter"
    )


class ScenarioTable(WorkloadTable):
    """All keys of a scenario."""

    pool: PoolTable | None = Field(default=None, description="the nodes; else those of hosts or of the site")
    load: list[LoadTable] = Field(default=[], description="jobs by the hundred")
    fault: list[FaultTable] = Field(default=[], description="nodes that are lost")
    limit_us: PositiveDurationUs | None = Field(
        default=None, alias="limit", description="how long a run may take, in simulated time"
    )
    seed: Seed = Field(default=1, description="of all random numbers")
    bounds: BoundsTable = Field(default=BoundsTable(), description="what one call of a policy may take")


_SOURCES = {"paper": ("part",), "apps": ("jobs", "arrivals", "per_hour"), "trace": ("format", "demands")}


def load_scenario(path: Path, changes: Mapping[str, Any] = {}) -> ScenarioTable:
    """The checked tables of a scenario; ConfigError names file, key and value of all that is wrong.

    ``changes`` are keys of its tables with other values, such as ``model.disk`` (`fawkes.config.workloads.changes`); an
    error that comes from them names them too. What needs a pool, such as minimums,
    ``fawkes.config.workloads.workloads.workload_of`` checks.
    """
    said = tables_including(ScenarioTable, path, hint="`fawkes simulate WKLD-D` needs no file")
    table = scenario_of(said, path)
    if not changes:
        return table
    with blamed(path, changes):
        return scenario_of(changed(said, changes), path)


def scenario_of(said: Mapping[str, Any], path: Path) -> ScenarioTable:
    """The tables of a scenario, checked; ``path`` is their file, for errors and for the files that they name."""
    table = check(ScenarioTable, said, file=str(path))
    table = table.model_copy(update={"model": completed(table.model, path)})
    faults = Faults(path)
    for number, load in enumerate(table.load, 1):
        _check_load(load, table, f"load[#{number}]", faults)
    for number, fault in enumerate(table.fault, 1):
        _check_fault(fault, table, f"fault[#{number}]", faults)
    _check_pool(table, faults)
    faults.refuse()
    return table


def _check_fault(fault: FaultTable, table: ScenarioTable, key: str, faults: Faults) -> None:
    if (fault.node is None) == (fault.masters_of is None):
        what = "is missing" if fault.node is None else "means nothing beside masters_of"
        faults.add(what, f"{key}.node", "Give either node or masters_of")
    clusters = {cluster.id or "": cluster for cluster in table.cluster}
    if fault.masters_of is not None and fault.masters_of not in clusters:
        hint = did_you_mean(fault.masters_of, clusters, kind="there are")
        faults.add(f"there is no MR-cluster {fault.masters_of!r}", f"{key}.masters_of", hint)
    if fault.back_us is not None and fault.back_us <= fault.at_us:
        faults.add("comes back before it is lost", f"{key}.back", "Give a time after at")


def _check_load(load: LoadTable, table: ScenarioTable, key: str, faults: Faults) -> None:
    said = written(load)
    sources = sorted(said & set(_SOURCES))
    if len(sources) != 1:
        what = f"{' and '.join(sources)} are both given" if sources else "has no jobs"
        faults.add(what, key, "Give one of: paper, apps, trace")
        return
    for source, keys in _SOURCES.items():
        for name in sorted(said & set(keys)):
            if source not in said:
                faults.add(f"means nothing without {source}", f"{key}.{name}", f"This load has {sources[0]}")
    if "apps" in said and "jobs" not in said:
        faults.add("is missing", f"{key}.jobs", "Give it beside apps")
    clusters = {cluster.id or "": cluster for cluster in table.cluster}
    if load.cluster not in clusters:
        hint = did_you_mean(load.cluster, clusters, kind="there are")
        faults.add(f"there is no MR-cluster {load.cluster!r}", f"{key}.cluster", hint)


def _check_pool(table: ScenarioTable, faults: Faults) -> None:
    if table.pool is None:
        return
    for name in _twice(table.pool.sites):
        faults.add(f"the site {name!r} is named twice", "pool.sites", "Name each once")
    for name in _twice([node.id for node in table.pool.node]):
        faults.add(f"the node {name!r} is named twice", "pool.node", "Name each once")
    if (table.pool.nodes is None) == (not table.pool.node):
        faults.add("nodes and [[pool.node]] are a choice of one", "pool.nodes", "Give how many, or each by itself")
    if table.pool.node and "sites" in written(table.pool):
        faults.add("means nothing beside [[pool.node]]", "pool.sites", "Each node has its own site")
    if table.pool.nodes is not None and len(table.pool.sites) > table.pool.nodes:
        faults.add(
            f"{len(table.pool.sites)} sites are more than {table.pool.nodes} nodes",
            "pool.sites",
            "Each site needs a node",
        )


def _twice(names: Sequence[str]) -> list[str]:
    return sorted(name for name, count in Counter(names).items() if count > 1)
