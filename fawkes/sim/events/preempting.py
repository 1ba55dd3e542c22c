"""Tasks that have to go in a simulated world: nodes tell of them, and they are saved or end.

A node writes one image after another, at the rate of its disk or of its network, whichever is less; a task runs until
its own is written, and reads it back before it goes on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fawkes.base.units import SECOND_US
from fawkes.core.values.effects import ClaimTasks, Effect, LookAtTasks, PreemptTasks
from fawkes.core.values.events import Done, Failed
from fawkes.core.values.model import ClusterId, NodeId, Plain
from fawkes.sim.events.heap import COMPLETION, Heap
from fawkes.sim.events.steps import Goes, Leaves
from fawkes.sim.hadoop.constants import Constants
from fawkes.sim.hadoop.model import Cluster
from fawkes.sim.hadoop.tasks import Running

OfTasks = LookAtTasks | ClaimTasks | PreemptTasks
"""Goals about the tasks on nodes."""


@dataclass(frozen=True, slots=True)
class Preempting:
    """The tasks of the MR-clusters of a world, by its constants."""

    clusters: Mapping[ClusterId, Cluster]
    constants: Constants

    def reach(self, effect: OfTasks, heap: Heap, now_us: int) -> Done | Failed | None:
        """The answer to a goal; None when it comes with the last of the steps that begin now."""
        cluster = self.clusters.get(effect.cluster)
        if cluster is None:
            error = f"there is no {effect.cluster}"
            return Failed(at_us=now_us, effect=effect.key, version=effect.version, error=error)
        if not isinstance(effect, PreemptTasks):
            nodes = effect.nodes if isinstance(effect, ClaimTasks) else (effect.node,)
            rows: list[Plain] = [_row(node, task) for node in nodes for task in cluster.savable(node)]
            return _done(effect, now_us, tasks=rows)
        left: dict[str, Plain] = {}
        dumps: dict[str, Plain] = {}
        there = {container_of(task): task for task in cluster.savable(effect.node)}
        at_us, steps = now_us, []
        for order in effect.orders:
            task = there.get(order.container)
            if task is None:
                left[order.container] = _over(cluster, effect.node)
            elif order.save:
                size = task.memory or 0
                at_us += self._time_us(size)
                steps.append((at_us, order, size))
            else:
                cluster.preempt(effect.node, task, None, 0)
                left[order.container] = ["killed", 0, 0]
        for number, (then_us, order, size) in enumerate(steps, 1):
            heap.push(
                then_us, COMPLETION, Goes(effect, order, size, then_us - now_us, left, dumps, number == len(steps))
            )
        self._look_again(effect.node, heap, now_us)
        return None if steps else _done(effect, now_us, left=left)

    def goes(self, step: Goes, goals: Mapping[str, Effect], heap: Heap, now_us: int) -> Done | None:
        """The image of a task is written: it leaves, with what is left of its work. The answer after the last one."""
        effect, name = step.effect, step.order.container
        if goals.get(effect.key) is not effect:
            return None
        cluster = self.clusters.get(effect.cluster)
        there = {} if cluster is None else {container_of(task): task for task in cluster.savable(effect.node)}
        task = there.get(name)
        if cluster is None or task is None:
            step.left[name] = _over(cluster, effect.node)
        else:
            # While it was written the task stood still.
            dump_us = self._time_us(step.size)
            stood_us = min(task.run_us, dump_us)
            whole_us = task.run_us + task.left_us
            kept = (task.left_us + stood_us) / whole_us if whole_us else 1.0
            cluster.preempt(effect.node, task, kept, dump_us)
            step.dumps[name] = dump_us
            step.left[name] = ["saved", step.size, step.took_us]
        self._look_again(effect.node, heap, now_us)
        return _done(effect, now_us, left=step.left, dumps=step.dumps) if step.last else None

    def _time_us(self, size: int) -> int:
        """The time to write or to read an image."""
        rate = min(self.constants.disk_bytes_s, self.constants.network_bytes_s)
        return round(size / rate * SECOND_US) if rate > 0 else 0

    @staticmethod
    def _look_again(node: NodeId, heap: Heap, now_us: int) -> None:
        """A node that leaves may be free now, and not only when its tasks would have ended."""
        for *_, what in list(heap.entries):
            if isinstance(what, Leaves) and what.node == node:
                heap.push(now_us, COMPLETION, what)
                return


def container_of(task: Running) -> str:
    """The name of the container of a task."""
    job, attempt = task.attempt
    return f"container_{job}_{attempt}_{task.number}"


def _over(cluster: Cluster | None, node: NodeId) -> list[Plain]:
    """The answer of a task that does not run any more: it ended by itself, unless its node has gone with it."""
    there = cluster is not None and node in cluster.nodes
    return ["ended", 0, 0] if there else ["gone", None, None]


def _row(node: NodeId, task: Running) -> dict[str, Plain]:
    return {
        "node": node,
        "container": container_of(task),
        "job": task.attempt[0],
        "index": task.number,
        "run_us": max(0, task.run_us - task.restore_us),
        "bytes": task.memory,
        "kills": task.kills,
        **({"restore_us": task.restore_us} if task.restore_us else {}),
    }


def _done(effect: OfTasks, now_us: int, **facts: Plain) -> Done:
    return Done(at_us=now_us, effect=effect.key, version=effect.version, facts=facts)
