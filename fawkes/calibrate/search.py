"""Constants that no record shows by itself: of some values, that by which the recorded jobs are missed least."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from fawkes.calibrate.fit import HIGH, LEAST, LOW, RESAMPLES, SEED, Fit
from fawkes.calibrate.model_file import model_of
from fawkes.calibrate.validate import JUDGED, validated
from fawkes.record.folder import Record

#: of the time that a job takes to begin by itself: its client and its ApplicationMaster are little more than one thread
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)


def searched(fits: Sequence[Fit], records: Sequence[Record], step: Callable[[str], None]) -> tuple[Fit, ...]:
    """The fits with ``job_begin_cpu``: the share of ``job_begin`` that is work on the cores.

    The records are simulated with each share, and the mean of the absolute errors of the jobs is compared; the
    smallest share among equals. The uncertainty is over bootstrap resamples of the jobs. Not fitted without
    ``job_begin``, or with too few jobs.
    """
    begin_us = next(one.value for one in fits if one.name == "job_begin")
    if begin_us is None:
        return tuple(fits)
    values = [round(share * begin_us) for share in SHARES]
    errors = np.asarray([_errors(_with(fits, value, 0), records, step) for value in values])
    count = errors.shape[1]
    if count < LEAST:
        return _with(fits, None, count)
    chosen = np.random.default_rng(SEED).integers(0, count, size=(RESAMPLES, count))
    best = np.asarray(values)[np.argmin(errors[:, chosen].mean(axis=2), axis=0)]
    low, high = np.quantile(best, [LOW, HIGH])
    found = values[int(np.argmin(errors.mean(axis=1)))]
    return _with(fits, found, count, float(low), float(high))


def _errors(fits: Sequence[Fit], records: Sequence[Record], step: Callable[[str], None]) -> list[float]:
    found = validated(records, model_of(fits), step, runs_of_each=1)
    return [abs(row.error) for row in found.jobs if row.kind in JUDGED]


def _with(
    fits: Sequence[Fit], value: float | None, n: int, low: float | None = None, high: float | None = None
) -> tuple[Fit, ...]:
    return tuple(
        replace(one, value=value, n=n, low=low, high=high) if one.name == "job_begin_cpu" else one for one in fits
    )
