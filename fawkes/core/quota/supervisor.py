"""Cores of a node among its executors, by a quota policy (eq. 21, Table 1), and memory among applications."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import fsum, inf
from typing import NamedTuple

from fawkes.core.fairness.targets import fill
from fawkes.core.quota.values import TOLERANCE, Claim, Divide, Portion, is_number, quanta


class _Span(NamedTuple):
    """Bounds of a part in real numbers."""

    least: float
    most: float


def supervise(
    claims: Sequence[Claim], cores: float, divide: Divide, *, gamma: float, quantum: float
) -> dict[str, float]:
    """The cores of each executor of a node (eq. 21); their sum is never above the node's cores.

    Without contention and with gamma 0 each gets exactly what it requests. Under contention gamma does not count. With
    gamma 1 all cores that tasks can use are given, also to executors that request nothing because they are early (X16).
    """
    requested = {claim.id: min(claim.requested, claim.most) for claim in claims}
    total = fsum(requested.values())
    contended = total > cores + TOLERANCE
    if not contended and gamma == 0:
        return requested
    portions = checked(claims, divide(claims))
    given = _shared(claims, portions, cores)
    if not contended:
        given = {each: gamma * given[each] + (1 - gamma) * requested[each] for each in requested}
    return _whole_quanta(given, _in_order(claims, portions), cores, quantum)


def share(claims: Sequence[Claim], total: float, divide: Divide) -> dict[str, float]:
    """All of ``total`` by the portions of a policy, as far as the claims can use it.

    Each claim keeps its minimum. What the policy leaves goes to unmet requests, then to all by what they have.
    """
    return _shared(claims, checked(claims, divide(claims)), total)


def _shared(claims: Sequence[Claim], portions: Sequence[Portion], total: float) -> dict[str, float]:
    parts = {claim.id: claim.least for claim in claims}
    left = total - fsum(parts.values())
    for claim, portion in _in_order(claims, portions):
        if portion.first is None:
            continue
        parts[claim.id] += max(0.0, min(_most(claim, portion) - claim.least, left))
        left = total - fsum(parts.values())
    shared = [(claim, portion) for claim, portion in zip(claims, portions, strict=True) if portion.first is None]
    if shared and left > 0:
        weights = {claim.id: portion.weight for claim, portion in shared}
        bounds = {claim.id: _Span(claim.least, max(claim.least, _most(claim, portion))) for claim, portion in shared}
        parts.update(fill(left + fsum(claim.least for claim, _ in shared), weights, bounds))
    able = {claim.id: claim.most for claim in claims}
    parts = _filled(parts, total, {claim.id: min(claim.requested, claim.most) for claim in claims}, None)
    return _filled(_filled(parts, total, able, parts), total, able, None)


def _filled(
    parts: Mapping[str, float], total: float, most: Mapping[str, float], weights: Mapping[str, float] | None
) -> dict[str, float]:
    """The parts with what is left of ``total``, up to ``most``: by ``weights``, or else by what is missing."""
    left = total - fsum(parts.values())
    missing = {each: max(0.0, most[each] - part) for each, part in parts.items()}
    if left <= TOLERANCE or not any(missing.values()):
        return dict(parts)
    more = fill(left, weights or missing, {each: _Span(0.0, missing[each]) for each in parts})
    return {each: part + more[each] for each, part in parts.items()}


def _most(claim: Claim, portion: Portion) -> float:
    return claim.most if portion.most is None else min(claim.most, portion.most)


def checked(claims: Sequence[Claim], portions: Sequence[Portion]) -> Sequence[Portion]:
    """The portions of a policy; ValueError for a wrong number of them, and for numbers that cannot be portions."""
    if not isinstance(portions, list | tuple) or len(portions) != len(claims):
        raise ValueError(
            f"the policy answered {portions!r} for {len(claims)} claims, not a list with a portion of each"
        )
    for claim, portion in zip(claims, portions, strict=True):
        if not isinstance(portion, Portion):
            raise ValueError(f"the policy answered {portion!r} for {claim.id}, not a Portion")
        numbers = {"first": (portion.first, -inf), "weight": (portion.weight, 0.0), "most": (portion.most, 0.0)}
        for name, (value, least) in numbers.items():
            if not _fits(value, least) or (name == "weight" and value is None):
                raise ValueError(f"{name} of the portion of {claim.id} is {value!r}, not a finite number that fits")
    return portions


def _fits(value: object, least: float) -> bool:
    return value is None or (is_number(value) and value >= least)


def _in_order(claims: Sequence[Claim], portions: Sequence[Portion]) -> list[tuple[Claim, Portion]]:
    """Claims by priority: their portions' order, else their deadline; ties by submission, then by id."""

    def key(pair: tuple[Claim, Portion]) -> tuple[float, float, str]:
        claim, portion = pair
        first = claim.left_s if portion.first is None else portion.first
        return (inf if first is None else first, claim.submitted_s, claim.id)

    return sorted(zip(claims, portions, strict=True), key=key)


def _whole_quanta(
    given: Mapping[str, float], order: Sequence[tuple[Claim, Portion]], cores: float, quantum: float
) -> dict[str, float]:
    """Quotas as the least and the nearest whole quanta; an excess is taken from the last ones (resolution 13)."""
    least = {claim.id: claim.least for claim, _ in order}
    counts = {each: round((part - least[each]) / quantum) for each, part in given.items()}
    excess = sum(counts.values()) - int((cores - fsum(least.values())) / quantum + TOLERANCE)
    for claim, _ in reversed(order):
        taken = max(0, min(excess, counts[claim.id]))
        counts[claim.id] -= taken
        excess -= taken
    return {each: quanta(least[each] / quantum + count, quantum) for each, count in counts.items()}
