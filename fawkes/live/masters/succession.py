"""The means of a move of masters: the nodes, the copies, and how masters and members are at this moment."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from fawkes.base.errors import FawkesError, HostError
from fawkes.core.values.model import Facts, NodeId, Role
from fawkes.live.base import limits
from fawkes.live.clusters.membership import MembershipKeeper
from fawkes.live.edits.kept_copy import MastersDataError
from fawkes.live.hadoop.ha import NameNodePair
from fawkes.live.hadoop.setup import Setup
from fawkes.live.masters.keeping import Keeper
from fawkes.live.nodes.clusters import Clusters, LiveCluster
from fawkes.live.nodes.ground import Ground
from fawkes.live.nodes.playbooks import lease
from fawkes.live.nodes.playbooks import moving as book
from fawkes.live.wire import masters
from fawkes.live.wire.rest import Deadline, OwnFaultError, UnreadableError
from fawkes.playbook import Lease

_log = logging.getLogger(__name__)


class StayError(FawkesError):
    """The masters stay where they were: lost ones answer, or those that were to move do not (``silent``)."""

    def __init__(self, what: str, *, where: str, silent: bool = False) -> None:
        super().__init__(what, where=where)
        self.facts: Facts = {"alive": True, "silent": True} if silent else {"alive": True}


class GoneError(HostError):
    """New masters may have taken files, and what they had is gone from their disk."""


class UntouchedError(FawkesError):
    """A move failed before anything was begun on the new node; ``unreadable``: the old masters' data is damaged."""

    def __init__(self, error: FawkesError) -> None:
        """The same words as those of ``error``."""
        super().__init__(error.what, where=error.where, hint=error.hint)
        self.unreadable = isinstance(error, MastersDataError)


@dataclass(frozen=True, slots=True)
class MastersStanding:
    """The standing of masters on their node: ``state`` as in `LookAtMasters`, ``image`` None where it is not known."""

    state: str
    image: bool | None


@dataclass(frozen=True, slots=True)
class Means:
    """Nodes, MR-clusters, their configuration and their copies, for whoever looks at masters or moves them."""

    ground: Ground
    clusters: Clusters
    setup: Setup
    membership: MembershipKeeper
    copies: Keeper
    stopping: threading.Event
    pair: NameNodePair

    def copied(self, cluster: LiveCluster, reached: Iterable[NodeId]) -> tuple[int | None, int | None, str | None]:
        """Up to when the newest copy has everything, its last transaction, and who has it.

        A second copy counts only where the controller has none: it is never newer.
        """
        copy = self.copies.newest(cluster.id)
        if copy is not None:
            return copy.copied_us, copy.transaction, "controller"
        for at in sorted(reached):
            if cluster.members[at].role is Role.CORE:
                try:
                    copied_us = self.copies.second(cluster.id, at)
                except FawkesError as error:
                    _log.info("%s: its copy is not known: %s", at, error)
                    continue
                if copied_us is not None:
                    return copied_us, None, at
        return None, None, None

    def lease(self, cluster: LiveCluster, at: NodeId) -> Lease:
        """The right to change a member."""
        return self.ground.lease(at, cluster.id, cluster.members[at].generation)

    def reached(
        self, cluster: LiveCluster, nodes: Iterable[NodeId], *, within_s: float = limits.LOOK_S
    ) -> list[NodeId]:
        """The nodes that answer and take orders of this controller for the MR-cluster."""
        scripts = {n: lease.claim(self.lease(cluster, n)) for n in sorted(nodes)}
        outcomes = self.ground.run_on(scripts, "asking the node", within_s=within_s)
        return [n for n, outcome in outcomes.items() if not isinstance(outcome, FawkesError)]

    def standing(self, cluster: LiveCluster, at: NodeId, *, within_s: float = limits.STEP_S) -> MastersStanding:
        """The standing of the masters on a node at this moment."""
        script = book.look(self.lease(cluster, at))
        # Side by side: a node that is off takes both to their time limits.
        with ThreadPoolExecutor(1, thread_name_prefix="standing") as thread:
            looked = thread.submit(self.ground.run, at, script, "looking at the masters", within_s=within_s)
            deadline = Deadline.after(min(limits.ANSWER_S, within_s))
            try:
                masters.answer(self.setup.masters(replace(cluster, master=at)), deadline)
                state = "answers"
            except OwnFaultError as error:
                _log.info("%s: how its masters stand is not known: %s", at, error)
                state = "unknown"
            except UnreadableError:
                state = ""
            try:
                facts = looked.result()
            except FawkesError as error:
                _log.info("%s: %s", at, error)
                return MastersStanding(state or "silent", None)
        alive = {"namenode", "resourcemanager"} & set(facts.under("process"))
        image = {"yes": True, "no": False}.get(facts.get("image", ""))
        if not alive and state == "unknown":
            # What does not run does not serve, whoever could ask it.
            state = ""
        return MastersStanding(state or ("runs" if alive else "stopped"), image)
