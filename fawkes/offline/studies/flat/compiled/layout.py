"""Places of settings in the array that the compiled pool gets, and the codes of their values."""

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
