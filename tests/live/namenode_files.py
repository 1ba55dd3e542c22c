"""The files of a NameNode as it would write them, without one: operations with a content of any bytes."""

from __future__ import annotations

import hashlib
import struct
import zlib
from dataclasses import dataclass, field
from pathlib import Path

HEADER = struct.pack(">iI", -67, 0)
PADDING = b"\xff"


def operation(transaction: int, content: bytes = b"x" * 20, kind: int = 9) -> bytes:
    """One operation as `FSEditLogOp.Writer` writes it."""
    frame = struct.pack(">BIq", kind, 12 + len(content), transaction) + content
    return frame + struct.pack(">I", zlib.crc32(frame))


def version(cluster_id: str = "pool-c-1", namespace: int = 1) -> str:
    return (
        "#Mon Nov 23 02:01:37 UTC 2026\n"
        f"namespaceID={namespace}\nblockpoolID=BP-{namespace}-127.0.0.1-1\nstorageType=NAME_NODE\ncTime=1\n"
        f"clusterID={cluster_id}\nlayoutVersion=-67\n"
    )


@dataclass
class NameNodeFiles:
    """``current`` of a NameNode. ``content`` is that of the next operations."""

    current: Path
    version: str = field(default_factory=version)
    last: int = 0
    first: int = 1
    padded: int = 4096

    def __post_init__(self) -> None:
        self.current.mkdir(parents=True)
        (self.current / "VERSION").write_text(self.version)
        self._open: bytes = HEADER
        self._padding: dict[str, int] = {}
        self.image(0)
        self._flush()

    @property
    def segment(self) -> Path:
        return self.current / f"edits_inprogress_{self.first:019d}"

    def write(self, *contents: bytes) -> None:
        """Operations that are acknowledged."""
        for content in contents or (b"x" * 20,):
            self.last += 1
            self._open += operation(self.last, content)
        self._flush()

    def tear(self, part: bytes) -> None:
        """Bytes of an operation that is being written."""
        data = self._open + part
        self.segment.write_bytes(data + PADDING * (self.padded - len(data) % self.padded))

    def roll(self) -> None:
        """The segment is closed, and another begun; nothing happens without an operation."""
        if self.last < self.first:
            return
        self.segment.write_bytes(self._open)
        self.segment.rename(self.current / f"edits_{self.first:019d}-{self.last:019d}")
        self.first, self._open = self.last + 1, HEADER
        self._flush()

    def crash(self) -> None:
        """Killed and started again: the segment gets its final name with the padding that it has."""
        if self.last < self.first:
            return
        name = f"edits_{self.first:019d}-{self.last:019d}"
        self._padding[name] = self.segment.stat().st_size - len(self._open)
        self.segment.rename(self.current / name)
        self.first, self._open = self.last + 1, HEADER
        self._flush()

    def image(self, transaction: int | None = None, size: int = 400) -> None:
        """An image of everything up to a transaction (default: the last)."""
        at = self.last if transaction is None else transaction
        name, data = f"fsimage_{at:019d}", f"image of {at} in {self.version}".encode().ljust(size)
        (self.current / name).write_bytes(data)
        (self.current / f"{name}.md5").write_text(f"{hashlib.md5(data).hexdigest()} *{name}\n")

    def checkpoint(self) -> None:
        """Roll, and make an image of what was closed."""
        self.roll()
        self.image(self.first - 1)

    def purge(self) -> None:
        """Remove what the newest image has made useless."""
        newest = max(int(path.name[8:]) for path in self.current.glob("fsimage_*") if not path.suffix)
        for path in self.current.glob("fsimage_*"):
            if int(path.name[8:27]) < newest:
                path.unlink()
        for path in self.current.glob("edits_0*"):
            if int(path.name.split("-")[1]) <= newest:
                path.unlink()

    def content(self) -> dict[str, bytes]:
        """Every file that matters, segments without their padding."""
        files = {path.name: path.read_bytes() for path in self.current.glob("*_*")}
        for name in self._padding.keys() & files.keys():
            files[name] = files[name][: -self._padding[name]]
        if self.last >= self.first:
            files[self.segment.name] = self._open
        else:
            files.pop(self.segment.name, None)
        files.pop("seen_txid", None)
        return files

    def _flush(self) -> None:
        self.tear(b"")
