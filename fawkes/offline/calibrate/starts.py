"""Start times of tasks, seen in tasks that only sleep: all that they take beyond their sleep is the start."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Start:
    """A start from one moment to another, in microseconds; ``node`` is where, empty when nobody knows."""

    begin_us: int
    end_us: int
    node: str = ""


def alone_us(starts: Sequence[Start], busy: Sequence[Start]) -> tuple[int, ...]:
    """The time that starts took that met no other one, and none of the tasks that were ``busy`` computing."""
    return tuple(
        group[0].end_us - group[0].begin_us for group in _groups(starts) if len(group) == 1 and not _meets(group, busy)
    )


def crowded_us(starts: Sequence[Start], busy: Sequence[Start], cores: float) -> tuple[int, ...]:
    """The time by which one more start prolongs a crowd, one figure for each crowd that kept all cores busy.

    A crowd is of starts that overlap, twice as many as ``cores`` and more: its time / its starts. Crowds that met
    computing tasks are left out.
    """
    return tuple(
        round((max(start.end_us for start in group) - group[0].begin_us) / len(group))
        for group in _groups(starts)
        if len(group) >= 2 * cores and not _meets(group, busy)
    )


def by_node(starts: Iterable[Start]) -> list[list[Start]]:
    """The starts of each node; those of an unknown one are left out."""
    starts_of: dict[str, list[Start]] = {}
    for start in starts:
        if start.node:
            starts_of.setdefault(start.node, []).append(start)
    return [starts_of[name] for name in sorted(starts_of)]


def _groups(starts: Sequence[Start]) -> Iterator[list[Start]]:
    """Starts that overlap one with the next, by their beginning."""
    group: list[Start] = []
    end_us = 0
    for each in sorted(starts, key=lambda start: (start.begin_us, start.end_us)):
        if group and each.begin_us >= end_us:
            yield group
            group = []
        end_us = max(end_us, each.end_us) if group else each.end_us
        group.append(each)
    if group:
        yield group


def met(start: Start, others: Iterable[Start]) -> bool:
    """True if anything else was under way in that time; the same object does not count."""
    return any(it is not start and it.begin_us < start.end_us and start.begin_us < it.end_us for it in others)


def _meets(group: Sequence[Start], busy: Sequence[Start]) -> bool:
    begin_us, end_us = group[0].begin_us, max(start.end_us for start in group)
    return met(Start(begin_us, end_us), busy)
