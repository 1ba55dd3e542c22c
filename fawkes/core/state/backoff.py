"""The time to wait before the next try."""

from __future__ import annotations

from fawkes.core.values.settings import Settings

_EACH_TOLD = 16


def wait_us(settings: Settings, tries: int) -> int:
    """The wait after ``tries`` tries have failed: it doubles from ``retry_first_us`` up to ``retry_max_us``."""
    return int(min(settings.retry_max_us, settings.retry_first_us * 2 ** min(max(tries, 1) - 1, 30)))


def waited_us(settings: Settings, tries: int) -> int:
    """The sum of the waits before the latest of so many tries."""
    return sum(wait_us(settings, each) for each in range(1, tries))


def is_told(tries: int) -> bool:
    """True for the first tries, and whenever their number has doubled: the others say nothing that is new."""
    return tries < _EACH_TOLD or tries & (tries - 1) == 0
