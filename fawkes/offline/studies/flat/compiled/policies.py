"""Requests and memory of the bundled admission policies: the same float operations in the same order as their files."""

from __future__ import annotations

from math import ceil

from fawkes.offline.studies.flat.compiled import layout
from fawkes.offline.studies.flat.compiled.layout import (
    ALPHA,
    BOOTSTRAP,
    CLAMP,
    CORRECTION,
    COUNT,
    ERRORS,
    FRACTION,
    JUSTICE,
    KIND,
    LAST,
    LAST_MET,
    LEARN_KILLED,
    LEAST,
    MOST,
    ORACLE,
    PYTHIA,
    RATES,
    ROUNDING,
    SMOOTH,
    WINDOW,
)
from fawkes.offline.studies.flat.jobs import Floats
from fawkes.sim.hadoop.compiled.flows import compiled

_NONE, _FLAG = layout.LEARN.index("none"), layout.LEARN.index("flag")
_LITERAL = layout.ROUNDINGS.index("literal")
_MEAN, _EMA = layout.CORRECTIONS.index("mean"), layout.CORRECTIONS.index("ema")
_AVERAGE = layout.FRACTIONS.index("average")
_TOLERANCE = 1e-9


@compiled
def whole_cpus(amount: float) -> int:
    """The amount rounded up to whole CPUs, at least one."""
    return max(1, ceil(amount - _TOLERANCE))


@compiled
def in_bootstrap(s: Floats, known: Floats) -> bool:
    """True if too few jobs have ended to say what a job needs."""
    return bool(s[KIND] != ORACLE and known[COUNT] < s[BOOTSTRAP])


@compiled
def share_of(s: Floats, known: Floats) -> float:
    """The fraction of the CPUs that could work for it, which each job is asked for now."""
    if s[KIND] == PYTHIA:
        return float(known[MOST])
    if s[KIND] != JUSTICE or in_bootstrap(s, known):
        return 1.0
    counted = min(known[COUNT], s[WINDOW]) if s[WINDOW] > 0 else known[COUNT]
    if s[FRACTION] == _AVERAGE:
        middle = known[RATES] / counted
    else:
        middle = (known[LAST] + (known[LEAST] if known[LAST_MET] else known[MOST])) / 2
    error = 0.0
    if s[CORRECTION] == _MEAN:
        error = known[ERRORS] / counted
    elif s[CORRECTION] == _EMA:
        error = known[SMOOTH]
    return float(min(1.0, max(known[LEAST], middle + error)))


@compiled
def learn(
    s: Floats, known: Floats, recent: Floats, most: int, deadline_s: float, work_s: float, granted: int,
    share: float, met: bool, killed: bool,
) -> None:  # fmt: skip
    """A job has ended that could use ``most`` CPUs and was granted some of them for a ``share``."""
    if s[KIND] == PYTHIA:
        if not killed:
            _learn_most(s, known, work_s / deadline_s / most)
        return
    if s[KIND] != JUSTICE or (killed and s[LEARN_KILLED] == _NONE):
        return
    last = granted / most
    if killed and s[LEARN_KILLED] == _FLAG:
        if known[COUNT] > 0:
            known[LAST], known[LAST_MET] = last, 0.0
        return
    rate = work_s / deadline_s / most
    if rate > 1 + 1e-9:
        return
    error = rate - (last if s[ROUNDING] == _LITERAL else min(1.0, share))
    _remember(s, known, recent, rate, error)
    known[LAST], known[LAST_MET] = last, 1.0 if met else 0.0


@compiled
def _learn_most(s: Floats, known: Floats, rate: float) -> None:
    known[COUNT] += 1
    if not (s[CLAMP] and rate > 1 + 1e-9):
        known[MOST] = max(known[MOST], rate)
    if s[CLAMP]:
        known[MOST] = min(1.0, known[MOST])


@compiled
def _remember(s: Floats, known: Floats, recent: Floats, rate: float, error: float) -> None:
    first = known[COUNT] == 0
    alpha, before = s[ALPHA], error if first else known[SMOOTH]
    known[SMOOTH] = alpha * error + (1 - alpha) * before
    known[COUNT] += 1
    if s[WINDOW] == 0:
        known[LEAST] = rate if first else min(known[LEAST], rate)
        known[MOST] = rate if first else max(known[MOST], rate)
        known[RATES] += rate
        known[ERRORS] += error
        return
    size = int(s[WINDOW])
    kept = int(min(known[COUNT], size))
    if known[COUNT] > size:
        for at in range(2 * size - 2):
            recent[at] = recent[at + 2]
    recent[2 * kept - 2], recent[2 * kept - 1] = rate, error
    known[LEAST] = known[MOST] = rate
    known[RATES], known[ERRORS] = 0.0, 0.0
    for at in range(kept):
        known[LEAST], known[MOST] = min(known[LEAST], recent[2 * at]), max(known[MOST], recent[2 * at])
        known[RATES] += recent[2 * at]
        known[ERRORS] += recent[2 * at + 1]
