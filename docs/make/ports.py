"""The ports that daemons listen on."""

from __future__ import annotations

from docs.make.table import table
from fawkes.core.model import Role
from fawkes.live.hadoop_conf import Ports


def ports() -> str:
    """Each port, its daemon, and the nodes that listen on it."""
    listening = Ports()
    transient = set(listening.of(Role.TRANSIENT, master=False))
    storing = set(listening.of(Role.CORE, master=False))
    rows = []
    for name, port in sorted(vars(listening).items(), key=lambda item: item[1]):
        where = "all nodes" if port in transient else "nodes that store data" if port in storing else "the masters' node"
        rows.append((str(port), name.replace("_", " "), where))
    return table(["port", "daemon or service", "listens on"], rows)
