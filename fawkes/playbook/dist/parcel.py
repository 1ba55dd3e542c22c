"""A release of this machine, ready to be sent: its manifest, and its files as a tar stream."""

from __future__ import annotations

import io
import os
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol

from fawkes.playbook.dist import manifest

_CHUNK_BYTES = 1 << 20
# A site's own release: its documentation is larger than its programs, and its logs are nobody else's business.
_LEFT_OUT = ("share/doc/", "logs/")


class Bundle(Protocol):
    """Software that can be sent: a release of Hadoop, or Pig, in a folder."""

    @property
    def root(self) -> str: ...  # noqa: D102
    @property
    def name(self) -> str: ...  # noqa: D102


@dataclass(frozen=True)
class Parcel:
    """A parcel to send: the folder on this machine, its name on a node, and the text of its manifest."""

    folder: Path
    name: str
    manifest_text: str

    @staticmethod
    def of(release: Bundle) -> Parcel:
        """The parcel of a release whose ``root`` is on this machine; one without a manifest is measured."""
        folder = Path(release.root)
        made = folder / manifest.NAME
        if made.is_file():
            return Parcel(folder, release.name, made.read_text())
        digests = manifest.measure(folder)
        kept = {path: digest for path, digest in digests.items() if not path.startswith(_LEFT_OUT)}
        return Parcel(folder, release.name, manifest.render(kept))

    @property
    def digest(self) -> str:
        """The digest of the manifest: what the parcel is, whatever its name."""
        return manifest.digest_of_text(self.manifest_text)

    def stream(self) -> BinaryIO:
        """The files and the manifest as an uncompressed tar (jars are compressed already)."""
        return io.BufferedReader(_Chunks(self._tar()), _CHUNK_BYTES)

    def _tar(self) -> Iterator[bytes]:
        for path in manifest.parse(self.manifest_text, where=str(self.folder / manifest.NAME)):
            yield from _member(self.folder / path, path)
        text = self.manifest_text.encode()
        yield _header(manifest.NAME, len(text), 0o644)
        yield from _padded(iter((text,)), len(text))
        yield b"\0" * tarfile.BLOCKSIZE * 2


def _member(file: Path, path: str) -> Iterator[bytes]:
    if file.is_symlink():
        info = _info(path, 0, 0o777)
        info.type, info.linkname = tarfile.SYMTYPE, os.readlink(file)
        yield info.tobuf(tarfile.PAX_FORMAT)
        return
    with file.open("rb") as opened:
        status = os.fstat(opened.fileno())
        yield _header(path, status.st_size, 0o755 if status.st_mode & 0o100 else 0o644)
        yield from _padded(iter(lambda: opened.read(_CHUNK_BYTES), b""), status.st_size)


def _padded(chunks: Iterator[bytes], size: int) -> Iterator[bytes]:
    yield from chunks
    yield b"\0" * (-size % tarfile.BLOCKSIZE)


def _header(path: str, size: int, mode: int) -> bytes:
    return _info(path, size, mode).tobuf(tarfile.PAX_FORMAT)


def _info(path: str, size: int, mode: int) -> tarfile.TarInfo:
    info = tarfile.TarInfo(path)
    info.size, info.mode = size, mode
    return info


class _Chunks(io.RawIOBase):
    """An iterator of bytes as a file to read from."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview, /) -> int:  # type: ignore[override]
        while not self._rest:
            chunk = next(self._chunks, None)
            if chunk is None:
                return 0
            self._rest = memoryview(chunk)
        count = min(len(buffer), len(self._rest))
        buffer[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count
