"""The congestion monitor: an action for a stream whose readings show congestion or idle workers (Li, section 4.4.2).

| action | condition, each for longer than ``lasting_s`` |
|---|---|
| ScaleUp | the topology's queue rises, and a resource is overloaded |
| ScaleDown | an operator has no queue, a resource is overloaded, and the topology's queue does not rise |
| Shuffle | a queue or the latency rises, no resource is overloaded, there are several workers; once in a congestion |
| ScaleOut | an operator's queue rises, no resource is overloaded, and a shuffle did not help or could not |
| ScaleIn | the topology's queue falls or is empty, and all resources are under-used |
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from fawkes.core.streams.values import (
    Lasting,
    MonitorState,
    ScaleDown,
    ScaleIn,
    ScaleOut,
    ScaleUp,
    Shuffle,
    StreamAction,
    StreamReading,
    Thresholds,
)

_QUEUE, _LATENCY = "the topology's queue", "mean latency"


def watch(
    state: MonitorState, reading: StreamReading, thresholds: Thresholds
) -> tuple[MonitorState, StreamAction | None]:
    """The state after a reading, and the action that is due.

    A reading that is not newer than the last one changes nothing. A value that was not read interrupts no congestion
    and proves none. It does interrupt whatever would shrink the stream, and so does a gap of more than ``monitoring_s``
    between two readings.
    """
    if state.at_s is not None and reading.at_s <= state.at_s:
        return state, None
    if state.at_s is not None and reading.at_s - state.at_s > thresholds.monitoring_s:
        state = replace(state, lasting={key: state.lasting[key] for key in state.lasting if _congests(key, thresholds)})
    look = _Look(state, reading, thresholds)
    look.follow()
    shuffled = state.shuffled and not look.holds("calm")
    seen = replace(state, at_s=reading.at_s, lasting=look.lasting, values=look.values, shuffled=shuffled)
    watched = state.action_s is not None and reading.at_s - state.action_s < thresholds.monitoring_s
    step = None if watched else look.step(shuffled=shuffled)
    if step is not None:
        shuffled = shuffled or isinstance(step.action, Shuffle)
        seen = replace(seen, action=step.action, action_s=reading.at_s, shuffled=shuffled)
    return seen, step


@dataclass(slots=True)
class _Look:
    """A reading held against what was known before. ``shown``: conditions that this reading itself shows."""

    state: MonitorState
    reading: StreamReading
    thresholds: Thresholds
    lasting: dict[str, Lasting] = field(default_factory=dict)
    values: dict[str, float] = field(default_factory=dict)
    shown: set[str] = field(default_factory=set)

    @property
    def shares(self) -> dict[str, float | None]:
        """The shares of the resources that are judged."""
        known = {"cpu": self.reading.cpu, "memory": self.reading.memory, "network": self.reading.network}
        return {name: known[name] for name in self.thresholds.judged}

    def follow(self) -> None:
        """Carry all conditions on to this reading."""
        self.lasting |= {key: since for key, since in self.state.lasting.items() if key.endswith(" rises")}
        self.values |= self.state.values
        for name, share in self.shares.items():
            self._carry(name, None if share is None else share > self.thresholds.judged[name])
        idle = all(share is not None and share < self.thresholds.idle for share in self.shares.values())
        self._carry("idle", idle)
        read = {_QUEUE: self.reading.queue, _LATENCY: self.reading.latency_s}
        read |= {_key(each.name): each.queue for each in self.reading.operators}
        for key, value in read.items():
            self._follow_value(key, value)
        self._carry("calm", self.reading.queue is not None and not any(f"{key} rises" in self.lasting for key in read))

    def _follow_value(self, key: str, value: float | None) -> None:
        """Carry on what a value does: one that stays the same neither rises nor falls, and ends neither."""
        before = self.state.values.get(key)
        same = before is None or value in (None, before)
        self._carry(f"{key} rises", None if same else (value or 0) > (before or 0), before)
        falls = None if same and value is not None else value is not None and value < (before or 0)
        self._carry(f"{key} falls", value == 0 or falls, before)
        self._carry(f"{key} empty", value == 0)
        if value is not None:
            self.values[key] = value

    def _carry(self, key: str, shown: bool | None, first: float | None = None) -> None:
        """A condition goes on (True), ends (False), or stays as it was (None)."""
        earlier = self.state.lasting.get(key)
        self.lasting.pop(key, None)
        if shown:
            self.shown.add(key)
            self.lasting[key] = earlier or Lasting(self.reading.at_s, first or 0.0)
        elif shown is None and earlier is not None:
            self.lasting[key] = earlier

    def holds(self, key: str) -> bool:
        """True if this reading shows a condition that has lasted long enough."""
        return key in self.shown and self._for_s(key) > self.thresholds.lasting_s

    def _for_s(self, key: str) -> float:
        return self.reading.at_s - self.lasting[key].since_s

    def step(self, *, shuffled: bool) -> StreamAction | None:
        """The action that is due, whatever was done before."""
        overloaded = [name for name in self.shares if self.holds(name)]
        if overloaded:
            return self._crowded(overloaded[0])
        if any(share is None or share > self.thresholds.judged[name] for name, share in self.shares.items()):
            return None
        rising = [key for key in self.values if self.holds(f"{key} rises")]
        return self._unbalanced(rising, shuffled=shuffled) if rising else self._idle()

    def _crowded(self, name: str) -> StreamAction | None:
        limit, share = self.thresholds.judged[name], self.shares[name]
        load = f"{name} has been over {limit:.0%} for {self._for_s(name):.0f} s (now {share:.0%})"
        if self.holds(f"{_QUEUE} rises"):
            return StreamAction(ScaleUp(), f"{load} and {self._change(_QUEUE, 'grew')}: more workers")
        if self.reading.queue is None or f"{_QUEUE} rises" in self.lasting:
            return None
        spare = {each.name: each.parallelism for each in self.reading.operators if each.parallelism > 1}
        spare = {each: tasks for each, tasks in spare.items() if self.holds(f"{_key(each)} empty")}
        if not spare:
            return None
        most = max(spare, key=spare.__getitem__)
        empty_s = self._for_s(f"{_key(most)} empty")
        reason = f"{load} and nothing has waited for {most} ({spare[most]} tasks) for {empty_s:.0f} s"
        return StreamAction(ScaleDown(most), f"{reason}: fewer tasks of {most}")

    def _unbalanced(self, rising: list[str], *, shuffled: bool) -> StreamAction | None:
        workers = self.reading.workers
        if workers is not None and workers > 1 and not shuffled:
            reason = f"{self._change(rising[0], 'grew')} and no resource of {workers} workers is overloaded"
            return StreamAction(Shuffle(), f"{reason}: place the tasks anew")
        grown = {
            each.name: self._growth(_key(each.name)) for each in self.reading.operators if _key(each.name) in rising
        }
        if not grown:
            return None
        most = max(grown, key=grown.__getitem__)
        after = " after a shuffle" if shuffled else ""
        reason = f"{self._change(_key(most), 'grew')}{after} and no resource is overloaded"
        return StreamAction(ScaleOut(most), f"{reason}: more tasks of {most}")

    def _idle(self) -> StreamAction | None:
        workers = self.reading.workers
        if workers is None or workers <= self.thresholds.least_workers:
            return None
        if not (self.holds("idle") and self.holds(f"{_QUEUE} falls")):
            return None
        load = f"all resources of {workers} workers have been below {self.thresholds.idle:.0%}"
        course = self._change(_QUEUE, "fell") if self.reading.queue else f"{_QUEUE} is empty"
        return StreamAction(ScaleIn(), f"{load} for {self._for_s('idle'):.0f} s and {course}: fewer workers")

    def _growth(self, key: str) -> float:
        return self.values[key] - self.lasting[f"{key} rises"].first

    def _change(self, key: str, verb: str) -> str:
        """The course of a value as words."""
        condition = f"{key} {'rises' if verb == 'grew' else 'falls'}"
        unit = "s" if key == _LATENCY else "records"
        first, now = self.lasting[condition].first, self.values[key]
        return f"{key} {verb} from {first:g} to {now:g} {unit} in {self._for_s(condition):.0f} s"


def _congests(key: str, thresholds: Thresholds) -> bool:
    """True if a condition speaks for congestion."""
    return key.endswith(" rises") or key in thresholds.judged


def _key(operator: str) -> str:
    """The name under which the queue of an operator is followed."""
    return f"the queue of operator {operator}"
