"""The fitness of a host to serve: what was seen of it, held against the inventory and what Hadoop needs. Pure.

First contact fails on names, SSH and silent hangs, so each problem says what is wrong and what to do about it.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from ipaddress import IPv4Address, IPv6Address

from fawkes.base.errors import HostError
from fawkes.base.units import show_bytes, show_duration
from fawkes.config.files.nodeset import fold
from fawkes.config.nodes.inventory import InventoryNode
from fawkes.core.watching import fit
from fawkes.live.hadoop.ports import Ports
from fawkes.live.nodes.ssh import ConnectionState, SshError
from fawkes.playbook import Facts
from fawkes.playbook.dist.compile.java import Java

USER_HINT = (
    "Each node needs this user, with no other use and no line in /etc/subuid, and the user for SSH needs the right to "
    "run programs as that user (sudo without a password)"
)
_MOST_NAMED = 8
_KEY_STATES = (ConnectionState.KEY_UNKNOWN, ConnectionState.KEY_CHANGED)
_BEFORE_THE_KEY = (
    ConnectionState.NAME_UNKNOWN,
    ConnectionState.BEHIND,
    ConnectionState.NO_ANSWER,
    ConnectionState.REFUSED,
    ConnectionState.NOT_TRIED,
)
_PACKAGES = {
    "awk": "mawk",
    "bash": "bash",
    "find": "findutils",
    "flock": "util-linux",
    "setsid": "util-linux",
    "getent": "libc-bin",
    "gzip": "gzip",
    "grep": "grep",
    "tar": "tar",
}

CHECKS = (
    "ssh",
    "key",
    "names",
    "data",
    "forward",
    "java",
    "clock",
    "disk",
    "memory",
    "ports",
    "left",
    "tools",
    "shell",
    "logout",
    "users",
)
"""The checks, in the order of the report."""


class Level(StrEnum):
    """The severity of a problem: the host cannot serve, or it can and somebody should look."""

    BAD = "bad"
    WARNING = "warning"


@dataclass(frozen=True)
class Problem:
    """The faults of a host (``check`` is one of CHECKS), and what to do about it."""

    check: str
    what: str
    hint: str = ""
    level: Level = Level.BAD


@dataclass(frozen=True, kw_only=True)
class HostSeen:
    """A host as it was seen: ``error`` is why it could not be used, and then the rest says nothing.

    ``java`` is the one that Hadoop would run on, ``java_error`` why there is none. ``clock_us`` is how far its clock is
    ahead of ours, beyond what the way there explains; ``shell_us`` what its login shell takes to start; ``lingers``
    whether a process survives the logout; ``sees`` the other nodes whose token lies in this node's work folder;
    ``unfit_users`` why nothing can run there as some of the users that MR-clusters run as; ``no_group`` why a lease
    gets no control group there, "" if it gets one; ``no_way`` why it opens no connections for us, "" if it does. None:
    it could not be told. ``not_reached`` is why this machine does not reach its data_address, None if it does.
    ``quota`` is how CPU time of containers is limited there (``v2``, ``v1``, ``stop``; "" if it did not say),
    ``quota_why`` the commands by which an administrator would grant more than ``stop``. ``criu`` is whether tasks can
    be saved by CRIU (``yes``, ``no``; "" if it did not say), and ``criu_why`` why not.
    """

    node: InventoryNode
    error: HostError | None = None
    facts: Facts = field(default_factory=lambda: Facts([]))
    java: Java | None = None
    java_error: HostError | None = None
    clock_us: int | None = None
    shell_us: int | None = None
    lingers: bool | None = None
    sees: tuple[str, ...] = ()
    unfit_users: Mapping[str, str] = field(default_factory=dict)
    no_group: str | None = None
    no_way: str | None = None
    not_reached: OSError | None = None
    quota: str = ""
    quota_why: str = ""
    criu: str = ""
    criu_why: str = ""


@dataclass(frozen=True)
class Fitness:
    """A host and what is wrong with it."""

    seen: HostSeen
    problems: tuple[Problem, ...]

    @property
    def fits(self) -> bool:
        """True if it can serve; warnings do not count."""
        return all(problem.level is not Level.BAD for problem in self.problems)

    @property
    def showed_key(self) -> bool:
        """True if the host showed a host key at all: one that does not answer has shown none."""
        error = self.seen.error
        return not (isinstance(error, SshError) and error.state in _BEFORE_THE_KEY)

    @property
    def result(self) -> str:
        """The result in one word: ``fits``, ``warnings``, ``unfit``, ``unreachable``."""
        if self.seen.error is not None:
            return "unreachable"
        if not self.fits:
            return "unfit"
        return "warnings" if self.problems else "fits"


def judge(hosts: Sequence[HostSeen], pool: str, *, standby_bytes: int = 0, promised: bool = False) -> list[Fitness]:
    """The verdict on each host of a pool, in the order given.

    ``standby_bytes`` is what the daemons of a core node take besides ``memory`` where an MR-cluster is to have a second
    NameNode. 0: none is to have one; then nobody asks for the memory, and the ports of a journal may be in use.
    ``promised``: an MR-cluster is to survive the loss of its masters.
    """
    reached = [seen for seen in hosts if seen.error is None]
    names = _Names(reached)
    return [
        Fitness(seen, tuple(_problems(seen, pool, names, standby_bytes=standby_bytes, promised=promised)))
        for seen in hosts
    ]


def _problems(seen: HostSeen, pool: str, names: _Names, *, standby_bytes: int, promised: bool) -> Iterator[Problem]:
    if seen.error is not None:
        key = isinstance(seen.error, SshError) and seen.error.state in _KEY_STATES
        yield Problem("key" if key else "ssh", seen.error.what, seen.error.hint)
        return
    yield from names.problems(seen)
    yield from names.data(seen)
    if seen.no_way:
        yield Problem(
            "forward",
            f"no connection can be opened through it, as a takeover of masters needs: {seen.no_way}",
            "Set AllowTcpForwarding yes in its sshd_config, or install bash there",
            Level.BAD if promised else Level.WARNING,
        )
    if seen.java_error is not None:
        yield Problem("java", seen.java_error.what, seen.java_error.hint)
    yield from _clock(seen)
    yield from _disk(seen, pool)
    yield from _memory(seen, standby_bytes)
    yield from _ports(seen, pool, journal=standby_bytes > 0)
    yield from _left(seen, pool)
    yield from _tools(seen)
    yield from _ways(seen)
    for why in seen.unfit_users.values():
        yield Problem("users", why, USER_HINT)


class _Names:
    """Names of hosts, as all that were reached see them together."""

    def __init__(self, reached: Sequence[HostSeen]) -> None:
        self._by_machine: dict[str, list[str]] = {}
        self._by_name = {seen.node.name: seen for seen in reached}
        said: dict[str, dict[str, int]] = {}
        for seen in reached:
            self._by_machine.setdefault(seen.facts.get("machine", ""), []).append(seen.node.name)
            for name, address in seen.facts.under("name").items():
                if address and not _is_loopback(address):
                    counts = said.setdefault(name, {})
                    counts[address] = counts.get(address, 0) + 1
        self._usual = {name: max(counts, key=lambda a: (counts[a], a)) for name, counts in said.items()}

    def problems(self, seen: HostSeen) -> Iterator[Problem]:
        """The faults of the names of one host, and with what it makes of the others'."""
        yield from self._own(seen)
        resolved = seen.facts.under("name")
        needed = {other.node.data_address for other in self._by_name.values()}
        silent = seen.facts.all("silent")
        if silent:
            yield Problem(
                "names",
                f"its name service does not answer when asked for {fold(sorted(silent))}",
                "Correct the name servers in its /etc/resolv.conf, or put the names into its /etc/hosts",
                Level.BAD if needed.intersection(silent) else Level.WARNING,
            )
        lacking = sorted(name for name, address in resolved.items() if not address and name not in silent)
        hadoops = [name for name in lacking if name in needed]
        others = [name for name in lacking if name not in needed]
        if hadoops:
            yield Problem(
                "names",
                f"it cannot resolve {fold(hadoops)}; Hadoop's daemons find each other by these names",
                "Put the names into DNS or its /etc/hosts, or give addresses as data_address in inventory.toml",
            )
        if others:
            yield Problem(
                "names",
                f"it cannot resolve the names {fold(others)}",
                "Hadoop uses addresses and does not need these names; other programs there may",
                Level.WARNING,
            )
        yield from self._wrong_addresses(seen, {n: a for n, a in resolved.items() if a and n in needed})

    def data(self, seen: HostSeen) -> Iterator[Problem]:
        """The faults of its data_address, and with its way to the one of another node."""
        address = seen.node.data_address
        if not _has(seen):
            own = sorted(map(str, _own_addresses(seen)))
            number = seen.facts.get(f"name.{address}", address)
            yield Problem(
                "data",
                f"data_address {address}{f' ({number})' if number != address else ''} is on no interface of it "
                f"(it has {', '.join(own[:_MOST_NAMED])}{' ...' if own[_MOST_NAMED:] else ''})",
                "Correct `data_address` in inventory.toml, or give the node this address",
            )
        elif seen.not_reached is not None:
            yield _not_reached(address, seen.not_reached)
        fine = {host.node.data_address for host in self._by_name.values() if _has(host)}
        for other, said in seen.facts.under("reach").items():
            if said != "yes" and other in fine:
                yield Problem(
                    "data",
                    f"it does not reach data_address {other} of another node: {said}",
                    "Give the nodes routes to each other, and open their firewalls for each other",
                )

    def _own(self, seen: HostSeen) -> Iterator[Problem]:
        name, hostname = seen.node.name, seen.facts.get("hostname", "")
        machine = seen.facts.get("machine", "")
        same = [other for other in self._by_machine[machine] if machine and other != name]
        if same:
            what = f"it is the same machine as {fold(same)}: a wipe of one node would end the daemons of the other"
            yield Problem("names", what, "Give each node its own address in inventory.toml, or remove one of them")
        elif _short(hostname) != _short(name):
            taken = _short(hostname) in {_short(other) for other in self._by_name}
            yield Problem(
                "names",
                f"it calls itself {hostname!r}" + (", which is the name of another node" if taken else ""),
                "Correct its address in inventory.toml, or set its hostname there (hostnamectl set-hostname)",
                Level.BAD if taken else Level.WARNING,
            )

    def _wrong_addresses(self, seen: HostSeen, resolved: Mapping[str, str]) -> Iterator[Problem]:
        for name, address in sorted(resolved.items()):
            usual = self._usual.get(name, address)
            if _is_loopback(address):
                yield Problem(
                    "names",
                    f"it resolves {name} to {address}, where no other host can reach it",
                    f"Remove {name} from the line of {address} in its /etc/hosts",
                )
            elif address != usual:
                yield Problem(
                    "names",
                    f"it resolves {name} to {address}; the other nodes resolve it to {usual}",
                    "Make DNS and /etc/hosts of all hosts agree",
                )


