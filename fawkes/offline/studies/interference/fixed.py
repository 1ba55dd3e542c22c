"""Chapter 3 of Dimopoulos 2018: what is assumed where its text is silent, and the bands of the rules.

All of this was committed before the chapter's experiments were run. The text has no task lengths and no start-up times
(the figures are images), so only orders, states and ratios are judged.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from fawkes.base.units import SECOND_US

INPUTS: Final[Mapping[str, int]] = {"1 GB": 8, "5 GB": 40, "15 GB": 120}
"""Tasks of a job by its input: one for each block of 128 MB."""
TASK_US: Final = 20 * SECOND_US
"""A task of either framework where the statement is not about their speed."""
HADOOP_TASK_US: Final = 90 * SECOND_US
"""With 42 slots and 15 GB Hadoop alone takes more than 255 s (derived from Figure 3.5's text)."""
SPARK_TASK_US: Final = 14 * SECOND_US
"""With 18 slots and 15 GB coarse Spark alone takes more than 95 s, and is more than 160 s faster (likewise)."""
LATER_US: Final = 5 * SECOND_US
"""The second framework comes so much later, within the first tasks of the first one."""
DELAYED_US: Final = 10 * SECOND_US
"""Spark's submission is delayed by 10 s in Figures 3.4 and 3.5."""
STREAM_US: Final = 3600 * SECOND_US
"""A topology of Storm: longer than any batch job here."""
SAME: Final = 0.02
"""Times that agree differ by at most 2 %."""
FASTER_S, SLOWER_S = 160.0, 85.0
"""Figure 3.5: Spark alone is faster by more, and behind Hadoop slower by more."""
BESIDE_STORM: Final[Mapping[str, tuple[float, float]]] = {"dev": (0.25, 0.80), "prod": (0.05, 0.35)}
"""The slow-down of batch work of 5 and 15 GB beside Storm (Figure 3.8)."""
INSIGNIFICANT: Final = 0.05
"""A slow-down below this is none."""
FRAMEWORKS_HALF: Final = 4.0
"""On the production cloud the shares settle at 12 and 12 CPUs, within one slave's 4 CPUs."""
PATIENCE_US: Final = TASK_US
"""M1 takes resources back once a share has been violated for one task length."""
