"""The controller's copy of the masters' data of one MR-cluster: a folder that a crash at any byte leaves usable.

``nn`` has the newest image and the edits after it, ``rm-state`` the files of the ResourceManager's state store, and
``note`` says up to when the copy has everything. Edits are only appended, whole operations alone; all else is written
beside and renamed. What the note speaks of is on disk before the note is.
"""

from __future__ import annotations

import hashlib
import io
import json
import logging
import os
import re
import shutil
import tarfile
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from fawkes.base.errors import FawkesError
from fawkes.base.units import show_bytes
from fawkes.core.clusters.keeping import LEFT_FREE_BYTES, fits
from fawkes.core.values.model import ClusterId
from fawkes.live.edits import edit_log
from fawkes.live.edits.edit_log import Namespace, Segment
from fawkes.store.private import PART, private, private_folder, sync_folder, write_private

_log = logging.getLogger(__name__)
_CHUNK = 4 << 20
#: what is being written; the state store itself has names that end with `.new`
BEFORE = ".before"
"""What the name of a copy that was set aside ends with."""
FETCHED = ".fetched"
"""The end of the name of a copy that is being fetched from a node; the name begins with a dot."""
_STATE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*(/[A-Za-z0-9_][A-Za-z0-9_.-]*)*")


class KeepError(FawkesError):
    """The masters' data could not be copied, or a copy could not be used."""


