"""The cost of lost masters in one run, from its store: time without them, jobs that began again, work done in vain."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields

from fawkes.base.units import SECOND_US
from fawkes.core.values.decision import Decision, PutCluster
from fawkes.core.values.effects import ArmStandby
from fawkes.core.values.events import Done, Event, MastersSeen
from fawkes.core.values.keys import Key, split
from fawkes.core.values.lifecycle import WITH_MASTERS
from fawkes.core.values.model import ClusterState, JobId
from fawkes.sim.hadoop.model import TaskEvent
from fawkes.store.base import Reader

#: processor time of a daemon's start, and what a second NameNode takes of a core while nobody writes: measured on real
#: Hadoop (docs/method.md)
NAMENODE_S, JOURNALNODE_S, IDLE_CORES = 3.8, 2.0, 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class MastersLost:
    """The cost of lost and moved masters, for an MR-cluster or all of them together.

    ``masters_away_s`` is the time in which its masters did not serve, from their loss on. Of ``masters_moves`` that
    ended, the copies that were used lacked the writes of the last ``masters_lacks_s`` in all. ``jobs_again`` jobs had
    to begin again; ``work_again_s`` is the time of the tasks that they had run by then, in task-seconds, None when
    nobody kept it.
    """

    masters_away_s: float
    masters_moves: int
    masters_lacks_s: float
    jobs_again: int
    work_again_s: float | None
    standby_s: float
    standby_cpu_s: float


MASTERS = tuple(each.name for each in fields(MastersLost))
"""The keys that an outcome has only where nodes are lost."""


@dataclass(slots=True)
class _Stopwatch:
    """The time in which something holds; ``since_us`` is since when, if it holds now."""

    since_us: int | None = None
    us: int = 0

    def holds(self, now: bool, at_us: int) -> bool:
        """It holds from now on, or no more; True if it did not hold before."""
        begins = now and self.since_us is None
        if begins:
            self.since_us = at_us
        elif not now and self.since_us is not None:
            self.us += at_us - self.since_us
            self.since_us = None
        return begins


@dataclass(slots=True)
class _Cluster:
    """The masters of one MR-cluster, by a store: whether they are away, and whether a second NameNode runs."""

    away: _Stopwatch = field(default_factory=_Stopwatch)
    ready: _Stopwatch = field(default_factory=_Stopwatch)
    runs: _Stopwatch = field(default_factory=_Stopwatch)
    moves: int = 0
    lacks_us: int = 0
    again: list[tuple[JobId, int]] = field(default_factory=list)
    starts_s: float = 0.0

    def has(self, state: ClusterState, at_us: int) -> None:
        """The standing of its second NameNode from now on."""
        standby = state.standby if state.life in WITH_MASTERS else None
        self.ready.holds(standby is not None and standby.ready, at_us)
        if self.runs.holds(standby is not None, at_us) and standby is not None:
            self.starts_s += NAMENODE_S + JOURNALNODE_S * len(standby.journal)

    def arms(self, effect: ArmStandby) -> None:
        """A second NameNode was brought up again; with another journal both were, and a JournalNode.

        A program as large as a NameNode begins a new journal where there was none: `has` counts what it brings up.
        """
        new = len(set(effect.standby.journal) - set(effect.before)) if effect.before else 0
        self.starts_s += NAMENODE_S * (2 if new else 1) + JOURNALNODE_S * new

    def end(self, at_us: int) -> None:
        """The run ends."""
        for watch in (self.away, self.ready, self.runs):
            watch.holds(False, at_us)

    def cost(self, tasks_us: Mapping[tuple[JobId, int], int] | None) -> MastersLost:
        return MastersLost(
            masters_away_s=self.away.us / SECOND_US,
            masters_moves=self.moves,
            masters_lacks_s=self.lacks_us / SECOND_US,
            jobs_again=len(self.again),
            work_again_s=None if tasks_us is None else sum(tasks_us.get(a, 0) for a in self.again) / SECOND_US,
            standby_s=self.ready.us / SECOND_US,
            standby_cpu_s=self.starts_s + IDLE_CORES * self.runs.us / SECOND_US,
        )


def masters_lost(store: Reader, tasks: Sequence[TaskEvent] | None = None) -> dict[str, MastersLost]:
    """The cost of lost masters for each MR-cluster with any; ``tasks`` are the starts and ends of attempts, if kept."""
    clusters: dict[str, _Cluster] = {}
    arming: dict[str, ArmStandby] = {}
    at_us = 0
    for entry in store.entries():
        at_us = entry.event.at_us
        if isinstance(entry.event, MastersSeen):
            cluster = clusters.setdefault(entry.event.cluster, _Cluster())
            cluster.away.holds(bool(entry.event.error), at_us)
        for reason in entry.decision.reasons:
            name = reason.facts.get("cluster")
            if isinstance(name, str):
                _saw(clusters, name, reason.code, reason.facts, at_us)
        _stands(clusters, arming, entry.event, entry.decision)
    for cluster in clusters.values():
        cluster.end(at_us)
    tasks_us = None if tasks is None else _tasks_us(tasks)
    return {name: cluster.cost(tasks_us) for name, cluster in clusters.items()}


def _stands(clusters: dict[str, _Cluster], arming: dict[str, ArmStandby], event: Event, decision: Decision) -> None:
    """Take over what a step says of second NameNodes; ``arming`` are those that are being brought up."""
    if isinstance(event, Done) and split(event.effect)[0] is Key.MASTERS:
        effect = arming.get(event.effect)
        if effect is not None and effect.version == event.version:
            clusters[effect.cluster].arms(effect)
    arming.update((effect.key, effect) for effect in decision.effects if isinstance(effect, ArmStandby))
    for change in decision.changes:
        if isinstance(change, PutCluster) and (change.state.standby is not None or change.state.id in clusters):
            clusters.setdefault(change.state.id, _Cluster()).has(change.state, event.at_us)


def _saw(clusters: dict[str, _Cluster], name: str, code: str, facts: Mapping[str, object], at_us: int) -> None:
    match code:
        case "masters-move":
            # Planned ones serve until now.
            clusters.setdefault(name, _Cluster()).away.holds(True, at_us)
        case "masters-moved":
            cluster = clusters.setdefault(name, _Cluster())
            cluster.away.holds(False, at_us)
            cluster.moves += 1
            lacks = facts.get("lacks_us")
            cluster.lacks_us += lacks if isinstance(lacks, int) else 0
        case "displaced":
            attempt = facts.get("attempt")
            if isinstance(attempt, int):
                clusters.setdefault(name, _Cluster()).again.append((JobId(str(facts.get("job"))), attempt - 1))
        case "gone" if name in clusters:
            clusters[name].away.holds(False, at_us)


def total_of(costs: Sequence[MastersLost]) -> MastersLost:
    """The cost for several MR-clusters together."""
    work = [cost.work_again_s for cost in costs if cost.work_again_s is not None]
    return MastersLost(
        masters_away_s=math.fsum(cost.masters_away_s for cost in costs),
        masters_moves=sum(cost.masters_moves for cost in costs),
        masters_lacks_s=math.fsum(cost.masters_lacks_s for cost in costs),
        jobs_again=sum(cost.jobs_again for cost in costs),
        work_again_s=math.fsum(work) if len(work) == len(costs) else None,
        standby_s=math.fsum(cost.standby_s for cost in costs),
        standby_cpu_s=math.fsum(cost.standby_cpu_s for cost in costs),
    )


NO_LOSS = total_of(())


def spans_us(tasks: Sequence[TaskEvent]) -> Iterator[tuple[TaskEvent, int]]:
    """The end of each attempt of a task, with how long it had run; those that still run are not there."""
    since: dict[tuple[JobId, int, int], int] = {}
    for event in tasks:
        attempt = (event.job, event.attempt, event.number)
        if event.what == "start":
            since[attempt] = event.at_us
        else:
            yield event, event.at_us - since.pop(attempt)


def _tasks_us(tasks: Sequence[TaskEvent]) -> Mapping[tuple[JobId, int], int]:
    """The time of all tasks of each attempt of a job, those that were killed included."""
    spent: Counter[tuple[JobId, int]] = Counter()
    for event, span_us in spans_us(tasks):
        spent[event.job, event.attempt] += span_us
    return spent
