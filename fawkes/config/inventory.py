"""``inventory.toml``: which nodes there are, how they are reached and what each one offers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, PlainValidator

from fawkes.config.fields import Capacity, Cores, LocalPath, Name, Port, RemoteFolder, SizeBytes, UserName
from fawkes.config.loader import MOST_TOLD, Faults, Strict, did_you_mean, load, wrong
from fawkes.config.nodeset import MOST_NODES, expand, fold, is_host_name
from fawkes.core.model import Plain
from fawkes.errors import cut
from fawkes.reading import is_file

__all__ = ["Attribute", "Inventory", "InventoryNode", "expand", "fold", "load_inventory"]

Attribute = str | int | float | bool

_FEW = 50
_NO_FILE = "Write one (`fawkes init` and `fawkes lab up` do) or name its folder by --site"


@dataclass(frozen=True, kw_only=True)
class InventoryNode:
    """One node with everything that its group, the defaults and its own table say.

    ``address`` is where SSH goes, ``data_address`` where Hadoop speaks; ``key`` is None when the SSH agent
    has it, ``java_home`` when it must be looked for on the node; ``memory_bytes`` is what a NodeManager may
    offer.
    """

    name: str
    group: str
    site: str
    address: str
    data_address: str
    user: str
    port: int
    key: Path | None
    may_core: bool
    cores: int
    memory_bytes: int
    disk_bytes: int
    capacity: float
    work_dir: str
    software_dir: str
    java_home: str | None
    attributes: Mapping[str, Attribute]

    def plain(self) -> dict[str, Plain]:
        """As plain data, so that the ledger knows how a node is reached which the file has forgotten."""
        return {**asdict(self), "key": None if self.key is None else str(self.key), "attributes": dict(self.attributes)}


def inventory_node(details: Mapping[str, Any]) -> InventoryNode:
    """The node behind plain data (`InventoryNode.plain`); TypeError when it is none."""
    key = details.get("key")
    return InventoryNode(**{**details, "key": None if key is None else Path(key)})


@dataclass(frozen=True)
class Inventory:
    """A pool: its nodes in the order of the file, and the file with their SSH host keys."""

    pool: str
    nodes: tuple[InventoryNode, ...]
    known_hosts: Path

    def node(self, name: str) -> InventoryNode:
        """The node of that name; KeyError when the pool has none."""
        return {node.name: node for node in self.nodes}[name]


def _attribute(value: object) -> Attribute:
    if isinstance(value, str | int | float):
        return value
    raise wrong(f"{value!r} is no attribute", "Write text, a number, true or false")


class _Keys(Strict):
    """What a group says for all of its nodes and a ``[node.NAME]`` table for one."""

    site: Name | None = Field(default=None, description="the physical cluster that the nodes stand in")
    address: str | None = Field(default=None, description="the address for SSH")
    data_address: str | None = Field(default=None, description="the address on which Hadoop speaks")
    core: bool | None = Field(default=None, description="whether nodes may be core nodes")
    cores: Cores | None = Field(default=None, description="the cores that a NodeManager may offer")
    memory: SizeBytes | None = Field(default=None, description='the memory that a NodeManager may offer, such as "8GB"')
    disk: SizeBytes | None = Field(default=None, description='the disk that Hadoop may fill, such as "500GB"')
    capacity: Capacity | None = Field(default=None, description="the weight of a node in shares")
    work_dir: RemoteFolder | None = Field(default=None, description="the folder on the node that Fawkes writes into")
    software_dir: RemoteFolder | None = Field(default=None, description="the folder with the Hadoop releases")
    java_home: RemoteFolder | None = Field(default=None, description="the folder of Java on the node")
    user: UserName | None = Field(default=None, description="the user for SSH, who also runs the daemons")
    port: Port | None = Field(default=None, description="the port of sshd")
    key: LocalPath | None = Field(default=None, description="the private key file; without it the SSH agent is asked")
    attributes: dict[str, Annotated[Attribute, PlainValidator(_attribute)]] = Field(
        default={}, description="anything else worth knowing about the nodes"
    )


class Group(_Keys):
    """A ``[[group]]`` table."""

    name: Name = Field(description="a name for the group")
    nodes: str = Field(description='the nodes of the group, such as "node[01-10]"')


class NodeTable(_Keys):
    """A ``[node.NAME]`` table."""


class Ssh(Strict):
    """The ``[ssh]`` table: what holds for all nodes that do not say otherwise."""

    user: UserName | None = Field(default=None, description="the user for SSH, who also runs the daemons")
    port: Port = Field(default=22, description="the port of sshd")
    key: LocalPath | None = Field(default=None, description="the private key file; without it the SSH agent is asked")
    known_hosts: LocalPath = Field(default=Path("known_hosts"), description="the file with the host keys of the nodes")
    allow_root: bool = Field(default=False, description="whether daemons and jobs may run as root on the nodes")


class InventoryFile(Strict):
    """The file as it is written."""

    pool: Name = Field(description='a name for the pool, such as pool = "das4"; leases on nodes carry it')
    ssh: Ssh = Field(default=Ssh(), description="how nodes are reached")
    group: list[Group] = Field(min_length=1, description='at least one [[group]] with nodes = "node[01-10]"')
    node: dict[str, NodeTable] = Field(default={}, description="tables for single nodes")


@dataclass(frozen=True)
class _Member:
    """A node of a group; ``said`` is what ``[ssh]`` and the group say about all of its nodes."""

    name: str
    group: Group
    said: Mapping[str, Any]
    address: str
    data_address: str


def load_inventory(path: Path, *, need_keys: bool = True) -> Inventory:
    """The pool in an inventory file; ConfigError names file, key and value of all that is wrong.

    Key files must exist unless ``need_keys`` is false (for offline work on somebody else's inventory).
    """
    file = load(InventoryFile, path, hint=_NO_FILE)
    faults = Faults(path)
    members = _members(file, faults)
    _check_overrides(file, members, faults)
    faults.refuse()
    nodes = _nodes(file, members, path.parent, faults)
    faults.refuse()
    _check_pool(nodes, faults)
    _check_root(file, nodes, faults)
    if need_keys:
        _check_keys(file, nodes, faults)
    faults.refuse()
    return Inventory(file.pool, nodes, _beside(path.parent, file.ssh.known_hosts))


def _members(file: InventoryFile, faults: Faults) -> dict[str, _Member]:
    members: dict[str, _Member] = {}
    groups: set[str] = set()
    spelled: dict[str, str] = {}
    for group in file.group:
        key = f"group[{group.name}]"
        said = _said(file.ssh) | _said(group)
        if group.name in groups:
            faults.add(f"two groups are named {group.name!r}", key, "Give each group a name of its own")
        groups.add(group.name)
        names = _expanded(group.nodes, f"{key}.nodes", faults)
        addresses = _paired(group.address, names, names, f"{key}.address", faults)
        data = _paired(group.data_address, names, addresses, f"{key}.data_address", faults)
        for name, address, data_address in zip(names, addresses, data, strict=True):
            other = spelled.setdefault(name.lower(), name)
            if other != name:
                what = f"{name!r} is the same host as {other!r}, for names of hosts have no case"
                faults.add(what, f"{key}.nodes", "Name it once")
            first = members.setdefault(name, _Member(name, group, said, address, data_address)).group
            if first is not group:
                faults.add(
                    f"node {name!r} is in the groups {first.name!r} and {group.name!r}",
                    f"{key}.nodes",
                    f'Take it out of one of them, such as nodes = "{cut(group.nodes)}!{name}"',
                )
        if len(members) > MOST_NODES:
            faults.add(f"the pool has more than {MOST_NODES:,} nodes", f"{key}.nodes", "Make it several pools")
            break
    return members


def _expanded(text: str, key: str, faults: Faults) -> tuple[str, ...]:
    try:
        return expand(text)
    except ValueError as error:
        faults.add(str(error), key)
        return ()


def _paired(
    text: str | None, names: tuple[str, ...], default: tuple[str, ...], key: str, faults: Faults
) -> tuple[str, ...]:
    """One address for each name, in the order written; ``default`` without a text or after a fault."""
    if text is None:
        return default
    found = _expanded(text, key, faults)
    if found and names and len(found) != len(names):
        hint = f"Give one address for each of {cut(fold(names))}"
        faults.add(f"{cut(text)!r} has {len(found)} addresses for {len(names)} nodes", key, hint)
    return found if len(found) == len(names) else default


def _check_overrides(file: InventoryFile, members: Mapping[str, _Member], faults: Faults) -> None:
    unknown = [name for name in file.node if name not in members]
    known = cut(fold(members)) if len(members) >= _FEW and unknown else ""
    for name in unknown[:MOST_TOLD]:
        hint = f"The nodes are {known}" if known else did_you_mean(name, members)
        faults.add(f"no group has a node {cut(name)!r}", cut(f"node.{name}"), hint)
    if len(unknown) > MOST_TOLD:
        faults.add(f"{len(unknown) - MOST_TOLD:,} more nodes are in no group", "node", "Name nodes of the groups")


def _nodes(
    file: InventoryFile, members: Mapping[str, _Member], folder: Path, faults: Faults
) -> tuple[InventoryNode, ...]:
    shared: dict[str, dict[str, Any]] = {}
    nodes: list[InventoryNode] = []
    for name, member in members.items():
        own, group = file.node.get(name), member.group.name
        if own is not None:
            common = _common(member, own, folder, faults)
        elif group in shared:
            common = shared[group]
        else:
            common = shared[group] = _common(member, None, folder, faults)
        address, data_address = _addresses(member, own, faults)
        nodes.append(InventoryNode(name=name, address=address, data_address=data_address, **common))
    return tuple(nodes)


def _common(member: _Member, own: NodeTable | None, folder: Path, faults: Faults) -> dict[str, Any]:
    """All of a node but its name and its addresses: the same for each node of a group that has no table of its own."""
    said = {**member.said, **(_said(own) if own else {})}
    for key in ("user", "cores", "memory", "disk", "work_dir"):
        if said.get(key) is None:
            hint = f"Give {_Keys.model_fields[key].description}"
            faults.add(f"node {member.name!r} has no {key!r}", f"group[{member.group.name}].{key}", hint)
            said[key] = ""
    return {
        "group": member.group.name,
        "site": said.get("site", "main"),
        "user": said["user"],
        "port": said["port"],
        "key": _beside(folder, said["key"]) if "key" in said else None,
        "may_core": said.get("core", True),
        "cores": said["cores"],
        "memory_bytes": said["memory"],
        "disk_bytes": said["disk"],
        "capacity": float(said.get("capacity", 1.0)),
        "work_dir": said["work_dir"],
        "software_dir": said.get("software_dir", f"{said['work_dir']}/dist"),
        "java_home": said.get("java_home"),
        "attributes": member.group.attributes | (own.attributes if own else {}),
    }


def _said(table: Strict) -> dict[str, Any]:
    """The keys of a table that have a value."""
    return {key: value for key, value in dict(table).items() if value is not None}


def _addresses(member: _Member, own: NodeTable | None, faults: Faults) -> tuple[str, str]:
    """SSH's and Hadoop's address of a node; the second follows the first unless it is given."""
    if own is None:
        return member.address, member.data_address
    for key, text in (("address", own.address), ("data_address", own.data_address)):
        if text is not None and not is_host_name(text):
            hint = "Give one host name or IPv4 address"
            faults.add(f"{text!r} is not one address", f"node.{member.name}.{key}", hint)
    address = member.address if own.address is None else own.address
    if own.data_address is not None:
        return address, own.data_address
    return address, address if member.group.data_address is None else member.data_address


def _beside(folder: Path, path: Path) -> Path:
    """A path of the file, which is relative to the file's own folder."""
    return path if path.is_absolute() else folder / path


def _check_pool(nodes: tuple[InventoryNode, ...], faults: Faults) -> None:
    """Two names for one machine would give it to two MR-clusters."""
    ssh: dict[tuple[str, int], str] = {}
    data: dict[str, str] = {}
    for node in nodes:
        first = ssh.setdefault((node.address.lower(), node.port), node.name)
        if first != node.name:
            _add_shared(node, first, "address", f"{node.address}, port {node.port}", faults)
        first = data.setdefault(node.data_address.lower(), node.name)
        if first != node.name:
            _add_shared(node, first, "data_address", node.data_address, faults)
    if not any(node.may_core for node in nodes):
        hint = "Leave core = false out of at least one group: each MR-cluster needs core nodes"
        faults.add("no node may be a core node", "group", hint)


def _add_shared(node: InventoryNode, first: str, key: str, address: str, faults: Faults) -> None:
    faults.add(
        f"nodes {first!r} and {node.name!r} have the same address {address}",
        f"group[{node.group}].{key}",
        "Give each node its own: two names for one machine would give it to two MR-clusters",
    )


def _check_keys(file: InventoryFile, nodes: tuple[InventoryNode, ...], faults: Faults) -> None:
    first_node = {node.key: node for node in reversed(nodes) if node.key is not None}
    for key, node in first_node.items():
        if not is_file(key):
            hint = "Name the private key, relative to this file, or leave the line out to use the SSH agent"
            faults.add(f"there is no key file {str(key)!r}", _place(file, node, "key"), hint)


def _check_root(file: InventoryFile, nodes: tuple[InventoryNode, ...], faults: Faults) -> None:
    """Jobs run as the user for SSH: those of root would own their nodes."""
    if file.ssh.allow_root:
        return
    hint = "Give a user without rights; or write allow_root = true into [ssh] if jobs may do anything on the nodes"
    places = dict.fromkeys(_place(file, node, "user") for node in nodes if node.user == "root")
    for place in list(places)[:MOST_TOLD]:
        faults.add("daemons and jobs would run as 'root' on the nodes", place, hint)


def _place(file: InventoryFile, node: InventoryNode, key: str) -> str:
    """Where a node's key stands: in its own table, in that of its group, or in [ssh]."""
    own = file.node.get(node.name)
    if own is not None and getattr(own, key) is not None:
        return f"node.{node.name}.{key}"
    if any(group.name == node.group and getattr(group, key) is not None for group in file.group):
        return f"group[{node.group}].{key}"
    return f"ssh.{key}"