class MastersDataError(KeepError):
    """The masters' node does not have the data of this MR-cluster, or it is damaged: no other try brings more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptCopy:
    """A copy that a NameNode can start from.

    ``copied_us``: it has everything that was acknowledged up to this time of the controller's clock; ``transaction``:
    its last one; ``image``: the last one in its image; ``size_bytes``: of image and edits.
    """

    origin: Namespace
    copied_us: int
    transaction: int
    image: int
    size_bytes: int
    folder: Path

    @property
    def files(self) -> Path:
        """Its image and edits."""
        return self.folder / "nn"

    @property
    def state(self) -> Path:
        """The files of the state store."""
        return self.folder / "rm-state"

    def names(self) -> list[str]:
        """The image and the segments that a NameNode needs, by name."""
        segments = edit_log.needed([path.name for path in self.files.iterdir()]) or []
        return [edit_log.image_name(self.image), *(each.name for each in segments)]

    def mark(self) -> str:
        """A line that tells this copy from all others."""
        return f"{self.origin.block_pool} {self.origin.namespace} {self.transaction}"


class CopyFolder:
    """The copy of one MR-cluster: one writer, any number of readers.

    All methods raise KeepError when the disk refuses; those that write, after `give_up` as well.
    """

    def __init__(self, folder: Path, cluster_id: str, free: Callable[[Path], int] | None = None) -> None:
        """Take up what is there; operations that were written in part are cut off.

        ``cluster_id`` is the MR-cluster's name in HDFS; ``free`` gives the bytes that a folder's disk has left.
        """
        self._folder = folder
        self._cluster_id = cluster_id
        self._free = free or (lambda path: shutil.disk_usage(path).free)
        self.version = ""
        self.sizes: dict[str, int] = {}
        #: a row for each file of the state store, as the masters' node listed it, and the digest of all rows there
        self.rows: dict[str, str] = {}
        self.digest = ""
        self.copied_us: int | None = None
        self._last: dict[int, int] = {}
        self._guard = threading.RLock()
        self._given_up = False
        with self._writing():
            self._take_up()

    def give_up(self) -> CopyFolder:
        """The same copy for another writer; this one, which may hang on a node, writes nothing any more."""
        with self._guard:
            self._given_up = True
            other = copy(self)
            other._guard, other._given_up = threading.RLock(), False
            other.sizes, other.rows, other._last = dict(self.sizes), dict(self.rows), dict(self._last)
            return other

    @property
    def cluster_id(self) -> str:
        """The name in HDFS of the MR-cluster that it is a copy of."""
        return self._cluster_id

    @property
    def path(self) -> Path:
        """The folder of image and edits."""
        return self._folder / "nn"

    @property
    def state_path(self) -> Path:
        """The folder of the state store."""
        return self._folder / "rm-state"

    @property
    def origin(self) -> Namespace | None:
        """The namespace that it is a copy of; None: of none yet."""
        return edit_log.origin(self.version)

    @property
    def image(self) -> int | None:
        """The last transaction of its newest image."""
        return edit_log.newest_image(self.sizes)

    def segments(self) -> dict[int, Segment]:
        """Its segments by their first transaction."""
        with self._guard:
            return {each.first: each for each in edit_log.segments(self.sizes)}

    def edits_bytes(self) -> int:
        """The bytes of all its segments."""
        with self._guard:
            return sum(size for name, size in self.sizes.items() if name.startswith("edits_"))

    def last(self, first: int) -> int:
        """The last transaction that it has of the segment that begins with ``first``."""
        return self._last.get(first, first - 1)

    def copy(self) -> KeptCopy | None:
        """A copy that a NameNode can start from; None: there is nothing whole."""
        with self._guard:
            return self._as_it_is()

    def _as_it_is(self) -> KeptCopy | None:
        origin, image, needed = self.origin, self.image, edit_log.needed(self.sizes)
        if origin is None or image is None or needed is None or self.copied_us is None:
            return None
        if origin.cluster != self._cluster_id:
            return None
        return KeptCopy(
            origin=origin,
            copied_us=self.copied_us,
            transaction=max([image, *(self.last(each.first) for each in needed)]),
            image=image,
            size_bytes=sum(size for name, size in self.sizes.items() if not name.endswith(".md5")),
            folder=self._folder,
        )

    def begin(self, version: str) -> None:
        """It is a copy of the namespace of this VERSION from now on; KeepError when it is one of another namespace."""
        if version == self.version:
            return
        if self.origin is not None and self.origin != edit_log.origin(version):
            raise KeepError(
                "the NameNode has another namespace than the copy: it was formatted anew",
                where=str(self._folder),
                hint="The copy stays as it is",
            )
        with self._writing():
            self._make()
            write_private(self.path / "VERSION", version.encode())
            self.version = version

    def set_aside(self) -> None:
        """Begin anew; what there is gets another name, and replaces what was set aside before."""
        with self._writing():
            self._set_aside()

    def replace(self, folder: Path) -> None:
        """Set the copy aside, for one in another folder of the same file system. This one is of no use then."""
        with self._writing():
            self._set_aside()
            folder.rename(self._folder)
            sync_folder(self._folder.parent)

    def append(self, first: int, data: bytes, last: int) -> None:
        """Whole operations, up to transaction ``last``, behind those that it has of a segment."""
        name = edit_log.open_name(first)
        with self._writing():
            self._check_room(len(data))
            with open(self.path / name, "ab", opener=private) as file:
                # What an earlier try wrote in part is not counted in `sizes`.
                file.truncate(self.sizes.get(name, 0))
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            if name not in self.sizes:
                sync_folder(self.path)
            self.sizes[name] = self.sizes.get(name, 0) + len(data)
            self._last[first] = last

    def finish(self, segment: Segment) -> None:
        """It has all of a segment that is not written to any more."""
        before = edit_log.open_name(segment.first)
        with self._writing():
            (self.path / before).rename(self.path / segment.name)
            sync_folder(self.path)
            self.sizes[segment.name] = self.sizes.pop(before)

    def add_image(self, transaction: int, size: int, fetch: Callable[[BinaryIO], None], checksum: str) -> None:
        """A newer image: ``fetch`` writes it into what it is given; ``checksum`` is the text of its checksum file."""
        name = edit_log.image_name(transaction)
        self._check_room(size)
        new = self.path / f".{name}.{id(self)}{PART}"
        try:
            # Not as a writer: an image may take minutes.
            with open(new, "wb", opener=private) as file:
                fetch(file)
                file.flush()
                os.fsync(file.fileno())
            md5 = md5_of(new)
            if md5 != checksum.partition(" ")[0]:
                raise KeepError(f"{name} did not arrive whole: its MD5 is {md5}, not {checksum}")
            with self._writing():
                # An image without it could never be placed.
                write_private(self.path / f"{name}.md5", f"{checksum}\n".encode())
                new.rename(self.path / name)
                sync_folder(self.path)
                self.sizes[name] = (self.path / name).stat().st_size
                self.sizes[f"{name}.md5"] = len(checksum) + 1
        except OSError as error:
            raise KeepError(f"the copy cannot be kept ({error.strerror or error})", where=str(self._folder)) from error
        finally:
            new.unlink(missing_ok=True)

    def trim(self) -> None:
        """Remove what the newest image has made useless, once what follows the image is there."""
        image = self.image
        if image is None:
            return
        # A segment whose end was purged before it was seen is known by its last transaction alone.
        after = {each.name for first, each in self.segments().items() if max(first, self.last(first)) > image}
        keep = {edit_log.image_name(image), f"{edit_log.image_name(image)}.md5"} | after
        if edit_log.needed(keep) is None:
            return
        with self._writing():
            for name in sorted(set(self.sizes) - keep):
                (self.path / name).unlink(missing_ok=True)
                del self.sizes[name]
            self._last = {first: last for first, last in self._last.items() if first in self.segments()}

    def put_state(self, archive: bytes, rows: Mapping[str, str]) -> set[str]:
        """Files of the state store from a tar, of those in ``rows``; the names that were in it."""
        put: set[str] = set()
        try:
            with self._writing(), tarfile.open(fileobj=io.BytesIO(archive)) as tar:
                self._check_room(len(archive))
                for member in tar:
                    file = tar.extractfile(member) if member.isfile() and member.name in rows else None
                    if file is None:
                        continue
                    path = self.state_path / member.name
                    private_folder(path.parent)
                    write_private(path, file.read())
                    self.rows[member.name] = rows[member.name]
                    put.add(member.name)
        except (tarfile.TarError, EOFError, zlib.error) as error:
            raise KeepError(f"the files of the state store did not arrive whole ({error})") from error
        return put

    def drop_state(self, keep: Iterable[str]) -> None:
        """Remove the files of the state store that the masters have no more."""
        kept = set(keep)
        with self._writing():
            for path in [path for path in self.state_path.rglob("*") if path.is_file()]:
                name = str(path.relative_to(self.state_path))
                if name not in kept:
                    path.unlink()
                    self.rows.pop(name, None)
                    with suppress(OSError):
                        path.parent.rmdir()

    def note(self, copied_us: int, *, changed: bool) -> None:
        """It has everything up to this time. When nothing has ``changed``, a crash may leave the note before."""
        text = json.dumps({"cluster": self._cluster_id, "copied_us": copied_us})
        with self._writing():
            write_private(self._folder / "note", f"{text}\n".encode(), sync=changed)
        self.copied_us = copied_us

    def state_archive(self, names: Iterable[str]) -> bytes:
        """A tar (gzip) of files of the state store."""
        with self._writing():
            return _archive(self.state_path, names)

    def _take_up(self) -> None:
        if not (self._folder / "note").exists():
            # It never was a copy: the first one was cut short.
            shutil.rmtree(self._folder, ignore_errors=True)
            return
        note, version = _note(self._folder / "note"), ""
        with suppress(FileNotFoundError, ValueError):
            version = (self.path / "VERSION").read_text()
        origin = edit_log.origin(version)
        if origin is None or {origin.cluster, note.get("cluster", self._cluster_id)} != {self._cluster_id}:
            self._set_aside()
            return
        self.version = version
        copied_us = note.get("copied_us")
        self.copied_us = copied_us if isinstance(copied_us, int) else None
        if self.copied_us is None:
            _log.warning(
                "%s: its note cannot be read, so up to when the copy has everything is not known. The copy stays, and "
                "counts again once the masters' data were compared with it",
                self._folder,
            )
        for part in self._folder.rglob(f".*{PART}"):
            part.unlink()
        paths = {path.name: path for path in self.path.iterdir()}
        sizes = {name: path.stat().st_size for name, path in paths.items() if name.startswith(("fsimage_", "edits_"))}
        for segment in edit_log.segments(sizes):
            if segment.last is None:
                sizes[segment.name], self._last[segment.first] = whole(paths[segment.name], segment.first)
                if not sizes[segment.name]:
                    del sizes[segment.name]
                    paths[segment.name].unlink()
            else:
                self._last[segment.first] = segment.last
        self.sizes = sizes

    def _set_aside(self) -> None:
        before = self._folder.with_name(f"{self._folder.name}{BEFORE}")
        if self._folder.exists():
            shutil.rmtree(before, ignore_errors=True)
            self._folder.rename(before)
            sync_folder(self._folder.parent)
        self.version, self.digest, self.copied_us = "", "", None
        self.sizes, self.rows, self._last = {}, {}, {}

    def _make(self) -> None:
        for folder in (self._folder, self.path, self.state_path):
            private_folder(folder)

    def _check_room(self, size: int) -> None:
        if not fits(self._free(self._folder), size):
            raise KeepError(
                f"the disk has no room for {size} bytes more of the copy",
                where=str(self._folder),
                hint=f"Free some: {show_bytes(LEFT_FREE_BYTES)} must stay free for the ledger",
            )

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            with self._guard:
                if self._given_up:
                    raise KeepError("somebody else goes on with the copy", where=str(self._folder))
                yield
        except OSError as error:
            why = error.strerror or str(error)
            raise KeepError(f"the copy cannot be kept ({why})", where=str(self._folder)) from error


def _note(path: Path) -> Mapping[str, object]:
    """The note of a copy; empty when it cannot be read."""
    try:
        note = json.loads(path.read_text())
    except ValueError:
        return {}
    return note if isinstance(note, dict) else {}


def clusters_in(folder: Path) -> set[ClusterId]:
    """The MR-clusters of which a folder of copies has anything."""
    whole = {path.name.removesuffix(BEFORE) for path in folder.glob("[!.]*")}
    parts = {path.name[1:].removesuffix(".tar").removesuffix(FETCHED) for path in folder.glob(f".*{FETCHED}*")}
    return {ClusterId(name) for name in whole | parts}


def remove(folder: Path) -> None:
    """Remove the copy of an MR-cluster that is gone, and what was set aside or was being fetched."""
    fetched = folder.with_name(f".{folder.name}{FETCHED}")
    for each in (folder, folder.with_name(f"{folder.name}{BEFORE}"), fetched):
        shutil.rmtree(each, ignore_errors=True)
    fetched.with_name(f"{fetched.name}.tar").unlink(missing_ok=True)


def archive_of(folder: Path) -> bytes:
    """A tar (gzip) of a whole state store; OSError when it cannot be read."""
    names = (str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    return _archive(folder, (name for name in names if _STATE_NAME.fullmatch(name)))


def _archive(folder: Path, names: Iterable[str]) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz", compresslevel=1) as tar:
        for name in sorted(names):
            tar.add(folder / name, arcname=name, recursive=False)
    return made.getvalue()


def state_rows(text: str) -> dict[str, str]:
    """The listing of a state store: a row for each file. What no ResourceManager would write is left out."""
    rows = dict(row.split(" ", 1) for row in text.splitlines() if " " in row)
    return {name: row for name, row in rows.items() if _STATE_NAME.fullmatch(name)}


def whole(path: Path, first: int) -> tuple[int, int]:
    """The bytes of the whole operations of a segment, with its header, and their last transaction."""
    size, last, held = 0, first - 1, b""
    with path.open("rb") as file:
        header = file.read(edit_log.HEADER_BYTES)
        if len(header) < edit_log.HEADER_BYTES:
            return 0, last
        size = len(header)
        while piece := file.read(_CHUNK):
            held += piece
            read = edit_log.operations(held, last)
            size, last, held = size + read.size, read.last, held[read.size :]
            if held and not read.torn:
                break
    return (size, last) if last >= first else (0, last)


def md5_of(path: Path, size: int | None = None) -> str:
    """The MD5 of a file, or of its first ``size`` bytes. It tells what Hadoop's own checksum files tell."""
    digest = hashlib.md5(usedforsecurity=False)
    left = path.stat().st_size if size is None else size
    with path.open("rb") as file:
        while left > 0 and (piece := file.read(min(_CHUNK, left))):
            digest.update(piece)
            left -= len(piece)
    return digest.hexdigest()
