"""Measurements while the compiled pool runs: sums that change with each grant, samples, idle groups of CPUs."""

from __future__ import annotations

from fawkes.offline.studies.flat.compiled.layout import (
    ACTIVE,
    BATCH,
    BINS,
    BUSY,
    CLASSES,
    EXISTS,
    HOLDING,
    HORIZON,
    MEAN,
    NEXT_SAMPLE,
    NOW,
    PARTS,
    SAMPLES,
    SPREAD,
    SQUARES,
)
from fawkes.offline.studies.flat.jobs import Floats, Ints
from fawkes.offline.studies.flat.metrics import BATCH_S, EDGES_S, GROUPS, SAMPLE_S
from fawkes.sim.hadoop.compiled.flows import compiled


@compiled
def change(m: Floats, sums: Ints, demand: int, before: int, after: int) -> None:
    """A job of this demand holds ``after`` CPUs instead of ``before``; ``sums`` has for each demand sum A, sum A^2."""
    first, second = 2 * demand, 2 * demand + 1
    if sums[second] > 0:
        m[CLASSES] -= sums[first] * sums[first] / sums[second]
    sums[first] += after - before
    sums[second] += after * after - before * before
    if sums[second] > 0:
        m[CLASSES] += sums[first] * sums[first] / sums[second]
    was, now = before / demand, after / demand
    m[PARTS] += now - was
    m[SQUARES] += now * now - was * was
    m[HOLDING] += (after > 0) - (before > 0)
    if m[HOLDING] == 0:
        # What rounding has left over must not stay.
        m[PARTS] = 0.0
        m[SQUARES] = 0.0
        m[CLASSES] = 0.0


@compiled
def pass_until(m: Floats, batches: Floats, now: float, idle: int, capacity: int, inclusive: bool) -> None:
    """Time goes on to ``now`` with so many idle CPUs; samples before it, or up to it, are taken."""
    until = min(now, m[HORIZON])
    if until > m[NOW]:
        m[BUSY] += (until - m[NOW]) * (capacity - idle)
        for g in range(len(GROUPS)):
            if idle >= GROUPS[g]:
                m[EXISTS + g] += until - m[NOW]
        m[NOW] = until
    while m[NEXT_SAMPLE] < until or (inclusive and m[NEXT_SAMPLE] == now and now <= m[HORIZON]):
        _sample(m, batches)
        m[NEXT_SAMPLE] += SAMPLE_S


@compiled
def _sample(m: Floats, batches: Floats) -> None:
    if m[HOLDING] == 0:
        return
    m[SAMPLES] += 1
    batch = BATCH * int(m[NEXT_SAMPLE] // BATCH_S)
    batches[batch] += 1
    fairness = m[PARTS] * m[PARTS] / (m[ACTIVE] * m[SQUARES])
    equality = m[CLASSES] / m[ACTIVE]
    for which in range(2):
        value = fairness if which == 0 else equality
        # Welford: the sum of squares would lose the variance.
        off = value - m[MEAN + which]
        m[MEAN + which] += off / m[SAMPLES]
        m[SPREAD + which] += off * (value - m[MEAN + which])
        batches[batch + 1 + which] += value


@compiled
def idle_changed(begun: Floats, counts: Ints, now: float, before: int, after: int) -> None:
    """Note that at the end of an instant ``after`` CPUs are idle instead of ``before``.

    ``begun`` has since when each group is idle, ``counts`` how many idle intervals ended in each bin of `EDGES_S`.
    """
    for g in range(len(GROUPS)):
        had, has = before // GROUPS[g], after // GROUPS[g]
        for group in range(had, has):
            begun[len(GROUPS) * group + g] = now
        for group in range(has, had):
            _count(counts, g, now - begun[len(GROUPS) * group + g])


@compiled
def close(m: Floats, begun: Floats, counts: Ints, idle: int) -> None:
    """Close at the horizon: groups that are idle still count as long as they have been."""
    for g in range(len(GROUPS)):
        for group in range(idle // GROUPS[g]):
            _count(counts, g, m[HORIZON] - begun[len(GROUPS) * group + g])


@compiled
def _count(counts: Ints, g: int, duration: float) -> None:
    at = 0
    while at < len(EDGES_S) and duration > EDGES_S[at]:
        at += 1
    counts[BINS * g + at] += 1