def _address(text: str) -> IPv4Address | IPv6Address | None:
    try:
        return ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None


def _is_loopback(text: str) -> bool:
    address = _address(text)
    return address is not None and address.is_loopback


def _own_addresses(seen: HostSeen) -> set[IPv4Address | IPv6Address]:
    """The addresses of a node's interfaces, without the loopback."""
    own = (_address(text if "." in text else ":".join(re.findall("....", text))) for text in seen.facts.all("has"))
    return {address for address in own if address is not None and not address.is_loopback}


def _has(seen: HostSeen) -> bool:
    """True if a node has its data_address; true where that is not known, or is a fault of names."""
    address = _address(seen.facts.get(f"name.{seen.node.data_address}", seen.node.data_address))
    own = _own_addresses(seen)
    return not own or address is None or address.is_loopback or address in own


def _not_reached(address: str, error: OSError) -> Problem:
    where = f"this machine does not reach data_address {address}, where masters will serve"
    if isinstance(error, TimeoutError):
        what = f"{where}: no answer"
        hint = "A firewall may drop what this machine sends: let it reach the ports of masters"
        return Problem("data", what, hint, Level.WARNING)
    hint = "Give this machine a way to that network, or let the controller run on a machine that has one"
    return Problem("data", f"{where}: {error.strerror or error}", hint)


