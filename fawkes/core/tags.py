"""How YARN knows the jobs of Fawkes."""

from __future__ import annotations

from fawkes.core.model import JobId


def tag_of(job: JobId, attempt: int) -> str:
    """The application tag of an attempt of a job; YARN keeps tags in small letters."""
    return f"fawkes-{job}-{attempt}".lower()
