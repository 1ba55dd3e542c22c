"""The second copy of the masters' data, on a core node that is not theirs: made of the controller's copy, and read."""

from __future__ import annotations

import json
import shutil
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from fawkes.core.values.model import ClusterId, NodeId
from fawkes.live.base import limits
from fawkes.live.data.copying import packed_text
from fawkes.live.edits import edit_log
from fawkes.live.edits.kept_copy import CopyFolder, KeepError, md5_of
from fawkes.live.nodes.fleet import Fleet
from fawkes.live.nodes.ground import Ground
from fawkes.live.nodes.playbooks import kept as book
from fawkes.playbook import Facts, Lease
from fawkes.store.private import FOLDER_MODE, private, private_folder

#: bytes that go within one script
_PART_BYTES = 1 << 20
_STATE_FILES = 500


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The controller's copy at one moment."""

    version: str
    sizes: Mapping[str, int]
    rows: Mapping[str, str]
    copied_us: int

    @classmethod
    def of(cls, copy: CopyFolder) -> Snapshot | None:
        """None while there is nothing whole."""
        if copy.copy() is None or copy.copied_us is None:
            return None
        return cls(copy.version, dict(copy.sizes), dict(copy.rows), copy.copied_us)


@dataclass(slots=True)
class _There:
    """The state of the second copy by what was pushed; ``rows`` as in `CopyFolder.rows`."""

    lease: Lease
    sizes: dict[str, int]
    rows: dict[str, str] = field(default_factory=dict)
    copied_us: int = 0


