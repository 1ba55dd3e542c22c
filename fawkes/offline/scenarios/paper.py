"""The paper's macro-experiments by name: pool, settings and MR-clusters of its Table 2 (facts, section 7)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fawkes.workload.making.classes import NAMES


@dataclass(frozen=True, slots=True)
class Experiment:
    """A row of Table 2: how many nodes, and settings as ``fawkes.toml`` has them."""

    nodes: int
    settings: Mapping[str, Any]


_SHORT = {"preset": "paper", "period": "60s"}
_LONG = {"preset": "paper", "period": "120s", "growth": "TC", "policy": "TD"}

EXPERIMENTS: Mapping[str, Experiment] = dict(
    zip(
        NAMES,
        (
            Experiment(60, {**_SHORT, "growth": "TR", "policy": "JD"}),
            Experiment(60, {**_SHORT, "growth": "TR", "policy": "TD"}),
            Experiment(60, {**_SHORT, "growth": "TC", "policy": "TD"}),
            Experiment(48, _LONG),
            Experiment(48, _LONG),
        ),
        strict=True,
    )
)
"""The paper shows B and C with TR and TC: here TR for Wordcount, TC for Sort; ``--set growth=TC`` gives the other."""
