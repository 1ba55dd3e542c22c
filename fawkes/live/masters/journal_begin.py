"""An MR-cluster that works without a journal gets one: its masters start again where they are.

The NameNode has all changes on its own disk, which is shown before anything is stopped. The journal begins with what
lies there, and the NameNode starts again and writes to both. Whatever fails on the way, that disk has everything, so
that the masters can start again without a journal. A configuration is written only while the NameNode is stopped: by it
the next try knows what the one that runs was started with.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace

from fawkes.base.errors import FawkesError, HostError
from fawkes.core.values.effects import ArmStandby, MoveMasters
from fawkes.core.values.model import Facts, NodeId
from fawkes.live.base import limits
from fawkes.live.clusters.leading import Leading
from fawkes.live.edits.own_edits import OwnEdits, own_edits
from fawkes.live.hadoop import ha
from fawkes.live.hadoop.ha import Pair
from fawkes.live.masters.handover import Handover, careful
from fawkes.live.masters.succession import Means, StayError
from fawkes.live.nodes.clusters import LiveCluster
from fawkes.live.nodes.playbooks import hadoop, moving, standby
from fawkes.live.wire.masters import MasterAddresses
from fawkes.playbook import Lease

_log = logging.getLogger(__name__)


class JournalBegin(Handover):
    """One try to start the masters again with a journal. Each step may be repeated after a crash of the controller."""

    def __init__(
        self, means: Means, pair: Pair, effect: ArmStandby, before: LiveCluster, current: Callable[[], bool]
    ) -> None:
        here = effect.master
        stays = MoveMasters(effect.cluster, effect.version, here, here, planned=True, rejoin_us=effect.rejoin_us)
        before = replace(before, master=here, standby=None)
        super().__init__(means, stays, before, replace(before, standby=effect.standby), current)
        self._pair = pair
        self._leading = Leading(means.ground, means.clusters, means.setup)
        # DataNodes may have blocks that a copy lacked, by which the masters came back.
        self._thaw = "hdfs-open"

    def do(self) -> Facts | None:
        """One try; the nodes of the journal that answer. None: a newer goal came.

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
            self._need_own_edits()
            try:
                return self._try()
            except FawkesError as error:
                self._go_back(error)
                means.clusters.end_move(name, self._to)
                raise StayError(f"it goes on without a journal: {error}", where=name) from error

    def _need_own_edits(self) -> None:
        """StayError, with nothing begun, unless all that the NameNode has acknowledged is on its own disk."""
        means, name = self._means, self._before.id
        own = self._own_edits()
        if own.journal not in ("", self._wanted()):
            why = f"its NameNode writes another journal ({own.journal}), so its own disk may lack changes"
        elif not own.whole:
            why = "the disk of its NameNode lacks changes, or its image"
        else:
            return
        means.clusters.end_move(name, self._to)
        raise StayError(f"it goes on without a journal: {why}", where=name)

    def _try(self) -> Facts | None:
        if away := [at for at in self._after.journal if at not in self._reached]:
            raise HostError("it should have a part of the journal and does not answer", host=away[0])
        if not self._writes_journal():
            self._begin()
        if not self._wait():
            return None
        name, to = self._after.id, self._to
        # Most of the journal takes what it writes.
        self._pair.roll(self._after, to)
        _log.info("%s: its NameNode on %s writes its new journal", name, to)
        self._means.membership.forget(name)
        self._means.clusters.arm(name, self._after.standby)
        self._means.clusters.end_move(name, to)
        return {"journal": list(self._pair.answering(self._after, self._after.journal))}

    def _writes_journal(self) -> bool:
        """True if an earlier try has come as far as a NameNode that runs with this journal."""
        if self._own_edits().journal != self._wanted() or self._pair.state(self._after, self._to) is None:
            return False
        return len(self._pair.answering(self._after, self._after.journal)) == len(self._after.journal)

    def _wanted(self) -> str:
        """The new journal, as it stands in configurations."""
        return self._setup.settings(self._after)["hdfs-site"]["dfs.namenode.shared.edits.dir"]

    def _own_edits(self) -> OwnEdits:
        return own_edits(self._ground, self._to, self._before.id)

    def _begin(self) -> None:
        """Stop the masters, begin the journal with what they have, and start everybody again."""
        after, to, right = self._after, self._to, self._right
        self._ground.run(to, moving.stop(right(to)), "stopping the masters", within_s=limits.STEP_S)
        self._make_way()
        self._tell(after, to, self._reached)
        self._start_journal()
        argv, env = self._setup.share_argv(after), self._setup.environment(after, to)
        script = standby.share(right(to), argv, env)
        self._ground.run(to, script, "beginning the journal", within_s=limits.CHECKPOINT_S)
        self._start(after)

    def _make_way(self) -> None:
        """A journal that an earlier try began is set aside; the NameNode's own disk has what was written to it."""
        scripts = {at: standby.begin_afresh(self._right(at)) for at in self._after.journal if at in self._reached}
        self._ground.all_well(self._ground.run_on(scripts, "making way for the journal", within_s=limits.STEP_S))

    def _start_journal(self) -> None:
        scripts = {}
        for at in self._after.journal:
            daemons = self._setup.daemons(self._after, at, self._after.members[at].role)
            scripts[at] = hadoop.start(self._right(at), [d for d in daemons if d.name == "journalnode"])
        self._ground.all_well(self._ground.run_on(scripts, "starting the journal", within_s=limits.STEP_S))

    def _start(self, cluster: LiveCluster) -> None:
        """Start the daemons of all members; workers that followed others are started again."""
        scripts = {}
        for at in self._reached:
            daemons = self._setup.daemons(cluster, at, cluster.members[at].role)
            scripts[at] = hadoop.start(self._right(at), [careful(d) for d in daemons])
        self._drop(self._ground.run_on(scripts, "starting daemons", within_s=limits.STEP_S), but=self._to)

    def _right(self, at: NodeId) -> Lease:
        return self._means.lease(self._after, at)

    def _urge(self, addresses: MasterAddresses) -> None:
        """Both masters begin as standbys."""
        self._leading.go_on(self._after)

    def _go_back(self, why: FawkesError) -> None:
        """Start the masters as they were: without a journal, from their own disk. FawkesError when that fails too."""
        before, to = self._before, self._to
        if not self._own_edits().journal and self._pair.state(before, to) == ha.ACTIVE:
            return
        _log.warning("%s: its masters start again without a journal: %s", before.id, why)
        self._ground.run(to, moving.stop(self._right(to)), "stopping the masters", within_s=limits.STEP_S)
        self._make_way()
        self._tell(before, to, self._reached)
        self._start(before)
