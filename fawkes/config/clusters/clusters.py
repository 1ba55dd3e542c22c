"""``clusters/NAME.toml``: an MR-cluster as it is asked for, checked against the inventory."""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Container, Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, PlainValidator

from fawkes.config.clusters.details import KERBEROS, ClusterDetails, DataSet, Output
from fawkes.config.clusters.hadoop import HadoopSites, HeapTable, RoleTables, full_version
from fawkes.config.files.fields import (
    BlockBytes,
    Line,
    Name,
    NodeCount,
    RemoteFolder,
    SizeBytes,
    UserName,
    between,
    duration,
    positive,
)
from fawkes.config.files.loader import Faults, Strict, check, did_you_mean, read_toml, wrong
from fawkes.config.nodes.inventory import Inventory
from fawkes.config.settings.core import GROWTH
from fawkes.config.settings.kerberos import KerberosUser
from fawkes.config.settings.keys import Growth
from fawkes.core.values.model import JOURNAL_NODES, ClusterId, ClusterSpec, Promise
from fawkes.playbook.dist.pins import DEFAULT_VERSION

NEVER_US = 100 * 365 * 86_400 * 1_000_000
"""An idle time that no MR-cluster reaches."""

MOST_FOLDERS = 1_000
"""Data sets, outputs and scratch folders of one MR-cluster, each."""

GENERATED = "generated:"
"""What stands before the name of data that a workload generates."""

_HDFS = re.compile(r"hdfs://[A-Za-z0-9.-]+(:\d{1,5})?/.*")
_WEBHDFS = re.compile(r"webhdfs://[A-Za-z0-9.-]+:\d{1,5}/.+")
_ELSEWHERE = ("hdfs:", "webhdfs:")


def _min_nodes(value: object) -> int | None:
    if value == "auto":
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise wrong(f"{value!r} is no number of nodes", 'Write a whole number from 1, or "auto" (from the data)')
    return value


Replication = Annotated[int, between(1, 512, "HDFS itself allows no more copies (dfs.replication.max)")]
RunningJobs = Annotated[int, between(1, 10_000, "YARN itself accepts no more applications at once")]


def _client(value: str) -> str:
    """An address or a network, as Hadoop and the door keepers write it."""
    try:
        network = ipaddress.IPv4Network(value)
    except ValueError as error:
        hint = "Write an address such as 10.1.0.7, or a network such as 10.1.0.0/24"
        if value.count("/") == 1 and "host bits" in str(error):
            hint = f"Write {ipaddress.IPv4Network(value, strict=False)} for the whole network"
        raise wrong(f"{value!r} is neither an IPv4 address nor a network", hint) from None
    return str(network) if network.num_addresses > 1 else str(network[0])


Client = Annotated[str, AfterValidator(_client)]


def _idle(value: object) -> int:
    return NEVER_US if value == "never" else positive(duration(value))


class DataTable(Strict):
    """``[[data]]``: input that is loaded from persistent storage before the first job."""

    source: str = Field(
        alias="from", min_length=1, description='a folder beside this file, "hdfs://..." or "webhdfs://..."'
    )
    to: RemoteFolder = Field(description="the folder in the MR-cluster's HDFS")
    size: SizeBytes | None = Field(default=None, description='how much it is, for min_nodes = "auto" with hdfs://')


class OutputTable(Strict):
    """``[[outputs]]``: what is saved to persistent storage before the MR-cluster goes."""

    path: RemoteFolder = Field(description="the folder in the MR-cluster's HDFS")
    save_to: str = Field(min_length=1, description='a folder beside this file, or "hdfs://host:port/folder"')


