"""From a scenario's file to a plan: the pool, the model's constants, and the jobs of its loads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from fawkes.catalog import Catalog, Kind
from fawkes.config.inventory import Inventory, InventoryNode
from fawkes.config.loader import Faults, did_you_mean
from fawkes.config.model import ModelTable
from fawkes.config.scenarios import LoadTable, ScenarioTable, load_scenario
from fawkes.config.site import Site
from fawkes.config.workloads import Arrival, Submission, Workload, workload_of
from fawkes.core.model import ClusterId, Node, NodeId
from fawkes.errors import ConfigError, UserError
from fawkes.offline.load import Coming, Demand, coming
from fawkes.offline.plan import Plan
from fawkes.offline.scenario import LIMIT_US, pool_of
from fawkes.sim.constants import DAS4, Constants
from fawkes.sim.steps import Delays, Loss
from fawkes.units import SECOND_US
from fawkes.workload import swf, swim
from fawkes.workload.arrivals import NAMED
from fawkes.workload.classes import APPLICATIONS, DEFAULTS, NAMES, Mix, generate, workload
from fawkes.workload.model import TraceJob

_HOUR_US = 3600 * SECOND_US


def read_plan(site: Site, catalog: Catalog, name: str, seed: int | None = None) -> Plan:
    """The plan of a workload by name, or of a file; ``seed`` wins over the file's.

    Without ``[pool]`` and ``hosts`` the pool is the inventory of the site. ConfigError names file, key and value.
    """
    found = catalog.find(Kind.WORKLOAD, name)
    table = load_scenario(found.path)
    seed = table.seed if seed is None else seed
    inventory, nodes = _pool(table, found.path, site)
    said = workload_of(table, found.path, inventory, site=site.root, catalog=catalog)
    faults = Faults(found.path)
    for number, fault in enumerate(table.fault, 1):
        if fault.node not in {node.id for node in nodes}:
            hint = f"The nodes are {nodes[0].id} to {nodes[-1].id}"
            faults.add(f"there is no node {fault.node!r}", f"fault[#{number}].node", hint)
        if fault.back_us is not None and fault.back_us <= fault.at_us:
            faults.add("comes back before it is lost", f"fault[#{number}].back", "Give a time after at")
    faults.refuse()
    loads: dict[str, tuple[Coming, ...]] = {}
    for number, load in enumerate(table.load, 1):
        loads[load.cluster] = (
            *loads.get(load.cluster, ()),
            *_jobs(load, found.path, f"load[#{number}]", seed),
        )
    demands = tuple(_demand(arrival, said, loads.get(arrival.spec.id, ())) for arrival in said.clusters)
    _check_ids(demands, found.path)
    return Plan(
        name=found.path.stem,
        title=said.title,
        nodes=nodes,
        settings=table.settings,
        demands=demands,
        seed=seed,
        constants=_constants(table.model, said.network_bytes),
        delays=replace(Delays(), **_said(table.model, Delays)),
        losses=tuple(Loss(NodeId(fault.node), fault.at_us, fault.back_us) for fault in table.fault),
        limit_us=table.limit_us or LIMIT_US,
        file=str(found.path),
        base=found.path.parent,
        unreferenced=frozenset(load.cluster for load in table.load if load.reference == "none"),
    )


def _pool(table: ScenarioTable, path: Path, site: Site) -> tuple[Inventory, tuple[Node, ...]]:
    count = table.pool.nodes if table.pool else table.hosts
    if count is None:
        if not site.inventory_file.exists():
            hint = "Give [pool] with nodes, or a --site with an inventory.toml"
            raise ConfigError("says nothing of the nodes", file=str(path), key="pool", hint=hint)
        inventory = site.inventory(need_keys=False)
        return inventory, tuple(_node(one) for one in inventory.nodes)
    nodes = pool_of(count, table.pool.sites if table.pool else ("site",))
    disk = table.pool.disk if table.pool else 2 * 10**12
    return Inventory(path.stem, tuple(_simulated(node, disk) for node in nodes), Path()), nodes


def _node(one: InventoryNode) -> Node:
    return Node(id=NodeId(one.name), site=one.site, capacity_milli=round(one.capacity * 1000), may_core=one.may_core)


def _simulated(node: Node, disk_bytes: int) -> InventoryNode:
    """A node of which only the name, the site and the disk count: nobody will speak to it."""
    return InventoryNode(
        name=node.id,
        group="pool",
        site=node.site,
        address=node.id,
        data_address=node.id,
        user="",
        port=22,
        key=None,
        may_core=True,
        cores=1,
        memory_bytes=1,
        disk_bytes=disk_bytes,
        capacity=1.0,
        work_dir="",
        software_dir="",
        java_home=None,
        attributes={},
    )


def _constants(model: ModelTable, network_bytes: int | None) -> Constants:
    """The paper's platform with what the scenario says; the limit of a lab's network counts as well."""
    said = _said(model, Constants)
    if network_bytes is not None:
        said = {"network_bytes_s": network_bytes, **said}
    return replace(DAS4, **said)


def _said(model: ModelTable, kind: type[Constants] | type[Delays]) -> dict[str, Any]:
    return {one.name: value for one in fields(kind) if (value := getattr(model, one.name, None)) is not None}


def _demand(arrival: Arrival, said: Workload, load: tuple[Coming, ...]) -> Demand:
    mine = [one for one in said.jobs if one.spec.cluster == arrival.spec.id]
    return Demand(
        spec=arrival.spec,
        requested_us=arrival.at_us,
        behind=ClusterId(arrival.after) if arrival.after else None,
        jobs=(*_since(mine, "request"), *load),
        once_running=_since(mine, "running"),
        from_start=_since(mine, "start"),
    )


def _since(jobs: Sequence[Submission], moment: str) -> tuple[Coming, ...]:
    return tuple(Coming(one.delay_us, one.spec) for one in jobs if one.after == moment)


def _check_ids(demands: Sequence[Demand], path: Path) -> None:
    seen: set[str] = set()
    for demand in demands:
        for one in demand.all_jobs:
            if one.spec.id in seen:
                hint = "Give [[job]] other ids than those of the loads, or each MR-cluster one load of a kind"
                raise ConfigError(f"two jobs have the id {one.spec.id!r}", file=str(path), hint=hint)
            seen.add(one.spec.id)


def _jobs(load: LoadTable, path: Path, key: str, seed: int) -> tuple[Coming, ...]:
    """The jobs of a load, their times from the request of its MR-cluster."""
    if load.paper is not None:
        jobs = _of_paper(load, path, key, seed)
    elif load.apps is not None:
        jobs = _generated(load, path, key, seed)
    else:
        jobs = _traced(load, path)
    jobs = jobs[: load.limit]
    kept = {job.id for job in jobs}
    if load.time_factor != 1 or load.size_factor != 1:
        jobs = tuple(swim.scaled(job, load.time_factor, load.size_factor) for job in jobs)
    return coming((replace(job, after=tuple(one for one in job.after if one in kept)) for job in jobs), load.cluster)


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
    return _renamed(
        tuple(replace(job, submit_us=job.submit_us - part.requested_us) for job in part.jobs),
        lambda text: load.cluster + text.removeprefix(wanted),
    )


def _generated(load: LoadTable, path: Path, key: str, seed: int) -> tuple[TraceJob, ...]:
    for code in load.apps or ():
        if code not in APPLICATIONS:
            hint = did_you_mean(code, APPLICATIONS)
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
            load.cluster, Mix(tuple(load.apps or ()), counts), load.arrivals, seed, label=path.stem, choice=choice
        )
    except UserError as error:
        raise ConfigError(error.what, file=str(path), key=f"{key}.jobs", hint=error.hint) from None


def _traced(load: LoadTable, path: Path) -> tuple[TraceJob, ...]:
    file = path.parent / (load.trace or Path())
    jobs = (swf.read(file) if load.format == "swf" else swim.read(file)).jobs
    begin_us = jobs[0].submit_us
    return _renamed(
        tuple(replace(job, submit_us=job.submit_us - begin_us) for job in jobs[: load.limit]),
        lambda text: f"{load.cluster}-{text}",
    )


def _renamed(jobs: Sequence[TraceJob], name: Callable[[str], str]) -> tuple[TraceJob, ...]:
    return tuple(replace(job, id=name(job.id), after=tuple(name(one) for one in job.after)) for job in jobs)
