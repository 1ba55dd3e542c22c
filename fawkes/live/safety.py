"""May this DataNode be stopped? Only when every block on it lives elsewhere, and that is HDFS's to say.

The NameNode calls a node decommissioned although it still holds the only replica of a block of an open file: a block
that was being written when the drain began, and that it does not replicate before the file is closed. Stopping the
node then loses the block (seen with replication 1; tests/live/data/fsck_open.txt). So the blocks are looked at one by
one, with the report of ``hdfs fsck``, which the NameNode gives over HTTP: no JVM is needed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from fawkes.core.model import Facts
from fawkes.live.masters import DEAD, LEAVING, LEFT, MasterAddresses, Storage, StorageNode, storage
from fawkes.live.rest import Deadline, UnreadableError, get_lines
from fawkes.units import show_bytes

_FILE = re.compile(r"(/.*) \d+ bytes, (replicated: replication=(\d+)|erasure-coded: .*), \d+ block\(s\)(.*)")
_REPLICA = re.compile(r"DatanodeInfoWithStorage\[([^][,]+),[^]]*\]\(([A-Z_ ]+)\)")
_ANY_REPLICA = "DatanodeInfoWithStorage["
_OPEN = "OPENFORWRITE"
_LIVE = "LIVE"
_HEALTHY = "is HEALTHY"
_ABSENT = "does not exist"
#: how many files are named in a reason
_NAMED = 3


@dataclass(frozen=True, slots=True)
class Safety:
    """Whether something may be done to a DataNode without risk for data; if not, why, with the figures."""

    safe: bool
    why: str = ""
    facts: Facts = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BlockSeen:
    """A block of fsck's report: its file, whether that is open, the replicas wanted, and each replica's state."""

    file: str
    is_open: bool
    replication: int
    replicas: tuple[tuple[str, str], ...]

    def live_without(self, address: str) -> int:
        """Replicas in service on other nodes."""
        return sum(state == _LIVE for at, state in self.replicas if at != address)


def room_to_leave(hdfs: Storage, replication: int) -> Safety:
    """Whether the DataNodes that leave can all be drained: enough others for the replicas, enough room for the bytes.

    HDFS itself accepts a drain that it can never end.
    """
    staying = hdfs.in_service()
    facts = {"staying": len(staying), "replication": replication}
    if len(staying) < replication:
        return Safety(False, f"{len(staying)} DataNodes stay for {replication} replicas of each block", facts)
    held = sum(node.used_bytes for node in hdfs.nodes.values() if node.state == LEAVING)
    free = sum(hdfs.nodes[name].free_bytes for name in staying)
    if held > free:
        why = f"{show_bytes(held)} lie on the DataNodes that leave, and {show_bytes(free)} are free on those that stay"
        return Safety(False, why, facts | {"held_bytes": held, "free_bytes": free})
    return Safety(True, facts=facts)


def safe_to_stop(
    masters: MasterAddresses,
    node: str,
    deadline: Deadline,
    *,
    paths: Iterable[str] = ("/",),
    replication: int = 1,
    missing_before: int = 0,
) -> Safety:
    """Whether this DataNode may be stopped now. A NameNode that does not answer is a reason against it.

    ``paths`` are the folders whose blocks may lie on it (the output folders, for a transient-core node);
    ``replication`` is the NameNode's own, which tells a drain that takes its time from one that cannot end;
    ``missing_before`` is how many blocks were missing before it was asked to leave.
    """
    try:
        hdfs = storage(masters, deadline)
        why = _why_not(hdfs, node, replication, missing_before)
        if why or node not in hdfs.nodes or not hdfs.nodes[node].alive:
            return Safety(not why, why, _facts(hdfs, node))
        return _by_blocks(masters, hdfs, node, paths, deadline)
    except UnreadableError as error:
        return Safety(False, str(error))


def _facts(hdfs: Storage, node: str) -> dict[str, object]:
    seen = hdfs.nodes.get(node, StorageNode("", DEAD))
    return {
        "state": seen.state,
        "bytes": seen.used_bytes,
        "blocks": seen.blocks,
        "missing_blocks": hdfs.missing_blocks,
        "staying": len([name for name in hdfs.in_service() if name != node]),
    }


def _why_not(hdfs: Storage, node: str, replication: int, missing_before: int) -> str:
    """What the NameNode's own figures say against it; a node that it does not hear from holds nothing it counts on."""
    if hdfs.safe_mode:
        return f"HDFS is in safe mode: {hdfs.safe_mode}"
    if hdfs.missing_blocks > missing_before:
        return f"{hdfs.missing_blocks} blocks are missing in HDFS"
    seen = hdfs.nodes.get(node)
    if seen is None or not seen.alive or seen.state == LEFT:
        return ""
    if seen.state != LEAVING:
        return f"its DataNode was not told to leave: it is {seen.state!r}"
    if not (room := room_to_leave(hdfs, replication)).safe:
        return f"this drain cannot end: {room.why}"
    if seen.in_open_files:
        return f"{seen.in_open_files} blocks of open files have too few replicas elsewhere"
    if not seen.too_few and not seen.only_here:
        return f"HDFS has not looked through its {seen.blocks} blocks yet"
    return (
        f"of its {seen.blocks} blocks {seen.too_few} have too few replicas elsewhere, "
        f"{seen.only_here} have none in service"
    )


def _by_blocks(masters: MasterAddresses, hdfs: Storage, node: str, paths: Iterable[str], deadline: Deadline) -> Safety:
    address, others = hdfs.nodes[node].address, len(hdfs.in_service())
    alone: dict[str, bool] = {}
    for path in paths:
        for block in blocks_below(masters, path, deadline):
            # What is being written cannot get more replicas until its file is closed.
            need = 1 if block.is_open else min(block.replication, others)
            if any(at == address for at, _ in block.replicas) and block.live_without(address) < need:
                alone[block.file] = block.is_open
    facts = _facts(hdfs, node) | {"files": len(alone)}
    if not alone:
        return Safety(True, facts=facts)
    named = ", ".join(f"{file} (open)" if is_open else file for file, is_open in sorted(alone.items())[:_NAMED])
    more = f" and {len(alone) - _NAMED} more" if len(alone) > _NAMED else ""
    return Safety(False, f"blocks of {named}{more} have too few replicas elsewhere", facts)


def blocks_below(masters: MasterAddresses, path: str, deadline: Deadline) -> Iterator[BlockSeen]:
    """Every replicated block of every file below a folder, with its replicas; none when the folder is not there.

    UnreadableError when the report is cut short, or is anything but healthy at its end.
    """
    url = f"{masters.namenode}/fsck"
    wanted = dict.fromkeys(("files", "blocks", "replicadetails", "openforwrite"), "1")
    last = ""
    file, is_open, replication = "", False, 0
    for line in get_lines(url, deadline, {"ugi": masters.user, "path": path, **wanted}):
        last = line or last
        if match := _FILE.match(line):
            file, is_open, replication = match[1], _OPEN in match[4], int(match[3] or 0)
        elif "_repl=" in line and replication:
            replicas = tuple(_REPLICA.findall(line))
            # A replica that is overlooked is one that is lost.
            if len(replicas) != line.count(_ANY_REPLICA):
                raise UnreadableError(url, f"the report on {path} has an unknown form: {line!r}")
            yield BlockSeen(file, is_open, replication, replicas)
    if not last.endswith((_HEALTHY, _ABSENT)):
        raise UnreadableError(url, f"the report on {path} ends with {last!r}")
