"""BTWorld-like records: what a crawler of BitTorrent trackers writes down, a scrape of a swarm on each line.

``hash tracker timestamp seeders leechers downloads``: 40 hexadecimal digits, a URL, ``yyyyMMddThhmmss``, whole numbers
or ``None``. What is drawn (RECONSTRUCTION, the published traces being elsewhere): swarms and trackers by Zipf's law, so
that a few trackers have most swarms and a few swarms most users; one tracker in 32 answers with invented counts; and
the dirt of such data: counts that are missing, scrapes that were written twice, lines that were cut off.

This file stands alone: it goes to an MR-cluster's master as it is and makes the data there,
``python3 scrapes.py --size 1000000 --out FOLDER``. The same bytes for the same seed: whole-number arithmetic alone.
"""

from __future__ import annotations

import argparse
import datetime
import functools
import hashlib
import os
import random
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

START = datetime.datetime(2011, 10, 18, tzinfo=datetime.timezone.utc)  # noqa: UP017 - masters have older Pythons
"""The first hour of the records."""

TRACKERS_LOG2 = 6
_SPAM = 32
_PIECE_ROWS = 4096
_PEAK = 30_000
_NONE, _TWICE, _CUT = 20, 10, 1
"""Of a thousand lines: without counts, written twice, cut off."""


def swarms_log2(size_bytes: int) -> int:
    """How many swarms there are in so many bytes, as a power of two: about one for each 20 lines, at most 4 million."""
    return max(6, min(22, (size_bytes // 2000).bit_length()))


def records(size_bytes: int, seed: int, days: int = 7, part: int = 0) -> Iterator[bytes]:
    """Whole lines in pieces, ``size_bytes`` of them but for less than one line; by hours over so many days.

    ``part`` is the number of the file: each has scrapes of all days, and of the same swarms.
    """
    chance = random.Random(f"scrapes:{seed}:{part}")  # noqa: S311 - the same again is what is wanted
    levels, hours = swarms_log2(size_bytes), days * 24
    written = 0
    while True:
        lines: list[bytes] = []
        for _ in range(_PIECE_ROWS):
            hour = min(hours - 1, written * hours // size_bytes)
            for line in _rows(chance, seed, levels, hour):
                if written + len(line) > size_bytes:
                    yield b"".join(lines)
                    return
                lines.append(line)
                written += len(line)
        yield b"".join(lines)


def _rows(chance: random.Random, seed: int, levels: int, hour: int) -> Iterator[bytes]:
    """One scrape: mostly a line, sometimes two, sometimes a part of one."""
    bits = chance.getrandbits(96)
    rank = _zipf(bits, levels)
    bits >>= 40
    name, tracker = _swarm(seed, rank, bits % 5 == 0)
    bits >>= 3
    url, spam = _tracker(tracker)
    kind, noise = bits % 1000, bits // 1000 % 1024
    if kind < _NONE:
        counts = "None None None"
    else:
        seeders = noise * noise if spam else _PEAK * (512 + noise) // (1024 * rank)
        counts = f"{seeders} {seeders * (noise % 97) // 96} {seeders * (hour + 1) // 4}"
    line = f"{name} {url} {_time(hour, noise % 60)} {counts}\n".encode()
    if _NONE <= kind < _NONE + _CUT:
        line = line[: 1 + noise % (len(line) - 2)] + b"\n"
    yield line
    if _NONE + _CUT <= kind < _NONE + _CUT + _TWICE:
        yield line


def _zipf(bits: int, levels: int) -> int:
    """A rank from 1 on, below 2**levels, about as likely as 1 / rank: an octave at random, then one of its ranks."""
    octave = (bits & 0xFFFF) % levels
    return (1 << octave) + (bits >> 16 & (1 << octave) - 1)


@functools.lru_cache(maxsize=1 << 18)
def _swarm(seed: int, rank: int, second: bool) -> tuple[str, int]:
    """The hash of a rank and the number of the tracker that has it; every hash is at up to two trackers."""
    digest = hashlib.sha1(f"{seed}:{rank}".encode(), usedforsecurity=False)
    word = int.from_bytes(digest.digest()[8:16] if second else digest.digest()[:8], "big")
    return digest.hexdigest(), _zipf(word, TRACKERS_LOG2)


@functools.cache
def _tracker(number: int) -> tuple[str, bool]:
    """The URL of a tracker and whether it invents its counts; the first has most swarms."""
    kind = ("http", "udp")[number % 3 == 0]
    return (
        f"{kind}://tracker{number:02d}.{'open' * (number % 4 + 1)}.example:{6969 + number}/announce",
        number % _SPAM == 31,
    )


@functools.cache
def _time(hour: int, minute: int) -> str:
    return (START + datetime.timedelta(hours=hour, minutes=minute)).strftime("%Y%m%dT%H%M%S")


def part_sizes(size_bytes: int, parts: int) -> list[int]:
    """The bytes wanted of each file."""
    each, rest = divmod(size_bytes, parts)
    return [each + (number < rest) for number in range(parts)]


def write(folder: Path, size_bytes: int, *, seed: int = 1, days: int = 7, parts: int = 1) -> int:
    """Write the records as ``part-00000`` and so on into a folder that is there; the bytes written.

    Each file has its name only when it is whole. OSError when there is no room.
    """
    total = 0
    for number, size in enumerate(part_sizes(size_bytes, parts)):
        place = folder / f"part-{number:05d}"
        draft = folder / f".{place.name}.new"
        try:
            with draft.open("wb") as out:
                for piece in records(size, seed, days, number):
                    total += out.write(piece)
            os.replace(draft, place)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise
    return total


def main() -> None:
    """The command line; prints the bytes written."""
    parser = argparse.ArgumentParser(description="BTWorld-like records, the same for the same seed")
    parser.add_argument("--size", type=int, required=True, help="bytes in all")
    parser.add_argument("--out", type=Path, required=True, help="the folder, which is made")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--days", type=int, default=7)
    parser.add_argument("--parts", type=int, default=1, help="the number of files")
    asked = parser.parse_args()
    try:
        asked.out.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(asked.out).free
        if free < asked.size:
            raise OSError(f"no space for {asked.size} bytes in {asked.out}: {free} are free")
        print(write(asked.out, asked.size, seed=asked.seed, days=asked.days, parts=asked.parts))
    except OSError as error:
        sys.exit(f"scrapes.py: {error}")


if __name__ == "__main__":
    main()
