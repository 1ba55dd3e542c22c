"""The networks of a lab as they follow from the wishes: bridges, links between them, hosts and their cables.

On each network the nearest machine on the controller's side of it has the address .0.1: the controller, or the last
jump host on the way. Nobody routes, so only that machine reaches what is behind it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from fawkes.live.lab.spec import CONTROLLER_ADDRESS, OPEN, LabSpec

CONTROLLER_BRIDGE = "lab0"

LINK = "link"
"""How `fawkes lab cut` calls the link between two sites."""

_SITES = {1: ("lab",), 2: ("a", "b")}
_TAILS = ("", "b")
"""What a network's bridge is called further on each site: the bridge of the first has the plain name."""


@dataclass(frozen=True)
class Cable:
    """A cable of a host: the bridge that it leads to, and the host's address on it."""

    bridge: str
    address: str


@dataclass(frozen=True)
class LabHost:
    """A host of a lab: its name, its site (empty for a jump host), and its cables, that for SSH first."""

    name: str
    site: str
    cables: tuple[Cable, ...]

    @property
    def address(self) -> str:
        """The address for SSH."""
        return self.cables[0].address

    @property
    def data_address(self) -> str:
        """The address on the network for data; that for SSH where there is none."""
        return self.cables[-1].address

    def port(self, cable: Cable) -> str:
        """The name of the cable's end on the bridge, within the 15 bytes that Linux allows."""
        return f"{cable.bridge}-{self.name}"


@dataclass(frozen=True)
class Wiring:
    """The names of all bridges, the pairs of them that a link joins, the controller's cables, and all hosts.

    Jump hosts follow after the nodes; the controller's neighbour is the first of them.
    """

    bridges: tuple[str, ...]
    links: tuple[tuple[str, str], ...]
    controller: tuple[Cable, ...]
    hosts: tuple[LabHost, ...]

    @property
    def nodes(self) -> tuple[LabHost, ...]:
        """The hosts of the pool."""
        return tuple(host for host in self.hosts if host.site)

    @property
    def jump_hosts(self) -> tuple[LabHost, ...]:
        """The hosts on the way to the nodes."""
        return tuple(host for host in self.hosts if not host.site)


def wiring_of(spec: LabSpec) -> Wiring:
    """The networks of a lab: node01 ... with addresses 10.98.1.1 ... and, behind jump hosts, 10.99.1.1 ..."""
    for_ssh = [(f"lab{number}", f"10.{98 + number}") for number in range(spec.jump_hosts + 1)]
    of_nodes = [for_ssh[-1], *([("data", "10.77")] if spec.data_network else [])]
    tails = _TAILS[: spec.sites]
    # who stands before each network, from outside in: the controller, then the jump hosts
    way = [[Cable(CONTROLLER_BRIDGE, CONTROLLER_ADDRESS)]]
    for (outer, first), (inner, second) in pairwise(for_ssh):
        way.append([Cable(outer, f"{first}.0.2"), Cable(inner, f"{second}.0.1")])
    if spec.data_network == OPEN:
        way[-1].append(Cable("data", "10.77.0.1"))
    nodes, width = [], max(2, len(str(spec.hosts)))
    for number in range(1, spec.hosts + 1):
        at = (number - 1) * spec.sites // spec.hosts
        cables = tuple(Cable(f"{name}{tails[at]}", f"{network}.1.{number}") for name, network in of_nodes)
        nodes.append(LabHost(f"node{number:0{width}}", _SITES[spec.sites][at], cables))
    jump_hosts = [LabHost(name, "", tuple(cables)) for name, cables in zip(("login", "login2"), way[1:], strict=False)]
    return Wiring(
        bridges=(*(name for name, _ in for_ssh[:-1]), *(f"{name}{tail}" for name, _ in of_nodes for tail in tails)),
        links=tuple((f"{name}{_TAILS[0]}", f"{name}{tail}") for name, _ in of_nodes for tail in tails[1:]),
        controller=tuple(way[0]),
        hosts=(*nodes, *jump_hosts),
    )


def node_set(texts: Iterable[str]) -> str:
    """Names, or addresses, that differ in the number at their end, without a gap, as one node set."""
    first, *others = texts
    if not others:
        return first
    head = first.rstrip("0123456789")
    return f"{head}[{first[len(head) :]}-{others[-1][len(head) :]}]"
