"""What is said of an MR-cluster whose tasks wait while none runs."""

from __future__ import annotations

from fawkes.core.model import Reason
from fawkes.units import show_time

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
    (Reason("runs-again", {"cluster": "c"}), "c is no longer stuck: a task runs, or none waits"),
)
