"""Tasks on a node that leaves: looked at, told to save themselves or to end, and followed until they are gone."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable

from fawkes.base.errors import FawkesError
from fawkes.base.units import SECOND_US
from fawkes.core.values.effects import ClaimTasks, LookAtTasks, PreemptTasks
from fawkes.core.values.model import Facts, NodeId, Plain
from fawkes.live.base import limits
from fawkes.live.nodes.ground import Ground
from fawkes.live.nodes.playbooks import tasks
from fawkes.playbook import Facts as Said

OfTasks = LookAtTasks | ClaimTasks | PreemptTasks
"""Goals about the tasks on nodes."""

#: microseconds in the unit of a node's clock
_HUNDREDTH = SECOND_US // 100
_ROW = re.compile(r"(\S+) (\d+) (\d+) (\d+) (\d+)(?: (\d+))?")


class LeavingTasks:
    """Hands for the tasks of nodes that leave; ``stopping`` ends every wait. Nothing is judged here."""

    def __init__(self, ground: Ground, stopping: threading.Event) -> None:
        self._ground = ground
        self._stopping = stopping

    def reach(self, effect: OfTasks, current: Callable[[], bool]) -> Facts | None:
        """The facts by which the goal ends, None when a newer one came; FawkesError when no node says anything."""
        if isinstance(effect, PreemptTasks):
            return self._preempt(effect, current)
        if isinstance(effect, ClaimTasks):
            nodes, hold = effect.nodes, (effect.priority, effect.hold_us / SECOND_US)
        else:
            nodes, hold = {effect.node: effect.generation}, None
        leases = {node: self._ground.lease(node, effect.cluster, nodes[node]) for node in nodes}
        scripts = {node: tasks.look(lease, hold=hold) for node, lease in leases.items()}
        rows: list[Plain] = []
        errors = []
        for node, said in self._ground.run_on(scripts, "looking at tasks", within_s=limits.TASKS_LOOK_S).items():
            if isinstance(said, FawkesError) or said.get("looked") != "yes":
                not_all = FawkesError("it did not see all of its processes", where=node)
                errors.append(said if isinstance(said, FawkesError) else not_all)
            else:
                rows += [row for container, text in said.under("task").items() if (row := _row(node, container, text))]
        if errors and len(errors) == len(nodes):
            raise errors[0]
        return {"tasks": rows}

    def _preempt(self, effect: PreemptTasks, current: Callable[[], bool]) -> Facts | None:
        right = self._ground.lease(effect.node, effect.cluster, effect.generation)
        orders = {order.container: order.save for order in effect.orders}
        within_s = effect.within_us / SECOND_US
        until_s = time.monotonic() + within_s
        script = tasks.preempt(right, orders, within_s=within_s)
        whys = dict(self._ground.run(effect.node, script, "telling tasks to go").under("why"))
        while True:
            look = tasks.went(
                right, list(orders), wait_s=min(limits.TASKS_WAIT_S, max(0.0, until_s - time.monotonic()))
            )
            said = self._ground.run(effect.node, look, "looking how tasks went")
            left = {container: _how(said, container) for container in orders}
            whys |= {container: why for container in orders if (why := _why(said, container))}
            if time.monotonic() >= until_s or all(row[0] not in ("runs", "unknown") for row in left.values()):
                return {"left": left, "why": whys}
            if self._stopping.is_set() or not current():
                return None


def _row(node: NodeId, container: str, text: str) -> dict[str, Plain] | None:
    match = _ROW.fullmatch(text)
    if match is None:
        return None
    index, kills, run, size = (int(match[place]) for place in range(2, 6))
    return {
        "node": node,
        "container": container,
        "job": match[1],
        "index": index,
        "run_us": run * _HUNDREDTH,
        "bytes": size,
        "kills": kills,
        **({"restore_us": int(match[6]) * _HUNDREDTH} if match[6] else {}),
    }


def _how(said: Said, container: str) -> list[Plain]:
    how, *numbers = said.get(f"went.{container}", "unknown").split()[:3]
    if len(numbers) == 2 and all(word.isdigit() for word in numbers):
        return [how, int(numbers[1]), int(numbers[0]) * _HUNDREDTH]
    return [how, None, None]


def _why(said: Said, container: str) -> str:
    """The reason that a container gave for having saved nothing."""
    return " ".join(said.get(f"went.{container}", "").split()[3:])
