"""Outputs of an MR-cluster: from its HDFS to persistent storage, verified, before its nodes are given away.

A saved folder appears under its name in one step, whole, with a ``MANIFEST.sha256`` that ``sha256sum -c`` understands.
Each file is compared with HDFS's own checksum, computed from the bytes that were written here (`live.crc`). Data that
is there already is never overwritten: the same data is done, files that HDFS has beside it are added, and other data is
refused by the name of the first file.
A file that cannot be had keeps no other one from being saved. No link is followed here: see `live.safe_folder`.
"""

from __future__ import annotations

import errno
import os
import stat
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from fawkes.base.errors import FawkesError, RefusedError
from fawkes.base.units import show_bytes
from fawkes.live.data.loading import StoppedError
from fawkes.live.data.safe_folder import SafeFolder
from fawkes.live.data.saved import (
    MANIFEST,
    OPEN,
    Digests,
    Unsaved,
    UnsavedError,
    compare,
    digests_of,
    flush,
    manifest_line,
    no_folder,
    on_disk,
    other_data,
    pieces_of,
)
from fawkes.live.wire.crc import ChecksumKind, kind_of
from fawkes.live.wire.webhdfs import Hdfs, HdfsFailedError, HdfsFile

#: what the file system refuses of one name; anything else (a full disk) would be refused of all
_OF_ONE_NAME = frozenset(
    {
        errno.ENAMETOOLONG,
        errno.EINVAL,
        errno.EILSEQ,
        errno.ELOOP,
        errno.ENOTDIR,
        errno.EISDIR,
        errno.EEXIST,
        errno.ENOENT,
    }
)


@dataclass(frozen=True, slots=True)
class Saved:
    """An output folder that is on persistent storage and verified; ``already``: it was there before."""

    files: int
    size: int
    already: bool


@dataclass(frozen=True, slots=True)
class _Copied:
    """A file that was copied by this very save: what it looked like here, and its digests of this kind."""

    looks: tuple[int, ...]
    kind: ChecksumKind
    digests: Digests


