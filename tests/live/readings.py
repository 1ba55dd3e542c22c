"""Shared parts of the tests of readings: an MR-cluster to read, its applications and jobs, and their answers."""

from __future__ import annotations

from typing import Any

from fawkes.core.values.model import ClusterId, Reading
from fawkes.live.eyes.measure import ReaderMemory, read_cluster
from fawkes.live.wire.masters import Target
from fawkes.live.wire.rest import Deadline
from tests.live.masters_server import Answer, Server, by_states, says

C1, C2 = ClusterId("c-1"), ClusterId("c-2")
ONE = "application_1795220018027_0001"
NONE: Any = {"apps": {}}


def target(server: Server, cluster: ClusterId = C1, **changes: Any) -> Target:
    return Target(cluster=cluster, masters=server.masters(**changes), task_mb=256)


def read(server: Server, memory: ReaderMemory | None = None, seconds: float = 20.0, **changes: Any) -> Reading:
    return read_cluster(target(server, **changes), memory or ReaderMemory(), Deadline.after(seconds))


def app(name: str = ONE, **changes: Any) -> dict[str, Any]:
    return {"id": name, "state": "RUNNING", "applicationType": "MAPREDUCE", "runningContainers": 3} | changes


def live(*apps: dict[str, Any], ended: object = NONE) -> Answer:
    return by_states({"apps": {"app": list(apps)}}, ended)


def job(maps: tuple[int, int, int], reduces: tuple[int, int, int] = (0, 0, 0)) -> dict[str, Any]:
    """A job by (total, running, completed) of its tasks."""
    row: dict[str, Any] = {}
    for kind, (total, running_now, completed) in {"maps": maps, "reduces": reduces}.items():
        row |= {f"{kind}Total": total, f"{kind}Running": running_now, f"{kind}Completed": completed}
    return row


def said(maps: tuple[int, int, int], reduces: tuple[int, int, int] = (0, 0, 0)) -> Answer:
    return says({"jobs": {"job": [job(maps, reduces)]}})
