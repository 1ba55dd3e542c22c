"""A NameNode's image with a million files more: what a large namespace costs a failover.

The files have no blocks and lie in folders of a thousand below one new folder. All else of the image stays as it is, so
that a NameNode of the same MR-cluster starts with it. Hadoop's protobuf format (fsimage.proto); no JVM is needed.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

from fawkes.live.wire import protobuf

MAGIC = b"HDFSIMG1"
#: Behind all other names: a NameNode takes children over in the order of the image, and searches them by halves.
FOLDER = "zz-million"
_PER_FOLDER = 1000
_ROOT = 16385
_FILE, _DIRECTORY = 1, 2
_NO_QUOTA = (1 << 64) - 1
#: the first owner and the first group of the image's own table of strings; rw-r--r-- and rwxr-xr-x
_OWNERS = (1 << 40) | (1 << 16)
_FILE_MODE, _FOLDER_MODE = 0o644, 0o755
_TIME_MS = 1_700_000_000_000
_BLOCK_BYTES = 128 << 20


def enlarge(image: bytes, files: int) -> bytes:
    """The image with so many files more; ValueError for what is no image, or a compressed one."""
    if image[: len(MAGIC)] != MAGIC:
        raise ValueError("it is not an image of a NameNode")
    (length,) = struct.unpack(">i", image[-4:])
    summary = protobuf.message(image[-4 - length : -4])
    head: list[bytes] = []
    sections: list[tuple[bytes, bytes]] = []
    for key, value in protobuf.fields(summary):
        if key == 4 and isinstance(value, bytes):
            known = dict(protobuf.fields(value))
            name, size, at = known[1], known.get(2, 0), known[3]
            if not isinstance(name, bytes) or not isinstance(size, int) or not isinstance(at, int):
                raise ValueError("a section of the image has an unknown form")
            if not name.endswith(b"_SUB"):
                sections.append((name, image[at : at + size]))
        elif key == 3:
            raise ValueError("the image is compressed")
        else:
            head.append(_field(key, value))
    first, count = _inodes(dict(sections)[b"INODE"])
    folders = -(-files // _PER_FOLDER)
    written, out = len(MAGIC), [MAGIC]
    larger: dict[bytes, Callable[[bytes], bytes]] = {
        b"INODE": lambda data: _more_inodes(data, first, count, files, folders),
        b"INODE_DIR": lambda data: data + b"".join(_children(first, files, folders)),
    }
    for name, before in sections:
        data = larger[name](before) if name in larger else before
        out.append(data)
        head.append(_field(4, _field(1, name) + _field(2, len(data)) + _field(3, written)))
        written += len(data)
    closing = _delimited(b"".join(head))
    return b"".join([*out, closing, struct.pack(">i", len(closing))])


def enlarge_file(path: Path, files: int) -> int:
    """Put the larger image, with its checksum file, in the place of an image; its bytes."""
    data = enlarge(path.read_bytes(), files)
    path.write_bytes(data)
    digest = hashlib.md5(data, usedforsecurity=False).hexdigest()
    path.with_name(f"{path.name}.md5").write_text(f"{digest} *{path.name}\n")
    return len(data)


def _inodes(section: bytes) -> tuple[int, int]:
    """The last inode's number of a section, and how many inodes it has."""
    known = dict(protobuf.fields(protobuf.message(section)))
    last, count = known.get(1), known.get(2)
    if not isinstance(last, int) or not isinstance(count, int):
        raise ValueError("the image does not say which inodes it has")
    return last, count


def _more_inodes(section: bytes, first: int, count: int, files: int, folders: int) -> bytes:
    size, at = protobuf.read_varint(section, 0)
    added = 1 + folders + files
    parts = [_delimited(_field(1, first + added) + _field(2, count + added)), section[at + size :]]
    times = _field(1, _TIME_MS) + _field(2, _NO_QUOTA) + _field(3, _NO_QUOTA)
    directory = _field(5, times + _fixed(4, _OWNERS | _FOLDER_MODE))
    content = _field(1, 1) + _field(2, _TIME_MS) + _field(3, _TIME_MS) + _field(4, _BLOCK_BYTES)
    file = _field(4, content + _fixed(5, _OWNERS | _FILE_MODE))
    folder_head, file_head = _field(1, _DIRECTORY), _field(1, _FILE)
    parts.append(_delimited(folder_head + _field(2, first + 1) + _field(3, FOLDER.encode()) + directory))
    for number in range(folders):
        name = b"folder-%04d" % number
        parts.append(_delimited(folder_head + _field(2, first + 2 + number) + _field(3, name) + directory))
    begin = first + 2 + folders
    for number in range(files):
        name = b"part-r-%07d" % number
        parts.append(_delimited(file_head + _field(2, begin + number) + _field(3, name) + file))
    return b"".join(parts)


def _children(first: int, files: int, folders: int) -> Iterator[bytes]:
    """An entry for each folder that has new children."""
    yield _entry(_ROOT, range(first + 1, first + 2))
    yield _entry(first + 1, range(first + 2, first + 2 + folders))
    begin = first + 2 + folders
    for number in range(folders):
        least = begin + number * _PER_FOLDER
        yield _entry(first + 2 + number, range(least, min(least + _PER_FOLDER, begin + files)))


def _entry(parent: int, children: range) -> bytes:
    return _delimited(_field(1, parent) + _field(2, b"".join(map(protobuf.varint, children))))


def _field(key: int, value: int | bytes) -> bytes:
    return protobuf.number(key, value) if isinstance(value, int) else protobuf.text(key, value)


def _fixed(key: int, value: int) -> bytes:
    return protobuf.varint(key << 3 | 1) + struct.pack("<Q", value)


def _delimited(message: bytes) -> bytes:
    return protobuf.varint(len(message)) + message
