"""``inventory.toml``: which nodes there are, how they are reached and what each one offers."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, PlainValidator

from fawkes.base.errors import ConfigError, UserError, cut
from fawkes.base.reading import is_file
from fawkes.config.files.fields import (
    Capacity,
    Cores,
    LocalPath,
    Name,
    NodeFolder,
    Port,
    RemoteFolder,
    SizeBytes,
    UserName,
)
from fawkes.config.files.loader import MOST_TOLD, Faults, Strict, did_you_mean, load, wrong
from fawkes.config.files.nodeset import MOST_NODES, Groups, expand, fold, is_host_name
from fawkes.config.nodes.ansible import read_ansible
from fawkes.config.nodes.hops import ProxyJump
from fawkes.config.nodes.jumps import Jump, JumpTable, WayError, Ways, jump_of
from fawkes.config.nodes.programs import clustershell_group
from fawkes.config.nodes.slurm import read_slurm
from fawkes.config.nodes.sources import From, SlurmAllocation, Source, beside
from fawkes.core.values.model import Plain

if TYPE_CHECKING:
    from fawkes.config.nodes.openssh import OpenSsh

__all__ = ["Attribute", "Inventory", "InventoryNode", "expand", "fold", "load_inventory"]

Attribute = str | int | float | bool

_FEW = 50
_ADDRESSES = ("address", "data_address")
_JUMP = 'the hosts that SSH passes on its way, such as "login" or "user@login.example:2222,inner"; "none" for none'
_NO_FILE = "Write one (`fawkes init` and `fawkes lab up` do) or name its folder by --site"


@dataclass(frozen=True, kw_only=True)
class InventoryNode:
    """One node with everything that its group, the defaults and its own table say.

    ``address`` is where SSH goes, ``data_address`` where Hadoop speaks; ``key`` is None when the SSH agent
    has it, ``java_home`` when it must be looked for on the node; ``memory_bytes`` is what a NodeManager may
    offer. ``jump`` is the last host that SSH passes on its way, None where there is none.
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
    jump: Jump | None = None

    def plain(self) -> dict[str, Plain]:
        """Plain data, so that the ledger knows how a node is reached which the file has forgotten."""
        key = None if self.key is None else str(self.key)
        plain = {**vars(self), "key": key, "attributes": dict(self.attributes)}
        return plain | {"jump": self.jump.plain()} if self.jump else {k: v for k, v in plain.items() if k != "jump"}


def inventory_node(details: Mapping[str, Any]) -> InventoryNode:
    """The node behind plain data (`InventoryNode.plain`); TypeError when it is none."""
    key = details.get("key")
    return InventoryNode(**{**details, "key": None if key is None else Path(key), "jump": jump_of(details.get("jump"))})


@dataclass(frozen=True)
class Inventory:
    """A pool: its nodes in the order of the file, and the file with their SSH host keys.

    ``notes`` are lines for people about another tool's answer, ``allocation`` is given if Slurm lends the nodes.
    """

    pool: str
    nodes: tuple[InventoryNode, ...]
    known_hosts: Path
    notes: tuple[str, ...] = ()
    allocation: SlurmAllocation | None = None

    def node(self, name: str) -> InventoryNode:
        """The node of that name; KeyError when the pool has none."""
        return {node.name: node for node in self.nodes}[name]


def _attribute(value: object) -> Attribute:
    if isinstance(value, str | int | float):
        return value
    raise wrong(f"{value!r} is no attribute", "Write text, a number, true or false")


