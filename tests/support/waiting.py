"""Waits for conditions: what works comes nowhere near the limit, also on a machine that does ten other things."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

LIMIT_S = 240.0

T = TypeVar("T")


def wait_for(look: Callable[[], T | None], what: str = "a condition") -> T:
    """The first result of ``look`` that is something true; AssertionError at the limit."""
    late = time.monotonic() + LIMIT_S
    while not (result := look()):
        assert time.monotonic() < late, f"waited {LIMIT_S:g} s for {what}"
        time.sleep(0.01)
    return result
