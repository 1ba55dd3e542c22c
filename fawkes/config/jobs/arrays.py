"""Jobs of tasks: so many copies of a command, each with its index, by an ApplicationMaster of Fawkes's own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from fawkes.base.errors import UserError
from fawkes.config.clusters.details import JobDetails, TaskArray
from fawkes.config.files.loader import wrong
from fawkes.core.values.model import JobSpec, NodeId

KIND = "tasks"
CLIENT = "fawkes.tasks.Client"
MOST_PRIORITY = 9
NO_CHECKPOINT, OWN, CRIU = "none", "own", "criu"

_PREFIX = "fawkes.tasks."
#: a node's own script for a container has each name in double quotes
_FILE = re.compile(r"(?!fawkes-)[A-Za-z0-9_+][A-Za-z0-9_+.-]*")


def checkpoint(value: object) -> object:
    """The value of ``checkpoint``; ValueError with a hint for what is none."""
    if value not in (NO_CHECKPOINT, OWN, CRIU):
        hint = 'Write "criu", "own" for a program that saves itself, or "none"'
        raise wrong(f"{value!r} is not a way to save tasks", hint)
    return value


def unusable(details: JobDetails) -> Iterator[tuple[str, str, str]]:
    """The key, the fault and the hint for all that cannot go along with tasks."""
    for name in details.files:
        if not _FILE.fullmatch(Path(name).name):
            hint = "Use letters, digits, '.', '_', '+' and '-', and no name that begins with fawkes-"
            yield "files", f"{Path(name).name!r} cannot be the name of a file in the folder of a task", hint
    for key in (*details.secrets, *(key for key in details.properties if key.startswith(_PREFIX))):
        what = "is a secret, which no task would see" if key in details.secrets else "belongs to Fawkes"
        yield "properties", f"{key} {what}", "Leave it out"


def unkept(array: TaskArray | None) -> str:
    """The reason why no grant of CPUs can be kept for such a job; empty when it can."""
    return f"its tasks have {array.cpus} CPUs each (cpus)" if array is not None and array.cpus > 1 else ""


def properties(spec: JobSpec, array: TaskArray, output: str, command: str, memory_mb: int) -> dict[str, str]:
    """The keys by which the client and the ApplicationMaster know the job; its containers have ``memory_mb``."""
    values = {
        "name": spec.id,
        "command": command,
        "count": spec.tasks,
        "memory.mb": memory_mb,
        "vcores": max(1, array.cpus),
        "priority": array.priority,
        "attempts": array.attempts,
        "output": output,
        "checkpoint": array.checkpoint,
    }
    return {f"{_PREFIX}{key}": str(value) for key, value in values.items()}


def container_mb(array: TaskArray, pool: Mapping[NodeId, tuple[int, int]], step_mb: int) -> int:
    """The memory of a task's container in MiB; UserError when no node of the pool has room for it.

    ``pool`` has memory and cores of each node. YARN places containers by memory alone: a task that asks for CPUs gets
    at least the memory that belongs to them, so that no node has more such tasks than cores for them.
    """
    most_mb, most_cores = (max(sizes) for sizes in zip(*pool.values(), strict=True))
    for key, size, most in (("memory", array.memory_mb, most_mb), ("cpus", array.cpus, most_cores)):
        if size > most:
            unit = " MiB" if key == "memory" else ""
            what = f"each task asks for {size}{unit}, and the largest node has {most}{unit}"
            raise UserError(what, where=key, hint="Ask for less, or add nodes to the pool")
    shares = [memory_mb * array.cpus // cores for memory_mb, cores in pool.values() if cores >= array.cpus]
    return max(array.memory_mb, max(shares) // step_mb * step_mb)
