"""Goals by key, worked on one at a time for each key; the latest goal wins, and no MR-cluster takes all hands."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from enum import Enum

from fawkes.core.values import effects

_log = logging.getLogger(__name__)

#: hands beyond those that are shared: one for each kind of work of each MR-cluster, however many hang
_RESERVE = 1000


class GoalKind(Enum):
    """Kinds of goals. Each has hands of its own: what hangs in one kind never holds up another."""

    ORDERS = "orders"
    """What must not wait: cancel a job, tell the masters who leaves, give up a stage."""
    LEAVING = "leaving"
    """Nodes to be wiped."""
    JOINING = "joining"
    """Nodes to be brought up until their masters know them; one that never comes keeps its hand to its deadline."""
    STARTS = "starts"
    """Jobs to be begun."""
    COUNTS = "counts"
    """The work of ended jobs to be asked for, what their tasks saved to be removed, stray tasks to be ended: who is
    asked for that may take its time."""
    TASKS = "tasks"
    """Tasks that have to go to be looked at, and followed until they are gone."""
    ROOM = "room"
    """Room for the next job to be looked for, one for each MR-cluster, for hours perhaps."""
    MASTERS = "masters"
    """Masters to be looked at or moved, whatever hangs on the ones that are lost."""
    STAGES = "stages"
    """An MR-cluster to be deployed, loaded or saved: one for each, for hours perhaps."""


Place = tuple[GoalKind, str]


def place_of(effect: effects.Effect) -> Place:
    """The kind of work that a goal is, and the MR-cluster whose hands do it."""
    match effect:
        case effects.CancelJob() | effects.Membership() | effects.Retire() | effects.Survey():
            return GoalKind.ORDERS, effect.cluster
        case effects.Host():
            return (GoalKind.LEAVING if effect.role is None else GoalKind.JOINING), effect.cluster
        case effects.StartJob():
            return GoalKind.STARTS, effect.cluster
        case effects.CountWork() | effects.ClearSaved() | effects.EndAttempts() | effects.SteerStream():
            return GoalKind.COUNTS, effect.cluster
        case effects.LookAtTasks() | effects.ClaimTasks() | effects.PreemptTasks():
            return GoalKind.TASKS, effect.cluster
        case effects.AwaitRoom():
            return GoalKind.ROOM, effect.cluster
        case effects.LookAtMasters() | effects.MoveMasters() | effects.ArmStandby():
            return GoalKind.MASTERS, effect.cluster
        case effects.Deploy() | effects.Load() | effects.Save():
            return GoalKind.STAGES, effect.cluster
        case effects.WakeAt() | effects.EndControl() | effects.Reply():
            return GoalKind.ORDERS, ""


class _Shares:
    """The hands of one kind of work, and the goals that wait for them, by MR-cluster."""

    def __init__(self, shared: int) -> None:
        self._shared = shared
        self._busy: Counter[str] = Counter()
        self._waiting: dict[str, dict[str, None]] = {}

    def add(self, cluster: str, key: str) -> None:
        """A goal waits for a hand."""
        self._waiting.setdefault(cluster, {})[key] = None

    def remove(self, cluster: str, key: str) -> None:
        """It waits no more."""
        keys = self._waiting[cluster]
        del keys[key]
        if not keys:
            del self._waiting[cluster]

    def begin(self) -> tuple[str, str] | None:
        """The MR-cluster and the key of the goal to work on next; None while there is no hand for any.

        Each MR-cluster has one hand of its own and may take half of those that are free: the others find some
        however many of its goals hang. Among those that may, the one with the fewest hands is next.
        """
        free = self._shared - self._busy.total()
        able = [cluster for cluster in self._waiting if self._busy[cluster] < max(1, free)]
        if not able:
            return None
        # The first of equals is the one that has waited longest: it goes to the end when it has begun.
        cluster = min(able, key=lambda name: self._busy[name])
        keys = self._waiting.pop(cluster)
        key = next(iter(keys))
        del keys[key]
        if keys:
            self._waiting[cluster] = keys
        self._busy[cluster] += 1
        return cluster, key

    def end(self, cluster: str) -> None:
        """A hand of an MR-cluster is free again."""
        self._busy[cluster] -= 1
        if not self._busy[cluster]:
            del self._busy[cluster]


class Reconciler:
    """Hands each goal to ``act`` on a bounded number of threads; ``act`` never runs twice at once for a key.

    A goal that arrives while an older one of its key is worked on is taken up right after it; goals in between are
    skipped. ``act`` reports by posting events and asks `is_current` before it does anything that a newer goal forbids.
    Nothing is kept of a goal whose work has ended; one that is wanted again is worked on again.

    One MR-cluster alone works on up to ``threads`` goals of a kind (`GoalKind`) at once; all together on twice as many,
    and one more for each MR-cluster.
    """

    def __init__(self, act: Callable[[effects.Effect], None], threads: int) -> None:
        self._act = act
        self._shares = {work: _Shares(0 if work is GoalKind.STAGES else 2 * threads) for work in GoalKind}
        most = 2 * threads * len(GoalKind) + _RESERVE
        self._pool = ThreadPoolExecutor(max_workers=most, thread_name_prefix="hands")
        self._lock = threading.Lock()
        self._goals: dict[str, effects.Effect] = {}
        self._queued: dict[str, Place] = {}
        self._busy: set[str] = set()
        self._closed = False

    def want(self, effect: effects.Effect) -> None:
        """This is the goal of its key from now on."""
        with self._lock:
            if self._closed:
                return
            self._goals[effect.key] = effect
            if effect.key not in self._busy:
                self._queue(effect)
                self._begin()

    def is_current(self, effect: effects.Effect) -> bool:
        """True from `want` until its work has ended, unless a newer goal of the key has arrived or all work ends."""
        with self._lock:
            return not self._closed and self._goals.get(effect.key) is effect

    def close(self) -> None:
        """Take no more goals; what is being worked on notices by `is_current` and is not waited for."""
        with self._lock:
            self._closed = True
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _queue(self, effect: effects.Effect) -> None:
        """Let a goal wait for a hand of its kind: a wipe does not wait where the join that it replaces did."""
        place, before = place_of(effect), self._queued.get(effect.key)
        if before == place:
            return
        if before is not None:
            self._shares[before[0]].remove(before[1], effect.key)
        self._queued[effect.key] = place
        self._shares[place[0]].add(place[1], effect.key)

    def _begin(self) -> None:
        """Give every free hand a goal that it may take."""
        for work, shares in self._shares.items():
            while (begun := shares.begin()) is not None:
                cluster, key = begun
                del self._queued[key]
                self._busy.add(key)
                self._pool.submit(self._work, key, (work, cluster))

    def _work(self, key: str, place: Place) -> None:
        with self._lock:
            effect = self._goals[key]
        try:
            self._act(effect)
        except Exception:
            _log.exception("a defect while working on %s", key)
        with self._lock:
            self._busy.discard(key)
            self._shares[place[0]].end(place[1])
            if self._closed:
                return
            if self._goals[key] is effect:
                del self._goals[key]
            else:
                self._queue(self._goals[key])
            self._begin()
