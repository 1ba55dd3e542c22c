"""Fawkes: balanced resource allocations across several MapReduce clusters on one pool of nodes.

From Python: `simulate`, `compare`, `sweep`, `Objective` and `read_workload` (docs/python.md). They are imported when
they are first used, because a controller needs none of their packages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fawkes.base.version import __version__

if TYPE_CHECKING:
    from fawkes.base.errors import FawkesError
    from fawkes.offline.api import Comparison, Run, Workload, compare, read_workload, simulate
    from fawkes.offline.api_sweep import Objective, Sweep, sweep

__all__ = [
    "Comparison", "FawkesError", "Objective", "Run", "Sweep", "Workload", "__version__", "compare", "read_workload",
    "simulate", "sweep",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """The public names; UserError says what to install where packages of the extra ``offline`` are missing."""
    if name == "FawkesError":
        from fawkes.base.errors import FawkesError

        return FawkesError
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from fawkes.base.extras import require

    require(f"fawkes.{name}", "offline")
    from fawkes.offline import api, api_sweep

    return getattr(api_sweep if name in ("Objective", "Sweep", "sweep") else api, name)
