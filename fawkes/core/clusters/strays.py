"""Tasks that lost their containers, and when they are ended: nobody else would tell their ApplicationMaster.

A host and the ResourceManager that go away together leave such tasks behind: the next ResourceManager never heard of
their containers, so that it cannot say that these are gone. Hadoop waits for the task timeout then, ten minutes.
"""

from __future__ import annotations

from collections.abc import Mapping

from fawkes.core.state.draft import Draft
from fawkes.core.values.effects import EndAttempts
from fawkes.core.values.events import Done, Failed
from fawkes.core.values.keys import Key
from fawkes.core.values.model import ClusterState, Reading
from fawkes.core.values.sight import application_of


def look(draft: Draft, cluster: ClusterState, reading: Reading) -> Mapping[str, int]:
    """The time since which each stray attempt has been seen; those that have been for ``missing_us`` are ended.

    A container may be missing as long as a node: NodeManagers tell a new ResourceManager what they run.
    """
    latest = draft.view.latest(cluster.id)
    before: Mapping[str, int] = {} if latest is None else latest.strays
    since_us = {name: at_us for name, at_us in before.items() if application_of(name) in reading.silent}
    since_us |= {stray.attempt: before.get(stray.attempt, draft.at_us) for stray in reading.strays}
    patience_us = draft.settings.missing_us
    due = [stray for stray in reading.strays if draft.at_us - since_us[stray.attempt] >= patience_us]
    if due and draft.pending(Key.STRAYS.of(cluster.id)) is None and not draft.rules.shadow:
        names = tuple(sorted(stray.attempt for stray in due))
        effect = EndAttempts(cluster.id, cluster.version, names)
        draft.act(effect, within_us=draft.settings.membership_us, version=cluster.version)
        applications = {stray.application for stray in due}
        jobs = sorted(job.id for job in draft.busy_of(cluster.id) if job.application in applications)
        nodes = sorted({stray.node for stray in due})
        draft.say("stray-tasks", cluster=cluster.id, jobs=jobs, tasks=len(due), nodes=nodes, lasted_us=patience_us)
    return since_us


def answered(draft: Draft, cluster: ClusterState, event: Done | Failed) -> None:
    """The attempts have ended, or could not be: whatever strays by then is tried again, after a while."""
    if isinstance(event, Failed):
        draft.say("strays-stay", cluster=cluster.id, error=event.error)
        draft.expect(event.effect, draft.settings.retry_max_us, version=event.version)
    else:
        draft.settle(event.effect)
