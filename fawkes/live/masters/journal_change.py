"""One node of a journal is replaced by another one, while the MR-cluster works.

A NameNode knows its journal from its start. So both are started again with the new journal, one after the other, and
swap twice: HDFS takes no writes for about a second each time. What was acknowledged is on most nodes of the journal
until now; before the new one is written, both nodes that stay are shown to have all of it.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from fawkes.base.errors import FawkesError, HostError
from fawkes.core.values.model import Facts, NodeId
from fawkes.live.base import limits
from fawkes.live.hadoop import ha
from fawkes.live.masters.arming import Arming
from fawkes.live.nodes.playbooks import hadoop
from fawkes.live.nodes.playbooks import standby as book

_log = logging.getLogger(__name__)


class JournalChange(Arming):
    """One try to replace a node of the journal. Each step may be repeated after a crash of the controller."""

    def do(self) -> Facts | None:
        """One try; the nodes of the journal that answer. None: a newer goal came."""
        effect, means, name = self._effect, self._means, self._cluster.id
        new, before = set(effect.standby.journal), set(effect.before)
        joining, leaving, second = sorted(new - before), sorted(before - new), effect.standby.node
        if second is None or len(joining) != 1 or len(leaving) != 1:
            raise FawkesError("one node of its journal is replaced at a time, by one other node", where=name)
        if means.clusters.moving(name) is not None:
            raise FawkesError("its masters are being moved", where=name)
        # Nobody else starts a NameNode, or makes one active, until this try has ended.
        means.clusters.begin_move(name, second)
        try:
            done = self._change(joining[0], leaving[0], second)
        finally:
            means.clusters.end_move(name, effect.master)
        if not done:
            return None
        means.clusters.arm(name, effect.standby)
        return {"journal": list(self._pair.answering(self._cluster, effect.standby.journal))}

    def _change(self, joining: NodeId, leaving: NodeId, second: NodeId) -> bool:
        """True if all came to its end; False when a newer goal came in between."""
        stay = sorted(set(self._effect.before) & set(self._effect.standby.journal))
        if self._pair.state(self._cluster, second) != ha.ACTIVE:
            self._lead_first()
            if not self._join(joining, stay) or not self._going_on():
                return False
            self._end(leaving)
            self._configure()
            self._stop_namenode(second)
            if not self._bring_up_second(second):
                return False
            self._swap(second, stay)
        # An earlier try may have come as far as this; the one with the journal can do this alone.
        self._pair.roll(self._cluster, second)
        return self._swap_back(second)

    def _lead_first(self) -> None:
        """The first NameNode is active; where an earlier try was cut off between two, it becomes so again."""
        cluster, master = self._cluster, self._effect.master
        if self._pair.state(cluster, master) is None:
            self._start(master, "namenode")
            self._until([master], "namenode", lambda: self._pair.state(cluster, master) is not None)
        if self._pair.state(cluster, master) == ha.STANDBY:
            self._pair.become_active(cluster, master)
        self._need_active()

    def _join(self, joining: NodeId, stay: Sequence[NodeId]) -> bool:
        """Bring up the new part of the journal; False when a newer goal came."""
        if away := self._away(stay):
            raise FawkesError(f"its journal does not answer on {', '.join(away)}", where=self._cluster.id)
        if joining not in self._away([joining]):
            return True
        if not self._take([joining]):
            raise HostError("it does not answer, so it cannot have a part of the journal", host=joining)
        if not self._begin_journal_node(joining):
            raise HostError("it cannot begin with a part of the journal yet", host=joining)
        return self._until([joining], "journalnode", lambda: not self._away([joining]))

    def _end(self, leaving: NodeId) -> None:
        """Stop the part of the journal that leaves, where its node answers: it counts for nobody any more."""
        if self._take([leaving]):
            script = book.end_journal(self._right(leaving), namenode=leaving != self._effect.master)
            self._run(leaving, script, "ending a part of the journal", limits.STEP_S)

    def _configure(self) -> None:
        """Give all members that answer the addresses of the new journal; DataNodes read them as they run."""
        cluster = self._cluster
        self._reached = self._means.reached(cluster, cluster.members)
        scripts = {
            at: hadoop.configure(self._right(at), self._setup.files(cluster, at, cluster.members[at].role))
            for at in self._reached
        }
        self._run_on_each(scripts, "configuring", cluster.journal, None)
        for at in self._storing(self._reached):
            self._lead_datanode(at)

    def _swap(self, second: NodeId, stay: Sequence[NodeId]) -> None:
        """The second NameNode writes the new journal, once both nodes that stay have all of the old one.

        The first one is stopped in between: it would write the journal that it was started with.
        """
        cluster, master = self._cluster, self._effect.master
        self._pair.become_standby(cluster, master)
        try:
            self._prove(stay, self._pair.namenode(cluster, master).txid)
            self._stop_namenode(master)
            self._pair.become_active(cluster, second)
        except FawkesError:
            if self._pair.state(cluster, second) != ha.ACTIVE:
                self._lead_first()
                raise
        _log.info("%s: its NameNode on %s writes the new journal", cluster.id, second)

    def _prove(self, stay: Sequence[NodeId], txid: int) -> None:
        """HostError unless each of these nodes has the journal up to a transaction, by its files."""
        for at in stay:
            facts = self._run(at, book.ended(self._folders(at), self._name, txid), "looking at the journal")
            if facts.get("ended") != "yes":
                raise HostError("it does not have all of the journal, so nothing is replaced yet", host=at)

    def _swap_back(self, second: NodeId) -> bool:
        """The first NameNode starts with the new journal, follows, and becomes active again; False when overtaken."""
        cluster, master = self._cluster, self._effect.master
        self._start(master, "namenode")
        if not self._until([master], "namenode", lambda: self._follows(master, second)):
            return False
        if (error := self._swap_namenodes(second, master)) is not None:
            raise error
        self._pair.roll(cluster, master)
        self._pair.report_blocks(cluster, self._storing(cluster.members))
        return self._until([second], "namenode", lambda: self._follows(second))
