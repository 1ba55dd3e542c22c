"""The preemption analyser: events a second on one core, and the memory of a fresh process, for logs of several sizes.

The log is made by `fawkes analyse make`'s generator, in a process of its own.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.figures import Figure, Say, fresh, peak_mb
from fawkes.offline.analyser import fold
from fawkes.offline.analyser.making import make
from fawkes.offline.analyser.trace import Log, parts_of

GROUP = "The preemption analyser"
_SCHEDULES, _PARTS, _FEW_PARTS = 2_360_000, 20, 4
_MB = 1_000_000


def figures(rounds: int, say: Say) -> list[Figure]:
    """Measure; ``rounds`` fresh processes over the whole log, and over a fifth of it."""
    with tempfile.TemporaryDirectory() as folder:
        say("analyser: making the log")
        subprocess.run([sys.executable, "-m", "bench.analyser", "make", folder], check=True)
        parts = [str(part) for part in parts_of([Path(folder)])]
        whole = [_fresh(parts, say) for _ in range(rounds)]
        few = [_fresh(parts[:_FEW_PARTS], say) for _ in range(rounds)]
    events = whole[0]["events"]
    what = f"{events / _MB:.1f} million events"
    return [
        Figure(
            group=GROUP,
            what=f"{what}: processor time of a million",
            unit="s",
            ours=[each["seconds"] / each["events"] * _MB for each in whole],
            at_most=1,
        ),
        Figure(
            group=GROUP,
            what=f"{what}: memory",
            unit="MB",
            ours=[each["megabytes"] for each in whole],
            other=[each["megabytes"] for each in few],
            than=f"{few[0]['events'] / _MB:.1f} million events",
            at_most=1_000,
        ),
    ]


def _fresh(parts: list[str], say: Say) -> dict[str, float]:
    measured = fresh("bench.analyser", "read", *parts)
    say(f"analyser: {measured['events']:,.0f} events in {measured['seconds']:.2f} s")
    return measured


# --- in the fresh process


def _read(paths: list[Path]) -> dict[str, float]:
    began = time.process_time()
    log, state = Log(paths), fold.start()
    for batch in log.batches():
        state = fold.fold(state, batch)
    state = fold.finish(state, log.latest_us)
    seconds = time.process_time() - began
    megabytes = peak_mb()
    return {"seconds": seconds, "megabytes": megabytes, "events": float(state.totals.events.sum())}


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(Path(sys.argv[2]), schedules=_SCHEDULES, parts=_PARTS)
    else:
        json.dump(_read([Path(each) for each in sys.argv[2:]]), sys.stdout)
