"""Stands between the controller and the web pages of masters: answers late, stale, with attributes missing, garbage.

Run inside a lab (`Lab.popen`); reads one order a line, ``KIND ADDRESS SECONDS SEED``, and prints each when it begins.
A rule of the kernel's routing leads here what the controller's side of the lab sends to a master's web port, so that
nothing of the product knows of it. The way onward has an address of its own, which the rule lets pass. Linux alone.
"""

from __future__ import annotations

import http.client
import http.server
import json
import socket
import sys
import threading
import time
from dataclasses import dataclass, field
from random import Random
from typing import Any

from pyroute2 import IPRoute

from drills.plan import Kind
from fawkes.live.lab.inside.network import PREFIX_LENGTH
from fawkes.live.lab.inside.wiring import CONTROLLER_BRIDGE
from fawkes.live.lab.spec import CONTROLLER_ADDRESS

#: NameNode and ResourceManager
PORTS = (9870, 8088)
#: answers that are worse than late are those of monitoring: files go on as they are
_SPOILT = ("/jmx", "/ws/")
_LATE_S = 8.0
_OUTWARD = "10.98.0.2"
_TABLE = 98
_UPSTREAM_S = 60.0
_TRANSPARENT = 19
_HOST_SCOPE = 254


@dataclass(slots=True)
class Spell:
    """What is wrong with the answers of an address, and the answers that were seen meanwhile."""

    kind: Kind
    until_s: float
    chance: Random
    first: dict[str, tuple[int, bytes]] = field(default_factory=dict)


class Spells:
    """The addresses of which answers are spoilt now."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._now: dict[str, Spell] = {}

    def begin(self, address: str, spell: Spell) -> None:
        """From now on; a later one takes the place of an earlier one."""
        with self._lock:
            self._now[address] = spell

    def of(self, address: str) -> Spell | None:
        """What is wrong with an address now."""
        with self._lock:
            spell = self._now.get(address)
            return spell if spell is not None and time.monotonic() < spell.until_s else None


def spoil(spell: Spell, path: str, status: int, body: bytes) -> tuple[int, bytes]:
    """An answer as it is told while something is wrong."""
    match spell.kind:
        case Kind.STALE:
            return spell.first.setdefault(path, (status, body))
        case Kind.GARBAGE:
            return 200, spell.chance.choice((b"<html>", b"{", b"[]", b"null", spell.chance.randbytes(64)))
        case Kind.MISSING:
            return status, _thinned(body, spell.chance)
    return status, body


def _thinned(body: bytes, chance: Random) -> bytes:
    """JSON of which every third attribute is not there, also where an attribute is itself JSON in a string."""
    try:
        return json.dumps(_thin(json.loads(body), chance)).encode()
    except ValueError:
        return body


def _thin(value: Any, chance: Random) -> Any:
    if isinstance(value, dict):
        return {key: _thin(each, chance) for key, each in value.items() if chance.random() > 1 / 3}
    if isinstance(value, list):
        return [_thin(each, chance) for each in value]
    if isinstance(value, str) and value.startswith("{"):
        return _thinned(value.encode(), chance).decode()
    return value


class _Handler(http.server.BaseHTTPRequestHandler):
    """One connection of the controller."""

    protocol_version = "HTTP/1.1"
    spells: Spells

    def do_GET(self) -> None:
        """Any request."""
        address, port = self.connection.getsockname()
        length = int(self.headers.get("Content-Length") or 0)
        asked = self.rfile.read(length) if length else None
        spell = self.spells.of(address)
        spoilt = spell is not None and self.path.startswith(_SPOILT)
        if spoilt and spell is not None and spell.kind is Kind.DELAYED:
            time.sleep(_LATE_S)
        onward = http.client.HTTPConnection(address, port, timeout=_UPSTREAM_S, source_address=(_OUTWARD, 0))
        try:
            onward.request(self.command, self.path, asked, dict(self.headers.items()))
            answer = onward.getresponse()
            status, body = answer.status, answer.read()
            location, kind = answer.headers.get("Location"), answer.headers.get("Content-Type", "")
        except OSError:
            self.close_connection = True
            return
        finally:
            onward.close()
        if spoilt and spell is not None:
            status, body = spoil(spell, self.path, status, body)
        self.send_response(status)
        self.send_header("Content-Type", kind)
        if location:
            self.send_header("Location", location)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_PUT = do_POST = do_DELETE = do_GET  # noqa: N815 - the names that the parent looks for

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the parent
        """Nothing."""


class _Server(http.server.ThreadingHTTPServer):
    """Takes connections to addresses that are not the machine's own."""

    def server_bind(self) -> None:
        """Without this option the kernel would not answer in the name of another address."""
        self.socket.setsockopt(socket.SOL_IP, _TRANSPARENT, 1)
        super().server_bind()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that does not wait for a late answer is part of the drill."""


class Ways:
    """The kernel's routes: what goes to a master's web ports comes here instead."""

    def __init__(self) -> None:
        self._netlink = IPRoute()
        (self._bridge,) = self._netlink.link_lookup(ifname=CONTROLLER_BRIDGE)
        (self._lo,) = self._netlink.link_lookup(ifname="lo")
        self._netlink.addr("add", index=self._bridge, address=_OUTWARD, prefixlen=PREFIX_LENGTH)
        self._netlink.rule("add", priority=50, src=_OUTWARD, src_len=32, table=254)
        self._led: set[str] = set()

    def lead_here(self, address: str) -> None:
        """From now on, until the lab ends."""
        if address in self._led:
            return
        self._led.add(address)
        local = {"type": "local", "oif": self._lo, "scope": _HOST_SCOPE, "prefsrc": CONTROLLER_ADDRESS}
        self._netlink.route("add", dst=f"{address}/32", table=_TABLE, **local)
        for port in PORTS:
            match = {"dst": address, "dst_len": 32, "ip_proto": 6, "dport_range": f"{port}:{port}"}
            self._netlink.rule("add", priority=60, table=_TABLE, **match)


def main() -> None:
    """Take orders until the standard input ends."""
    spells = Spells()
    _Handler.spells = spells
    for port in PORTS:
        server = _Server(("0.0.0.0", port), _Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
    ways = Ways()
    print("ready", flush=True)
    for line in sys.stdin:
        kind, address, seconds, seed = line.rsplit(maxsplit=3)
        spells.begin(address, Spell(Kind(kind), time.monotonic() + float(seconds), Random(int(seed))))
        ways.lead_here(address)
        print(line.strip(), flush=True)


if __name__ == "__main__":
    main()