class _Keys(Strict):
    """The keys that a group has for all of its nodes and a ``[node.NAME]`` table for one."""

    site: Name | None = Field(default=None, description="the physical cluster that the nodes stand in")
    address: str | None = Field(default=None, description="the address for SSH")
    data_address: str | None = Field(default=None, description="the address on which Hadoop speaks")
    core: bool | None = Field(default=None, description="whether nodes may be core nodes")
    cores: Cores | None = Field(default=None, description="the cores that a NodeManager may offer")
    memory: SizeBytes | None = Field(default=None, description='the memory that a NodeManager may offer, such as "8GB"')
    disk: SizeBytes | None = Field(default=None, description='the disk that Hadoop may fill, such as "500GB"')
    capacity: Capacity | None = Field(default=None, description="the weight of a node in shares")
    work_dir: NodeFolder | None = Field(default=None, description="the folder on the node that Fawkes writes into")
    software_dir: NodeFolder | None = Field(default=None, description="the folder with the Hadoop releases")
    java_home: RemoteFolder | None = Field(default=None, description="the folder of Java on the node")
    user: UserName | None = Field(default=None, description="the user for SSH, who also runs the daemons")
    port: Port | None = Field(default=None, description="the port of sshd")
    key: LocalPath | None = Field(default=None, description="the private key file; without it the SSH agent is asked")
    proxy_jump: ProxyJump | None = Field(default=None, description=_JUMP)
    attributes: dict[str, Annotated[Attribute, PlainValidator(_attribute)]] = Field(
        default={}, description="anything else worth knowing about the nodes"
    )


class Group(_Keys):
    """A ``[[group]]`` table."""

    name: Name = Field(description="a name for the group")
    nodes: str = Field(description='the nodes of the group, such as "node[01-10]" or "@rack1"')


class NodeTable(_Keys):
    """A ``[node.NAME]`` table."""


class Ssh(Strict):
    """The ``[ssh]`` table: what holds for all nodes that do not say otherwise."""

    user: UserName | None = Field(default=None, description="the user for SSH, who also runs the daemons")
    port: Port = Field(default=22, description="the port of sshd")
    key: LocalPath | None = Field(default=None, description="the private key file; without it the SSH agent is asked")
    known_hosts: LocalPath = Field(default=Path("known_hosts"), description="the file with the host keys of the nodes")
    proxy_jump: ProxyJump | None = Field(default=None, description=_JUMP)
    config: LocalPath | None = Field(
        default=None,
        description='an OpenSSH configuration, such as "~/.ssh/config", for what this file does not say of a host',
    )
    allow_root: bool = Field(default=False, description="whether daemons and jobs may run as root on the nodes")


class InventoryFile(Strict):
    """The file as it is written."""

    pool: Name = Field(description='a name for the pool, such as pool = "das4"; leases on nodes carry it')
    ssh: Ssh = Field(default=Ssh(), description="how nodes are reached")
    source: From | None = Field(default=None, alias="from", description="another tool that knows the nodes")
    group: list[Group] = Field(min_length=1, description='at least one [[group]] with nodes = "node[01-10]"')
    node: dict[str, NodeTable] = Field(default={}, description="tables for single nodes")
    jump: dict[str, JumpTable] = Field(default={}, description="tables for jump hosts that `proxy_jump` names")


@dataclass(frozen=True)
class _Member:
    """A node of a group. ``said`` is what ``[ssh]`` and the group say about all of its nodes.

    ``sourced`` is what another tool says about this node alone.
    """

    name: str
    group: Group
    said: Mapping[str, Any]
    address: str
    data_address: str
    sourced: NodeTable


def load_inventory(path: Path, *, need_keys: bool = True) -> Inventory:
    """The pool in an inventory file; ConfigError names file, key and value of all that is wrong.

    Key files must exist unless ``need_keys`` is false (for offline work on somebody else's inventory).
    """
    file = load(InventoryFile, path, hint=_NO_FILE)
    faults = Faults(path)
    source = _source(file, path)
    members = _members(file, source, faults)
    _check_overrides(file, {*members, *(source.away if source else ())}, faults)
    faults.refuse()
    if source is not None:
        source.faults.refuse()
    openssh = _openssh(file, path.parent, need_keys=need_keys)
    reach = _Reach(file, members, path.parent, openssh)
    nodes = _nodes(file, members, reach, faults)
    if openssh is not None:
        openssh.faults.refuse()
    faults.refuse()
    _check_pool(nodes, faults)
    _check_root(file, nodes, faults)
    if need_keys:
        _check_keys(file, nodes, faults)
    known_hosts = reach.known_hosts(faults)
    faults.refuse()
    notes = tuple(source.notes) if source else ()
    return Inventory(file.pool, nodes, known_hosts, notes, source.allocation if source else None)


