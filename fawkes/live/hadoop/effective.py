"""The configuration of a node: as Fawkes writes it, and as its daemons have it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from fawkes.core.values.model import NodeId, Role
from fawkes.live.base import limits
from fawkes.live.hadoop import hadoop_conf
from fawkes.live.hadoop.ports import Ports
from fawkes.live.hadoop.setup import Setup
from fawkes.live.nodes.clusters import LiveCluster
from fawkes.live.nodes.playbooks import hadoop
from fawkes.live.wire.rest import Deadline, UnreadableError, get_json

#: as in Hadoop's own answers, but as XML has it
HIDDEN = "&lt;redacted&gt;"
_SECRET = re.compile(r"(?i)(<name>[^<]*(?:secret|password|passwd|keypass|token|credential)</name>\s*<value>)[^<]*")
#: the daemons that tell how they run: their web port, and the files that they read
DAEMONS: Mapping[str, tuple[int, tuple[str, ...]]] = {
    "namenode": (Ports.namenode_web, ("core-site.xml", "hdfs-site.xml")),
    "datanode": (Ports.datanode_web, ("core-site.xml", "hdfs-site.xml")),
    "journalnode": (Ports.journal_web, ("core-site.xml", "hdfs-site.xml")),
    "resourcemanager": (Ports.resourcemanager_web, ("core-site.xml", "yarn-site.xml")),
    "nodemanager": (Ports.nodemanager_web, ("core-site.xml", "yarn-site.xml")),
    "historyserver": (Ports.history_web, ("core-site.xml", "yarn-site.xml", "mapred-site.xml")),
}
#: where a daemon has a value from that no file has; the spelling is Hadoop's
_ITS_OWN = ("programatically", "programmatically")
_OF_HDFS = ("namenode", "datanode", "journalnode")


def written(setup: Setup, cluster: LiveCluster, node: NodeId, role: Role) -> dict[str, str]:
    """The texts of a node's configuration, by file name, as Fawkes would write them now; secrets are hidden."""
    texts = {
        name: text
        for name, text in setup.files(cluster, node, role).items()
        if isinstance(text, str) and name not in hadoop.PRIVATE_FILES | {hadoop_conf.DOORS_JAR}
    }
    return {name: _SECRET.sub(rf"\1{HIDDEN}", text) for name, text in sorted(texts.items())}


def running(
    setup: Setup, cluster: LiveCluster, node: NodeId, role: Role, address: str
) -> dict[str, dict[str, str | None] | None]:
    """The settings that each daemon of a node has in force, by its own word; None for one that does not answer.

    A value is None where the daemon itself has put another one in the place of what it has read: host names for
    addresses, further filters.
    """
    names = [daemon.name for daemon in setup.daemons(cluster, node, role) if daemon.name in DAEMONS]
    key, deadline = setup.masters(cluster).key, Deadline.after(limits.MASTERS_S)

    def ask(name: str) -> dict[str, str | None] | None:
        scheme = "https" if name in _OF_HDFS and not isinstance(key, str) else "http"
        url = f"{scheme}://{address}:{DAEMONS[name][0]}/conf"
        try:
            answer: Any = get_json(url, deadline, key=key)
            rows = answer["properties"]
            return {str(row["key"]): None if row["resource"] in _ITS_OWN else str(row["value"]) for row in rows}
        except (UnreadableError, KeyError, TypeError):
            return None

    with ThreadPoolExecutor(max(1, len(names))) as threads:
        return dict(zip(names, threads.map(ask, names), strict=True))
