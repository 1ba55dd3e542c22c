"""The NameNode's files as names and bytes: where the operations of its edit log end, and which files make a namespace.

Pure. An operation is one byte of kind, four bytes of length (which count themselves, the transaction and the content),
eight bytes of transaction, the content, and a CRC-32 of all that (Hadoop's FSEditLogOp.Writer). A log that is being
written is padded with 0xFF.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

HEADER_BYTES = 8
"""What stands before the first operation of a segment: the version of the layout, and its flags."""
PADDING = 0xFF
"""The kind of operation that there is none of: from here on nothing was written yet."""

_FRAME = struct.Struct(">BIq")
_SUM = struct.Struct(">I")
#: length and transaction, which are part of what the length counts
_LEAST_LENGTH = 12
#: Hadoop's own limit for one operation (dfs.namenode.max.op.size)
_MOST_LENGTH = 50 << 20

_IMAGE = re.compile(r"fsimage_(\d{19})")
_FINAL = re.compile(r"edits_(\d{19})-(\d{19})")
_OPEN = re.compile(r"edits_inprogress_(\d{19})")


@dataclass(frozen=True, slots=True)
class Operations:
    """The whole operations at the begin of some bytes.

    ``size``: how many bytes they take; ``last``: the last transaction, or the one before if there is no operation.
    ``torn``: after them something stands that is neither a whole operation nor padding; it may be cut off, in the
    middle of being written, or damaged.
    """

    size: int
    last: int
    torn: bool


def operations(data: bytes, before: int) -> Operations:
    """The operations of ``data``, which begins where one ends (after the header); ``before`` is the last transaction.

    An operation counts only with the right checksum and the transaction that follows the one before.
    """
    at, last, size = 0, before, len(data)
    while at < size:
        if data[at] == PADDING:
            return Operations(at, last, torn=False)
        end = _end(data, at, last + 1)
        if end is None:
            return Operations(at, last, torn=True)
        at, last = end, last + 1
    return Operations(at, last, torn=False)


def _end(data: bytes, at: int, transaction: int) -> int | None:
    """The place where the operation at ``at`` ends; None when it is not whole, or not that transaction."""
    if at + _FRAME.size > len(data):
        return None
    _, length, number = _FRAME.unpack_from(data, at)
    check_at: int = at + 1 + length
    if number != transaction or not _LEAST_LENGTH <= length <= _MOST_LENGTH or check_at + _SUM.size > len(data):
        return None
    if zlib.crc32(memoryview(data)[at:check_at]) != _SUM.unpack_from(data, check_at)[0]:
        return None
    return check_at + _SUM.size


@dataclass(frozen=True, slots=True, order=True)
class Segment:
    """A file of the edit log: its first and its last transaction. ``last`` None: it is still being written."""

    first: int
    last: int | None

    @property
    def name(self) -> str:
        """The name of the file."""
        return open_name(self.first) if self.last is None else f"edits_{self.first:019d}-{self.last:019d}"


def open_name(first: int) -> str:
    """The name of a segment that is still being written."""
    return f"edits_inprogress_{first:019d}"


def image_name(transaction: int) -> str:
    """The name of the image that has everything up to a transaction."""
    return f"fsimage_{transaction:019d}"


def segments(names: Iterable[str]) -> list[Segment]:
    """The segments among the names of files, by their first transaction; a finished one counts before an open one."""
    by_first: dict[int, Segment] = {}
    for name in names:
        if match := _FINAL.fullmatch(name):
            by_first[int(match[1])] = Segment(int(match[1]), int(match[2]))
        elif match := _OPEN.fullmatch(name):
            by_first.setdefault(int(match[1]), Segment(int(match[1]), None))
    return [by_first[first] for first in sorted(by_first)]


def newest_image(names: Collection[str]) -> int | None:
    """The transaction of the newest image that is whole: its checksum file is there; None: there is no image."""
    images = (match for name in names if (match := _IMAGE.fullmatch(name)) and f"{name}.md5" in names)
    return max((int(match[1]) for match in images), default=None)


def needed(names: Collection[str]) -> list[Segment] | None:
    """The segments that are read after the newest image, in order.

    None when the files are no namespace: there is no image, or transactions are missing between two of them. A
    segment that is still being written can only be the last.
    """
    image = newest_image(names)
    if image is None:
        return None
    after = [each for each in segments(names) if each.last is None or each.last > image]
    following = image + 1
    for place, segment in enumerate(after):
        if segment.first > following or (segment.last is None and place < len(after) - 1):
            return None
        if segment.last is not None:
            following = segment.last + 1
    return after


@dataclass(frozen=True, slots=True)
class Namespace:
    """The namespace that files belong to: no two formats of a NameNode have the same."""

    cluster: str
    namespace: str
    created: str
    block_pool: str


def origin(version: str) -> Namespace | None:
    """The namespace of a ``VERSION`` file; None when it is not whole."""
    values: Mapping[str, str] = dict(line.split("=", 1) for line in version.splitlines() if "=" in line)
    parts = [values.get(key, "") for key in ("clusterID", "namespaceID", "cTime", "blockpoolID")]
    return Namespace(*parts) if all(parts) else None


class DivergedError(ValueError):
    """A copy has what the masters do not have: it is not of what they have now."""


@dataclass(frozen=True, slots=True)
class Want:
    """A segment of the masters that a copy does not have to its end yet: it has ``offset`` bytes of it."""

    segment: Segment
    offset: int


def wanted(copy: Mapping[str, int], masters: Mapping[str, int]) -> list[Want]:
    """The segments that a copy still needs, in order; both are names of files with their bytes.

    A segment that is being written to is always among them. DivergedError when the copy cannot be continued.
    """
    base = newest_image(copy)
    if base is None:
        base = newest_image(masters)
    mine = {each.first: each for each in segments(copy)}
    theirs = segments(masters)
    if mine and theirs and max(mine) > theirs[-1].first:
        raise DivergedError(f"it has transaction {max(mine)}")
    wants = []
    for segment in theirs:
        if segment.last is not None and base is not None and segment.last <= base:
            continue
        own = mine.get(segment.first)
        have = 0 if own is None else copy[own.name]
        if own is not None and own.last is not None:
            # Theirs may have padding behind.
            if own != segment or have > masters[segment.name]:
                raise DivergedError(f"its {own.name} has {have} bytes")
        elif segment.last is not None and have > masters[segment.name]:
            raise DivergedError(f"it has {have} bytes of {segment.name}")
        else:
            wants.append(Want(segment, have))
    return wants
