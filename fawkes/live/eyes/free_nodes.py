"""Eyes on the nodes that belong to nobody: whether they answer. What follows is decided in `core.node_work`."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import PurePosixPath

from fawkes.base.errors import FawkesError
from fawkes.core.values.events import Condition, NodeObserved
from fawkes.core.values.model import NodeId, NodeLife, NodeState, Plain
from fawkes.live.base import limits
from fawkes.live.base.mailbox import Mailbox
from fawkes.live.nodes.ground import Ground
from fawkes.live.nodes.playbooks import lease
from fawkes.live.nodes.ssh import SshError
from fawkes.playbook import Facts

_log = logging.getLogger(__name__)


class FreeNodesWatch:
    """Looks at all free nodes side by side, one round at a time; ``free`` gives these as the ledger has them.

    A node is told of when it does not answer or says that somebody holds it, and when that has passed. Of a node that
    is not free only the latter is told.
    """

    def __init__(self, ground: Ground, mailbox: Mailbox, free: Callable[[], Iterable[NodeState]]) -> None:
        self._ground = ground
        self._mailbox = mailbox
        self._free = free
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="free")
        self._round: Future[None] | None = None

    def round(self) -> None:
        """Begin a look, unless the last one goes on."""
        if self._round is None or self._round.done():
            self._round = self._thread.submit(self._look)

    def close(self) -> None:
        """Begin no more looks."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _look(self) -> None:
        try:
            self._look_at({state.node.id: state for state in self._free() if state.node.id in self._ground.nodes})
        except Exception:
            _log.exception("a defect while looking at free nodes")

    def _look_at(self, free: Mapping[NodeId, NodeState]) -> None:
        scripts = {node: lease.show(PurePosixPath(self._ground.nodes[node].work_dir)) for node in free}
        outcomes = self._ground.run_on(scripts, "asking a free node", within_s=limits.LOOK_S) if scripts else {}
        for node, outcome in outcomes.items():
            alert = free[node].alert
            if isinstance(outcome, SshError):
                if not alert:
                    why = ". ".join(part for part in (outcome.what, outcome.hint) if part)
                    self._tell(free[node], Condition.FAILED, why)
            elif isinstance(outcome, FawkesError):
                continue
            elif free[node].life is not NodeLife.FREE:
                self._tell(free[node], Condition.ANSWERS)
            elif why := _held(outcome, self._ground.identity.pool):
                if alert != why:
                    self._tell(free[node], Condition.FAILED, why, held=True)
            elif alert:
                self._tell(free[node], Condition.CLEAN)

    def _tell(self, state: NodeState, condition: Condition, error: str = "", **facts: Plain) -> None:
        node, generation = state.node.id, state.generation
        self._mailbox.tell(
            lambda at: NodeObserved(
                at_us=at, node=node, generation=generation, condition=condition, error=error, facts=facts
            )
        )


def _held(facts: Facts, pool: str) -> str:
    """Words on who holds a node of which the ledger says that nobody does; empty when nobody seems to.

    The ledger is another one than that of the hand-over: a restored backup, or one that began while the node was off.
    """
    cluster = facts.get("lease.cluster", "") if facts.get("lease.pool") == pool else ""
    if cluster:
        return (
            f"its lease says that {cluster} holds it, with generation {facts.get('lease.generation', '?')}, of which "
            "this ledger knows nothing"
        )
    folders = sorted(facts.all("folder"))
    return f"it has the folder of {', '.join(folders)}, and nobody holds it" if folders else ""
