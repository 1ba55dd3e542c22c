"""Whole nodes among MR-clusters by the quota policies, and how long an MR-cluster rests between two moves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, fsum, sqrt
from typing import NamedTuple

from fawkes.base.units import SECOND_US
from fawkes.core.fairness.targets import Bounds, Key, whole_nodes
from fawkes.core.quota.loop import planned_nodes
from fawkes.core.quota.planner import mean_rate
from fawkes.core.quota.sight import LoopApplication, LoopState
from fawkes.core.quota.supervisor import share
from fawkes.core.quota.values import TOLERANCE, Claim, Divide, Parameters
from fawkes.core.values.model import ClusterId, NodeId

#: of the response time tau_r: by then a step is absorbed (section 2.5 of Baresi et al.)
_ABSORBED = 5.0
#: before the first node has joined (measured in a lab)
_JOIN_S = 10.0


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


class LatestMove(NamedTuple):
    """The last move of an MR-cluster: when, and by how many nodes (negative: it gave some)."""

    at_s: float
    nodes: int


@dataclass(frozen=True, slots=True)
class NodeNeeds:
    """The nodes that each MR-cluster should have by its plans (None: not known), and the last change of each."""

    nodes: Mapping[ClusterId, int | None] = field(default_factory=dict)
    last: Mapping[ClusterId, LatestMove] = field(default_factory=dict)


def tell_nodes(
    before: NodeNeeds,
    room: LoopState,
    cores: Mapping[NodeId, float | None],
    bounds: Mapping[ClusterId, Bounds],
    pool: int,
    divide: Divide,
    settle_s: float,
    now_us: int,
) -> NodeNeeds:
    """The nodes that eq. 6 gives each MR-cluster of ``bounds``; when they are more than the pool has, their shares.

    An MR-cluster without applications under quotas is told 0, and its minimum is kept for it. While the need of one is
    not known, nobody can say how much is left, and the others are told what they need.
    """
    apps = {c: [app for app in room.applications.values() if app.goal.cluster == c] for c in bounds}
    need = {c: planned_nodes(room, c, cores, pool) for c in bounds}
    known = {c: nodes for c, nodes in need.items() if nodes is not None and apps[c]}
    if len(known) < sum(map(bool, apps.values())):
        return NodeNeeds(need, before.last)
    left = pool - sum(bound.least for c, bound in bounds.items() if c not in known)
    shares = share_nodes([_claim(c, apps[c], known[c], bounds[c], now_us) for c in known], left, divide)
    targets = {c: shares[c] for c in known}
    held = {c: nodes for c in known if (nodes := before.nodes.get(c))}
    now_s = now_us / SECOND_US
    limits = {c: bounds[c] for c in held}
    rested = settled(
        {c: targets[c] for c in held}, held, before.last, now_s=now_s, settle_s=settle_s,
        nodes=left - sum(targets[c] for c in known if c not in held), bounds=limits,
    )  # fmt: skip
    sizes = {**targets, **rested}
    moved = {c: LatestMove(now_s, sizes[c] - nodes) for c, nodes in held.items() if sizes[c] != nodes}
    return NodeNeeds({**need, **sizes}, {c: move for c, move in {**before.last, **moved}.items() if c in known})


def settling_s(parameters: Parameters, join_s: float | None) -> float:
    """The time in which an MR-cluster does not grow and shrink: L + 5 tau_r, with tau_r = q sqrt(eta) / (1 - p).

    ``join_s`` is L, how long nodes take to join; None where none has joined yet.
    """
    return (join_s or _JOIN_S) + _ABSORBED * parameters.period_s * sqrt(parameters.eta) / (1 - parameters.pole)


def _claim(cluster: ClusterId, apps: Sequence[LoopApplication], need: int, bounds: Bounds, now_us: int) -> Claim:
    """The claim of an MR-cluster: the earliest deadline and submission of its applications, and their mean rate."""
    rates = [rate for app in apps if (rate := mean_rate(app.goal.profile, 0.0)) is not None]
    return Claim(
        id=cluster,
        requested=need,
        most=bounds.most,
        left_s=min(app.goal.due_us - now_us for app in apps) / SECOND_US,
        rate=fsum(rates) / len(rates) if len(rates) == len(apps) else None,
        weight=need,
        submitted_s=min(app.goal.submitted_us for app in apps) / SECOND_US,
        least=bounds.least,
    )


def settled(
    targets: Mapping[Key, int],
    held: Mapping[Key, int],
    last: Mapping[Key, LatestMove],
    *,
    now_s: float,
    settle_s: float,
    nodes: int,
    bounds: Mapping[Key, Bounds],
) -> dict[Key, int]:
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


def _rests(change: int, last: LatestMove | None, now_s: float, settle_s: float) -> bool:
    """True if a change would turn back a move that is not long ago."""
    return last is not None and change * last.nodes < 0 and now_s - last.at_s < settle_s
