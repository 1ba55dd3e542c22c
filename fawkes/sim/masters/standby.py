"""Second NameNodes of simulated MR-clusters, and their journals: what runs where, and what is told of it.

A NameNode writes each edit to most nodes of its journal, so it cannot go on without most of them. The second one takes
over only if it follows and most of the journal answers; nothing that was acknowledged is lost then.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from fawkes.base.values import replace
from fawkes.core.values.effects import ArmStandby, Deploy
from fawkes.core.values.events import StandbySeen
from fawkes.core.values.model import ClusterId, NodeId, Standby
from fawkes.sim.events.steps import Hosted

#: why masters cannot start, or write any more
NO_JOURNAL = "most nodes of its journal do not answer"


@dataclass(slots=True)
class Pair:
    """The second NameNode of an MR-cluster and its journal, where they should be by ``standby``.

    JournalNodes run on ``running`` nodes; the folders of ``filled`` ones have the journal. The second NameNode has a
    folder to start from on ``image`` and follows on ``follower``. ``reported`` is what was told last.
    """

    standby: Standby
    running: set[NodeId] = field(default_factory=set)
    filled: set[NodeId] = field(default_factory=set)
    image: NodeId | None = None
    follower: NodeId | None = None
    reported: tuple[NodeId, bool, str] | None = None

    @property
    def most(self) -> bool:
        """True if most nodes of the journal answer."""
        return 2 * len(self.answering) > len(self.standby.journal)

    @property
    def answering(self) -> list[NodeId]:
        """The nodes of the journal that answer."""
        return [node for node in self.standby.journal if node in self.running]

    def sight(self) -> tuple[NodeId, bool, str] | None:
        """Place where the second NameNode is, whether it can take over, and what is not whole; None: there is none."""
        if self.standby.node is None:
            return None
        follows = self.follower == self.standby.node
        wrong = [] if follows else [f"no second NameNode follows on {self.standby.node}"]
        if silent := [node for node in self.standby.journal if node not in self.running]:
            wrong.append(f"the journal does not answer on {', '.join(silent)}")
        return self.standby.node, follows and self.most, "; ".join(wrong)


@dataclass(slots=True)
class Standbys:
    """The pairs of all MR-clusters of a world, whose ``hosts`` and ``dead`` nodes these are."""

    hosts: dict[NodeId, Hosted]
    dead: set[NodeId]
    pairs: dict[ClusterId, Pair] = field(default_factory=dict)

    def deployed(self, effect: Deploy) -> NodeId | None:
        """The journal of a new MR-cluster runs; where its second NameNode is still to come. None: it has neither."""
        self.pairs.pop(effect.cluster, None)
        if effect.standby is None:
            return None
        journal = {node for node in effect.standby.journal if node not in self.dead}
        self.pairs[effect.cluster] = Pair(effect.standby, set(journal), set(journal))
        return effect.standby.node

    def refuses(self, effect: Deploy) -> NodeId | None:
        """The node without which an MR-cluster cannot be deployed; None when all that must answer do."""
        needed = (effect.master, *(effect.standby.journal if effect.standby is not None else ()))
        return next((node for node in needed if node in self.dead), None)

    def follow(self, cluster: ClusterId, node: NodeId) -> None:
        """The second NameNode was brought up on a node, unless that is lost by now."""
        pair = self.pairs.get(cluster)
        if pair is not None and self._answers(cluster, node):
            pair.image = pair.follower = node

    def stops(self, cluster: ClusterId, node: NodeId, *, emptied: bool) -> bool:
        """Nothing runs on a node any more; whether the masters can no longer write because of it."""
        pair = self.pairs.get(cluster)
        if pair is None:
            return False
        wrote = pair.most
        pair.running.discard(node)
        if pair.follower == node:
            pair.follower = None
        if emptied:
            pair.filled.discard(node)
            if pair.image == node:
                pair.image = None
        return wrote and not pair.most

    def starts(self, cluster: ClusterId, node: NodeId) -> None:
        """The daemons of a node run again: those of this one that have a folder to start from."""
        pair = self.pairs.get(cluster)
        if pair is None:
            return
        if node in pair.filled and node in pair.standby.journal:
            pair.running.add(node)
        if node == pair.image == pair.standby.node:
            pair.follower = node

    def serves(self, cluster: ClusterId, node: NodeId) -> None:
        """The masters serve on a node: a NameNode that followed there does so no more."""
        pair = self.pairs.get(cluster)
        if pair is not None and node in (pair.image, pair.follower, pair.standby.node):
            pair.image = pair.follower = None
            pair.standby = replace(pair.standby, node=None, ready=False)

    def why_not(self, cluster: ClusterId, node: NodeId) -> str:
        """The reason why the NameNode on a node cannot become active; empty when it can."""
        pair = self.pairs.get(cluster)
        if pair is None or pair.follower != node:
            return f"the NameNode on {node} is no standby that follows"
        return "" if pair.most else NO_JOURNAL

    def cannot_write(self, cluster: ClusterId) -> bool:
        """True if masters that start cannot become active because of their journal."""
        pair = self.pairs.get(cluster)
        return pair is not None and not pair.most

    def arm(self, effect: ArmStandby, *, masters_serve: bool) -> str:
        """Bring up what is not whole, on nodes that answer; why that is not enough, or nothing once all follows."""
        if not effect.before:
            return self._begin(effect, masters_serve=masters_serve)
        pair = self.pairs.get(effect.cluster)
        if pair is None:
            return f"{effect.cluster} has no journal"
        journal, node = effect.standby.journal, effect.standby.node
        answering = {member for member in journal if self._answers(effect.cluster, member)}
        pair.running |= pair.filled & answering
        if not pair.most:
            return NO_JOURNAL
        if not masters_serve:
            return "its masters do not answer"
        needed = [*(at for at in journal if at not in pair.standby.journal), *([] if node is None else [node])]
        if silent := [member for member in needed if member not in answering]:
            return f"no answer from {silent[0]}"
        # A folder that is empty gets the files of another one, of which there are most.
        pair.filled = (pair.filled | answering) & set(journal)
        pair.running = pair.filled & answering
        pair.image = pair.follower = node
        pair.standby = effect.standby
        return ""

    def _begin(self, effect: ArmStandby, *, masters_serve: bool) -> str:
        """A new journal, beside masters that serve, on nodes that all answer; why not, or nothing once it is there."""
        journal = set(effect.standby.journal)
        if not masters_serve:
            return "its masters do not answer"
        if silent := sorted(member for member in journal if not self._answers(effect.cluster, member)):
            return f"no answer from {silent[0]}"
        self.pairs[effect.cluster] = Pair(effect.standby, set(journal), set(journal))
        return ""

    def look(self, cluster: ClusterId, now_us: int) -> StandbySeen | None:
        """The news of a second NameNode; None when nothing has changed."""
        pair = self.pairs.get(cluster)
        seen = None if pair is None else pair.sight()
        if pair is None or seen is None or seen == pair.reported:
            return None
        pair.reported = seen
        node, ready, error = seen
        return StandbySeen(at_us=now_us, cluster=cluster, node=node, ready=ready, error=error)

    def _answers(self, cluster: ClusterId, node: NodeId) -> bool:
        hosted = self.hosts.get(node)
        return hosted is not None and hosted.cluster == cluster and node not in self.dead


def without_memory(pairs: Mapping[ClusterId, Pair]) -> dict[ClusterId, Pair]:
    """The pairs as a new controller finds them: it tells everything afresh."""
    for pair in pairs.values():
        pair.reported = None
    return dict(pairs)
