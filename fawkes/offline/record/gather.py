"""Histories of recorded jobs, asked for one by one; what cannot be had is written down with its reason."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from fawkes.base.errors import FawkesError
from fawkes.core.values.model import JobState
from fawkes.offline.record.hadoop import applications_in

Ask = Callable[[JobState], Iterable[Mapping[str, Any]]]
"""The documents of the applications of a job's last attempt; FawkesError when they cannot be had."""


def gathered(
    jobs: Iterable[JobState], ask: Ask, step: Callable[[str], None]
) -> tuple[dict[str, dict[str, Any]], dict[str, str]]:
    """The histories by job, and the jobs that have none that tells anything, with the reason.

    What was answered is kept also when it tells nothing. ``step`` hears of each job.
    """
    histories: dict[str, dict[str, Any]] = {}
    missing: dict[str, str] = {}
    for job in jobs:
        try:
            documents = list(ask(job))
        except FawkesError as error:
            missing[job.id] = error.what
        else:
            why = _useless(documents)
            if why:
                missing[job.id] = why
            if documents:
                histories[job.id] = {"job": job.id, "attempt": job.attempt, "applications": documents}
        step(job.id)
    return histories, missing


def _useless(documents: list[Mapping[str, Any]]) -> str:
    """The reason why documents tell nothing of a job; empty when they do."""
    if not documents:
        return "YARN no longer has an application of it"
    try:
        if applications_in({"applications": documents}):
            return ""
    except (KeyError, TypeError, ValueError) as error:
        return f"its history cannot be understood ({error!r})"
    return next((str(row["why"]) for row in documents if row.get("why")), "none of its applications is a MapReduce job")
