"""HDFS of a bench's MR-cluster, from inside of its lab: fill one DataNode, empty it, have it leave by HDFS alone.

``python -m bench.hdfs fill|clear|leave NAMENODE NODE USER [BYTES]``: addresses of the master and of the DataNode, and
HDFS's superuser. ``leave`` prints when it began and when HDFS let the node go, in milliseconds since the epoch.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator

from bench.lab import until
from fawkes.base.errors import FawkesError
from fawkes.live.hadoop.ports import Ports
from fawkes.live.wire import masters
from fawkes.live.wire.hadoop_rpc import REFRESH_HDFS, call
from fawkes.live.wire.masters import LEFT, MasterAddresses, Storage
from fawkes.live.wire.rest import Deadline
from fawkes.live.wire.webhdfs import Hdfs

OUTPUT = "/out"
#: what is below it may lie on every node that stores data, and is removed without the folder that says so
_FOLDER = f"{OUTPUT}/data"
#: HDFS's own default
_BLOCK_BYTES = 128 << 20
_FILE_BLOCKS = 4
_PIECE = os.urandom(1 << 20)
_LIMIT_S = 1800.0
_ANSWER_S = 10.0
_LOOK_EVERY_S = 0.1


class Bench:
    """One HDFS and one of its DataNodes."""

    def __init__(self, namenode: str, node: str, user: str) -> None:
        self._address = namenode
        self._node = node
        url = f"http://{namenode}:{Ports().namenode_web}"
        self._masters = MasterAddresses(resource_manager="", namenode=url, user=user)

    def fill(self, size: int) -> None:
        """Write files with one replica, all of it on the node; FawkesError when HDFS puts blocks elsewhere."""
        web = self._look().nodes[self._node].web
        hdfs = Hdfs.of(self._masters)
        blocks = max(1, round(size / _BLOCK_BYTES))
        for first in range(0, blocks, _FILE_BLOCKS):
            count = min(_FILE_BLOCKS, blocks - first)
            path = f"{_FOLDER}/{first:05d}"
            hdfs.write(path, ((web, _block()) for _ in range(count)), block_bytes=_BLOCK_BYTES, replication=1)
            hosts = {host for block in hdfs.blocks(path) for host in block.hosts}
            if hosts != {self._node}:
                raise FawkesError(f"HDFS put blocks on {', '.join(sorted(hosts))}, not on {self._node}", where=path)

    def clear(self) -> None:
        """Remove all of it, and wait until no DataNode has a block of it."""
        Hdfs.of(self._masters).delete(_FOLDER)
        what = "the DataNodes to remove their blocks"
        until(what, lambda: (self._look().used_bytes or 0) < _BLOCK_BYTES, limit_s=_LIMIT_S, every_s=_LOOK_EVERY_S)

    def leave(self) -> None:
        """HDFS reads its exclude file, which names the node; then it is waited until HDFS has let the node go."""
        _stamp("began")
        call(self._address, Ports().namenode, REFRESH_HDFS, self._masters.user, Deadline.after(_ANSWER_S))
        what = "HDFS to let the node go"
        until(what, lambda: self._look().nodes[self._node].state == LEFT, limit_s=_LIMIT_S, every_s=_LOOK_EVERY_S)
        _stamp("left")

    def _look(self) -> Storage:
        return masters.storage(self._masters, Deadline.after(_ANSWER_S))


def _block() -> Iterator[bytes]:
    for _ in range(_BLOCK_BYTES // len(_PIECE)):
        yield _PIECE


def _stamp(name: str) -> None:
    print(name, time.time_ns() // 1_000_000, flush=True)


def main(words: list[str]) -> int:
    """Exit 0, or 1 with the reason on standard error."""
    what, namenode, node, user, *size = words
    bench = Bench(namenode, node, user)
    try:
        if what == "fill":
            bench.fill(int(size[0]))
        elif what == "clear":
            bench.clear()
        else:
            bench.leave()
    except FawkesError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
