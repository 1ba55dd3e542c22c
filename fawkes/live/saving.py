"""Outputs of a MR-cluster: from its HDFS to persistent storage, verified, before its nodes are given away.

A saved folder appears under its name in one step, whole, with a ``MANIFEST.sha256`` that ``sha256sum -c`` understands.
Each file is compared with HDFS's own checksum, computed from the bytes that were written here (`live.crc`). Data that
is there already is never overwritten: the same data is done, other data is refused by the name of the first file.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from fawkes.config.details import Output
from fawkes.errors import FawkesError, RefusedError
from fawkes.live.crc import HdfsDigest, Kind, kind_of
from fawkes.live.data import StoppedError
from fawkes.live.webhdfs import Hdfs, HdfsFile, Summary
from fawkes.units import show_bytes

MANIFEST = "MANIFEST.sha256"

_PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class Saved:
    """An output folder that is on persistent storage and verified; ``already``: it was there before."""

    files: int
    size: int
    already: bool


@dataclass(frozen=True, slots=True)
class Stake:
    """What would be lost with the MR-cluster: an output folder in HDFS, its bytes and files, whether it is saved.

    Saved means here: as many files, of the same names, sizes and times, lie at ``save_to`` with a manifest. What was
    saved to another HDFS cannot be seen from here, and counts as not saved.
    """

    path: str
    save_to: str
    size: int
    files: int
    saved: bool


@dataclass(frozen=True, slots=True)
class _Digests:
    """Of one file here: for the manifest, and as HDFS would say it."""

    sha256: str
    hdfs: str


@dataclass(frozen=True, kw_only=True)
class Save:
    """How to save one output folder of HDFS to a folder of the controller's file system.

    ``progress`` is told of bytes as they are written; as soon as ``stop`` says so the work ends between two pieces
    (StoppedError).
    """

    hdfs: Hdfs
    output: str
    target: Path
    readers: int = 4
    progress: Callable[[int], None] = lambda size: None
    stop: Callable[[], bool] = lambda: False

    def run(self) -> Saved:
        """Save it; RefusedError when other data is there, FawkesError when it cannot be written or read whole.

        What was written by a save that was cut short is compared with HDFS, and kept where it is right.
        """
        listing = self._listing()
        files = [file for file in listing if not file.folder]
        with _disk(self.target):
            already = self.target.exists() and not _is_empty(self.target)
            if already:
                verify(self.hdfs, self.output, self.target, stop=self.stop)
            else:
                self._write(listing, files)
        return Saved(len(files), sum(file.size for file in files), already)

    def _listing(self) -> list[HdfsFile]:
        found = _below(self.hdfs, self.output)
        if any(file.path == f"{self.output}/{MANIFEST}" for file in found):
            raise RefusedError(f"there is a file {MANIFEST} among the outputs", where=self.output, hint="Rename it")
        return found

    def _write(self, listing: list[HdfsFile], files: list[HdfsFile]) -> None:
        self.target.parent.mkdir(parents=True, exist_ok=True)
        work = self.target.with_name(f".{self.target.name}.saving")
        work.mkdir(exist_ok=True)
        self._clear(work, listing)
        self._check_room(work, files)
        for folder in (file for file in listing if file.folder):
            self._here(work, folder).mkdir(parents=True, exist_ok=True)
        digests = self._copy_all(work, files)
        lines = (_line(self._name(file), digests[file.path].sha256) for file in files)
        _write_through(work / MANIFEST, "".join(sorted(lines)).encode())
        if _below(self.hdfs, self.output) != listing:
            raise FawkesError("changed while it was saved", where=self.output, hint="Save it again when it is at rest")
        for place, _, _ in os.walk(work):
            _sync_folder(Path(place))
        work.rename(self.target)
        _sync_folder(self.target.parent)

    def _name(self, file: HdfsFile) -> str:
        return file.path.removeprefix(f"{self.output}/")

    def _here(self, folder: Path, file: HdfsFile) -> Path:
        return folder / self._name(file)

    def _clear(self, work: Path, listing: list[HdfsFile]) -> None:
        """Take away what an earlier try has left and HDFS has no longer."""
        known = {self._here(work, file): file.folder for file in listing}
        for place, folders, names in os.walk(work, topdown=False):
            for entry in (Path(place) / name for name in names + folders):
                is_folder = entry.is_dir() and not entry.is_symlink()
                if known.get(entry) is not is_folder:
                    shutil.rmtree(entry) if is_folder else entry.unlink()

    def _check_room(self, work: Path, files: list[HdfsFile]) -> None:
        there = sum(path.stat().st_size for file in files if (path := self._here(work, file)).exists())
        need = sum(file.size for file in files) - there
        free = shutil.disk_usage(work).free
        if need > free:
            raise FawkesError(
                f"{show_bytes(need)} are to be saved and {show_bytes(free)} are free",
                where=str(self.target),
                hint="Make room there; nothing is released before its outputs are saved",
            )

    def _copy_all(self, work: Path, files: list[HdfsFile]) -> dict[str, _Digests]:
        halt = threading.Event()
        with ThreadPoolExecutor(max_workers=self.readers, thread_name_prefix="save") as pool:
            futures = {
                file.path: pool.submit(self._copy, file, self._here(work, file), halt)
                for file in sorted(files, key=lambda file: -file.size)
            }
            done, waiting = wait(futures.values(), return_when=FIRST_EXCEPTION)
            failed = [error for future in done if (error := future.exception()) is not None]
            if failed:
                halt.set()
                for future in waiting:
                    future.cancel()
        if failed:
            raise failed[0]
        return {path: future.result() for path, future in futures.items()}

    def _copy(self, file: HdfsFile, path: Path, halt: threading.Event) -> _Digests:
        """Copy one file, unless it is here already, and compare it with HDFS."""
        self._checker(halt)(b"")
        kind = kind_of(self.hdfs.checksum(file.path)) or Kind(None)
        if path.exists() and path.stat().st_size == file.size:
            digests = _digests(_pieces(path), kind, self._checker(halt))
            if self.hdfs.holds(file.path, digests.hdfs, kind):
                return digests
        with _disk(path), path.open("wb") as out:
            digests = _digests(self.hdfs.read(file.path), kind, self._checker(halt, out.write))
            out.flush()
            os.fsync(out.fileno())
        if path.stat().st_size != file.size or not self.hdfs.holds(file.path, digests.hdfs, kind):
            raise FawkesError("what was read is not what HDFS holds", where=f"{self.hdfs.url} {file.path}")
        os.utime(path, ns=(file.changed_ms * 1_000_000, file.changed_ms * 1_000_000))
        return digests

    def _checker(
        self, halt: threading.Event, write: Callable[[bytes], object] | None = None
    ) -> Callable[[bytes], None]:
        """What is done with each piece: stop if somebody asked for it, write it, tell of the progress."""

        def check(piece: bytes) -> None:
            if halt.is_set() or self.stop():
                raise StoppedError("the save was stopped", where=self.output)
            if write is not None:
                write(piece)
                self.progress(len(piece))

        return check


def verify(hdfs: Hdfs, output: str, target: Path, *, stop: Callable[[], bool] = lambda: False) -> None:
    """Compare a saved folder with its manifest and with HDFS, byte for byte; nothing happens when all agree.

    RefusedError names the first file that differs, is missing or is too much.
    """
    with _disk(target):
        manifest = _read_manifest(target)
        files = {file.path.removeprefix(f"{output}/"): file for file in _below(hdfs, output) if not file.folder}
        for name in sorted(files.keys() | manifest.keys()):
            if stop():
                raise StoppedError("the comparison was stopped", where=output)
            if why := _difference(hdfs, files.get(name), target / name, manifest.get(name)):
                raise RefusedError(
                    f"{name} {why}",
                    where=str(target),
                    hint=f"Move this folder away or save {output} to another one; it is not overwritten",
                )


def _difference(hdfs: Hdfs, file: HdfsFile | None, path: Path, sha256: str | None) -> str:
    """Why a saved file is not the one in HDFS; empty when it is."""
    if file is None:
        return "is not in HDFS (any more)"
    if sha256 is None:
        return "is in HDFS and was not saved"
    if not path.is_file():
        return f"is in {MANIFEST} and is gone"
    if path.stat().st_size != file.size:
        return f"has {path.stat().st_size} bytes here and {file.size} in HDFS"
    kind = kind_of(hdfs.checksum(file.path)) or Kind(None)
    digests = _digests(_pieces(path), kind, lambda piece: None)
    if digests.sha256 != sha256:
        return f"was changed after {MANIFEST} was written"
    return "" if hdfs.holds(file.path, digests.hdfs, kind) else "has other bytes than the file in HDFS"


def at_stake(hdfs: Hdfs, outputs: Iterable[Output]) -> list[Stake]:
    """Each output folder with what is in it, and whether that is saved; folders that are not there have nothing."""
    return [_stake(hdfs, output) for output in outputs]


def _stake(hdfs: Hdfs, output: Output) -> Stake:
    summary = hdfs.summary(output.path) or Summary(0, 0)
    saved = not summary.files or _looks_saved(hdfs, output)
    return Stake(output.path, output.save_to, summary.size, summary.files, saved)


def _looks_saved(hdfs: Hdfs, output: Output) -> bool:
    target = Path(output.save_to)
    if output.save_to.startswith("hdfs:") or not (target / MANIFEST).is_file():
        return False
    here = {
        path.relative_to(target).as_posix(): (path.stat().st_size, path.stat().st_mtime_ns // 1_000_000)
        for path in target.rglob("*")
        if path.is_file()
    }
    del here[MANIFEST]
    there = {
        file.path.removeprefix(f"{output.path}/"): (file.size, file.changed_ms)
        for file in hdfs.below(output.path)
        if not file.folder
    }
    return here == there


def _below(hdfs: Hdfs, output: str) -> list[HdfsFile]:
    """All that is below an output folder, by path, without the times of folders, which change by themselves."""
    found = (HdfsFile(f.path, f.size, 0 if f.folder else f.changed_ms, f.folder) for f in hdfs.below(output))
    return sorted(found, key=lambda file: file.path)


def _digests(pieces: Iterator[bytes], kind: Kind, use: Callable[[bytes], None]) -> _Digests:
    """The digests of some bytes; each piece is also put to ``use``."""
    sha256, hdfs = hashlib.sha256(), HdfsDigest(kind)
    for piece in pieces:
        use(piece)
        sha256.update(piece)
        hdfs.update(piece)
    return _Digests(sha256.hexdigest(), hdfs.hexdigest())


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as opened:
        while piece := opened.read(_PIECE):
            yield piece


def _line(name: str, sha256: str) -> str:
    """A line of sha256sum, which marks and escapes names that would break it."""
    if "\\" in name or "\n" in name:
        name = name.replace("\\", "\\\\").replace("\n", "\\n")
        return f"\\{sha256}  {name}\n"
    return f"{sha256}  {name}\n"


def _read_manifest(target: Path) -> dict[str, str]:
    """SHA-256 by name; RefusedError when the folder was not saved by Fawkes."""
    path = target / MANIFEST
    if not path.is_file():
        raise RefusedError(
            f"is there already and has no {MANIFEST}",
            where=str(target),
            hint="Move it away or save to another folder; it is not overwritten",
        )
    found = {}
    for line in path.read_text(encoding="utf-8").split("\n"):
        digest, _, name = line.removeprefix("\\").partition("  ")
        if line.startswith("\\"):
            name = re.sub(r"\\(.)", lambda match: "\n" if match[1] == "n" else match[1], name)
        if name:
            found[name] = digest
    return found


def _is_empty(path: Path) -> bool:
    """A folder that somebody made for what is to be saved."""
    return path.is_dir() and next(path.iterdir(), None) is None


def _write_through(path: Path, data: bytes) -> None:
    with path.open("wb") as out:
        out.write(data)
        out.flush()
        os.fsync(out.fileno())


def _sync_folder(path: Path) -> None:
    """Names are on disk only when their folder is."""
    opened = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


@contextmanager
def _disk(path: Path) -> Iterator[None]:
    """What the file system does not do, as an error that says where."""
    try:
        yield
    except OSError as error:
        raise FawkesError(
            f"cannot be saved ({error.strerror or error})",
            where=str(error.filename or path),
            hint="Nothing is released before its outputs are saved; what was written so far is used by the next try",
        ) from error
