"""What nodes need: ports, programs, Java; and how large daemons and containers are."""

from __future__ import annotations

from docs.make.table import code, table
from fawkes.base.units import show_bytes
from fawkes.core.values.model import Role
from fawkes.live.hadoop.hadoop_conf import TaskSizes
from fawkes.live.hadoop.ports import Ports
from fawkes.live.lab.sizing import DAEMONS_OF_HOST_BYTES, JOURNAL_BYTES, MASTERS_BYTES, SECOND_NAMENODE_BYTES
from fawkes.playbook.dist.pins import PINS
from playbooks.node import TOOLS

_GIB_MB = 1024


def ports() -> str:
    """Each port, its daemon, and the nodes that listen on it."""
    listening = Ports()
    transient = set(listening.of(Role.TRANSIENT, master=False))
    storing = set(listening.of(Role.CORE, master=False))
    masters = set(listening.of(Role.CORE, master=True))
    journal = set(listening.of(Role.CORE, master=False, journal=True))
    nodes = (
        (transient, "all nodes"),
        (storing, "nodes that store data"),
        (masters & journal, "the masters' node, and that of a second NameNode"),
        (masters, "the masters' node"),
        (journal, "the nodes of a journal"),
    )
    rows = []
    for name, port in sorted(vars(listening).items(), key=lambda item: item[1]):
        where = next(where for ports_there, where in nodes if port in ports_there)
        rows.append((str(port), name.replace("_", " "), where))
    return table(["port", "daemon or service", "listens on"], rows)


def programs() -> str:
    """The programs that a node must have."""
    return ", ".join(code(tool) for tool in TOOLS)


def java() -> str:
    """Each release that Fawkes fetches, and the versions of Java that it runs on."""
    rows = [
        (version, f"{pin.min_java} to {pin.max_java}" if pin.max_java else f"{pin.min_java} or later")
        for version, pin in PINS.items()
    ]
    return table(["Hadoop", "Java on the nodes"], rows)


def containers() -> str:
    """The sizes of containers for small and for large nodes, as Fawkes configures them."""
    rows = []
    for offered, nodes in ((_GIB_MB, "below 4 GiB"), (4 * _GIB_MB, "4 GiB or more")):
        sizes = TaskSizes.for_nodes(offered)
        rows.append((nodes, *(f"{each} MiB" for each in (sizes.master_mb, sizes.map_mb, sizes.reduce_mb))))
    return table(["`memory` of the node", "ApplicationMaster", "map", "reduce"], rows)


def daemons() -> str:
    """The memory of daemons with Hadoop's default heaps, as measured."""
    rows = [
        ("NodeManager and DataNode", "each node", show_bytes(DAEMONS_OF_HOST_BYTES)),
        ("NameNode, ResourceManager, JobHistory server", "the masters' node", show_bytes(MASTERS_BYTES)),
        ("JournalNode", "the three nodes of a journal", show_bytes(JOURNAL_BYTES)),
        ("second NameNode", "one of these three", show_bytes(SECOND_NAMENODE_BYTES)),
    ]
    return table(["daemons", "on", "memory"], rows)
