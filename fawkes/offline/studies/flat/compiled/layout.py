"""Arrays of a compiled pool, the places of values in them, and codes of settings; without loading numba."""

from __future__ import annotations

from typing import NamedTuple

from fawkes.offline.studies.flat.jobs import Floats, Ints
from fawkes.offline.studies.flat.metrics import EDGES_S

#: kinds of allocators
FAIR, ORACLE, PYTHIA, JUSTICE, FIRST = range(5)

#: settings; ``KILLS`` is whether a late job is always ended
(KIND, CAPACITY, TOP_UP, KILLS, BOOTSTRAP, CLAMP, PRIORITY, CORRECTION, ALPHA, LEARN_KILLED, ROUNDING, KILL_THRESHOLD,
 WINDOW, FRACTION) = range(14)  # fmt: skip
SETTINGS = 14

#: values of options, in the order of their codes
PRIORITIES = ("req/ttd", "ttd", "fifo")
CORRECTIONS = ("none", "mean", "ema")
LEARN = ("none", "flag", "work")
ROUNDINGS = ("literal", "unrounded")
FRACTIONS = ("last", "average")

#: counters of the pool: free CPUs, jobs in each list, the next submission and deadline, idle CPUs at the horizon
FREE, RUNNING, WAITING, FILLING, NEXT_JOB, NEXT_DEADLINE, LAST_IDLE = range(7)
COUNTERS = 7

#: what PYTHIA and Justice remember: jobs learned; of their rates the least, the most and the sum; what the last job was
#: granted and whether it ended in time; errors: their sum and their smoothed mean; jobs ever in the window
(COUNT, LEAST, MOST, RATES, LAST, LAST_MET, ERRORS, SMOOTH) = range(8)
MEMORY = 8

#: places in the floats of a meter: times, the integral of busy CPUs, and the next sample
NOW, HORIZON, NEXT_SAMPLE, BUSY = range(4)
#: over active jobs: the sums of F and of F^2; over classes of demand the sum of (sum A)^2 / sum A^2; jobs; running jobs
PARTS, SQUARES, CLASSES, ACTIVE, HOLDING = range(4, 9)
#: samples; mean and sum of squared differences of fairness and of equality; seconds with an idle group of each size
SAMPLES, MEAN, SPREAD, EXISTS = 9, 10, 12, 14
METER = 16
#: values of a batch of samples: their number, the sums of fairness and of equality
BATCH = 3
#: of idle intervals of one size: one for each of `EDGES_S`, and one for longer ones
BINS = len(EDGES_S) + 1


class CompiledPool(NamedTuple):
    """All of one run. Arrays are by job unless they say otherwise; ``s`` settings, ``n`` counters, ``m`` the meter.

    Compiled functions see them as pointers: counting the references to arrays takes longer than the work.
    """

    submit: Floats
    work: Floats
    deadline: Floats
    #: the CPUs that could work for it
    most: Ints
    tasks: Ints
    #: jobs by the time of their deadlines
    by_deadline: Ints
    s: Floats
    n: Ints
    known: Floats
    ends: Ints
    finish: Floats
    start: Floats
    granted: Ints
    consumed: Floats
    since: Floats
    left: Floats
    share: Floats
    #: the next job that waits; running jobs by their ends; those that may get more by what they hold
    waiting: Ints
    running: Ints
    running_at: Ints
    filling: Ints
    filling_at: Ints
    held: Floats
    #: of one pass of admission: jobs, what they ask for and their keys
    asks: Ints
    wanted: Ints
    keys: Floats
    m: Floats
    #: rows of two: rate and error; of `BATCH`; of two by what a job could use; by group; of `BINS` for each size
    recent: Floats
    batches: Floats
    sums: Ints
    idle_since: Floats
    idle_counts: Ints