class ClusterTable(Strict):
    """All keys of the file of an MR-cluster."""

    id: Name | None = Field(default=None, description="the name for good; without it that of the file")
    title: Line = Field(default="", description="a line for people")
    min_nodes: Annotated[int | None, PlainValidator(_min_nodes)] = Field(
        description='the core nodes: a number, or "auto" for as many as the data needs'
    )
    max_nodes: NodeCount | None = Field(default=None, description="the most nodes it may ever hold")
    growth: Growth | None = Field(default=None, description="the role that it grows by, instead of the site's")
    replication: Replication = Field(default=3, description="copies of each block")
    block_size: BlockBytes = Field(default=128 * 1024 * 1024, description="the size of a block in HDFS")
    data: list[DataTable] = Field(default=[], max_length=MOST_FOLDERS, description="input sets to load")
    outputs: list[OutputTable] = Field(default=[], max_length=MOST_FOLDERS, description="output folders to save")
    scratch: list[RemoteFolder] = Field(
        default=[], max_length=MOST_FOLDERS, description="folders whose data is given up with the MR-cluster"
    )
    hadoop_version: Annotated[str, AfterValidator(full_version)] | None = Field(
        default=None, description='a version of `fawkes dist list`, in quotes: "3.5.0"'
    )
    release_dir: RemoteFolder | None = Field(default=None, description="a folder on the nodes with a Hadoop release")
    software: list[Literal["spark"]] = Field(
        default=[], max_length=1, description='what its nodes have besides Hadoop: ["spark"] for jobs of kind "spark"'
    )
    clients: list[Client] = Field(
        default=[],
        max_length=MOST_FOLDERS,
        description="addresses and networks whose programs may use it, such as 10.1.0.7 or 10.1.0.0/24",
    )
    run_as: UserName | None = Field(
        default=None, description="its own Unix user on the nodes, which nothing and nobody else uses"
    )
    leftovers: Literal["remove", "tell"] = Field(
        default="remove", description="what a wipe does with files that this user left elsewhere"
    )
    security: Literal["none", "kerberos"] = Field(
        default="none", description='"kerberos": its daemons take nobody without a ticket; see [kerberos] of the site'
    )
    kerberos_users: list[KerberosUser] = Field(
        default=[], max_length=MOST_FOLDERS, description="users of the realm who may use it, such as alice"
    )
    idle_time: Annotated[int | None, PlainValidator(_idle)] = Field(
        default=None, description="how long it may do nothing before it is saved and removed"
    )
    deploy: Literal["request", "first-job"] = Field(default="request", description="when it gets its nodes")
    masters: Literal["kept", "standby"] = Field(
        default="kept", description="what a loss of its masters' disk costs: the last seconds, or nothing"
    )
    max_running_jobs: RunningJobs = Field(default=4, description="jobs that YARN has at once")
    heap: HeapTable = Field(default=HeapTable(), description="heaps of the daemons")
    hadoop: HadoopSites = Field(default={}, description="Hadoop's own keys, by file")
    role: RoleTables = Field(default=RoleTables(), description="the same for nodes of one role")


def load_cluster(path: Path, inventory: Inventory) -> ClusterSpec:
    """The MR-cluster in a file, ready to be requested; ConfigError names file, key and value of what is wrong."""
    said = read_toml(path, hint="MR-cluster files are in clusters/; `fawkes init` writes an example")
    table = check(ClusterTable, {"id": path.stem, **said}, file=str(path))
    return cluster_spec(table, file=str(path), folder=path.parent, inventory=inventory)


def refuse_unsound_cluster(spec: ClusterSpec, file: str) -> None:
    """ConfigError for what no file of an MR-cluster could say, by its key there; ``file`` is for the errors.

    Nothing of the pool is looked at, and no folder: whoever asks may not be allowed to read it.
    """
    details, faults = ClusterDetails.of(spec.details), Faults(file)
    known = ClusterDetails.__dataclass_fields__
    for key in sorted(spec.details.keys() - known):
        faults.add("is unknown", f"spec.details.{key}", did_you_mean(key, known))
    places = [("data.from", each.source) for each in details.data if each.local]
    for key, place in places + [("outputs.save_to", each.save_to) for each in details.outputs if each.local]:
        if not place.startswith("/"):
            faults.add(f"{place!r} is neither an absolute path nor a URL", key, "Begin it with '/'")
    faults.refuse()
    said = {
        **{key: getattr(spec, key) for key in ("id", "min_nodes", "max_nodes", "replication", "max_running_jobs")},
        **{key: getattr(details, key) for key in ("title", "run_as", "hadoop_version", "release_dir", "security")},
        **{key: list(getattr(details, key)) for key in ("scratch", "clients", "software", "kerberos_users")},
        "growth": next((name for name, role in GROWTH.items() if role is spec.growth), spec.growth),
        "block_size": f"{details.block_size_bytes}B",
        "data": [{"from": each.source, "to": each.to} for each in details.data],
        "outputs": [{"path": each.path, "save_to": each.save_to} for each in details.outputs],
        "heap": {daemon: f"{size}B" for daemon, size in details.heap_bytes.items()},
        "hadoop": details.hadoop,
        "role": {role: {"hadoop": sites} for role, sites in details.roles.items()},
    }
    written = {key: value for key, value in said.items() if value} | {"leftovers": details.leftovers}
    _check_table(check(ClusterTable, written, file=file), (), Path("/"), faults)
    faults.refuse()


