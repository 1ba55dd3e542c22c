"""Copies of the data of masters off their node, and the alert when that has not worked for too long."""

from __future__ import annotations

from fawkes.base.values import replace
from fawkes.core.state import alerts
from fawkes.core.state.draft import Draft
from fawkes.core.values.events import CopySeen
from fawkes.core.values.keys import Key
from fawkes.core.values.lifecycle import WITH_MASTERS
from fawkes.core.values.model import ClusterAlert, ClusterState


def seen(draft: Draft, event: CopySeen) -> None:
    """Copying the masters' data works, or not since; an alert when that lasts."""
    cluster = draft.cluster(event.cluster)
    if cluster is None or cluster.life not in WITH_MASTERS:
        return
    key = Key.COPY.of(cluster.id)
    if cluster.uncopied != event.error:
        cluster = replace(cluster, uncopied=event.error)
        draft.put_cluster(cluster)
    if not event.error:
        draft.settle(key)
        if alerts.about(cluster, ClusterAlert.COPY):
            draft.put_cluster(alerts.ended(cluster, ClusterAlert.COPY))
            draft.say("copied-again", cluster=cluster.id)
    elif alerts.about(cluster, ClusterAlert.COPY):
        _alert(draft, cluster)
    elif draft.settings.copy_us and draft.pending(key) is None:
        draft.expect(key, draft.settings.copy_us)


def late(draft: Draft, cluster: ClusterState) -> None:
    """Their data has not been copied for too long."""
    draft.say("not-copied", cluster=cluster.id, within_us=draft.settings.copy_us)
    _alert(draft, cluster)


def _alert(draft: Draft, cluster: ClusterState) -> None:
    since = f"since {draft.settings.copy_us // 1_000_000} s and more"
    # Earlier versions did not store why.
    why = ": ".join(filter(None, (since, cluster.uncopied)))
    draft.put_cluster(alerts.raised(cluster, ClusterAlert.COPY, why))