@dataclass(kw_only=True)
class SaveOrder:
    """The order to save one output folder of HDFS to a folder of the controller's file system.

    ``progress`` is told of bytes as they are written; as soon as ``stop`` says so the work ends between two pieces
    (StoppedError). `copy` may be called while HDFS still takes writes; `run` does what is left and ends the save. Files
    that are known to be open are not asked for: a DataNode that has their last block may not answer.
    """

    hdfs: Hdfs
    output: str
    target: Path
    readers: int = 4
    progress: Callable[[int], None] = lambda size: None
    stop: Callable[[], bool] = lambda: False
    is_open: Callable[[str], bool] = lambda path: False
    _copied: dict[str, _Copied] = field(default_factory=dict, init=False)

    def copy(self) -> None:
        """Copy what can be had now, for `run` to find little left. Errors as for `run`, but for single files."""
        listing = self._listing([])
        with self._parent() as parent:
            if not _is_there(parent, self.target.name, self.target):
                with self._work(parent) as work:
                    self._copy_all(work, listing, [])

    def run(self) -> Saved:
        """Save it whole, or all but what an UnsavedError lists: that lies beside the target and has no name yet.

        RefusedError when other data is there, FawkesError when nothing can be written here or HDFS does not answer.
        What was written by a save that was cut short is compared with HDFS, and kept where it is right.
        """
        unsaved: list[Unsaved] = []
        listing = self._listing(unsaved)
        with self._parent() as parent:
            already = _is_there(parent, self.target.name, self.target)
            if already:
                lacking: list[str] = []
                unsaved += compare(self.hdfs, self.output, self.target, self.stop, self._listed(unsaved), lacking)
                self._check(unsaved)
                if lacking:
                    self._add(parent, listing, frozenset(lacking), unsaved)
                    already = False
            else:
                with self._work(parent) as work:
                    self._write(parent, work, listing, unsaved)
        files = [file for file in listing if not file.folder]
        return Saved(len(files), sum(file.size for file in files), already)

    def _check(self, unsaved: Sequence[Unsaved]) -> None:
        if unsaved:
            raise UnsavedError(sorted(unsaved, key=lambda row: row.path), where=str(self.target))

    def _listing(self, unsaved: list[Unsaved]) -> list[HdfsFile]:
        """All that is below the output, by path, without the times of folders, which change by themselves."""
        manifest = f"{self.output}/{MANIFEST}"
        listing: list[HdfsFile] = []
        paths: set[str] = set()
        for file in self.hdfs.below(self.output, lambda path, why: unsaved.append(Unsaved(path, why))):
            if file.path in paths:
                unsaved.append(Unsaved(file.path, "is listed twice"))
            elif file.path == manifest:
                unsaved.append(Unsaved(manifest, "has the name of the list of checksums; rename it"))
            elif not file.path.startswith(f"{manifest}/"):
                paths.add(file.path)
                listing.append(HdfsFile(file.path, file.size, 0 if file.folder else file.changed_ms, file.folder))
        return sorted(listing, key=lambda file: file.path)

    def _listed(self, unsaved: list[Unsaved]) -> Iterable[HdfsFile]:
        return [file for file in self._listing(unsaved) if not file.folder]

    @contextmanager
    def _parent(self) -> Iterator[SafeFolder]:
        """The folder that the target is in, made where it is missing; links that lead to it are the administrator's."""
        with on_disk(self.target):
            self.target.parent.mkdir(parents=True, exist_ok=True)
            with SafeFolder.at(self.target.parent.resolve()) as parent:
                yield parent

    @contextmanager
    def _work(self, parent: SafeFolder) -> Iterator[SafeFolder]:
        """The folder in which a save grows; RefusedError when somebody put a link there."""
        status = parent.stat(self._work_name)
        if status is not None and not stat.S_ISDIR(status.st_mode):
            raise no_folder(self.target.with_name(self._work_name), status)
        parent.make(self._work_name)
        with parent.folder(self._work_name) as work:
            yield work

    @property
    def _work_name(self) -> str:
        return f".{self.target.name}.saving"

    def _write(self, parent: SafeFolder, work: SafeFolder, listing: list[HdfsFile], unsaved: list[Unsaved]) -> None:
        digests = self._copy_all(work, listing, unsaved)
        lines = (manifest_line(name, digest.sha256) for name, digest in digests.items())
        with work.create(MANIFEST) as out:
            out.write("".join(sorted(lines)).encode())
            flush(out)
        self._check(unsaved)
        self._check_unchanged(listing, unsaved)
        work.sync_all()
        if not work.same_as(parent.stat(self._work_name)):
            raise self._exchanged()
        parent.rename(self._work_name, self.target.name)
        if not work.same_as(parent.stat(self.target.name)):
            raise self._exchanged()
        parent.sync()

    def _check_unchanged(self, listing: list[HdfsFile], unsaved: list[Unsaved]) -> None:
        if self._listing(unsaved) != listing or unsaved:
            raise FawkesError(
                "changed while it was saved", where=self.output, hint="Save it again when nothing writes to it"
            )

    def _add(
        self, parent: SafeFolder, listing: list[HdfsFile], lacking: Collection[str], unsaved: list[Unsaved]
    ) -> None:
        """Add the ``lacking`` files to an earlier save. HDFS has all of that save unchanged, and more by now.

        Of what lies there only the list is replaced, at the end. A try that is cut short leaves the earlier save as it
        was, beside files that the next try finds to be right.
        """
        more = [file for file in listing if file.folder or self._name(file) in lacking]
        with self._work(parent) as work, parent.folder(self.target.name) as folder:
            digests = self._copy_all(work, more, unsaved)
            self._check(unsaved)
            self._check_unchanged(listing, unsaved)
            for file in more:
                name = self._name(file)
                if file.folder:
                    folder.make(name)
                elif not self._put(folder, name, work, digests[name]):
                    raise other_data(f"{name} lies there, and is not what HDFS has", self.output, self.target)
            opened = folder.read(MANIFEST)
            if opened is None:
                raise self._exchanged()
            with opened as before, work.create(MANIFEST) as out:
                lines = [manifest_line(name, digest.sha256).encode() for name, digest in digests.items()]
                out.writelines(sorted([*before, *lines]))
                flush(out)
            folder.sync_all()
            if not folder.same_as(parent.stat(self.target.name)):
                raise self._exchanged()
            folder.replace(MANIFEST, work)
            folder.sync()
            self._clear(work, [])
        parent.remove(self._work_name)
        parent.sync()

    def _put(self, folder: SafeFolder, name: str, work: SafeFolder, digests: Digests) -> bool:
        """Put a file into a saved folder; False if another one of that name lies there."""
        try:
            folder.take(name, work)
            return True
        except FileExistsError:
            opened = folder.read(name)
        if opened is None:
            return False
        with opened:
            return digests_of(pieces_of(opened), ChecksumKind(None), lambda piece: None).sha256 == digests.sha256

    def _exchanged(self) -> FawkesError:
        hint = "Somebody else writes there; save to a folder that only you may write"
        return RefusedError("was replaced while the outputs were saved", where=str(self.target), hint=hint)

    def _name(self, file: HdfsFile) -> str:
        return file.path.removeprefix(f"{self.output}/")

    def _copy_all(self, work: SafeFolder, listing: list[HdfsFile], unsaved: list[Unsaved]) -> dict[str, Digests]:
        """Copy all files that can be had: their digests, by name; the others are added to ``unsaved``."""
        self._clear(work, listing)
        files = [file for file in listing if not file.folder]
        self._check_room(work, files)
        for folder in (file for file in listing if file.folder):
            with _of_one_name(folder, unsaved):
                work.make(self._name(folder))
        halt = threading.Event()
        with ThreadPoolExecutor(max_workers=self.readers, thread_name_prefix="save") as pool:
            order = sorted(files, key=lambda file: -file.size)
            futures = {self._name(file): pool.submit(self._try, work, file, halt) for file in order}
            done, waiting = wait(futures.values(), return_when=FIRST_EXCEPTION)
            failed = [error for future in done if (error := future.exception()) is not None]
            if failed:
                halt.set()
                for future in waiting:
                    future.cancel()
        if failed:
            raise failed[0]
        results = {name: future.result() for name, future in futures.items()}
        unsaved += [result for result in results.values() if isinstance(result, Unsaved)]
        return {name: result for name, result in results.items() if isinstance(result, Digests)}

    def _clear(self, work: SafeFolder, listing: list[HdfsFile]) -> None:
        """Take away what an earlier try has left and HDFS has no longer, and every link."""
        known = {self._name(file): file.folder for file in listing}
        for name, status in reversed(list(work.below())):
            is_folder = stat.S_ISDIR(status.st_mode)
            if known.get(name) is not is_folder or not (is_folder or stat.S_ISREG(status.st_mode)):
                work.remove(name)

    def _check_room(self, work: SafeFolder, files: list[HdfsFile]) -> None:
        there = sum(status.st_size for _, status in work.below() if stat.S_ISREG(status.st_mode))
        need = sum(file.size for file in files) - there
        free = work.free_bytes()
        if need > free:
            raise FawkesError(
                f"the outputs need {show_bytes(need)}, but only {show_bytes(free)} are free",
                where=str(self.target),
                hint="Make room there; no node is released before the outputs are saved",
            )

    def _try(self, work: SafeFolder, file: HdfsFile, halt: threading.Event) -> Digests | Unsaved:
        """Copy one file, or say why it cannot be had; an error is of a kind that all others would meet as well."""
        if self.is_open(file.path):
            return Unsaved(file.path, OPEN)
        try:
            return self._copy(work, file, halt)
        except HdfsFailedError as error:
            if error.unreachable:
                self.hdfs.status(self.output)
            return Unsaved(file.path, error.what)
        except OSError as error:
            if error.errno not in _OF_ONE_NAME:
                raise
            return Unsaved(file.path, os.strerror(error.errno))

    def _copy(self, work: SafeFolder, file: HdfsFile, halt: threading.Event) -> Digests:
        """Copy one file, unless it is here already, and compare it with HDFS."""
        self._checker(halt)(b"")
        said = self.hdfs.checksum(file.path)
        kind = kind_of(said) or ChecksumKind(None)
        name = self._name(file)
        digests = self._here(work, name, file, kind, halt)
        if digests is not None and self.hdfs.holds(file.path, digests.hdfs, kind, said):
            return digests
        with work.create(name) as out:
            digests = digests_of(self.hdfs.read(file.path), kind, self._checker(halt, out.write))
            flush(out)
            self._keep(out, name, file, kind, digests)
            size = os.fstat(out.fileno()).st_size
        if size != file.size or not self.hdfs.holds(file.path, digests.hdfs, kind):
            raise HdfsFailedError(
                "the bytes that were read differ from those in HDFS", where=file.path, kind="OtherBytes"
            )
        return digests

    def _here(
        self, work: SafeFolder, name: str, file: HdfsFile, kind: ChecksumKind, halt: threading.Event
    ) -> Digests | None:
        """The digests of what an earlier try or `copy` has put here; None when it cannot be this file."""
        status = work.stat(name)
        if status is None or not stat.S_ISREG(status.st_mode) or status.st_size != file.size:
            return None
        copied = self._copied.get(name)
        if copied is not None and (copied.looks, copied.kind) == (_looks(status), kind):
            return copied.digests
        opened = work.read(name)
        if opened is None:
            return None
        with opened:
            digests = digests_of(pieces_of(opened), kind, self._checker(halt))
            self._keep(opened, name, file, kind, digests)
        return digests

    def _keep(self, opened: BinaryIO, name: str, file: HdfsFile, kind: ChecksumKind, digests: Digests) -> None:
        """Give it the time of the file in HDFS, and remember what it looks like."""
        changed_ns = file.changed_ms * 1_000_000
        os.utime(opened.fileno(), ns=(changed_ns, changed_ns))
        self._copied[name] = _Copied(_looks(os.fstat(opened.fileno())), kind, digests)

    def _checker(
        self, halt: threading.Event, write: Callable[[bytes], object] | None = None
    ) -> Callable[[bytes], None]:
        """The check for each piece: stop if somebody asked for it, write the piece, report the progress."""

        def check(piece: bytes) -> None:
            if halt.is_set() or self.stop():
                raise StoppedError("the save was stopped", where=self.output)
            if write is not None:
                write(piece)
                self.progress(len(piece))

        return check


def _looks(status: os.stat_result) -> tuple[int, ...]:
    """The marks of a file that change when anybody writes to it, or puts another one in its place."""
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _is_there(parent: SafeFolder, name: str, target: Path) -> bool:
    """True if there is a folder with something in it; RefusedError for a link or a file."""
    status = parent.stat(name)
    if status is None:
        return False
    if not stat.S_ISDIR(status.st_mode):
        raise no_folder(target, status)
    with parent.folder(name) as folder:
        return not folder.is_empty()


@contextmanager
def _of_one_name(file: HdfsFile, unsaved: list[Unsaved]) -> Iterator[None]:
    """A name that the file system refuses is one more that could not be saved."""
    try:
        yield
    except OSError as error:
        if error.errno not in _OF_ONE_NAME:
            raise
        unsaved.append(Unsaved(file.path, os.strerror(error.errno)))