def _short(name: str) -> str:
    return name.split(".", 1)[0].lower()


def _clock(seen: HostSeen) -> Iterator[Problem]:
    off = seen.clock_us
    if off is not None and fit.clock_differs(off):
        yield Problem(
            "clock",
            f"its clock is {show_duration(abs(off))} {'ahead of' if off > 0 else 'behind'} this machine's",
            "Let chrony or ntpd set both",
            Level.WARNING,
        )


def free_bytes(seen: HostSeen) -> int | None:
    """The free space of the work folder's disk."""
    free = seen.facts.number("disk.free_kb")
    return None if free is None else free * 1024


def _disk(seen: HostSeen, pool: str) -> Iterator[Problem]:
    folder, free = seen.node.work_dir, free_bytes(seen)
    total = (seen.facts.number("disk.total_kb") or 0) * 1024
    if free is not None and fit.disk_is_full(free, total):
        yield Problem("disk", f"the disk of {folder} is full: {show_bytes(free)} free", "Make room, or move work_dir")
    elif unusable := _unusable(seen):
        yield unusable
    elif free is not None and seen.node.may_core and fit.disk_takes_no_block(free) and not _serves(seen, pool):
        yield Problem(
            "disk",
            f"{folder} has {show_bytes(free)} free, and HDFS stores nothing on less than {show_bytes(fit.LEAST_BYTES)}",
            "Make room, move work_dir, or let it be no core node (core = false)",
            Level.WARNING,
        )
    elif free is not None and fit.disk_is_smaller(free, seen.node.disk_bytes) and not _serves(seen, pool):
        yield Problem(
            "disk",
            f"the inventory promises {show_bytes(seen.node.disk_bytes)}, {folder} has {show_bytes(free)} free",
            "Correct `disk` in inventory.toml, or make room",
            Level.WARNING,
        )
    if group := seen.facts.get("disk.group"):
        yield Problem(
            "disk",
            f"members of the group {group!r} can change {folder}, and so who holds the node",
            f"As its owner there, if that is not meant: chmod g-w {folder}",
            Level.WARNING,
        )
    others = sorted(set(seen.sees) - {seen.node.name})
    if others:
        yield Problem(
            "disk",
            f"it shares its work folder {folder} with {fold(others)}",
            "Give each node a work_dir on its own disk: daemons would overwrite each other's files",
        )


