"""Figures: what was measured, beside what, against which target; as a table, as data and as Markdown."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

#: hears of progress
Say = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One line of the table.

    ``ours`` and ``other`` are the rounds, in ``unit``; those of one index were measured one after the other. Of the
    targets at most one is given, and the medians count: ``at_most`` in ``unit``; ``at_most_times`` as slow as the
    other; ``at_least_faster`` times as fast as the other.
    """

    group: str
    what: str
    unit: str
    ours: Sequence[float]
    other: Sequence[float] = ()
    than: str = ""
    at_most: float | None = None
    at_most_times: float | None = None
    at_least_faster: float | None = None

    @property
    def ratio(self) -> float | None:
        """How it compares: as its target counts (ours to theirs, or how many times as fast); None without another."""
        return _ratio(self, median(self.ours), median(self.other)) if self.other else None

    @property
    def ratios(self) -> tuple[float, float] | None:
        """The smallest and the largest ratio of a round."""
        if not self.other:
            return None
        each = [_ratio(self, ours, other) for ours, other in zip(self.ours, self.other, strict=True)]
        return min(each), max(each)

    @property
    def met(self) -> bool | None:
        """Whether the target is met; None where there is none."""
        ratio = self.ratio
        if self.at_most is not None:
            return median(self.ours) <= self.at_most
        if ratio is None:
            return None
        if self.at_most_times is not None:
            return ratio <= self.at_most_times
        return None if self.at_least_faster is None else ratio >= self.at_least_faster

    @property
    def target(self) -> str:
        """The target in words."""
        if self.at_most is not None:
            return f"<= {self.at_most:g} {self.unit}"
        if self.at_most_times is not None:
            return f"<= {self.at_most_times:g}x"
        return "" if self.at_least_faster is None else f">= {self.at_least_faster:g}x as fast"

    @property
    def verdict(self) -> str:
        """One word about the target."""
        return {True: "met", False: "MISSED", None: ""}[self.met]

    def plain(self) -> dict[str, Any]:
        """As data, rounds included."""
        return {
            "group": self.group,
            "what": self.what,
            "unit": self.unit,
            "ours": list(self.ours),
            "other": list(self.other),
            "than": self.than,
            "ratio": self.ratio,
            "ratios": self.ratios,
            "target": self.target,
            "met": self.met,
        }


#: what was measured, its unit, the rounds, and at most how much it should be (None: there is no target)
Line = tuple[str, str, Sequence[float], float | None]


def figures_of(group: str, lines: Iterable[Line]) -> list[Figure]:
    """Figures that stand beside nothing else."""
    return [Figure(group=group, what=what, unit=unit, ours=ours, at_most=most) for what, unit, ours, most in lines]


def fresh(module: str, *words: str) -> dict[str, float]:
    """The values that a module measures in a process of its own, where it prints them as JSON."""
    done = subprocess.run([sys.executable, "-m", module, *words], stdout=subprocess.PIPE, check=True)
    measured: dict[str, float] = json.loads(done.stdout)
    return measured


def peak_mb(pid: int | str = "self") -> float:
    """The most memory (MB, 10^6 bytes) that a process has had as the program that it is now.

    What `getrusage` says counts the program that it was before, too: a copy of the one that began it.
    """
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024 / 1e6


def _ratio(figure: Figure, ours: float, other: float) -> float:
    return other / ours if figure.at_least_faster is not None else ours / other


def spread(values: Sequence[float]) -> str:
    """The least, the median and the largest, with three digits that count."""
    return " / ".join(_number(value) for value in (min(values), median(values), max(values)))


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def cells(figure: Figure) -> tuple[str, ...]:
    """The texts of a row of the table."""
    ratios = figure.ratios
    ratio = "" if figure.ratio is None or ratios is None else f"{figure.ratio:.2f}x ({ratios[0]:.2f}-{ratios[1]:.2f})"
    other = f"{spread(figure.other)} ({figure.than})" if figure.other else ""
    return figure.what, figure.unit, spread(figure.ours), other, ratio, figure.target, figure.verdict


HEAD = ("what", "unit", "Fawkes: min / median / max", "beside", "ratio (by round)", "target", "")


def markdown(figures: Sequence[Figure]) -> str:
    """One table for each group."""
    blocks = []
    for group in dict.fromkeys(figure.group for figure in figures):
        rows = [cells(figure) for figure in figures if figure.group == group]
        lines = [f"| {' | '.join(row)} |" for row in (HEAD, ("---",) * len(HEAD), *rows)]
        blocks.append(f"## {group}\n\n" + "\n".join(lines) + "\n")
    return "\n".join(blocks)
