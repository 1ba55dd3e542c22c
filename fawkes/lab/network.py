"""The wires of a lab: a bridge, and a pair of virtual Ethernet ports for each host. All by netlink."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pyroute2 import IPRoute
from pyroute2.netlink.exceptions import NetlinkError

BRIDGE = "lab0"
PORT_OF_HOST = "eth0"
PREFIX_LENGTH = 16

_WARDEN_PID = 1  # of the process ids that the lab's processes see
_NO_SUCH_DEVICE = 19
_BURST_BYTES = 65536


@contextmanager
def _system_errors() -> Iterator[None]:
    """What netlink refuses, raised as the OSError that a system call would give."""
    try:
        yield
    except NetlinkError as error:
        raise OSError(error.code, os.strerror(error.code), "netlink") from error


class Switch:
    """The bridge in the lab's outer network namespace, and the ports that lead to the hosts."""

    @_system_errors()
    def __init__(self, address: str) -> None:
        """Make the bridge; the controller's side of the lab has ``address`` on it."""
        _no_ipv6()
        self._netlink = IPRoute()
        self._netlink.link("add", ifname=BRIDGE, kind="bridge", br_stp_state=0, br_forward_delay=0)
        self._bridge = _index(self._netlink, BRIDGE)
        _bring_up(self._netlink, self._bridge, address)

    @_system_errors()
    def attach(self, port: str, rate_bytes: int | None) -> None:
        """Plug in the port that `plug_in_host` made, with the host's speed limit on what goes to it."""
        index = _index(self._netlink, port)
        _limit(self._netlink, index, rate_bytes)
        self._netlink.link("set", index=index, master=self._bridge, state="up")

    def remove(self, port: str) -> None:
        """Take a port away; a dead host's port lingers for a moment after its namespace ended."""
        with suppress(NetlinkError, IndexError):
            self._netlink.link("del", index=_index(self._netlink, port))

    @_system_errors()
    def set_cable(self, port: str, *, whole: bool) -> None:
        """Cut or mend the cable of a port."""
        self._netlink.link("set", index=_index(self._netlink, port), state="up" if whole else "down")


@_system_errors()
def plug_in_host(port: str, address: str, rate_bytes: int | None) -> None:
    """Give the calling process's network namespace its Ethernet port; the other end goes to the warden's."""
    _no_ipv6()
    with IPRoute() as netlink:
        peer = {"ifname": port, "net_ns_pid": _WARDEN_PID}
        netlink.link("add", ifname=PORT_OF_HOST, kind="veth", address=_hardware_address(address), peer=peer)
        index = _index(netlink, PORT_OF_HOST)
        _limit(netlink, index, rate_bytes)
        _bring_up(netlink, index, address)


def _hardware_address(address: str) -> str:
    """Always the same for a host: others would go on sending to the old one after it was powered off and on."""
    return "02:00:" + ":".join(f"{int(part):02x}" for part in address.split("."))


def _bring_up(netlink: IPRoute, index: int, address: str) -> None:
    netlink.addr("add", index=index, address=address, prefixlen=PREFIX_LENGTH)
    for each in (index, _index(netlink, "lo")):
        netlink.link("set", index=each, state="up")


def _index(netlink: IPRoute, name: str) -> int:
    found: list[int] = netlink.link_lookup(ifname=name)
    return found[0]


def _limit(netlink: IPRoute, index: int, rate_bytes: int | None) -> None:
    """A token bucket on what leaves the port."""
    if rate_bytes is not None:
        netlink.tc("add", "tbf", index, rate=f"{rate_bytes * 8}bit", latency="50ms", burst=_BURST_BYTES)


def _no_ipv6() -> None:
    """Without this every new port waits for duplicate address detection and Java may prefer addresses nobody knows."""
    folder = Path("/proc/sys/net/ipv6/conf")
    for each in ("all", "default"):
        if (folder / each).is_dir():
            (folder / each / "disable_ipv6").write_text("1")
