"""The file with the SSH host keys that this site trusts: read, explained, and added to only on request."""

from __future__ import annotations

import fcntl
import logging
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import paramiko
from paramiko.hostkeys import HostKeyEntry, HostKeys

from fawkes.errors import ConfigError
from fawkes.reading import read_bytes

_log = logging.getLogger(__name__)
_REVOKED = "@revoked"

Change = Callable[[list[str]], list[str]]


@dataclass(frozen=True)
class KnownKey:
    """One key of one host, and the line of the file (from 1) in which it stands."""

    key: paramiko.PKey
    line: int
    revoked: bool = False


class BadLineError(Exception):
    """A line of the file that is no host key: ``str()`` says why."""


@dataclass(frozen=True)
class _Fault:
    """A line that could not be read, and the hosts that it names, as far as that can be told."""

    line: int
    why: str
    names: tuple[str, ...]
    revoked: bool


class KnownHosts:
    """A known_hosts file, read again when it has changed. A file that is not there yet knows nobody.

    A bad line costs itself alone: it is reported in the log once and vouches for nobody.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._seen: tuple[int, int] | None = None
        self._plain: dict[str, list[KnownKey]] = {}
        self._hashed: list[tuple[str, KnownKey]] = []
        self._faults: list[_Fault] = []
        self._unread = ""

    def keys(self, address: str, port: int) -> Sequence[KnownKey]:
        """The keys that the file has for an address; none where `faults` has a reason to trust none."""
        self._refresh()
        name = host_name(address, port)
        if self._unread or any(fault.revoked and name in fault.names for fault in self._faults):
            # Which key was revoked cannot be read: it could be the one that the host shows.
            return []
        hashed = [known for hash_, known in self._hashed if HostKeys.hash_host(name, hash_) == hash_]
        return [*self._plain.get(name, ()), *hashed]

    def faults(self, address: str, port: int) -> list[str]:
        """What is wrong in the file and concerns an address, for people: the file itself, or lines that name it."""
        name = host_name(address, port)
        named = [f"line {fault.line} {fault.why}" for fault in self._faults if name in fault.names]
        return [self._unread, *named] if self._unread else named

    def _refresh(self) -> None:
        try:
            stat = self.path.stat()
            if (stat.st_mtime_ns, stat.st_size) == self._seen:
                return
            lines = read_bytes(self.path).split(b"\n")
        except FileNotFoundError:
            self._seen, self._plain, self._hashed, self._faults, self._unread = None, {}, [], [], ""
            return
        except OSError as error:
            self._seen, self._unread = None, f"it cannot be read ({error.strerror})"
            return
        except ConfigError as error:
            self._seen, self._unread = None, f"it {error.what}"
            return
        plain: dict[str, list[KnownKey]] = {}
        hashed: list[tuple[str, KnownKey]] = []
        faults: list[_Fault] = []
        for number, line in enumerate(lines, start=1):
            try:
                found = _read(number, line.strip())
            except BadLineError as error:
                words = line.decode("utf-8", "replace").split()
                revoked = bool(words) and words[0] == _REVOKED
                names = words[revoked : revoked + 1]
                faults.append(_Fault(number, str(error), tuple(names[0].split(",")) if names else (), revoked))
                _log.warning("%s, line %s, %s: it is ignored; remove it", self.path, number, error)
                continue
            for name, known in found:
                if name.startswith("|1|"):
                    hashed.append((name, known))
                else:
                    plain.setdefault(name, []).append(known)
        self._plain, self._hashed, self._faults, self._unread = plain, hashed, faults, ""
        self._seen = (stat.st_mtime_ns, stat.st_size)


def host_name(address: str, port: int) -> str:
    """How a known_hosts file names a host: the address, in brackets with the port where that is not 22."""
    return address if port == 22 else f"[{address}]:{port}"


def remember(path: Path, address: str, port: int, key: paramiko.PKey) -> None:
    """Add a key to the file, which is made if need be; a host that has the key already is left as it is.

    Whole or not at all, and one writer at a time. What the file says about the host otherwise stays: `forget` is for
    that.
    """
    line = f"{host_name(address, port)} {key.get_name()} {key.get_base64()}"
    _rewrite(path, lambda lines: lines if line in lines else [*lines, line])


def forget(path: Path, address: str, port: int) -> None:
    """Remove every line of a host from the file (lines with hashed names stay: `ssh-keygen -R` removes those)."""
    name = host_name(address, port)
    _rewrite(path, lambda lines: [line for line in lines if name not in line.split(" ", 1)[0].split(",")])


def _rewrite(path: Path, change: Change) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path.with_name(f".{path.name}.lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        # Lines that are no text stay as they are; only a line feed ends one.
        text = path.read_text(encoding="utf-8", errors="surrogateescape") if path.exists() else ""
        before = text.removesuffix("\n").split("\n") if text else []
        after = change(before)
        if after == before:
            return
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(handle, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write("".join(f"{line}\n" for line in after))
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)


def _read(number: int, data: bytes) -> list[tuple[str, KnownKey]]:
    """The names and keys of a line; BadLineError says why it has none."""
    try:
        line = data.decode("utf-8")
    except UnicodeDecodeError:
        raise BadLineError("is not UTF-8 text") from None
    if not line or line.startswith("#"):
        return []
    revoked = line.startswith(_REVOKED)
    if revoked:
        line = line.removeprefix(_REVOKED).strip()
    elif line.startswith("@"):
        # Certificates of hosts: paramiko cannot check them, so such a line vouches for nobody.
        return []
    if len(line.split()) < 3:
        raise BadLineError("is too short for a host key")
    try:
        entry = HostKeyEntry.from_line(line, number)
        for name in entry.hostnames if entry else ():
            if name.startswith("|1|"):
                HostKeys.hash_host("any", name)
    except Exception as error:  # paramiko raises several kinds for a broken line
        raise BadLineError(f"is not a host key ({str(error)[:100] or type(error).__name__})") from error
    if entry is None or entry.key is None:
        # A kind of key that this version does not know: it vouches for nobody.
        return []
    return [(name, KnownKey(entry.key, number, revoked)) for name in entry.hostnames]
