"""Notes for readers of the figures: where the model does something else than a real pool would."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from fawkes.base.units import SECOND_US
from fawkes.core.values.decision import PutCluster
from fawkes.core.values.lifecycle import WITH_MASTERS
from fawkes.core.values.model import ClusterId, ClusterLife, NodeId, Role
from fawkes.engine import Engine
from fawkes.offline.scenarios.applications import guesses
from fawkes.sim.events.steps import Loss
from fawkes.sim.world import SimWorld
from fawkes.store.base import Reader
from fawkes.workload.formats.history import FAILED
from fawkes.workload.model import Trace, TraceJob


class CopyNote:
    """Watches a run for MR-clusters that lose as many core nodes at once as they keep copies of a block.

    The model does not know which blocks these nodes had: it lets jobs succeed that would find their input gone.
    ``lost`` is the largest number of such nodes, by MR-cluster: those whose disk is empty, and those that answer nobody
    for as long as masters wait for a heartbeat. The world is asked, because masters that are away tell of no node. A
    run without ``losses`` is not looked at.
    """

    def __init__(self, losses: Sequence[Loss]) -> None:
        self.lost: dict[str, int] = {}
        self._losses = losses
        self._gone_us: dict[NodeId, int] = {}
        self._looked_us = 0

    def __call__(self, engine: Engine, world: SimWorld) -> None:
        """Look at the state and the world after a step."""
        if not self._losses:
            return
        before_us, self._looked_us = self._looked_us, world.now_us
        self._gone_us = {node: self._gone_us.get(node, before_us) for node in world.gone}
        silent_us = world.now_us - world.delays.detect_us
        lost = [world.hosts[node] for node, us in self._gone_us.items() if node in world.emptied or us <= silent_us]
        gone = Counter(hosted.cluster for hosted in lost if hosted.role is not Role.TRANSIENT)
        for cluster in engine.view.clusters.values():
            count = gone[cluster.spec.id]
            if cluster.life is ClusterLife.RUNNING and count >= cluster.spec.replication:
                self.lost[cluster.spec.id] = max(count, self.lost.get(cluster.spec.id, 0))


def run_notes(lost: Mapping[str, int], missed: Sequence[str]) -> list[str]:
    """The notes on faults of a run, from `CopyNote.lost` and `struck_nobody`."""
    return [*([_copies_note(lost)] if lost else []), *([_nobody_note(missed)] if missed else [])]


def rows_notes(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The notes on faults of many runs, from the rows of a grid: each kind once, with the number of runs."""
    lost = [row["lost_copies"] for row in rows if row.get("lost_copies")]
    missed = [row["missed"] for row in rows if row.get("missed")]
    notes = ((lost, run_notes(lost[0], ()) if lost else []), (missed, run_notes({}, missed[0]) if missed else []))
    return [f"in {len(struck)} of {len(rows)} runs {note}" for struck, said in notes for note in said]


def _copies_note(lost: Mapping[str, int]) -> str:
    listed = ", ".join(f"{name} ({count} nodes)" for name, count in sorted(lost.items()))
    return (
        f"core nodes with all copies of some blocks may have been lost at once: {listed}. On a real pool jobs that "
        "read these blocks fail; in the model they succeed, so the figures are too good"
    )


def trace_notes(trace: Trace, used: Sequence[TraceJob]) -> list[str]:
    """Notes on jobs that were skipped or mended, and on guesses for the used ones; each line names the trace."""
    notes = [f"{what} {lines}" for what, lines in (("skipped", trace.dropped), ("mended", trace.mended)) if lines.total]
    if FAILED in trace.mended.counts:
        notes.append("a job that did not succeed is simulated as one that succeeds")
    return [f"{trace.source}: {line}" for line in (*notes, *guesses(used))]


def struck_nobody(store: Reader, losses: Sequence[Loss]) -> list[str]:
    """The losses of masters at a time at which their MR-cluster had none, as ``NAME at N s``: no node was lost."""
    waiting = sorted((loss for loss in losses if loss.masters_of is not None), key=lambda loss: -loss.at_us)
    if not waiting:
        return []
    serving: dict[ClusterId, bool] = {}
    struck: list[str] = []

    def judge(until_us: float) -> None:
        while waiting and waiting[-1].at_us < until_us:
            loss = waiting.pop()
            if loss.masters_of is not None and not serving.get(loss.masters_of, False):
                struck.append(f"{loss.masters_of} at {loss.at_us / SECOND_US:g} s")

    for entry in store.entries():
        judge(entry.event.at_us)
        for change in entry.decision.changes:
            if isinstance(change, PutCluster):
                life = change.state.life
                serving[change.state.id] = life in WITH_MASTERS and life is not ClusterLife.DEPLOYING
    judge(float("inf"))
    return struck


def _nobody_note(losses: Sequence[str]) -> str:
    return f"losses of masters struck no node, because the MR-cluster had no masters then: {', '.join(losses)}"
