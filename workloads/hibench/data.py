"""Input of the HiBench programs: words, records, links and samples, the same bytes for the same seed.

This file stands alone: it goes to an MR-cluster's master as it is and makes the data there, for instance
``python3 data.py words --size 1000000 --out FOLDER``. It prints the bytes written. Whole-number arithmetic alone, so
that no machine rounds anything anew.

words    lines of words whose frequencies follow Zipf's law                            (Wordcount)
records  lines of a random key of 10 letters, a tab, and 88 letters                    (Sort)
links    a page on each line: number, first rank, the pages that it links to           (PageRank)
samples  a point on each line: coordinates around some true centres, in thousandths    (K-Means)
centres  the first centres of a K-Means over such samples: k of them, evenly spread    (K-Means)
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import sys
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

_LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
_WORDS_LOG2 = 12
_RECORD = 100
_PIECE = 4096
DANGLING = 20
"""One page in so many links to nowhere."""
MOST_LINKS_LOG2 = 5
SPREAD = 1000
"""True centres are up to 100 apart in each dimension, samples some units around them."""


def words(size: int, chance: random.Random) -> Iterator[bytes]:
    """Lines of twelve words, ``size`` bytes in all."""
    left = size
    while left:
        for _ in range(_PIECE):
            bits = chance.getrandbits(12 * 28)
            line = b" ".join(_word(bits >> shift & 0xFFFFFFF) for shift in range(0, 12 * 28, 28)) + b"\n"
            if len(line) >= left:
                yield line[: left - 1] + b"\n"
                return
            left -= len(line)
            yield line


def _word(bits: int) -> bytes:
    """The word of a rank that is about as likely as 1 / rank."""
    octave = (bits & 0xFFFF) % _WORDS_LOG2
    rank = (1 << octave) + (bits >> 16 & (1 << octave) - 1)
    letters = b""
    while rank:
        rank, at = divmod(rank, 20)
        letters += b"bcdfghjklmnpqrstvwxz"[at : at + 1] + b"aeiou"[at % 5 : at % 5 + 1]
    return letters


def records(size: int, chance: random.Random) -> Iterator[bytes]:
    """Lines of 100 bytes, as many as are whole in ``size``."""
    table = bytes(_LETTERS[value % len(_LETTERS)] for value in range(256))
    for _ in range(size // _RECORD):
        text = chance.randbytes(_RECORD - 2).translate(table)
        yield text[:10] + b"\t" + text[10:] + b"\n"


def links(pages: int, seed: int, first: int, last: int) -> Iterator[bytes]:
    """The pages from number ``first`` to before ``last`` of a graph of so many."""
    levels = max(1, (pages - 1).bit_length())
    rank = repr(1 / pages)
    for page in range(first, last):
        chance = random.Random(f"links:{seed}:{page}")  # noqa: S311 - the same again is what is wanted
        count = (
            0 if page % DANGLING == DANGLING - 1 else 1 + (chance.getrandbits(16) & (1 << page % MOST_LINKS_LOG2) - 1)
        )
        found: dict[int, None] = {}
        for _ in range(count):
            octave = chance.getrandbits(16) % levels
            found[((1 << octave) + chance.getrandbits(octave or 1) * (octave > 0)) % pages] = None
        yield f"{page}\t{rank}\t{' '.join(map(str, found))}\n".encode()


def samples(count: int, seed: int, dimensions: int, clusters: int, first: int, last: int) -> Iterator[bytes]:
    """The samples from number ``first`` to before ``last`` of so many."""
    true = _true_centres(seed, dimensions, clusters)
    for number in range(first, last):
        chance = random.Random(f"samples:{seed}:{number}")  # noqa: S311
        centre = true[chance.getrandbits(16) % clusters]
        # The sum of four even numbers is nearly normal, and whole.
        yield (
            " ".join(_text(at + sum(chance.getrandbits(12) for _ in range(4)) - 8190) for at in centre) + "\n"
        ).encode()


def _true_centres(seed: int, dimensions: int, clusters: int) -> list[list[int]]:
    chance = random.Random(f"centres:{seed}")  # noqa: S311
    return [[chance.randrange(100 * SPREAD) for _ in range(dimensions)] for _ in range(clusters)]


def _text(thousandths: int) -> str:
    sign, value = ("-", -thousandths) if thousandths < 0 else ("", thousandths)
    return f"{sign}{value // 1000}.{value % 1000:03d}"


def centres(count: int, seed: int, dimensions: int, clusters: int, k: int) -> Iterator[bytes]:
    """``k`` of the samples, each with its number as a cluster."""
    for cluster in range(k):
        number = cluster * count // k
        (line,) = samples(count, seed, dimensions, clusters, number, number + 1)
        yield b"%d\t%s" % (cluster, line)


def spread(count: int, parts: int) -> list[tuple[int, int]]:
    """From where to before where each part goes."""
    return [(number * count // parts, (number + 1) * count // parts) for number in range(parts)]


def write(folder: Path, parts: list[Iterator[bytes]]) -> int:
    """Write each part as ``part-00000`` and so on; a file has its name only when it is whole. The bytes written."""
    total = 0
    for number, lines in enumerate(parts):
        place = folder / f"part-{number:05d}"
        draft = folder / f".{place.name}.new"
        try:
            with draft.open("wb") as out:
                while piece := b"".join(islice(lines, _PIECE)):
                    total += out.write(piece)
            os.replace(draft, place)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise
    return total


def parts_of(asked: argparse.Namespace) -> list[Iterator[bytes]]:
    """What was asked for, file by file."""
    by_size: dict[str, Callable[[int, random.Random], Iterator[bytes]]] = {"words": words, "records": records}
    if asked.kind in by_size:
        unit = _RECORD if asked.kind == "records" else 1
        return [
            by_size[asked.kind]((end - begin) * unit, random.Random(f"{asked.kind}:{asked.seed}:{begin}"))  # noqa: S311
            for begin, end in spread(asked.size // unit, asked.parts)
        ]
    if asked.kind == "links":
        return [links(asked.count, asked.seed, *between) for between in spread(asked.count, asked.parts)]
    if asked.kind == "centres":
        return [centres(asked.count, asked.seed, asked.dimensions, asked.clusters, asked.k)]
    return [
        samples(asked.count, asked.seed, asked.dimensions, asked.clusters, *between)
        for between in spread(asked.count, asked.parts)
    ]


def main() -> None:
    """The command line; prints the bytes written."""
    parser = argparse.ArgumentParser(description="Input of the HiBench programs, the same for the same seed")
    parser.add_argument("kind", choices=["words", "records", "links", "samples", "centres"])
    parser.add_argument("--size", type=int, default=0, help="bytes (words, records)")
    parser.add_argument("--count", type=int, default=0, help="pages or samples (links, samples, centres)")
    parser.add_argument("--dimensions", type=int, default=20)
    parser.add_argument("--clusters", type=int, default=5, help="true centres")
    parser.add_argument("--k", type=int, default=10, help="centres to begin with")
    parser.add_argument("--out", type=Path, required=True, help="the folder, which is made")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--parts", type=int, default=1, help="the number of files")
    asked = parser.parse_args()
    try:
        asked.out.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(asked.out).free
        if free < asked.size:
            raise OSError(f"no space for {asked.size} bytes in {asked.out}: {free} are free")
        print(write(asked.out, parts_of(asked)))
    except OSError as error:
        sys.exit(f"data.py: {error}")


if __name__ == "__main__":
    main()
