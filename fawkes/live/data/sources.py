"""Origins of input sets: folders of the controller's file system, and of an HDFS that it reaches by WebHDFS."""

from __future__ import annotations

import hashlib
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote, urlsplit

from fawkes.base.errors import FawkesError, UserError
from fawkes.config.clusters.details import WEBHDFS
from fawkes.live.wire.webhdfs import Hdfs

_PIECE = 1 << 20
_MODULUS = 1 << 256


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file of an input set: its path below the set's folder, its size, when it was changed."""

    name: str
    size: int
    changed_ms: int


def fingerprint(files: Iterable[SourceFile]) -> str:
    """Names, sizes and times of files, in any order, as a short text that is equal for equal sets of files only.

    Made as they come, without keeping them: a folder may have millions.
    """
    number = size = total = 0
    for file in files:
        text = f"{file.size} {file.changed_ms} {file.name}".encode("utf-8", "surrogateescape")
        total = (total + int.from_bytes(hashlib.sha256(text).digest())) % _MODULUS
        number, size = number + 1, size + file.size
    return f"{number}:{size}:{total:064x}"


def files_below(hdfs: Hdfs, path: str) -> Iterator[SourceFile]:
    """The files below a folder of HDFS, for `fingerprint`."""
    for file in hdfs.below(path):
        if not file.folder:
            yield SourceFile(file.path.removeprefix(f"{path}/"), file.size, file.changed_ms)


class InputSource(Protocol):
    """The place where an input set comes from."""

    def files(self) -> list[SourceFile]:
        """All of its files, by name."""

    def read(self, file: SourceFile) -> Iterator[bytes]:
        """The bytes of one of them, in pieces."""


class LocalFolder:
    """A folder of the controller's file system. Links are followed; what is no file or folder is refused."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def files(self) -> list[SourceFile]:
        """All files below it, by name; UserError when it is not there, or holds something that is no file."""
        if not self._folder.is_dir():
            raise UserError("there is no such folder", where=str(self._folder), hint="Name a folder with input files")
        files: list[SourceFile] = []
        self._collect(self._folder, frozenset(), files)
        return sorted(files, key=lambda file: file.name)

    def _collect(self, folder: Path, above: frozenset[tuple[int, int]], files: list[SourceFile]) -> None:
        try:
            here = folder.stat()
            if (here.st_dev, here.st_ino) in above:
                raise UserError("the link leads back to a folder above it", where=str(folder), hint="Remove the link")
            above |= {(here.st_dev, here.st_ino)}
            for entry in sorted(folder.iterdir()):
                facts = entry.stat()
                if stat.S_ISDIR(facts.st_mode):
                    self._collect(entry, above, files)
                elif stat.S_ISREG(facts.st_mode):
                    name = entry.relative_to(self._folder).as_posix()
                    files.append(SourceFile(name, facts.st_size, facts.st_mtime_ns // 1_000_000))
                else:
                    raise UserError("is neither a file nor a folder", where=str(entry), hint="Remove it from the input")
        except OSError as error:
            raise _unreadable(error, folder) from error

    def read(self, file: SourceFile) -> Iterator[bytes]:
        """The bytes of one of its files, in pieces."""
        path = self._folder / file.name
        try:
            with path.open("rb") as opened:
                while piece := opened.read(_PIECE):
                    yield piece
        except OSError as error:
            raise _unreadable(error, path) from error


class WebHdfsFolder:
    """A folder of another HDFS that the controller reaches by WebHDFS."""

    def __init__(self, url: str, user: str) -> None:
        parts = urlsplit(url)
        if not parts.netloc or not parts.path.strip("/"):
            raise UserError(f"{url!r} is not a folder in HDFS", hint='Write "webhdfs://host:9870/folder"')
        self._hdfs = Hdfs(f"http://{parts.netloc}", user)
        self._folder = unquote(parts.path).rstrip("/")

    def files(self) -> list[SourceFile]:
        """All files below it, by name."""
        return sorted(files_below(self._hdfs, self._folder), key=lambda file: file.name)

    def read(self, file: SourceFile) -> Iterator[bytes]:
        """The bytes of one of its files, in pieces."""
        return self._hdfs.read(f"{self._folder}/{file.name}")


def _unreadable(error: OSError, path: Path) -> FawkesError:
    return FawkesError(f"cannot be read ({error.strerror})", where=error.filename or str(path))


def source_of(text: str, user: str) -> InputSource:
    """The input set behind a local folder or a ``webhdfs://`` URL; ``user`` is who asks the latter."""
    return WebHdfsFolder(text, user) if text.startswith(WEBHDFS) else LocalFolder(Path(text))
