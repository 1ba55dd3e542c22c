"""Input sets of an MR-cluster: from persistent storage into its HDFS, evenly over all core nodes, and verified.

A load that was cut short is run again: what is there already, with the size and the time of its source, was verified
before it got its name, and stays. The controller copies what `live.sources` reads; an ``hdfs://`` source is copied by
the MR-cluster itself (`live.copies`).
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from time import sleep

from fawkes.base.errors import FawkesError, UserError
from fawkes.base.units import SECOND_US, show_bytes
from fawkes.core.nodes.spread import skew_of, uneven
from fawkes.core.watching.fit import stored_bytes
from fawkes.live.base import limits
from fawkes.live.data.sources import InputSource, SourceFile, files_below, fingerprint
from fawkes.live.wire.crc import ChecksumKind, HdfsDigest
from fawkes.live.wire.masters import MasterAddresses, Volumes, storage, volumes
from fawkes.live.wire.rest import Deadline
from fawkes.live.wire.webhdfs import ANYWHERE, CORE_ONLY, Block, Hdfs, HdfsFailedError

ARCHIVE = "ARCHIVE"

#: the name of the note on an input set: the fingerprint of what was loaded
LOADED = "loaded"
#: noted in the place of the files that were loaded, until they are
UNFINISHED = "unfinished"

_LOADING = "_fawkes_loading"


class StoppedError(FawkesError):
    """The work was stopped on request; run again, it goes on."""


#: what jobs of users write to besides outputs: staging, and what Hadoop's own commands take for a scratch folder
_SHARED = ("/staging", "/tmp")  # noqa: S108 - in HDFS
_HISTORY = "/history"


def lay_out(masters: MasterAddresses, outputs: Iterable[str], needed: Iterable[str] = ()) -> None:
    """Say where data may lie, before there is any: everything on core nodes, but the output folders anywhere.

    Moving a file into a folder moves none of its blocks, so what jobs write below an output folder must be written
    there. ``needed`` are folders that programs do not make themselves. FawkesError when no core node has an ARCHIVE
    volume: then nothing could be written at all.
    """
    hdfs = Hdfs.of(masters)
    _volumes_of(masters, ARCHIVE)
    hdfs.set_policy("/", CORE_ONLY)
    for path in needed:
        hdfs.mkdir(path)
    for path in outputs:
        hdfs.mkdir(path)
        hdfs.set_policy(path, ANYWHERE)


def let_in(masters: MasterAddresses, users: Iterable[str], outputs: Iterable[str]) -> None:
    """Make room for users who are not the superuser: a home for each, and folders that all of them may write to."""
    hdfs = Hdfs.of(masters)
    for path in (*_SHARED, *outputs):
        hdfs.mkdir(path)
        hdfs.set_permission(path, "1777")
    # Histories of jobs lie below it, each in a folder of its user.
    hdfs.mkdir(_HISTORY)
    hdfs.set_permission(_HISTORY, "755")
    for user in users:
        hdfs.mkdir(f"/user/{user}")
        hdfs.set_owner(f"/user/{user}", user)


def mark_active(masters: MasterAddresses) -> int:
    """Keep in HDFS what it holds at the end of loading; the bytes. What comes later is output (`live.measure`)."""
    used = storage(masters, Deadline.after(limits.HDFS_S)).used_bytes
    if used is None:
        raise FawkesError("the NameNode does not report the capacity of HDFS", where=masters.namenode)
    Hdfs.of(masters).set_mark(used)
    return used


def _volumes_of(masters: MasterAddresses, storage_type: str) -> Volumes:
    known = volumes(masters, Deadline.after(limits.HDFS_S)).get(storage_type)
    if known is None:
        raise FawkesError(
            f"no DataNode has a volume of type {storage_type}",
            where=masters.namenode,
            hint="Core nodes need one for the data that must not leave them",
        )
    return known


@dataclass(frozen=True, slots=True)
class LoadedSet:
    """An input set that is in HDFS, every byte of it verified.

    ``kept`` files of ``files`` were there before, ``extra`` ones are in the target and not in the source.
    ``node_bytes`` is what each core node holds of the set, replicas included, ``skew`` the largest of them over their
    mean (1 is even); ``thin`` blocks have fewer replicas than asked for. ``uneven`` says what is wrong with the
    spread, or is empty.
    """

    files: int
    kept: int
    extra: int
    size: int
    skew: float
    node_bytes: Mapping[str, int]
    thin: int
    uneven: str = ""


@dataclass(frozen=True, kw_only=True)
class LoadRun:
    """The order to load one input set; ``core`` are the nodes that it is spread over.

    ``progress`` is told of bytes as they are written; as soon as ``stop`` says so the work ends between two pieces
    (StoppedError). Replicas after the first are reported by their DataNodes with the next heartbeat: those that are not
    after ``replicas_us`` count as missing.
    """

    masters: MasterAddresses
    core: Collection[str]
    target: str
    block_bytes: int
    replication: int
    storage_type: str = ARCHIVE
    writers: int = 4
    replicas_us: int = 10_000_000
    progress: Callable[[int], None] = lambda size: None
    stop: Callable[[], bool] = lambda: False

    def run(self, source: InputSource) -> LoadedSet:
        """Load it; FawkesError says which file could not be, and nothing has a final name that is not whole.

        A file in the target with another size or time than its source is replaced: it is of an earlier try.
        """
        hdfs = Hdfs.of(self.masters)
        files = source.files()
        self.check(0)
        if not files:
            raise _empty(self.target)
        self.begin()
        hidden = f"{self.target}/{_LOADING}/"
        there = {
            file.path: (file.size, file.changed_ms)
            for file in hdfs.below(self.target)
            if not file.folder and not file.path.startswith(hidden)
        }
        todo = [file for file in files if there.get(self._path(file)) != (file.size, file.changed_ms)]
        self._check_room(sum(file.size for file in todo))
        if todo:
            self._copy_all(_Copy(self, hdfs, source, _Spread(self._web_servers())), todo)
        hdfs.delete(f"{self.target}/{_LOADING}")
        hdfs.set_note(self.target, LOADED, fingerprint(files))
        extra = len(there.keys() - {self._path(file) for file in files})
        return self._loaded(hdfs, files, kept=len(files) - len(todo), extra=extra)

    def begin(self) -> None:
        """Make the target, and note there that it holds a part of a copy: nobody's data until it is loaded."""
        hdfs = Hdfs.of(self.masters)
        hdfs.mkdir(self.target)
        hdfs.set_note(self.target, LOADED, UNFINISHED)

    def look(self) -> LoadedSet:
        """The input set that the MR-cluster copied itself, as it is; UserError when there is no file in it."""
        hdfs = Hdfs.of(self.masters)
        files = list(files_below(hdfs, self.target))
        if not files:
            raise _empty(self.target)
        hdfs.set_note(self.target, LOADED, fingerprint(files))
        return self._loaded(hdfs, files, kept=0, extra=0)

    def check(self, size: int) -> None:
        """Work between two pieces: tell of the progress, and stop when somebody asks for it."""
        if self.stop():
            raise StoppedError("the load was stopped", where=self.target)
        self.progress(size)

    def _path(self, file: SourceFile) -> str:
        return f"{self.target}/{file.name}"

    def _check_room(self, size: int) -> None:
        """COLD has no fallback: without room on ARCHIVE volumes a write would fail in the middle."""
        free = _volumes_of(self.masters, self.storage_type)
        need = stored_bytes(size, self.replication)
        if need > free.free_bytes:
            raise FawkesError(
                f"the data needs {show_bytes(need)} ({self.replication} replicas), but only "
                f"{show_bytes(free.free_bytes)} on {self.storage_type} volumes of the core nodes are free",
                where=self.target,
                hint="Give the MR-cluster more core nodes (min_nodes) or fewer replicas",
            )
        # At most one replica of a block lies on a node. ``free_bytes`` is of all its volumes: never too little.
        each, copies = stored_bytes(size, 1), min(self.replication, len(self.core))
        nodes = storage(self.masters, Deadline.after(limits.HDFS_S)).nodes
        known = {name: nodes[name].free_bytes for name in sorted(self.core) if name in nodes and nodes[name].alive}
        short = {name: free for name, free in known.items() if free is not None and free < each}
        if sum(each - free for free in short.values()) > (len(self.core) - copies) * each:
            full = ", ".join(f"{name} with {show_bytes(free)}" for name, free in short.items())
            raise FawkesError(
                f"each of {copies} replicas needs another node with {show_bytes(each)} free, but there is {full}",
                where=self.target,
                hint="Free disk space there, or give the MR-cluster more core nodes (min_nodes) or fewer replicas",
            )

    def _web_servers(self) -> list[str]:
        nodes = storage(self.masters, Deadline.after(limits.HDFS_S)).nodes
        servers = [nodes[name].web for name in sorted(self.core) if name in nodes and nodes[name].alive]
        if not servers:
            raise FawkesError("no core node has a DataNode in service", where=self.masters.namenode)
        return servers

    def _copy_all(self, copy: _Copy, todo: list[SourceFile]) -> None:
        with ThreadPoolExecutor(max_workers=self.writers, thread_name_prefix="load") as pool:
            futures = [pool.submit(copy.run, file) for file in sorted(todo, key=lambda file: -file.size)]
            done, waiting = wait(futures, return_when=FIRST_EXCEPTION)
            failed = [error for future in done if (error := future.exception()) is not None]
            if failed:
                copy.halt.set()
                for future in waiting:
                    future.cancel()
        if failed:
            raise failed[0]

    def _loaded(self, hdfs: Hdfs, files: list[SourceFile], *, kept: int, extra: int) -> LoadedSet:
        """The places of the blocks, after a wait for the replicas that are still on their way."""
        want = min(self.replication, len(self.core))
        patience = Deadline.after(self.replicas_us / SECOND_US)
        with ThreadPoolExecutor(max_workers=self.writers, thread_name_prefix="spread") as pool:
            places = dict(zip(files, pool.map(lambda file: hdfs.blocks(self._path(file)), files), strict=True))
            while (late := [f for f, blocks in places.items() if _thin(blocks, want)]) and patience.left() > 0:
                self.check(0)
                sleep(limits.REPLICAS_EVERY_S)
                places |= zip(late, pool.map(lambda file: hdfs.blocks(self._path(file)), late), strict=True)
        held: Counter[str] = Counter(dict.fromkeys(self.core, 0))
        for blocks in places.values():
            for block in blocks:
                held.update({self.masters.name(host): block.size for host in block.hosts})
        return LoadedSet(
            files=len(files),
            kept=kept,
            extra=extra,
            size=sum(file.size for file in files),
            skew=skew_of(held, self.core),
            node_bytes=dict(sorted(held.items())),
            thin=sum(_thin(blocks, want) for blocks in places.values()),
            uneven=uneven(held, self.core, self.block_bytes),
        )


