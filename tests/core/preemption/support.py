"""Parts that tests of preemption share: bundled policies, tasks and devices at 100 MB/s."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fawkes.base.units import SECOND_US
from fawkes.core.preemption.values import Choose, Device, Medium, Task
from fawkes.policy import policy_text
from fawkes.policy.preemption import compile_preemption

FOLDER = Path(__file__).parents[3] / "policies" / "preemption"
NAMES = ("adaptive", "checkpoint", "kill", "wait")
MB = 2.0**20
RATE = 100 * MB
MEDIUM = Medium(write=RATE, read=RATE, network=10 * RATE)


def policy(name: str) -> Choose:
    path = FOLDER / f"{name}.py"
    return compile_preemption(policy_text(name.upper(), str(path), path.read_text("utf-8")), own=True)


POLICIES = {name: policy(name) for name in NAMES}


def device(queue_s: float | None = 0.0, medium: Medium = MEDIUM) -> Device:
    return Device(medium=medium, queue_s=queue_s)


def task_row(
    node: str, number: int, *, job: str = "a-1", run_s: float | None = 30, megabytes: int | None = 5, **more: object
) -> dict[str, Any]:
    """A row that a node gives of one of its tasks."""
    return {
        "node": node,
        "container": f"container_{number}",
        "job": job,
        "index": number,
        "run_us": None if run_s is None else round(run_s * SECOND_US),
        "bytes": None if megabytes is None else megabytes * 1_000_000,
        "kills": 0,
        **more,
    }


def task(name: str, megabytes: float | None = 1000.0, progress_s: float | None = 60.0, **other: object) -> Task:
    """A task on the node n; of 1,000 MB and with 60 s of progress, so that a dump takes 10 s and a restore 10 s."""
    values = {"node": "n", "memory": None if megabytes is None else megabytes * MB, "progress_s": progress_s, **other}
    return Task(id=name, **values)  # type: ignore[arg-type]
