"""Images with more files: what stands in them is read back, and all else is where the summary says."""

from __future__ import annotations

import hashlib
import struct
from pathlib import Path

import pytest

from bench import namespace
from bench.namespace import enlarge, enlarge_file
from fawkes.live.edits import stamps
from fawkes.live.wire import protobuf

IMAGE = Path(__file__).parents[1] / "live" / "data" / "fsimage-3.5.0"


def sections(image: bytes) -> dict[str, bytes]:
    (length,) = struct.unpack(">i", image[-4:])
    by_name = {}
    for key, value in protobuf.fields(protobuf.message(image[-4 - length : -4])):
        if key == 4 and isinstance(value, bytes):
            known = dict(protobuf.fields(value))
            name, size, at = known[1], known[2], known[3]
            assert isinstance(name, bytes)
            assert isinstance(size, int)
            assert isinstance(at, int)
            by_name[name.decode()] = image[at : at + size]
    return by_name


def messages(section: bytes) -> list[dict[int, int | bytes]]:
    """The messages of a section; fields of fixed width stand in inner messages alone."""
    fields_read, at = [], 0
    while at < len(section):
        size, begin = protobuf.read_varint(section, at)
        fields_read.append(dict(protobuf.fields(section[begin : begin + size])))
        at = begin + size
    return fields_read


@pytest.mark.parametrize("files", [0, 1, 1000, 2500])
def test_every_file_has_a_number_and_a_folder_of_its_own(files: int) -> None:
    before, after = IMAGE.read_bytes(), enlarge(IMAGE.read_bytes(), files)
    head, *inodes = messages(sections(after)["INODE"])
    numbers = [inode[2] for inode in inodes]
    assert len(set(numbers)) == len(numbers) == head[2]
    assert max(numbers) == head[1]
    assert sum(inode[1] == 1 for inode in inodes) == files
    children: list[int] = []
    for entry in messages(sections(after)["INODE_DIR"]):
        packed, at = entry.get(2, b""), 0
        assert isinstance(packed, bytes)
        assert entry[1] in numbers
        while at < len(packed):
            number, at = protobuf.read_varint(packed, at)
            children.append(number)
    assert sorted(children) == sorted(n for n in numbers if n != namespace._ROOT)
    assert {k: v for k, v in sections(after).items() if not k.startswith("INODE")} == {
        k: v for k, v in sections(before).items() if not k.startswith("INODE")
    }
    assert stamps.stamps_of(after) == stamps.stamps_of(before)


def test_an_image_grows_again_and_has_its_checksum(tmp_path: Path) -> None:
    path = tmp_path / "fsimage_0000000000000000000"
    path.write_bytes(enlarge(IMAGE.read_bytes(), 5))
    size = enlarge_file(path, 7)
    assert size == path.stat().st_size
    assert messages(sections(path.read_bytes())["INODE"])[0][2] == 1 + 7 + 9
    digest = hashlib.md5(path.read_bytes()).hexdigest()
    assert (tmp_path / "fsimage_0000000000000000000.md5").read_text() == f"{digest} *{path.name}\n"


def test_what_is_no_image_is_refused() -> None:
    with pytest.raises(ValueError, match="not an image"):
        enlarge(b"something else", 1)
