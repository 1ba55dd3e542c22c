"""Overrides of Hadoop's own configuration files, as administrators write them in the file of an MR-cluster."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Annotated

from pydantic import Field, PlainValidator

from fawkes.config.fields import SizeBytes
from fawkes.config.loader import Strict, did_you_mean, wrong

SITES = ("core-site", "hdfs-site", "yarn-site", "mapred-site", "capacity-scheduler", "hadoop-policy")

_WHERE_MASTERS_ARE = "Fawkes itself decides where the masters are: see the key masters"

OWNED = {
    "fs.defaultFS": "Fawkes sets it to the MR-cluster's NameNode",
    "dfs.blocksize": "Use the key block_size",
    "dfs.datanode.httpserver.filter.handlers": "Fawkes closes the DataNodes' web servers with it: see the key clients",
    "dfs.ha.automatic-failover.enabled": _WHERE_MASTERS_ARE,
    "dfs.hosts": "Fawkes writes the list of members",
    "dfs.hosts.exclude": "Fawkes writes the list of members that leave",
    "dfs.nameservices": _WHERE_MASTERS_ARE,
    "dfs.replication": "Use the key replication",
    "hadoop.http.filter.initializers": "Fawkes closes the web servers with it: see the key clients",
    "yarn.app.mapreduce.am.admin-command-opts": "Fawkes closes the ports of jobs with it: use ...am.command-opts",
    "yarn.resourcemanager.ha.automatic-failover.enabled": _WHERE_MASTERS_ARE,
    "yarn.resourcemanager.ha.enabled": _WHERE_MASTERS_ARE,
    "yarn.resourcemanager.ha.rm-ids": _WHERE_MASTERS_ARE,
    "yarn.resourcemanager.hostname": "Fawkes sets it to the MR-cluster's first core node",
    "yarn.resourcemanager.nodes.exclude-path": "Fawkes writes the list of members that leave",
    "yarn.resourcemanager.nodes.include-path": "Fawkes writes the list of members",
}
"""Keys that decide who belongs to an MR-cluster, or that have a key of their own."""

FOLDERS = frozenset(
    {
        "dfs.data.dir",
        "dfs.datanode.data.dir",
        "dfs.domain.socket.path",
        "dfs.journalnode.edits.dir",
        "dfs.name.dir",
        "dfs.name.edits.dir",
        "dfs.namenode.checkpoint.dir",
        "dfs.namenode.checkpoint.edits.dir",
        "dfs.namenode.edits.dir",
        "dfs.namenode.legacy-oiv-image.dir",
        "dfs.namenode.name.dir",
        "dfs.namenode.shared.edits.dir",
        "fs.checkpoint.dir",
        "fs.checkpoint.edits.dir",
        "hadoop.tmp.dir",
        "io.seqfile.local.dir",
        "mapred.local.dir",
        "mapreduce.cluster.local.dir",
        "mapreduce.jobhistory.recovery.store.fs.uri",
        "mapreduce.jobhistory.recovery.store.leveldb.path",
        "yarn.node-attribute.fs-store.root-dir",
        "yarn.node-labels.fs-store.root-dir",
        "yarn.nodemanager.local-dirs",
        "yarn.nodemanager.log-dirs",
        "yarn.nodemanager.recovery.dir",
        "yarn.resourcemanager.fs.state-store.uri",
        "yarn.resourcemanager.leveldb-state-store.path",
        "yarn.resourcemanager.store.class",
        "yarn.timeline-service.leveldb-state-store.path",
        "yarn.timeline-service.leveldb-timeline-store.path",
    }
)
"""Keys, older names included, that say where data, logs and state lie: elsewhere no wipe would find them."""

_FOLDERS_HINT = (
    "All of an MR-cluster lies below the work folder of its node, or the wipe misses it: set work_dir in inventory.toml"
)

_VERSION = re.compile(r"\d+\.\d+\.\d+")


def _sites(value: object) -> dict[str, dict[str, str]]:
    if not isinstance(value, Mapping):
        raise wrong(f"{value!r} is no table of files", "Write [hadoop.yarn-site] and its keys below it")
    sites: dict[str, dict[str, str]] = {}
    for site, keys in value.items():
        if site not in SITES:
            raise wrong(f"there is no configuration file {site!r}", did_you_mean(site, SITES))
        if not isinstance(keys, Mapping):
            raise wrong(f"{site} = {keys!r} is no table of keys", f"Write [hadoop.{site}] and its keys below it")
        sites[site] = {}
        for key, text in _flat(keys):
            if key in sites[site]:
                raise wrong(f"{site} has the key {key!r} twice", "Write it once, with or without quotes")
            sites[site][key] = text
    return sites


def _flat(keys: Mapping[str, object], before: str = "") -> Iterator[tuple[str, str]]:
    """TOML reads a key without quotes, such as ``yarn.acl.enable``, as tables in tables: put it together again."""
    for name, value in keys.items():
        key = f"{before}.{name}" if before else name
        if isinstance(value, Mapping):
            yield from _flat(value, key)
            continue
        if key != key.strip():
            # Hadoop reads it without the blanks: it would be another key than the one that is looked at here.
            raise wrong(f"the key {key!r} begins or ends with a blank", f"Write {key.strip()!r}")
        if key in OWNED:
            raise wrong(f"{key!r} cannot be overridden", OWNED[key])
        if key in FOLDERS:
            raise wrong(f"{key} = {value!r} cannot be overridden", _FOLDERS_HINT)
        if isinstance(value, bool):
            yield key, str(value).lower()
        elif isinstance(value, str | int | float):
            yield key, str(value)
        else:
            raise wrong(f"{key} = {value!r} is no value for Hadoop", "Write text, a number, true or false")


def full_version(text: str) -> str:
    """A version of Hadoop with all of its three numbers; the error for a validator when it is none."""
    if not _VERSION.fullmatch(text):
        raise wrong(f"{text!r} is no version of Hadoop", 'Write all three numbers in quotes, such as "3.5.0"')
    return text


HadoopSites = Annotated[dict[str, dict[str, str]], PlainValidator(_sites)]


class RoleTable(Strict):
    """``[role.ROLE]``: what holds for nodes of one role only."""

    hadoop: HadoopSites = Field(default={}, description="Hadoop's own keys, by file")


class RoleTables(Strict):
    """``[role]``: the roles that differ."""

    core: RoleTable = Field(default=RoleTable(), description="core nodes")
    transient: RoleTable = Field(default=RoleTable(), description="transient nodes")
    transient_core: RoleTable = Field(default=RoleTable(), alias="transient-core", description="transient-core nodes")


class Heap(Strict):
    """``[heap]``: the largest heap of each daemon."""

    namenode: SizeBytes | None = Field(default=None, description="the NameNode")
    journalnode: SizeBytes | None = Field(default=None, description="each JournalNode")
    datanode: SizeBytes | None = Field(default=None, description="each DataNode")
    resourcemanager: SizeBytes | None = Field(default=None, description="the ResourceManager")
    nodemanager: SizeBytes | None = Field(default=None, description="each NodeManager")
    historyserver: SizeBytes | None = Field(default=None, description="the JobHistory server")
