"""Blocks on nodes, by HDFS: the report of ``hdfs fsck``, which the NameNode gives over HTTP.

No JVM is needed. What a report proves is not said here: `core.proof` looks at each block.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Set
from dataclasses import dataclass

from fawkes.core.values.model import NodeId
from fawkes.core.values.proof import BlockSeen, cells_of, reports, with_counts
from fawkes.core.values.sight import Blocks
from fawkes.live.wire.masters import MasterAddresses, Storage, StorageNode
from fawkes.live.wire.rest import Deadline, UnreadableError, get_lines

# A name may have a line break in it: then its first part is the line before.
_FILE = re.compile(
    r"(.*) \d+ bytes, (?:replicated: replication=(\d+)|erasure-coded: policy=(\S+)), (\d+) block\(s\)(.*)"
)
_BLOCK = re.compile(r"(\d+)\. \S+:blk_-?\d+_\d+ len=(\d+)")
_REPLICA = re.compile(r"DatanodeInfoWithStorage\[([^][,]+),[^]]*\]\(([A-Z_ ]+)\)")
_ANY_REPLICA = "DatanodeInfoWithStorage["
_OPEN = "OPENFORWRITE"
_BEING_WRITTEN = "Under Construction Block:"
_MISSING = " MISSING!"
_WHOLE = (
    "The filesystem under path '{}' is HEALTHY",
    "The filesystem under path '{}' is CORRUPT",
    "Path '{}' does not exist",
)


@dataclass(slots=True)
class _File:
    """A file of a report: ``seen`` of its ``count`` blocks have come."""

    name: str
    is_open: bool
    count: int
    replication: int
    policy: str
    seen: int = 0

    @classmethod
    def of(cls, line: re.Match[str]) -> _File:
        """The file that a line of the report announces."""
        name, replication, policy, count, state = line.groups()
        return cls(name, _OPEN in state, int(count), int(replication or 0), policy or "")

    def ends_open(self) -> None:
        """Its last block comes next and is being written: Hadoop counts it only if the NameNode knows bytes of it."""
        if self.is_open and self.seen == self.count:
            self.count += 1

    def block(self, number: int, length: int, replicas: tuple[tuple[str, str], ...]) -> BlockSeen | None:
        """One of its blocks; None where it has no more of them, one was passed over, or its policy is not known."""
        # One replica of what is being written is enough to go on from, one cell of a group is not.
        is_open = self.is_open and not self.policy
        wanted = cells_of(self.policy, None if self.is_open else length) if self.policy else self.replication
        due = number == self.seen < self.count
        self.seen += 1
        return BlockSeen(self.name, is_open, wanted, replicas, bool(self.policy)) if wanted and due else None


def counts(hdfs: Storage, node: NodeId) -> Blocks:
    """The NameNode's own figures about a node, without a report: nothing is proven by them."""
    seen = hdfs.nodes.get(node, StorageNode("", ""))
    staying = [name for name in hdfs.in_service() if name != node]
    free = [size for name in staying if (size := hdfs.nodes[name].free_bytes) is not None]
    return Blocks(
        listed=seen.blocks,
        too_few=seen.too_few,
        only_here=seen.only_here,
        open_blocks=seen.in_open_files,
        stored_bytes=seen.used_bytes,
        staying=len(staying),
        free_bytes=sum(free) if len(free) == len(staying) else None,
    )


def report(
    masters: MasterAddresses,
    hdfs: Storage,
    nodes: Collection[NodeId],
    sound: Set[str],
    asked_us: int,
    deadline: Deadline,
) -> Mapping[NodeId, Blocks]:
    """A report on every block of HDFS, for each of ``nodes``; why there is none where it cannot be had.

    ``asked_us`` is the time at which ``hdfs`` was asked for, ``sound`` the addresses whose replicas count.
    """
    by_node: dict[NodeId, Blocks] = {}
    try:
        if hdfs.safe_mode != "":
            why = "it is not known whether HDFS is in safe mode" if hdfs.safe_mode is None else "HDFS is in safe mode"
            raise UnreadableError(masters.namenode, f"{why}: {hdfs.safe_mode}" if hdfs.safe_mode else why)
        # One that the NameNode does not list has no address by which a block could name it.
        addresses = {node: hdfs.nodes[node].address if node in hdfs.nodes else f"unlisted {node}" for node in nodes}
        by_address = reports(blocks_below(masters, "/", deadline), list(addresses.values()), sound, asked_us)
        by_node = {node: by_address[address] for node, address in addresses.items()}
    except UnreadableError as error:
        by_node = {node: Blocks(asked_us=asked_us, why=str(error)) for node in nodes}
    return {node: with_counts(blocks, counts(hdfs, node)) for node, blocks in by_node.items()}


def sound(hdfs: Storage, heard_us: int) -> frozenset[str]:
    """The addresses of nodes in service that were heard from within ``heard_us``."""
    nodes = (hdfs.nodes[name] for name in hdfs.in_service())
    return frozenset(n.address for n in nodes if n.silent_s is not None and n.silent_s * 1_000_000 <= heard_us)


def blocks_below(masters: MasterAddresses, path: str, deadline: Deadline) -> Iterator[BlockSeen]:
    """Every block of every file below a folder, snapshots included; none when the folder is not there.

    UnreadableError when the report is cut short, or has a form that is not known: a block that is overlooked is lost.
    """
    url = f"{masters.namenode}/fsck"
    wanted = dict.fromkeys(("files", "blocks", "replicadetails", "openforwrite", "includeSnapshots"), "1")
    last = previous = ""
    file = _File("", False, 0, 0, "")
    for line in get_lines(url, deadline, {"ugi": masters.user, "path": path, **wanted}, key=masters.key):
        last = line or last
        if match := _FILE.match(line):
            _complete(file, url)
            file = _File.of(match)
            if not file.name.startswith("/"):
                file.name = f"{previous}\n{file.name}"
        elif match := _BLOCK.match(line):
            replicas = tuple(_REPLICA.findall(line))
            if _MISSING in line:
                # Too few cells of a group are left: the others may be live and are of no use to anybody.
                replicas = tuple((address, _MISSING) for address, _ in replicas)
            block = file.block(int(match[1]), int(match[2]), replicas)
            if block is None or len(replicas) != line.count(_ANY_REPLICA):
                raise UnreadableError(url, f"the report on {path} has an unknown form: {line!r}")
            yield block
        elif line == _BEING_WRITTEN:
            file.ends_open()
        previous = line
    _complete(file, url)
    if last not in [end.format(path) for end in _WHOLE] or (path == "/" and last == _WHOLE[-1].format(path)):
        raise UnreadableError(url, f"the report on {path} ends with {last!r}")


def _complete(file: _File, url: str) -> None:
    """UnreadableError when not all blocks of a file were in the report: those that are not may be anywhere."""
    if left := file.count - file.seen:
        raise UnreadableError(url, f"the report has an unknown form: {left} blocks of {file.name} are not in it")
