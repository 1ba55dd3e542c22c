"""Are the blocks of a node safe elsewhere? The one place that answers; the ledger and the hands before a wipe ask it.

The NameNode calls a node decommissioned although it still holds the only replica of a block of an open file, and a
counter of missing blocks lags behind a node's death by many seconds. So each block is looked at, in the report of
``hdfs fsck``, and only replicas on nodes that HDFS has heard from a moment ago count.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field

from fawkes.base.units import show_bytes
from fawkes.base.values import replace
from fawkes.core.values.sight import HEARD, UNHEARD, Blocks, Sight, Stored

#: names kept of a list of files: enough to tell what was missing before from what is missing now
NAMED = 200
#: names shown to people
_SHOWN = 3
_LIVE = "LIVE"
#: replicas that can still be read from, wherever their node is going
_READABLE = frozenset(
    {_LIVE, "DECOMMISSIONING", "DECOMMISSIONED", "ENTERING MAINTENANCE", "IN MAINTENANCE", "STALE_NODE"}
)
_SEVERAL = re.compile(r"(.*) \((\d+) blocks\)", re.DOTALL)
_ERASURE = re.compile(r"-(\d+)-(\d+)-(\d+)k$")


@dataclass(frozen=True, slots=True)
class BlockSeen:
    """A block of a report: its file, whether that is open, the replicas wanted, and address and state of each.

    An erasure-coded block group (``is_group``) wants as many replicas as it has cells.
    """

    file: str
    is_open: bool
    replication: int
    replicas: tuple[tuple[str, str], ...]
    is_group: bool = False


@dataclass(frozen=True, slots=True)
class Proof:
    """Conditions that must be shown before a node that stored data is wiped.

    ``missing_before`` are the files of which blocks were missing before it began to leave, with their number where
    there are several (`missing_name`): they hold nobody. None: not known, so that any missing block counts.
    """

    missing_before: tuple[str, ...] | None = None


def cells_of(policy: str, length: int | None = None) -> int | None:
    """The cells of a block group under a policy such as ``RS-6-3-1024k``; None when it has no such form.

    A group of so few bytes (``length``) that not all data cells are used has fewer: nobody ever writes the others.
    """
    match = _ERASURE.search(policy)
    if match is None:
        return None
    data, parity, cell_bytes = int(match[1]), int(match[2]), int(match[3]) << 10
    return parity + (data if length is None else max(1, min(data, -(-length // max(1, cell_bytes)))))


def missing_name(file: str, blocks: int) -> str:
    """The name of a file with so many missing blocks, so that one more of them is news."""
    return file if blocks == 1 else f"{file} ({blocks} blocks)"


def missing_blocks(name: str) -> tuple[str, int]:
    """The file and the number of its missing blocks behind such a name."""
    match = _SEVERAL.fullmatch(name)
    return (match[1], int(match[2])) if match else (name, 1)


@dataclass(slots=True)
class _Files:
    """Files with the number of their blocks, without end in number, cut in kind."""

    names: dict[str, int] = field(default_factory=dict)
    count: int = 0
    last: str = ""

    def add(self, name: str) -> None:
        """Blocks of one file follow each other: each file is counted once."""
        if name != self.last:
            self.last = name
            self.count += 1
        if name in self.names or len(self.names) < NAMED:
            self.names[name] = self.names.get(name, 0) + 1

    def sorted(self) -> tuple[str, ...]:
        """The names that were kept."""
        return tuple(sorted(self.names))

    def with_blocks(self) -> tuple[str, ...]:
        """The same, with the number of blocks where there are several."""
        return tuple(missing_name(name, blocks) for name, blocks in sorted(self.names.items()))


def reports(
    blocks: Iterable[BlockSeen], leaving: Collection[str], sound: Set[str], asked_us: int
) -> Mapping[str, Blocks]:
    """The whole report on the blocks of each address in ``leaving``.

    Only replicas in state LIVE on ``sound`` addresses count: nodes in service that were heard from a moment ago.
    """
    at_risk = {address: _Files() for address in leaving}
    missing, unheard = _Files(), _Files()
    for block in blocks:
        if not any(state in _READABLE for _, state in block.replicas):
            missing.add(block.file)
        elif sum(at in sound and state == _LIVE for at, state in block.replicas) < _least(block):
            unheard.add(block.file)
        for address in {at for at, _ in block.replicas if at in at_risk}:
            elsewhere = {at for at, state in block.replicas if at != address and at in sound and state == _LIVE}
            if len(elsewhere) < _need(block, len(sound - {address})):
                at_risk[address].add(f"{block.file} (open)" if block.is_open else block.file)
    return {
        address: Blocks(
            asked_us=asked_us,
            known=True,
            at_risk=files.sorted(),
            at_risk_files=files.count,
            missing=missing.with_blocks(),
            missing_files=missing.count,
            unheard=unheard.sorted(),
            unheard_files=unheard.count,
        )
        for address, files in at_risk.items()
    }


def _need(block: BlockSeen, others: int) -> int:
    """The number of replicas that must be on ``others`` sound nodes before a node may go that has one."""
    if block.is_open:
        # What is being written cannot get more replicas until its file is closed.
        return 1
    # Fewer nodes do not make fewer cells enough: a group of nine of which three are left cannot be read.
    return block.replication if block.is_group else max(1, min(block.replication, others))


def _least(block: BlockSeen) -> int:
    """The replicas that a block must have on sound nodes, or it may be lost with a node that is not heard from."""
    return block.replication if block.is_group and not block.is_open else 1


def unsafe(blocks: Blocks | None, proof: Proof, *, since_us: int) -> str:
    """The reason why the blocks of a node are not known to be safe elsewhere; empty when each of them is.

    Only a whole report that was asked for after ``since_us`` proves anything.
    """
    if blocks is None or not blocks.known:
        return progress(blocks)
    if blocks.asked_us <= since_us:
        return "there is no newer report of the NameNode on its blocks yet"
    if blocks.at_risk_files:
        return f"too few replicas on other nodes: {_named(blocks.at_risk, blocks.at_risk_files)}"
    before = dict(map(missing_blocks, proof.missing_before or ()))
    lost = [name for name in blocks.missing if (counted := missing_blocks(name))[1] > before.get(counted[0], 0)]
    if lost:
        known = "" if proof.missing_before is not None else "; it is not known whether they were missing before"
        return f"blocks are on no live node: {_named(lost, len(lost))}{known}"
    if blocks.missing_files > len(blocks.missing):
        return f"{blocks.missing_files} files have missing blocks, too many to know which were missing before"
    return ""


def not_proven(sight: Sight, proof: Proof, *, since_us: int) -> str:
    """The reason why a node must not be stopped and wiped, as its NameNode saw it after ``since_us``; else empty.

    While HDFS still counts on the node, new blocks may come to it: a report proves nothing then.
    """
    if sight.stored not in (Stored.LEFT, *UNHEARD):
        return unsafe(None if sight.blocks is None else replace(sight.blocks, known=False), proof, since_us=since_us)
    why = unsafe(sight.blocks, proof, since_us=since_us)
    if not why and sight.stored in UNHEARD and sight.blocks is not None and sight.blocks.unheard_files:
        # What was on it is not listed any more, and the nodes that are may have died a moment ago as well.
        return f"no healthy node has {_named(sight.blocks.unheard, sight.blocks.unheard_files)}"
    return why


def progress(blocks: Blocks | None) -> str:
    """The progress of a node that is still leaving, by HDFS, in words."""
    if blocks is None:
        return "its blocks are not known: there is no report of the NameNode yet"
    if blocks.why:
        return blocks.why
    if blocks.open_blocks:
        return f"{blocks.open_blocks} blocks of open files have too few replicas on other nodes"
    if blocks.too_few is None or blocks.only_here is None:
        return "its blocks are not known: the NameNode reports no counts"
    if not blocks.too_few and not blocks.only_here:
        return f"HDFS has not checked its {_count(blocks.listed)} blocks yet"
    return (
        f"of its {_count(blocks.listed)} blocks {blocks.too_few} have too few replicas on other nodes, "
        f"{blocks.only_here} have none in service"
    )


def cannot_end(blocks: Blocks | None, replication: int) -> str:
    """The reason why HDFS can never end this evacuation, which it began all the same; empty when it may."""
    if blocks is None or blocks.staying is None:
        return ""
    if blocks.staying < replication:
        return f"this drain cannot end: the replication is {replication}, but only {blocks.staying} DataNodes stay"
    if blocks.stored_bytes is not None and blocks.free_bytes is not None and blocks.stored_bytes > blocks.free_bytes:
        return (
            f"this drain cannot end: the node stores {show_bytes(blocks.stored_bytes)}, "
            f"but only {show_bytes(blocks.free_bytes)} are free on the DataNodes that stay"
        )
    return ""


def with_counts(blocks: Blocks, counts: Blocks) -> Blocks:
    """A report with the NameNode's own counts of the node."""
    return replace(
        blocks,
        listed=counts.listed,
        too_few=counts.too_few,
        only_here=counts.only_here,
        open_blocks=counts.open_blocks,
        stored_bytes=counts.stored_bytes,
        staying=counts.staying,
        free_bytes=counts.free_bytes,
    )


def _count(number: int | None) -> str:
    return "unknown number of" if number is None else str(number)


def _named(files: Sequence[str], count: int) -> str:
    more = count - min(_SHOWN, len(files))
    return ", ".join(files[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


def may_be_former(stored: Stored, silent_s: int | None, asked_s: float, since_s: float) -> bool:
    """True unless what a NameNode showed at ``asked_s`` is surely the data of after ``since_s`` (the wipe came before).

    One in service is not on its way out. Only one that is heard from is known: HDFS hides what is on no list, and one
    that it shows as dead may still have its replicas for some seconds. Silence (s) is told in whole seconds.
    """
    if stored is Stored.IN_SERVICE:
        return False
    return stored not in HEARD or silent_s is None or asked_s - silent_s - 1 <= since_s