class SecondCopy:
    """The second copy of one MR-cluster. One user at a time."""

    def __init__(self, copy: CopyFolder, ground: Ground, fleet: Fleet) -> None:
        self._copy = copy
        self._ground = ground
        self._fleet = fleet
        self._there: _There | None = None

    def forget(self) -> None:
        """Notes that the copy may have changed: it is looked at before anything is added."""
        self._there = None

    @property
    def noted_us(self) -> int:
        """Up to when it has everything, by what was pushed; 0 while that is in doubt."""
        return 0 if self._there is None else self._there.copied_us

    def push(self, snapshot: Snapshot, node: NodeId, lease: Lease) -> None:
        """Bring the second copy up to what the controller's was; FawkesError says why that cannot be done."""
        there = self._there
        if there is None or there.lease != lease:
            there = self._there = self._look(snapshot, node, lease)
        # Until the end it is not known what was written.
        self._there = None
        self._send(snapshot, node, lease, there)
        there.copied_us = snapshot.copied_us
        self._there = there

    def _send(self, snapshot: Snapshot, node: NodeId, lease: Lease, there: _There) -> None:
        for name, size in snapshot.sizes.items():
            if name.startswith("fsimage_") and not name.endswith(".md5") and name not in there.sizes:
                self._image(name, size, node, lease)
                there.sizes[name] = size
        names = {name: row for name, row in snapshot.rows.items() if there.rows.get(name) != row}
        for part in _parts(sorted(names), _STATE_FILES):
            self._push(node, lease, book.Change(state=self._copy.state_archive(part)))
        for change in self._edits(snapshot, there):
            self._push(node, lease, change)
        finals = {each.first: each.name for each in edit_log.segments(snapshot.sizes)}
        moved = [
            (each.name, finals[each.first])
            for each in edit_log.segments(there.sizes)
            if each.first in finals and finals[each.first] != each.name
        ]
        for before, after in moved:
            there.sizes[after] = there.sizes.pop(before)
        texts = {name: self._text(name) for name in snapshot.sizes if name.endswith(".md5") and name not in there.sizes}
        gone = sorted(set(there.sizes) - set(snapshot.sizes))
        change = book.Change(
            renames=moved, writes=texts, removes=gone, state_gone=sorted(set(there.rows) - set(snapshot.rows))
        )
        copied = json.dumps({"cluster": self._copy.cluster_id, "copied_us": snapshot.copied_us})
        self._push(node, lease, change, copied)
        there.sizes = dict(snapshot.sizes)
        there.rows = dict(snapshot.rows)

    def _edits(self, snapshot: Snapshot, there: _There) -> list[book.Change]:
        """New edits in the segments, in parts of a size that a script can carry."""
        have = {each.first: each.name for each in edit_log.segments(there.sizes)}
        parts: list[book.Change] = []
        held: list[tuple[str, int, bytes]] = []
        for segment in edit_log.segments(snapshot.sizes):
            name = have.get(segment.first, edit_log.open_name(segment.first))
            offset, size = there.sizes.get(name, 0), snapshot.sizes[segment.name]
            there.sizes[name] = size
            while offset < size:
                data = self._read(segment, offset, min(_PART_BYTES, size - offset))
                held.append((name, offset, data))
                offset += len(data)
                if sum(len(each[2]) for each in held) >= _PART_BYTES:
                    parts.append(book.Change(appends=held))
                    held = []
        return [*parts, book.Change(appends=held)] if held else parts

    def _read(self, segment: edit_log.Segment, offset: int, size: int) -> bytes:
        """A part of a segment, which may have been closed meanwhile."""
        for name in (segment.name, self._copy.segments().get(segment.first, segment).name):
            try:
                with (self._copy.path / name).open("rb") as file:
                    file.seek(offset)
                    data = file.read(size)
            except OSError:
                continue
            if len(data) == size:
                return data
        raise KeepError(f"{segment.name} changed while it was copied on", where=str(self._copy.path))

    def _image(self, name: str, size: int, node: NodeId, lease: Lease) -> None:
        self._push(node, lease, book.Change())
        try:
            with (self._copy.path / name).open("rb") as file:
                path = lease.folders.kept / "nn" / name
                self._fleet.put(node, file, path, mode=0o600, lease=lease, deadline_s=limits.IMAGE_S)
        except OSError as error:
            raise KeepError(f"{name} cannot be read ({error.strerror})", where=str(self._copy.path)) from error

    def _text(self, name: str) -> str:
        try:
            return (self._copy.path / name).read_text()
        except OSError as error:
            raise KeepError(f"{name} cannot be read ({error.strerror})", where=str(self._copy.path)) from error

    def _push(self, node: NodeId, lease: Lease, change: book.Change, note: str = "") -> None:
        script = book.push(lease, change, note)
        facts = self._ground.run(node, script, "writing the second copy", within_s=limits.PUSH_S)
        if "differs" in facts:
            raise KeepError(f"the second copy has another {facts['differs']} than was sent to it", where=node)

    def _look(self, snapshot: Snapshot, node: NodeId, lease: Lease) -> _There:
        """The state of our second copy. A copy of something else is set aside."""
        facts = self._ground.run(
            node, book.inventory(lease.folders), "looking at the second copy", within_s=limits.PUSH_S
        )
        sizes = {name: int(size) for name, size in facts.under("file").items() if size.isdigit()}
        version = packed_text(facts, "version")
        ours = {name: size for name, size in sizes.items() if name.startswith(("edits_", "fsimage_"))}
        if version == snapshot.version and self._same(facts, ours):
            return _There(lease, ours)
        self._push(node, lease, book.Change(afresh=bool(facts), writes={"VERSION": snapshot.version}))
        return _There(lease, {})

    def _same(self, facts: Facts, sizes: Mapping[str, int]) -> bool:
        """True if each of its files begins as ours does."""
        mine = self._copy.segments()
        try:
            for segment in edit_log.segments(sizes):
                own = mine.get(segment.first)
                if own is None and segment.first < min(mine, default=segment.first):
                    continue  # an image that came since has made it useless
                if own is None or self._copy.sizes[own.name] < sizes[segment.name]:
                    return False
                digest = md5_of(self._copy.path / own.name, sizes[segment.name])
                if digest != facts.get(f"sum.{segment.name}"):
                    return False
            return all(
                (self._copy.path / f"{name}.md5").read_text().strip() == text.strip()
                for name, text in facts.under("image").items()
                if name in self._copy.sizes
            )
        except OSError:
            return False

    def copied_us(self, node: NodeId, cluster: ClusterId) -> int | None:
        """Up to when (us) the copy on a node has everything; None: there is none of this MR-cluster."""
        folders = self._ground.folders(node, cluster)
        facts = self._ground.run(node, book.inventory(folders), "looking at the second copy", within_s=limits.PUSH_S)
        origin = edit_log.origin(packed_text(facts, "version"))
        note = _note(facts.get("note", ""))
        if origin is None or origin.cluster != self._copy.cluster_id or note is None:
            return None
        return note if edit_log.needed(list(facts.under("file"))) is not None else None

    def fetch(self, node: NodeId, cluster: ClusterId, folder: Path) -> None:
        """Make a folder with what the copy on a node has; KeepError when it is not what a copy has."""
        shutil.rmtree(folder, ignore_errors=True)
        archive = folder.with_name(f"{folder.name}.tar")
        script = book.whole(self._ground.folders(node, cluster))
        try:
            private_folder(folder.parent)
            folder.mkdir(mode=FOLDER_MODE)
            with open(archive, "wb", opener=private) as sink:
                self._fleet.run(node, script, limits.IMAGE_S, sink=sink).check("reading the second copy")
            unpack(archive, folder)
        except (OSError, tarfile.TarError) as error:
            raise KeepError(f"the second copy of {cluster} cannot be fetched ({error})", where=node) from error
        finally:
            archive.unlink(missing_ok=True)


def unpack(archive: Path, folder: Path) -> None:
    """Files and folders of a tar that a node made; TarError for anything else, or for a place outside of ``folder``.

    The filters of `tarfile` do the same, from Python 3.11.4 on.
    """
    with tarfile.open(archive) as tar:
        for member in tar:
            place = PurePosixPath(member.name)
            if place.is_absolute() or ".." in place.parts or not (member.isdir() or member.isreg()):
                raise tarfile.ExtractError(f"it has {member.name!r}, which no copy has")
            target = folder / place
            if member.isdir():
                private_folder(target)
                continue
            content = tar.extractfile(member)
            if content is None:
                raise tarfile.ExtractError(f"{member.name!r} cannot be read")
            private_folder(target.parent)
            with content, open(target, "xb", opener=private) as file:
                shutil.copyfileobj(content, file)


def _note(text: str) -> int | None:
    try:
        note = json.loads(text)
    except ValueError:
        return None
    copied_us = note.get("copied_us") if isinstance(note, dict) else None
    return copied_us if isinstance(copied_us, int) else None


def _parts(names: list[str], most: int) -> list[list[str]]:
    return [names[at : at + most] for at in range(0, len(names), most)]