def _source(file: InventoryFile, path: Path) -> Source | None:
    """The tool that ``[from]`` names, with its answer; ConfigError when there is none, or not a good one."""
    table = file.source
    if table is None:
        return None
    hint = f"from.{table.tool} of {path} names it"
    try:
        if table.ansible is not None:
            return read_ansible(beside(path.parent, table.ansible), hint)
        return read_slurm(table, path.parent, hint)
    except ConfigError:
        raise
    except UserError as error:
        raise ConfigError(error.what, file=str(path), key=f"from.{table.tool}", hint=error.hint) from None


def _openssh(file: InventoryFile, folder: Path, *, need_keys: bool) -> OpenSsh | None:
    """The OpenSSH configuration that the file asks for; somebody else's is not there for offline work."""
    if file.ssh.config is None:
        return None
    from fawkes.config.nodes.openssh import OpenSsh  # it takes a tenth of a second to import

    path = beside(folder, file.ssh.config)
    return OpenSsh(path) if need_keys or is_file(path) else None


def _members(file: InventoryFile, source: Source | None, faults: Faults) -> dict[str, _Member]:
    members: dict[str, _Member] = {}
    groups: set[str] = set()
    spelled: dict[str, str] = {}
    for group in file.group:
        key = f"group[{group.name}]"
        said = _said(file.ssh) | _said(group)
        if group.name in groups:
            faults.add(f"two groups are named {group.name!r}", key, "Give each group a name of its own")
        groups.add(group.name)
        names = _expanded(group.nodes, f"{key}.nodes", faults, source.group if source else clustershell_group)
        sourced = [source.table(name, NodeTable) if source else NodeTable() for name in names]
        own = tuple(table.address or name for name, table in zip(names, sourced, strict=True))
        own_data = tuple(table.data_address or "" for table in sourced)
        addresses = _paired(group.address, names, own, f"{key}.address", faults)
        data = _paired(group.data_address, names, own_data, f"{key}.data_address", faults)
        for name, address, data_address, table in zip(names, addresses, data, sourced, strict=True):
            other = spelled.setdefault(name.lower(), name)
            if other != name:
                what = f"{name!r} is the same host as {other!r}, for names of hosts have no case"
                faults.add(what, f"{key}.nodes", "Name it once")
            first = members.setdefault(name, _Member(name, group, said, address, data_address, table)).group
            if first is not group:
                faults.add(
                    f"node {name!r} is in the groups {first.name!r} and {group.name!r}",
                    f"{key}.nodes",
                    f'Take it out of one of them, such as nodes = "{cut(group.nodes)}!{name}"',
                )
        if len(members) > MOST_NODES:
            faults.add(f"the pool has more than {MOST_NODES:,} nodes", f"{key}.nodes", "Make it several pools")
            break
    return _usable(members, source, faults) if source else members


def _usable(members: dict[str, _Member], source: Source, faults: Faults) -> dict[str, _Member]:
    """The nodes that the other tool does not keep out of use; notes name the others."""
    usable = {name: member for name, member in members.items() if name not in source.away}
    away: dict[str, list[str]] = {}
    for name in members.keys() - usable.keys():
        away.setdefault(source.away[name], []).append(name)
    tool = source.tool.capitalize()
    lines = [f"{cut(fold(names))} not taken: {tool} has the state {why}" for why, names in sorted(away.items())]
    source.notes.update(dict.fromkeys(lines))
    if away and not usable:
        faults.add("no node of the groups can be used", "group", ". ".join(lines[:MOST_TOLD]))
    return usable


def _expanded(text: str, key: str, faults: Faults, groups: Groups | None = None) -> tuple[str, ...]:
    try:
        return expand(text, groups)
    except ValueError as error:
        faults.add(str(error), key)
        return ()


