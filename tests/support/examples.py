"""Counts of examples of laws: a quarter in `make test`, all of them in `make nightly`."""

from __future__ import annotations

import os

ALL = "FAWKES_ALL_EXAMPLES" in os.environ


def examples(count: int) -> int:
    """The count of examples that are drawn now, of as many as `make nightly` draws."""
    return count if ALL else max(5, count // 4)
