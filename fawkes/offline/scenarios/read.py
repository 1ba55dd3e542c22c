"""The way from a scenario's file to a plan: the pool, the model's constants, and the jobs of its loads."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from fawkes.base.catalog import Catalog, Kind
from fawkes.base.errors import ConfigError, UserError
from fawkes.base.units import SECOND_US
from fawkes.config.files.loader import Faults, did_you_mean
from fawkes.config.site.site import Site
from fawkes.config.workloads.changes import blamed
from fawkes.config.workloads.model import ModelTable
from fawkes.config.workloads.scenarios import FaultTable, LoadTable, ScenarioTable, load_scenario
from fawkes.config.workloads.workloads import Arrival, Submission, WorkloadFile, workload_of
from fawkes.core.values.model import ClusterId, JobId, NodeId
from fawkes.offline.scenarios.demands import read_demands, with_demands
from fawkes.offline.scenarios.late import (
    Reach,
    refuse_beyond,
    refuse_endless,
    refuse_hopeless,
    refuse_late,
    refuse_long,
    refuse_wide,
)
from fawkes.offline.scenarios.load import Coming, Demand, coming
from fawkes.offline.scenarios.machine import bounds_of, constants_of, delays_of, inventory_of
from fawkes.offline.scenarios.notes import trace_notes
from fawkes.offline.scenarios.plan import Plan, paper_plan
from fawkes.offline.scenarios.scenario import LIMIT_US
from fawkes.sim.events.steps import Loss
from fawkes.sim.hadoop.profile import profile_of
from fawkes.workload.changing import operations
from fawkes.workload.formats import swim
from fawkes.workload.formats.formats import SWIM, read_workload
from fawkes.workload.formats.table import NAME as TABLE
from fawkes.workload.links import renamed
from fawkes.workload.making.applications import load_application
from fawkes.workload.making.arrivals import NAMED
from fawkes.workload.making.classes import (
    APPLICATIONS,
    DEFAULTS,
    NAMES,
    Application,
    Mix,
    generate,
    stages_of,
    workload,
)
from fawkes.workload.model import Trace, TraceJob

#: jobs of loads by MR-cluster; True if their times count from the start of the run, not from the request
_Loads = dict[tuple[str, bool], tuple[Coming, ...]]
MOST_TASKS = 20_000_000
"""The most tasks that all jobs of a run have: more would not fit into the memory of a usual machine."""

_HOUR_US = 3600 * SECOND_US


def plan_named(
    site: Site,
    catalog: Catalog,
    scenario: str | os.PathLike[str],
    seed: int | None = None,
    changes: Mapping[str, Any] = {},
) -> Plan:
    """The plan of a workload of the paper by its name, else of a file or a bundled workload.

    ``changes`` are keys of the scenario with other values (`fawkes.config.workloads.changes`). UserError without the
    folder of the site.
    """
    if not site.root.is_dir():
        raise UserError("there is no such folder", where=str(site.root), hint="Name the folder of a site, or none")
    name = os.fspath(scenario)
    if name.upper() in NAMES:
        return paper_plan(name.upper(), seed, changes)
    return read_plan(site, catalog, name, seed, changes=changes)


def read_plan(
    site: Site,
    catalog: Catalog,
    name: str,
    seed: int | None = None,
    *,
    model: ModelTable | None = None,
    changes: Mapping[str, Any] = {},
) -> Plan:
    """The plan of a workload by name, or of a file; ``seed``, ``changes`` and then ``model`` win over the file's.

    Without ``[pool]`` and ``hosts`` the pool is the inventory of the site. ConfigError names file, key and value, and
    the ``changes`` (`fawkes.config.workloads.changes`) where they were made.
    """
    path = catalog.find(Kind.WORKLOAD, name).path
    table = load_scenario(path, changes)
    if model is not None:
        table = table.model_copy(update={"model": model})
    with blamed(path, changes):
        return _plan(table, path, site, catalog, seed)


def _plan(table: ScenarioTable, path: Path, site: Site, catalog: Catalog, seed: int | None) -> Plan:
    seed = table.seed if seed is None else seed
    inventory, nodes = inventory_of(table, path, site)
    said = workload_of(table, path, inventory, site=site.root, catalog=catalog)
    faults = Faults(path)
    known = {node.id for node in nodes}
    for number, fault in enumerate(table.fault, 1):
        if fault.node is not None and fault.node not in known:
            hint = f"The nodes are {nodes[0].id} to {nodes[-1].id}"
            faults.add(f"there is no node {fault.node!r}", f"fault[#{number}].node", hint)
    faults.refuse()
    constants = constants_of(table.model, said.network_bytes)
    reach = Reach(table.limit_us or LIMIT_US, constants, len(nodes))
    loads: _Loads = {}
    notes: list[str] = []
    arrivals = {arrival.spec.id: arrival for arrival in said.clusters}
    unreferenced: set[JobId] = set()
    for number, load in enumerate(table.load, 1):
        for place, jobs in _jobs(load, arrivals, path, f"load[#{number}]", seed, reach, notes).items():
            loads[place] = (*loads.get(place, ()), *jobs)
            if load.reference == "none":
                unreferenced |= {job.spec.id for job in jobs}
    demands = tuple(_demand(arrival, said, loads) for arrival in said.clusters)
    _check_ids(demands, path)
    _check_tasks(demands, path)
    _check_times(demands, table.fault, path, reach.limit_us)
    refuse_endless((job.spec for demand in demands for job in demand.all_jobs), path, reach)
    refuse_wide((job.spec for demand in demands for job in demand.all_jobs), path, reach)
    return Plan(
        name=path.stem,
        title=said.title,
        nodes=nodes,
        settings=table.settings,
        demands=demands,
        seed=seed,
        constants=constants,
        delays=delays_of(table.model),
        losses=tuple(map(_loss, table.fault)),
        limit_us=reach.limit_us,
        bounds=bounds_of(table.bounds),
        file=str(path),
        base=path.parent,
        unreferenced=frozenset(unreferenced),
        notes=tuple(dict.fromkeys(notes)),
    )


def _check_times(demands: Sequence[Demand], faults: Sequence[FaultTable], path: Path, limit_us: int) -> None:
    """Refuse what has a time of its own beyond the limit; an MR-cluster behind another one has none."""
    requests = [(f"{demand.spec.id!r}", demand.requested_us) for demand in demands]
    refuse_beyond("requests for MR-clusters", requests, path, limit_us)
    jobs = [
        (f"the job {job.spec.id!r}", demand.requested_us + job.at_us)
        for demand in demands
        for job in (*demand.jobs, *demand.once_running)
    ]
    jobs += [(f"the job {job.spec.id!r}", job.at_us) for demand in demands for job in demand.from_start]
    refuse_beyond("jobs", jobs, path, limit_us)
    refuse_beyond("faults", [(f"fault[#{n}]", fault.at_us) for n, fault in enumerate(faults, 1)], path, limit_us)


def _loss(fault: FaultTable) -> Loss:
    masters_of = None if fault.masters_of is None else ClusterId(fault.masters_of)
    node = NodeId(fault.node or "")
    return Loss(node, fault.at_us, fault.back_us, masters_of=masters_of, emptied=fault.emptied)


def _demand(arrival: Arrival, said: WorkloadFile, loads: _Loads) -> Demand:
    mine = [job for job in said.jobs if job.spec.cluster == arrival.spec.id]
    return Demand(
        spec=arrival.spec,
        requested_us=arrival.at_us,
        behind=ClusterId(arrival.after) if arrival.after else None,
        jobs=(*_since(mine, "request"), *loads.get((arrival.spec.id, False), ())),
        once_running=_since(mine, "running"),
        from_start=(*_since(mine, "start"), *loads.get((arrival.spec.id, True), ())),
    )


def _since(jobs: Sequence[Submission], moment: str) -> tuple[Coming, ...]:
    return tuple(Coming(job.delay_us, job.spec) for job in jobs if job.after == moment)


def _check_ids(demands: Sequence[Demand], path: Path) -> None:
    seen: set[str] = set()
    for demand in demands:
        for job in demand.all_jobs:
            if job.spec.id in seen:
                hint = "Give each [[job]] an id that no load uses, and each MR-cluster only one load of a kind"
                raise ConfigError(f"two jobs have the id {job.spec.id!r}", file=str(path), hint=hint)
            seen.add(job.spec.id)


def _check_tasks(demands: Sequence[Demand], path: Path) -> None:
    profiles = [profile_of(job.spec) for demand in demands for job in demand.all_jobs]
    tasks = sum(profile.maps + profile.reduces for profile in profiles)
    if tasks > MOST_TASKS:
        what = f"all jobs together have {tasks:,} tasks, and a run may have {MOST_TASKS:,}"
        raise ConfigError(what, file=str(path), hint="Give fewer jobs, such as by `limit` of a load, or smaller ones")


def _jobs(
    load: LoadTable,
    arrivals: Mapping[ClusterId, Arrival],
    path: Path,
    key: str,
    seed: int,
    reach: Reach,
    notes: list[str],
) -> _Loads:
    """The jobs of a load. ``notes`` gets what a reader must know."""
    apps: Mapping[str, Application] = APPLICATIONS
    form = SWIM
    if load.paper is not None:
        jobs = _of_paper(load, path, key, seed)
    elif load.apps is not None:
        apps = {**APPLICATIONS, **_own(load.apps, path)}
        jobs = _generated(load, path, key, seed, apps)
    else:
        jobs, form = _traced(load, set(arrivals), path, key, reach.limit_us, notes)
    jobs = jobs[: load.limit]
    kept = {job.id for job in jobs}
    mine: dict[str, list[TraceJob]] = {load.cluster: []}
    jobs = tuple(_scaled(jobs, load, form))
    if load.trace is not None and load.demands is None:

        def name(job: TraceJob) -> str:
            return job.id if form == TABLE else job.id.removeprefix(f"{job.cluster or load.cluster}-")

        refuse_long(jobs, path.parent / load.trace, reach, stages_of(apps), name)
        refuse_hopeless(jobs, path.parent / load.trace, name)
    for job in jobs:
        known = replace(job, after=tuple(before for before in job.after if before in kept))
        mine.setdefault(job.cluster or load.cluster, []).append(known)
    loads: _Loads = {}
    for cluster, part in mine.items():
        arrival = arrivals[ClusterId(cluster)]
        # A table has the times of a whole run; nobody knows before when an MR-cluster behind another is requested.
        from_start = form == TABLE and bool(arrival.after)
        begin_us = arrival.at_us if form == TABLE and not from_start else 0
        come = coming(part, cluster, begin_us=begin_us, stages=stages_of(apps))
        loads[cluster, from_start] = (
            come if load.demands is None else with_demands(come, read_demands(path.parent / load.demands))
        )
    return loads


def _scaled(jobs: Sequence[TraceJob], load: LoadTable, form: str) -> Sequence[TraceJob]:
    """Times and sizes by the load's factors. SWIM's rules are for jobs that are known by their bytes."""
    if load.time_factor == 1 and load.size_factor == 1:
        return jobs
    if form == SWIM:
        return [swim.scaled(job, load.time_factor, load.size_factor) for job in jobs]
    trace = Trace(source="", jobs=tuple(jobs))
    return operations.scale(trace, time=load.time_factor, size=load.size_factor).jobs


def _own(names: Sequence[str], path: Path) -> dict[str, Application]:
    """The applications that are named by the path of their file, by that path."""
    return {name: replace(load_application(path.parent / name), code=name) for name in names if name.endswith(".toml")}


def _of_paper(load: LoadTable, path: Path, key: str, seed: int) -> tuple[TraceJob, ...]:
    name = (load.paper or "").upper()
    if name not in NAMES:
        hint = did_you_mean(name, NAMES)
        raise ConfigError(
            f"there is no workload {load.paper!r} in the paper", file=str(path), key=f"{key}.paper", hint=hint
        )
    parts = {part.cluster: part for part in workload(name, seed)}
    wanted = load.part or load.cluster
    if wanted not in parts:
        hint = f'Give part = "c-1", "c-2" or "c-3"; {name} has {", ".join(parts)}'
        raise ConfigError(f"{name} has no MR-cluster {wanted!r}", file=str(path), key=f"{key}.part", hint=hint)
    part = parts[wanted]
    return renamed(
        (replace(job, submit_us=job.submit_us - part.requested_us) for job in part.jobs),
        lambda text: load.cluster + text.removeprefix(wanted),
    )


def _generated(
    load: LoadTable, path: Path, key: str, seed: int, apps: Mapping[str, Application]
) -> tuple[TraceJob, ...]:
    for code in load.apps or ():
        if code not in apps:
            hint = did_you_mean(code, apps)
            raise ConfigError(f"there is no application {code!r}", file=str(path), key=f"{key}.apps", hint=hint)
    if load.arrivals not in NAMED:
        hint = did_you_mean(load.arrivals, NAMED)
        raise ConfigError(f"there are no arrivals {load.arrivals!r}", file=str(path), key=f"{key}.arrivals", hint=hint)
    counts = tuple((load.jobs or {}).items())
    choice = DEFAULTS
    if load.per_hour is not None:
        choice = replace(choice, span_us=round(sum(count for _, count in counts) * _HOUR_US / load.per_hour))
    try:
        return generate(
            load.cluster,
            Mix(tuple(load.apps or ()), counts),
            load.arrivals,
            seed,
            # Not the name of the file: scenarios that differ in anything else compare the same jobs.
            label="load",
            choice=choice,
            apps=apps,
        )
    except UserError as error:
        raise ConfigError(error.what, file=str(path), key=f"{key}.jobs", hint=error.hint) from None


def _traced(
    load: LoadTable, clusters: Collection[str], path: Path, key: str, limit_us: int, notes: list[str]
) -> tuple[tuple[TraceJob, ...], str]:
    """The jobs of a trace in any format, and which one it is; a job that names an MR-cluster is for that one."""
    trace = read_workload(path.parent / (load.trace or Path()), format=load.format)
    if load.demands is None:
        notes += trace_notes(trace, trace.jobs[: load.limit])
    for job in trace.jobs:
        if job.cluster and job.cluster not in clusters:
            what = f"the job {job.id!r} is for the MR-cluster {job.cluster!r}, which does not exist"
            hint = did_you_mean(job.cluster, clusters, kind="there are")
            raise ConfigError(what, file=str(path), key=f"{key}.trace", hint=hint)
    table = trace.format == TABLE
    refuse_late(trace.jobs[: load.limit], path.parent / (load.trace or Path()), load.time_factor, limit_us, table=table)
    if table:
        return trace.jobs, TABLE
    begin_us = trace.jobs[0].submit_us
    names = {job.id: f"{job.cluster or load.cluster}-{job.id}" for job in trace.jobs}
    jobs = (replace(job, submit_us=job.submit_us - begin_us) for job in trace.jobs[: load.limit])
    return renamed(jobs, names.__getitem__), trace.format
