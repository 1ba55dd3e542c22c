"""One tick: windows, the policy, weights, discrimination, targets, and the verdict (design section 3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import sqrt

from fawkes.base.units import SECOND_US
from fawkes.base.values import replace
from fawkes.core.clusters.admission import admit
from fawkes.core.fairness.fairness import discrimination, global_discrimination, share_error
from fawkes.core.fairness.targets import Bounds, whole_nodes
from fawkes.core.fairness.weighing import kept, loads_of, weigh_moves
from fawkes.core.fairness.weights import Measure, Measured, measure_all, weights
from fawkes.core.fairness.worth import QueuedWork, Refusal, Weighed
from fawkes.core.state.draft import Draft
from fawkes.core.state.plan import Allowance, hand_out, in_need, lacks, rebalance
from fawkes.core.values.decision import PutTick
from fawkes.core.values.model import ClusterId, ClusterLife, ClusterState, Plain
from fawkes.core.values.settings import Discrimination
from fawkes.core.values.window import Window

#: the reasons that make a tick a reconfiguration (facts, section 3)
MOVES = frozenset({"grow", "shrink", "undrain"})
#: the verdicts of ticks that move nodes: as the policy says, or only free nodes and those beyond equal parts
MOVING = frozenset({"unbalanced", "spare"})


@dataclass(frozen=True, slots=True)
class Balance:
    """The result of one tick. ``shares`` are mean c_i, ``values`` D_i of eq. 2, both per MR-cluster with a weight.

    ``held`` counts no node that is leaving, ``planned`` those too that will come from others.
    """

    weights: Mapping[ClusterId, float]
    shares: Mapping[ClusterId, float]
    values: Mapping[ClusterId, float]
    targets: Mapping[ClusterId, int]
    held: Mapping[ClusterId, int]
    planned: Mapping[ClusterId, int]
    raw: float
    reducible: float


def tick(draft: Draft, measure: Measure, seen_us: int | None = None) -> None:
    """Weigh all active MR-clusters, and begin to move nodes when the discrimination exceeds the threshold.

    ``seen_us`` is until when there are readings of a tick that is foreseen; None: until now.
    """
    settings = draft.settings
    active = [c for c in draft.clusters() if c.active]
    last = draft.tick
    draft.expect("tick", settings.period_us, version=last.tick + 1)
    since_us = (draft.at_us if seen_us is None else seen_us) - settings.period_us
    windows = {c.id: draft.view.window(c.id, since_us, since_us - settings.period_us) for c in active}
    readable = {c.id: windows[c.id] for c in active if c.balanced}
    measured = measure_all(measure, readable, last.memory)
    weight = weights(measured.values)
    balance = _balance(draft, active, measured, weight)
    loads = loads_of(draft, readable, last.loads) if settings.moves_must_pay else {}
    verdict, moves, weighed = _verdict(draft, measured, balance, loads)
    targets = weighed.targets
    over = last.over + 1 if _unbalanced(draft, measured, balance) else 0
    begun = tuple(t for t in last.moved_us if t > draft.at_us - settings.max_moves_window_us)
    allowance = _allowance(draft, len(begun))
    this = PutTick(
        tick=last.tick + 1,
        at_us=draft.at_us,
        targets=targets if moves else {c: n for c, n in last.targets.items() if draft.cluster(c)},
        weights=weight,
        over=over,
        reconfigurations=last.reconfigurations,
        moved_us=begun,
        memory=last.memory if measured.failed else {**_unasked(windows, readable, last), **measured.memory},
        measured=True,
        loads=kept(loads, last.loads),
    )
    _report(draft, this, measured, balance, verdict)
    _report_refused(draft, weighed.refused)
    draft.change(this)
    if not moves:
        return
    order = sorted(balance.values, key=lambda c: (-balance.values[c], c))
    order += sorted(c for c in targets if c not in balance.values)
    said = len(draft.reasons)
    rebalance(draft, targets, order, allowance)
    hand_out(draft, admit(draft))
    if any(reason.code in MOVES for reason in draft.reasons[said:]):
        moved_us = begun + (draft.at_us,) * allowance.used
        draft.change(replace(draft.tick, reconfigurations=last.reconfigurations + 1, moved_us=moved_us))


def _unasked(
    windows: Mapping[ClusterId, Window], readable: Mapping[ClusterId, Window], last: PutTick
) -> dict[ClusterId, Plain]:
    """The policy's memory of MR-clusters that it was not asked about, because nothing was read of them."""
    weighed = {c for c, window in readable.items() if window.samples}
    return {c: kept for c, kept in last.memory.items() if c in windows and c not in weighed}


