"""One takeover: the second NameNode becomes the active one, and the ResourceManager starts beside it.

The point of no return is the journal: once the NameNode on the new node has taken it over, the one before it cannot
write any more, whether it was stopped or not.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Collection
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace

from fawkes.base.errors import FawkesError, HostError
from fawkes.base.units import SECOND_US
from fawkes.core.jobs.displaced import NEWEST
from fawkes.core.values.effects import MoveMasters
from fawkes.core.values.model import Facts, NodeId, Plain
from fawkes.live.base import limits
from fawkes.live.eyes.measure import is_ours
from fawkes.live.hadoop import ha
from fawkes.live.masters.handover import Handover
from fawkes.live.masters.succession import Means, StayError
from fawkes.live.nodes.clusters import LiveCluster
from fawkes.live.nodes.playbooks import hadoop, moving
from fawkes.live.wire import masters
from fawkes.live.wire.hadoop_rpc import RpcError
from fawkes.live.wire.masters import MasterAddresses, YarnApplication
from fawkes.live.wire.rest import Deadline, OwnFaultError, UnreadableError

_log = logging.getLogger(__name__)
#: a ResourceManager's own word for one that waits to be told to begin
_WAITS = "STANDBY"
#: whom a NodeManager follows that is to be started again
_NOBODY = "-"


class Takeover(Handover):
    """One try to have the second NameNode take over."""

    def __init__(self, means: Means, effect: MoveMasters, before: LiveCluster, current: Callable[[], bool]) -> None:
        standby = before.standby
        heir = standby if standby is None else replace(standby, node=None, ready=False)
        super().__init__(means, effect, before, replace(before, master=effect.to, standby=heir), current)
        # Those that are started again need a second time.
        self._members_s += effect.follow_us / SECOND_US if effect.rejoin_us else 0
        self._by_itself: Deadline | None = None
        self._started_again = False
        #: what the new NameNode says that it is
        self._here: str | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="stop")
        self._stopped: Future[None] | None = None

    def do(self) -> Facts | None:
        """See `Handover.do`."""
        # A node that is off holds up whoever asks it for many seconds: the NameNode does not wait for that.
        with self._thread:
            return super().do()

    def _begun(self) -> bool:
        """True if the NameNode is active: then it has taken the journal over in an earlier try of this move."""
        self._here = self._pair.state(self._cluster, self._to) if self._to in self._reached else None
        return self._here == ha.ACTIVE

    def _may_begin(self) -> None:
        name, planned, here = self._before.id, self._effect.planned, self._here
        alive = self._answers()
        if alive and not planned:
            raise StayError("its masters answer, so they stay where they are", where=name)
        if planned and (not alive or here != ha.STANDBY):
            why = f"the second NameNode on {self._to} does not answer" if alive else f"{self._old} does not answer"
            raise StayError(f"{why}, so its masters are not moved", where=name, silent=not alive)
        if here != ha.STANDBY:
            said = "it does not answer" if here is None else f"its NameNode says that it is {here}"
            raise HostError(f"{said}, so it cannot take over {name}", host=self._to)
        # Nobody is stopped for an order that could not be given.
        self._setup.session(self._cluster)
        if not planned:
            # HDFS goes on by it even while the KDC is away, and the ResourceManager comes once that is back.
            return
        try:
            self._build([self._to])
        except FawkesError as error:
            raise StayError(f"its masters stay on {self._old}: {error}", where=name) from error

    def _answers(self) -> bool:
        """True if the old masters work at this moment; OwnFaultError when they cannot be asked."""
        try:
            masters.answer(self._setup.masters(self._before), Deadline.after(limits.ALIVE_S))
        except OwnFaultError:
            # They may serve: nobody is stopped for that.
            raise
        except UnreadableError:
            return False
        return self._pair.state(self._before, self._old, Deadline.after(limits.ALIVE_S)) == ha.ACTIVE

    def _hand_over(self) -> None:
        """The NameNode on the new node takes the journal over; a planned move that fails here goes back."""
        if not self._effect.planned:
            self._stopped = self._thread.submit(self._stop_old)
            self._pair.become_active(self._cluster, self._to)
            return
        if (error := self._swap_namenodes(self._old, self._to)) is not None:
            raise StayError(f"its masters stay on {self._old}: {error.what}", where=self._before.id) from error

    # -- from the takeover on

    def _lead(self) -> None:
        """Show that the new NameNode writes, stop the old masters, and start the ResourceManager."""
        # Most of the journal takes what it writes: it is the one that may, and not one that was shut out.
        self._pair.roll(self._cluster, self._to)
        _log.info("%s: HDFS takes writes on %s", self._before.id, self._to)
        (self._stopped or self._thread.submit(self._stop_old)).result()
        if self._old not in self._reached:
            self._cluster = replace(self._cluster, shut_out=self._cluster.shut_out | {self._old})
        self._tell(self._cluster)
        if self._old in self._reached:
            # A former masters' node that came back works for the new ones: what runs there already goes on.
            self._start([self._old], ("datanode", "nodemanager"), "starting the workers")
        self._order("hdfs")
        self._start([self._to], hadoop.DAEMONS, "starting the ResourceManager")

    def _urge(self, addresses: MasterAddresses) -> None:
        """A ResourceManager starts as a standby, and becomes active when it is told to."""
        if masters.ha_state(addresses, Deadline.after(limits.ANSWER_S)) == _WAITS:
            try:
                self._pair.resource_manager_active(self._cluster, self._to)
            except RpcError as error:
                _log.info("%s: %s", self._cluster.id, error)

    def _stores(self, node: masters.StorageNode | None, since_min: float) -> bool:
        """A DataNode has listed its blocks to the second NameNode as well, before it became the first one."""
        return node is not None and node.alive

    def _bring_back(self, silent: Collection[NodeId], idle: Collection[NodeId]) -> None:
        """Start NodeManagers again, once, that run and do not find the new ResourceManager; their containers end."""
        super()._bring_back(silent, idle)
        # The ResourceManager is active when this is asked for the first time.
        self._by_itself = self._by_itself or Deadline.after(self._effect.follow_us / SECOND_US or math.inf)
        if self._started_again or self._by_itself.left() > 0 or not idle:
            return
        self._started_again = True
        _log.warning("%s: NodeManagers are started again: %s", self._cluster.id, ", ".join(sorted(idle)))
        # One that works for somebody else is stopped, with all that it runs, before it is started.
        leave = {at: moving.following(self._right(at), ["nodemanager"], _NOBODY) for at in idle}
        self._run_on_each(leave, "stopping the NodeManager", [self._to], None)
        self._start([at for at in idle if at in self._reached], ["nodemanager"], "starting the NodeManager again")

    def _settle(self) -> Facts:
        """The part that goes on, and every file: nothing that was acknowledged is missing."""
        addresses = self._setup.masters(self._cluster)
        everyone = masters.all_applications(addresses, Deadline.after(limits.ANSWER_S), tag="")
        known = [app for app in everyone if is_ours(app)]
        newest = [app for app in known if not app.ended] + [app for app in known if app.ended][-NEWEST:]
        self._pair.report_blocks(self._cluster, self._storing(self._reached))
        # Applications go on, and so do users' clients: only of those that have ended it is known that nobody writes on.
        files = self._files(addresses, [app.id for app in everyone if app.ended])
        return {
            "txid": self._pair.namenode(self._cluster, self._to).txid,
            "copied_us": None,
            "reached": sorted(self._reached),
            **files,
            "known": [_row(app) for app in newest],
            "finished": [app.id for app in newest if app.succeeded],
            "ended": [],
        }


def _row(app: YarnApplication) -> Plain:
    return {"id": app.id, "tags": list(app.tags)}
