"""Tasks that lost their containers: attempts that run by their ApplicationMaster and nowhere by the ResourceManager.

The ResourceManager is asked after the ApplicationMaster. A container that has just ended may be missing there all the
same, so one look proves nothing; `core.strays` decides how long it must last.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from fawkes.core.values.sight import Stray
from fawkes.live.wire.masters import MasterAddresses
from fawkes.live.wire.rest import Deadline, UnreadableError, get_json, listed

_RUNNING = "RUNNING"
#: states of an attempt in which it needs its container
_HOLDING = (_RUNNING, "COMMIT_PENDING")


def strays_of(masters: MasterAddresses, name: str, deadline: Deadline) -> tuple[Stray, ...]:
    """The stray attempts of a MapReduce application; UnreadableError when nobody can tell."""
    url = f"{masters.resource_manager}/proxy/{name}/ws/v1/mapreduce/jobs/{name.replace('application', 'job', 1)}/tasks"
    running: dict[str, Stray] = {}
    for task in _rows(masters, url, "tasks", "task", deadline):
        if task.get("state") == _RUNNING:
            where = f"{url}/{task.get('id')}/attempts"
            for row in _rows(masters, where, "taskAttempts", "taskAttempt", deadline):
                container = str(row.get("assignedContainerId") or "")
                if row.get("state") in _HOLDING and container:
                    node = masters.name(str(row.get("nodeHttpAddress") or ""))
                    running[container] = Stray(str(row.get("id")), node)
    known = _containers(masters, name, deadline)
    return tuple(sorted((s for c, s in running.items() if c not in known), key=lambda stray: stray.attempt))


def _containers(masters: MasterAddresses, name: str, deadline: Deadline) -> Collection[str]:
    """The containers that the ResourceManager knows of an application; never those of an ApplicationMaster before."""
    url = f"{masters.resource_manager}/ws/v1/cluster/apps/{name}/appattempts"
    attempts = [str(row.get("appAttemptId")) for row in _rows(masters, url, "appAttempts", "appAttempt", deadline)]
    if not attempts:
        raise UnreadableError(url, "the ResourceManager names no ApplicationMaster of it")
    where = f"{url}/{max(attempts)}/containers"
    document = get_json(where, deadline, key=masters.key)
    rows = listed({"containers": document}, "containers", "container", where)
    containers = {str(row.get("containerId")) for row in rows}
    if not containers:
        raise UnreadableError(where, "the ResourceManager names no container of it, not even its ApplicationMaster's")
    return containers


def _rows(masters: MasterAddresses, url: str, outer: str, inner: str, deadline: Deadline) -> list[Any]:
    return [*listed(get_json(url, deadline, key=masters.key), outer, inner, url)]