def _balance(
    draft: Draft, active: list[ClusterState], measured: Measured, weight: Mapping[ClusterId, float]
) -> Balance:
    period_s = draft.settings.period_us / SECOND_US
    capacity = max(1, draft.counts.capacity_milli)
    shares = {c: draft.view.mean_held_milli(c, draft.at_us) / capacity for c in weight}
    values = {c: discrimination(shares[c], w, period_s) for c, w in weight.items()}
    held = {c.id: draft.held(c.id).counted for c in active}
    targets = _targets(draft, active, measured, weight)
    planned = _planned(draft, targets, held)
    nodes = max(1, draft.counts.usable)
    reducible = global_discrimination((planned[c] - targets[c]) / nodes * period_s for c in targets)
    return Balance(weight, shares, values, targets, held, planned, global_discrimination(values.values()), reducible)


def _planned(draft: Draft, targets: Mapping[ClusterId, int], held: Mapping[ClusterId, int]) -> dict[ClusterId, int]:
    """The nodes that each will hold when the moves in flight are done: nodes that leave one go to those that lack most.

    Not back to the one that they leave: staying is a move of its own.
    """
    leaving = {c: draft.held(c).nodes - draft.held(c).counted - draft.held(c).parting for c in targets}
    newcomers = sum(c.spec.min_nodes for c in draft.queue() if c.life is ClusterLife.ADMITTED)
    coming = sum(leaving.values()) - max(0, newcomers - draft.counts.free_core)
    planned = {c: held[c] for c in targets}
    elsewhere = {c: coming - leaving[c] for c in targets}
    for c in in_need(lacks(targets, held)):
        if coming > 0 and elsewhere[c] > 0:
            planned[c] += 1
            elsewhere[c] -= 1
            coming -= 1
    return planned


def _targets(
    draft: Draft, active: list[ClusterState], measured: Measured, weight: Mapping[ClusterId, float]
) -> dict[ClusterId, int]:
    """Whole nodes for the MR-clusters that have a weight or are pinned; the others are fixed where they are."""
    by_id = {c.id: c for c in active}
    targets = {c: draft.held(c).least(by_id[c].spec.min_nodes) for c in measured.pinned}
    if not weight:
        return targets
    total = draft.counts.usable - sum(targets.values()) - _fixed_nodes(draft, set(weight) | set(targets))
    bounds = {c: _bounds(draft, by_id[c]) for c in weight}
    return {**whole_nodes(total, weight, bounds), **targets}


def _bounds(draft: Draft, cluster: ClusterState) -> Bounds:
    most = draft.counts.usable if cluster.spec.max_nodes is None else cluster.spec.max_nodes
    least = draft.held(cluster.id).least(cluster.spec.min_nodes)
    return Bounds(least, max(least, most))


def _fixed_nodes(draft: Draft, moving: set[ClusterId]) -> int:
    """The nodes that are not to be divided: held by others, on their way out, or promised to the head of the queue.

    So are free nodes that an operator holds.
    """
    fixed = draft.counts.kept_free
    for cluster in draft.clusters():
        held = draft.held(cluster.id)
        if cluster.id in moving:
            fixed += held.parting
        elif cluster.life is ClusterLife.ADMITTED:
            fixed += cluster.spec.min_nodes
        else:
            fixed += held.nodes
    return fixed


def _exceeds(draft: Draft, balance: Balance) -> bool:
    raw = draft.settings.discrimination is Discrimination.RAW
    return (balance.raw if raw else balance.reducible) > draft.settings.tau


def _unbalanced(draft: Draft, measured: Measured, balance: Balance) -> bool:
    """True if the threshold is exceeded; a policy that answers `minimum` knows none."""
    pinned = any(balance.targets[c] != balance.held[c] for c in measured.pinned)
    return pinned or _exceeds(draft, balance)


