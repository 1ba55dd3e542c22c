"""Moving the masters of an MR-cluster to another node."""

from __future__ import annotations

from collections.abc import Callable

from fawkes.core.effects import LookAtMasters, MoveMasters
from fawkes.core.model import Facts
from fawkes.errors import FawkesError


class MastersMover:
    """Reaches `LookAtMasters` and `MoveMasters` goals."""

    def reach(self, effect: LookAtMasters | MoveMasters, current: Callable[[], bool]) -> Facts | None:
        """The facts by which the goal ends."""
        raise FawkesError("masters cannot be moved yet", where=effect.cluster)