def _empty(target: str) -> UserError:
    return UserError("the input set has no file", where=target, hint="Put the input there first")


def _thin(blocks: list[Block], want: int) -> int:
    return sum(len(block.hosts) < want for block in blocks)


class _Spread:
    """The DataNode that takes the next block: the one that was given least so far."""

    def __init__(self, web_servers: Collection[str]) -> None:
        self._given = dict.fromkeys(sorted(web_servers), 0)
        self._lock = threading.Lock()

    def take(self, size: int) -> str:
        """The DataNode for a block of this size."""
        with self._lock:
            node = min(self._given, key=self._given.__getitem__)
            self._given[node] += size
            return node

    def avoid(self, node: str) -> bool:
        """Give a DataNode nothing more; false when it is the last one, and when nothing was sent to one yet."""
        with self._lock:
            if not node or self._given.keys() == {node}:
                return False
            self._given.pop(node, None)
            return bool(self._given)


@dataclass(eq=False)
class _Copy:
    """Copies files of one input set; each gets its name when it is whole and verified."""

    load: LoadRun
    hdfs: Hdfs
    source: InputSource
    spread: _Spread
    halt: threading.Event = field(default_factory=threading.Event)

    def run(self, file: SourceFile) -> None:
        """Copy one file; a DataNode that does not answer is avoided from then on, as long as there is another one."""
        while True:
            # Its nodes may be somebody else's by now, whose NameNode would take what a try begins with.
            self.check(0)
            stream = _Stream(self, file)
            try:
                return self._once(file, stream)
            except HdfsFailedError as error:
                if not error.unreachable or not self.spread.avoid(stream.node):
                    raise

    def _once(self, file: SourceFile, stream: _Stream) -> None:
        load, hdfs = self.load, self.hdfs
        temporary = f"{load.target}/{_LOADING}/{file.name}"
        hdfs.write(temporary, stream.blocks(), block_bytes=load.block_bytes, replication=load.replication)
        if not stream.ended():
            raise FawkesError(
                "changed while it was loaded", where=file.name, hint="Load it again when nothing writes to it"
            )
        if not hdfs.holds(temporary, stream.digest.hexdigest(), stream.kind):
            raise FawkesError("HDFS does not hold what was written", where=f"{hdfs.url} {temporary}")
        hdfs.set_time(temporary, file.changed_ms)
        path = f"{load.target}/{file.name}"
        hdfs.mkdir(path.rsplit("/", 1)[0])
        hdfs.rename(temporary, path)

    def check(self, size: int) -> None:
        """Work between two pieces: tell of the progress, and stop when somebody asks for it."""
        if self.halt.is_set():
            raise StoppedError("the load was stopped", where=self.load.target)
        self.load.check(size)


