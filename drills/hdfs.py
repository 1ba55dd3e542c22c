"""HDFS as a drill in the simulator models it: what is written where, and what its masters refuse meanwhile.

The simulated world knows tasks and bytes, not which node holds which block. This stands beside it, follows the
ledger, and answers when the world asks whether something fails.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from drills.blocks import Blocks
from drills.checks import Copies, Failure
from drills.plan import Kind, Story
from fawkes.core.state.state import State
from fawkes.core.values.decision import Decision, PutJob
from fawkes.core.values.events import Condition, Event, NodeObserved, Sampled, news_of
from fawkes.core.values.model import ClusterId, JobId, JobLife, NodeId, NodeLife, Role
from fawkes.core.values.proof import Proof, unsafe
from fawkes.core.values.sight import Blocks as BlocksSeen

_INPUTS = ("/words", "/records")
#: nobody wants the files of an MR-cluster any more after a reason of these codes
_GIVEN_BACK = frozenset({"saved", "discarded", "gave-up", "called-off"})
#: what the masters of an MR-cluster do not do while they do not answer as they should
_NEED_MASTERS = frozenset({"read", "membership", "load", "save", "survey"})
#: masters of which nothing is heard meanwhile
MUTE = frozenset({Kind.NAMENODE, Kind.RESOURCE_MANAGER, Kind.DELAYED, Kind.GARBAGE})


@dataclass(frozen=True, slots=True)
class _Spell:
    """From when until when something is not as it should be."""

    kind: Kind
    name: str
    from_us: int
    until_us: int

    def holds(self, name: str, at_us: int) -> bool:
        return self.name == name and self.from_us <= at_us < self.until_us


@dataclass(slots=True)
class Hdfs:
    """All HDFS of a drill. ``dead`` are the nodes that do not answer, as the world keeps them.

    ``to_prove`` is what a report on all blocks must show right before a node is wiped; None where none is wanted.
    """

    story: Story
    dead: set[NodeId]
    blocks: Blocks = field(default_factory=Blocks)
    lost_to_faults: int = 0
    to_prove: dict[NodeId, Proof | None] = field(default_factory=dict)
    _spells: list[_Spell] = field(default_factory=list)
    _robbed: set[ClusterId] = field(default_factory=set)

    # --- what goes wrong

    def disturb(self, kind: Kind, cluster: ClusterId, from_us: int, until_us: int) -> None:
        """The masters of an MR-cluster are not as they should be for a while."""
        self._spells.append(_Spell(kind, cluster, from_us, until_us))

    def damage(self, node: NodeId, from_us: int, until_us: int) -> None:
        """The lease of a node cannot be read until an administrator has put it right."""
        self._spells.append(_Spell(Kind.LEASE, node, from_us, until_us))

    def disturbed(self, cluster: ClusterId, at_us: int) -> Kind | None:
        """What is wrong with the masters of an MR-cluster at a time."""
        return next((s.kind for s in self._spells if s.kind is not Kind.LEASE and s.holds(cluster, at_us)), None)

    def right_again_us(self, cluster: ClusterId, at_us: int) -> int:
        """When nothing is wrong any more with the masters that are disturbed now."""
        return max(
            (s.until_us for s in self._spells if s.kind is not Kind.LEASE and s.holds(cluster, at_us)), default=at_us
        )

    def emptied(self, node: NodeId, state: State) -> None:
        """A fault took all that a node held; with the only core node the names of all files.

        Where there is another core node, its masters take over from the kept copy.
        """
        lost = self.blocks.wipe(node, "a fault emptied its disk")
        for cluster in state.clusters.values():
            if cluster.master == node and not self._storing(cluster.id, state, core=True) - {node}:
                lost += self.blocks.lose_all(cluster.id, "a fault took the NameNode's disk")
                # Also while it loads, and has no file yet: an operator has to restore it.
                self._robbed.add(cluster.id)
        self._robbed.update(file.cluster for file in lost)
        self.lost_to_faults += len(lost)

    def robbed(self) -> set[ClusterId]:
        """The MR-clusters of which a fault took files for good, or keeps them as long as its node is away."""
        away = {file.cluster for file in self.blocks.files.values() if file.replicas <= self.dead}
        return self._robbed | away

    # --- what the world asks before something succeeds

    def refuses(self, kind: str, name: str, state: State, at_us: int) -> str | None:
        """Why something fails, None when it does not; kinds as in `fawkes.sim.events.steps.Faults`."""
        if kind in _NEED_MASTERS or kind == "deploy":
            return self._masters_refuse(kind, ClusterId(name), state, at_us)
        if kind in ("join", "clean"):
            spoilt = any(s.kind is Kind.LEASE and s.holds(name, at_us) for s in self._spells)
            return "its lease cannot be read" if spoilt else None
        if kind == "evacuate":
            return self._evacuates(NodeId(name), state, at_us)
        if kind == "wipe":
            return self._not_proven(NodeId(name), state, at_us)
        return None

    def _masters_refuse(self, kind: str, name: ClusterId, state: State, at_us: int) -> str | None:
        cluster = state.clusters.get(name)
        if cluster is None:
            return None
        if cluster.master in self.dead:
            return f"{cluster.master} does not answer"
        if kind in _NEED_MASTERS and self.disturbed(name, at_us) in MUTE:
            return "the masters do not answer"
        if kind == "load" and not self._storing(name, state, core=True):
            return "no DataNode answers"
        missing = self.blocks.missing(name, live=self._live(name, state)) if kind == "save" else []
        return f"{len(missing)} files cannot be read: {', '.join(missing[:3])}" if missing else None

    def _evacuates(self, node: NodeId, state: State, at_us: int) -> str | None:
        """Copy what a leaving node holds; why that is not done yet."""
        owner = state.nodes[node].owner
        if owner is None:
            return None
        if node in self.dead:
            return f"{node} does not answer"
        refused = self._masters_refuse("membership", owner, state, at_us)
        if refused is not None:
            return refused
        into = self._storing(owner, state) - {node}
        live = self._live(owner, state)
        held = [file for file in self.blocks.of(owner) if node in file.replicas]
        for file in held:
            self.blocks.copy(file, into=into)
        short = [file.path for file in held if len((file.replicas - {node}) & live) < file.replication]
        return f"{len(short)} blocks have too few replicas elsewhere" if short else None

    def _not_proven(self, node: NodeId, state: State, at_us: int) -> str | None:
        """What a report on all blocks says right before a wipe, where one is asked for."""
        owner = state.nodes[node].owner
        proof = self.to_prove.get(node)
        if owner is None or proof is None:
            return None
        silent = self._masters_refuse("membership", owner, state, at_us)
        return silent or unsafe(self.report(owner, node, state, at_us), proof, since_us=at_us - 1) or None

    def report(self, cluster: ClusterId, node: NodeId, state: State, asked_us: int) -> BlocksSeen:
        """What the NameNode says of the blocks of a node: which are on too few others, which nowhere."""
        sound = self._storing(cluster, state) - {node}
        at_risk = tuple(
            sorted(
                file.path
                for file in self.blocks.of(cluster)
                if node in file.replicas and len(file.replicas & sound) < max(1, min(file.replication, len(sound)))
            )
        )
        missing = tuple(self.blocks.missing(cluster, live=self._live(cluster, state)))
        return BlocksSeen(
            asked_us=asked_us,
            known=True,
            has_own=True,
            at_risk=at_risk,
            at_risk_files=len(at_risk),
            missing=missing,
            missing_files=len(missing),
        )

    # --- what has happened

    def saw(self, event: Event, decision: Decision, state: State) -> Iterator[Failure]:
        """Follow a step of the ledger; what must never happen to a file that is wanted."""
        for reason in decision.reasons:
            cluster = reason.facts.get("cluster")
            if isinstance(cluster, str) and reason.code in _GIVEN_BACK:
                self.blocks.forget(ClusterId(cluster))
                self._robbed.discard(ClusterId(cluster))
            elif isinstance(cluster, str) and reason.code == "loaded":
                self._loaded(ClusterId(cluster), state)
        for change in decision.changes:
            if isinstance(change, PutJob) and change.state.life is JobLife.SUCCEEDED:
                self._written(change.state.id, state)
        for news in news_of(event):
            if isinstance(news, Sampled):
                for name in state.clusters:
                    self.blocks.replicate(name, live=self._live(name, state), into=self._storing(name, state))
            elif isinstance(news, NodeObserved) and news.condition is Condition.CLEAN:
                yield from self._wiped(news.node, state)

    def _loaded(self, cluster: ClusterId, state: State) -> None:
        replication = state.clusters[cluster].spec.replication
        for path in _INPUTS:
            nodes = self._storing(cluster, state, core=True)
            self.blocks.place(cluster, path, nodes=nodes, replication=replication, written=False)

    def _written(self, job: JobId, state: State) -> None:
        """A job has ended well: its output lies on the nodes that store."""
        plan = next(plan for plan in self.story.jobs if plan.name == job)
        cluster = state.clusters.get(ClusterId(plan.cluster))
        if cluster is None or not cluster.active:
            return
        for number in range(plan.writes):
            nodes = self._storing(cluster.id, state)
            path = f"/output/{job}/part-{number}"
            self.blocks.place(cluster.id, path, nodes=nodes, replication=cluster.spec.replication, written=True)

    def _wiped(self, node: NodeId, state: State) -> Iterator[Failure]:
        lost = self.blocks.wipe(node, "Fawkes wiped its last replica")
        for cluster in state.clusters.values():
            if cluster.master == node:
                lost += self.blocks.lose_all(cluster.id, "Fawkes wiped the NameNode's disk")
        for file in lost:
            yield Failure("data lost", f"{file.cluster}: {file.path}: {node} was wiped, which held its last replica")

    def copies(self) -> Iterator[Copies]:
        """Every file that is wanted, as the checks want it."""
        for file in self.blocks.files.values():
            there = bool(file.replicas - self.dead)
            excused = bool(file.replicas & self.dead) or file.lost_by.startswith("a fault")
            yield Copies(
                cluster=file.cluster, path=file.path, wanted="=", found="=" if there else None, excused=excused
            )

    def _live(self, cluster: ClusterId, state: State) -> set[NodeId]:
        """The nodes of an MR-cluster that answer."""
        return {node for node in state.nodes_of(cluster) if node not in self.dead}

    def _storing(self, cluster: ClusterId, state: State, *, core: bool = False) -> set[NodeId]:
        """The nodes on which an MR-cluster may write now."""
        roles = (Role.CORE,) if core else (Role.CORE, Role.TRANSIENT_CORE)
        return {
            node
            for node in self._live(cluster, state)
            if state.nodes[node].role in roles and state.nodes[node].life is NodeLife.SERVING
        }
