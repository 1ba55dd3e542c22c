"""Places of settings, of what policies remember, and of the pool's counters, in the arrays of the compiled pool."""

from __future__ import annotations

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

#: what PYTHIA and Justice remember: jobs learned; of their rates the least, the most and the sum; what the last job was
#: granted and whether it ended in time; errors: their sum and their smoothed mean; jobs ever in the window
(COUNT, LEAST, MOST, RATES, LAST, LAST_MET, ERRORS, SMOOTH) = range(8)
MEMORY = 8

#: counters of the pool: free CPUs, jobs in each list, the next submission and deadline, idle CPUs at the horizon
FREE, RUNNING, WAITING, FILLING, NEXT_JOB, NEXT_DEADLINE, LAST_IDLE = range(7)
COUNTERS = 7
