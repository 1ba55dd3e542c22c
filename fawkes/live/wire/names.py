"""Host names, and connections by them, with a time limit: the C library does not let go of a silent name server."""

from __future__ import annotations

import errno
import ipaddress
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

LookUp = Callable[[str], Sequence[Any]]
Way = Callable[[str, int, float], socket.socket]
"""Opens a connection to an address and port within so many seconds; OSError says why it cannot."""


def _of_system(host: str) -> Sequence[Any]:
    return socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)


class SilentNameError(TimeoutError):
    """Nobody said in time which address a name has."""


class NameLookups:
    """Looks names up in threads of their own, one for each name however many ask: silence costs no more of them.

    Hosts that this machine has no way to, because they are behind a jump host, are reached by the ways of `lead`.
    """

    def __init__(self, look_up: LookUp = _of_system) -> None:
        self._look_up = look_up
        self._lock = threading.Lock()
        self._pending: dict[str, Future[list[str]]] = {}
        self._ways: dict[str, Way] = {}

    def lead(self, ways: Mapping[str, Way]) -> None:
        """Connect from now on to these names and addresses by these ways."""
        self._ways |= {host.lower(): way for host, way in ways.items()}

    def leave(self, ways: Mapping[str, Way]) -> None:
        """No longer use these ways."""
        for host, way in ways.items():
            if self._ways.get(host.lower()) is way:
                del self._ways[host.lower()]

    def way(self, host: str) -> Way | None:
        """The way to a host; None where this machine connects by itself."""
        return self._ways.get(host.lower())

    def addresses(self, host: str, limit_s: float) -> list[str]:
        """The addresses of a host, each once, in the order of the system; an address is its own.

        socket.gaierror for a name that does not exist, SilentNameError when nobody says so within ``limit_s``.
        """
        host = host.strip("[]")
        if _is_address(host):
            return [host]
        with self._lock:
            future = self._pending.get(host)
            if future is None:
                future = self._pending[host] = Future()
                threading.Thread(target=self._resolve, args=(host, future), name=f"name-{host}", daemon=True).start()
        try:
            return future.result(timeout=max(0.0, limit_s))
        except TimeoutError:
            if future.done():
                raise
            what = f"no name server answered within {max(0.0, limit_s):.2g} s with the address of {host}"
            raise SilentNameError(errno.ETIMEDOUT, what) from None

    def near(self, host: str, limit_s: float) -> bool:
        """True if a host has an address that only this machine or its link can reach; False where nobody knows one."""
        try:
            return self.way(host) is None and any(map(is_near, self.addresses(host, limit_s)))
        except OSError:
            return False

    def connect(self, host: str, port: int, limit_s: float) -> socket.socket:
        """A connection to the first address of a host that takes one; OSError as by `addresses`, or why not."""
        way = self.way(host)
        if way is not None:
            return way(host, port, limit_s)
        until = time.monotonic() + limit_s
        places = self.addresses(host, limit_s)
        for place in places[:-1]:
            try:
                return socket.create_connection((place, port), max(0.05, until - time.monotonic()))
            except OSError:
                continue
        return socket.create_connection((places[-1], port), max(0.05, until - time.monotonic()))

    def _resolve(self, host: str, future: Future[list[str]]) -> None:
        addresses: list[str] = []
        problem: BaseException | None = None
        try:
            addresses = list(dict.fromkeys(str(row[4][0]) for row in self._look_up(host)))
        except UnicodeError:  # a label that is empty, or too long for a name
            problem = socket.gaierror(socket.EAI_NONAME, f"{host} is not a host name")
        except BaseException as error:
            problem = error
        with self._lock:
            self._pending.pop(host, None)
        if problem is None:
            future.set_result(addresses)
        else:
            future.set_exception(problem)


def is_near(address: str) -> bool:
    """True for a loopback or link-local address: what listens there trusts this machine."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    ip = getattr(ip, "ipv4_mapped", None) or ip
    return ip.is_loopback or ip.is_link_local or ip.is_unspecified


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True


NAMES = NameLookups()
"""Those of this process."""