class _Stream:
    """The bytes of one file on their way, cut into blocks; their digest; the DataNode that has the present block."""

    def __init__(self, copy: _Copy, file: SourceFile) -> None:
        self.kind = ChecksumKind(copy.load.block_bytes)
        self.digest = HdfsDigest(self.kind)
        self._pieces = copy.source.read(file)
        self._sent = 0
        self.node = ""
        self._copy = copy
        self._file = file
        self._rest = b""

    def blocks(self) -> Iterator[tuple[str, Iterator[bytes]]]:
        """The blocks that the file's size asks for, at least one, each with its DataNode."""
        left = self._file.size
        while True:
            size = min(left, self._copy.load.block_bytes)
            self.node = self._copy.spread.take(size)
            yield self.node, self._block(size)
            left -= size
            if left <= 0:
                return

    def ended(self) -> bool:
        """True if the file had as many bytes as it should have, and no more."""
        return self._sent == self._file.size and not self._rest and not next(self._pieces, b"")

    def _block(self, size: int) -> Iterator[bytes]:
        while size:
            piece = self._rest or next(self._pieces, b"")
            if not piece:
                return
            piece, self._rest = piece[:size], piece[size:]
            size -= len(piece)
            self._sent += len(piece)
            self.digest.update(piece)
            self._copy.check(len(piece))
            yield piece
