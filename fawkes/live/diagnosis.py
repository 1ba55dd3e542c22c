"""Why a job failed, in its own words: what the JobHistory server knows of the task that ended it."""

from __future__ import annotations

import re

from fawkes.live.masters import Application, MasterAddresses
from fawkes.live.rest import Deadline, UnreadableError, get_json, listed

_TASK = re.compile(r"task_\d+_\d+_[mr]_\d+")


def task_error(masters: MasterAddresses, application: Application, deadline: Deadline) -> str:
    """The first line of what a failed task said last; empty where nobody knows.

    A ResourceManager tells only which task failed.
    """
    named = _TASK.search(application.diagnostics)
    if named is None or not masters.history:
        return ""
    job = application.id.replace("application", "job", 1)
    url = f"{masters.history}/ws/v1/history/mapreduce/jobs/{job}/tasks/{named[0]}/attempts"
    try:
        attempts = listed(get_json(url, deadline), "taskAttempts", "taskAttempt", url)
    except UnreadableError:
        return ""
    said = [str(one.get("diagnostics") or "").strip() for one in attempts if one.get("state") == "FAILED"]
    return next((text.splitlines()[0].removeprefix("Error: ") for text in reversed(said) if text), "")
