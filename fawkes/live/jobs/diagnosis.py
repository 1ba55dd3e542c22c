"""Causes of failed jobs, in the words of the task that ended one, of the ResourceManager, or of its client."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from urllib.parse import urlsplit

from fawkes.core.values.sight import ClientCause
from fawkes.live.base import limits
from fawkes.live.wire.masters import MasterAddresses, YarnApplication
from fawkes.live.wire.rest import Deadline, UnreadableError, get_json, get_lines, listed

_CHATTER = re.compile(r"\S+ \S+ (INFO|WARN|DEBUG) ")
_TELLING = ("Exception", "Error", "error")
SPARK = "SPARK"
_PYTHON_ENDED = "exited with status"
#: the last lines of a driver that ended before YARN knew it are among YARN's words
_ENDED_EARLY = re.compile(r"Final app status: FAILED, exitCode: \d+, \(reason: (?:Uncaught exception: )?(.*)")
_MOST_LOG_BYTES = 20_000
_LOG_BEGINS = "LogType:"
_TASK = re.compile(r"task_\d+_\d+_[mr]_\d+")
#: what a client that gave nothing to YARN may have said, and how it is told
_CAUSES = (
    (
        ClientCause.OUTPUT_EXISTS,
        re.compile(r"Output directory (\S+) already exists"),
        "its output folder {} exists already: give it another one, or remove that one",
    ),
    (
        ClientCause.NO_CLASS,
        re.compile(r"(?:ClassNotFoundException:|Could not find or load main class) (\S+)"),
        "there is no class {} in its jar or in Hadoop: correct its name",
    ),
    (
        ClientCause.NO_LOGIN,
        re.compile(r"(?:LoginException:|No valid credentials provided) (.+)"),
        "its client could not log in at the KDC: {}. Check that a KDC runs and answers the nodes",
    ),
)


def why_failed(
    masters: MasterAddresses, applications: Iterable[YarnApplication], stderr: str, deadline: Deadline
) -> str:
    """The error of the failed task; else the ResourceManager's about its application; else the client's last words.

    Empty when nobody said anything.
    """
    for application in applications:
        if application.ended and not application.succeeded and application.diagnostics:
            said = application.diagnostics.strip().split("\n")[0].strip()
            own = driver_error if application.kind == SPARK else task_error
            task = own(masters, application, deadline)
            return f"{said}: {task}" if task else said
    words = [line.strip() for line in stderr.split("\n") if line.strip() and not line.lstrip().startswith("at ")]
    telling = [line for line in words if any(word in line for word in _TELLING) and _CHATTER.match(line) is None]
    # Pig's last error is one of its own; which input was missing it says before that.
    unread = [line for line in words if line.startswith("Failed to read data from")]
    return (unread or telling or words or [""])[-1].removeprefix("Caused by: ")


def cause_of(stderr: str) -> tuple[ClientCause, str]:
    """The reason why a client gave nothing to YARN, and its words; not known, and empty, when it said other things."""
    for cause, pattern, words in _CAUSES:
        if match := pattern.search(stderr):
            what = urlsplit(match[1]).path if cause is ClientCause.OUTPUT_EXISTS else match[1].strip()
            return cause, words.format(what)
    return ClientCause.NOT_KNOWN, ""


def task_error(masters: MasterAddresses, application: YarnApplication, deadline: Deadline) -> str:
    """The first line of what a failed task said last; empty where nobody knows.

    A ResourceManager tells only which task failed.
    """
    named = _TASK.search(application.diagnostics)
    if named is None or not masters.history:
        return ""
    job = application.id.replace("application", "job", 1)
    url = f"{masters.history}/ws/v1/history/mapreduce/jobs/{job}/tasks/{named[0]}/attempts"
    try:
        attempts = listed(get_json(url, deadline, key=masters.key), "taskAttempts", "taskAttempt", url)
    except UnreadableError:
        return ""
    said = [str(attempt.get("diagnostics") or "").strip() for attempt in attempts if attempt.get("state") == "FAILED"]
    return next((text.split("\n")[0].strip().removeprefix("Error: ") for text in reversed(said) if text), "")


def driver_error(masters: MasterAddresses, application: YarnApplication, deadline: Deadline) -> str:
    """The exception that ended a driver; empty where nobody knows, or YARN's first line says all.

    That line has the exception of a program in Java that had begun to use Spark. Of one in Python YARN knows the exit
    code, and the exception is in its log, which is there a moment after the application has ended.
    """
    if _PYTHON_ENDED not in application.diagnostics or not masters.history:
        early = _ENDED_EARLY.search(application.diagnostics)
        return early[1].strip() if early else ""
    url = f"{masters.resource_manager}/ws/v1/cluster/apps/{application.id}/appattempts"
    try:
        attempts = listed(get_json(url, deadline, key=masters.key), "appAttempts", "appAttempt", url)
    except UnreadableError:
        return ""
    container = str(attempts[-1].get("containerId") or "") if attempts else ""
    log = f"{masters.history}/ws/v1/history/containerlogs/{container}/stdout?size=-{_MOST_LOG_BYTES}"
    while container and deadline.left() > 0:
        try:
            lines = list(get_lines(log, deadline, key=masters.key))
        except UnreadableError:
            lines = []
        if any(line.startswith(_LOG_BEGINS) for line in lines):
            return python_error(lines)
        time.sleep(min(limits.LOG_EVERY_S, max(0.0, deadline.left())))
    return ""


def python_error(lines: Iterable[str]) -> str:
    """The exception at the end of the last traceback in a log; empty without one."""
    error, inside = "", False
    for line in lines:
        if line.startswith("Traceback (most recent call last)"):
            inside = True
        elif inside and line and not line[0].isspace():
            error, inside = line.strip(), False
    return error
