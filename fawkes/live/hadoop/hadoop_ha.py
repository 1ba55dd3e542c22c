"""Hadoop's configuration for an MR-cluster with a journal: three nodes on which its masters may stand, by one name.

Everybody knows all three, whether masters run there or not. So nobody's configuration changes when masters move among
them, but for the address of the JobHistory server.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from fawkes.live.hadoop.ports import Ports
from fawkes.playbook import Folders

HA_KEYS = frozenset(
    {
        "dfs.ha.automatic-failover.enabled",
        "dfs.nameservices",
        "yarn.resourcemanager.ha.automatic-failover.enabled",
        "yarn.resourcemanager.ha.enabled",
        "yarn.resourcemanager.ha.rm-ids",
    }
)
"""Keys that nobody overrides: by them all daemons find the masters, and nobody but Fawkes makes masters active."""

RM_STATE = "/yarn-state"
"""The folder in HDFS from which a ResourceManager recovers, on whichever node it starts."""

_PROVIDER = "org.apache.hadoop.hdfs.server.namenode.ha.ConfiguredFailoverProxyProvider"
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9-]")


def nameservice(cluster: str) -> str:
    """The name by which HDFS knows an MR-cluster: the host of a URL for Java, which begins with a letter."""
    name = _NOT_IN_NAMES.sub("-", cluster).strip("-")
    return name if name[:1].isalpha() else f"mr-{name}"


@dataclass(frozen=True, kw_only=True)
class Trio:
    """The nodes of a journal: ``addresses`` by id, in one order for everybody. ``name`` is that of the nameservice."""

    name: str
    addresses: Mapping[str, str]

    @property
    def url(self) -> str:
        """The URL of its HDFS."""
        return f"hdfs://{self.name}"


def core(trio: Trio, *, quick: bool) -> dict[str, str]:
    """Keys of ``core-site``: a dead node is passed over in seconds, not after 45 tries of 20 s."""
    return {
        "fs.defaultFS": trio.url,
        "ipc.client.connect.timeout": "1000" if quick else "3000",
        "ipc.client.connect.max.retries.on.timeouts": "2",
        # A call that its node has taken along when it lost power: two minutes otherwise.
        "ipc.client.rpc-timeout.ms": "30000",
        "ipc.ping.interval": "10000",
    }


def hdfs(trio: Trio, ports: Ports, folders: Folders, address: str, *, quick: bool) -> dict[str, str]:
    """Keys of ``hdfs-site`` on the node with an address."""
    name = trio.name
    journal = ";".join(f"{host}:{ports.journal}" for host in trio.addresses.values())
    sites = {
        "dfs.nameservices": name,
        f"dfs.ha.namenodes.{name}": ",".join(trio.addresses),
        "dfs.namenode.shared.edits.dir": f"qjournal://{journal}/{name}",
        "dfs.journalnode.edits.dir": str(folders.journal),
        "dfs.journalnode.rpc-address": f"{address}:{ports.journal}",
        "dfs.journalnode.http-address": f"{address}:{ports.journal_web}",
        # Segments that a JournalNode missed while it was away come from the others.
        "dfs.journalnode.enable.sync": "true",
        "dfs.journalnode.sync.interval": "10000" if quick else "60000",
        f"dfs.client.failover.proxy.provider.{name}": _PROVIDER,
        "dfs.ha.automatic-failover.enabled": "false",
        # The second NameNode reads what the journal has while it is being written, not after each two minutes.
        "dfs.ha.tail-edits.in-progress": "true",
        "dfs.ha.tail-edits.period": "500ms" if quick else "1s",
        # A busy machine is no reason for the NameNode to end itself.
        "dfs.qjournal.start-segment.timeout.ms": "60000",
        "dfs.qjournal.write-txns.timeout.ms": "60000",
        # A client that was given a DataNode without power takes another one after this and 5 s for each replica.
        "dfs.client.socket-timeout": "5000" if quick else "20000",
        # Clients go on trying for two minutes, and never wait long between two tries: by default, up to 15 s.
        "dfs.client.failover.sleep.base.millis": "200",
        "dfs.client.failover.sleep.max.millis": "1000",
        "dfs.client.failover.max.attempts": "120",
        "dfs.client.retry.max.attempts": "120",
    }
    for node, host in trio.addresses.items():
        sites[f"dfs.namenode.rpc-address.{name}.{node}"] = f"{host}:{ports.namenode}"
        sites[f"dfs.namenode.http-address.{name}.{node}"] = f"{host}:{ports.namenode_web}"
        if host == address:
            sites["dfs.ha.namenode.id"] = node
    return sites


def https(trio: Trio, ports: Ports, address: str) -> dict[str, str]:
    """Keys of ``hdfs-site`` on the node with an address: HTTPS has the ports that HTTP has without Kerberos."""
    sites = {
        f"dfs.namenode.https-address.{trio.name}.{node}": f"{host}:{ports.namenode_web}"
        for node, host in trio.addresses.items()
    }
    return sites | {"dfs.journalnode.https-address": f"{address}:{ports.journal_web}"}


def yarn(trio: Trio, ports: Ports, address: str, *, quick: bool) -> dict[str, str]:
    """Keys of ``yarn-site`` on the node with an address: where a ResourceManager may be, and that it waits for us."""
    key = "yarn.resourcemanager"
    sites = {
        f"{key}.ha.enabled": "true",
        f"{key}.ha.rm-ids": ",".join(trio.addresses),
        f"{key}.ha.automatic-failover.enabled": "false",
        f"{key}.cluster-id": trio.name,
        "yarn.client.failover-sleep-base-ms": "100" if quick else "500",
        "yarn.client.failover-sleep-max-ms": "1000" if quick else "2000",
    }
    for node, host in trio.addresses.items():
        sites |= {
            f"{key}.hostname.{node}": host,
            f"{key}.address.{node}": f"{host}:{ports.resourcemanager}",
            f"{key}.scheduler.address.{node}": f"{host}:{ports.scheduler}",
            f"{key}.resource-tracker.address.{node}": f"{host}:{ports.tracker}",
            f"{key}.admin.address.{node}": f"{host}:{ports.admin}",
            # Without it every ApplicationMaster ends with a NullPointerException.
            f"{key}.webapp.address.{node}": f"{host}:{ports.resourcemanager_web}",
        }
        if host == address:
            sites[f"{key}.ha.id"] = node
    return sites


def state_store(default_fs: str) -> dict[str, str]:
    """Keys of ``yarn-site``: the ResourceManager's state lies in HDFS, and is waited for as long as masters move."""
    return {
        "yarn.resourcemanager.fs.state-store.uri": f"{default_fs}{RM_STATE}",
        "yarn.resourcemanager.fs.state-store.num-retries": "60",
        "yarn.resourcemanager.fs.state-store.retry-interval-ms": "1000",
    }
