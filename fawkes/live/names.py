"""Host names, and connections by them, with a time limit: the C library does not let go of a silent name server."""

from __future__ import annotations

import errno
import ipaddress
import socket
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any

LookUp = Callable[[str], Sequence[Any]]


def _of_system(host: str) -> Sequence[Any]:
    return socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)


class SilentNameError(TimeoutError):
    """Nobody said in time which address a name has."""


class Names:
    """Looks names up in threads of their own, one for each name however many ask: silence costs no more of them."""

    def __init__(self, look_up: LookUp = _of_system) -> None:
        self._look_up = look_up
        self._lock = threading.Lock()
        self._pending: dict[str, Future[list[str]]] = {}

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

    def connect(self, host: str, port: int, limit_s: float) -> socket.socket:
        """A connection to the first address of a host that takes one; OSError as by `addresses`, or why not."""
        until = time.monotonic() + limit_s
        places = self.addresses(host, limit_s)
        for place in places[:-1]:
            try:
                return socket.create_connection((place, port), max(0.05, until - time.monotonic()))
            except OSError:
                continue
        return socket.create_connection((places[-1], port), max(0.05, until - time.monotonic()))

    def _resolve(self, host: str, future: Future[list[str]]) -> None:
        found: list[str] = []
        problem: BaseException | None = None
        try:
            found = list(dict.fromkeys(str(row[4][0]) for row in self._look_up(host)))
        except UnicodeError:  # a label that is empty, or too long for a name
            problem = socket.gaierror(socket.EAI_NONAME, f"{host} is not a host name")
        except BaseException as error:
            problem = error
        with self._lock:
            self._pending.pop(host, None)
        if problem is None:
            future.set_result(found)
        else:
            future.set_exception(problem)


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True


NAMES = Names()
"""Those of this process."""
