"""Plays a workload on a running controller: asks for MR-clusters and submits jobs when their time has come.

What is asked for has an id that stays, so a request whose answer was lost is asked again without harm: the controller
then refuses it because it is there already. So a player outlives restarts of the controller.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar

from fawkes.base.errors import DeadlineError, ElsewhereError, FawkesError, RefusedError, UserError
from fawkes.base.units import SECOND_US, counted, show_duration
from fawkes.config.clusters.clusters import GENERATED
from fawkes.config.clusters.details import ClusterDetails
from fawkes.config.workloads.workloads import Arrival, Submission, WorkloadFile
from fawkes.core.values.lifecycle import ENDED_JOBS
from fawkes.core.values.model import ClusterLife, ClusterSpec, Facts, Plain
from fawkes.store.record import to_plain
from fawkes.workload.playing.generate import generate

T = TypeVar("T")
Say = Callable[[str], None]
Until = Literal["gone", "ended", "ready"]

LOOK_US = SECOND_US
PATIENCE_US = 120 * SECOND_US
REFUSED = -1
_FIRST_PAUSE_US = SECOND_US // 10
_FINAL = (UserError, RefusedError, ElsewhereError)


class PlayedController(Protocol):
    """The controller that a workload is played on: `fawkes.cli.asking.client.Client`."""

    def rows(self, name: str, **parameters: str) -> list[dict[str, Any]]:
        """Rows about MR-clusters or jobs."""

    def post(self, verb: str, body: Mapping[str, Plain]) -> Facts:
        """Ask for something; RefusedError or UserError when the controller says no."""


class PlayClock(Protocol):
    """Time, for tests to replace."""

    def now_us(self) -> int:
        """The time since some moment; never runs backwards."""

    def sleep_us(self, us: int) -> None:
        """Wait."""


class SystemClock:
    """The machine's own."""

    def now_us(self) -> int:
        """See `PlayClock`."""
        return time.monotonic_ns() // 1000

    def sleep_us(self, us: int) -> None:
        """See `PlayClock`."""
        time.sleep(us / SECOND_US)


@dataclass(frozen=True)
class Posted:
    """Something that was asked for: ``verb`` is request or submit; times count from the start of the run.

    ``due_us`` is when it should have been, ``at_us`` when the controller had taken it, ``tries`` how often it was sent.
    With no tries it is about to be sent, at ``at_us``: whether it arrived is not known. With `REFUSED` the controller
    did not take it. The verb ``runs`` says when an MR-cluster that was requested was seen to run.
    """

    verb: str
    name: str
    due_us: int
    at_us: int
    tries: int

    @property
    def drift_us(self) -> int:
        """The delay of its submission."""
        return self.at_us - self.due_us

    @property
    def taken(self) -> bool:
        """True if it is a request that the controller took."""
        return self.verb in ("request", "submit") and self.tries > 0


@dataclass(frozen=True)
class Played:
    """A workload that has been played, and how long that took."""

    posted: tuple[Posted, ...]
    took_us: int

    @property
    def drift_us(self) -> int:
        """The latest of all."""
        return max((post.drift_us for post in self.posted), default=0)

    def in_words(self) -> str:
        """One sentence for people."""
        again = sum(post.tries > 1 for post in self.posted)
        clusters = sum(post.verb == "request" for post in self.posted)
        jobs = counted(len(self.posted) - clusters, "job")
        return (
            f"{counted(clusters, 'MR-cluster')} and {jobs} were requested, at most "
            f"{show_duration(self.drift_us)} late" + (f", {again} of them more than once" if again else "")
        )


def with_data(workload: WorkloadFile, root: Path, say: Say = lambda text: None) -> WorkloadFile:
    """The workload with the data that it generates made below ``root``, and folders in place of their names."""
    folders: dict[str, str] = {}
    for wanted in workload.generate:
        say(f"the data {wanted.name}")
        folders[wanted.name] = str(generate(wanted, root))
    clusters = tuple(replace(arrival, spec=_with_folders(arrival.spec, folders)) for arrival in workload.clusters)
    return replace(workload, clusters=clusters)


def _with_folders(spec: ClusterSpec, folders: Mapping[str, str]) -> ClusterSpec:
    details = ClusterDetails.of(spec.details)
    data = tuple(replace(row, source=folders.get(_generated(row.source), row.source)) for row in details.data)
    return replace(spec, details=replace(details, data=data).plain())


def _generated(source: str) -> str:
    return source.removeprefix(GENERATED) if source.startswith(GENERATED) else ""


