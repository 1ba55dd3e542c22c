"""The wires of a lab: bridges, and a pair of virtual Ethernet ports for each cable. All by netlink."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pyroute2 import IPRoute
from pyroute2.netlink.exceptions import NetlinkError

from fawkes.live.lab.inside.wiring import LabHost, Wiring

PREFIX_LENGTH = 16

_WARDEN_PID = 1  # of the process ids that the lab's processes see
_BURST_BYTES = 65536


@contextmanager
def _system_errors() -> Iterator[None]:
    """Raises refusals of netlink as the OSError that a system call would give."""
    try:
        yield
    except NetlinkError as error:
        raise OSError(error.code, os.strerror(error.code), "netlink") from error


class Switch:
    """The bridges in the lab's outer network namespace, the links between them, and the ports to the hosts."""

    @_system_errors()
    def __init__(self, wiring: Wiring, link_rate_bytes: int | None) -> None:
        """Make the bridges and the links; the controller's side of the lab has its addresses on some of them."""
        _no_ipv6()
        self._netlink = IPRoute()
        for bridge in wiring.bridges:
            self._netlink.link("add", ifname=bridge, kind="bridge", br_stp_state=0, br_forward_delay=0)
            _set(self._netlink, bridge)
        _set(self._netlink, "lo")
        for cable in wiring.controller:
            index = _index(self._netlink, cable.bridge)
            self._netlink.link("set", index=index, address=_hardware_address(cable.address))
            _give(self._netlink, cable.bridge, cable.address)
        self._links = [(f"{first}-{second}", f"{second}-{first}") for first, second in wiring.links]
        for ends, bridges in zip(self._links, wiring.links, strict=True):
            self._netlink.link("add", ifname=ends[0], kind="veth", peer={"ifname": ends[1]})
            for end, bridge in zip(ends, bridges, strict=True):
                self._plug(end, bridge, link_rate_bytes)

    @_system_errors()
    def attach(self, host: LabHost, rate_bytes: int | None) -> None:
        """Plug in the ports that `plug_in` made, with the host's speed limit on what goes to it."""
        for cable in host.cables:
            self._plug(host.port(cable), cable.bridge, rate_bytes)

    def remove(self, host: LabHost) -> None:
        """Take a host's ports away; those of a dead host linger for a moment after its namespace ended."""
        for cable in host.cables:
            with suppress(NetlinkError, IndexError):
                self._netlink.link("del", index=_index(self._netlink, host.port(cable)))

    @_system_errors()
    def set_cables(self, host: LabHost, *, whole: bool) -> None:
        """Cut or mend all cables of a host."""
        for cable in host.cables:
            _set(self._netlink, host.port(cable), up=whole)

    @_system_errors()
    def set_links(self, *, whole: bool) -> None:
        """Cut or mend the links between sites."""
        for end, _ in self._links:
            _set(self._netlink, end, up=whole)

    def _plug(self, port: str, bridge: str, rate_bytes: int | None) -> None:
        index = _index(self._netlink, port)
        _limit(self._netlink, index, rate_bytes)
        self._netlink.link("set", index=index, master=_index(self._netlink, bridge), state="up")


@_system_errors()
def plug_in(host: LabHost, rate_bytes: int | None) -> None:
    """Give the calling process's network namespace its Ethernet ports; the other ends go to the warden's."""
    _no_ipv6()
    with IPRoute() as netlink:
        _set(netlink, "lo")
        for number, cable in enumerate(host.cables):
            own, peer = f"eth{number}", {"ifname": host.port(cable), "net_ns_pid": _WARDEN_PID}
            netlink.link("add", ifname=own, kind="veth", address=_hardware_address(cable.address), peer=peer)
            _limit(netlink, _index(netlink, own), rate_bytes)
            _give(netlink, own, cable.address)
            _set(netlink, own)


def _hardware_address(address: str) -> str:
    """Always the same for a host: others would go on sending to the old one after it was powered off and on.

    A bridge without one has that of one of its ports, and another one as soon as that host is powered off.
    """
    return "02:00:" + ":".join(f"{int(part):02x}" for part in address.split("."))


def _give(netlink: IPRoute, name: str, address: str) -> None:
    netlink.addr("add", index=_index(netlink, name), address=address, prefixlen=PREFIX_LENGTH)


def _set(netlink: IPRoute, name: str, *, up: bool = True) -> None:
    netlink.link("set", index=_index(netlink, name), state="up" if up else "down")


def _index(netlink: IPRoute, name: str) -> int:
    indexes: list[int] = netlink.link_lookup(ifname=name)
    return indexes[0]


def _limit(netlink: IPRoute, index: int, rate_bytes: int | None) -> None:
    """A token bucket on what leaves the port."""
    if rate_bytes is not None:
        netlink.tc("add", "tbf", index, rate=f"{rate_bytes * 8}bit", latency="50ms", burst=_BURST_BYTES)


def _no_ipv6() -> None:
    """Switch IPv6 off: new ports would wait for duplicate address detection, and Java may prefer unknown addresses."""
    folder = Path("/proc/sys/net/ipv6/conf")
    for each in ("all", "default"):
        if (folder / each).is_dir():
            (folder / each / "disable_ipv6").write_text("1")