def _unusable(seen: HostSeen) -> Problem | None:
    """The reason why the work folder cannot be used, although its disk has room."""
    folder, user, mount = seen.node.work_dir, seen.facts.get("user"), seen.facts.get("disk.mount", "its mount point")
    why, options = seen.facts.get("disk.why", ""), seen.facts.get("disk.options", "").split(",")
    inodes, free = seen.facts.number("disk.inodes") or 0, seen.facts.number("disk.free_inodes") or 0
    cannot_write = seen.facts.get("disk.write") == "no"
    if taken := seen.facts.get("disk.no_folder"):
        what = f"{folder} cannot be made: {taken} is there, and is neither a folder nor a link to one"
        return Problem("disk", what, f"Move {taken} out of the way there, or correct `work_dir` in inventory.toml")
    if cannot_write and why == "Read-only file system":
        return Problem(
            "disk",
            f"{folder} is on a read-only file system (mounted on {mount})",
            f"As root there: mount -o remount,rw {mount}. If it became read-only by itself, look at its disk (dmesg)",
        )
    if fit.inodes_are_few(free, inodes):
        return Problem(
            "disk",
            f"the file system of {folder} has too few inodes left: {free:,} of {inodes:,} are free",
            f"Remove files below {mount} (many small ones, not large ones), or move work_dir",
        )
    if cannot_write and why not in ("", "Permission denied"):
        hint = "Look there at what forbids it: an attribute of the folder (lsattr -d) or a quota of the user (quota)"
        return Problem("disk", f"user {user!r} cannot write into {folder}: {why}", hint)
    if cannot_write:
        return Problem(
            "disk", f"user {user!r} cannot write into {folder}", f"As root there: install -d -o {user} {folder}"
        )
    if seen.facts.get("disk.exec") != "no":
        return None
    if "noexec" not in options:
        hint = f"Look there at what keeps programs below {mount} from running (SELinux, fapolicyd)"
        return Problem("disk", f"user {user!r} cannot run a program that lies in {folder}: {why}", hint)
    return Problem(
        "disk",
        f"{folder} is on a file system that is mounted noexec ({mount}): what jobs and daemons unpack there cannot run",
        f"As root there: mount -o remount,exec {mount}, and correct its line in /etc/fstab; or move work_dir",
    )


