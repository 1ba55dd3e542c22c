"""CPU quotas of containers on many nodes at once: what is wanted goes there, what is in force comes back."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from enum import StrEnum

from fawkes.base.errors import FawkesError, HostError
from fawkes.core.values.model import ClusterId, NodeId
from fawkes.live.nodes.ground import Ground
from fawkes.live.nodes.playbooks import quota
from fawkes.playbook import Facts

Wanted = Mapping[NodeId, tuple[ClusterId, int, Mapping[str, int | None]]]
"""For each node the MR-cluster and generation that hold it, and by container hundredths of a core; None: no limit."""

#: nodes that are reached at once, those that do not answer included; there are only as many threads as that takes
_MOST_THREADS = 256
_DOING = "setting CPU quotas"


class LimitMode(StrEnum):
    """The way of limits on CPU time: control groups of version 2 or 1, or stopping and continuing, which is coarse."""

    V2 = "v2"
    V1 = "v1"
    STOP = "stop"


class Limit(StrEnum):
    """The state of a container's limit, as its node reports it."""

    LIMITED = "limited"
    NONE = "none"
    GONE = "gone"
    DENIED = "denied"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class ContainerQuota:
    """The limit of one container: ``hundredths`` of a core where it is LIMITED, else None; ``why`` where DENIED."""

    limit: Limit
    hundredths: int | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class InForce:
    """The limits in force on a node, read back there, for each container that was named; ``mode`` None: not known."""

    mode: LimitMode | None
    containers: Mapping[str, ContainerQuota]


def read_back(facts: Facts, containers: Mapping[str, int | None]) -> InForce:
    """The limits in force by the facts of `playbooks.quota.limit`; UNKNOWN for a container that they do not name."""
    mode = facts.get("quota")
    return InForce(
        LimitMode(mode) if mode in set(LimitMode) else None,
        {container: _of(facts, container) for container in containers},
    )


def _of(facts: Facts, container: str) -> ContainerQuota:
    key = f"quota.{container}"
    hundredths = facts.number(key)
    if hundredths is not None:
        return ContainerQuota(Limit.LIMITED, hundredths)
    state = {"max": Limit.NONE, "gone": Limit.GONE, "denied": Limit.DENIED}.get(facts.get(key, ""), Limit.UNKNOWN)
    return ContainerQuota(state, why=facts.get(f"why.{container}", ""))


class NodeQuotas:
    """Sets CPU quotas on nodes. Nothing is judged here: who calls decides what an answer, or none, means.

    On each node a guard lifts all limits when none was set for ``lifetime_s``.
    """

    def __init__(self, ground: Ground, *, lifetime_s: float = 5.0) -> None:
        self._ground = ground
        self._lifetime_s = lifetime_s
        self._threads = ThreadPoolExecutor(_MOST_THREADS, thread_name_prefix="quota")
        self._running: dict[NodeId, Future[Facts]] = {}
        self._begun: dict[NodeId, tuple[ClusterId, int]] = {}

    def set(self, wanted: Wanted, within_s: float) -> dict[NodeId, InForce | FawkesError]:
        """Set the limits of all these nodes side by side, and read them back; an error for each node that fails.

        It returns after ``within_s`` at the latest. A node that has not answered by then is a HostError, and gets
        nothing new until its earlier answer is there or given up. Calls do not overlap.
        """
        sent: dict[NodeId, Future[Facts]] = {}
        answers: dict[NodeId, InForce | FawkesError] = {}
        for node, (cluster, generation, quotas) in wanted.items():
            earlier = self._running.get(node)
            if earlier is not None and not earlier.done():
                answers[node] = HostError("it has not answered about CPU quotas yet", host=node)
                continue
            sent[node] = self._running[node] = self._threads.submit(
                self._run, node, cluster, generation, quotas, within_s
            )
        done, _ = wait(sent.values(), timeout=within_s)
        for node, future in sent.items():
            answers[node] = (
                self._answer(future, wanted[node][2])
                if future in done
                else HostError(f"it did not confirm its CPU quotas within {within_s:g} s", host=node)
            )
        self._running = {node: future for node, future in self._running.items() if not future.done()}
        return answers

    def close(self) -> None:
        """Let go of the threads. Limits end with their lifetime."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _run(
        self, node: NodeId, cluster: ClusterId, generation: int, quotas: Mapping[str, int | None], within_s: float
    ) -> Facts:
        right = self._ground.lease(node, cluster, generation)
        if self._begun.get(node) == (cluster, generation):
            script = quota.renew(right, quotas, lifetime_s=self._lifetime_s)
            facts = self._ground.run(node, script, _DOING, within_s=within_s)
            if "due" not in facts:
                return facts
        script = quota.limit(right, quotas, lifetime_s=self._lifetime_s)
        facts = self._ground.run(node, script, _DOING, within_s=within_s)
        self._begun[node] = (cluster, generation)
        return facts

    def _answer(self, future: Future[Facts], quotas: Mapping[str, int | None]) -> InForce | FawkesError:
        try:
            return read_back(future.result(), quotas)
        except FawkesError as error:
            return error
