"""Logs of an MR-cluster on a node, kept by the controller before the node is wiped, within a budget of its disk.

They lie on the disk of the ledger, which must never be full because of them: the oldest archives go first, and what
does not fit is not kept. Whatever goes wrong here is a FawkesError: the wipe goes on without logs.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, NamedTuple, Protocol, cast

from fawkes.base.errors import FawkesError
from fawkes.core.values.effects import Host
from fawkes.live.base import limits
from fawkes.live.nodes.ground import Ground
from fawkes.live.nodes.playbooks import node
from fawkes.live.nodes.ssh import Result
from fawkes.playbook import Script, read_facts
from fawkes.store.private import private, private_folder

_log = logging.getLogger(__name__)

#: before compression; a daemon's log of many days is cut, the newest files come first
LIMIT_BYTES = 64_000_000
_ARCHIVE = ".tar.gz"
_HALF = ".half"
#: logs take this part of what would be free without them, however much the settings allow
_PART = 4
#: room is asked for in such pieces: each look at the archives costs some system calls for each of them
_PIECE_BYTES = 1_000_000


class NoRoomError(OSError):
    """The budget has no room left, and no older archive that could make some."""


class _Kept(NamedTuple):
    changed_ns: int
    path: Path
    size: int


def _free(folder: Path) -> int:
    return shutil.disk_usage(folder).free


class LogRoom:
    """The bytes that archives below ``folder`` may take: ``budget_bytes``, and a quarter of what is free at most.

    ``free`` tells how many bytes the disk of a folder has left.
    """

    def __init__(self, folder: Path, budget_bytes: int, free: Callable[[Path], int] = _free) -> None:
        self._folder = folder
        self._budget_bytes = budget_bytes
        self._free = free
        self._lock = threading.Lock()
        #: bytes of archives that are being written
        self._begun = 0

    def limit(self) -> int:
        """The bytes that there may be in all, at this moment; OSError when the disk cannot be asked."""
        with self._lock:
            return self._limit(self._kept())

    def take(self, count: int) -> None:
        """Take room for so many more bytes; older archives go for them. NoRoomError when these are not enough."""
        with self._lock:
            kept = self._kept()
            limit = self._limit(kept)
            size = sum(archive.size for archive in kept)
            for oldest in sorted(kept):
                if size + self._begun + count <= limit:
                    break
                oldest.path.unlink(missing_ok=True)
                size -= oldest.size
                _log.info("%s was removed: logs may take %s bytes in all", oldest.path, limit)
            if size + self._begun + count > limit:
                raise NoRoomError(errno.ENOSPC, f"logs may take {limit} bytes in all")
            self._begun += count

    def end(self, count: int) -> None:
        """Note that so many bytes are part of an archive now, or were given up."""
        with self._lock:
            self._begun -= count

    def _kept(self) -> list[_Kept]:
        archives = []
        for path in self._folder.glob(f"*/*{_ARCHIVE}"):
            with contextlib.suppress(FileNotFoundError):
                stat = path.stat()
                archives.append(_Kept(stat.st_mtime_ns, path, stat.st_size))
        return archives

    def _limit(self, kept: list[_Kept]) -> int:
        without_logs = self._free(self._folder) + sum(archive.size for archive in kept) + self._begun
        return min(self._budget_bytes, without_logs // _PART)


class _Writer:
    """A file that takes its room piece by piece, at most ``most`` bytes."""

    def __init__(self, file: BinaryIO, room: LogRoom, most: int) -> None:
        self.taken = 0
        self._written = 0
        self._file = file
        self._room = room
        self._most = most

    def write(self, data: bytes) -> int:
        """Writes as a file does; OSError, NoRoomError included, when it cannot be kept."""
        missing = self._written + len(data) - self.taken
        if missing > 0:
            count = max(missing, min(_PIECE_BYTES, self._most - self.taken))
            self._room.take(count)
            self.taken += count
        self._written += len(data)
        return self._file.write(data)


class LogReader(Protocol):
    """Brings what scripts on nodes print; `live.nodes.fleet.Fleet` is the real one."""

    def run(self, node: str, script: Script, deadline_s: float, *, sink: BinaryIO) -> Result:
        """The end of the script, with its output in ``sink``; HostError, DeadlineError, or an OSError of the sink."""


class LogKeeper:
    """Writes ``FOLDER/CLUSTER/NODE.GENERATION.tar.gz``, whole or not at all."""

    def __init__(self, ground: Ground, fleet: LogReader, folder: Path, room: LogRoom) -> None:
        self._ground = ground
        self._fleet = fleet
        self._folder = folder
        self._room = room

    def keep(self, effect: Host) -> None:
        """Fetch the logs of one node; FawkesError when that cannot be done. Once for each generation."""
        target = self._folder / effect.cluster / f"{effect.node}.{effect.generation}{_ARCHIVE}"
        try:
            if not target.exists():
                private_folder(target.parent)
                self._fetch(effect, target)
        except OSError as error:
            raise FawkesError(f"cannot be written ({error.strerror or error})", where=str(target)) from error

    def clear(self) -> None:
        """Remove what an earlier controller left half written; what cannot be removed stays."""
        for half in self._folder.glob(f"*/*{_HALF}"):
            try:
                half.unlink()
            except OSError as error:
                _log.warning("%s cannot be removed: %s", half, error.strerror)

    def _fetch(self, effect: Host, target: Path) -> None:
        half = target.with_name(f"{target.name}{_HALF}")
        limit = min(LIMIT_BYTES, self._room.limit())
        script = node.collect_logs(self._ground.folders(effect.node, effect.cluster), limit_bytes=limit)
        writer: _Writer | None = None
        try:
            with open(half, "wb", opener=private) as file:
                writer = _Writer(file, self._room, limit)
                result = self._fleet.run(effect.node, script, limits.KEPT_LOGS_S, sink=cast(BinaryIO, writer))
            omitted = read_facts(result.stderr).number("omitted")
            if omitted:
                _log.info("%s: %s older or larger files did not fit into %s bytes", target, omitted, limit)
            if result.exit == 0:
                half.replace(target)
        finally:
            if writer is not None:
                self._room.end(writer.taken)
            half.unlink(missing_ok=True)
