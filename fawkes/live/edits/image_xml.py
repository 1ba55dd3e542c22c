"""A NameNode's image as ``hdfs oiv -p XML`` prints it, read while it comes: an image of millions of files is long."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from xml.parsers import expat

from fawkes.base.errors import FawkesError
from fawkes.core.nodes.salvage import BlockStamp, StoredFile

_MANGLED = re.compile(r"\\([0-9a-f]+);")
_FILE, _FOLDER = "FILE", "DIRECTORY"
_CODED = "STRIPED"
#: elements whose text counts, by the path below the section
_TEXTS = frozenset(
    {
        "NameSection/txid",
        "INodeSection/numInodes",
        "INodeSection/inode/id",
        "INodeSection/inode/type",
        "INodeSection/inode/name",
        "INodeSection/inode/blockType",
        "INodeSection/inode/blocks/block/id",
        "INodeSection/inode/blocks/block/genstamp",
        "INodeSection/inode/blocks/block/numBytes",
        "INodeDirectorySection/directory/parent",
        "INodeDirectorySection/directory/child",
    }
)


class ImageError(FawkesError):
    """Bytes that are not a whole image in XML, or has a form that is not known."""


@dataclass(frozen=True, slots=True)
class ImageSummary:
    """The contents of an image: its last transaction, and how many files and folders."""

    transaction: int
    inodes: int


class ImageReader:
    """Takes the XML, packed by gzip, in pieces. ``on_file`` gets each file, and says whether its path is wanted.

    `write` never fails, so that whoever pours bytes in need not care; `end` tells what was wrong.
    """

    def __init__(self, on_file: Callable[[StoredFile], bool]) -> None:
        self._on_file = on_file
        self._unpack = zlib.decompressobj(wbits=31)
        self._parser = expat.ParserCreate()
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._stop
        self._parser.CharacterDataHandler = self._text
        self._path: list[str] = []
        self._place = ""
        self._said: list[str] = []
        self._problem = ""
        self._values: dict[str, str] = {}
        self._block: dict[str, str] = {}
        self._blocks: list[BlockStamp] = []
        self._open = False
        self._parent = 0
        self._inodes = 0
        self._counted: int | None = None
        self._transaction: int | None = None
        self._names: dict[int, str] = {}
        self._parents: dict[int, int] = {}

    def write(self, data: bytes) -> int:
        """Take the next bytes."""
        if not self._problem:
            try:
                self._parser.Parse(self._unpack.decompress(data), False)
            except (expat.ExpatError, zlib.error, ValueError, KeyError) as error:
                self._problem = f"{type(error).__name__}: {error}"
        return len(data)

    def end(self) -> ImageSummary:
        """The contents of the image; ImageError when not all of it came, or it could not be read."""
        if not self._problem:
            try:
                self._parser.Parse(self._unpack.flush(), True)
            except (expat.ExpatError, zlib.error, ValueError, KeyError) as error:
                self._problem = f"{type(error).__name__}: {error}"
        if not self._problem and not self._unpack.eof:
            self._problem = "it ends too early"
        if not self._problem and (self._transaction is None or self._counted != self._inodes):
            self._problem = f"it has {self._inodes} files and folders, and says that it has {self._counted}"
        if self._problem or self._transaction is None:
            raise ImageError(f"the image of the NameNode cannot be read ({self._problem})")
        return ImageSummary(self._transaction, self._inodes)

    def paths(self) -> Mapping[int, str]:
        """The path of each file that was wanted; one that only a snapshot has is shown with its name alone."""
        return {inode: self._path_of(inode) for inode in self._names if inode >= 0}

    def _path_of(self, inode: int) -> str:
        names, at = [self._names[inode]], inode
        while at in self._parents:
            at = self._parents[at]
            names.append(self._names.get(-at, ""))
        return "/".join(reversed(names)) if len(names) > 1 else f"{names[0]} (in a snapshot)"

    def _start(self, name: str, _attributes: object) -> None:
        self._path.append(name)
        self._place = "/".join(self._path[1:])
        self._said.clear()
        if self._place == "INodeSection/inode":
            self._values, self._blocks, self._open = {}, [], False
        elif self._place == "INodeSection/inode/blocks/block":
            self._block = {}
        elif self._place == "INodeSection/inode/file-under-construction":
            self._open = True

    def _text(self, text: str) -> None:
        if self._place in _TEXTS:
            self._said.append(text)

    def _stop(self, name: str) -> None:
        place, text = self._place, "".join(self._said)
        self._path.pop()
        self._place = "/".join(self._path[1:])
        self._said.clear()
        if place == "INodeSection/inode":
            self._inode()
        elif place == "INodeSection/inode/blocks/block":
            block = self._block
            self._blocks.append(BlockStamp(int(block["id"]), int(block["genstamp"]), int(block["numBytes"])))
        elif place not in _TEXTS:
            return
        elif place.startswith("INodeSection/inode/blocks/"):
            self._block[name] = text
        elif place.startswith("INodeSection/inode/"):
            self._values[name] = text
        elif place == "INodeSection/numInodes":
            self._counted = int(text)
        elif place == "NameSection/txid":
            self._transaction = int(text)
        elif name == "parent":
            self._parent = int(text)
        else:
            self._child(int(text))

    def _inode(self) -> None:
        self._inodes += 1
        values = self._values
        inode, name = int(values["id"]), _plain(values.get("name", ""))
        if values["type"] == _FOLDER:
            # Folders by their negative number: only files are asked for.
            self._names[-inode] = name
        elif values["type"] == _FILE:
            coded = values.get("blockType", "") == _CODED
            if self._on_file(StoredFile(inode, tuple(self._blocks), self._open, coded)):
                self._names[inode] = name

    def _child(self, inode: int) -> None:
        if inode in self._names or -inode in self._names:
            self._parents[inode] = self._parent


def _plain(name: str) -> str:
    """A name as it is: oiv writes what XML cannot have as a number between a backslash and a semicolon."""
    return _MANGLED.sub(lambda match: chr(int(match[1], 16)), name)