def _paired(
    text: str | None, names: tuple[str, ...], default: tuple[str, ...], key: str, faults: Faults
) -> tuple[str, ...]:
    """One address for each name, in the order written; ``default`` without a text or after a fault."""
    if text is None:
        return default
    expanded = _expanded(text, key, faults)
    if expanded and names and len(expanded) != len(names):
        hint = f"Give one address for each of {cut(fold(names))}"
        faults.add(f"{cut(text)!r} has {len(expanded)} addresses for {len(names)} nodes", key, hint)
    return expanded if len(expanded) == len(names) else default


def _check_overrides(file: InventoryFile, members: Collection[str], faults: Faults) -> None:
    unknown = [name for name in file.node if name not in members]
    known = cut(fold(members)) if len(members) >= _FEW and unknown else ""
    for name in unknown[:MOST_TOLD]:
        hint = f"The nodes are {known}" if known else did_you_mean(name, members)
        faults.add(f"no group has a node {cut(name)!r}", cut(f"node.{name}"), hint)
    if len(unknown) > MOST_TOLD:
        faults.add(f"{len(unknown) - MOST_TOLD:,} more nodes are in no group", "node", "Name nodes of the groups")


class _Reach:
    """The way of SSH to nodes: what the inventory says, then the OpenSSH configuration that it names."""

    def __init__(
        self, file: InventoryFile, members: Mapping[str, _Member], folder: Path, openssh: OpenSsh | None
    ) -> None:
        self._file = file
        self._members = members
        self._folder = folder
        self._openssh = openssh
        self._ways = Ways({name: self._own(_said(table)) for name, table in file.jump.items()}, self._said, openssh)
        self._reported: set[str] = set()

    def of(self, name: str, faults: Faults) -> dict[str, Any]:
        """The address, user, port, key and jump host of a node; what is wrong goes to ``faults``."""
        said = self._said(name) or {}
        member = self._members[name]
        if "user" not in said and (self._file.ssh.config is None or self._openssh is not None):
            faults.add(f"node {name!r} has no 'user'", f"group[{member.group.name}].user", _give("user"))
        jump, user, key = None, said.get("user", ""), said.get("key")
        try:
            jump = self._ways.last(name, said.get("proxy_jump"), user, key)
        except WayError as error:
            group = member.group
            tables = self._file.node.get(name), group, self._file.ssh, member.sourced
            written = any(table and table.proxy_jump is not None for table in tables)
            place = _place(self._file, name, group.name, "proxy_jump") if written else "ssh.config"
            if f"{place}: {error}" not in self._reported:
                self._reported.add(f"{place}: {error}")
                faults.add(str(error), place, error.hint)
        return {"address": said["address"], "user": user, "port": said.get("port", 22), "key": key, "jump": jump}

    def known_hosts(self, faults: Faults) -> Path:
        """The file with the host keys: of the inventory, else that of the OpenSSH configuration."""
        ours = beside(self._folder, self._file.ssh.known_hosts)
        files = self._openssh.known_hosts if self._openssh else set()
        if "known_hosts" in self._file.ssh.model_fields_set or not files:
            return ours
        if len(files) > 1:
            hint = 'Write known_hosts = "FILE" into [ssh]: one file has the keys of all hosts'
            faults.add("hosts of the pool have different files as UserKnownHostsFile", "ssh.config", hint)
        return next(iter(files)) or ours

    def _said(self, name: str) -> dict[str, Any] | None:
        member = self._members.get(name)
        if member is None:
            return None
        own = self._file.node.get(name)
        said = {**_said(member.sourced), **member.said, "address": member.address, **(_said(own) if own else {})}
        said = self._own(said)
        return said if self._openssh is None else self._openssh.complete(said, jumps=True)

    def _own(self, said: Mapping[str, Any]) -> dict[str, Any]:
        """The same with the key as a path from here."""
        return {**said, "key": beside(self._folder, said["key"])} if "key" in said else dict(said)


