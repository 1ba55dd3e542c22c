"""One node: the daemons of a role brought up until the masters know it, or everything stopped, wiped and verified."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from fawkes.base.errors import FawkesError, HostError
from fawkes.base.units import SECOND_US
from fawkes.core.masters.unlisted import Unlisted, unlisted
from fawkes.core.values.effects import Host
from fawkes.core.values.events import Condition
from fawkes.core.values.model import ClusterId, Facts, NodeId, Plain, Role
from fawkes.core.values.proof import not_proven
from fawkes.core.values.sight import Sight
from fawkes.live.base import limits
from fawkes.live.base.hooks import BeforeJoin, no_hook
from fawkes.live.base.waits import Waits
from fawkes.live.clusters.leading import Leading
from fawkes.live.eyes.watch import is_late
from fawkes.live.hadoop.doors import LIST, keep_newest
from fawkes.live.hadoop.hadoop_ha import nameservice
from fawkes.live.hadoop.setup import Setup
from fawkes.live.nodes.clusters import Clusters, LiveCluster
from fawkes.live.nodes.ground import Ground
from fawkes.live.nodes.playbooks import hadoop, lease, moving, node, standby
from fawkes.live.wire import masters
from fawkes.live.wire.rest import Deadline, UnreadableError
from fawkes.playbook import Facts as Said
from fawkes.playbook import Lease

_log = logging.getLogger(__name__)
#: the last words of a NodeManager, and of a DataNode, that came before its master had read the list of members
_TURNED_AWAY = ("Disallowed NodeManager", "DisallowedDatanodeException", "denied communication with namenode")


class NotProvenError(FawkesError):
    """The blocks of a node were not proven to be elsewhere right before its wipe: nothing was touched."""


class NoImageError(HostError):
    """The masters were not started: the NameNode's folder has no image of their MR-cluster."""


@dataclass(frozen=True, slots=True)
class Reached:
    """A goal that was seen to be reached; ``facts`` are what the core and people are told besides.

    ``place``: where its work folder lies (`NodeState.place`). Serving: ``repaired``, the files of the software that had
    been changed. Clean: ``leftovers``, how much the MR-cluster's own user had left elsewhere, ``names`` of some, and
    whether that was ``removed``.
    """

    condition: Condition
    facts: Facts = field(default_factory=dict)


