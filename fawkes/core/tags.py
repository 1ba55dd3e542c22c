"""How YARN knows the jobs of Fawkes."""

from __future__ import annotations

from collections.abc import Mapping

from fawkes.core.model import JobId, Plain

#: as which jobs the world copies what an MR-cluster loads or saves; no user's job has such an id
COPY = "copy."
#: how the tags of such jobs begin
COPY_TAGS = f"fawkes-{COPY}"


def tag_of(job: JobId, attempt: int) -> str:
    """The application tag of an attempt of a job; YARN keeps tags in small letters."""
    return f"fawkes-{job}-{attempt}".lower()


def is_copy(row: Plain) -> bool:
    """Whether the row of an application (``tags``) is one that copies what an MR-cluster loads or saves."""
    tags = row.get("tags") if isinstance(row, Mapping) else None
    return isinstance(tags, list | tuple) and any(str(tag).startswith(COPY_TAGS) for tag in tags)
