"""Copies from the masters' node to the controller: what is new, whole operations alone, until nothing is missing."""

from __future__ import annotations

import base64
import gzip
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import BinaryIO

from fawkes.core.clusters.keeping import is_torn, outgrows
from fawkes.core.values.model import ClusterId, NodeId
from fawkes.live.base import limits
from fawkes.live.edits import edit_log
from fawkes.live.edits.edit_log import DivergedError, Want
from fawkes.live.edits.kept_copy import CopyFolder, KeepError, MastersDataError, md5_of, state_rows
from fawkes.live.nodes.fleet import Fleet
from fawkes.live.nodes.ground import Ground
from fawkes.live.nodes.playbooks import kept as book
from fawkes.playbook import Facts, Folders

#: how much of a segment is asked for at least, and at most: each look starts a dozen processes on the node, so that one
#: look should be enough. What is padding is read as well, and packed to nothing
_PIECE_BYTES = 32 << 10
_MOST_PIECE_BYTES = 8 << 20
#: files of the state store that are asked for at once
_STATE_FILES, _STATE_BYTES = 500, 4 << 20


@dataclass(frozen=True, slots=True)
class Brought:
    """The copy has everything that was acknowledged up to ``at_us``; ``changed``: something was new.

    ``running``: the NameNode ran when that was seen.
    """

    at_us: int
    changed: bool
    running: bool


@dataclass(frozen=True, slots=True)
class _Seen:
    """The result of a look; ``piece`` is of the segment that was asked for, and as long as ``limit`` at most."""

    at_us: int
    running: bool
    version: str
    files: Mapping[str, int]
    piece: bytes
    limit: int
    state: str
    rows: Mapping[str, str] | None


class Copier:
    """Brings copies up to date; ``now_us`` is the controller's clock."""

    def __init__(self, ground: Ground, fleet: Fleet, now_us: Callable[[], int]) -> None:
        self._ground = ground
        self._fleet = fleet
        self._now_us = now_us
        #: how much to ask for at first: what came in the round before, and room for more
        self._pieces: dict[ClusterId, int] = {}

    def bring(
        self, copy: CopyFolder, cluster: ClusterId, node: NodeId, *, compare: bool, afresh: bool = True
    ) -> Brought:
        """Bring a copy up to date with the masters' data on a node.

        With ``compare`` what the copy has is first compared with theirs. A copy that does not continue theirs is set
        aside, or is a KeepError without ``afresh``. HostError when the node does not answer, KeepError when its data
        cannot be copied.
        """
        folders = self._ground.folders(node, cluster)
        try:
            if compare and copy.sizes and not self._same(copy, folders, node):
                raise DivergedError("its files are others")
            return self._follow(copy, cluster, folders, node)
        except DivergedError as error:
            if not afresh:
                raise MastersDataError(f"what lies there does not continue the copy ({error})", where=node) from error
        copy.set_aside()
        try:
            return self._follow(copy, cluster, folders, node)
        except DivergedError as error:
            raise KeepError(f"its files change in a way that cannot be followed ({error})", where=node) from error

    def _follow(self, copy: CopyFolder, cluster: ClusterId, folders: Folders, node: NodeId) -> Brought:
        place, limit, torn, changed = _next(copy), self._pieces.get(cluster, _PIECE_BYTES), 0, False
        came = looks = 0
        while not outgrows(looks):
            looks += 1
            seen = self._look(copy, folders, node, place, limit)
            self._check(copy, seen, cluster, node)
            before, bytes_before = dict(copy.sizes), copy.edits_bytes()
            whole, whole_but_torn = _append(copy, place, seen)
            left = [want for want in edit_log.wanted(copy.sizes, seen.files) if not _finished(copy, want, seen)]
            changed = changed or copy.sizes != before
            came += copy.edits_bytes() - bytes_before
            missing = [want for want in left if want.segment.first != place[0] or not whole or want.segment.last]
            if not missing:
                self._pieces[cluster] = _piece_for(came)
                changed |= self._state(copy, seen, folders, node)
                changed |= self._image(copy, seen, folders, node)
                return Brought(seen.at_us, changed, seen.running)
            following = (missing[0].segment.first, missing[0].offset)
            more = len(seen.piece) == limit and limit < _MOST_PIECE_BYTES
            torn += following == place and not more
            limit = 4 * limit if more else limit
            place = following
            if is_torn(torn):
                what = "an operation that is not whole" if whole_but_torn else "nothing to read"
                raise MastersDataError(f"segment {place[0]} of its edits has {what} at byte {place[1]}", where=node)
        raise KeepError("its edits grow faster than they can be copied", where=node)

    def _look(self, copy: CopyFolder, folders: Folders, node: NodeId, place: tuple[int, int], limit: int) -> _Seen:
        at_us = self._now_us()
        first, offset = place
        known = copy.version
        script = book.look(folders, first=first, offset=offset, limit_bytes=limit, state=copy.digest, version=known)
        facts = self._ground.run(node, script, "reading the masters' data", within_s=limits.EDITS_S)
        if facts.get("folder") == "none":
            raise MastersDataError("there is no data of a NameNode", where=node)
        return _Seen(
            at_us=at_us,
            running=facts.get("namenode") == "running",
            version=packed_text(facts, "version") if "version" in facts else known,
            files={name: int(size) for name, size in facts.under("file").items() if size.isdigit()},
            piece=_unpacked(facts, "piece"),
            limit=limit,
            state=facts.get("state", ""),
            rows=state_rows(_unpacked(facts, "rows").decode(errors="replace")) if "rows" in facts else None,
        )

    def _check(self, copy: CopyFolder, seen: _Seen, cluster: ClusterId, node: NodeId) -> None:
        origin, wanted = edit_log.origin(seen.version), f"{self._ground.identity.pool}-{cluster}"
        if origin is None:
            raise MastersDataError("the VERSION of its NameNode is not whole", where=node)
        if origin.cluster != wanted:
            raise MastersDataError(f"the NameNode's data are of {origin.cluster}, not of {wanted}", where=node)
        if edit_log.newest_image(seen.files) is None:
            raise MastersDataError("its NameNode has no image", where=node)
        copy.begin(seen.version)

    def _image(self, copy: CopyFolder, seen: _Seen, folders: Folders, node: NodeId) -> bool:
        newest = edit_log.newest_image(seen.files)
        if newest is None or (copy.image is not None and copy.image >= newest):
            return False
        name = edit_log.image_name(newest)
        facts = self._ground.run(node, book.sums(folders, folders.nn / "current", {}), "reading the masters' data")
        if (checksum := facts.get(f"image.{name}")) is None:
            raise KeepError(f"{name} is not there any more", where=node)

        def fetch(sink: BinaryIO) -> None:
            result = self._fleet.run(node, book.image(folders, name), limits.IMAGE_S, sink=sink)
            result.check(f"reading {name}")

        copy.add_image(newest, seen.files[name], fetch, checksum)
        copy.trim()
        return True

    def _state(self, copy: CopyFolder, seen: _Seen, folders: Folders, node: NodeId) -> bool:
        """The files of the state store; one that changes just now is fetched the next time."""
        if seen.rows is None:
            return False
        changed = {name: row for name, row in seen.rows.items() if copy.rows.get(name) != row}
        put: set[str] = set()
        for names in _batches(changed):
            facts = self._ground.run(node, book.state_files(folders, names), "reading the state store")
            put |= copy.put_state(_packed(facts, "files"), changed)
        copy.drop_state(seen.rows)
        copy.digest = seen.state if put == set(changed) else ""
        return True

    def _same(self, copy: CopyFolder, folders: Folders, node: NodeId) -> bool:
        """True if the files that both have are the same, as far as the copy goes."""
        own = {f"{first:019d}": segment.name for first, segment in copy.segments().items()}
        pairs = {first: copy.sizes[name] for first, name in own.items()}
        facts = self._ground.run(
            node,
            book.sums(folders, folders.nn / "current", pairs, journal=True),
            "comparing the copy",
            within_s=limits.EDITS_S,
        )
        theirs, images = facts.under("sum"), facts.under("image")
        try:
            same = all(md5_of(copy.path / own[first], pairs[first]) == digest for first, digest in theirs.items())
            return same and all(
                (copy.path / f"{name}.md5").read_text().strip() == text.strip()
                for name, text in images.items()
                if f"{name}.md5" in copy.sizes
            )
        except OSError as error:
            raise KeepError(f"the copy cannot be read ({error.strerror})", where=str(copy.path)) from error


