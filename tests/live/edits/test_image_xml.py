"""The image of a NameNode as XML: in pieces of any length, cut short, damaged, and with names that XML cannot have."""

from __future__ import annotations

import gzip
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fawkes.core.nodes.salvage import BlockStamp, StoredFile
from fawkes.live.edits.image_xml import ImageError, ImageReader, ImageSummary


def inode(number: int, kind: str, name: str, rest: str = "") -> str:
    return f"<inode><id>{number}</id><type>{kind}</type><name>{name}</name>{rest}</inode>\n"


def block(number: int, stamp: int, size: int) -> str:
    return f"<block><id>{number}</id><genstamp>{stamp}</genstamp><numBytes>{size}</numBytes></block>\n"


XATTR = "<xattrs><xattr><ns>USER</ns><name>id</name><val>FILE</val></xattr></xattrs>"
INODES = [
    inode(16385, "DIRECTORY", ""),
    inode(16386, "DIRECTORY", "data"),
    inode(
        16387, "FILE", "whole", f"<replication>2</replication><blocks>{block(1, 11, 100)}{block(2, 12, 50)}</blocks>"
    ),
    inode(16388, "FILE", "amp &amp; &lt;angle&gt; é \\5c;n\\1;", XATTR),
    inode(
        16389,
        "FILE",
        "open",
        f"<blocks>{block(3, 13, 0)}</blocks>"
        "<file-under-construction><clientName>c</clientName></file-under-construction>",
    ),
    inode(16390, "FILE", "coded", f"<blockType>STRIPED</blockType><blocks>{block(-16, 14, 9)}</blocks>"),
    inode(16391, "SYMLINK", "link", "<target>/x</target>"),
    inode(16392, "FILE", "gone", f"<blocks>{block(4, 15, 1)}</blocks>"),
]
FOLDERS = (
    "<directory><parent>16385</parent><child>16386</child><child>16389</child></directory>\n"
    "<directory><parent>16386</parent><child>16387</child><child>16388</child><child>16390</child>"
    "<refChild>0</refChild></directory>\n"
)


def image(inodes: Iterable[str] = INODES, *, count: int = len(INODES), txid: str = "<txid>55</txid>") -> str:
    return (
        '<?xml version="1.0"?>\n<fsimage><version><layoutVersion>-67</layoutVersion></version>\n'
        f"<NameSection><namespaceId>1</namespaceId>{txid}</NameSection>\n"
        f"<INodeSection><lastInodeId>16392</lastInodeId><numInodes>{count}</numInodes>{''.join(inodes)}</INodeSection>\n"
        f"<SnapshotSection><snapshotCounter>1</snapshotCounter></SnapshotSection>\n"
        f"<INodeDirectorySection>{FOLDERS}</INodeDirectorySection>\n"
        "<FileUnderConstructionSection><inode><id>16389</id><path>/open</path></inode></FileUnderConstructionSection>\n"
        "<SnapshotDiffSection><diff><inodeid>16386</inodeid><dirdiff><name>data</name>"
        "<deleted><inode>16392</inode></deleted></dirdiff></diff></SnapshotDiffSection>\n</fsimage>\n"
    )


def read(data: bytes, size: int = 1 << 16) -> tuple[ImageSummary, list[StoredFile], ImageReader]:
    files: list[StoredFile] = []

    def on_file(file: StoredFile) -> bool:
        files.append(file)
        return True

    reader = ImageReader(on_file)
    for at in range(0, len(data), size):
        assert reader.write(data[at : at + size]) == len(data[at : at + size])
    return reader.end(), files, reader


@pytest.mark.parametrize("size", [1, 7, 1 << 16])
def test_files_blocks_and_paths_are_read(size: int) -> None:
    summary, files, reader = read(gzip.compress(image().encode()), size)
    assert summary == ImageSummary(55, 8)
    assert files == [
        StoredFile(16387, (BlockStamp(1, 11, 100), BlockStamp(2, 12, 50))),
        StoredFile(16388, ()),
        StoredFile(16389, (BlockStamp(3, 13, 0),), is_open=True),
        StoredFile(16390, (BlockStamp(-16, 14, 9),), is_coded=True),
        StoredFile(16392, (BlockStamp(4, 15, 1),)),
    ]
    assert reader.paths() == {
        16387: "/data/whole",
        16388: "/data/amp & <angle> é \\n\x01",
        16389: "/open",
        16390: "/data/coded",
        16392: "gone (in a snapshot)",
    }


def test_only_paths_that_are_wanted_are_kept() -> None:
    reader = ImageReader(lambda file: file.inode == 16389)
    reader.write(gzip.compress(image().encode()))
    reader.end()
    assert reader.paths() == {16389: "/open"}


@given(cut=st.integers(0, len(gzip.compress(image().encode(), mtime=0)) - 1))
def test_an_image_that_was_cut_short_is_never_read_as_a_whole_one(cut: int) -> None:
    with pytest.raises(ImageError, match="the image of the NameNode cannot be read"):
        read(gzip.compress(image().encode(), mtime=0)[:cut])


@pytest.mark.parametrize(
    "text",
    [
        image(count=9),
        image(INODES[:-1]),
        image(txid=""),
        image().replace("<id>16387</id>", "<id>x</id>"),
        image().replace("<id>16387</id>", ""),
        image().replace("</fsimage>", ""),
        "Encountered exception. Exiting: Unrecognized FSImage",
    ],
)
def test_an_image_of_another_form_is_an_error(text: str) -> None:
    with pytest.raises(ImageError):
        read(gzip.compress(text.encode()))


def test_what_is_not_packed_is_an_error() -> None:
    with pytest.raises(ImageError):
        read(image().encode())
