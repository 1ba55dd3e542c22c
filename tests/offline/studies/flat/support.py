"""Small sets of jobs and runs of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from fawkes.base.catalog import Catalog, CatalogFile, Origin
from fawkes.offline.studies.flat.allocators import Allocator, parsed
from fawkes.offline.studies.flat.jobs import FlatJobs
from fawkes.offline.studies.flat.metrics import ENDS, FlatOutcome
from fawkes.offline.studies.flat.play import play, policy_named

ROOT = Path(__file__).parents[4]
CATALOG = Catalog(bundled=ROOT)

Row = tuple[float, int, float, float]
"""Submission, tasks, work and deadline of a job, times in seconds; an infinite deadline for none."""


def jobs_of(*rows: Row) -> FlatJobs:
    submit, tasks, work, deadline = (list(column) for column in zip(*rows, strict=True)) if rows else ([], [], [], [])
    return FlatJobs("small", np.array(submit, float), np.array(tasks, np.int64), np.array(work, float), None,
                np.array(deadline, float))  # fmt: skip


def policy(name: str) -> CatalogFile:
    return replace(policy_named(Allocator(name), CATALOG), origin=Origin.BUNDLED)


def run(jobs: FlatJobs, capacity: int, allocator: str, *, readable: bool = True) -> FlatOutcome:
    asked = parsed(allocator)
    return play(jobs, capacity, asked, policy(asked.policy), readable=readable)


def ends(outcome: FlatOutcome) -> Sequence[str]:
    return [ENDS[code] for code in outcome.ends]