def cluster_spec(
    table: ClusterTable,
    *,
    file: str,
    folder: Path,
    inventory: Inventory,
    key: str = "",
    generated: Mapping[str, int] | None = None,
    save_folder: Path | None = None,
) -> ClusterSpec:
    """The MR-cluster of a checked table (``key`` is its place in ``file``); paths are relative to ``folder``.

    ``generated`` has the size of each data set that will have been generated by then. Outputs are saved relative to
    ``save_folder``, by default ``folder``.
    """
    save_folder = save_folder or folder
    faults = Faults(file, key)
    data = tuple(_data(row, index, folder, generated or {}, faults) for index, row in enumerate(table.data))
    _check_table(table, {node.user for node in inventory.nodes}, save_folder, faults)
    faults.refuse()
    minimum = _minimum(table, data, inventory, faults)
    _check_numbers(table, minimum, inventory, faults)
    faults.refuse()
    return ClusterSpec(
        id=ClusterId(table.id or ""),
        min_nodes=minimum,
        max_nodes=table.max_nodes,
        growth=None if table.growth is None else GROWTH[table.growth],
        replication=table.replication,
        deploy_on_first_job=table.deploy == "first-job",
        idle_us=table.idle_time,
        max_running_jobs=table.max_running_jobs,
        masters=Promise(table.masters),
        details=_details(table, data, save_folder).plain(),
    )


def _details(table: ClusterTable, data: tuple[DataSet, ...], folder: Path) -> ClusterDetails:
    roles = {name.replace("_", "-"): row.hadoop for name, row in dict(table.role).items() if row.hadoop}
    return ClusterDetails(
        title=table.title,
        data=data,
        outputs=tuple(Output(path=row.path, save_to=_place(row.save_to, folder)) for row in table.outputs),
        scratch=tuple(table.scratch),
        clients=tuple(table.clients),
        run_as=table.run_as or "",
        leftovers=table.leftovers,
        block_size_bytes=table.block_size,
        hadoop_version=table.hadoop_version or ("" if table.release_dir else DEFAULT_VERSION),
        release_dir=table.release_dir or "",
        software=tuple(table.software),
        security="" if table.security == "none" else table.security,
        kerberos_users=tuple(table.kerberos_users),
        heap_bytes={name: size for name, size in dict(table.heap).items() if size is not None},
        hadoop=table.hadoop,
        roles=roles,
    )


def _check_table(table: ClusterTable, ssh_users: Container[str], save_folder: Path, faults: Faults) -> None:
    """Add to ``faults`` what contradicts itself, whatever the pool has."""
    _check_folders(table, save_folder, faults)
    if table.id is None:
        faults.add("is missing", "id", "Give the MR-cluster a name")
    if table.hadoop_version and table.release_dir:
        faults.add("hadoop_version and release_dir are both given", "release_dir", "Give one of them")
    _check_user(table, ssh_users, faults)
    _check_kerberos(table, faults)


def _check_user(table: ClusterTable, ssh_users: Container[str], faults: Faults) -> None:
    """A wipe ends every process of the user, and the user must not be able to undo what Fawkes does."""
    hint = "Name a Unix user without rights that every node has, and that nothing and nobody else uses"
    if table.run_as == "root":
        faults.add("jobs of root own their nodes", "run_as", hint)
    elif table.run_as and table.run_as in ssh_users:
        faults.add(f"{table.run_as!r} is the user for SSH, who is Fawkes itself on the nodes", "run_as", hint)


def _check_kerberos(table: ClusterTable, faults: Faults) -> None:
    if table.security != KERBEROS:
        if table.kerberos_users:
            faults.add("these users count with Kerberos only", "kerberos_users", 'Add security = "kerberos"')
        return
    if table.software:
        what = "Fawkes runs Spark on MR-clusters without Kerberos only"
        faults.add(what, "software", "Leave it out, or request an MR-cluster without Kerberos for Spark")
    copied = [(f"data[#{index + 1}].from", row.source) for index, row in enumerate(table.data)]
    copied += [(f"outputs[#{index + 1}].save_to", row.save_to) for index, row in enumerate(table.outputs)]
    for key, place in copied:
        if _HDFS.fullmatch(place):
            hint = "Use a local folder; for input also a webhdfs:// URL"
            faults.add("an MR-cluster with Kerberos copies nothing from or to another HDFS", key, hint)


def _place(text: str, folder: Path) -> str:
    """The URL of another HDFS as it is, a local folder as an absolute path."""
    if text.startswith(_ELSEWHERE):
        return text
    return os.path.realpath(folder / os.path.expanduser(text))


def _data(table: DataTable, index: int, folder: Path, generated: Mapping[str, int], faults: Faults) -> DataSet:
    key = f"data[#{index + 1}].from"
    if table.source.startswith(GENERATED):
        name = table.source.removeprefix(GENERATED)
        if name not in generated:
            faults.add(f"no [[generate]] is named {name!r}", key, f"There are: {', '.join(generated) or 'none'}")
        return DataSet(source=table.source, to=table.to, size_bytes=generated.get(name))
    source = _place(table.source, folder)
    if source.startswith(_ELSEWHERE):
        return DataSet(source=source, to=table.to, size_bytes=table.size)
    if not os.path.isdir(source):
        faults.add(f"there is no folder {source!r}", key, "Name a folder with the input files, or an hdfs:// URL")
        return DataSet(source=source, to=table.to, size_bytes=0)
    try:
        size, count = _measured(Path(source))
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        faults.add(f"{error.filename!r} cannot be read ({why})", key, "Repair it, or take it out of the input")
        return DataSet(source=source, to=table.to, size_bytes=0)
    if not count:
        faults.add(f"the folder {source!r} has no file in it", key, "Put the input there first")
    return DataSet(source=source, to=table.to, size_bytes=size)


