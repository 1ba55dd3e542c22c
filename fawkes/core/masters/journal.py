"""A new journal for an MR-cluster that gave its own one up: on which nodes, and at which moment.

Masters that came back from a copy have no journal. A NameNode knows its journal from its start, so it starts again for
a new one. It has all changes on its own disk meanwhile, so nothing that was acknowledged is at risk. HDFS does not
answer for the time of a start: that is why no job of Fawkes and no application of a user may run then.
"""

from __future__ import annotations

from fawkes.base.values import replace
from fawkes.core.jobs.displaced import rows
from fawkes.core.state import alerts
from fawkes.core.state.draft import Draft
from fawkes.core.values.decision import PutPending
from fawkes.core.values.effects import ArmStandby
from fawkes.core.values.keys import Key
from fawkes.core.values.model import (
    JOURNAL_NODES,
    ClusterAlert,
    ClusterLife,
    ClusterState,
    Facts,
    MastersMove,
    MoveCause,
    NodeId,
    NodeLife,
    Promise,
    Role,
    Standby,
)

#: what the deadline of an MR-cluster without a journal means, by its tries: until then only a moment without jobs is
#: used, or nothing is begun at all
_PATIENT, _BLOCKED = 1, 2


def nodes(draft: Draft, cluster: ClusterState) -> tuple[NodeId, ...]:
    """The core nodes for a new journal, the masters' among them; empty while fewer than three serve."""
    core = [n for n in draft.nodes_of(cluster.id) if n.role is Role.CORE and not n.kept_out]
    serving = sorted(n.node.id for n in core if n.life is NodeLife.SERVING)
    if cluster.master not in serving or len(serving) < JOURNAL_NODES:
        return ()
    others = [node for node in serving if node != cluster.master]
    return tuple(sorted([cluster.master, *others[: JOURNAL_NODES - 1]]))


def possible(draft: Draft, cluster: ClusterState) -> bool:
    """True if an MR-cluster was promised a journal, has none, and has the nodes for a new one."""
    promised = cluster.spec.masters is Promise.STANDBY and cluster.standby is None
    if not (draft.settings.journal_us and promised and cluster.life is ClusterLife.RUNNING):
        return False
    return bool(nodes(draft, cluster))


def due(draft: Draft, cluster: ClusterState) -> bool:
    """True if this is the moment: no job runs, or it was waited for long enough for one without jobs."""
    if cluster.moving is not None or not possible(draft, cluster) or draft.pending(Key.MASTERS.of(cluster.id)):
        return False
    waits = draft.pending(Key.STANDBY.of(cluster.id))
    return waits is None or (waits.tries == _PATIENT and not draft.busy_of(cluster.id))


def wait(draft: Draft, cluster: ClusterState) -> None:
    """Masters came back without a journal: for some time only a moment without jobs is used."""
    if draft.settings.journal_us and cluster.spec.masters is Promise.STANDBY and cluster.standby is None:
        draft.expect(Key.STANDBY.of(cluster.id), draft.settings.journal_us, tries=_PATIENT)


def block(draft: Draft, cluster: ClusterState) -> None:
    """An attempt has failed: nothing is begun for a while."""
    again_us = max(draft.settings.standby_us, draft.settings.retry_max_us)
    draft.expect(Key.STANDBY.of(cluster.id), again_us, tries=_BLOCKED)


def give_way(draft: Draft, cluster: ClusterState) -> bool:
    """True if jobs go first, because it was not waited for long enough; the moment without jobs was none, then."""
    key = Key.STANDBY.of(cluster.id)
    waits = draft.pending(key)
    if waits is None:
        return False
    draft.expect(key, max(0, waits.deadline_us - draft.at_us), tries=_BLOCKED)
    return True


def want(draft: Draft, cluster: ClusterState) -> ClusterState:
    """Let no job begin from now on, so that the NameNode can start again."""
    if cluster.master is None:
        return cluster
    held = [job.id for job in draft.busy_of(cluster.id)]
    draft.say("journal-wanted", cluster=cluster.id, journal=nodes(draft, cluster), jobs=held)
    cluster = replace(cluster, moving=MastersMove(cause=MoveCause.JOURNAL, since_us=draft.at_us, old=cluster.master))
    draft.put_cluster(cluster)
    return cluster


def objection(draft: Draft, cluster: ClusterState, facts: Facts) -> str:
    """The reason why the NameNode must not start again on these facts of a look; empty when it may.

    It begins its journal with what its own disk has, so that must be everything.
    """
    if facts.get("edits") != "whole":
        known = "lacks" if facts.get("edits") == "gap" else "is not known to have"
        return f"the disk of its NameNode {known} changes that came before the newest ones"
    reached = rows(facts, "reached")
    away = [node for node in nodes(draft, cluster) if node != cluster.master and node not in reached]
    return f"{', '.join(away)} should have its journal and does not answer" if away else ""


def begin(draft: Draft, cluster: ClusterState, moving: MastersMove) -> None:
    """The NameNode starts again, with a journal that has all that it has."""
    master = cluster.master
    if master is None:
        return
    for key in (Key.MASTERS, Key.MEMBERSHIP, Key.SILENT, Key.PATIENCE):
        draft.settle(key.of(cluster.id))
    wanted = Standby(journal=nodes(draft, cluster))
    draft.say("journal-begin", cluster=cluster.id, node=master, journal=wanted.journal)
    cluster = replace(cluster, moving=replace(moving, begun=True), version=cluster.version + 1)
    draft.put_cluster(cluster)
    effect = ArmStandby(cluster.id, cluster.version, master, wanted, (), rejoin_us=draft.settings.rejoin_us)
    draft.act(effect, within_us=draft.settings.deploy_us, version=effect.version)


def begun(draft: Draft, cluster: ClusterState, moving: MastersMove, wanted: Standby) -> ClusterState:
    """The NameNode writes its journal; nobody follows it yet."""
    for key in (Key.MASTERS, Key.STANDBY):
        draft.settle(key.of(cluster.id))
    took_us = draft.at_us - moving.since_us
    draft.say("journal-begun", cluster=cluster.id, node=cluster.master, journal=wanted.journal, took_us=took_us)
    standby = Standby(journal=wanted.journal)
    cluster = replace(alerts.ended(cluster, ClusterAlert.STANDBY), moving=None, standby=standby)
    draft.put_cluster(cluster)
    draft.touch(cluster.id, afresh=True)
    return cluster


def is_under_way(cluster: ClusterState, pending: PutPending) -> bool:
    """True if the NameNode starts again for a journal."""
    moving = cluster.moving
    begun_for_it = moving is not None and moving.begun and moving.cause is MoveCause.JOURNAL
    return begun_for_it and isinstance(pending.effect, ArmStandby)
