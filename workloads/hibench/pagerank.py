"""Mappers and reducers of PageRank for Hadoop Streaming, in three MR-jobs for each iteration.

A line of the state: page, its rank, the pages that it links to. DanglingPages adds up the rank of pages without links,
which goes evenly to all (the sum is the file ``dangling`` where UpdateRanks runs); UpdateRanks gives each page its new
rank; SortRanks puts the pages in order, the highest rank first.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path

DAMPING = 0.85
_TOP = (1 << 64) - 1


def dangling_map(lines: Iterable[str]) -> Iterator[str]:
    """One line: the rank of all pages here that link to nowhere."""
    total = 0.0
    for line in lines:
        _, rank, links = line.split("\t")
        if not links:
            total += float(rank)
    yield f"0\t{total!r}"


def dangling_reduce(lines: Iterable[str]) -> Iterator[str]:
    """The sum of all maps."""
    yield repr(sum(float(line.split("\t")[1]) for line in lines))


def update_map(lines: Iterable[str]) -> Iterator[str]:
    """The links of each page, and its rank in equal parts to the pages that it links to."""
    for line in lines:
        page, rank, links = line.split("\t")
        targets = links.split()
        yield f"{page}\t>{links}"
        for target in targets:
            yield f"{target}\t{float(rank) / len(targets)!r}"


def update_reduce(lines: Iterable[str], pages: int, dangling: float) -> Iterator[str]:
    """The new state of each page."""
    rows = (line.split("\t", 1) for line in lines)
    for page, group in groupby(rows, key=lambda row: row[0]):
        links, total = "", 0.0
        for _, value in group:
            if value.startswith(">"):
                links = value[1:]
            else:
                total += float(value)
        yield f"{page}\t{(1 - DAMPING) / pages + DAMPING * (total + dangling / pages)!r}\t{links}"


def sort_map(lines: Iterable[str]) -> Iterator[str]:
    """Each page behind a key that sorts as text the way ranks go down, and equal ranks by page."""
    for line in lines:
        page, rank, _ = line.split("\t")
        (bits,) = struct.unpack(">Q", struct.pack(">d", float(rank)))
        yield f"{_TOP - bits:016x}{int(page):012d}\t{page} {rank}"


def sort_reduce(lines: Iterable[str]) -> Iterator[str]:
    """Page and rank, without the key."""
    for line in lines:
        page, rank = line.split("\t")[1].split(" ")
        yield f"{page}\t{rank}"


def main(step: str, *words: str) -> None:
    """One step from standard input to standard output."""
    lines = (line.rstrip("\n") for line in sys.stdin)
    if step == "update-reduce":
        results = update_reduce(lines, int(words[0]), float(Path("dangling").read_text()))
    else:
        results = {
            "dangling-map": dangling_map,
            "dangling-reduce": dangling_reduce,
            "update-map": update_map,
            "sort-map": sort_map,
            "sort-reduce": sort_reduce,
        }[step](lines)
    for result in results:
        sys.stdout.write(result + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
