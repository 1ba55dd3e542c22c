"""Masters of an MR-cluster with a journal begin as standbys: they are made active where the ledger has the masters."""

from __future__ import annotations

import logging

from fawkes.base.errors import FawkesError
from fawkes.live.base import limits
from fawkes.live.hadoop import ha
from fawkes.live.hadoop.ha import NameNodePair
from fawkes.live.hadoop.setup import Setup
from fawkes.live.nodes.clusters import Clusters, LiveCluster
from fawkes.live.nodes.ground import Ground
from fawkes.live.nodes.playbooks import lease
from fawkes.live.wire import masters
from fawkes.live.wire.rest import Deadline, UnreadableError

_log = logging.getLogger(__name__)
_WAITS = "STANDBY"


class Leading:
    """Makes the NameNode and the ResourceManager active on the node that the ledger names, and nowhere else."""

    def __init__(self, ground: Ground, clusters: Clusters, setup: Setup) -> None:
        self._ground = ground
        self._clusters = clusters
        self._setup = setup
        self._pair = NameNodePair(ground, setup)

    def lead(self, cluster: LiveCluster) -> bool:
        """Go on as far as can be at this moment; whether both are active.

        Nothing is done while masters move, or when they belong elsewhere by now. What does not answer yet, or refuses,
        is asked again at the next call.
        """
        if cluster.standby is None:
            return True
        try:
            with self._clusters.leading(cluster.id, cluster.master) as here:
                return here and self.go_on(cluster)
        except FawkesError as error:
            _log.info("%s: its masters are not active yet: %s", cluster.id, error)
            return False

    def go_on(self, cluster: LiveCluster) -> bool:
        """The same, for whoever moves the masters."""
        try:
            return self._namenode(cluster) and self._resource_manager(cluster)
        except FawkesError as error:
            _log.info("%s: its masters are not active yet: %s", cluster.id, error)
            return False

    def _namenode(self, cluster: LiveCluster) -> bool:
        at = cluster.master
        try:
            namenode = self._pair.namenode(cluster, at)
        except UnreadableError:
            return False
        if namenode.state == ha.STANDBY:
            self._rules(cluster)
            self._pair.become_active(cluster, at)
            _log.info("%s: the NameNode on %s is active", cluster.id, at)
            namenode = self._pair.namenode(cluster, at)
        # Until it is out of safe mode, a ResourceManager cannot keep its state there.
        return namenode.state == ha.ACTIVE and namenode.safe

    def _resource_manager(self, cluster: LiveCluster) -> bool:
        addresses, deadline = self._setup.masters(cluster), Deadline.after(limits.ANSWER_S)
        try:
            state = masters.ha_state(addresses, deadline)
            if state == _WAITS and not masters.storage(addresses, deadline).in_service():
                # Its first write would fail, and its next tries come ever later: 10 s were seen.
                return False
        except UnreadableError:
            return False
        if state == _WAITS:
            self._rules(cluster)
            self._pair.resource_manager_active(cluster, cluster.master)
            _log.info("%s: the ResourceManager on %s is active", cluster.id, cluster.master)
            return True
        return state == "ACTIVE"

    def _rules(self, cluster: LiveCluster) -> None:
        """FawkesError unless the node takes orders of this controller, for this MR-cluster, right now."""
        at = cluster.master
        right = self._ground.lease(at, cluster.id, cluster.members[at].generation)
        self._ground.run(at, lease.claim(right), "asking the node")
