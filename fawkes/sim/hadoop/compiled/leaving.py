"""The time for which what computes on a node still lasts, as in fawkes.sim.hadoop.cluster."""

from __future__ import annotations

from math import ceil, inf

from fawkes.sim.hadoop.compiled.flows import compiled, rate
from fawkes.sim.hadoop.compiled.layout import HEADER, LEG, NODE, NONE, OWNER, POOL, Array


@compiled
def busy_us(w: Array, f: Array, n: int) -> int:
    """Time for which the attempts on a node still run at the present rates; a second for one that waits for maps."""
    longest, o = 1_000_000 if w[n + NODE.MASTERS] != NONE else 0, w[n + NODE.HEAD]
    while o != NONE:
        left_us = 0 if w[o + OWNER.LEFT] else 1_000_000
        for leg in range(w[o + OWNER.USED]):
            at = o + OWNER.LEG + leg * LEG.SIZE
            p = w[at + LEG.POOL]
            if p != NONE:
                left_us = max(left_us, _left_us(w, f, p, f[at + LEG.ENDS_AT]))
        longest = max(longest, left_us)
        o = w[o + OWNER.NODE_NEXT]
    return longest


@compiled
def _left_us(w: Array, f: Array, p: int, ends_at: float) -> int:
    speed = rate(w, f, p)
    if speed == 0.0 or speed == inf:
        return 1
    clock = f[p + POOL.CLOCK] + speed * (w[HEADER.NOW] - w[p + POOL.AT_US])
    left_us: int = ceil((ends_at - clock) / speed)
    return max(1, left_us)