def _piece_for(came_bytes: int) -> int:
    """The bytes to ask for in a round after one in which so much came: at least twice that, in few steps."""
    return max(_PIECE_BYTES, min(_MOST_PIECE_BYTES, 1 << (2 * came_bytes).bit_length()))


def _next(copy: CopyFolder) -> tuple[int, int]:
    """The segment and the byte that most probably come next."""
    mine = copy.segments()
    if not mine:
        return (copy.image or 0) + 1, 0
    last = mine[max(mine)]
    return (last.first, copy.sizes[last.name]) if last.last is None else (last.last + 1, 0)


def _append(copy: CopyFolder, place: tuple[int, int], seen: _Seen) -> tuple[bool, bool]:
    """Take the whole operations of the piece; whether all of the segment is there now, and whether one is torn."""
    wants = {want.segment.first: want for want in edit_log.wanted(copy.sizes, seen.files)}
    first, offset = place
    if first not in wants or wants[first].offset != offset:
        return False, False
    head = edit_log.HEADER_BYTES if offset == 0 else 0
    read = edit_log.operations(seen.piece[head:], copy.last(first))
    if read.size:
        copy.append(first, seen.piece[: head + read.size], read.last)
    ended = not read.torn and (len(seen.piece) < seen.limit or head + read.size < len(seen.piece))
    return ended, read.torn


def _finished(copy: CopyFolder, want: Want, seen: _Seen) -> bool:
    """True if a segment that is not written to any more is there to its last operation.

    A NameNode that starts after a crash renames the segment that it was writing, with the padding behind.
    """
    if want.segment.last is None:
        return False
    last, ended = copy.last(want.segment.first), want.offset == seen.files[want.segment.name]
    if last > want.segment.last or (ended and last < want.segment.last):
        raise DivergedError(f"{want.segment.name} ends with transaction {last}")
    if last == want.segment.last:
        copy.finish(want.segment)
    return last == want.segment.last


def _batches(rows: Mapping[str, str]) -> Iterator[list[str]]:
    names: list[str] = []
    size = 0
    for name, row in rows.items():
        names.append(name)
        size += int(row.split(" ")[0])
        if len(names) >= _STATE_FILES or size >= _STATE_BYTES:
            yield names
            names, size = [], 0
    if names:
        yield names


def _packed(facts: Facts, key: str) -> bytes:
    try:
        return base64.b64decode(facts.get(key, ""), validate=True)
    except ValueError as error:
        raise KeepError(f"what the node sent is not whole ({key})") from error


def _unpacked(facts: Facts, key: str) -> bytes:
    data = _packed(facts, key)
    try:
        return gzip.decompress(data) if data else b""
    except (OSError, EOFError, zlib.error) as error:
        raise KeepError(f"what the node sent is not whole ({key}: {error})") from error


def packed_text(facts: Facts, key: str) -> str:
    """The text of a fact that is base64; "" where there is none. KeepError when it is not whole."""
    return _packed(facts, key).decode(errors="replace")