def play(
    workload: WorkloadFile,
    controller: PlayedController,
    *,
    say: Say = lambda text: None,
    clock: PlayClock | None = None,
    until: Until = "gone",
    limit_us: int | None = None,
    patience_us: int = PATIENCE_US,
    spent_us: int = 0,
    there: Sequence[str] = (),
    data: Collection[str] = (),
    earlier: Sequence[Posted] = (),
    note: Callable[[Posted], None] = lambda posted: None,
) -> Played:
    """Ask for everything at its time, and wait until all MR-clusters are ``gone``, or all jobs have ``ended``.

    ``ready`` is when all jobs have ended and all MR-clusters run. The run starts now, or, after one that was broken
    off, goes on where the last of ``earlier`` was asked for; these are not asked for again. ``note`` gets each that is,
    before it is sent and at once after the controller took it: what was sent and not yet noted when a run was broken
    off is found there by the next. The MR-clusters in ``there`` run already. Jobs behind one of ``data`` come as much
    later as that took after its MR-cluster ran. While no controller answers it is tried again, for ``patience_us`` at
    most; ``say`` hears of that. The controller's refusals are raised; FawkesError when an MR-cluster goes before all of
    its jobs could be submitted; DeadlineError after ``limit_us``, of which ``spent_us`` had gone before.
    """
    player = _Player(
        workload, controller, say, clock or SystemClock(), limit_us, patience_us, note, spent_us, frozenset(data)
    )
    return player.play(until, there, earlier)


@dataclass
class _Item:
    """An MR-cluster or a job that is still to be asked for."""

    of: Arrival | Submission
    order: int
    #: since when it may be there although nobody has heard that it was taken
    sent_us: int | None = None
    tries: int = 0

    @property
    def verb(self) -> str:
        return "request" if isinstance(self.of, Arrival) else "submit"

    @property
    def name(self) -> str:
        return self.of.spec.id

    @property
    def cluster(self) -> str:
        return self.of.spec.id if isinstance(self.of, Arrival) else self.of.spec.cluster


