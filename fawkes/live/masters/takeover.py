"""One takeover: the second NameNode becomes the active one, and the ResourceManager starts beside it.

Each step may be repeated after a crash of the controller. The point of no return is the journal: once the NameNode on
the new node has taken it over, the one before it cannot write any more, whether it was stopped or not.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace

from fawkes.base.errors import HostError
from fawkes.base.units import SECOND_US
from fawkes.core.values.effects import MoveMasters
from fawkes.core.values.model import Facts, NodeId, Plain
from fawkes.core.values.proof import NAMED
from fawkes.live.base import limits
from fawkes.live.data.left_open import LeftOpen
from fawkes.live.eyes.measure import is_ours
from fawkes.live.hadoop import ha
from fawkes.live.hadoop.ha import Pair
from fawkes.live.masters.handover import Handover
from fawkes.live.masters.succession import Means, StayError
from fawkes.live.nodes.clusters import LiveCluster
from fawkes.live.nodes.playbooks import hadoop, moving
from fawkes.live.wire import masters
from fawkes.live.wire.hadoop_rpc import RpcError
from fawkes.live.wire.masters import Application, MasterAddresses
from fawkes.live.wire.rest import Deadline, UnreadableError

_log = logging.getLogger(__name__)
#: applications that are told, beside those that go on
_TOLD = 500
#: a ResourceManager's own word for one that waits to be told to begin
_WAITS = "STANDBY"
#: whom a NodeManager follows that is to be started again
_NOBODY = "-"


class Takeover(Handover):
    """One try to have the second NameNode take over."""

    def __init__(
        self, means: Means, pair: Pair, effect: MoveMasters, before: LiveCluster, current: Callable[[], bool]
    ) -> None:
        standby = before.standby
        heir = standby if standby is None else replace(standby, node=None, ready=False)
        super().__init__(means, effect, before, replace(before, master=effect.to, standby=heir), current)
        self._pair = pair
        # Those that are started again need a second time.
        self._members_s += effect.follow_us / SECOND_US if effect.rejoin_us else 0
        self._by_itself: Deadline | None = None
        self._started_again = False

    def do(self) -> Facts | None:
        """One try, from the beginning or from where an earlier one was cut off."""
        means, name, to = self._means, self._before.id, self._to
        self._reached = means.reached(self._before, [n for n in self._before.members if n != self._old])
        here = self._pair.state(self._after, to) if to in self._reached else None
        with ThreadPoolExecutor(1, thread_name_prefix="stop") as thread:
            # A node that is off holds up whoever asks it for many seconds: the NameNode does not wait for that.
            stopping: Future[None] | None = None
            if here != ha.ACTIVE:
                # A NameNode that is active has taken the journal over in an earlier try of this move.
                self._may_begin(here)
                if not self._current():
                    means.clusters.end_move(name, self._old)
                    return None
                if not self._effect.planned:
                    stopping = thread.submit(self._stop_old)
                self._take_over()
            # Most of the journal takes what it writes: it is the one that may, and not one that was shut out.
            self._pair.roll(self._after, to)
            _log.info("%s: HDFS takes writes on %s", name, to)
            (stopping or thread.submit(self._stop_old)).result()
        if self._old not in self._reached:
            self._after = replace(self._after, shut_out=self._after.shut_out | {self._old})
        self._tell(self._after, to, self._reached)
        self._start_old_workers()
        self._order("hdfs")
        script = hadoop.start(means.lease(self._after, to), self._daemons(to))
        self._ground.run(to, script, "starting the ResourceManager", within_s=limits.STEP_S)
        if not self._wait():
            return None
        facts = self._settle()
        means.clusters.arm(name, self._after.standby)
        means.clusters.end_move(name, to, {self._old} - set(self._reached))
        return facts

    def _may_begin(self, here: str | None) -> None:
        """StayError when the masters stay where they are, HostError when the second NameNode cannot take over now."""
        name, planned = self._before.id, self._effect.planned
        alive = self._answers()
        if alive and not planned:
            self._means.clusters.end_move(name, self._old)
            raise StayError("its masters answer, so they stay where they are", where=name)
        if planned and (not alive or here != ha.STANDBY):
            self._means.clusters.end_move(name, self._old)
            why = f"the second NameNode on {self._to} does not answer" if alive else f"{self._old} does not answer"
            raise StayError(f"{why}, so its masters are not moved", where=name, silent=not alive)
        if here != ha.STANDBY:
            said = "it does not answer" if here is None else f"its NameNode says that it is {here}"
            raise HostError(f"{said}, so it cannot take over {name}", host=self._to)

    def _answers(self) -> bool:
        """True if the old masters work at this moment."""
        try:
            masters.answer(self._setup.masters(self._before), Deadline.after(limits.ALIVE_S))
        except UnreadableError:
            return False
        return self._pair.state(self._before, self._old, Deadline.after(limits.ALIVE_S)) == ha.ACTIVE

    def _take_over(self) -> None:
        """The NameNode on the new node takes the journal over; a planned move that fails here goes back."""
        if not self._effect.planned:
            self._pair.become_active(self._after, self._to)
            return
        try:
            self._pair.become_standby(self._before, self._old)
            self._pair.become_active(self._after, self._to)
        except RpcError as error:
            if self._pair.state(self._after, self._to) == ha.ACTIVE:
                # It was done, and only its answer was lost: what the new one may have written must not be shut out.
                return
            # The old one takes the journal over again; should the order arrive late at the other, that one loses it.
            self._pair.become_active(self._before, self._old)
            self._means.clusters.end_move(self._before.id, self._old)
            raise StayError(f"its masters stay on {self._old}: {error.what}", where=self._before.id) from error

    # -- from the takeover on

    def _urge(self, addresses: MasterAddresses) -> None:
        """A ResourceManager starts as a standby, and becomes active when it is told to."""
        if masters.ha_state(addresses, Deadline.after(limits.ANSWER_S)) == _WAITS:
            try:
                self._pair.resource_manager_active(self._after, self._to)
            except RpcError as error:
                _log.info("%s: %s", self._after.id, error)

    def _stores(self, node: masters.StorageNode | None, since_min: float) -> bool:
        """A DataNode has listed its blocks to the second NameNode as well, before it became the first one."""
        return node is not None and node.alive

    def _bring_back(self, idle: Collection[NodeId]) -> None:
        """NodeManagers that do not find the new ResourceManager are started again, once; their containers end."""
        # The ResourceManager is active when this is asked for the first time.
        self._by_itself = self._by_itself or Deadline.after(self._effect.follow_us / SECOND_US or math.inf)
        if self._started_again or self._by_itself.left() > 0 or not idle:
            return
        self._started_again = True
        _log.warning("%s: NodeManagers are started again: %s", self._after.id, ", ".join(sorted(idle)))
        rights = {at: self._means.lease(self._after, at) for at in idle}
        # One that works for somebody else is stopped, with all that it runs, before it is started.
        leave = {at: moving.following(right, ["nodemanager"], _NOBODY) for at, right in rights.items()}
        self._drop(self._ground.run_on(leave, "stopping the NodeManager"), but=self._to)
        start = {
            at: hadoop.start(right, [d for d in self._daemons(at) if d.name == "nodemanager"])
            for at, right in rights.items()
            if at in self._reached
        }
        self._drop(self._ground.run_on(start, "starting the NodeManager again", within_s=limits.STEP_S), but=self._to)

    def _start_old_workers(self) -> None:
        """A former masters' node that came back works for the new ones: what runs there already goes on."""
        if self._old in self._reached:
            workers = [d for d in self._daemons(self._old) if d.name in ("datanode", "nodemanager")]
            script = hadoop.start(self._means.lease(self._after, self._old), workers)
            outcomes = self._ground.run_on({self._old: script}, "starting the workers", within_s=limits.STEP_S)
            self._drop(outcomes, but=self._to)

    def _daemons(self, at: NodeId) -> Sequence[hadoop.Daemon]:
        return self._setup.daemons(self._after, at, self._after.members[at].role)

    def _settle(self) -> Facts:
        """The part that goes on, and every file: nothing that was acknowledged is missing."""
        addresses = self._setup.masters(self._after)
        everyone = masters.all_applications(addresses, Deadline.after(limits.ANSWER_S), tag="")
        known = [one for one in everyone if is_ours(one)]
        told = [one for one in known if not one.ended] + [one for one in known if one.ended][-_TOLD:]
        self._pair.report_blocks(self._after, self._storing())
        found, opened = self._files(addresses)
        # Applications go on, and so do users' clients: only of those that have ended it is known that nobody writes on.
        closed = LeftOpen(self._ground, self._setup, self._after).close_ended([one.id for one in everyone if one.ended])
        self._means.membership.forget(self._after.id)
        return {
            "txid": self._pair.namenode(self._after, self._to).txid,
            "copied_us": None,
            "reached": sorted(self._reached),
            "missing": list(found.missing),
            "missing_files": found.missing_files,
            "open": [path for path in opened if path not in closed][:NAMED],
            "known": [_row(one) for one in told],
            "finished": [one.id for one in told if one.succeeded],
            "ended": [],
        }


def _row(one: Application) -> Plain:
    return {"id": one.id, "tags": list(one.tags)}
