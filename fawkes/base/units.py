"""Durations and sizes: how users write them and how they are kept.

Times and durations are integers in microseconds (``_us``), sizes integers in bytes. Users write ``90s``, ``10m``,
``1h30m``, ``50GB`` (powers of 1000) or ``128MiB`` (powers of 1024).
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

from fawkes.base.errors import cut

#: no real controller has a clock of the years before 1980
_SIMULATED_BEFORE_US = 10 * 365 * 86_400 * 1_000_000
SECOND_US = 1_000_000
MOST_DURATION_US = 3650 * 86400 * SECOND_US
"""Ten years: a longer duration is a slip, and times that far ahead could not be shown."""
MOST_SEED = (1 << 63) - 1
"""Random seeds have 63 bits."""
MOST_BYTES = 10**18
"""1000 PB: no pool is larger, and sums of such sizes still fit into 64 bits."""

_DURATION_US = {"ms": 1_000, "s": SECOND_US, "m": 60 * SECOND_US, "h": 3600 * SECOND_US, "d": 86400 * SECOND_US}
_SIZE_BYTES: dict[str, int] = {"": 1, "B": 1} | {
    f"{prefix}{suffix}": base ** (power + 1)
    for power, prefix in enumerate("KMGTP")
    for suffix, base in (("B", 1000), ("iB", 1024))
}
_DURATION_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGTP]?i?B?)")


def duration_us(text: str) -> int:
    """Microseconds in a duration such as ``90s``, ``10m`` or ``1h30m``; ValueError tells the right form or bound."""
    compact = text.replace(" ", "")
    parts = _DURATION_PART.findall(compact)
    if not parts or "".join(number + unit for number, unit in parts) != compact:
        raise ValueError(f"{cut(text)!r} is not a duration: write a number and a unit, such as 90s, 10m, 4h or 1h30m")
    us = sum(float(number) * _DURATION_US[unit] for number, unit in parts)
    if us > MOST_DURATION_US:
        raise ValueError(f"{cut(text)!r} is too long: a duration is at most 3650d, which is ten years")
    return round(us)


def size_bytes(text: str) -> int:
    """Bytes in a size such as ``50GB`` or ``128MiB``; ValueError tells the right form or bound."""
    match = _SIZE.fullmatch(text.strip())
    if match is None or match[2] not in _SIZE_BYTES:
        raise ValueError(f"{cut(text)!r} is not a size: write a number and a unit, such as 50GB or 128MiB")
    count = float(match[1]) * _SIZE_BYTES[match[2]]
    if count > MOST_BYTES:
        raise ValueError(f"{cut(text)!r} is too large: a size is at most 1000PB")
    return round(count)


def show_duration(us: int) -> str:
    """A duration for people: two units at most, ``1m05s``, ``4.2s``, ``2h10m``."""
    seconds = us / SECOND_US
    if seconds < 0:
        return f"-{show_duration(-us)}"
    if seconds < 60:
        return f"{seconds:.1f}s".replace(".0s", "s")
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes}m{rest:02d}s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h{minutes:02d}m"


def show_bytes(count: int) -> str:
    """A size for people, in powers of 1000: ``1.5 GB``."""
    value = float(count)
    for unit in ("B", "KB", "MB", "GB", "TB"):
        if abs(value) < 1000:
            return f"{value:.0f} B" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} PB"


def counted(count: int, noun: str) -> str:
    """A number of things for people: ``1 job``, ``2 jobs``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def show_time(at_us: int) -> str:
    """A time of day in UTC, ISO 8601 with milliseconds; ``at_us`` counts from the epoch.

    A simulated run begins at 0. Its times count from its start: ``+00:05:20.000``, hours, minutes and seconds.
    """
    if 0 <= at_us < _SIMULATED_BEFORE_US:
        seconds, milli = divmod(at_us // 1000, 1000)
        return f"+{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}.{milli:03d}"
    return datetime.fromtimestamp(at_us / SECOND_US, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def clock(time: str) -> str:
    """A time of a row to the second: ``2026-05-04 12:00:05``; of a simulated run ``+00:05:20``."""
    return time.partition(".")[0].replace("T", " ")
