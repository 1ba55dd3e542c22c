"""Runs of the compiled pool: arrays in, an outcome out. The compiled code is kept on disk."""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from pathlib import Path

import numpy as np

from fawkes.base.paths import cache_dir
from fawkes.base.version import PACKAGE
from fawkes.offline.runs.code import digest_of
from fawkes.offline.studies.flat.allocators import Allocator, settings_of
from fawkes.offline.studies.flat.compiled import layout
from fawkes.offline.studies.flat.jobs import FlatJobs, Floats, Ints
from fawkes.offline.studies.flat.metrics import BATCH_S, GROUPS, FlatOutcome, IdleGroups, Mean
from fawkes.sim.hadoop.compiled.kept import kept


def run_compiled(jobs: FlatJobs, capacity: int, allocator: Allocator) -> FlatOutcome:
    """Share so many CPUs among the jobs as a bundled policy does; ValueError for jobs without deadlines set.

    UserError as `settings_of`.
    """
    if jobs.deadline_s is None:
        raise ValueError(f"{jobs.name} has no deadlines")
    settings = settings_of(allocator, capacity)
    horizon = jobs.span_s
    count = len(jobs)
    batches = np.zeros((int(horizon // BATCH_S) + 1, layout.BATCH))
    meters = np.zeros(layout.METER)
    meters[layout.HORIZON] = horizon
    most = np.minimum(jobs.tasks, capacity)
    counters = np.zeros(layout.COUNTERS, np.int64)
    counters[layout.FREE] = counters[layout.LAST_IDLE] = capacity
    ends, finish, start = np.zeros(count, np.int64), np.full(count, np.nan), np.full(count, np.nan)
    granted, consumed = np.zeros(count, np.int64), np.zeros(count)
    idle_counts = np.zeros((len(GROUPS), layout.BINS), np.int64)

    def whole(size: int = count) -> Ints:
        return np.zeros(size, np.int64)

    pool = layout.CompiledPool(
        submit=_whole(jobs.submit_s), work=_whole(jobs.work_s), deadline=_whole(jobs.deadline_s), most=most,
        tasks=np.ascontiguousarray(jobs.tasks, np.int64),
        by_deadline=np.argsort(jobs.submit_s + jobs.deadline_s, kind="stable"),
        s=settings, n=counters, known=np.zeros(layout.MEMORY),
        recent=np.zeros((max(1, int(settings[layout.WINDOW])), 2)),
        ends=ends, finish=finish, start=start, granted=granted, consumed=consumed,
        since=np.zeros(count), left=np.zeros(count), share=np.ones(count),
        waiting=whole(), running=whole(), running_at=whole() - 1, filling=whole(), filling_at=whole() - 1,
        held=np.zeros(count), asks=whole(2 * count), wanted=whole(), keys=np.zeros(count),
        m=meters, batches=batches, sums=np.zeros((int(most.max(initial=0)) + 1, 2), np.int64),
        idle_since=np.zeros((capacity // min(GROUPS) + 1, len(GROUPS))), idle_counts=idle_counts,
    )  # fmt: skip
    places = np.array([field.ctypes.data for field in pool])
    _compiled()(places.ctypes.data, count)
    return FlatOutcome(
        ends.astype(np.int8), finish, start, granted, consumed, jobs.work_s, jobs.deadline_s,
        utilisation=float(meters[layout.BUSY]) / (horizon * capacity) if horizon else None,
        fairness=_mean(meters, batches, 0),
        equality=_mean(meters, batches, 1),
        idle=tuple(idle_groups(size, float(meters[layout.EXISTS + at]), horizon, idle_counts[at])
                   for at, size in enumerate(GROUPS)),
    )  # fmt: skip


def _whole(column: Floats) -> Floats:
    """A column without gaps: compiled functions see its place in memory alone."""
    return np.ascontiguousarray(column, np.float64)


def _mean(meters: Floats, batches: Floats, which: int) -> Mean:
    count = int(meters[layout.SAMPLES])
    variance = float(meters[layout.SPREAD + which]) / (count - 1) if count > 1 else 0.0
    full = batches[batches[:, 0] > 0]
    return Mean(count, float(meters[layout.MEAN + which]), variance, tuple((full[:, 1 + which] / full[:, 0]).tolist()))


def idle_groups(size: int, exists_s: float, horizon_s: float, bins: Ints) -> IdleGroups:
    """The idle groups of a size, from the bins of idle intervals; ``bins`` has one more than `EDGES_S`."""
    total = int(bins.sum())
    longer = tuple((1 - np.cumsum(bins)[:-1] / total).tolist()) if total else ()
    return IdleGroups(size, exists_s / horizon_s if horizon_s else None, total, longer)


SOURCES = (
    "offline/studies/flat/compiled", "offline/studies/flat/jobs.py", "offline/studies/flat/metrics.py",
    "sim/hadoop/compiled/flows.py", "sim/hadoop/compiled/kept.py", "sim/hadoop/compiled/native.py",
)  # fmt: skip
"""Folders and files of the package that are in the compiled code."""


@cache
def _compiled() -> Callable[..., int]:
    """The compiled function, from disk where it has been compiled before."""

    def function() -> Callable[..., int]:
        from fawkes.offline.studies.flat.compiled.entry import run_at

        return run_at

    return kept(function, folder(), (int, int))


def compile_pool() -> None:
    """See to it that the compiled pool is on disk, for processes to come; it takes 10 s where it is not."""
    ones = np.ones(1)
    jobs = FlatJobs("one", np.zeros(1), np.ones(1, np.int64), ones, deadline_s=ones)
    run_compiled(jobs, 1, Allocator("BASELINE"))


def folder() -> Path:
    """The place where the compiled code of this version is kept, there or not."""
    tools = f"{sys.version} {platform.machine()} {version('numba')} {version('llvmlite')}"
    return cache_dir() / "flat" / digest_of_text(tools + digest_of(PACKAGE, SOURCES))


def digest_of_text(text: str) -> str:
    """16 hexadecimal digits for a text."""
    import hashlib

    return hashlib.sha256(text.encode()).hexdigest()[:16]
