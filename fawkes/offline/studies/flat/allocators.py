"""Allocators of the study: an admission policy by name or file, with the values of its options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from fawkes.base.errors import UserError
from fawkes.offline.studies.flat.compiled import layout
from fawkes.offline.studies.flat.jobs import Floats

Value = int | float | str

#: the bundled policies that the compiled pool knows
KINDS: Mapping[str, int] = {
    "FIFO": layout.FIRST,
    "BASELINE": layout.FAIR,
    "REACTIVE": layout.FAIR,
    "ORACLE": layout.ORACLE,
    "PYTHIA": layout.PYTHIA,
    "JUSTICE": layout.JUSTICE,
}
_CHOICES: Mapping[str, tuple[int, tuple[str, ...]]] = {
    "priority": (layout.PRIORITY, layout.PRIORITIES),
    "correction": (layout.CORRECTION, layout.CORRECTIONS),
    "learn_killed": (layout.LEARN_KILLED, layout.LEARN),
    "rounding": (layout.ROUNDING, layout.ROUNDINGS),
    "fraction": (layout.FRACTION, layout.FRACTIONS),
}
_NUMBERS: Mapping[str, int] = {
    "top_up": layout.TOP_UP,
    "bootstrap": layout.BOOTSTRAP,
    "clamp": layout.CLAMP,
    "alpha": layout.ALPHA,
    "kill_threshold": layout.KILL_THRESHOLD,
    "window": layout.WINDOW,
}
DEFAULTS: Mapping[str, Mapping[str, Value]] = {
    "BASELINE": {"top_up": 1},
    "REACTIVE": {"top_up": 1},
    "PYTHIA": {"bootstrap": 2, "clamp": 1, "priority": "req/ttd", "kill_threshold": -1},
    "ORACLE": {"priority": "req/ttd"},
    "JUSTICE": {
        "bootstrap": 2, "correction": "mean", "fraction": "last", "priority": "req/ttd", "rounding": "unrounded",
        "learn_killed": "flag", "alpha": 0.1, "window": 0, "kill_threshold": 10,
    },
}  # fmt: skip
"""The options of the bundled policies with their defaults, as their files have them (a test compares both)."""
#: what the policy file remembers of single jobs at the most
MOST_WINDOW = 10_000


@dataclass(frozen=True, slots=True)
class Allocator:
    """A policy by the name that it gives itself, with the options that are not at their defaults."""

    policy: str
    options: Mapping[str, Value] = field(default_factory=dict)

    def __str__(self) -> str:
        said = ",".join(f"{key}={value}" for key, value in self.options.items())
        return f"{self.policy}[{said}]" if said else self.policy

    @property
    def teaches_killed_work(self) -> bool:
        """True if it learns the work of a killed job, which only a simulator knows."""
        return self.options.get("learn_killed") == "work"


def parsed(text: str) -> Allocator:
    """An allocator from ``NAME`` or ``NAME[key=value,...]``; UserError when the text is neither."""
    name, bracket, rest = text.partition("[")
    if not name.strip() or (bracket and not rest.endswith("]")):
        raise UserError(f"{text!r} is not an allocator", where="--allocators", hint="Write NAME or NAME[key=value,...]")
    options: dict[str, Value] = {}
    for part in filter(None, rest.removesuffix("]").split(",")):
        key, equals, value = part.partition("=")
        if not equals or not value.strip():
            raise UserError(
                f"{part!r} is not key=value", where=f"--allocators {name}", hint="Write NAME[key=value,...]"
            )
        options[key.strip()] = _value(value.strip())
    return Allocator(name.strip(), options)


def split(text: str) -> list[str]:
    """The allocators in a list with commas between them; commas inside brackets belong to options."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter == "[") - (letter == "]")
        if letter == "," and depth <= 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def _value(text: str) -> Value:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def settings_of(allocator: Allocator, capacity: int) -> Floats:
    """The allocator for the compiled pool. UserError names an option that the policy lacks, or a value of it."""
    settings = np.zeros(layout.SETTINGS)
    name = allocator.policy.upper()
    settings[layout.KIND], settings[layout.CAPACITY] = KINDS[name], capacity
    settings[layout.KILLS] = name == "REACTIVE"
    known = DEFAULTS.get(name, {})
    for key in allocator.options:
        if key not in known:
            listed = ", ".join(known) or "none"
            raise UserError(f"policy {name} has no parameter {key!r}", where="--allocators", hint=f"It has: {listed}")
    for key, value in {**known, **allocator.options}.items():
        if key in _CHOICES:
            at, choices = _CHOICES[key]
            settings[at] = _choice(name, key, value, choices)
        else:
            settings[_NUMBERS[key]] = _number(name, key, value)
    return settings


def _choice(name: str, key: str, value: Value, choices: Sequence[str]) -> int:
    if value not in choices:
        raise UserError(f"{key} is {value!r}", where=f"--allocators {name}", hint=f"Known: {', '.join(choices)}")
    return choices.index(str(value))


def _number(name: str, key: str, value: Value) -> float:
    if isinstance(value, str) or value != value:
        raise UserError(f"{key} is {value!r}, not a number", where=f"--allocators {name}")
    if key != "alpha" and value != int(value):
        raise UserError(f"{key} is {value:g}, not a whole number", where=f"--allocators {name}")
    if key == "bootstrap" and value < 1:
        raise UserError(f"{key} is {value:g}; it must be at least 1", where=f"--allocators {name}")
    if (key != "kill_threshold" and value < 0) or (key == "alpha" and value > 1):
        raise UserError(
            f"{key} is {value:g}, which is out of its range",
            where=f"--allocators {name}",
            hint="alpha is from 0 to 1, other numbers are at least 0",
        )
    return min(float(value), MOST_WINDOW) if key == "window" else float(value)
