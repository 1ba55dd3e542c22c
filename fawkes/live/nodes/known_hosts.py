"""The file with the SSH host keys that this site trusts: read, explained, and added to only on request."""

from __future__ import annotations

import fcntl
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

import paramiko

from fawkes.base.errors import ConfigError
from fawkes.base.reading import read_bytes
from fawkes.base.writing import whole
from fawkes.live.nodes.known_lines import KnownHostsLine, Marker, read_lines

_log = logging.getLogger(__name__)
_MOST_LOGGED = 10


@dataclass(frozen=True)
class KnownKey:
    """One key of one host, and the line of the file (from 1) in which it stands."""

    key: paramiko.PKey
    line: int
    revoked: bool = False


@dataclass(frozen=True)
class Known:
    """The word of the file about one host."""

    keys: Sequence[KnownKey] = ()
    """The trusted and the revoked keys; none where `faults` has a reason to trust none."""
    faults: Sequence[str] = ()
    """The faults of the file that concern the host, for people: of the file itself, or of lines that name the host."""
    unsupported: Sequence[str] = ()
    """Lines that mean the host to ssh, and that Fawkes cannot use."""

    @property
    def trusted(self) -> Sequence[KnownKey]:
        """The keys that the host may show, as long as they are not revoked as well."""
        return [known for known in self.keys if not known.revoked]

    def accepts(self, shown: paramiko.PKey) -> bool:
        """True if the host may show this key: a line trusts it and none revokes it."""
        return any(known.key == shown for known in self.trusted) and not self.revokes(shown)

    def revokes(self, shown: paramiko.PKey) -> bool:
        """True if a line revokes this key for the host."""
        return any(known.revoked and known.key == shown for known in self.keys)


class KnownHosts:
    """A known_hosts file, read again when it has changed. A file that is not there yet knows nobody.

    A line means the hosts that ssh takes it for. A bad line is reported in the log once and vouches for nobody; if it
    may be a revocation, no key of the hosts that it may mean is trusted.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._seen: tuple[int, int] | None = None
        self._unread = ""
        self._plain: dict[str, list[KnownHostsLine]] = {}
        self._others: list[KnownHostsLine] = []
        self._answers: dict[tuple[str, int], Known] = {}
        self._lock = Lock()

    def about(self, address: str, port: int) -> Known:
        """The word of the file about the host with this address."""
        # Without the lock an answer from the file before could be kept for the file of now.
        with self._lock:
            self._refresh()
            if self._unread:
                return Known(faults=[self._unread])
            answer = self._answers.get((address, port))
            if answer is None:
                answer = self._answers[address, port] = self._answer(address, port)
            return answer

    def _answer(self, address: str, port: int) -> Known:
        name, bare = host_name(address, port).lower(), address.lower()
        own = self._lines(name)
        # ssh looks for a name without the port as well, when no line has a key for the name with it.
        wider = self._lines(bare) if bare != name else []
        lines = sorted({line.number: line for line in (*own, *wider)}.values(), key=lambda line: line.number)
        faults = [f"line {line.number} {line.fault}" for line in lines if line.fault]
        unsupported = [f"line {line.number} {line.unsupported}" for line in lines if line.unsupported]
        if any(line.fault and line.is_against for line in lines):
            # Which key was revoked cannot be read: it could be the one that the host shows.
            return Known((), faults, unsupported)
        keys = _keys(own, Marker.NONE) or _keys([line for line in wider if not line.names.excludes(name)], Marker.NONE)
        revoked = _keys(lines, Marker.REVOKED)
        return Known(sorted((*keys, *revoked), key=lambda known: known.line), faults, unsupported)

    def _lines(self, name: str) -> list[KnownHostsLine]:
        """The lines that mean a name, and those that may mean any and speak against it."""
        others = [line for line in self._others if line.names.has(name) or (line.names.unreadable and line.is_against)]
        return [*self._plain.get(name, ()), *others]

    def _refresh(self) -> None:
        try:
            stat = self.path.stat()
            if (stat.st_mtime_ns, stat.st_size) == self._seen:
                return
            data = read_bytes(self.path)
        except FileNotFoundError:
            self._seen = None
            self._take([])
            return
        except OSError as error:
            self._seen, self._unread = None, f"it cannot be read ({error.strerror})"
            return
        except ConfigError as error:
            self._seen, self._unread = None, f"it {error.what}"
            return
        lines = list(read_lines(data))
        self._take(lines)
        self._seen = (stat.st_mtime_ns, stat.st_size)
        faulty = [line for line in lines if line.fault]
        for line in faulty[:_MOST_LOGGED]:
            _log.warning("%s, line %s, %s: correct or remove it", self.path, line.number, line.fault)
        if len(faulty) > _MOST_LOGGED:
            _log.warning("%s has %s more lines with faults", self.path, len(faulty) - _MOST_LOGGED)

    def _take(self, lines: Sequence[KnownHostsLine]) -> None:
        plain: dict[str, list[KnownHostsLine]] = {}
        for line in lines:
            for name in line.names.plain if line.names.is_plain else ():
                plain.setdefault(name, []).append(line)
        others = [line for line in lines if not line.names.is_plain]
        self._plain, self._others, self._answers, self._unread = plain, others, {}, ""


def _keys(lines: Sequence[KnownHostsLine], marker: Marker) -> list[KnownKey]:
    return [
        KnownKey(line.key, line.number, marker is Marker.REVOKED)
        for line in lines
        if line.marker is marker and line.key is not None
    ]


def host_name(address: str, port: int) -> str:
    """The name of a host in a known_hosts file: the address, in brackets with the port where that is not 22."""
    return address if port == 22 else f"[{address}]:{port}"


def remember(path: Path, address: str, port: int, key: paramiko.PKey) -> None:
    """Add a key to the file, which is made if need be; a host that has the key already is left as it is.

    Whole or not at all, and one writer at a time. What the file says about the host otherwise stays.
    """
    line = f"{host_name(address, port)} {key.get_name()} {key.get_base64()}"
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path.with_name(f".{path.name}.lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        # Lines that are no text stay as they are; only a line feed ends one.
        text = path.read_text(encoding="utf-8", errors="surrogateescape") if path.exists() else ""
        lines = text.removesuffix("\n").split("\n") if text else []
        if line not in lines:
            with whole(path) as file:
                file.write("".join(f"{each}\n" for each in (*lines, line)).encode(errors="surrogateescape"))