def _measured(folder: Path) -> tuple[int, int]:
    """Bytes and number of the files below a folder; OSError for one that cannot be read."""
    sizes = [os.path.getsize(Path(place) / name) for place, _, names in os.walk(folder) for name in names]
    return sum(sizes), len(sizes)


def _check_folders(table: ClusterTable, folder: Path, faults: Faults) -> None:
    """Storage policies hang on folders, and so does what is kept: one inside of another would undo them."""
    taken: dict[str, str] = {}
    folders = [(f"data[#{index + 1}].to", row.to) for index, row in enumerate(table.data)]
    folders += [(f"outputs[#{index + 1}].path", row.path) for index, row in enumerate(table.outputs)]
    folders += [(f"scratch[#{index + 1}]", path) for index, path in enumerate(table.scratch)]
    for key, path in folders:
        for other, other_key in taken.items():
            if f"{path}/".startswith(f"{other}/") or f"{other}/".startswith(f"{path}/"):
                faults.add(f"{path!r} and {other!r} ({other_key}) overlap", key, "Give each a folder of its own")
        taken.setdefault(path, key)
    for index, data in enumerate(table.data):
        source = data.source
        if source.startswith(_ELSEWHERE) and not _HDFS.fullmatch(source) and not _WEBHDFS.fullmatch(source):
            hint = 'Write "hdfs://host:port/folder", or "webhdfs://host:9870/folder"'
            faults.add(f"{source!r} is no folder of an HDFS", f"data[#{index + 1}].from", hint)
    saved: set[str] = set()
    for index, row in enumerate(table.outputs):
        key, place = f"outputs[#{index + 1}].save_to", _place(row.save_to, folder)
        if place.startswith(_ELSEWHERE) and not _HDFS.fullmatch(place):
            what = f"{place!r} is no folder of an HDFS that an output can go to"
            faults.add(what, key, 'Write "hdfs://host:port/folder"')
        if place in saved:
            faults.add(f"{place!r} is used twice", key, "The second output would overwrite the first")
        saved.add(place)


def _minimum(table: ClusterTable, data: tuple[DataSet, ...], inventory: Inventory, faults: Faults) -> int:
    """min_nodes; for ``auto`` the largest of replication, ceil(data x replication / disk of a node) and the journal."""
    if table.min_nodes is not None:
        return table.min_nodes
    unknown = [data_set.source for data_set in data if data_set.size_bytes is None]
    if unknown:
        hint = 'Give the size of that [[data]], such as size = "50GB", or min_nodes as a number'
        faults.add(f"how much {unknown[0]!r} is cannot be known here", "min_nodes", hint)
    total = sum(data_set.size_bytes or 0 for data_set in data)
    disk = min(node.disk_bytes for node in inventory.nodes if node.may_core)
    journal = JOURNAL_NODES if Promise(table.masters) is Promise.STANDBY else 1
    return max(table.replication, -(-total * table.replication // disk), journal)


def _check_numbers(table: ClusterTable, minimum: int, inventory: Inventory, faults: Faults) -> None:
    able = sum(node.may_core for node in inventory.nodes)
    if minimum > able:
        why = "" if table.min_nodes else " (auto, from the data)"
        faults.add(
            f"{minimum} core nodes{why} are more than the pool {inventory.pool!r} has: "
            f"{able} of its {len(inventory.nodes)} nodes may be core nodes",
            "min_nodes",
            f"Give {f'at most {able}, or ' if able else ''}the pool more nodes that may be core nodes (core = true)",
        )
    if table.replication > minimum:
        faults.add(
            f"{table.replication} copies of each block need as many core nodes, not {minimum}",
            "replication",
            f"Give replication = {minimum} or min_nodes = {table.replication}",
        )
    if Promise(table.masters) is Promise.STANDBY and minimum < JOURNAL_NODES:
        faults.add(
            f"'standby' needs {JOURNAL_NODES} core nodes for its journal, but min_nodes is {minimum}",
            "masters",
            f'Give min_nodes = {JOURNAL_NODES} or more, or masters = "kept"',
        )
    if table.max_nodes is not None and table.max_nodes < minimum:
        faults.add(f"{table.max_nodes} is less than min_nodes, {minimum}", "max_nodes", f"Give at least {minimum}")
