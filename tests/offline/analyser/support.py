"""Logs of task events for tests: lines by hand, and reading them."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Sequence
from pathlib import Path

from fawkes.offline.analyser import fold
from fawkes.offline.analyser.trace import Log, parts_of

SECOND = 1_000_000


def line(
    time_s: float, kind: int, *, job: int = 1, index: int = 0, machine: object = "", priority: int = 0,
    scheduling_class: int = 0, cpu: object = 0.5,
) -> str:  # fmt: skip
    time_us = round(time_s * SECOND)
    return f"{time_us},,{job},{index},{machine},{kind},user,{scheduling_class},{priority},{cpu},0.1,0.01,0"


def written(path: Path, lines: Iterable[str], *, packed: bool = True) -> Path:
    text = "".join(f"{each}\n" for each in lines).encode()
    path.write_bytes(gzip.compress(text) if packed else text)
    return path


def state_of(*paths: Path, size: int | None = None) -> tuple[fold.FoldState, Log]:
    """The state behind a log; with ``size`` in batches of so many events."""
    log, state = Log(parts_of(paths)), fold.start()
    for batch in log.batches():
        step = size or len(batch.time_us)
        for begin in range(0, len(batch.time_us), step):
            state = fold.fold(state, batch.take(slice(begin, begin + step)))
    return fold.finish(state, log.latest_us), log


def state_of_lines(folder: Path, lines: Sequence[str]) -> fold.FoldState:
    return state_of(written(folder / "log.csv.gz", lines))[0]