class Hosts:
    """Reaches `Host` goals.

    ``keep_logs`` gets the logs of an MR-cluster on a node before they are wiped, ``see`` asks the masters how they see
    a node at this moment. ``open_doors`` makes the others take connections from a node that was shut out, as soon as
    they can be told.
    """

    def __init__(
        self,
        ground: Ground,
        clusters: Clusters,
        setup: Setup,
        stopping: threading.Event,
        keep_logs: Callable[[Host], None],
        see: Callable[[LiveCluster, NodeId], Sight],
        waits: Waits,
        open_doors: Callable[[ClusterId], None],
        before_join: BeforeJoin = no_hook,
    ) -> None:
        self._ground = ground
        self._clusters = clusters
        self._setup = setup
        self._stopping = stopping
        self._keep_logs = keep_logs
        self._see = see
        self._waits = waits
        self._open_doors = open_doors
        self._before_join = before_join
        self._leading = Leading(ground, clusters, setup)

    def reach(self, effect: Host, current: Callable[[], bool]) -> Reached | None:
        """SERVING or CLEAN once that was seen; None when a newer goal came. FawkesError says why it was not reached."""
        if effect.role is None:
            return self._clean(effect)
        return self._serve(effect, effect.role, current)

    def _serve(self, effect: Host, role: Role, current: Callable[[], bool]) -> Reached | None:
        cluster = self._clusters.get(effect.cluster)
        if cluster is None:
            raise HostError(f"{effect.cluster} is not running yet", host=effect.node)
        if not effect.leaving:
            self._waits.note(effect.key, effect.generation, "hooks/before-join has not ended")
            self._before_join(effect.cluster, {effect.node: effect.generation}, role)
        looks = unlisted_looks = 0
        restarted = False
        facts: dict[str, Plain] = {}
        while current():
            if self._clusters.moving(cluster.id) is not None:
                # Where its masters are is open: neither are they started here, nor is anything set aside.
                looks = 0
                self._waits.note(effect.key, effect.generation, "the masters are being moved")
                self._stopping.wait(limits.JOIN_EVERY_S)
                continue
            if looks % limits.LOOKS_PER_STATUS == 0:
                cluster = self._now(cluster)
                facts = facts | self._take(effect, cluster) | self._make_sound(effect, cluster)
                self._begin(effect, cluster, role)
            if effect.node == cluster.master and looks % limits.LOOKS_PER_LEAD == 0:
                self._leading.lead(self._now(cluster))
            why = self._unknown(cluster, effect, role)
            if not why:
                waited_us = round(unlisted_looks * limits.JOIN_EVERY_S * SECOND_US)
                move = unlisted(waited_us, restarted=restarted)
                if move is Unlisted.SERVES or self._known_to_second(cluster, effect, role):
                    return Reached(Condition.SERVING, facts)
                if move is Unlisted.RESTART:
                    self._ask_second_again(effect)
                    restarted = True
                unlisted_looks += 1
            self._waits.note(effect.key, effect.generation, why or "the second NameNode does not know its DataNode")
            looks += 1
            self._stopping.wait(limits.JOIN_EVERY_S)
        return None

    def _take(self, effect: Host, cluster: LiveCluster) -> dict[str, Plain]:
        """Take the node before anything else is written there: its disk may be away."""
        self._setup.check(cluster, [effect.node])
        right = self._ground.lease(effect.node, effect.cluster, effect.generation)
        return _place(self._ground.run(effect.node, lease.take(right), "taking the node"))

    def _make_sound(self, effect: Host, cluster: LiveCluster) -> dict[str, Plain]:
        wrong = self._setup.make_sound(cluster, {effect.node: effect.generation})
        return {"repaired": list(wrong[effect.node])} if effect.node in wrong else {}

    def _begin(self, effect: Host, cluster: LiveCluster, role: Role) -> None:
        """Daemons are started, those that have ended too: masters turn away whom they were not told of yet."""
        try:
            self._start(effect, cluster, role)
        except HostError as error:
            if not any(words in error.what for words in _TURNED_AWAY):
                raise
            _log.info("%s", error)

    def _start(self, effect: Host, cluster: LiveCluster, role: Role) -> None:
        """Folders, configuration, daemons: what is so already is left alone."""
        right = self._ground.lease(effect.node, effect.cluster, effect.generation)
        daemons = self._setup.daemons(cluster, effect.node, role)
        if effect.leaving:
            daemons = [daemon for daemon in daemons if daemon.name == "datanode"]
        run = self._ground.run
        details = cluster.details
        run(effect.node, node.prepare(right, details.run_as, details.leftovers), "making folders")
        if role is Role.CORE and effect.node != cluster.master:
            self._retire(effect.node, cluster, right)
        # Only now: from here on the node is told of every change of the list, which this one must not undo.
        files = self._setup.files(self._now(cluster), effect.node, role)
        run(effect.node, hadoop.configure(right, files), "configuring")
        keep_newest(
            str(files[LIST]),
            lambda: self._setup.doors_list(self._now(cluster)),
            lambda text: run(effect.node, hadoop.write_doors(right, text), "opening its doors"),
        )
        if effect.node == cluster.master and cluster.ready:
            self._need_image(effect.node, right)
        if cluster.ready and effect.node in cluster.journal:
            daemons = self._with_data(effect.node, cluster, right, daemons)
        run(effect.node, hadoop.start(right, daemons), "starting daemons")

    def _with_data(
        self, at: NodeId, cluster: LiveCluster, right: Lease, daemons: Sequence[hadoop.Daemon]
    ) -> list[hadoop.Daemon]:
        """All but a JournalNode or a second NameNode that has lost its data: those are armed again by `ArmStandby`."""
        seen = self._ground.run(at, standby.look(right.folders, nameservice(cluster.id)), "looking for the journal")
        lacks = [] if "journal" in seen else ["journalnode"]
        if at == cluster.second:
            image = self._ground.run(at, moving.image(right), "looking for the image of the second NameNode")
            lacks += [] if image.get("image") == "yes" else ["namenode"]
        if lacks:
            _log.info("%s: it has no data for its %s yet", at, " and ".join(lacks))
        return [daemon for daemon in daemons if daemon.name not in lacks]

    def _retire(self, at: NodeId, cluster: LiveCluster, right: Lease) -> None:
        """A core node that may have been the masters' before becomes a plain member; then the others let it in.

        On a node of the journal the NameNode's data stays, because a second one may begin with it.
        """
        if at in cluster.journal:
            self._ground.run(at, moving.demote(right, second=at == cluster.second), "stopping former masters")
        else:
            self._ground.run(at, moving.retire(right), "setting former masters' data aside")
        if self._clusters.let_in(cluster.id, at):
            self._open_doors(cluster.id)

    def _need_image(self, at: NodeId, right: Lease) -> None:
        """NoImageError for masters that have lost their data: a NameNode without them must never start, nor be made."""
        facts = self._ground.run(at, moving.image(right), "looking for the image of the NameNode")
        if facts.get("image") == "no":
            raise NoImageError("its NameNode has lost its image, so the masters cannot be started here", host=at)

    def _now(self, cluster: LiveCluster) -> LiveCluster:
        """The MR-cluster with the members that it has at this moment, which may be others than a moment ago."""
        return self._clusters.get(cluster.id) or cluster

    def _unknown(self, cluster: LiveCluster, effect: Host, role: Role) -> str:
        """The reason why the masters do not count on the node; empty when they do.

        A master that does not answer now may do so at the next look.
        """
        addresses, deadline = self._setup.masters(cluster), Deadline.after(limits.MASTERS_S)
        try:
            if effect.leaving:
                storage = masters.storage(addresses, deadline).nodes.get(effect.node)
                heard = storage is not None and storage.alive and not is_late(storage)
                return "" if heard else "the NameNode does not hear from its DataNode"
            compute = masters.resource_manager_nodes(addresses, deadline).get(effect.node)
            if compute is None:
                return "the ResourceManager does not know its NodeManager"
            if compute.state != masters.RUNNING:
                return ": ".join(part for part in (f"its NodeManager is {compute.state}", compute.health) if part)
            if role is Role.TRANSIENT:
                return ""
            seen = masters.storage(addresses, deadline)
            # The master has not missed yet the heartbeats of a DataNode that has just been started again.
            serves = effect.node in seen.in_service() and not is_late(seen.nodes.get(effect.node))
            return "" if serves else "its DataNode is not in service"
        except UnreadableError as error:
            return str(error)

    def _known_to_second(self, cluster: LiveCluster, effect: Host, role: Role) -> bool:
        """True if the second NameNode has the DataNode as well; one that does not answer is not waited for."""
        if role is Role.TRANSIENT or effect.leaving or cluster.second is None or not cluster.ready:
            return True
        addresses = self._setup.masters(replace(cluster, master=cluster.second))
        try:
            storage = masters.storage(addresses, Deadline.after(limits.MASTERS_S)).nodes.get(effect.node)
        except UnreadableError:
            return True
        return storage is not None and storage.alive

    def _ask_second_again(self, effect: Host) -> None:
        """A DataNode asks a NameNode that has turned it away only after it was started again."""
        _log.info("%s: its DataNode is restarted, because the second NameNode does not have it", effect.node)
        right = self._ground.lease(effect.node, effect.cluster, effect.generation)
        self._ground.run(effect.node, hadoop.stop(right, ["datanode"]), "stopping the DataNode")

    def _clean(self, effect: Host) -> Reached:
        right = self._ground.lease(effect.node, effect.cluster, effect.generation)
        self._waits.note(effect.key, effect.generation, "stopping, wiping and verifying has not ended")
        try:
            self._keep_logs(effect)
        except FawkesError as error:
            _log.warning("%s: its logs could not be kept: %s", effect.node, error)
        self._prove(effect)
        # Only now: a node that is closed starts no DataNode any more, and one that is held may need its own again.
        self._retires(effect.cluster, effect)
        # A node that was given back before that could be stored, or that was never reached, is nobody's: it is ours
        # to look whether it is clean. Steps of a deployment that are still on their way find the node closed.
        self._ground.run(effect.node, lease.close(right), "closing the node")
        facts = self._ground.run(effect.node, node.wipe(right), "wiping")
        free = self._ground.run(effect.node, lease.release(right), "giving the node back")
        return Reached(Condition.CLEAN, _leftovers(facts) | _place(free))

    def _prove(self, effect: Host) -> None:
        """NotProvenError unless the blocks that may be on the node are shown to be elsewhere, now."""
        if effect.proof is None:
            return
        cluster = self._clusters.get(effect.cluster)
        if cluster is None:
            raise NotProvenError(f"{effect.cluster} is not running, so it is not known where its blocks are")
        sight = self._see(cluster, effect.node)
        if why := not_proven(sight, effect.proof, since_us=sight.asked_us - 1):
            raise NotProvenError(why)

    def _retires(self, cluster: ClusterId, effect: Host) -> None:
        """An MR-cluster whose master is wiped is asked no more."""
        known = self._clusters.get(cluster)
        if known is not None and known.master == effect.node:
            self._clusters.remove(cluster)


def _place(said: Said) -> dict[str, Plain]:
    return {"place": said["place"]} if "place" in said else {}


def _leftovers(said: Said) -> dict[str, Plain]:
    """Files of the MR-cluster's own user that a wipe found outside of Fawkes's folders; empty when there were none."""
    count = said.number("leftovers") or 0
    if not count:
        return {}
    return {"leftovers": count, "names": list(said.all("leftover")), "removed": said.get("removed") == "yes"}
