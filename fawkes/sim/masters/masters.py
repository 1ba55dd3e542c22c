"""Masters of simulated MR-clusters: where they are, what stands still while they do not serve, and how they move.

While they are away nothing of their MR-cluster begins, and nobody learns what ends. Daemons that are restarted on their
own node go on with what was there. Masters on another node read what the last copy has, or the disk of the old ones.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from fawkes.base.values import replace
from fawkes.core.values import effects
from fawkes.core.values.events import Done, Event, Failed, MastersSeen, Progress
from fawkes.core.values.model import ClusterId, Facts, NodeId, Plain, Reading, Role
from fawkes.core.values.sight import NAMENODE, RESOURCE_MANAGER, Stray
from fawkes.core.values.tags import tag_of
from fawkes.sim.events.answers import application_of, missing_of
from fawkes.sim.events.steps import Hosted, Loss, Step
from fawkes.sim.hadoop.model import Cluster, JobEnded
from fawkes.sim.hadoop.tasks import End, JobAttempt
from fawkes.sim.masters.standby import NO_JOURNAL, Standbys

#: what a hand says that needs them
NO_ANSWER = "its masters do not answer"


@dataclass(slots=True)
class Away:
    """Masters that do not serve: what they knew, and what waits for them.

    ``home`` is the node whose disk has all that they knew, None when that is gone; the kept copy has everything up to
    ``copied_us``. ``moving``: others are being brought up. ``nodes`` work again once they serve. ``waits`` is done
    then, and ``ended`` jobs are told then. ``cut`` are the attempts that their move has ended.
    """

    home: NodeId | None
    copied_us: int
    moving: bool = False
    nodes: dict[NodeId, None] = field(default_factory=dict)
    waits: list[Step] = field(default_factory=list)
    ended: list[JobEnded] = field(default_factory=list)
    cut: dict[JobAttempt, End] = field(default_factory=dict)


@dataclass(slots=True)
class Masters:
    """The masters of all MR-clusters of a world, whose ``clusters``, ``deployed``, ``hosts`` and nodes these are.

    ``second`` has their second NameNodes.

    ``void`` counts the jobs of an MR-cluster whose end was never told: they ended while their masters were away.
    ``strays`` are told of until they are ended: here their tasks have begun again long before.
    """

    clusters: dict[ClusterId, Cluster]
    deployed: dict[ClusterId, effects.Deploy]
    hosts: dict[NodeId, Hosted]
    dead: set[NodeId]
    gone: set[NodeId]
    copy_us: int
    second: Standbys
    away: dict[ClusterId, Away] = field(default_factory=dict)
    void: dict[ClusterId, int] = field(default_factory=dict)
    strays: dict[ClusterId, dict[str, Stray]] = field(default_factory=dict)

    def node(self, cluster: ClusterId) -> NodeId | None:
        """The node that has the masters of an MR-cluster, or should have them."""
        deployed = self.deployed.get(cluster)
        return None if deployed is None else deployed.master

    def forget(self, cluster: ClusterId) -> None:
        """The MR-cluster is gone, or a new one has its name."""
        self.away.pop(cluster, None)
        self.void.pop(cluster, None)
        self.strays.pop(cluster, None)
        self.second.pairs.pop(cluster, None)

    def struck(self, loss: Loss) -> NodeId | None:
        """The node that a loss strikes now; None when the MR-cluster that it names has no masters."""
        if loss.masters_of is None:
            return loss.node
        return self.node(loss.masters_of) if loss.masters_of in self.clusters else None

    def fail(self, cluster: ClusterId, node: NodeId, now_us: int, document: object, *, emptied: bool) -> bool:
        """A node of an MR-cluster has lost its power; whether its masters are silent since then."""
        away = self.away.get(cluster)
        if away is not None and emptied and away.home == node:
            away.home = None
        cannot_write = self.second.stops(cluster, node, emptied=emptied)
        mine = self.node(cluster) == node
        if away is not None or cluster not in self.clusters or not (mine or cannot_write):
            return False
        self.stop(cluster, now_us, document, emptied=emptied and mine)
        return True

    def silent(self, cluster: ClusterId, now_us: int, *, struck: NodeId) -> MastersSeen:
        """They do not answer since a node was struck; a NameNode whose journal is gone ends where its node answers."""
        gone = () if self.node(cluster) == struck else (NAMENODE,)
        return MastersSeen(at_us=now_us, cluster=cluster, error=NO_ANSWER, silent=NAMENODE, gone=gone)

    def restarted(self, cluster: ClusterId, now_us: int, node: NodeId) -> MastersSeen | None:
        """Their node answers, and says that nothing runs there; None for the node of others."""
        if self.node(cluster) != node:
            return None
        gone = (NAMENODE, RESOURCE_MANAGER)
        return MastersSeen(at_us=now_us, cluster=cluster, error=NO_ANSWER, silent=NAMENODE, gone=gone)

    def stop(self, cluster: ClusterId, now_us: int, document: object, *, emptied: bool = False) -> None:
        """They do not serve from now on; ``document`` is the latest `Membership`. Running tasks go on for now."""
        master = self.node(cluster)
        copied_us = now_us - now_us % self.copy_us if self.copy_us else now_us
        away = self.away[cluster] = Away(None if emptied else master, copied_us)
        known = self.clusters.get(cluster)
        for node in [] if known is None else list(known.nodes):
            if not leaving(document, node):
                away.nodes[node] = None
                self.clusters[cluster].drain(node)

    def serve(self, cluster: ClusterId, document: object, sites: Mapping[NodeId, str]) -> Away | None:
        """They serve again: nodes compute; what waited, and what ended meanwhile, is for the caller. None: they did."""
        away = self.away.pop(cluster, None)
        known = self.clusters.get(cluster)
        if away is not None and (master := self.node(cluster)) is not None:
            self.second.serves(cluster, master)
        for node in () if away is None or known is None else away.nodes:
            hosted = self.hosts.get(node)
            mine = hosted is not None and hosted.cluster == cluster
            if hosted is not None and mine and node not in self.gone and not leaving(document, node):
                self.clusters[cluster].join(node, hosted.role, sites.get(node, ""))
        return away

    def reading(self, cluster: ClusterId, error: str | None) -> Reading:
        """The masters' reading, or an error: jobs whose end nobody was told count once, by their later attempt."""
        error = NO_ANSWER if error is None and cluster in self.away else error
        if error is not None:
            return Reading(cluster=cluster, error=error or "no answer")
        reading, void = self.clusters[cluster].read(), self.void.get(cluster, 0)
        if strays := self.strays.get(cluster):
            reading = replace(reading, strays=tuple(strays.values()))
        return replace(reading, jobs_done=(reading.jobs_done or 0) - void) if void else reading

    def ready(self, cluster: ClusterId, error: str | None) -> int | None:
        """The tasks that wait for nothing but room, asked for more often than a whole reading; None by an error."""
        return None if error is not None or cluster in self.away else self.clusters[cluster].tasks_ready

    def leave_stray(self, cluster: Cluster, node: NodeId) -> None:
        """A node may go away with the masters and with tasks: nobody knows then that their containers are gone."""
        if self.node(cluster.id) == node and cluster.id not in self.away and cluster.busy_us(node):
            name = f"attempt_{cluster.id}_{self.deployed[cluster.id].version}_m_{node}_0"
            self.strays.setdefault(cluster.id, {})[name] = Stray(name, node)

    def end_strays(self, effect: effects.EndAttempts, error: str | None, now_us: int) -> Event:
        """These attempts are ended, unless there is an ``error`` or nobody to tell."""
        if error is None and (effect.cluster not in self.clusters or effect.cluster in self.away):
            error = NO_ANSWER
        if error is not None:
            return Failed(at_us=now_us, effect=effect.key, version=effect.version, error=error)
        strays = self.strays.get(effect.cluster, {})
        ended = sum(strays.pop(name, None) is not None for name in effect.attempts)
        return Done(at_us=now_us, effect=effect.key, version=effect.version, facts={"ended": ended})

    def brings_up(self, cluster: ClusterId, node: NodeId) -> bool:
        """True if daemons that start on a node are those of lost masters; some ended because of their journal."""
        away = self.away.get(cluster)
        if away is None or self.node(cluster) != node:
            return False
        return node in self.gone or (cluster in self.second.pairs and not away.moving)

    def no_image(self, cluster: ClusterId, node: NodeId) -> str:
        """The reason why daemons of lost masters cannot start on a node: its disk was lost; else nothing."""
        away, pair = self.away.get(cluster), self.second.pairs.get(cluster)
        if away is None or away.home == node or not self.brings_up(cluster, node):
            return ""
        if pair.image == node if pair is not None else away.moving:
            return ""
        return f"{node} has no image of its NameNode any more"

    def cannot_write(self, cluster: ClusterId, node: NodeId) -> str:
        """The reason why masters that start on a node cannot serve there: their journal is not there; else nothing."""
        return NO_JOURNAL if self.brings_up(cluster, node) and self.second.cannot_write(cluster) else ""

    def look(self, effect: effects.LookAtMasters, now_us: int) -> Facts:
        """The facts of a look. Masters whose node has power again, without daemons, are stopped."""
        away, pair = self.away.get(effect.cluster), self.second.pairs.get(effect.cluster)
        old, image = "answers", True
        if away is not None:
            old, image = ("silent" if effect.old in self.dead else "stopped"), away.home == effect.old
        return {
            "old": old,
            "image": None if old == "silent" else image,
            "copied_us": now_us if away is None else away.copied_us,
            "txid": 0,
            "copy_at": "controller",
            "reached": self._reached(effect.cluster, {effect.old}),
            "applications": [],
            **({} if pair is None else {"journal": pair.answering}),
            **({} if pair is None else {"standby": "standby" if pair.follower == effect.to else None}),
            **({"edits": "whole" if image else "gap"} if effect.to == effect.old else {}),
        }

    def begin(self, effect: effects.MoveMasters, now_us: int, document: object) -> bool:
        """Masters are being brought up elsewhere; False: that must not begin.

        What ran under the old ones ends, unless a second NameNode takes over.
        """
        away = self.away.get(effect.cluster)
        if effect.cluster not in self.clusters:
            return False
        if away is None and (not effect.planned or self._why_not(effect)):
            return False
        if away is None:
            self.stop(effect.cluster, now_us, document)
            away = self.away[effect.cluster]
        self.deployed[effect.cluster] = replace(self.deployed[effect.cluster], master=effect.to)
        away.moving = True
        if effect.standby:
            return True
        cluster = self.clusters[effect.cluster]
        self.strays.pop(effect.cluster, None)
        for attempt in list(cluster.jobs):
            away.cut[attempt] = cluster.cancel(attempt)
        for late in away.ended:
            # Its output was not committed: nobody was there to take it.
            away.cut[late.attempt] = cluster.ended[late.attempt] = replace(late.end, progress=Progress.CANCELLED)
            self.void[effect.cluster] = self.void.get(effect.cluster, 0) + 1
        away.ended.clear()
        return True

    def refuse(self, effect: effects.MoveMasters, goals: Iterable[effects.Effect]) -> None:
        """Attempts that were handed to the old masters and did not reach them never begin."""
        cluster = self.clusters[effect.cluster]
        for goal in goals:
            if isinstance(goal, effects.StartJob) and goal.cluster == effect.cluster:
                attempt = (goal.job, goal.attempt)
                if not (effect.standby and cluster.knows(attempt)):
                    cluster.cancel(attempt)

    def goes_back(self, effect: effects.MoveMasters) -> bool:
        """True if a takeover that was planned has failed while the old masters can go on; they do from now on."""
        away = self.away.get(effect.cluster)
        if away is None or not (effect.planned and effect.standby and away.moving) or not self._why_not(effect):
            return False
        if effect.old in self.dead or effect.old in self.gone or self.second.cannot_write(effect.cluster):
            return False
        away.moving = False
        self.deployed[effect.cluster] = replace(self.deployed[effect.cluster], master=effect.old)
        return True

    def end(self, effect: effects.MoveMasters, only_here: Mapping[NodeId, ClusterId]) -> tuple[str, Facts]:
        """The reason why a move that has begun cannot end yet, or nothing and its facts."""
        away = self.away.get(effect.cluster)
        if away is None or not away.moving:
            return self._why_not(effect) or f"{effect.old} answers: its masters stay", {"alive": True}
        if why := self._why_not(effect):
            return why, {}
        # Whatever had stopped on that node is started with them.
        self.gone.discard(effect.to)
        away.nodes[effect.to] = None
        if not effect.standby:
            # A copy has no journal: the MR-cluster is kept from now on.
            self.second.pairs.pop(effect.cluster, None)
        whole = effect.standby or (away.home is not None and away.home not in self.dead)
        missing = missing_of(effect.cluster, only_here)
        return "", {
            "txid": 0,
            "copied_us": None if whole else away.copied_us,
            "reached": self._reached(effect.cluster, {effect.to}),
            "missing": list(missing),
            "missing_files": len(missing),
            "open": [],
            "finished": sorted(map(application_of, self._succeeded(effect.cluster))),
            "ended": [],
            **({"known": self._known(effect.cluster)} if effect.standby else {}),
        }

    def _succeeded(self, cluster: ClusterId) -> list[JobAttempt]:
        ends = self.clusters[cluster].ended.items()
        return [attempt for attempt, end in ends if end.progress is Progress.SUCCEEDED]

    def _known(self, cluster: ClusterId) -> list[Plain]:
        """The applications of our attempts, as a ResourceManager lists them that has recovered them."""
        attempts = sorted([*self.clusters[cluster].jobs, *self._succeeded(cluster)])
        return [{"id": application_of(attempt), "tags": [tag_of(*attempt)]} for attempt in attempts]

    def arm(self, effect: effects.ArmStandby) -> tuple[str, Facts]:
        """Bring up what is not whole of a journal and its second NameNode; why that does not do, or its facts."""
        serve = effect.cluster not in self.away
        if why := self.second.arm(effect, masters_serve=serve):
            return why, {} if effect.before else {"alive": serve}
        return "", {"journal": self.second.pairs[effect.cluster].answering}

    def _why_not(self, effect: effects.MoveMasters) -> str:
        hosted = self.hosts.get(effect.to)
        if effect.to in self.dead:
            return f"no answer from {effect.to}"
        if effect.standby and (why := self.second.why_not(effect.cluster, effect.to)):
            return why
        if hosted is None or (hosted.cluster, hosted.role) != (effect.cluster, Role.CORE):
            return f"{effect.to} is no core node of {effect.cluster}"
        return ""

    def _reached(self, cluster: ClusterId, without: Collection[NodeId]) -> list[NodeId]:
        mine = (node for node, hosted in self.hosts.items() if hosted.cluster == cluster)
        return sorted(node for node in mine if node not in self.dead and node not in without)


def leaving(document: object, node: NodeId) -> bool:
    """True if the latest document about members says that a node leaves."""
    member = document.members.get(node) if isinstance(document, effects.Membership) else None
    return member is not None and member.goal is not effects.Goal.SERVING