def _verdict(
    draft: Draft, measured: Measured, balance: Balance, loads: Mapping[ClusterId, QueuedWork]
) -> tuple[str, bool, Weighed]:
    """The reason why nodes move or not, as the code of a reason, whether they do, and to which targets."""
    weighed = Weighed(balance.targets)
    moved = any(target != balance.planned[c] for c, target in balance.targets.items())
    settings = draft.settings
    checks = (
        ("policy-failed", bool(measured.failed)),
        ("no-weights", not balance.weights and not measured.pinned),
        ("balanced", not measured.pinned and not _exceeds(draft, balance)),
        ("as-balanced-as-possible", not moved),
        ("paused", bool(draft.paused)),
        ("halted", halted(draft)),
        ("confirming", draft.tick.over + 1 < settings.confirmations),
        ("settling", _settling(draft)),
    )
    code = next((code for code, holds in checks if holds), "unbalanced")
    if not settings.moves_must_pay or measured.failed or draft.paused or halted(draft):
        return code, code == "unbalanced", weighed
    have = {c: balance.planned.get(c, held) for c, held in balance.held.items() if c in balance.planned or c in loads}
    wanted = {**have, **balance.targets} if code == "unbalanced" else have
    rests = code == "confirming" or _settling(draft)
    weighing = weigh_moves(draft, loads, draft.tick.loads, have, wanted, measured.pinned, home=not rests)
    moves = any(weighing.targets[c] != n for c, n in have.items())
    if code == "unbalanced":
        return ("unbalanced", True, weighing) if moves else ("not-worth", False, weighing)
    return ("spare", True, weighing) if moves else (code, False, weighed)


def halted(draft: Draft) -> bool:
    """True if so many nodes are lost that no voluntary move should be made on what is known."""
    return draft.counts.lost > max(3, draft.settings.halt_lost_fraction * len(draft.view.nodes))


def _settling(draft: Draft) -> bool:
    settings, view = draft.settings, draft.view
    grow, shrink = settings.settle_after_grow_us, settings.settle_after_shrink_us
    if not grow and not shrink:
        return False
    return draft.counts.moving > 0 or draft.at_us < max(view.grown_us + grow, view.shrunk_us + shrink)


def _allowance(draft: Draft, begun: int) -> Allowance:
    fraction = draft.settings.max_moves_fraction
    if fraction is None:
        return Allowance()
    movable = draft.counts.usable - sum(c.spec.min_nodes for c in draft.clusters() if c.active)
    return Allowance(max(0, max(1, int(fraction * movable)) - begun))


def _report(draft: Draft, this: PutTick, measured: Measured, balance: Balance, verdict: str) -> None:
    settings = draft.settings
    period_s = settings.period_us / SECOND_US
    rows: dict[str, Plain] = {}
    for c in draft.clusters():
        if c.active:
            rows[c.id] = {
                "y": measured.values.get(c.id),
                "weight": balance.weights.get(c.id),
                "share": balance.shares.get(c.id),
                "discrimination": balance.values.get(c.id),
                "held": balance.held[c.id],
                "target": balance.targets.get(c.id),
                "min": c.spec.min_nodes,
                "pinned": c.id in measured.pinned,
                "unreadable": c.id in measured.unreadable or c.unreadable_us is not None,
            } | ({} if c.hold is None else {"kept": c.hold.reason})
    draft.say(
        "tick",
        tick=this.tick,
        verdict=verdict,
        policy=settings.policy,
        period_s=period_s,
        tau=settings.tau,
        measure=settings.discrimination,
        raw=balance.raw,
        reducible=balance.reducible,
        share_error=sqrt(max(balance.raw, 0.0)) / period_s,
        share_error_allowed=share_error(settings.tau, period_s),
        usable=draft.counts.usable,
        over=this.over,
        failed=measured.failed,
        paused=draft.paused,
        clusters=rows,
    )


def _report_refused(draft: Draft, refused: Iterable[Refusal]) -> None:
    for move in refused:
        draft.say(
            "not-worth",
            cluster=move.taker,
            giver=move.giver,
            count=move.nodes,
            saves_us=round(move.saves_s * SECOND_US),
            costs_us=round(move.costs_s * SECOND_US),
        )


def retire_idle(draft: Draft) -> list[ClusterState]:
    """The MR-clusters that were seen with nothing waiting and nothing running for their idle time (3.1).

    Only readings count: one that cannot be read may be busy. Whoever holds one wants to have it.
    """
    idle = []
    for cluster in draft.clusters():
        limit = cluster.spec.idle_us if cluster.spec.idle_us is not None else draft.settings.idle_us
        latest = draft.view.latest(cluster.id)
        if limit is None or latest is None or cluster.idle_us is None or not cluster.active or cluster.hold:
            continue
        if latest.sample.at_us - cluster.idle_us >= limit and not draft.jobs_of(cluster.id):
            idle.append(cluster)
    return idle
