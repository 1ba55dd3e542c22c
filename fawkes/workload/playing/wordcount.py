"""Wordcount without Hadoop: what a Wordcount that an MR-cluster ran and saved must have come out as."""

from __future__ import annotations

from collections import Counter
from pathlib import Path


def counts(folder: Path) -> Counter[bytes]:
    """The count of each word in the files of a folder; words are what blanks divide, as Hadoop's example has it."""
    counter: Counter[bytes] = Counter()
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        with file.open("rb") as lines:
            for line in lines:
                counter.update(line.split())
    return counter


def saved_counts(folder: Path) -> Counter[bytes]:
    """The counts in the files that a Wordcount wrote; ValueError for a word that stands there twice."""
    counter: Counter[bytes] = Counter()
    for file in sorted(folder.glob("part-*")):
        for line in file.read_bytes().splitlines():
            word, _, count = line.rpartition(b"\t")
            if word in counter:
                raise ValueError(f"{word.decode(errors='replace')!r} is counted twice")
            counter[word] = int(count)
    return counter
