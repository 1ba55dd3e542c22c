"""From a bare machine to a demo that has succeeded, as CI tries it: `scripts/stranger demo`, downloads included."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

from bench.figures import Figure, Say
from fawkes.base.errors import FawkesError

GROUP = "A bare machine"

_PROJECT = Path(__file__).resolve().parents[1]
_AT_MOST_S = 360.0


def figures(rounds: int, say: Say) -> list[Figure]:
    """The seconds of each round; each has a clone, a HOME and caches of its own."""
    took = []
    for number in range(rounds):
        say(f"stranger: round {number + 1} of {rounds}")
        took.append(_round())
    what = "from a fresh clone, an empty HOME and empty caches until the demo has succeeded"
    return [Figure(group=GROUP, what=what, unit="s", ours=took, at_most=_AT_MOST_S)]


def _round() -> float:
    began = time.monotonic()
    done = subprocess.run(
        [_PROJECT / "scripts" / "stranger", "demo"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise FawkesError(f"scripts/stranger demo ended with {done.returncode}: {done.stdout[-2000:]}")
    return time.monotonic() - began
