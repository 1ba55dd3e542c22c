"""`fawkes check`: looks at all hosts at once, without a controller; changes nothing that stays."""

from __future__ import annotations

import ipaddress
import secrets
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from io import BytesIO
from pathlib import PurePosixPath

import paramiko

from fawkes.base.errors import HostError
from fawkes.base.units import SECOND_US
from fawkes.config.nodes.inventory import Inventory, InventoryNode
from fawkes.config.settings.keys import SshLimits
from fawkes.core.watching import fit
from fawkes.live.base import limits
from fawkes.live.hadoop.fitness import HostSeen
from fawkes.live.hadoop.ports import Ports
from fawkes.live.hadoop.users import unfit_users
from fawkes.live.kerberos.same_time import ahead_us
from fawkes.live.nodes.fleet import Fleet
from fawkes.live.nodes.ground import no_group
from fawkes.live.nodes.playbooks import node as steps
from fawkes.live.nodes.relay import NotTakenError
from fawkes.live.nodes.ssh import ConnectionState, HostAddress, SshError
from fawkes.live.wire.names import NAMES
from fawkes.playbook import Script, reading
from fawkes.playbook.dist.compile.java import NeedsJava, find_java

_LOOPBACK = "127.0.0.1"
#: with more nodes than this each is asked for some of the others' names only
_MOST_NAMES = 64

_WORK_FOLDER = r"""
there={work}
while [ ! -d "$there" ]; do there=$(dirname "$there"); done
"""
_PUT_TOKEN = (
    _WORK_FOLDER
    + r"""
# On a full disk the file is made and stays empty.
(echo {node} >"$there"/{token}) 2>/dev/null || rm -f "$there"/{token} 2>/dev/null || :
"""
)
_SEE_TOKENS = (
    _WORK_FOLDER
    + r"""
for file in "$there"/.fawkes-check-{nonce}.*; do [ ! -e "$file" ] || fact sees "$(cat "$file")"; done
"""
)
_TAKE_TOKEN = (
    _WORK_FOLDER
    + r"""
rm -f "$there"/{token}
"""
)
_CLOCK = "fact clock_ns $(date +%s%N)"


def fleet_of(inventory: Inventory, nodes: Iterable[InventoryNode], ssh: SshLimits) -> Fleet:
    """Connections to these nodes, with the site's limits; `live.names` leads to nodes behind jump hosts by them."""
    hosts, behind = ways_to(nodes)
    return Fleet(
        hosts,
        inventory.known_hosts,
        connect_s=ssh.connect_timeout_us / SECOND_US,
        fanout=ssh.fanout,
        behind=behind,
    )


def ways_to(nodes: Iterable[InventoryNode]) -> tuple[dict[str, HostAddress], dict[str, str]]:
    """The addresses of nodes for SSH, and of those behind a jump host each name with its node."""
    nodes = list(nodes)
    behind = {place: n.name for n in nodes if n.jump for place in (n.name, n.address, n.data_address)}
    return {node.name: HostAddress.of(node) for node in nodes}, behind


def unknown_keys(fleet: Fleet, hosts: Iterable[HostSeen]) -> dict[str, paramiko.PKey | HostError]:
    """The key that each host shows whose key is in no file yet, or why it does not show one any more.

    Jump hosts on the way to them come first.
    """
    keys: dict[str, paramiko.PKey | HostError] = {}
    states = {seen.node.name: seen.error.state for seen in hosts if isinstance(seen.error, SshError)}
    unknown = [name for name, state in states.items() if state is ConnectionState.KEY_UNKNOWN]
    for name in (*(jump.node for jump in fleet.unknown_jumps()), *unknown):
        try:
            keys[name] = fleet.shown_key(name)
        except HostError as error:
            keys[name] = error
    return keys