@dataclass
class _Player:
    workload: WorkloadFile
    controller: PlayedController
    say: Say
    clock: PlayClock
    limit_us: int | None
    patience_us: int
    note: Callable[[Posted], None]
    spent_us: int
    data: Collection[str]
    start_us: int = 0
    requested: dict[str, int] = field(default_factory=dict)
    running: dict[str, int] = field(default_factory=dict)
    ended: dict[str, int] = field(default_factory=dict)
    posted: list[Posted] = field(default_factory=list)

    def play(self, until: Until, there: Sequence[str], earlier: Sequence[Posted]) -> Played:
        self.start_us = self.clock.now_us() - max((post.at_us for post in earlier), default=0)
        latest = {(post.verb, post.name): post for post in earlier}
        self.posted = [post for post in latest.values() if post.taken]
        requested = {row.name: row.at_us for row in self.posted if row.verb == "request"}
        self.requested = dict.fromkeys(there, 0) | requested
        self.running = {name: 0 for name in there if name not in requested}
        self.running |= {post.name: post.at_us for post in latest.values() if post.verb == "runs"}
        done = {(post.verb, post.name) for post in self.posted}
        sent = {key: post.at_us for key, post in latest.items() if not post.tries}
        things: list[Arrival | Submission] = [*self.workload.clusters, *self.workload.jobs]
        items = [_Item(thing, order) for order, thing in enumerate(things)]
        items = [item for item in items if (item.verb, item.name) not in done]
        for item in items:
            item.sent_us = sent.get((item.verb, item.name))
        over = False
        while items or not over:
            for item in self._ready(items):
                self._post(item)
                items.remove(item)
            over = self._look(items, until)
            self._rest(items, over)
        return Played(tuple(self.posted), self._now_us())

    def _now_us(self) -> int:
        return self.clock.now_us() - self.start_us

    def _due_us(self, item: _Item) -> int | None:
        """The time when it is to be asked for; None while that is not known yet."""
        if isinstance(item.of, Arrival):
            start_us = self.running.get(item.of.after) if item.of.after else 0
            return None if start_us is None else start_us + item.of.at_us
        if item.cluster not in self.requested:
            return None
        since = {"start": 0, "request": self.requested[item.cluster], "running": self.running.get(item.cluster)}
        base = since[item.of.after]
        if base is None or any(job not in self.ended for job in item.of.behind):
            return None
        base += sum(self.ended[job] - self.running.get(item.cluster, 0) for job in item.of.behind if job in self.data)
        ends = (self.ended[job] + item.of.think_us for job in item.of.behind if job not in self.data)
        return max([base + item.of.delay_us, *ends])

    def _ready(self, items: Sequence[_Item]) -> list[_Item]:
        now_us = self._now_us()
        dues = [(due, item.order, item) for item in items if (due := self._due_us(item)) is not None]
        return [item for due, _, item in sorted(dues, key=lambda row: row[:2]) if due <= now_us]

    def _post(self, item: _Item) -> None:
        due_us = self._due_us(item) or 0
        body = {"spec": to_plain(item.of.spec)}
        if item.sent_us is None:
            self.note(Posted(item.verb, item.name, due_us, self._now_us(), 0))
        arrived = self._patiently(lambda: self._send(item, body))
        at_us = self._now_us() if arrived or item.sent_us is None else item.sent_us
        if isinstance(item.of, Arrival):
            self.requested[item.name] = at_us
        self.posted.append(Posted(item.verb, item.name, due_us, at_us, item.tries))
        self.note(self.posted[-1])

    def _send(self, item: _Item, body: Mapping[str, Plain]) -> bool:
        """Send it; True if the controller took it now: not when an earlier try had arrived and its answer was lost."""
        item.tries += 1
        try:
            self.controller.post(item.verb, body)
        except RefusedError:
            if (item.tries == 1 and item.sent_us is None) or not self._is_there(item):
                now_us = self._now_us()
                self.note(Posted(item.verb, item.name, now_us, now_us, REFUSED))
                raise
            return False
        return True

    def _is_there(self, item: _Item) -> bool:
        name, key = ("clusters", "cluster") if item.verb == "request" else ("jobs", "job")
        return bool(self.controller.rows(name, **{key: item.name}))

    def _look(self, items: Sequence[_Item], until: Until) -> bool:
        """See which MR-clusters run; whether everything is over."""
        lives = {row["cluster"]: row for row in self._patiently(lambda: self.controller.rows("clusters"))}
        for name in self.requested:
            row = lives.get(name)
            gone = row is None or row["state"] == ClusterLife.GONE
            if row is not None and row["state"] == ClusterLife.RUNNING and name not in self.running:
                self.running[name] = now_us = self._now_us()
                self.note(Posted("runs", name, now_us, now_us, 1))
            if gone:
                self._check_gone(name, items)
        awaited = {job for item in items if isinstance(item.of, Submission) for job in item.of.behind}
        left = self._jobs_left(awaited) if until != "gone" or awaited else False
        if until == "gone":
            names = set(self.requested)
            return not any(row["state"] != ClusterLife.GONE for name, row in lives.items() if name in names)
        return not left and (until == "ended" or all(name in self.running for name in self.requested))

    def _jobs_left(self, awaited: Collection[str]) -> bool:
        """See which jobs have ended; whether any of ours has not. One that is not told of any more ended long ago."""
        rows = self._patiently(lambda: self.controller.rows("jobs"))
        there = {row["job"] for row in rows if row["state"] not in ENDED_JOBS}
        left = False
        for post in self.posted:
            if post.verb == "submit" and post.name in there:
                left = True
            elif post.verb == "submit" and post.name in awaited and post.name not in self.ended:
                self.ended[post.name] = self._end_us(post)
        return left

    def _end_us(self, post: Posted) -> int:
        """The end of a job by the controller's times; now if these are not known, or the run was broken off since."""
        rows = self._patiently(lambda: self.controller.rows("jobs", job=post.name))
        times = [row.get(key) for row in rows for key in ("wait_s", "run_s")]
        took_us = [round(time_s * SECOND_US) for time_s in times if time_s is not None]
        now_us = self._now_us()
        return min(now_us, post.at_us + sum(took_us)) if len(took_us) == 2 else now_us

    def _check_gone(self, name: str, items: Sequence[_Item]) -> None:
        left = sum(item.cluster == name for item in items)
        waiting = [item for item in items if isinstance(item.of, Arrival) and item.of.after == name]
        if left or (waiting and name not in self.running):
            rows = self._patiently(lambda: self.controller.rows("clusters", cluster=name))
            why = next((row["failed"] for row in rows if row["failed"]), "it had nothing to do for its idle time")
            raise FawkesError(
                f"it was gone before {left} of its jobs were submitted: {why}"
                if left
                else f"it was gone before it ran: {why}",
                where=name,
                hint="If it did not fail, give it a longer idle_time",
            )

    def _rest(self, items: Sequence[_Item], over: bool) -> None:
        """Rest until something is due, but not longer than to the next look."""
        if over and not items:
            return
        now_us = self._now_us()
        if self.limit_us is not None and now_us + self.spent_us >= self.limit_us:
            raise DeadlineError(
                f"the workload {self.workload.name} was not finished after {show_duration(self.limit_us)}",
                hint="`fawkes status` and `fawkes jobs` show its progress",
            )
        dues = [due for item in items if (due := self._due_us(item)) is not None]
        self.clock.sleep_us(max(0, min([LOOK_US, *(due - now_us for due in dues)])))

    def _patiently(self, act: Callable[[], T]) -> T:
        """Do it; while the controller does not answer, again, for a limited time."""
        pause_us, silent_since_us = _FIRST_PAUSE_US, None
        while True:
            try:
                result = act()
            except _FINAL:
                raise
            except FawkesError as error:
                now_us = self.clock.now_us()
                if silent_since_us is None:
                    silent_since_us = now_us
                    self.say(f"{error.what}: trying again")
                if now_us - silent_since_us >= self.patience_us:
                    raise
                self.clock.sleep_us(pause_us)
                pause_us = min(2 * pause_us, LOOK_US)
                continue
            if silent_since_us is not None:
                self.say("the controller answers again")
            return result
