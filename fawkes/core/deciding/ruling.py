"""The rule over a pool: does a state folder go with what the nodes know? Pure; see docs/decisions/who-rules.md.

A start asks before it changes anything, so that a copy, a restored backup or an empty folder is refused as often as it
is tried.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from fawkes.core.values.model import NodeId

BEAT_US = 5_000_000
"""How often a controller leaves a sign of life. Fixed: who looks for one does not know its settings."""
ALIVE_US = 12 * BEAT_US // 5
"""Two beats and a little: within this time a controller that lives leaves another one."""

BY_HAND = "hand"
"""The controller in a lease that an administrator wrote (``fab``)."""


class FolderStanding(StrEnum):
    """The standing of a state folder to its pool."""

    RULES = "rules"
    """It is the one that goes with the nodes, or nobody else ever was: it may start."""
    ELSEWHERE = "elsewhere"
    """Its content is the latest, but it lies somewhere else than it did: a copy, or a folder that was moved."""
    BEHIND = "behind"
    """Nodes know of later starts or hand-overs: a restored backup, or an older copy."""
    EMPTY = "empty"
    """It has no ledger, but the pool has or had a controller."""
    STRANGER = "stranger"
    """Nodes know a controller that was never a start of its ledger, and none that was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseSeen:
    """The lease of a node, as seen there; ``cluster`` is empty for a node that no MR-cluster holds."""

    node: NodeId
    epoch: int
    controller: str
    cluster: str = ""
    generation: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownPool:
    """The pool as a ledger knows it: its latest start, and the generation of each node's latest hand-over.

    ``claimed`` is the epoch and the id of a take-over that was under way when its controller ended. ``starts`` are the
    earlier ones, as epoch and id. ``adopted`` is the epoch in which it was adopted: what was before is its history.
    """

    epoch: int = 0
    controller: str = ""
    generations: Mapping[NodeId, int] = field(default_factory=dict)
    claimed: tuple[int, str] | None = None
    starts: frozenset[tuple[int, str]] = frozenset()
    adopted: int = 0


@dataclass(frozen=True, slots=True)
class Ruling:
    """The standing of a folder, and the leases that show it, by node. ``epoch`` is the one that a start would have.

    ``strangers`` are leases of other controllers, in older epochs: a start leaves their nodes alone.
    """

    standing: FolderStanding
    leases: tuple[LeaseSeen, ...]
    epoch: int
    strangers: tuple[LeaseSeen, ...] = ()


def judge(known: KnownPool | None, *, in_place: bool, leases: Iterable[LeaseSeen], all_answered: bool) -> Ruling:
    """The standing of a state folder to the leases of its pool.

    ``known`` is None without a ledger. ``in_place``: the ledger lies where it was sealed, or was never sealed.
    ``all_answered``: there is no node whose lease is not known.
    """
    seen = sorted((lease for lease in leases if lease.epoch or lease.cluster), key=lambda lease: lease.node)
    epoch = max([lease.epoch for lease in seen] + [0 if known is None else known.epoch]) + 1
    if known is None:
        # A node that is silent is looked at before anything is written there: a new pool need not wait for it.
        return Ruling(FolderStanding.EMPTY if seen else FolderStanding.RULES, tuple(seen), epoch)
    if ahead := [lease for lease in seen if _ahead(known, lease)]:
        return Ruling(FolderStanding.BEHIND, tuple(ahead), epoch)
    own = [lease for lease in seen if _own(known, lease)]
    strangers = tuple(lease for lease in seen if lease not in own)
    if strangers and not own:
        return Ruling(FolderStanding.STRANGER, (), epoch, strangers)
    rules = in_place or (all_answered and not seen)
    return Ruling(FolderStanding.RULES if rules else FolderStanding.ELSEWHERE, tuple(own), epoch, strangers)


def _own(known: KnownPool, lease: LeaseSeen) -> bool:
    """True for the lease of a start of this ledger, or of one that it adopted; and for one that was written by hand."""
    start = (lease.epoch, lease.controller)
    starts = {(known.epoch, known.controller), known.claimed, *known.starts}
    return lease.controller == BY_HAND or lease.epoch < known.adopted or start in starts


def _ahead(known: KnownPool, lease: LeaseSeen) -> bool:
    """True if a node knows more than the ledger. The generations of an older epoch are history."""
    if (lease.epoch, lease.controller) == known.claimed:
        return False
    if lease.epoch != known.epoch:
        return lease.epoch > known.epoch
    later = bool(lease.cluster) and lease.generation > known.generations.get(lease.node, 0)
    return lease.controller != known.controller or later


def alive(before: Mapping[NodeId, str], after: Mapping[NodeId, str]) -> list[NodeId]:
    """The nodes on which a controller works: its beat there has changed between two looks, `ALIVE_US` apart.

    Ages prove nothing.
    """
    return sorted(node for node, beat in after.items() if beat and beat != before.get(node, beat))
