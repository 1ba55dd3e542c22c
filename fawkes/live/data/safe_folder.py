"""A folder of the controller's file system below which no link is followed, whoever puts one there meanwhile.

Names come from HDFS, and the folder may lie where other users write. So every step from the folder down is taken
relative to an open descriptor and refuses links: a path that was checked and is opened afterwards could be exchanged in
between. New files never reuse an old one, which could be a hard link to somebody's data.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
#: a pipe in the place of a file must not hold its reader for ever
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
#: what file systems without hard links say
_NO_LINKS = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK})


class SafeFolder:
    """A folder, held open; names below it are parts joined by ``/``.

    All methods raise OSError for what the file system refuses, a link on the way included (ENOTDIR, ELOOP), and
    ValueError for a name that leads out of the folder.
    """

    def __init__(self, descriptor: int, path: Path) -> None:
        """``descriptor`` is closed with this; ``path`` is for people alone."""
        self.path = path
        self._descriptor = descriptor

    @classmethod
    def at(cls, path: Path) -> SafeFolder:
        """The folder at ``path``; links are followed on the way there, but not in its last part."""
        return cls(os.open(path, _FOLDER), path)

    def __enter__(self) -> SafeFolder:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of it."""
        os.close(self._descriptor)

    def folder(self, name: str) -> SafeFolder:
        """A folder below it."""
        with self._to(name) as (above, last):
            return SafeFolder(os.open(last, _FOLDER, dir_fd=above), self.path / name)

    def make(self, name: str) -> None:
        """Make a folder below it, with those on the way; one that is there is left as it is."""
        parts = _parts(name)
        here = os.dup(self._descriptor)
        try:
            for part in parts:
                with suppress(FileExistsError):
                    os.mkdir(part, dir_fd=here)
                here = _step(here, part)
        finally:
            os.close(here)

    def create(self, name: str) -> BinaryIO:
        """A new, empty file in the place of one that may be there, to write to."""
        with self._to(name) as (above, last):
            with suppress(FileNotFoundError):
                os.unlink(last, dir_fd=above)
            return os.fdopen(os.open(last, _NEW, 0o666, dir_fd=above), "wb")

    def read(self, name: str) -> BinaryIO | None:
        """A file, to read from; None when there is none, or something else (a link, a folder, a pipe)."""
        status = self.stat(name)
        if status is None or not stat.S_ISREG(status.st_mode):
            return None
        with self._to(name) as (above, last):
            opened = os.fdopen(os.open(last, _READ, dir_fd=above), "rb")
        if stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
            return opened
        opened.close()
        return None

    def stat(self, name: str) -> os.stat_result | None:
        """The state of the file there, of a link itself; None when there is nothing."""
        try:
            with self._to(name) as (above, last):
                return os.stat(last, dir_fd=above, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def size(self, name: str) -> int | None:
        """The bytes of a file; None when there is none, or something else."""
        status = self.stat(name)
        return status.st_size if status is not None and stat.S_ISREG(status.st_mode) else None

    def below(self) -> Iterator[tuple[str, os.stat_result]]:
        """All that is below it, each folder before what is in it; links as themselves."""
        waiting = [""]
        while waiting:
            name = waiting.pop()
            for entry, status in self._entries(name):
                yield entry, status
                if stat.S_ISDIR(status.st_mode):
                    waiting.append(entry)

    def _entries(self, name: str) -> list[tuple[str, os.stat_result]]:
        opened = self.folder(name) if name else None
        try:
            descriptor = opened._descriptor if opened is not None else self._descriptor
            with os.scandir(descriptor) as entries:
                return [
                    (f"{name}/{entry.name}" if name else entry.name, entry.stat(follow_symlinks=False))
                    for entry in entries
                ]
        finally:
            if opened is not None:
                opened.close()

    def is_empty(self) -> bool:
        """True if nothing is in it."""
        with os.scandir(self._descriptor) as entries:
            return next(entries, None) is None

    def remove(self, name: str) -> None:
        """Take away a file, a link or an empty folder."""
        with self._to(name) as (above, last):
            if stat.S_ISDIR(os.stat(last, dir_fd=above, follow_symlinks=False).st_mode):
                os.rmdir(last, dir_fd=above)
            else:
                os.unlink(last, dir_fd=above)

    def rename(self, name: str, to: str) -> None:
        """Give an entry of this very folder another name; a link or a folder with something in it is not replaced."""
        os.rename(name, to, src_dir_fd=self._descriptor, dst_dir_fd=self._descriptor)

    def take(self, name: str, source: SafeFolder) -> None:
        """Put a file of another folder of the same file system here; FileExistsError when its name is taken."""
        with source._to(name) as (below, last), self._to(name) as (above, _):
            try:
                os.link(last, last, src_dir_fd=below, dst_dir_fd=above, follow_symlinks=False)
            except OSError as error:
                if error.errno not in _NO_LINKS:
                    raise
                if self.stat(name) is not None:
                    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), name) from None
                os.rename(last, last, src_dir_fd=below, dst_dir_fd=above)

    def replace(self, name: str, source: SafeFolder) -> None:
        """Put an entry of another folder of the same file system in the place of the one with its name here."""
        os.replace(name, name, src_dir_fd=source._descriptor, dst_dir_fd=self._descriptor)

    def same_as(self, other: os.stat_result | None) -> bool:
        """True if that is this folder."""
        return other is not None and os.path.samestat(os.fstat(self._descriptor), other)

    def free_bytes(self) -> int:
        """Room on its file system for this user."""
        room = os.fstatvfs(self._descriptor)
        return room.f_bavail * room.f_frsize

    def sync(self) -> None:
        """Put the names in it on disk; those in the folders below are not among them."""
        os.fsync(self._descriptor)

    def sync_all(self) -> None:
        """Put the names in it and in all folders below on disk."""
        for name, status in self.below():
            if stat.S_ISDIR(status.st_mode):
                with self.folder(name) as folder:
                    folder.sync()
        self.sync()

    @contextmanager
    def _to(self, name: str) -> Iterator[tuple[int, str]]:
        """The descriptor of the folder that an entry is in, and the entry's own name."""
        *way, last = _parts(name)
        here = os.dup(self._descriptor)
        try:
            for part in way:
                here = _step(here, part)
            yield here, last
        finally:
            os.close(here)


def _step(here: int, part: str) -> int:
    """Step from one folder into the next; ``here`` is closed unless that fails."""
    below = os.open(part, _FOLDER, dir_fd=here)
    os.close(here)
    return below


def _parts(name: str) -> list[str]:
    """ValueError for what is no way down: empty parts, ``.`` and ``..``, and a zero byte."""
    parts = name.split("/")
    if any(part in ("", ".", "..") or "\0" in part for part in parts):
        raise ValueError(f"{name!r} does not name an entry below a folder")
    return parts
