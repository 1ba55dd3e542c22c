"""What a reader of the figures must know: where the model does something else than a real pool would."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fawkes.core.model import ClusterLife, NodeLife, Role
from fawkes.engine import Engine
from fawkes.sim.steps import Loss


class Copies:
    """Watches a run for MR-clusters that lose as many core nodes at once as they keep copies of a block.

    The model does not know which blocks these nodes had: it lets jobs succeed that would find their input gone.
    ``lost`` is the largest number of such nodes, by MR-cluster. A run without ``losses`` is not looked at.
    """

    def __init__(self, losses: Sequence[Loss]) -> None:
        self.lost: dict[str, int] = {}
        self._losses = losses

    def __call__(self, engine: Engine) -> None:
        """Look at the state after a step."""
        if not self._losses:
            return
        view = engine.view
        gone: dict[str, int] = {}
        for node in view.nodes.values():
            if node.life is NodeLife.LOST and node.owner is not None and node.role is not Role.TRANSIENT:
                gone[node.owner] = gone.get(node.owner, 0) + 1
        for cluster in view.clusters.values():
            count = gone.get(cluster.spec.id, 0)
            if cluster.life is ClusterLife.RUNNING and count >= cluster.spec.replication:
                self.lost[cluster.spec.id] = max(count, self.lost.get(cluster.spec.id, 0))


def copies_note(lost: Mapping[str, int]) -> str:
    """What ``Copies.lost`` means for the figures; empty when nothing was lost."""
    if not lost:
        return ""
    told = ", ".join(f"{name} ({count} nodes)" for name, count in sorted(lost.items()))
    return (
        f"core nodes with all copies of some blocks may have been lost at once: {told}. On a real pool jobs that read "
        "these blocks fail; in the model they succeed, so the figures are too good"
    )
