"""A ledger of a year: how much a quiet pool adds to it in a day, and what starting and looking cost with all of it."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

from bench.core import Bench, settings
from bench.figures import Figure, Say, figures_of, fresh, peak_mb
from fawkes.base.units import SECOND_US
from fawkes.core.clusters.picture import picture
from fawkes.core.values.decision import PutTick
from fawkes.core.values.events import Event, Sampled, Woke
from fawkes.core.values.model import ClusterId
from fawkes.engine.ports import Entry
from fawkes.live.controller.controller import PICTURE_EVERY
from fawkes.store import health
from fawkes.store.base import TICK
from fawkes.store.record import to_plain
from fawkes.store.remembered import remembered
from fawkes.store.schema import OPENED
from fawkes.store.sqlite import LEDGER_FILE, Ledger
from fawkes.store.steps import BLOCK, StepRow, Steps, block_of, digest_of

GROUP = "The ledger of a year"
_MB = 1_000_000
_SAMPLE_US, _PERIOD_US = 10 * SECOND_US, 120 * SECOND_US
_DAY_US = 86_400 * SECOND_US
_DAYS = 365
_CLUSTERS, _NODES = 10, 100


def figures(rounds: int, say: Say) -> list[Figure]:
    """Make the ledger once, then start with it and look at it ``rounds`` times, each in a fresh process."""
    with tempfile.TemporaryDirectory(prefix="fawkes-bench-") as folder:
        site = Path(folder)
        # The package is enough of a site: no key is said, and nothing is asked of any node.
        (site / "fawkes.toml").write_text("")
        grown_mb = write_year(site / "state", say)
        size_mb = (site / "state" / LEDGER_FILE).stat().st_size / _MB
        runs = {name: [_fresh(name, site, say) for _ in range(rounds)] for name in ("start", "killed", "power")}
        status = [_status(site) for _ in range(rounds)]
    seconds = {name: [run["seconds"] for run in some] for name, some in runs.items()}
    steps = f"{runs['start'][0]['steps']:,.0f} steps"
    quiet = "10 quiet MR-clusters on 100 nodes: the first day adds, with the rows that are not packed yet"
    lines = [
        (quiet, "MB", [grown_mb], 2),
        ("the mean day of a year adds", "MB", [size_mb / _DAYS], 2),
        (f"a year of it: {steps}, the file", "MB", [size_mb], None),
        ("opening it and making the state, the last controller having come to its end", "s", seconds["start"], 5),
        ("the same after a kill", "s", seconds["killed"], 5),
        ("the same after a power cut: every page is looked at, none is in memory", "s", seconds["power"], 5),
        ("its peak memory", "MB", [run["peak_mb"] for run in runs["power"]], None),
        ("`fawkes status`, its Python included", "s", status, 2),
    ]
    return figures_of(GROUP, lines)


def write_year(folder: Path, say: Say, days: int = _DAYS) -> float:
    """A ledger of so many days of a quiet pool; how many MB the first of them added.

    The first and the last day are decided and stored step by step. Those in between are the first one again, with
    numbers, times and checksums of their own, written as blocks: storing them one by one would take an hour.
    """
    how = settings(period_us=_PERIOD_US, sample_every_us=_SAMPLE_US)
    bench = Bench(_CLUSTERS, _NODES, how, keep=True)
    before = len(bench.steps.kept)
    say("ledger: a day of a quiet pool")
    demand = dict.fromkeys(bench.ids, 100)
    for event in _quiet(bench, bench.state.now_us + _DAY_US, demand):
        bench.step(event)
    entries = bench.steps.kept
    with closing(Ledger(folder, durable=False)) as ledger:
        _append(ledger, entries[:before])
    start = _size(folder)
    with closing(Ledger(folder, durable=False)) as ledger:
        _append(ledger, entries[before:])
    grown_mb = (_size(folder) - start) / _MB
    say(f"ledger: {days - 2} more days")
    _repeat(folder, before, days - 2, [tick_of(entry) for entry in entries])
    say("ledger: the last day")
    bench.step(Woke(at_us=bench.state.now_us + (days - 1) * _DAY_US))
    done = len(entries) - 1
    with closing(Ledger(folder, durable=False)) as ledger:
        _append(ledger, entries[done:])
        for event in _quiet(bench, bench.state.now_us + _DAY_US, demand):
            decision, _ = bench.step(event)
            seq = ledger.append(event, decision)
            if seq % PICTURE_EVERY == 0:
                ledger.snapshot(seq, to_plain(picture(bench.state)))
    return grown_mb


def _quiet(bench: Bench, until_us: int, demand: dict[ClusterId, int]) -> Iterator[Event]:
    """Readings that say the same every ten seconds, never quite on time, and the ticks between them."""
    odd = 0
    while bench.state.now_us < until_us:
        due = bench.state.pending["tick"].deadline_us
        odd = (odd * 1103515245 + 12345) % 2**31
        at_us = bench.state.now_us + _SAMPLE_US + odd % 3000
        readings = bench.readings(demand)
        yield Woke(at_us=due) if due <= at_us else Sampled(at_us=at_us, readings=readings)


def _append(ledger: Ledger, entries: Sequence[Entry]) -> None:
    for entry in entries:
        ledger.append(entry.event, entry.decision)


def tick_of(entry: Entry) -> int | None:
    """The number of the tick that a step is; None when it is none."""
    return next((change.tick for change in entry.decision.changes if isinstance(change, PutTick)), None)


def _repeat(folder: Path, before: int, days: int, ticks: Sequence[int | None]) -> None:
    """The steps after ``before`` again and again, as blocks."""
    with closing(sqlite3.connect(folder / LEDGER_FILE, isolation_level=None)) as db:
        steps = Steps(db, folder / LEDGER_FILE)
        last, digest = db.execute("SELECT seq, digest FROM head").fetchone()
        db.execute("BEGIN IMMEDIATE")
        while steps.folded() < last:
            steps.fold()
        day = list(steps.after(before))
        highest = max(tick for tick in ticks if tick is not None)
        rows: list[StepRow] = []
        for number in range(1, days + 1):
            for old in day:
                last += 1
                at_us = old.at_us + number * _DAY_US
                digest = digest_of(digest, last, at_us, *old[2:5])
                rows.append(StepRow(last, at_us, *old[2:5], digest))
                if ticks[old.seq - 1] is not None:
                    highest += 1
                    db.execute("INSERT INTO mentions (kind, subject, seq) VALUES (?, ?, ?)", (TICK, str(highest), last))
                if len(rows) == BLOCK:
                    _write(db, rows)
                    rows = []
        _write(db, rows)
        db.execute("UPDATE head SET seq = ?, digest = ?", (last, digest))
        db.execute("COMMIT")


def _write(db: sqlite3.Connection, rows: Sequence[StepRow]) -> None:
    if rows:
        values = (rows[0].seq, rows[-1].seq, rows[0].at_us, rows[-1].digest, block_of(rows))
        db.execute("INSERT INTO blocks (first, last, from_us, digest, steps) VALUES (?, ?, ?, ?, ?)", values)
        kinds = {(row.kind, rows[0].seq) for row in rows}
        db.executemany("INSERT INTO kinds (kind, first) VALUES (?, ?)", sorted(kinds))


def _size(folder: Path) -> int:
    return (folder / LEDGER_FILE).stat().st_size


def _status(site: Path) -> float:
    began = time.perf_counter()
    command = [sys.executable, "-m", "fawkes", "--site", str(site), "status"]
    subprocess.run(command, capture_output=True, check=True)
    return time.perf_counter() - began


def _fresh(name: str, site: Path, say: Say) -> dict[str, float]:
    say(f"ledger: {name}")
    file = site / "state" / LEDGER_FILE
    if name != "start":
        boot = health.boot() if name == "killed" else "before the power cut"
        with closing(sqlite3.connect(file)) as db:
            db.execute("REPLACE INTO meta (key, value) VALUES (?, ?)", (OPENED, boot))
            db.commit()
    if name == "power":
        _forget(file)
    return fresh("bench.ledger", str(site / "state"))


def _forget(file: Path) -> None:
    """Let the system keep nothing of the file in memory."""
    descriptor = os.open(file, os.O_RDONLY)
    try:
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(descriptor)


def start(folder: Path) -> dict[str, float]:
    """What a controller does with its ledger when it starts: the seconds, the steps, the peak memory."""
    began = time.perf_counter()
    ledger = Ledger(folder)
    state, _ = remembered(ledger)
    seconds = time.perf_counter() - began
    assert len(state.clusters) == _CLUSTERS
    steps = ledger.last_seq()
    ledger.close()
    return {"seconds": seconds, "steps": steps, "peak_mb": peak_mb()}


if __name__ == "__main__":
    print(json.dumps(start(Path(sys.argv[1]))))
