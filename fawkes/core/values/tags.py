"""The tags by which YARN knows the jobs of Fawkes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fawkes.core.values.model import JobId, Plain

#: as which jobs the world copies what an MR-cluster loads or saves; no user's job has such an id
COPY = "copy."
#: how the tags of such jobs begin
COPY_TAGS = f"fawkes-{COPY}"
_TAGS = "fawkes-"


def tag_of(job: JobId, attempt: int) -> str:
    """The application tag of an attempt of a job; YARN keeps tags in small letters."""
    return f"fawkes-{job}-{attempt}".lower()


def job_of(tags: Iterable[Plain]) -> str:
    """The job that an application with these tags was an attempt of, in small letters; empty when there is none."""
    for tag in map(str, tags):
        job, _, attempt = tag.removeprefix(_TAGS).rpartition("-")
        if tag.startswith(_TAGS) and not tag.startswith(COPY_TAGS) and job and attempt.isdigit():
            return job.lower()
    return ""


def is_copy(row: Plain) -> bool:
    """True if the row of an application (``tags``) is one that copies what an MR-cluster loads or saves."""
    tags = row.get("tags") if isinstance(row, Mapping) else None
    return isinstance(tags, list | tuple) and any(str(tag).startswith(COPY_TAGS) for tag in tags)