class Examination:
    """Looks at hosts in rounds: what one host leaves is looked for on the others, and after a logout.

    ``hadoop`` are the versions that will run on them, ``users`` the Unix users of MR-clusters.
    """

    def __init__(
        self,
        fleet: Fleet,
        nodes: Sequence[InventoryNode],
        hadoop: Sequence[NeedsJava],
        users: Sequence[str] = (),
        *,
        threads: int = 32,
    ) -> None:
        self._fleet = fleet
        self._nodes = list(nodes)
        self._hadoop = hadoop
        self._users = users
        self._threads = threads
        self._nonce = secrets.token_hex(8)
        #: the address of another node for each, so that every address is tried once
        self._next = {
            node.name: other.data_address for node, other in zip(nodes, (*nodes[1:], *nodes[:1]), strict=True)
        }

    def look(self, done: Callable[[str], None] = lambda node: None) -> list[HostSeen]:
        """All hosts, in order; ``done`` hears of each that has been looked at. Nothing is raised for a host."""
        names = _names(self._nodes)
        with ThreadPoolExecutor(self._threads, thread_name_prefix="check") as pool:
            everybody = list(pool.map(lambda node: self._first(node, names[node.name]), self._nodes))
            try:
                return list(pool.map(lambda seen: self._second(seen, done), everybody))
            finally:
                list(pool.map(self._tidy, everybody))

    def _first(self, node: InventoryNode, names: Sequence[str]) -> HostSeen:
        work = PurePosixPath(node.work_dir)
        ports = tuple(vars(Ports()).values())
        script = steps.linger() + reading(_PUT_TOKEN, work=work, node=node.name, token=self._token(node))
        script += steps.fit_users(self._users)
        script += steps.check(
            work,
            java_home=node.java_home or "",
            ports=ports,
            names=names,
            others=[self._next[node.name]],
            port=Ports().namenode,
        )
        try:
            facts = self._fleet.run(node.name, script, limits.CHECK_S).check("checking the node")
            seen = HostSeen(
                node=node,
                facts=facts,
                clock_us=self._clock(node.name),
                unfit_users=unfit_users(facts, self._users),
                no_group=no_group(facts),
                no_way=self._no_way(node.name),
                not_reached=_not_reached(node.data_address),
                quota=facts.get("quota", ""),
                quota_why=facts.get("quota.why", ""),
                criu=facts.get("criu", ""),
                criu_why=facts.get("criu.why", ""),
            )
            return self._java(seen)
        except HostError as error:
            return HostSeen(node=node, error=error)

    def _java(self, seen: HostSeen) -> HostSeen:
        """The facts with the Java that the last of the versions would run on, or why one of them has none."""
        for release in self._hadoop:
            try:
                java = find_java(self._fleet, seen.node.name, release, java_home=seen.node.java_home)
            except SshError:
                raise
            except HostError as error:
                return replace(seen, java=None, java_error=error)
            seen = replace(seen, java=java)
        return seen

    def _no_way(self, name: str) -> str:
        """The reason why a node opens no connections for us; "" if it does."""
        try:
            # Nobody listens there, and a refusal shows as well that the node has tried.
            self._fleet.connect(name, _LOOPBACK, Ports().namenode, limits.CHECK_S).close()
        except NotTakenError:
            return ""
        except OSError as error:
            return str(error.__cause__ or error)
        return ""

    def _clock(self, name: str) -> int | None:
        """The lead of its clock ahead of what the time of the answer could be."""
        before = time.time_ns()
        theirs = self._fleet.run(name, reading(_CLOCK), limits.CHECK_S).check("reading the clock").number("clock_ns")
        after = time.time_ns()
        if theirs is None:
            return None
        return ahead_us(theirs, before, after)

    def _second(self, seen: HostSeen, done: Callable[[str], None]) -> HostSeen:
        node = seen.node
        if seen.error is None:
            # Log out: the next script logs in again.
            self._fleet.drop(node.name)
            seen = self._after_logout(seen)
        done(node.name)
        return seen

    def _after_logout(self, seen: HostSeen) -> HostSeen:
        node = seen.node
        pid, since = seen.facts.number("pid"), seen.facts.number("since")
        script = reading(_SEE_TOKENS, work=PurePosixPath(node.work_dir), nonce=self._nonce)
        if pid is not None and since is not None:
            script += steps.lingers(pid, since)
        try:
            facts = self._fleet.run(node.name, script, limits.CHECK_S).check("checking again")
            shell_us = self._shell_us(node.name)
        except HostError as error:
            return replace(seen, error=error)
        lingers = facts.get("lingers")
        return replace(
            seen,
            shell_us=shell_us,
            lingers=None if lingers is None else lingers == "yes",
            sees=tuple(sorted(set(facts.all("sees")) - {node.name})),
        )

    def _shell_us(self, name: str) -> int:
        """The time that the login shell takes to start: the best of as many looks as the verdict needs."""
        took_us: list[int] = []
        while not fit.shell_is_known(took_us):
            before = time.monotonic_ns()
            # With a standard input of its own a script gets a new channel, and so a new shell.
            self._fleet.run(name, Script(":"), limits.CHECK_S, stdin=BytesIO())
            took_us.append((time.monotonic_ns() - before) // 1000)
        return min(took_us)

    def _tidy(self, seen: HostSeen) -> None:
        if not seen.facts:
            return
        script = reading(_TAKE_TOKEN, work=PurePosixPath(seen.node.work_dir), token=self._token(seen.node))
        try:
            self._fleet.run(seen.node.name, script, limits.CHECK_S)
        except HostError:
            return  # it went away meanwhile, which the row of the host says

    def _token(self, node: InventoryNode) -> str:
        return f".fawkes-check-{self._nonce}.{node.name}"


def _not_reached(data_address: str) -> OSError | None:
    """The reason why this machine does not reach an address of masters; None if it does: a refusal is an answer."""
    try:
        NAMES.connect(data_address, Ports().namenode_web, limits.REACH_S).close()
    except (ConnectionRefusedError, NotTakenError):
        return None
    except OSError as error:
        return error
    return None


def _names(nodes: Sequence[InventoryNode]) -> Mapping[str, tuple[str, ...]]:
    """The names that each node is asked to resolve: its own and the others', of many nodes those that follow it."""
    each = [tuple(dict.fromkeys((node.name, *_named(node.data_address)))) for node in nodes]
    ring = each + each[:_MOST_NAMES]
    span = min(len(nodes), _MOST_NAMES)
    return {
        node.name: tuple(dict.fromkeys(name for names in ring[at : at + span] for name in names))
        for at, node in enumerate(nodes)
    }


def _named(address: str) -> tuple[str, ...]:
    """The address if it is a name."""
    try:
        ipaddress.ip_address(address)
    except ValueError:
        return (address,)
    return ()
