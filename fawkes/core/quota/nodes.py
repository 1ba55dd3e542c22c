"""Whole nodes among MR-clusters by the quota policies, and how long an MR-cluster rests between two moves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil
from typing import NamedTuple

from fawkes.core.fairness.targets import Bounds, whole_nodes
from fawkes.core.quota.supervisor import share
from fawkes.core.quota.values import TOLERANCE, Claim, Divide


def share_nodes(claims: Sequence[Claim], nodes: int, divide: Divide) -> dict[str, int]:
    """Whole nodes of each MR-cluster: what it requests, or its share when more are requested than there are (X13).

    Requests, minimums and maximums of the claims are nodes. Minimums are kept even when they sum to more than
    ``nodes``: the caller sees the sum.
    """
    bounds = {claim.id: Bounds(ceil(claim.least), max(ceil(claim.least), int(claim.most))) for claim in claims}
    wanted = {
        claim.id: min(max(ceil(claim.requested - TOLERANCE), bounds[claim.id].least), bounds[claim.id].most)
        for claim in claims
    }
    if sum(wanted.values()) <= nodes:
        return wanted
    parts = share(claims, nodes, divide)
    return whole_nodes(nodes, parts, bounds)


class Move(NamedTuple):
    """The last move of an MR-cluster: when, and by how many nodes (negative: it gave some)."""

    at_s: float
    nodes: int


def settled(
    targets: Mapping[str, int],
    held: Mapping[str, int],
    last: Mapping[str, Move],
    *,
    now_s: float,
    settle_s: float,
    nodes: int,
    bounds: Mapping[str, Bounds],
) -> dict[str, int]:
    """The targets without grow and shrink of one MR-cluster within ``settle_s``, which is L + 5 tau_r (X11).

    One node too many stays while nobody waits for it. Whoever must not move keeps what it holds, and the others share
    the rest by their targets. Minimums win over rest.
    """
    spare = nodes - sum(max(target, held.get(each, 0)) for each, target in targets.items())
    still = {
        each for each, target in targets.items() if _rests(target - held.get(each, 0), last.get(each), now_s, settle_s)
    }
    if spare >= 0:
        still |= {each for each, target in targets.items() if target == held.get(each, 0) - 1}
    left = nodes - sum(held.get(each, 0) for each in still)
    moving = {each: float(target) for each, target in targets.items() if each not in still}
    limits = {each: Bounds(bounds[each].least, max(bounds[each].least, targets[each])) for each in moving}
    if left < sum(limit.least for limit in limits.values()):
        return dict(targets)
    given = whole_nodes(left, moving, limits)
    return {each: held.get(each, 0) if each in still else given[each] for each in targets}


def _rests(change: int, last: Move | None, now_s: float, settle_s: float) -> bool:
    """True if a change would turn back a move that is not long ago."""
    return last is not None and change * last.nodes < 0 and now_s - last.at_s < settle_s
