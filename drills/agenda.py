"""What is to be done at which second of a drill."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class _Deed:
    at_s: float
    do: Callable[[], object]


@dataclass(slots=True)
class Agenda:
    """Deeds by the second, counted from `begin`."""

    _deeds: list[_Deed] = field(default_factory=list)
    _began_s: float = 0.0

    def begin(self) -> None:
        """Seconds are counted from now on."""
        self._began_s = time.monotonic()

    def now_s(self) -> float:
        """Seconds since the beginning."""
        return time.monotonic() - self._began_s

    def add(self, at_s: float, do: Callable[[], object]) -> None:
        """Do this at that second."""
        self._deeds.append(_Deed(at_s, do))

    def do_due(self) -> None:
        """Do what is due, in the order of its seconds."""
        for deed in sorted((d for d in self._deeds if d.at_s <= self.now_s()), key=lambda d: d.at_s):
            self._deeds.remove(deed)
            deed.do()

    @property
    def empty(self) -> bool:
        """Whether everything was done."""
        return not self._deeds
