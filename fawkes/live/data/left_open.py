"""Files of HDFS that are open for writing: who holds them, and how those whose writers are gone are closed.

By itself HDFS waits 20 minutes for a writer that is silent. Until then no checksum of such a file can be had, and the
node of a block of it cannot leave the MR-cluster. A writer that is alive keeps what HDFS has acknowledged, but cannot
write on once its file was closed for it.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from fawkes.base.errors import FawkesError
from fawkes.live.hadoop.orders import AddressedOrder, tell
from fawkes.live.hadoop.setup import Setup
from fawkes.live.nodes.clusters import LiveCluster
from fawkes.live.nodes.ground import Ground
from fawkes.live.wire import protobuf
from fawkes.live.wire.hadoop_rpc import CLOSER, RpcError

_log = logging.getLogger(__name__)
#: a folder or file of a job, and the client of a task, has the number of its application
_NUMBERS = re.compile(r"(?:job|attempt)_(\d+_\d{4,})(?!\d)")
#: who holds a file that HDFS has begun to close, by itself or for us
_CLOSERS = ("HDFS_NameNode", CLOSER)


@dataclass(frozen=True, slots=True)
class OpenFile:
    """A file that is open for writing: the client that holds it, as HDFS calls it, and the address of its host.

    A file that is written by WebHDFS is held by the DataNode that takes its bytes.
    """

    path: str
    client: str
    host: str

    @property
    def writer(self) -> str:
        """The client; empty once HDFS has begun to close the file."""
        return "" if self.client.startswith(_CLOSERS) else self.client


def of_ended(opened: Iterable[OpenFile], ended: Collection[str]) -> list[OpenFile]:
    """The open files of the ``ended`` applications: by the client of a task, else by the numbers in the path.

    A path with the number of another application as well may be that one's.
    """
    gone = {name.removeprefix("application_") for name in ended}
    numbered = ((file, set(_NUMBERS.findall(file.client)) or set(_NUMBERS.findall(file.path))) for file in opened)
    return [file for file, numbers in numbered if numbers and numbers <= gone]


class LeftOpen:
    """The open files of an MR-cluster, by orders to its NameNode."""

    def __init__(self, ground: Ground, setup: Setup, cluster: LiveCluster) -> None:
        self._ground = ground
        self._setup = setup
        self._cluster = cluster

    def below(self, folder: str) -> list[OpenFile]:
        """Those at or below a folder; RpcError or TicketError when the NameNode does not list them."""
        files, after = [], 0
        while True:
            answer = self._tell(self._setup.open_files_order(self._cluster, folder, after))
            try:
                page, last, more = _page(answer)
            except ValueError as error:
                raise RpcError(f"listOpenFiles was answered by something else: {error}") from error
            files += page
            if not more:
                return files
            if last <= after:
                raise RpcError("the list of open files does not end")
            after = last

    def close(self, files: Iterable[OpenFile]) -> dict[str, str]:
        """Have HDFS begin to close each file; why not, by the path of those that it does not close."""
        refused = {}
        for file in files:
            try:
                self._tell(self._setup.close_order(self._cluster, file.path))
            except FawkesError as error:
                refused[file.path] = error.what
        return refused

    def _tell(self, order: AddressedOrder) -> bytes:
        return tell(self._ground, self._cluster, self._cluster.master, order)

    def close_ended(self, ended: Collection[str]) -> list[str]:
        """Close what the ``ended`` applications have left open; the paths that HDFS has begun to close.

        What fails is left to HDFS.
        """
        if not ended:
            return []
        try:
            files = of_ended(self.below("/"), ended)
        except FawkesError as error:
            _log.warning("%s: what ended applications left open is not known: %s", self._cluster.id, error)
            return []
        refused = self.close(files)
        for path, why in refused.items():
            _log.warning("%s: %s stays open until HDFS closes it: %s", self._cluster.id, path, why)
        return [file.path for file in files if file.path not in refused]


def _page(answer: bytes) -> tuple[list[OpenFile], int, bool]:
    """The files of a page, the number of the last one, and whether more follow; ValueError when it is no page."""
    files, last, more = [], 0, None
    for field, value in protobuf.fields(answer):
        if field == 1 and isinstance(value, bytes):
            row = dict(protobuf.fields(value))
            last = _number(row.get(1))
            files.append(OpenFile(*_texts(row)))
        elif field == 2:
            more = bool(value)
    if more is None:
        raise ValueError("it does not say whether more files follow")
    return files, last, more


def _texts(row: dict[int, int | bytes]) -> Iterator[str]:
    """Path, client and host of a row."""
    for field in (2, 3, 4):
        value = row.get(field)
        if not isinstance(value, bytes):
            raise ValueError("a file has no name")
        yield value.decode(errors="replace")


def _number(value: int | bytes | None) -> int:
    if not isinstance(value, int):
        raise ValueError("a file has no number")
    return value
