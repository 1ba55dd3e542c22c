"""Points A to E of the paper's section 7.1, found in what a ledger says: which of them happened, when, and how we know.

Three MR-clusters arrive one after another, each before the one before it has settled:

A  the second arrives while the first is brought up, and gets its minimum out of idle nodes: nobody shrinks for it
B  the first works while the second still loads, and gets every node that nobody holds
C  the third arrives, and the first shrinks so that it gets its minimum
D  the second works by now: the first shrinks again, for the second's share
E  the first and the second are gone, and the third grows to all nodes
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from fawkes.core.values.decision import Change, PutCluster, PutNode
from fawkes.core.values.lifecycle import HELD
from fawkes.core.values.model import ClusterLife, NodeLife, Reason
from fawkes.engine.ports import Entry

LETTERS = "ABCDE"
CLUSTERS_OF_STORY = 3

_TITLES = {
    "A": "{second} arrives before {first} runs jobs, and gets its minimum from idle nodes",
    "B": "{first} runs jobs while {second} still loads, and gets every free node",
    "C": "{third} arrives: {first} shrinks so that {third} gets its minimum",
    "D": "{second} runs jobs by now: {first} shrinks again to give {second} its share",
    "E": "{first} and {second} are gone: {third} grows to all nodes",
}
_COMING_UP = (ClusterLife.ADMITTED, ClusterLife.DEPLOYING, ClusterLife.LOADING)


@dataclass(frozen=True)
class Point:
    """One point of the story: ``at_us`` is None when it did not happen; ``how`` is the evidence, or what is missing."""

    letter: str
    title: str
    at_us: int | None
    how: str

    @property
    def happened(self) -> bool:
        """True if the point happened."""
        return self.at_us is not None


@dataclass(frozen=True)
class Moment:
    """The standing of MR-clusters and nodes after one step of the ledger, and the reasons that it gave.

    ``held`` and ``serving`` count the nodes of each MR-cluster, ``usable`` those in service.
    """

    at_us: int
    reasons: Sequence[Reason]
    lives: Mapping[str, ClusterLife]
    held: Mapping[str, int]
    serving: Mapping[str, int]
    usable: int

    @property
    def free(self) -> int:
        """The nodes that nobody holds."""
        return self.usable - sum(self.held.values())

    def of(self, code: str, **facts: object) -> list[Reason]:
        """The reasons with that code and these facts."""
        return [
            reason
            for reason in self.reasons
            if reason.code == code and all(reason.facts.get(key) == value for key, value in facts.items())
        ]

    def life(self, cluster: str) -> ClusterLife | None:
        """The place where an MR-cluster stood; None before its request."""
        return self.lives.get(cluster)


@dataclass
class _Standing:
    nodes: dict[str, tuple[NodeLife, str]] = field(default_factory=dict)
    lives: dict[str, ClusterLife] = field(default_factory=dict)

    def take(self, changes: Iterable[Change]) -> bool:
        """Take changes over; whether there was one that counts here."""
        news = False
        for change in changes:
            match change:
                case PutNode():
                    self.nodes[change.state.node.id] = (change.state.life, change.state.owner or "")
                case PutCluster():
                    self.lives[change.state.id] = change.state.life
                case _:
                    continue
            news = True
        return news

    def count(self, *lives: NodeLife) -> dict[str, int]:
        return dict(Counter(owner for life, owner in self.nodes.values() if owner and life in lives))

    def usable(self) -> int:
        return sum(bool(owner) or life not in (NodeLife.OUT, NodeLife.LOST) for life, owner in self.nodes.values())


def moments(entries: Iterable[Entry]) -> Iterator[Moment]:
    """The moments of a ledger at which a node or an MR-cluster changed, or a reason was given, oldest first."""
    standing = _Standing()
    for entry in entries:
        news = standing.take(entry.decision.changes)
        if news or entry.decision.reasons:
            yield Moment(
                at_us=entry.event.at_us,
                reasons=entry.decision.reasons,
                lives=dict(standing.lives),
                held=standing.count(*HELD),
                serving=standing.count(NodeLife.SERVING),
                usable=standing.usable(),
            )


def arrivals(seen: Sequence[Moment]) -> list[str]:
    """The MR-clusters in the order of their requests."""
    return list(dict.fromkeys(str(reason.facts["cluster"]) for moment in seen for reason in moment.of("requested")))


def points(entries: Iterable[Entry]) -> tuple[Point, ...]:
    """The five points; none when fewer or more than three MR-clusters were asked for."""
    seen = list(moments(entries))
    names = arrivals(seen)
    if len(names) != CLUSTERS_OF_STORY:
        return ()
    return tuple(_Story(seen, *names).points())


class _Story:
    """Looks for each point after the one before it: out of their order they would be another story."""

    def __init__(self, seen: Sequence[Moment], first: str, second: str, third: str) -> None:
        self._seen = seen
        self._first, self._second, self._third = first, second, third

    def points(self) -> Iterator[Point]:
        names = {"first": self._first, "second": self._second, "third": self._third}
        after_us = 0
        for letter, look in zip(LETTERS, (self._a, self._b, self._c, self._d, self._e), strict=True):
            at_us, how = look(after_us)
            yield Point(letter, _TITLES[letter].format_map(names), at_us, how)
            after_us = after_us if at_us is None else at_us

    def _after(self, at_us: int) -> Iterator[Moment]:
        return (moment for moment in self._seen if moment.at_us >= at_us)

    def _a(self, after_us: int) -> tuple[int | None, str]:
        first, second = self._first, self._second
        request = next(moment for moment in self._seen if moment.of("requested", cluster=second))
        life = request.life(first)
        if life not in _COMING_UP:
            return None, f"{first} was {life or 'not requested'} when {second} was requested"
        if any(moment.of("shrink-to-admit", newcomer=second) for moment in self._seen):
            return None, f"others had to shrink for {second}"
        for moment in self._after(request.at_us):
            for reason in moment.of("admitted", cluster=second):
                if moment.life(first) not in _COMING_UP:
                    return None, f"{second} got its minimum only when {first} was {moment.life(first)}"
                idle = moment.free + moment.held.get(second, 0)
                nodes = _listed(reason.facts["nodes"])
                return moment.at_us, f"{first} is {life}; {second} gets {nodes} of {idle} idle nodes"
        return None, f"{second} never got its minimum"

    def _b(self, after_us: int) -> tuple[int | None, str]:
        first, second = self._first, self._second
        grew = 0
        for moment in self._after(after_us):
            life = moment.life(second)
            joined = moment.of("grow", cluster=first)
            if life not in _COMING_UP:
                continue
            grew += len(joined)
            if joined and moment.free == 0:
                tick = joined[0].facts.get("tick")
                held = moment.held[first]
                return moment.at_us, (
                    f"tick {tick}: {first} grows from {held - len(joined)} to {held} nodes, the last idle ones; "
                    f"{second} is {life}"
                )
        return None, f"{first} got {grew} nodes while {second} came up, and others stayed idle"

    def _c(self, after_us: int) -> tuple[int | None, str]:
        first, third = self._first, self._third
        begun: int | None = None
        leaving: list[object] = []
        for moment in self._after(after_us):
            shrunk = moment.of("shrink-to-admit", cluster=first, newcomer=third)
            begun = moment.at_us if shrunk and begun is None else begun
            leaving += [reason.facts["node"] for reason in shrunk]
            admitted = moment.of("admitted", cluster=third)
            if admitted and begun is None:
                return None, f"{third} got {_listed(admitted[0].facts['nodes'])} without any shrinking of {first}"
            if admitted:
                return (
                    begun,
                    f"{_listed(leaving)} {_leave(leaving)} {first}; {third} gets {_listed(admitted[0].facts['nodes'])}",
                )
        return None, f"{first} did not shrink for {third}" if begun is None else f"{third} never got its minimum"

    def _d(self, after_us: int) -> tuple[int | None, str]:
        first, second = self._first, self._second
        ticks: dict[object, tuple[Moment, list[object]]] = {}
        for moment in self._after(after_us):
            shrunk = moment.of("shrink", cluster=first)
            if shrunk and moment.life(second) is ClusterLife.RUNNING:
                ticks[shrunk[0].facts["tick"]] = (moment, [reason.facts["node"] for reason in shrunk])
            for grown in moment.of("grow", cluster=second):
                if grown.facts.get("tick") in ticks:
                    began, nodes = ticks[grown.facts["tick"]]
                    return began.at_us, (
                        f"tick {grown.facts['tick']}: {_listed(nodes)} {_leave(nodes)} {first}, and {second} grows to "
                        f"{grown.facts['target']} nodes"
                    )
        return None, f"{first} did not shrink for {second}"

    def _e(self, after_us: int) -> tuple[int | None, str]:
        others, third, most = (self._first, self._second), self._third, 0
        for moment in self._after(after_us):
            if all(moment.life(name) is ClusterLife.GONE for name in others):
                most = max(most, moment.serving.get(third, 0))
                if most and most == moment.usable:
                    return moment.at_us, f"all {most} nodes serve {third}"
        if not most:
            return None, f"{third} did not outlive {' and '.join(others)}"
        return None, f"{third} had at most {most} nodes once {' and '.join(others)} were gone"


def _leave(nodes: Sequence[object]) -> str:
    return "leaves" if len(nodes) == 1 else "leave"


def _listed(names: object) -> str:
    if not isinstance(names, list | tuple):
        return str(names)
    texts = sorted(str(name) for name in names)
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"
