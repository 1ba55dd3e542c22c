"""Sentences about an MR-cluster on which work stands still, cannot be done, or takes long."""

from __future__ import annotations

from fawkes.base.units import show_time
from fawkes.core.values.model import Reason

STUCK = (
    (
        Reason("stuck", {"cluster": "c", "since_us": 0, "tasks": 9, "held": 4, "slots": 4, "masters": 3}),
        f"c is stuck: no task has run since {show_time(0)}, although tasks wait (9) and slots are held (4 of 4, 3 by "
        "ApplicationMasters). Cancel a job, add nodes, or lower yarn.scheduler.capacity.maximum-am-resource-percent",
    ),
    (
        Reason("stuck", {"cluster": "c", "since_us": 0, "tasks": 9, "held": 4}),
        f"c is stuck: no task has run since {show_time(0)}, although tasks wait (9) and slots are held (4). Cancel a "
        "job, add nodes, or lower yarn.scheduler.capacity.maximum-am-resource-percent",
    ),
    (
        Reason(
            "unusable", {"cluster": "c", "what": "YARN runs nothing", "error": "no NodeManager runs", "jobs": ("j",)}
        ),
        "c: YARN runs nothing: no NodeManager runs. No job begins until that has ended",
    ),
    (
        Reason("usable", {"cluster": "c", "what": "YARN runs nothing"}),
        "c works again, and its jobs begin. This has ended: YARN runs nothing",
    ),
    (
        Reason("job-held", {"job": "j", "cluster": "c", "error": "YARN runs nothing: no NodeManager runs"}),
        "Job j waits, because its attempts would fail now. c: YARN runs nothing: no NodeManager runs",
    ),
    (
        Reason("late", {"cluster": "c", "error": "loading takes longer than usual: x"}),
        "c: loading takes longer than usual: x",
    ),
    (Reason("late", {"node": "n1", "cluster": "c", "error": "it is not wiped yet: x"}), "n1: it is not wiped yet: x"),
    (Reason("runs-again", {"cluster": "c"}), "c is no longer stuck: a task runs, or none waits"),
)
