"""Constants that no record shows by itself: of some values, those by which the recorded jobs are missed least."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import chain, product
from math import inf
from pathlib import Path

import numpy as np

from fawkes.offline.calibrate.fit import HIGH, LEAST, LOW, RESAMPLES, SEED, Fit
from fawkes.offline.calibrate.model_file import model_of
from fawkes.offline.calibrate.validate import validated
from fawkes.offline.record.folder import Record

#: what something takes of the cores, of the time that it takes alone: it is two threads at most. A job begins with a
#: client and an ApplicationMaster that wait for each other, a node comes with daemons that wait for nobody
SHARES: Mapping[str, tuple[float, ...]] = {
    "job_begin_cpu": (0.0, 0.25, 0.5, 0.75, 1.0),
    "join_cpu": (0.0, 0.5, 1.0, 1.5, 2.0),
}
_WHOLE = {"job_begin_cpu": "job_begin", "join_cpu": "join"}
#: how often each record is simulated
RUNS = len(list(product(*SHARES.values())))


def searched(
    fits: Sequence[Fit], records: Sequence[Record], step: Callable[[str], None], site: Path | None = None
) -> tuple[Fit, ...]:
    """The fits with ``job_begin_cpu`` and ``join_cpu``: shares of ``job_begin`` and ``join`` that are work on cores.

    The records are simulated with each pair of shares, and the mean of the absolute errors of the jobs is compared; the
    smallest shares among equals. The uncertainty of each is over bootstrap resamples of the jobs. A constant without
    the time that it is a share of is not fitted, and none is with too few jobs.
    """
    whole_us = {fit.name: fit.value for fit in fits}
    known = [name for name in SHARES if whole_us[_WHOLE[name]] is not None]
    if not known:
        return tuple(fits)
    tried = list(product(*(_values(SHARES[name], whole_us[_WHOLE[name]] or 0.0) for name in known)))
    by_job = [_errors(_with(fits, known, values, 0), records, step, site) for values in tried]
    # A job that was dropped or killed in both has no time; one that always ends otherwise tells no values apart.
    names = [name for name in dict.fromkeys(chain(*by_job)) if any(each.get(name, 0.0) < inf for each in by_job)]
    errors = np.asarray([[each.get(name, 0.0) for name in names] for each in by_job])
    count = errors.shape[1]
    if count < LEAST:
        return _with(fits, known, [None] * len(known), count)
    chosen = np.random.default_rng(SEED).integers(0, count, size=(RESAMPLES, count))
    best = np.asarray(tried)[np.argmin(errors[:, chosen].mean(axis=2), axis=0)]
    low, high = np.quantile(best, [LOW, HIGH], axis=0)
    fitted = _with(fits, known, tried[int(np.argmin(errors.mean(axis=1)))], count)
    ends = {name: (float(low[at]), float(high[at])) for at, name in enumerate(known)}
    return tuple(
        replace(fit, low=ends[fit.name][0], high=ends[fit.name][1]) if fit.name in ends else fit for fit in fitted
    )


def _values(shares: Sequence[float], whole_us: float) -> list[int]:
    return [round(share * whole_us) for share in shares]


def _errors(
    fits: Sequence[Fit], records: Sequence[Record], step: Callable[[str], None], site: Path | None
) -> dict[tuple[str, str], float]:
    validation = validated(records, model_of(fits), step, runs_of_each=1, site=site)
    return {(row.record, row.job): abs(row.error) for row in validation.judged}


def _with(fits: Sequence[Fit], names: Sequence[str], values: Sequence[float | None], n: int) -> tuple[Fit, ...]:
    said = dict(zip(names, values, strict=True))
    return tuple(replace(fit, value=said[fit.name], n=n) if fit.name in said else fit for fit in fits)
