"""Files that come back when an MR-cluster is restored: the kept copy against the blocks that nodes still have.

A block counts as found when a node that answers has a replica of the same id, generation stamp and length: a NameNode
takes any other replica for a damaged one. A block that was not found may be on a node that does not answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

#: how many files of each kind are named
NAMED = 200


class BlockStamp(NamedTuple):
    """A block, or a replica of it: the ``stamp`` grows each time that a block is written to anew."""

    id: int
    stamp: int
    size: int


class Fate(StrEnum):
    """The fate of a file."""

    WHOLE = "whole"
    """All of its blocks were found."""
    OPEN = "open"
    """It was being written: what its writer wrote last may be missing. All blocks before were found."""
    SHORT = "short"
    """A block of it is on no node that answers."""
    UNKNOWN = "unknown"
    """It is erasure-coded: how many cells of a block are enough is not known here."""


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file of a namespace, by the number of its inode."""

    inode: int
    blocks: tuple[BlockStamp, ...]
    is_open: bool = False
    is_coded: bool = False

    @property
    def size(self) -> int:
        """Its bytes."""
        return sum(block.size for block in self.blocks)


@dataclass(frozen=True, slots=True)
class Replicas:
    """Replicas on nodes: ``whole`` ones, and the ids of blocks that were ``begun`` and not finished."""

    whole: Set[BlockStamp] = frozenset()
    begun: Set[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Named:
    """A file that does not come back for certain, and how many of its blocks were not found."""

    path: str
    size: int
    missing: int
    blocks: int


@dataclass(frozen=True, slots=True)
class Share:
    """The files of one fate: how many, their bytes, and the first of them by name (none of those that are whole)."""

    files: int = 0
    size: int = 0
    named: tuple[Named, ...] = ()


@dataclass(frozen=True, slots=True)
class Salvage:
    """The files that a restore brings back. ``strangers`` are blocks on nodes that no file of the copy has."""

    shares: Mapping[Fate, Share]
    strangers: int


def not_found(file: StoredFile, replicas: Replicas) -> int:
    """The blocks of a file that are on no node that answers; the last one of an open file may be unfinished."""
    last = len(file.blocks) - 1
    return sum(
        block not in replicas.whole and not (file.is_open and at == last and block.id in replicas.begun)
        for at, block in enumerate(file.blocks)
    )


def fate(file: StoredFile, replicas: Replicas) -> Fate:
    """The fate of a file; one without blocks comes back, for all of it is in the copy."""
    if file.is_coded and file.blocks:
        return Fate.UNKNOWN
    if not_found(file, replicas):
        return Fate.SHORT
    return Fate.OPEN if file.is_open else Fate.WHOLE


def _group(id_: int) -> int:
    """The id of a block, or of the erasure-coded group that a cell belongs to."""
    return id_ & ~0xF if id_ < 0 else id_


@dataclass(slots=True)
class _Sum:
    files: int = 0
    size: int = 0
    first: list[tuple[StoredFile, int]] = field(default_factory=list)


class NamespaceComparison:
    """Takes the files of a namespace one by one, so that a large one need not be held."""

    def __init__(self, replicas: Replicas) -> None:
        self._replicas = replicas
        self._sums = {each: _Sum() for each in Fate}
        self._ids = {_group(number) for number in {block.id for block in replicas.whole} | replicas.begun}
        self._known = 0

    def add(self, file: StoredFile) -> bool:
        """Count a file. True: its path is wanted, because it may be named."""
        what = fate(file, self._replicas)
        total = self._sums[what]
        total.files += 1
        total.size += file.size
        self._known += sum(_group(block.id) in self._ids for block in file.blocks)
        if what is Fate.WHOLE or len(total.first) >= NAMED:
            return False
        total.first.append((file, not_found(file, self._replicas)))
        return True

    def outcome(self, paths: Mapping[int, str]) -> Salvage:
        """The result; ``paths`` are those that `add` wanted, by inode."""
        return Salvage(
            {
                each: Share(
                    total.files,
                    total.size,
                    tuple(
                        Named(paths.get(file.inode, f"inode {file.inode}"), file.size, missing, len(file.blocks))
                        for file, missing in total.first
                    ),
                )
                for each, total in self._sums.items()
            },
            max(0, len(self._ids) - self._known),
        )
