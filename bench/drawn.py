"""Scenarios drawn by a seed, for `python -m bench.default`: pools, sites, faults, and MR-clusters of eight kinds.

A kind says how the jobs of an MR-cluster come and how large they are. `idle` has none, `rigid` has jobs that start all
of their processors at once. The same seed gives the same bytes.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from math import exp
from pathlib import Path

from bench.worth_scenarios import LAB, MB, REAL

KINDS = ("small", "mixed", "burst", "giant", "tail", "on-off", "wide", "rigid", "idle")
#: slots of a node for maps, in the default model and in a lab
_REAL_SLOTS, _LAB_SLOTS = 6, 4
_MOST_JOBS = 80
_COLUMNS = (
    *("id", "submit_s", "cluster", "input_bytes", "shuffle_bytes", "output_bytes"),
    *("maps", "reduces", "map_s", "reduce_s", "processors", "run_s"),
)


@dataclass(frozen=True, slots=True)
class Drawn:
    """A row of the tables: the values that a seed drew; ``kinds`` are those of the MR-clusters."""

    seed: int
    pool: str
    nodes: int
    sites: int
    growth: str
    load: float
    faults: int
    kinds: str


@dataclass(frozen=True, slots=True)
class _Job:
    """One row: when it comes, and its tasks by bytes, by their time, or rigid."""

    at_s: float
    maps: int
    reduces: int = 0
    map_s: float | None = None
    shuffle: float = 0.0
    processors: int | None = None

    @property
    def work_s(self) -> float:
        """Slot-seconds, about."""
        return (self.processors or self.maps) * (10.0 if self.map_s is None else self.map_s)


def write_scenario(seed: int, folder: Path) -> tuple[Path, Drawn]:
    """Write the scenario of a seed and its table of jobs into a folder; the scenario's file, and what was drawn."""
    chance = random.Random(f"drawn {seed}")
    lab = chance.random() < 0.25
    clusters = chance.choice((2, 3, 3, 4))
    least = chance.choice((2, 2, 3))
    nodes = clusters * least + (chance.randint(2, 8) if lab else round(exp(chance.uniform(0.7, 3.9))))
    sites = 2 if not lab and chance.random() < 0.25 else 1
    growth = chance.choice(("TR", "TR", "TC"))
    load = chance.uniform(0.1, 1.1)
    cores = chance.choice((2, 4, 8))
    link = chance.choice(("125MB", "500MB", "1250MB"))
    faults = chance.choice((0, 0, 0, 1, 2))
    span_s = 900 if lab else chance.choice((1800, 3600, 7200))
    slots = _LAB_SLOTS if lab else _REAL_SLOTS
    capacity = cores if lab else nodes * slots
    kinds = [chance.choice(KINDS[:-1]) for _ in range(clusters)]
    if chance.random() < 0.2:
        kinds[chance.randrange(clusters)] = "idle"
    text = [f'title = "Drawn by seed {seed}"', 'limit = "2d"', f"seed = {seed + 1}", ""]
    text += ["[pool]", f"nodes = {nodes}", f"sites = [{', '.join(repr(f's{n}') for n in range(1, sites + 1))}]", ""]
    text += ["[settings]", f'growth = "{growth}"', 'idle_time = "never"']
    text.append(LAB.format(cores=cores) if lab else REAL.format(link=link, join=chance.choice(("4s", "10s", "30s"))))
    names = [f"c-{n}" for n in range(1, clusters + 1)]
    for name in names:
        text += ["[[cluster]]", f'id = "{name}"', f"min_nodes = {least}", "replication = 2", ""]
    for number in range(faults):
        at_s = chance.randint(span_s // 4, span_s)
        text += ["[[fault]]", f'node = "node{nodes - number:02d}"', f'at = "{at_s}s"']
        text += [f'back = "{at_s + chance.randint(120, 900)}s"', ""]
    text += ["[[load]]", 'cluster = "c-1"', f'trace = "{seed}.jobs.csv"', ""]
    shares = [chance.expovariate(1) + 0.1 for _ in names]
    rows: list[tuple[float, str]] = []
    for name, kind, share in zip(names, kinds, shares, strict=True):
        work_s = load * capacity * span_s * share / sum(shares)
        jobs = _jobs(chance, kind, lab=lab, span_s=span_s, processors=least * slots)
        for number, job in zip(range(0 if kind == "idle" else _MOST_JOBS), jobs, strict=False):
            rows.append((job.at_s, _row(f"{name}-j{number}", name, job, 8 if lab else 128)))
            work_s -= job.work_s
            if work_s <= 0:
                break
    head = ["# fawkes jobs 1", ",".join(_COLUMNS)]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{seed}.jobs.csv").write_text("\n".join(head + [row for _, row in sorted(rows)]) + "\n")
    file = folder / f"drawn-{seed:05d}.toml"
    file.write_text("\n".join(text))
    pool = "lab" if lab else "real"
    return file, Drawn(seed, pool, nodes, sites, growth, round(load, 2), faults, " ".join(kinds))


def _row(name: str, cluster: str, job: _Job, block_mb: int) -> str:
    cells = [name, f"{job.at_s:.3f}", cluster]
    if job.processors is not None:
        return ",".join([*cells, *[""] * 7, str(job.processors), f"{job.map_s or 0:.3f}"])
    if job.map_s is not None:
        times = [f"{job.map_s:.3f}", f"{job.map_s:.3f}" if job.reduces else ""]
        return ",".join([*cells, "", "", "", str(job.maps), str(job.reduces), *times, "", ""])
    size = job.maps * block_mb * MB
    moved = round(size * job.shuffle)
    return ",".join([*cells, str(size), str(moved), str(moved // 2), str(job.maps), str(job.reduces), "", "", "", ""])


def _jobs(chance: random.Random, kind: str, *, lab: bool, span_s: int, processors: int) -> Iterator[_Job]:
    """Jobs of one kind, as many as are taken."""
    begin_s = chance.uniform(0, span_s / 2)
    timed = chance.random() < 0.5
    on_s = chance.uniform(span_s / 16, span_s / 6)
    most = 12 if lab else chance.choice((60, 200, 600))
    while True:
        shuffle = chance.choice((0.01, 0.1, 1.0))
        task_s = chance.lognormvariate(2.5, 0.8) if timed else None
        match kind:
            case "rigid":
                run_s = min(chance.lognormvariate(4.5, 1.0), span_s / 2)
                yield _Job(chance.uniform(0, span_s), 0, map_s=run_s, processors=chance.randint(1, processors))
                continue
            case "giant":
                at_s = begin_s + chance.uniform(0, span_s / 2)
                maps = most * chance.randint(2, 4)
            case "wide":
                at_s, maps = chance.uniform(0, span_s), round(most * chance.uniform(0.5, 1.5))
                task_s = chance.uniform(2, 8) if timed else None
            case "tail":
                at_s, maps = chance.uniform(0, span_s), max(1, round(most / 20 * chance.paretovariate(1.1)))
                maps = min(maps, 4 * most)
                task_s = min(chance.lognormvariate(3, 1.3), 1200.0)
            case "burst":
                at_s = begin_s + chance.uniform(0, 60)
                maps = max(1, round(most / 4 * chance.random() ** 2))
            case "on-off":
                at_s = chance.randrange(3) * span_s / 3 + chance.uniform(0, on_s)
                maps = max(1, round(most / 4 * chance.random() ** 2))
            case "mixed":
                at_s = chance.uniform(0, span_s)
                maps = max(1, round((most if chance.random() < 0.15 else most / 12) * chance.random() ** 2))
            case _:
                at_s, maps = chance.uniform(0, span_s), max(1, round(most / 12 * chance.random() ** 2))
        reduces = 0 if chance.random() < 0.3 else max(1, maps // 8)
        yield _Job(at_s, maps, reduces, task_s, shuffle if reduces else 0.0)
