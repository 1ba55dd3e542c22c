"""An MR-cluster that works without a journal gets one: its masters start again where they are.

The NameNode has all changes on its own disk, which is shown before anything is stopped. The journal begins with what
lies there, and the NameNode starts again and writes to both. Whatever fails on the way, that disk has everything, so
that the masters can start again without a journal. A configuration is written only while the NameNode is stopped: by it
the next try knows what the one that runs was started with.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace

from fawkes.base.errors import FawkesError, HostError
from fawkes.core.values.effects import ArmStandby, MoveMasters
from fawkes.core.values.model import Facts, NodeId
from fawkes.live.base import limits
from fawkes.live.clusters.leading import Leading
from fawkes.live.edits.own_edits import OwnEdits, own_edits
from fawkes.live.hadoop import ha
from fawkes.live.kerberos.keytab import is_of_site
from fawkes.live.masters.arming import Arming
from fawkes.live.masters.handover import Handover
from fawkes.live.masters.succession import Means, StayError
from fawkes.live.nodes.clusters import LiveCluster
from fawkes.live.nodes.playbooks import hadoop, moving, standby
from fawkes.live.nodes.playbooks import standby as book
from fawkes.live.wire.masters import MasterAddresses

_log = logging.getLogger(__name__)


class JournalBegin(Handover):
    """One try to start the masters again with a journal."""

    def __init__(self, means: Means, effect: ArmStandby, before: LiveCluster, current: Callable[[], bool]) -> None:
        here = effect.master
        stays = MoveMasters(effect.cluster, effect.version, here, here, planned=True, rejoin_us=effect.rejoin_us)
        before = replace(before, master=here, standby=None)
        super().__init__(means, stays, before, replace(before, standby=effect.standby), current)
        self._leading = Leading(means.ground, means.clusters, means.setup)
        # DataNodes may have blocks that a copy lacked, by which the masters came back.
        self._careful = True

    def do(self) -> Facts | None:
        """The nodes of the journal that answer; None when a newer goal came.

        StayError when the masters go on without a journal; HostError when their node does not answer.
        """
        means, name = self._means, self._before.id
        if means.clusters.moving(name) not in (None, self._to):
            raise FawkesError("its masters are being moved", where=name)
        means.clusters.begin_move(name, self._to)
        with means.copies.held(name):
            self._reached = means.reached(self._before, self._before.members)
            if self._to not in self._reached:
                raise HostError(f"it does not answer, so {name} cannot get a journal", host=self._to)
            why = self._lacks()
            try:
                if not why:
                    return self._walk()
            except FawkesError as error:
                if is_of_site(error) and self._own_edits().journal:
                    # Without the KDC they could not start without the journal either: the next try goes on.
                    raise
                self._go_back(error)
                why = str(error)
            means.clusters.end_move(name, self._to)
            raise StayError(f"it goes on without a journal: {why}", where=name)

    def _lacks(self) -> str:
        """The reason why the NameNode's own disk may lack something that it acknowledged; empty when all is there."""
        own = self._own_edits()
        if own.journal not in ("", self._wanted()):
            return f"its NameNode writes another journal ({own.journal}), so its own disk may lack changes"
        return "" if own.whole else "the disk of its NameNode lacks changes, or its image"

    def _begun(self) -> bool:
        """True if an earlier try has come as far as a NameNode that runs with this journal."""
        journal = self._cluster.journal
        if away := [at for at in journal if at not in self._reached]:
            raise HostError("it should have a part of the journal and does not answer", host=away[0])
        if self._own_edits().journal != self._wanted() or self._pair.state(self._cluster, self._to) is None:
            return False
        return len(self._pair.answering(self._cluster, journal)) == len(journal)

    def _wanted(self) -> str:
        """The new journal, as it stands in configurations."""
        return self._setup.settings(self._cluster)["hdfs-site"]["dfs.namenode.shared.edits.dir"]

    def _own_edits(self) -> OwnEdits:
        return own_edits(self._ground, self._to, self._before.id)

    def _may_begin(self) -> None:
        self._build(self._reached)

    def _hand_over(self) -> None:
        """Stop the masters, begin the journal with what they have, and start everybody again."""
        cluster, to = self._cluster, self._to
        self._stop_here(cluster)
        self._run_on_all(self._starts(cluster.journal, ["journalnode"]), "starting the journal")
        argv, env = self._setup.share_argv(cluster), self._setup.environment(cluster, to)
        self._run(to, standby.share(self._right(to), argv, env), "beginning the journal", limits.CHECKPOINT_S)
        self._start_all(cluster)

    def _stop_here(self, cluster: LiveCluster) -> None:
        """Stop the masters, and configure all members for ``cluster``.

        A journal that an earlier try began is set aside; the NameNode's own disk has what was written to it.
        """
        self._need_login(self._to)
        self._run(self._to, moving.stop(self._right(self._to)), "stopping the masters", limits.STEP_S)
        scripts = {at: standby.begin_afresh(self._right(at)) for at in self._cluster.journal if at in self._reached}
        self._run_on_all(scripts, "making way for the journal")
        self._tell(cluster)

    def _start_all(self, cluster: LiveCluster) -> None:
        """Start the daemons of all members; workers that followed others are started again."""
        starts = self._starts(self._reached, hadoop.DAEMONS, cluster)
        self._run_on_each(starts, "starting daemons", [self._to])

    def _urge(self, addresses: MasterAddresses) -> None:
        """Both masters begin as standbys."""
        self._leading.go_on(self._cluster)

    def _settle(self) -> Facts:
        """Show that most of the journal takes what the NameNode writes."""
        self._pair.roll(self._cluster, self._to)
        _log.info("%s: its NameNode on %s writes its new journal", self._cluster.id, self._to)
        return {"journal": list(self._pair.answering(self._cluster, self._cluster.journal))}

    def _go_back(self, why: FawkesError) -> None:
        """Start the masters as they were: without a journal, from their own disk. FawkesError when that fails too."""
        before, to = self._before, self._to
        if not self._own_edits().journal and self._pair.state(before, to) == ha.ACTIVE:
            return
        _log.warning("%s: its masters start again without a journal: %s", before.id, why)
        self._stop_here(before)
        self._start_all(before)


# --- One node of a journal is replaced by another one, while the MR-cluster works


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
