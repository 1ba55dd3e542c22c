"""Mappers and reducers of K-Means for Hadoop Streaming; the file ``centres`` has the centres where they run.

A line of ``centres``: a cluster, a tab, its coordinates. ``iterate`` gives the new centres (a cluster without samples
stays where it is), ``assign`` each sample behind its cluster.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path

Point = list[float]


def read_centres(folder: Path = Path()) -> dict[str, Point]:
    """The centres by cluster."""
    rows = (line.split("\t") for line in (folder / "centres").read_text().splitlines())
    return {cluster: [float(value) for value in values.split()] for cluster, values in rows}


def nearest(point: Point, centres: dict[str, Point]) -> str:
    """The cluster whose centre is nearest; of equals the first."""
    best, least = "", float("inf")
    for cluster, centre in centres.items():
        distance = 0.0
        for one, other in zip(point, centre):  # noqa: B905 - slow, and unknown to older Pythons
            distance += (one - other) * (one - other)
        if distance < least:
            best, least = cluster, distance
    return best


def iterate_map(lines: Iterable[str], centres: dict[str, Point]) -> Iterator[str]:
    """For each cluster the number and the sum of its samples here; nothing is lost by adding up in the map."""
    counts = dict.fromkeys(centres, 0)
    sums = {cluster: [0.0] * len(centre) for cluster, centre in centres.items()}
    for line in lines:
        point = [float(value) for value in line.split()]
        cluster = nearest(point, centres)
        counts[cluster] += 1
        total = sums[cluster]
        for at, value in enumerate(point):
            total[at] += value
    for cluster, count in counts.items():
        yield f"{cluster}\t{count} {' '.join(map(repr, sums[cluster]))}"


def iterate_reduce(lines: Iterable[str], centres: dict[str, Point]) -> Iterator[str]:
    """The new centres."""
    rows = (line.split("\t") for line in lines)
    for cluster, group in groupby(rows, key=lambda row: row[0]):
        count, total = 0, [0.0] * len(centres[cluster])
        for _, values in group:
            here, *parts = values.split()
            count += int(here)
            total = [one + float(part) for one, part in zip(total, parts)]  # noqa: B905
        centre = [value / count for value in total] if count else centres[cluster]
        yield f"{cluster}\t{' '.join(map(repr, centre))}"


def assign_map(lines: Iterable[str], centres: dict[str, Point]) -> Iterator[str]:
    """Each sample behind its cluster."""
    for line in lines:
        yield f"{nearest([float(value) for value in line.split()], centres)}\t{line}"


def main(step: str) -> None:
    """One step from standard input to standard output."""
    lines = (line.rstrip("\n") for line in sys.stdin)
    steps = {"iterate-map": iterate_map, "iterate-reduce": iterate_reduce, "assign-map": assign_map}
    for result in steps[step](lines, read_centres()):
        sys.stdout.write(result + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
