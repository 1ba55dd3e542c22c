"""Scenarios drawn by a seed, for `python -m bench.worth`: classes, loads, real and lab pools, sites, faults."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

MB = 10**6
#: seconds of one core for each MB that a map of an unnamed application reads (`offline/scenarios/applications.py`)
_CPU_S_PER_MB = 0.05
_BLOCK_MB = 128

LAB = """
[model]
map_slots = 0
slots = 4
shared_cores = true
cores = {cores}
disk = "50MB"
network = "125MB"
block = "8MiB"
deploy = "35s"
join = "9s"
join_cpu = "18s"
drain = "0.3s"
clean = "0.7s"
job_start = "2.6s"
job_begin = "8.4s"
job_end = "1.2s"
task_start = "2.2s"
task_start_cpu = "4s"
spread = 0.0
"""
REAL = """
[model]
site = "{link}"
deploy = "30s"
join = "{join}"
"""


@dataclass(frozen=True, slots=True)
class Drawn:
    """What was drawn, for the table: each value is one word."""

    seed: int
    pool: str
    nodes: int
    clusters: int
    sites: int
    preset: str
    growth: str
    load: float
    faults: int


def write_scenario(seed: int, folder: Path) -> tuple[Path, Drawn]:
    """Write the scenario of a seed and its table of jobs into a folder; the scenario's file, and what was drawn.

    The same seed gives the same bytes.
    """
    chance = random.Random(f"worth {seed}")
    lab = chance.random() < 0.3
    clusters = chance.choice((2, 3, 3, 4))
    least = chance.choice((2, 2, 3))
    nodes = clusters * least + chance.randint(2, 6 if lab else 16)
    sites = 1 if lab or chance.random() < 0.7 else 2
    preset = "demo" if lab else chance.choice(("paper", "paper", "steady"))
    growth = chance.choice(("TR", "TR", "TC"))
    load = chance.uniform(0.15, 0.95)
    cores = chance.choice((2, 2, 4))
    link = chance.choice(("125MB", "500MB", "1250MB"))
    faults = chance.choice((0, 0, 1))
    span_s = 600 if lab else chance.choice((900, 1800))
    capacity = cores if lab else nodes * 6.0
    lines = [f'title = "Drawn by seed {seed}"', 'limit = "2d"', f"seed = {seed + 1}", ""]
    lines += ["[pool]", f"nodes = {nodes}", f"sites = [{', '.join(repr(f's{n}') for n in range(1, sites + 1))}]", ""]
    lines += ["[settings]", f'preset = "{preset}"', 'policy = "TD"', f'growth = "{growth}"', 'idle_time = "2h"']
    lines.append(LAB.format(cores=cores) if lab else REAL.format(link=link, join=chance.choice(("4s", "10s", "30s"))))
    names = [f"c-{n}" for n in range(1, clusters + 1)]
    for name in names:
        lines += ["[[cluster]]", f'id = "{name}"', f"min_nodes = {least}", "replication = 2", ""]
    if faults:
        at_s = chance.randint(span_s // 4, span_s)
        lines += ["[[fault]]", f'node = "node{nodes - chance.randint(0, 1):02d}"', f'at = "{at_s}s"']
        lines += [f'back = "{at_s + chance.randint(120, 900)}s"', ""]
    lines += ["[[load]]", 'cluster = "c-1"', f'trace = "{seed}.jobs.csv"', ""]
    rows = _jobs(chance, names, lab=lab, load=load, span_s=span_s, capacity=capacity)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{seed}.jobs.csv").write_text("\n".join(rows) + "\n")
    file = folder / f"worth-{seed:04d}.toml"
    file.write_text("\n".join(lines))
    pool = "lab" if lab else "real"
    return file, Drawn(seed, pool, nodes, clusters, sites, preset, growth, round(load, 2), faults)


def _jobs(
    chance: random.Random, names: list[str], *, lab: bool, load: float, span_s: int, capacity: float
) -> list[str]:
    """Jobs of every MR-cluster: so much work that all of them together use ``load`` of the pool's cores."""
    shares = [chance.expovariate(1) + 0.1 for _ in names]
    rows: list[tuple[float, str]] = []
    for name, share in zip(names, shares, strict=True):
        work_s = load * capacity * span_s * share / sum(shares)
        kind = chance.choice(("small", "mixed", "large"))
        pattern = chance.choice(("steady", "steady", "burst", "phase"))
        begin_s = chance.uniform(0, span_s / 2)
        number = 0
        while work_s > 0 and number < 60:
            maps, reduces, shuffle = _job(chance, kind, lab=lab)
            work_s -= (maps + reduces) * 5 if lab else maps * _BLOCK_MB * _CPU_S_PER_MB * 1.5
            at_s = _arrival(chance, pattern, begin_s, span_s)
            size = maps * (8 if lab else _BLOCK_MB) * MB
            moved = round(size * shuffle)
            rows.append((at_s, f"{name}-j{number},{at_s:.3f},{name},{size},{moved},{moved // 2},{maps},{reduces}"))
            number += 1
    head = ["# fawkes jobs 1", "id,submit_s,cluster,input_bytes,shuffle_bytes,output_bytes,maps,reduces"]
    return head + [row for _, row in sorted(rows)]


def _job(chance: random.Random, kind: str, *, lab: bool) -> tuple[int, int, float]:
    """Maps, reduces, and bytes that are shuffled for each byte of input."""
    large = kind == "large" or (kind == "mixed" and chance.random() < 0.15)
    most = (12 if lab else 200) if large else (4 if lab else 16)
    maps = max(1, round(most * chance.random() ** 2))
    reduces = 0 if chance.random() < 0.3 else max(1, maps // 8)
    return maps, reduces, chance.choice((0.01, 0.1, 1.0)) if reduces else 0.0


def _arrival(chance: random.Random, pattern: str, begin_s: float, span_s: float) -> float:
    if pattern == "burst":
        return begin_s + chance.uniform(0, 30)
    if pattern == "phase":
        return begin_s + chance.uniform(0, span_s / 4)
    return chance.uniform(0, span_s)
