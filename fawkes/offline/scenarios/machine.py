"""The machine that a scenario describes: its pool, and the constants of the model."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from fawkes.base.errors import ConfigError
from fawkes.base.units import SECOND_US
from fawkes.config.nodes.inventory import Inventory, InventoryNode
from fawkes.config.site.site import Site
from fawkes.config.workloads.model import ModelTable
from fawkes.config.workloads.scenarios import BoundsTable, PoolTable, ScenarioTable
from fawkes.core.values.model import Node, NodeId
from fawkes.offline.scenarios.scenario import pool_of
from fawkes.policy.worker.asking import WorkerLimits
from fawkes.sim.events.steps import Delays
from fawkes.sim.hadoop.constants import DAS4, Constants


def inventory_of(table: ScenarioTable, path: Path, site: Site | None) -> tuple[Inventory, tuple[Node, ...]]:
    """The pool of a scenario, as an inventory and as nodes; without ``[pool]`` and ``hosts`` that of the site.

    ConfigError when nobody describes the nodes.
    """
    count = (table.pool.nodes or len(table.pool.node)) if table.pool else table.hosts
    if count is None:
        if site is None or not site.inventory_file.exists():
            hint = "Give [pool] with nodes, or a --site with an inventory.toml"
            raise ConfigError("does not describe the nodes", file=str(path), key="pool", hint=hint)
        inventory = site.inventory(need_keys=False)
        return inventory, tuple(_node(row) for row in inventory.nodes)
    sites = table.pool.sites if table.pool else ("site",)
    nodes = _named(table.pool) if table.pool and table.pool.node else pool_of(count, sites)
    disk = table.pool.disk if table.pool else 2 * 10**12
    return Inventory(path.stem, tuple(_simulated(node, disk) for node in nodes), Path()), nodes


def _named(pool: PoolTable) -> tuple[Node, ...]:
    return tuple(
        Node(id=NodeId(node.id), site=node.site, capacity_milli=round(node.capacity * 1000), may_core=node.core)
        for node in pool.node
    )


def _node(node: InventoryNode) -> Node:
    capacity_milli = round(node.capacity * 1000)
    return Node(id=NodeId(node.name), site=node.site, capacity_milli=capacity_milli, may_core=node.may_core)


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
        may_core=node.may_core,
        cores=1,
        memory_bytes=1,
        disk_bytes=disk_bytes,
        capacity=node.capacity_milli / 1000,
        work_dir="",
        software_dir="",
        java_home=None,
        attributes={},
    )


#: of the containers, what Fawkes lets ApplicationMasters hold (live/hadoop/hadoop_conf.py)
MASTER_SHARE = 0.5


def constants_of(model: ModelTable, network_bytes: int | None, base: Constants = DAS4) -> Constants:
    """The constants of ``base`` with what the scenario says; the limit of a lab's network counts as well.

    Containers for either kind of task are YARN's, where ApplicationMasters hold some of them.
    """
    said = _said(model, Constants)
    if said.get("map_slots") == 0:
        said = {"master_share": MASTER_SHARE, **said}
    if network_bytes is not None:
        said = {"network_bytes_s": network_bytes, **said}
    return replace(base, **said)


def _said(model: ModelTable, kind: type[Constants] | type[Delays]) -> dict[str, Any]:
    return {figure.name: value for figure in fields(kind) if (value := getattr(model, figure.name, None)) is not None}


def delays_of(model: ModelTable) -> Delays:
    """The model's times of what is done on nodes."""
    return replace(Delays(), **_said(model, Delays))


def bounds_of(table: BoundsTable) -> WorkerLimits:
    """The time and the memory that one call of a policy may take."""
    return WorkerLimits(time_s=table.policy_time_us / SECOND_US, memory_bytes=table.policy_memory_bytes)
