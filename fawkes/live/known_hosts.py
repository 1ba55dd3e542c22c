"""The file with the SSH host keys that this site trusts: read, explained, and added to only on request."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import paramiko
from paramiko.hostkeys import HostKeyEntry, HostKeys

from fawkes.errors import UserError

_REVOKED = "@revoked"

Change = Callable[[list[str]], list[str]]


@dataclass(frozen=True)
class KnownKey:
    """One key of one host, and the line of the file (from 1) in which it stands."""

    key: paramiko.PKey
    line: int
    revoked: bool = False


class KnownHosts:
    """A known_hosts file, read again when it has changed. A file that is not there yet knows nobody."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._seen: tuple[int, int] | None = None
        self._plain: dict[str, list[KnownKey]] = {}
        self._hashed: list[tuple[str, KnownKey]] = []

    def keys(self, address: str, port: int) -> Sequence[KnownKey]:
        """The keys that the file has for an address; UserError if the file cannot be read or has a broken line."""
        self._refresh()
        name = host_name(address, port)
        hashed = [known for hash_, known in self._hashed if HostKeys.hash_host(name, hash_) == hash_]
        return [*self._plain.get(name, ()), *hashed]

    def _refresh(self) -> None:
        try:
            stat = self.path.stat()
            if (stat.st_mtime_ns, stat.st_size) == self._seen:
                return
            lines = self.path.read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            self._seen, self._plain, self._hashed = None, {}, []
            return
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(f"cannot be read: {error}", where=str(self.path)) from error
        plain: dict[str, list[KnownKey]] = {}
        hashed: list[tuple[str, KnownKey]] = []
        for number, line in enumerate(lines, start=1):
            for name, known in _read(self.path, number, line.strip()):
                if name.startswith("|1|"):
                    hashed.append((name, known))
                else:
                    plain.setdefault(name, []).append(known)
        self._plain, self._hashed = plain, hashed
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
        before = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        after = change(before)
        if after == before:
            return
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write("".join(f"{line}\n" for line in after))
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)


def _read(path: Path, number: int, line: str) -> list[tuple[str, KnownKey]]:
    if not line or line.startswith("#"):
        return []
    revoked = line.startswith(_REVOKED)
    if revoked:
        line = line.removeprefix(_REVOKED).strip()
    elif line.startswith("@"):
        # Certificates of hosts: paramiko cannot check them, so such a line vouches for nobody.
        return []
    try:
        entry = HostKeyEntry.from_line(line, number)
    except Exception as error:  # paramiko raises several kinds for a broken line
        raise UserError(f"is no host key: {error}", where=f"{path}, line {number}", hint="Remove the line") from error
    if entry is None or entry.key is None:
        # A line too short for a key; or a kind of key that this version does not know, which vouches for nobody.
        if len(line.split()) < 3:
            raise UserError("is no host key", where=f"{path}, line {number}", hint="Remove the line")
        return []
    return [(name, KnownKey(entry.key, number, revoked)) for name in entry.hostnames]
