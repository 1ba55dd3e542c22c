"""Numbers that Li's thesis reports, assumptions where it is silent, and the bands of the rules.

All of this was committed before the chapter's runs were made. The thesis has no task lengths, no arrivals and no curves
in numbers, so orders, directions and a few levels are judged.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

SEEDS: Final = tuple(range(1, 11))
RUNS: Final[Mapping[str, int]] = {"rig": 1, "yarn": 10, "google": 5, "trap": 5, "livelock": 1}
"""With how many of the seeds each workload is run."""
MEDIA: Final = ("hdd", "ssd", "nvm")

# --- media (Table 7: a program of 5 GB; its second dump after 10 % of its memory changed)
TABLE_7: Final[Mapping[str, tuple[float, float]]] = {"hdd": (169.18, 15.34), "ssd": (43.73, 4.08), "nvm": (2.92, 0.28)}
TABLE_7_GB: Final = 5.0
TABLE_7_DIRTY: Final = 0.1
SLOPES: Final[Mapping[str, float]] = {name: first / TABLE_7_GB for name, (first, _) in TABLE_7.items()}
"""Seconds for a GB, of a dump and of a restore: the thesis has no restore times."""
REPLICATION: Final[Mapping[int, float]] = {1: 1.0, 2: 2.1, 3: 2.2}
"""A dump with so many replicas in HDFS takes so many times as long (Figure 4 in words)."""
NETWORK_GB_S: Final = 10 / 8
"""Images go to another node over 10 Gbit/s; the thesis does not name its network."""
DIRTY_RATE: Final = 0.1 / 60
"""The part of its memory that a task changes in a second."""
GB: Final = 2.0**30

# --- energy: P_idle is half of P_max (the thesis has no watts), so only ratios are judged
IDLE: Final = 0.5


class Levels:
    """Priorities of jobs."""

    LOW, MEDIUM, HIGH = 0, 1, 2


# --- the two-job rig (section 3.2.3.4)
RIG_S, RIG_GB, RIG_ARRIVAL_S = 60.0, 5.0, 30.0
RIG_MBPS: Final = (50.0, 100.0, 200.0, 341.3, 400.0, 1000.0, 1750.0, 5000.0)
"""Bandwidths of the table; 341.3 stands for 1024/3, which is the tie."""
TIE_MBPS: Final = 1024 / 3
SWEEP_MBPS: Final = tuple(float(each) for each in (50, 100, 150, 200, 250, 300, 340, 343, 400, 600, 1000, 2000, 5000))
RIG_OFF_S: Final = 0.05

# --- the YARN workload (section 3.4.3): 40 jobs with 7,000 tasks on 8 nodes with 24 slots
YARN_NODES, YARN_SLOTS, YARN_GB, YARN_TASKS = 8, 24, 1.8, 7_000
YARN_HIGH_JOBS, YARN_HIGH_EVERY_S, YARN_HIGH_TASKS, YARN_HIGH_SPREAD, YARN_HIGH_S = 16, 1_275.0, 211.2, 0.4, 275.0
YARN_LOW_JOBS, YARN_LOW_EVERY_S, YARN_LOW_SHAPE, YARN_LOW_S = 24, 680.0, 1.5, 1_098.0
LENGTHS: Final = 0.2
"""Tasks differ in length by 20 % (uniform)."""

# --- the Google-like workload (section 3.2.3.3): a day on 20 nodes with 14 slots, three priorities
GOOGLE_NODES, GOOGLE_SLOTS, GOOGLE_GB, GOOGLE_DAY_S = 20, 14, 3.0, 86_400.0
GOOGLE_LOAD, GOOGLE_LOW_S, GOOGLE_LOW_TASKS = 0.38, 1_000.0, 10
"""Low tasks fill 38 % of the slots on average; they come in jobs of 10, by a Poisson process."""
GOOGLE_WAVE_S, GOOGLE_WAVE, GOOGLE_WAVE_SPREAD, GOOGLE_MEDIUM_S = 900.0, 0.7, 0.5, 250.0
GOOGLE_HIGH_EACH, GOOGLE_HIGH, GOOGLE_HIGH_S = 6, 0.5, 300.0
GOOGLE_MEMORY: Final = 0.5
"""Tasks differ in memory by 50 % (uniform)."""
TRAP_GB, TRAP_WAVE_S = 4.0, 700.0
"""The trap is the Google-like workload with more memory and more waves, on disks."""
TRAP_CAP: Final = 5
LIVELOCK_S, LIVELOCK_GB, LIVELOCK_WAVES, LIVELOCK_FIRST_S, LIVELOCK_EVERY_S, LIVELOCK_HIGH_S = (
    600.0,
    4.0,
    200,
    60.0,
    80.0,
    20.0,
)
"""The mechanism of the trap on one slot: on SSD a task never runs for as long as a dump and a restore take (70 s)."""


class PreemptionRow(NamedTuple):
    """A row of section 3.4.3: percent of capacity, and ratios to kill."""

    waste: float
    cut: float
    energy: float
    low: float


YARN: Final[Mapping[str, PreemptionRow]] = {
    "kill": PreemptionRow(28.0, 0.0, 1.0, 1.0), "hdd": PreemptionRow(14.0, -0.50, 0.79, 0.82),
    "ssd": PreemptionRow(9.8, -0.65, 0.71, 0.47), "nvm": PreemptionRow(9.2, -0.67, 0.66, 0.39),
}  # fmt: skip
YARN_CPU: Final[Mapping[tuple[str, str], float]] = {
    ("checkpoint", "hdd"): 17.0, ("checkpoint", "ssd"): 4.0, ("checkpoint", "nvm"): 0.4,
    ("adaptive", "hdd"): 5.1, ("adaptive", "ssd"): 2.3,
}  # fmt: skip
YARN_IO: Final[Mapping[tuple[str, str], float]] = {
    ("checkpoint", "hdd"): 37.0, ("checkpoint", "ssd"): 14.0, ("checkpoint", "nvm"): 2.2,
    ("adaptive", "hdd"): 15.7, ("adaptive", "ssd"): 8.3,
}  # fmt: skip
"""Percent of CPU time, and of the devices' time (section 3.4.3.3)."""
GOOGLE_WASTE: Final[Mapping[str, float]] = {"kill": 35.0, "hdd": 14.6, "ssd": 11.1, "nvm": 8.5}

# --- bands of the rules
INCREMENT_OFF: Final = 0.15
WASTE_OFF: Final = 3.0
"""Points of capacity around the reported waste of kill."""
CUT_OFF: Final = 0.10
SSD_CUT, NVM_CUT = 0.60, 0.65
"""At least so much of the waste is cut. The thesis reports 65 and 67 %; part of that has no explanation in it."""
ENERGY_OFF: Final = 0.06
NEAR_KILL: Final = 1.05
"""The response time of high jobs on NVM, at most so many times that of kill."""
CPU_CUT: Final = 0.5
NEUTRAL: Final = 0.03
"""A ratio so near to 1 is no change."""
TRAP_LEAST, GUARD_MOST = 1.5, 1.5
LIVELOCK_LEAST: Final = 3.0
"""Low response times, adaptive over checkpoint: at least the first without the cap, at most the second with it."""
