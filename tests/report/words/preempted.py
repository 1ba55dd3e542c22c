"""Sentences of tasks that have to go, and of streams that get more or fewer executors."""

from __future__ import annotations

from typing import Any

from fawkes.core.values.model import Reason

_TASK: dict[str, Any] = {"job": "j", "cluster": "c", "index": 3, "node": "n1", "run_us": 90_000_000}
_WENT: dict[str, Any] = {**_TASK, "ordered": "save", "size_bytes": 2_000_000, "took_us": 3_000_000}
_STREAM: dict[str, Any] = {"job": "s", "cluster": "c", "before": 2, "needs": 4, "error": ""}


def _must(action: str, cause: str, words: str, **facts: Any) -> tuple[Reason, str]:
    given = {**_TASK, "action": action, "cause": cause, "size_bytes": None, "ready_us": None, **facts}
    ran = "" if given["run_us"] is None else ", which has run for 1m30s,"
    return Reason("task-must-go", given), f"Task 3 of job j{ran} {words}: n1 leaves"


def _went(how: str, words: str) -> tuple[Reason, str]:
    return Reason("task-went", {**_WENT, "how": how}), f"Task 3 of job j on n1 {words}"


PREEMPTED = [
    _must("full", "policy", "is told to save itself as the preemption policy says"),
    _must("full", "policy", "is told to save itself as the preemption policy says", run_us=None),
    _must("wait", "policy", "is waited for as the preemption policy says"),
    _must("kill", "costs", "is ended because saving it would cost at least as much as it has done"),
    _must("kill", "late", "is ended because it could not be saved in time"),
    _must("kill", "unknown", "is ended because nobody knows how long saving it takes"),
    _must("kill", "store", "is ended because there is no room for what it would save"),
    _must("kill", "cannot", "is ended because it cannot be saved"),
    _must("kill", "cap", "is ended because it was ended as often as allowed"),
    (
        Reason("task-must-go", {**_TASK, "action": "full", "cause": "policy", "size_bytes": 1, "claimant": "q"}),
        "Task 3 of job j, which has run for 1m30s, is told to save itself as the preemption policy says: job q is "
        "more important",
    ),
    _went("saved", "has saved 2.0 MB in 3s and goes on elsewhere"),
    _went("killed", "has ended without saving anything: it goes on from what it had saved before, or begins again"),
    (
        Reason("task-went", {**_WENT, "how": "killed", "error": "CRIU cannot dump it: a socket"}),
        "Task 3 of job j on n1 has ended without saving anything: it goes on from what it had saved before, or begins "
        "again (CRIU cannot dump it: a socket)",
    ),
    _went("ended", "was done before it had to go"),
    _went("runs", "still runs although its time is over: YARN ends it"),
    _went("gone", "has left nothing that says how it went: without a result it runs again"),
    _went("unknown", "has left nothing that says how it went: without a result it runs again"),
    (
        Reason("stream-steered", {**_STREAM, "executors": 4, "error": "its queue grew: more workers"}),
        "Stream s gets 4 executors instead of 2: its queue grew: more workers",
    ),
    (
        Reason("stream-gives-back", {**_STREAM, "executors": 1, "waiting": 3, "entitled": 1}),
        "Stream s gets 1 executors instead of 2: 3 tasks of other jobs wait, and its guarantee is 1 of the 4 that it "
        "needs",
    ),
    (
        Reason("stream-takes-back", {**_STREAM, "executors": 4}),
        "Stream s gets 4 executors instead of 2: nobody else waits for room now",
    ),
]
