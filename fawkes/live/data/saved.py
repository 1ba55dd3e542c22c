"""Folders of persistent storage to which outputs were saved: what they have to prove it, and how they are compared.

A saved folder has a ``MANIFEST.sha256`` that ``sha256sum -c`` understands, and files with the times of those in HDFS.
No link is followed: see `live.safe_folder`.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import BinaryIO

from fawkes.base.errors import FawkesError, RefusedError
from fawkes.config.clusters.details import Output
from fawkes.core.values.model import Facts
from fawkes.live.data.loading import StoppedError
from fawkes.live.data.safe_folder import SafeFolder
from fawkes.live.data.sources import SourceFile, files_below, fingerprint
from fawkes.live.wire.crc import ChecksumKind, HdfsDigest, kind_of
from fawkes.live.wire.webhdfs import FolderSummary, Hdfs, HdfsFailedError, HdfsFile

MANIFEST = "MANIFEST.sha256"
OPEN = "is still being written"
"""Why a file that is known to be open is not saved."""

_PIECE = 1 << 20
#: how many files an error names
_NAMED = 3
#: ... and how many its facts list: they lie in the ledger, once for each try
_LISTED = 100


@dataclass(frozen=True, slots=True)
class Unsaved:
    """A file or folder of HDFS that could not be saved, and why."""

    path: str
    why: str


class UnsavedError(FawkesError):
    """Some files could not be saved; a later try reads only what is missing.

    Only ``outputs`` are said to be saved: the folders that are saved whole. ``facts`` are for the ledger: them,
    ``unsaved`` (rows of ``path`` and ``why``), and of how many (``unsaved_count``).
    """

    def __init__(self, unsaved: Sequence[Unsaved], *, where: str = "", outputs: Sequence[Facts] = ()) -> None:
        """``unsaved`` has at least one row; the first few are named in the message."""
        self.unsaved = tuple(unsaved)
        named = "; ".join(f"{row.path} ({row.why})" for row in self.unsaved[:_NAMED])
        more = len(self.unsaved) - _NAMED
        paths = ", ".join(str(output["path"]) for output in outputs)
        whole = f"Saved and verified: {paths}. " if paths else ""
        super().__init__(
            f"not everything could be saved: {named}{f'; and {more} more' if more > 0 else ''}",
            where=where,
            hint=f"{whole}No node is released before the rest is, too; the next attempt copies what is missing",
        )
        self.facts: Facts = {
            "outputs": [dict(output) for output in outputs],
            "unsaved": [asdict(row) for row in self.unsaved[:_LISTED]],
            "unsaved_count": len(self.unsaved),
        }


@dataclass(frozen=True, slots=True)
class Stake:
    """Data that would be lost with the MR-cluster: an output folder in HDFS, its bytes and files, and if it is saved.

    Saved means here: as many files, of the same names, sizes and times, lie at ``save_to`` with a manifest. What was
    saved to another HDFS cannot be seen from here, and counts as not saved.
    """

    path: str
    save_to: str
    size: int
    files: int
    saved: bool
    owner: str = ""


@dataclass(frozen=True, slots=True)
class Digests:
    """The digests of one file here: for the manifest, and as HDFS would say it."""

    sha256: str
    hdfs: str


def compare(
    hdfs: Hdfs, output: str, target: Path, stop: Callable[[], bool], listed: Iterable[HdfsFile], lacking: list[str]
) -> list[Unsaved]:
    """Compare a saved folder with its manifest and with HDFS, byte for byte: the files that cannot be compared.

    RefusedError names the first file that differs, is missing or is too much. ``lacking`` gets the names of files in
    HDFS that the list of the saved folder lacks.
    """
    unsaved = []
    with saved_folder(target) as folder:
        manifest = _read_manifest(folder)
        files = {file.path.removeprefix(f"{output}/"): file for file in listed}
        for name in sorted(files.keys() | manifest.keys()):
            if stop():
                raise StoppedError("the comparison was stopped", where=output)
            if name not in manifest:
                lacking.append(name)
                continue
            try:
                why = _difference(hdfs, files.get(name), folder, name, manifest[name])
            except HdfsFailedError as error:
                if error.unreachable:
                    hdfs.status(output)
                unsaved.append(Unsaved(f"{output}/{name}", error.what))
                continue
            if why:
                raise other_data(f"{name} {why}", output, target)
    return unsaved


def other_data(what: str, output: str, target: Path) -> RefusedError:
    """The refusal of a folder that has something else than HDFS."""
    hint = f"Move this folder away: it is not overwritten. Then `fawkes retry` of the MR-cluster saves {output} to it"
    return RefusedError(what, where=str(target), hint=hint)


def unfinished(hdfs: Hdfs, path: str, is_open: Callable[[str], bool], readers: int = 4) -> list[Unsaved]:
    """The files below a folder of HDFS that are still being written, or of which HDFS has lost a block.

    Those that are known to be open are not asked for.
    """

    def look(file: HdfsFile) -> Unsaved | None:
        if is_open(file.path):
            return Unsaved(file.path, OPEN)
        try:
            hdfs.checksum(file.path)
        except HdfsFailedError as error:
            if error.unreachable:
                hdfs.status(path)
            return Unsaved(file.path, error.what)
        return None

    files = [file for file in hdfs.below(path) if not file.folder]
    with ThreadPoolExecutor(max_workers=readers, thread_name_prefix="look") as pool:
        return [row for row in pool.map(look, files) if row is not None]


def _difference(hdfs: Hdfs, file: HdfsFile | None, folder: SafeFolder, name: str, sha256: str) -> str:
    """The reason why a saved file is not the one in HDFS; empty when it is."""
    if file is None:
        return "is not in HDFS"
    try:
        opened = folder.read(name)
    except (OSError, ValueError):
        opened = None
    if opened is None:
        return f"is listed in {MANIFEST} but is missing"
    with opened:
        size = os.fstat(opened.fileno()).st_size
        if size != file.size:
            return f"has {size} bytes here, but {file.size} in HDFS"
        said = hdfs.checksum(file.path)
        kind = kind_of(said) or ChecksumKind(None)
        digests = digests_of(pieces_of(opened), kind, lambda piece: None)
    if digests.sha256 != sha256:
        return f"was changed after {MANIFEST} was written"
    return "" if hdfs.holds(file.path, digests.hdfs, kind, said) else "differs from the file in HDFS"


def at_stake(hdfs: Hdfs, outputs: Iterable[Output]) -> list[Stake]:
    """Each output folder with what is in it, and whether that is saved; folders that are not there have nothing."""
    return [_stake(hdfs, output) for output in outputs]


def _stake(hdfs: Hdfs, output: Output) -> Stake:
    summary = hdfs.summary(output.path) or FolderSummary(0, 0)
    saved = not summary.files or _looks_saved(hdfs, output)
    entry = hdfs.status(output.path)
    owner = entry.owner if entry is not None else ""
    return Stake(output.path, output.save_to, summary.size, summary.files, saved, owner)


def _looks_saved(hdfs: Hdfs, output: Output) -> bool:
    if not output.local:
        return False
    try:
        with SafeFolder.at(Path(output.save_to)) as folder:
            here = folder.size(MANIFEST) is not None and fingerprint(_saved_files(folder))
    except OSError:
        return False
    return bool(here) and here == fingerprint(files_below(hdfs, output.path))


def _saved_files(folder: SafeFolder) -> Iterator[SourceFile]:
    """The files of a saved folder; a link or anything else that was not saved has no size, as no file of HDFS has."""
    for name, status in folder.below():
        if not stat.S_ISDIR(status.st_mode) and name != MANIFEST:
            size = status.st_size if stat.S_ISREG(status.st_mode) else -1
            yield SourceFile(name, size, status.st_mtime_ns // 1_000_000)


def digests_of(pieces: Iterator[bytes], kind: ChecksumKind, use: Callable[[bytes], None]) -> Digests:
    """The digests of some bytes; each piece is also put to ``use``."""
    sha256, hdfs = hashlib.sha256(), HdfsDigest(kind)
    for piece in pieces:
        use(piece)
        sha256.update(piece)
        hdfs.update(piece)
    return Digests(sha256.hexdigest(), hdfs.hexdigest())


def pieces_of(opened: BinaryIO) -> Iterator[bytes]:
    """The bytes of an open file, in pieces."""
    while piece := opened.read(_PIECE):
        yield piece


def flush(out: BinaryIO) -> None:
    """Put on disk what was written to a file."""
    out.flush()
    os.fsync(out.fileno())


def manifest_line(name: str, sha256: str) -> str:
    """A line of sha256sum, which marks and escapes names that would break it."""
    if "\\" in name or "\n" in name:
        name = name.replace("\\", "\\\\").replace("\n", "\\n")
        return f"\\{sha256}  {name}\n"
    return f"{sha256}  {name}\n"


def _read_manifest(folder: SafeFolder) -> dict[str, str]:
    """SHA-256 by name; RefusedError when the folder was not saved by Fawkes."""
    opened = folder.read(MANIFEST)
    if opened is None:
        raise RefusedError(
            f"exists already and has no {MANIFEST}",
            where=str(folder.path),
            hint="Move it away: it is not overwritten. Then `fawkes retry` of the MR-cluster saves all",
        )
    with opened:
        text = opened.read().decode("utf-8", "surrogateescape")
    digests = {}
    for line in text.split("\n"):
        digest, _, name = line.removeprefix("\\").partition("  ")
        if line.startswith("\\"):
            name = re.sub(r"\\(.)", lambda match: "\n" if match[1] == "n" else match[1], name)
        if name:
            digests[name] = digest
    return digests


def no_folder(path: Path, status: os.stat_result) -> RefusedError:
    """The refusal of something that is in the place of a folder."""
    link = stat.S_ISLNK(status.st_mode)
    hint = "Remove it, or save to the folder that it leads to" if link else "Remove it"
    return RefusedError("is a link, which is not followed" if link else "is not a folder", where=str(path), hint=hint)


@contextmanager
def saved_folder(target: Path) -> Iterator[SafeFolder]:
    """A folder that was saved; RefusedError for a link in its place."""
    with on_disk(target):
        status = target.lstat()
        if not stat.S_ISDIR(status.st_mode):
            raise no_folder(target, status)
        with SafeFolder.at(target) as folder:
            yield folder


@contextmanager
def on_disk(path: Path) -> Iterator[None]:
    """Raises failures of the file system as an error that says where."""
    try:
        yield
    except OSError as error:
        raise FawkesError(
            f"cannot be saved ({error.strerror or error})",
            where=str(path),
            hint="No node is released before the outputs are saved; the next attempt uses what has been written so far",
        ) from error
