"""Logs with known figures: the analyser finds these again, whatever they are, and those of the thesis."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fawkes.offline.analyser.fold import CLASSES
from fawkes.offline.analyser.machines import TABLE_1, machine_rows
from fawkes.offline.analyser.making import LI, Law, Truth, make
from fawkes.offline.analyser.tables import event_counts, group_rows, repeat_rows
from tests.offline.analyser.support import state_of

POINT = 0.001
"""A tenth of a percentage point."""


def drawn(seed: int) -> Law:
    """A law whose figures nobody chose."""
    chance = np.random.default_rng(seed)
    levels = int(chance.integers(3, 13))
    return Law(
        shares=tuple(chance.random(levels) + 0.05),
        rates=tuple(chance.random(levels) * 0.25),
        class_shares=tuple(chance.random(CLASSES) + 0.05),
        class_rates=tuple(chance.random(CLASSES) * 0.2 + 0.02),
        ends=tuple(chance.random(4) + 0.01),
        killed_waiting=float(chance.random() * 0.05),
        submitted=float(chance.random() * 0.01),
        updates=(float(chance.random() * 0.02), float(chance.random() * 0.05)),
        preempted=float(chance.random()),
        again=(float(chance.random() + 0.1), float(chance.random() + 0.2)),
        most=int(chance.integers(2, 60)),
        machines=int(chance.integers(500, 3_000)),
        span_s=float(chance.integers(1, 10)) * 86_400,
        run_s=float(chance.integers(30, 900)),
    )


def tail(times: np.ndarray[tuple[int], np.dtype[np.int64]], least: int) -> float:
    return float(times[least:].sum() / max(1, times[1:].sum()))


def rate(events: np.ndarray[tuple[int, ...], np.dtype[np.int64]], schedules: object) -> float:
    return float(events.sum() / max(1, np.sum(schedules)))  # type: ignore[call-overload]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_any_figures_are_found_again(tmp_path: Path, seed: int) -> None:
    truth = make(tmp_path / "log", drawn(seed), schedules=20_000, parts=3, seed=seed)
    state, log = state_of(tmp_path / "log", size=7_001)
    assert log.dropped == {}
    assert list(event_counts(state).values()) == truth.events.tolist()
    rows = {(row["by"], row["group"]): row for row in group_rows(state)}
    for by, axis in (("priority", 1), ("class", 0)):
        sums = [each.sum(axis=axis) for each in (truth.schedules, truth.evictions, truth.preemptions)]
        for place, (schedules, evictions, preemptions) in enumerate(zip(*sums, strict=True)):
            row = rows[by, f"{by} {place}"]
            assert row["schedules"] == schedules
            assert row["eviction_rate"] == pytest.approx(evictions / schedules, abs=POINT)
            assert row["preemption_rate"] == pytest.approx(preemptions / schedules, abs=POINT)
    machines = {
        (row["platform"], row["cpu"], row["memory_units"]): row["count"] for row in machine_rows([tmp_path / "log"], {})
    }
    assert machines == {name: count for name, count in truth.machines.items() if count}
    whole = rows["log", "all"]
    assert (whole["evictions"], whole["preemptions"]) == (truth.evictions.sum(), truth.preemptions.sum())
    assert (whole["undecided"], whole["unmeasured"]) == (0, 0)
    assert_repeats(repeat_rows(state), truth)
    cpu = [whole[name] * 3.6e9 for name in ("used_cpu_h", "evicted_cpu_h", "preempted_cpu_h")]
    assert cpu == pytest.approx([truth.used_cpu_us, truth.evicted_cpu_us, truth.preempted_cpu_us], rel=1e-6)


def assert_repeats(rows: list[dict[str, float]], truth: Truth) -> None:
    for row in rows:
        least = int(row["at_least"])
        assert row["evicted_share"] == pytest.approx(tail(truth.evicted_times, least), abs=POINT)
        if row["preempted_share"] is not None:
            assert row["preempted_share"] == pytest.approx(tail(truth.preempted_times, least), abs=POINT)


TABLE_2 = {
    "submit": 48.3, "schedule": 47.35, "evict": 5.86, "fail": 13.83, "finish": 18.22, "kill": 10.35, "lost": 0.008,
    "update pending": 0.008, "update running": 0.64,
}  # fmt: skip
TABLES_4_AND_5 = {
    ("log", "all"): 12.38, ("band", "free (0-1)"): 20.26, ("band", "middle (2-8)"): 0.55,
    ("band", "production (9-11)"): 1.02, ("class", "class 0"): 11.76, ("class", "class 1"): 18.87,
    ("class", "class 2"): 8.14, ("class", "class 3"): 14.80,
}  # fmt: skip


@pytest.mark.slow
def test_the_tables_of_the_thesis_are_found_again(tmp_path: Path) -> None:
    make(tmp_path / "log", LI, schedules=400_000, parts=4, seed=5)
    state, _ = state_of(tmp_path / "log")
    rows = {(row["by"], row["group"]): row for row in group_rows(state)}
    for name, percent in TABLES_4_AND_5.items():
        assert rows[name]["eviction_rate"] * 100 == pytest.approx(percent, abs=0.1), name
    events = event_counts(state)
    for kind, millions in TABLE_2.items():
        assert events[kind] / sum(events.values()) == pytest.approx(millions / 144.566, abs=POINT), kind
    shares = {row["at_least"]: row["evicted_share"] for row in repeat_rows(state)}
    assert [shares[2], shares[10]] == pytest.approx([0.435, 0.170], abs=POINT)
    assert rows["log", "all"]["preemptions"] / rows["log", "all"]["evictions"] == pytest.approx(0.93, abs=0.002)
    machines = [
        (row["platform"], row["cpu"], row["memory_units"], row["count"]) for row in machine_rows([tmp_path / "log"], {})
    ]
    assert sorted(machines) == sorted(TABLE_1)
    parts = [rows["band", band]["schedules"] / 400_000 for band in ("free (0-1)", "middle (2-8)", "production (9-11)")]
    assert parts == pytest.approx([28.4 / 47.4, 17.3 / 47.4, 1.7 / 47.4], abs=POINT)


@pytest.mark.parametrize(("seed", "same"), [(3, True), (4, False)])
def test_a_seed_makes_one_log(tmp_path: Path, seed: int, same: bool) -> None:
    for name, number in (("a", 3), ("b", seed)):
        make(tmp_path / name, schedules=1_000, parts=2, seed=number)
    texts = [[path.read_bytes() for path in sorted((tmp_path / name).rglob("*.gz"))] for name in ("a", "b")]
    assert (texts[0] == texts[1]) is same
    assert len(texts[0]) == 3
