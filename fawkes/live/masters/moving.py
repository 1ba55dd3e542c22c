"""The masters of an MR-cluster on another node. Whether and where to is decided in `core.masters`."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from fawkes.base.errors import FawkesError, HostError
from fawkes.core.values.effects import ArmStandby, LookAtMasters, MoveMasters
from fawkes.core.values.model import ClusterId, Facts, NodeId, Plain, Promise
from fawkes.live.base import limits
from fawkes.live.clusters.given import Given
from fawkes.live.edits.own_edits import own_edits
from fawkes.live.eyes.survey import at_work
from fawkes.live.hadoop import ha
from fawkes.live.masters.arming import Arming
from fawkes.live.masters.journal_steps import JournalBegin, JournalChange
from fawkes.live.masters.move import DataHandover
from fawkes.live.masters.succession import Means
from fawkes.live.masters.takeover import Takeover
from fawkes.live.nodes.clusters import LiveCluster
from fawkes.live.wire.masters import MasterAddresses
from fawkes.live.wire.rest import UnreadableError


class MastersMover:
    """Reaches `LookAtMasters` and `MoveMasters` goals."""

    def __init__(self, means: Means) -> None:
        self._means = means
        self._pair = means.pair

    def reach(self, effect: LookAtMasters | MoveMasters | ArmStandby, current: Callable[[], bool]) -> Facts | None:
        """The facts by which the goal ends, all of them fresh; None when a newer goal came.

        StayError when masters that were given up answer after all. Any other FawkesError: the goal may be tried
        again.
        """
        cluster = self._cluster(effect.cluster)
        if isinstance(effect, ArmStandby) and not effect.before:
            return JournalBegin(self._means, effect, cluster, current).do()
        if isinstance(effect, ArmStandby):
            same = set(effect.standby.journal) == set(effect.before)
            return (Arming if same else JournalChange)(self._means, effect, cluster, current).do()
        if effect.to not in cluster.members:
            raise HostError(f"it is not a member of {cluster.id}", host=effect.to)
        if isinstance(effect, LookAtMasters):
            if self._means.clusters.moving(cluster.id) is not None:
                # An earlier move was given up: its node, or the one before it, has the masters until the next one.
                self._means.clusters.end_move(cluster.id, effect.old)
            facts = self._look(cluster, effect)
            self._note(cluster, effect)
            return facts
        if effect.standby and cluster.standby is None:
            raise FawkesError("it has no second NameNode that could take over", where=cluster.id)
        self._means.clusters.begin_move(cluster.id, effect.to)
        before = replace(cluster, master=effect.old)
        with self._means.copies.held(cluster.id):
            return (Takeover if effect.standby else DataHandover)(self._means, effect, before, current).do()

    def look(self, effect: LookAtMasters) -> Facts:
        """The standing of masters, their image, their copy and the members at this moment, for a person who asks.

        Changes nothing: the masters may be moving. FawkesError when it is not known.
        """
        return self._look(self._cluster(effect.cluster), effect)

    def _note(self, cluster: LiveCluster, effect: LookAtMasters) -> None:
        """The move to which a look may lead has begun nowhere, and its node had not lost its disk."""
        nothing = Given(effect.move_version, effect.to, cluster.members[effect.to].generation, begun=False)
        if not self._means.copies.given.has(cluster.id, nothing):
            self._means.copies.given.put(cluster.id, nothing)

    def _look(self, cluster: LiveCluster, effect: LookAtMasters) -> Facts:
        """See `look`."""
        means, others = self._means, [n for n in cluster.members if n != effect.old]
        means.setup.java_home(cluster, effect.to)
        second = self._second(cluster, effect)
        # What a second NameNode takes over needs no word of nodes that are off, which takes long to come.
        quick = self._pair.follows(second, cluster.journal)
        with ThreadPoolExecutor(1, thread_name_prefix="standing") as thread:
            stands = thread.submit(
                means.standing, cluster, effect.old, within_s=limits.QUICK_S if quick else limits.STEP_S
            )
            reached = means.reached(cluster, others, within_s=limits.QUICK_S if quick else limits.LOOK_S)
            standing = stands.result()
        if effect.to not in reached and effect.to != effect.old:
            answering = ", ".join(sorted(set(reached) & set(cluster.core) - {effect.old})) or "none now"
            hint = f"Name one that answers with --to: {answering}"
            raise HostError(
                f"it does not answer, so it cannot run the masters of {cluster.id}", host=effect.to, hint=hint
            )
        if not quick:
            # Without its keytab no masters could be configured there.
            means.setup.files(replace(cluster, master=effect.to), effect.to, cluster.members[effect.to].role)
        copied_us, transaction, at = means.copied(cluster, [n for n in reached if n != effect.to])
        paired = cluster.spec.masters is Promise.STANDBY
        if paired and standing.state == "answers" and self._pair.state(cluster, effect.old) == ha.STANDBY:
            # Its NameNode takes no writes: it was started again, or another one has the journal.
            standing = replace(standing, state="runs")
        return {
            **second,
            **self._own(cluster, effect),
            **(self._no_login(cluster, effect.to) if standing.state == "answers" else {}),
            "old": standing.state,
            "image": standing.image,
            "copied_us": copied_us,
            "txid": transaction,
            "copy_at": at,
            "reached": sorted(reached),
            "applications": _applications(self._means.setup.masters(cluster)) if standing.state == "answers" else None,
        }

    def _second(self, cluster: LiveCluster, effect: LookAtMasters) -> Facts:
        """The state of the NameNode that would take over, in its own word, and the nodes of the journal that answer."""
        if not cluster.journal:
            return {}
        return {
            "standby": self._pair.state(cluster, effect.to),
            "journal": list(self._pair.answering(cluster, cluster.journal)),
        }

    def _no_login(self, cluster: LiveCluster, to: NodeId) -> Facts:
        """The reason why masters that were stopped could start nowhere: the KDC is away, say; empty when they could."""
        try:
            self._means.setup.check(cluster, [to])
        except FawkesError as error:
            return {"no_login": str(error)}
        return {}

    def _own(self, cluster: LiveCluster, effect: LookAtMasters) -> Facts:
        """The fact if the disk of masters has everything, where they are to start again; empty for others."""
        if effect.old != effect.to:
            return {}
        try:
            return {"edits": own_edits(self._means.ground, effect.old, cluster.id).fact}
        except FawkesError:
            return {"edits": None}

    def _cluster(self, name: ClusterId) -> LiveCluster:
        cluster = self._means.clusters.get(name)
        if cluster is None:
            raise FawkesError("it is not running, so it has no masters", where=name)
        return cluster


def _applications(addresses: MasterAddresses) -> list[dict[str, Plain]] | None:
    try:
        return at_work(addresses)
    except UnreadableError:
        return None
