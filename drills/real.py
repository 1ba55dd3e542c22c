"""Drills on real Hadoop in a lab."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from drills.plan import Plan
from drills.result import Result
from fawkes.errors import UserError


def player(folder: Path) -> Callable[[Plan], Result]:
    """Whoever plays plans on real Hadoop."""
    raise UserError("drills on real Hadoop are not there yet", hint="Run `python -m drills sim --seeds 0-199`")
