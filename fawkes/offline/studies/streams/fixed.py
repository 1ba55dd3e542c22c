"""Numbers that Li's thesis reports, assumptions where it is silent, and the bands of the rules.

All of this was committed before the chapter's runs were made. The thesis has no rates and no sizes of states, so
throughput, latency and energy are judged by their order alone.
"""

from __future__ import annotations

from typing import Final

SEEDS: Final = (1,)
"""Nothing is drawn: the model is the same for each seed."""

# --- the pool (Table 8): three machines with 72 cores, 80 % promised to the stream and 20 % to the batch jobs
CORES, NODES, BATCH_CORES = 72, 3, 14
BASE_CORES: Final = 24
"""Cores of the stream in the low phase; operators at the peak are three times as many (section 4.2)."""

# --- the load: records a second; a core processes one record in a second
LOW, HIGH = 0.4 * BASE_CORES, 0.82 * CORES
STEP: Final = ((60, LOW), (120, HIGH), (60, LOW))
LONGER: Final = (*STEP, (180, LOW))
"""Only a reason is checked with this one; it was added after the first run."""
ALTERNATING: Final = ((120, LOW), (120, HIGH)) * 15
QUEUE_MOST: Final = 10 * CORES
"""More waiting records are dropped: overload drops events (section 4.2)."""

# --- a rescale: restart of all JVMs, or moved keys wait until their state has moved
RESTART_S: Final = 25
STATE_GB, MOVE_GB_S = 2.0, 0.4
KEYS: Final = 3_000

# --- batch jobs: as many as there is room for, one after another
JOB_TASKS, TASK_S, TASK_GB = 28, 60, 1.67
NVM_S_GB: Final = 2.92 / 5.0
"""Seconds for a GB of an image (Table 7): the thesis does not name the medium of this experiment."""
RECLAIM_S: Final = 25
"""Batch tasks that are saved have left the stream's cores after so many seconds, and tasks that are killed at once."""

IDLE: Final = 0.5
"""Watts of an idle machine as a part of its highest: only ratios are judged."""

# --- reported
THROUGHPUT, LATENCY, BATCH, JOBS = "+49 %", "-58 %", "-18 %", "+18 %"
ENERGY: Final = "1.8 and 1.36 times"
WASTE, WASTE_OFF = 67.0, 1.0
KEYS_OFF: Final = 2.0
"""A new holder takes at most so many times its share of the keys, and at least the inverse part (sheet, K26)."""