def _nodes(
    file: InventoryFile, members: Mapping[str, _Member], reach: _Reach, faults: Faults
) -> tuple[InventoryNode, ...]:
    shared: dict[str, dict[str, Any]] = {}
    nodes: list[InventoryNode] = []
    for name in file.jump:
        if name in members:
            hint = "Remove the table: the node's own group says how it is reached"
            faults.add(f"{name!r} is a node of the pool", f"jump.{name}", hint)
    for name, member in members.items():
        own, group = file.node.get(name), member.group.name
        if own is not None or member.sourced.model_fields_set:
            common = _common(member, own, faults)
        elif group in shared:
            common = shared[group]
        else:
            common = shared[group] = _common(member, None, faults)
        way = reach.of(name, faults)
        data_address = _data_address(member, own, way["address"], faults)
        nodes.append(InventoryNode(name=name, data_address=data_address, **way, **common))
    return tuple(nodes)


def _common(member: _Member, own: NodeTable | None, faults: Faults) -> dict[str, Any]:
    """All of a node but its name and its way: the same for each node of a group without a table of its own."""
    said = {**_said(member.sourced), **member.said, **(_said(own) if own else {})}
    for key in ("cores", "memory", "disk", "work_dir"):
        if said.get(key) is None:
            faults.add(f"node {member.name!r} has no {key!r}", f"group[{member.group.name}].{key}", _give(key))
            said[key] = ""
    return {
        "group": member.group.name,
        "site": said.get("site", "main"),
        "may_core": said.get("core", True),
        "cores": said["cores"],
        "memory_bytes": said["memory"],
        "disk_bytes": said["disk"],
        "capacity": float(said.get("capacity", 1.0)),
        "work_dir": said["work_dir"],
        "software_dir": said.get("software_dir", f"{said['work_dir']}/dist"),
        "java_home": said.get("java_home"),
        "attributes": member.sourced.attributes | member.group.attributes | (own.attributes if own else {}),
    }


def _give(key: str) -> str:
    return f"Give {_Keys.model_fields[key].description}"


def _said(table: Strict) -> dict[str, Any]:
    """The keys of a table that have a value there."""
    return {key: value for key, value in dict(table).items() if value is not None and key in table.model_fields_set}


def _data_address(member: _Member, own: NodeTable | None, address: str, faults: Faults) -> str:
    """Hadoop's address of a node; it follows SSH's ``address`` unless it is given."""
    tables = {f"node.{member.name}": own, f"from[{member.name}]": member.sourced}
    said = {f"{place}.{key}": getattr(table, key, None) for place, table in tables.items() for key in _ADDRESSES}
    for place, text in said.items():
        if text is not None and not is_host_name(text):
            hint = "Give one host name or IPv4 address"
            faults.add(f"{text!r} is not one address", place, hint)
    if own is not None and own.data_address is not None:
        return own.data_address
    return member.data_address or address


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
            faults.add(f"there is no key file {str(key)!r}", _place(file, node.name, node.group, "key"), hint)


def _check_root(file: InventoryFile, nodes: tuple[InventoryNode, ...], faults: Faults) -> None:
    """Jobs run as the user for SSH: those of root would own their nodes."""
    if file.ssh.allow_root:
        return
    hint = "Give a user without rights; or write allow_root = true into [ssh] if jobs may do anything on the nodes"
    places = dict.fromkeys(_place(file, node.name, node.group, "user") for node in nodes if node.user == "root")
    for place in list(places)[:MOST_TOLD]:
        faults.add("daemons and jobs would run as 'root' on the nodes", place, hint)


def _place(file: InventoryFile, name: str, of_group: str, key: str) -> str:
    """Place where a node's key stands: in its own table, in that of its group, in [ssh], or with the tool of [from]."""
    own = file.node.get(name)
    if own is not None and getattr(own, key) is not None:
        return f"node.{name}.{key}"
    if any(group.name == of_group and getattr(group, key) is not None for group in file.group):
        return f"group[{of_group}].{key}"
    if file.source is not None and key not in file.ssh.model_fields_set:
        return f"from.{file.source.tool}[{name}].{key}"
    return f"ssh.{key}"
