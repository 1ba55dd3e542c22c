"""The fate of jobs when the masters of their MR-cluster have moved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fawkes.core.jobs import jobs
from fawkes.core.jobs.attempts import NOT_AGAIN, AttemptVerdict
from fawkes.core.state.draft import Draft
from fawkes.core.values.events import Progress
from fawkes.core.values.keys import Key
from fawkes.core.values.model import ClusterState, Facts, JobLife, JobState, Plain
from fawkes.core.values.tags import tag_of

NEWEST = 500
"""The number of ended applications from which fates are told: those of running jobs are among the newest."""


def rows(facts: Facts, name: str) -> list[Plain]:
    """The rows of a fact; empty where it is not known."""
    listing = facts.get(name)
    return list(listing) if isinstance(listing, Sequence) and not isinstance(listing, str) else []


def follow(draft: Draft, cluster: ClusterState, facts: Facts) -> None:
    """Applications go on under the new masters; what is not one yet, or has lost its client, does not."""
    known = {str(tag) for row in rows(facts, "known") if isinstance(row, Mapping) for tag in _tags(row)}
    for job in draft.busy_of(cluster.id):
        begun = draft.pending(Key.JOB.of(job.id))
        if tag_of(job.id, job.attempt) in known and begun is not None:
            draft.again(begun)
        else:
            _restart(draft, job)


def _tags(row: Mapping[str, Plain]) -> Sequence[Plain]:
    tags = row.get("tags")
    return tags if isinstance(tags, list | tuple) else ()


def displace(draft: Draft, cluster: ClusterState, facts: Facts) -> None:
    """Ends the jobs that ran under the old masters: by its history a job has succeeded, else it begins again."""
    finished = set(map(str, rows(facts, "finished")))
    for job in draft.busy_of(cluster.id):
        # The first application of a command of its own may have been one of several.
        if job.application and job.application in finished and not job.own:
            jobs.judged(draft, job, AttemptVerdict(Progress.SUCCEEDED))
        else:
            _restart(draft, job)


def _restart(draft: Draft, job: JobState) -> None:
    """Lets a job begin again whose attempt has ended with its masters, unless it must not."""
    if job.life is JobLife.CANCELLING:
        jobs.judged(draft, job, AttemptVerdict(Progress.CANCELLED))
    elif job.own:
        jobs.judged(draft, job, AttemptVerdict(Progress.FAILED, NOT_AGAIN))
    else:
        jobs.displaced(draft, job)
