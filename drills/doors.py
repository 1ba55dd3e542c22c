"""Every door of every host of a lab: which ports listen, and what each of four places gets from them.

The ports are not named here: they are read from the kernel of each host (`/proc/net/tcp`, `/proc/net/tcp6`). The places
are a node of the same MR-cluster, a node of another MR-cluster, a host of neither, and another user of the controller's
machine.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from fawkes.core.values.model import ClusterId, NodeId, Promise, Role
from tests.support.kdc import SITE_TABLE, serving_realm
from tests.support.site import PROJECT, RealSite, real_site

OWN, OTHER, OUTSIDE, LOCAL = "own node", "other MR-cluster", "outside", "local user"
PLACES = (OWN, OTHER, OUTSIDE, LOCAL)

ANSWERS, PAGES, NO_TICKET = "answers", "pages", "401"
SHUT, FORBIDDEN, REFUSED = "closed", "403", "no listener"
CLOSED = frozenset({SHUT, FORBIDDEN, REFUSED})
"""What a stranger may get: the connection is closed before a byte is read, a 403 on every path, or nobody listens."""

_SSH = "sshd"
_EVERYWHERE = "0.0.0.0"
_MASTER_OF_JOB = "applicationmaster"
#: RPC for clients, RPC for tasks, web
_MASTER_DOORS = 3
_NOBODY = 65534
#: hosts of a lab see the machine's own, and no environment of a project
_PYTHON = "/usr/bin/python3"
_LIMIT_S = 120.0
#: mostly they wait for a connection that says nothing
_AT_A_TIME = 4
_PROBE = Path(__file__).with_name("probe.py")

_LISTENERS = r"""
for pid in /proc/[0-9]*; do
    daemon=$(tr '\0' '\n' 2>/dev/null <"$pid/environ" | sed -n 's/^FAWKES_DAEMON=//p')
    if grep -qa MRAppMaster "$pid/cmdline" 2>/dev/null; then daemon=applicationmaster; fi
    [ -n "$daemon" ] || daemon=$(cat "$pid/comm" 2>/dev/null)
    for file in "$pid"/fd/*; do
        inode=$(readlink "$file" 2>/dev/null) || continue
        case $inode in socket:*) echo "socket ${inode#socket:} $daemon" ;; esac
    done
done
cat /proc/net/tcp /proc/net/tcp6 | while read -r _ local _ state _ _ _ _ _ inode _; do
    [ "$state" != 0A ] || echo "listen $local [$inode]"
done
"""


@dataclass(frozen=True, order=True)
class Door:
    """A port of a host on which something listens, and on which address; ``0.0.0.0`` for all."""

    host: str
    port: int
    daemon: str
    bound: str


@dataclass(frozen=True)
class Tried:
    """What each place got from a door, without a ticket; ``kerberos``: it gives its own nodes nothing without one."""

    door: Door
    got: Mapping[str, str]
    kerberos: bool = False

    @property
    def holes(self) -> tuple[str, ...]:
        """The places that got more than they may; the own nodes, too, when they got nothing.

        With Kerberos the own nodes get no pages either.
        """
        strangers = [place for place in PLACES[1:] if self.got[place] not in CLOSED]
        own = (ANSWERS, NO_TICKET) if self.kerberos else (ANSWERS, PAGES)
        return tuple(strangers if self.got[OWN] in own else [OWN, *strangers])


def listeners(site: RealSite, host: str) -> list[Door]:
    """The doors of a host by its kernel, without sshd and what only the host itself can reach."""
    daemons: dict[str, str] = {}
    found: set[Door] = set()
    for line in site.on(host, _LISTENERS).splitlines():
        kind, first, second = line.split(maxsplit=2)
        if kind == "socket":
            daemons[first] = second
        else:
            address, port = _address(first)
            found.add(Door(host, port, daemons.get(second, "?"), address))
    return sorted(door for door in found if door.daemon != _SSH and not door.bound.startswith("127."))


def _address(text: str) -> tuple[str, int]:
    """``0100007F:1F90`` as the kernel writes it; an IPv4 address in IPv6 as what it is."""
    raw, port = text.split(":")
    words = [bytes.fromhex(raw[at : at + 8])[::-1] for at in range(0, len(raw), 8)]
    return ".".join(str(byte) for byte in words[-1]), int(port, 16)


def matrix(site: RealSite, own: str, other: str, outside: str, *, kerberos: bool = False) -> list[Tried]:
    """Every door of the MR-cluster ``own``, tried from the four places.

    ``other`` is another MR-cluster, ``outside`` a host of neither. ``own`` has two nodes or more, and ``kerberos``
    when it wants tickets. Nobody who tries has one. ApplicationMasters give their pages to the nodes that have masters
    or could take them over (with a journal, all of its nodes), whose proxy asks for the ticket: another own node tries
    them, where there is one.
    """
    nodes = sorted(site.state.nodes_of(ClusterId(own)))
    cluster = site.ledger.clusters[own]
    proxies = {cluster.master, *(() if cluster.standby is None else cluster.standby.journal)}
    stranger = min(site.state.nodes_of(ClusterId(other)))
    friends = {node: min((n for n in nodes if n != node), key=lambda n: n in proxies) for node in nodes}
    with ThreadPoolExecutor(_AT_A_TIME) as threads:
        doors_of = dict(zip(nodes, threads.map(partial(listeners, site), nodes), strict=True))
        answers = {}
        for node, friend in friends.items():
            targets = _targets(site, doors_of[node])
            for place, host in ((OWN, friend), (OTHER, stranger), (OUTSIDE, outside)):
                answers[node, place] = threads.submit(from_host, site, host, targets)
            answers[node, LOCAL] = threads.submit(from_controller, site, targets)
    doors = [door for node in nodes for door in doors_of[node]]
    got: dict[Door, dict[str, str]] = {door: {} for door in doors}
    for (node, place), answer in answers.items():
        for door, what in zip(doors_of[node], answer.result(), strict=True):
            got[door][place] = what
    proxied = [door for door in doors if door.daemon == _MASTER_OF_JOB and friends[NodeId(door.host)] in proxies]
    return [Tried(door, got[door], kerberos and door not in proxied) for door in doors]


def _targets(site: RealSite, doors: Iterable[Door]) -> list[str]:
    return [f"{site.hosts[door.host]}:{door.port}" for door in doors]


def from_host(site: RealSite, host: str, targets: Sequence[str]) -> list[str]:
    """What a host of the lab gets from each of the addresses."""
    words = " ".join(targets)
    return _read(site.on(host, f"exec {_PYTHON} - {words} <<'PROBE'\n{_PROBE.read_text()}\nPROBE\n"))


def from_controller(site: RealSite, targets: Sequence[str]) -> list[str]:
    """What another user of the controller's machine gets."""
    command = ["setpriv", f"--reuid={_NOBODY}", f"--regid={_NOBODY}", "--clear-groups", _PYTHON, "-", *targets]
    done = site.lab.exec(command, cwd=PROJECT, input=_PROBE.read_text(), timeout_s=_LIMIT_S)
    return _read(done.stdout)


def _read(text: str) -> list[str]:
    found: list[str] = json.loads(text)
    return found


def rows(tried: Iterable[Tried]) -> Iterator[str]:
    """The matrix as a table in Markdown."""
    yield f"| host | port | daemon | listens on | {' | '.join(PLACES)} |"
    yield "| --- | --- | --- | --- |" + " --- |" * len(PLACES)
    for one in tried:
        door = one.door
        cells = [door.host, str(door.port), door.daemon, door.bound, *(one.got[place] for place in PLACES)]
        yield f"| {' | '.join(cells)} |"


def summary(tried: Sequence[Tried]) -> Iterator[str]:
    """How many doors gave what, for each place; a table in Markdown."""
    yield f"| {' | '.join(PLACES)} | listen on all addresses |"
    yield f"|{' --- |' * len(PLACES)} --- |"
    counts = [Counter(one.got[place] for one in tried) for place in PLACES]
    cells = [", ".join(f"{number} {got}" for got, number in count.most_common()) for count in counts]
    everywhere = sum(one.door.bound == _EVERYWHERE for one in tried)
    yield f"| {' | '.join(cells)} | {everywhere} |"


_SETTINGS = """
preset = "demo"
period = "10s"
sample_every = "2s"
idle_time = "never"
"""
_CLUSTER = """
min_nodes = {nodes}
masters = "{promise}"
replication = 2
block_size = "1MiB"
growth = "TR"
hadoop_version = "{version}"
"""
_JOB = """
kind = "sleep"
maps = 4
map_time = "120s"
reduces = 0
"""


def play(folder: Path, *, kerberos: bool = False, promise: Promise = Promise.KEPT) -> list[Tried]:
    """The whole matrix on a lab of its own: two MR-clusters, one of them with a job and a node that has joined it.

    With ``kerberos`` both want tickets. That with the job has the ``promise``, and so the daemons that it needs.
    """
    nodes = {"alpha": 3 if promise is Promise.STANDBY else 2, "beta": 2}
    # One that joins, and one that belongs to nobody.
    outside = f"node{sum(nodes.values()) + 2:02d}"
    with ExitStack() as stack:
        settings = _SETTINGS + (SITE_TABLE if kerberos else "")
        site = stack.enter_context(real_site(folder, sum(nodes.values()) + 2, settings))
        for name, version, kept in (("alpha", "3.5.0", promise), ("beta", "3.4.2", Promise.KEPT)):
            text = _CLUSTER.format(nodes=nodes[name], promise=kept, version=version)
            site.write(f"clusters/{name}.toml", text + ('security = "kerberos"\n' if kerberos else ""))
        if kerberos:
            stack.enter_context(serving_realm(site.root, tuple(nodes), site.lab.popen))
        site.run()
        site.fawkes("drain", outside, "--reason", "a host of neither MR-cluster")
        site.request(*nodes)
        if promise is Promise.STANDBY:
            site.until("a second NameNode that follows", lambda: _follows(site, "alpha"))
        tried = []
        for own, other in (("alpha", "beta"), ("beta", "alpha")):
            site.fawkes("submit", own, site.job(f"job-{own}", _JOB))
            site.until("a running job", partial(_runs, site, own))
            if own == "alpha":
                site.until("a node that joins", partial(site.serving, own, Role.TRANSIENT))
            tried += matrix(site, own, other, outside, kerberos=kerberos)
            site.fawkes("cancel", f"job-{own}", "--wait")
        return tried


def _follows(site: RealSite, cluster: str) -> bool:
    standby = site.ledger.clusters[cluster].standby
    return standby is not None and standby.ready


def _runs(site: RealSite, cluster: str) -> bool:
    """Whether a job's ApplicationMaster has opened all of its doors."""
    doors = [door for node in sorted(site.state.nodes_of(ClusterId(cluster))) for door in listeners(site, node)]
    return sum(door.daemon == _MASTER_OF_JOB for door in doors) >= _MASTER_DOORS