def _memory(seen: HostSeen, standby_bytes: int) -> Iterator[Problem]:
    there = (seen.facts.number("memory_kb") or 0) * 1024
    left = there - seen.node.memory_bytes
    if there and 0 <= left < standby_bytes and seen.node.may_core:
        yield Problem(
            "memory",
            f"{show_bytes(left)} of its memory are left for daemons; masters with a journal (masters = 'standby') take "
            f"about {show_bytes(standby_bytes)}",
            "Lower `memory` in inventory.toml",
            Level.WARNING,
        )
    if there and left < 0:
        yield Problem(
            "memory",
            f"the inventory promises {show_bytes(seen.node.memory_bytes)} of memory, but it has {show_bytes(there)}",
            "Lower `memory` in inventory.toml, and leave some memory for the daemons",
        )


def _serves(seen: HostSeen, pool: str) -> bool:
    """True if it belongs to an MR-cluster of this pool now."""
    lease = seen.facts.under("lease")
    return lease.get("pool") == pool and bool(lease.get("cluster"))


def _ports(seen: HostSeen, pool: str, *, journal: bool) -> Iterator[Problem]:
    names = {port: name for name, port in vars(Ports()).items() if journal or not name.startswith("journal")}
    used = sorted(int(port) for port in seen.facts.all("listen") if int(port) in names)
    if used and not _serves(seen, pool):
        said = ", ".join(f"{port} ({names[port].replace('_', ' ')})" for port in used)
        yield Problem(
            "ports",
            f"another program uses {'a port' if len(used) == 1 else 'ports'} of Hadoop: {said}",
            "Find the program with `ss -ltnp` there, and stop it",
        )


#: a lease may be of an MR-cluster with data: what to do depends on what else is there
_REPAIR = 'see the page `operations`, "A node that is refused"'


def _left(seen: HostSeen, pool: str) -> Iterator[Problem]:
    lease = seen.facts.under("lease")
    owner = lease.get("pool", pool)
    if "damage" in lease:
        yield Problem(
            "left",
            f"the file {seen.node.work_dir}/lease is not a valid lease: {lease['damage']}",
            f"To repair it: {_REPAIR}",
        )
    elif owner != pool:
        yield Problem(
            "left",
            f"it belongs to the pool {owner!r}",
            f"`fawkes down` of that pool releases it; if there is no such pool: {_REPAIR}",
        )
    elif lease.get("node", seen.node.name) != seen.node.name:
        yield Problem(
            "left",
            f"the lease in its work folder belongs to {lease['node']}",
            f"Its name has changed, or {seen.node.work_dir} was copied or is shared: {_REPAIR}",
        )
    strangers: dict[str, int] = {}
    for text in seen.facts.under("left").values():
        its_pool, cluster, _, daemon = (*text.split(" "), "", "", "")[:4]
        if (its_pool, cluster) != (owner, lease.get("cluster") or None):
            who = f"{daemon or 'a process'} of {cluster or 'no MR-cluster'} of pool {its_pool or 'unknown'}"
            strangers[who] = strangers.get(who, 0) + 1
    if strangers:
        said = ", ".join(f"{count} x {who}" if count > 1 else who for who, count in sorted(strangers.items()))
        yield Problem(
            "left", f"left behind there: {said}", "Run the controller of that pool, or end these processes by hand"
        )


def _tools(seen: HostSeen) -> Iterator[Problem]:
    missing = sorted(seen.facts.all("missing"))
    if missing:
        packages = " ".join(sorted({_PACKAGES.get(tool, "coreutils") for tool in missing}))
        yield Problem("tools", f"programs are missing: {', '.join(missing)}", f"On Debian: apt-get install {packages}")


def _ways(seen: HostSeen) -> Iterator[Problem]:
    if seen.shell_us is not None and fit.shell_is_slow(seen.shell_us):
        yield Problem(
            "shell",
            f"its login shell takes {show_duration(seen.shell_us)} to start, before each command",
            "Look at ~/.bashrc and /etc/profile there: run what is only for people after a check with `[ -t 0 ]`",
            Level.WARNING,
        )
    if seen.lingers is False:
        user = seen.facts.get("user", seen.node.user)
        yield Problem(
            "logout",
            "processes end when their user logs out, so daemons would end as well",
            f"As root there: loginctl enable-linger {user}, or KillUserProcesses=no; with Slurm see pam_slurm_adopt",
        )
