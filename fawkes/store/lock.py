"""One controller for each state folder: a lock that ends with the process that holds it."""

from __future__ import annotations

import fcntl
import json
import os
import re
import socket
import struct
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from fawkes.base.errors import ElsewhereError, RefusedError
from fawkes.base.units import show_time
from fawkes.store.private import FILE_MODE, user_name

LOCK_FILE = "lock"
#: ``struct flock`` for the whole file: its kind, and the rest that is 0
_WHOLE = struct.Struct("hhqqi0q")


class Holder(NamedTuple):
    """The holder of a state folder; ``alive_us`` is its latest sign of life, ``since_us`` until it has started.

    ``says_end``: an orderly end blanks its text. 0.2.0 and earlier versions do not.
    """

    host: str
    pid: int
    since_us: int
    alive_us: int = 0
    says_end: bool = False

    def __str__(self) -> str:
        since = f" since {show_time(self.since_us)}" if self.since_us else ""
        return f"process {self.pid} on {self.host}{since}"


class StateLock:
    """The exclusive right to write to a state folder; it ends with `close` or with the process, however that ends."""

    def __init__(self, folder: Path) -> None:
        """Take the lock; ElsewhereError says who holds it."""
        self._file = os.open(folder / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, FILE_MODE)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder, stranger = _read(self._file), _stranger(self._file)
            os.close(self._file)
            raise stranger or _elsewhere(folder, holder) from None
        # For `holder`: the kernel says who has such a lock without taking it. It says no such thing of flock.
        fcntl.fcntl(self._file, fcntl.F_OFD_SETLK, _WHOLE.pack(fcntl.F_WRLCK, 0, 0, 0, 0))
        os.ftruncate(self._file, 0)
        myself = _myself()
        os.pwrite(self._file, json.dumps(myself._asdict()).encode(), 0)
        self._alive(myself.since_us)

    def beat(self) -> None:
        """Leave a sign of life for `holder`; it needs no room on the disk."""
        self._alive(time.time_ns() // 1000)

    def _alive(self, at_us: int) -> None:
        with suppress(OSError):
            os.utime(self._file, ns=(at_us * 1000, at_us * 1000))

    def close(self) -> None:
        """Let others have it, and say that it was no accident. Harmless when called again.

        By then the number may be another file's.
        """
        file, self._file = self._file, -1
        if file >= 0:
            with suppress(OSError):
                # In its place: whoever starts on a full disk must find room for his name.
                os.pwrite(file, b" " * os.fstat(file).st_size, 0)
            os.close(file)


def holder(folder: Path) -> Holder | None:
    """The process that writes to a state folder now; None when nobody does. The lock is not taken for this.

    One of 0.2.0 or earlier is seen where the kernel lists its lock under the number that it has written down.
    """
    try:
        file = os.open(folder / LOCK_FILE, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        kind, *_ = _WHOLE.unpack(fcntl.fcntl(file, fcntl.F_OFD_GETLK, _WHOLE.pack(fcntl.F_WRLCK, 0, 0, 0, 0)))
        by = _read(file)
        return by if kind != fcntl.F_UNLCK or (by.pid and by.pid in _flocks(file)) else None
    finally:
        os.close(file)


def died(folder: Path) -> Holder | None:
    """The last process that wrote to a state folder, if it left no word of its end; None when it did, or still runs.

    None also where that is not known: for one of another machine, whose lock this one may not see, and for one of an
    older version, which never left a word.
    """
    with suppress(OSError):
        file = os.open(folder / LOCK_FILE, os.O_RDONLY | os.O_CLOEXEC)
        try:
            last = _read(file)
        finally:
            os.close(file)
        # Looked at last: one that starts in between has the lock, and is no dead one.
        if last.says_end and last.host == socket.gethostname() and holder(folder) is None:
            return last
    return None


def is_held(folder: Path) -> bool:
    """True if a controller of any version has the lock: 0.1.0 left nothing for `holder` to see.

    It is shared for a moment, in which no controller can start. OSError when that cannot be known.
    """
    try:
        file = os.open(folder / LOCK_FILE, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(file)
    return False


def _stranger(file: int) -> RefusedError | None:
    """The error when only processes of other users hold the lock: no controller of this site is one of them."""
    own = {0, os.geteuid()}
    holders: dict[int, int] = {}
    with suppress(OSError):
        for pid in _flocks(file):
            holders[pid] = os.stat(f"/proc/{pid}").st_uid
    if not holders or own & set(holders.values()):
        return None
    pid, uid = next(iter(holders.items()))
    return RefusedError(
        f"process {pid} of {user_name(uid)} holds the lock of this site, and is not its controller",
        where=LOCK_FILE,
        hint="End that process. Other users could lock the file until now; from now on they cannot",
    )


def _flocks(file: int) -> list[int]:
    """The processes that have the lock of a file, as far as the kernel lists them."""
    with suppress(OSError):
        return _locked_by(Path("/proc/locks").read_text(encoding="ascii"), _name_of(file))
    return []


def _locked_by(locks: str, name: str) -> list[int]:
    """The processes that have the lock of a file by ``/proc/locks``; without a device in its name, on any device."""
    rows = [words for words in map(str.split, locks.splitlines()) if "FLOCK" in words and "->" not in words]
    return [int(words[4]) for words in rows if f":{words[5]}".endswith(f":{name}")]


def _name_of(file: int) -> str:
    """The name of a file in ``/proc/locks``: device and inode, which two file systems may share; else the inode alone.

    The device is that of the mount: btrfs gives `os.fstat` another one.
    """
    inode, mounts = os.fstat(file).st_ino, Path("/proc/self/mountinfo").read_text(errors="replace")
    mount = re.search(r"mnt_id:\s*(\d+)", Path(f"/proc/self/fdinfo/{file}").read_text(encoding="ascii"))
    device = mount and re.search(rf"(?m)^{mount[1]} \d+ (\d+):(\d+) ", mounts)
    return f"{int(device[1]):02x}:{int(device[2]):02x}:{inode}" if device else str(inode)


def _myself() -> Holder:
    return Holder(socket.gethostname(), os.getpid(), time.time_ns() // 1000, says_end=True)


def _read(file: int) -> Holder:
    try:
        said = json.loads(os.pread(file, 4096, 0))
        alive_us = os.fstat(file).st_mtime_ns // 1000
        return Holder(
            str(said["host"]), int(said["pid"]), int(said["since_us"]), alive_us, said.get("says_end") is True
        )
    except (ValueError, TypeError, KeyError):
        # It was taken this moment: the text comes right after the lock.
        return Holder("this machine", 0, 0)


def _elsewhere(folder: Path, holder: Holder) -> ElsewhereError:
    return ElsewhereError(
        f"another controller is in charge: {holder}",
        where=str(folder),
        hint="Commands reach it; to replace it, end that process first",
    )
