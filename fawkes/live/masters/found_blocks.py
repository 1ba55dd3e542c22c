"""The blocks that nodes have on their disks, as `playbooks/restoring.py` lists them, without asking any DataNode."""

from __future__ import annotations

import zlib

from fawkes.base.errors import HostError
from fawkes.core.nodes.salvage import Block, Replicas
from fawkes.core.values.model import NodeId


class BlockList:
    """Takes the list of one node, packed by gzip, in pieces. `write` never fails; `end` tells what was wrong."""

    def __init__(self, node: NodeId) -> None:
        self._node = node
        self._unpack = zlib.decompressobj(wbits=31)
        self._rest = b""
        self._whole: set[Block] = set()
        self._begun: set[int] = set()
        self._pools: set[str] = set()
        self._complete = False
        self._problem = ""

    def write(self, data: bytes) -> int:
        """Take the next bytes."""
        if not self._problem:
            try:
                *lines, self._rest = (self._rest + self._unpack.decompress(data)).split(b"\n")
                for line in lines:
                    self._line(line.decode().split())
            except (zlib.error, ValueError, IndexError) as error:
                self._problem = f"{type(error).__name__}: {error}"
        return len(data)

    def end(self) -> tuple[Replicas, frozenset[str]]:
        """The replicas, and the block pools that the node has; HostError when the list is not whole."""
        if not self._problem and not (self._complete and self._unpack.eof):
            self._problem = "the list ends too early, or a folder could not be read"
        if self._problem:
            raise HostError(f"its blocks could not be listed ({self._problem})", host=self._node)
        return Replicas(self._whole, self._begun), frozenset(self._pools)

    def _line(self, words: list[str]) -> None:
        match words:
            case ["F", number, stamp, size]:
                self._whole.add(Block(int(number), int(stamp), int(size)))
            case ["B", number]:
                self._begun.add(int(number))
            case ["P", pool]:
                self._pools.add(pool)
            case ["E"]:
                self._complete = True
            case _:
                raise ValueError(f"a line of an unknown form: {' '.join(words)!r}")
