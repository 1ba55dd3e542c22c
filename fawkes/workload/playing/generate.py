"""Input data that a workload makes before it runs: the same bytes for the same seed, on any machine.

A data set is a folder ``NAME`` with ``manifest.json`` and the files in ``data``. It is made beside its place and
renamed into it, so that a folder of that name is always whole; one that fits what is wanted is used again.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import hashlib
import json
import os
import random
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from fawkes.base.errors import FawkesError
from fawkes.base.units import show_bytes
from fawkes.config.workloads.workloads import Generated

RECORD_BYTES = 101
"""The bytes of a record: 100 letters and digits, and the end of the line."""

_FORMAT = 1
_CHUNK_BYTES = 1 << 20
_WORDS_OF_LINE, _WORDS_OF_PIECE = 12, 12 * 4096
_VOCABULARY = 5000
_LETTERS_AND_DIGITS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
_CONSONANTS, _VOWELS = "bcdfghklmnprstvz", "aeiou"


def generate(wanted: Generated, root: Path) -> Path:
    """The folder with the files of a data set, below ``root``; made unless it is there already.

    FawkesError when there is no room for it; nothing is left then.
    """
    folder = root / wanted.name
    if _manifest(folder) == _description(wanted) and _whole(folder, wanted):
        return folder / "data"
    root.mkdir(parents=True, exist_ok=True)
    _check_room(wanted, root)
    with _disk_errors(wanted, root):
        part = Path(tempfile.mkdtemp(prefix=f".{wanted.name}.part-", dir=root))
        try:
            _make(wanted, part)
            _put_in_place(part, folder)
        finally:
            shutil.rmtree(part, ignore_errors=True)
    return folder / "data"


def file_sizes(wanted: Generated) -> list[int]:
    """The bytes of each file: all alike, the first ones a byte larger where they must be."""
    each, rest = divmod(wanted.size_bytes, wanted.files)
    return [each + (number < rest) for number in range(wanted.files)]


def file_name(number: int) -> str:
    """The name of a file, from 0 on."""
    return f"part-{number:05d}"


def content(kind: str, seed: int, number: int, size: int) -> Iterator[bytes]:
    """The bytes of one file, in pieces."""
    chance = random.Random(f"{kind}:{seed}:{number}")  # noqa: S311 - the same again is what is wanted
    return _cut(_KINDS[kind](chance), size)


def _records(chance: random.Random) -> Iterator[bytes]:
    """Random letters and digits, nearly as fast as random bytes: lines are ends of lines put over them."""
    table = bytes(_LETTERS_AND_DIGITS[value % len(_LETTERS_AND_DIGITS)] for value in range(256))
    count = _CHUNK_BYTES // RECORD_BYTES
    while True:
        piece = bytearray(chance.randbytes(count * RECORD_BYTES).translate(table))
        piece[RECORD_BYTES - 1 :: RECORD_BYTES] = b"\n" * count
        yield bytes(piece)


def _words(chance: random.Random) -> Iterator[bytes]:
    """Lines of words whose frequencies follow Zipf's law: the second word half as often as the first, and so on."""
    quantiles = _quantiles()
    while True:
        numbers = memoryview(chance.randbytes(2 * _WORDS_OF_PIECE)).cast("H")
        words = map(quantiles.__getitem__, numbers)
        lines = iter(lambda words=words: list(islice(words, _WORDS_OF_LINE)), [])  # type: ignore[misc]
        yield b"".join(b" ".join(line) + b"\n" for line in lines)


@functools.cache
def _quantiles() -> list[bytes]:
    return _zipf(_vocabulary())


def _vocabulary() -> list[bytes]:
    """Words that can be spoken, the frequent ones short; the same for every data set."""
    chance = random.Random("vocabulary")  # noqa: S311
    words: dict[str, None] = {}
    while len(words) < _VOCABULARY:
        syllables = 1 + len(words) // 60 % 2 + len(words) // 1500
        word = "".join(chance.choice(_CONSONANTS) + chance.choice(_VOWELS) for _ in range(syllables))
        if word in words:
            word += chance.choice(_CONSONANTS)
        words[word] = None
    return [word.encode() for word in words]


def _zipf(words: list[bytes]) -> list[bytes]:
    """A word for each of 65536 equally likely numbers; whole-number arithmetic, so that no machine rounds it anew."""
    weights = [10**9 // rank for rank in range(1, len(words) + 1)]
    total, reached, filled = sum(weights), 0, 0
    table: list[bytes] = []
    for word, weight in zip(words, weights, strict=True):
        reached += weight
        upto = reached * 65536 // total
        table += [word] * (upto - filled)
        filled = upto
    return table


_KINDS: dict[str, Callable[[random.Random], Iterator[bytes]]] = {"words": _words, "records": _records}


def _cut(pieces: Iterable[bytes], size: int) -> Iterator[bytes]:
    """Pieces until ``size`` bytes; the last of them ends the line."""
    left = size
    for piece in pieces:
        if left <= len(piece):
            yield piece[: max(0, left - 1)] + b"\n"[:left]
            return
        yield piece
        left -= len(piece)


def _make(wanted: Generated, folder: Path) -> None:
    (folder / "data").mkdir()
    digests = {}
    for number, size in enumerate(file_sizes(wanted)):
        digest = hashlib.sha256()
        with open(folder / "data" / file_name(number), "wb") as out:
            for piece in content(wanted.kind, wanted.seed, number, size):
                digest.update(piece)
                out.write(piece)
        digests[file_name(number)] = digest.hexdigest()
    text = json.dumps(_description(wanted) | {"sha256": digests}, indent=2)
    (folder / "manifest.json").write_text(text + "\n")


def _put_in_place(part: Path, folder: Path) -> None:
    """Whoever makes the same at the same time may be first; what is there and does not fit goes."""
    part.chmod(0o755)
    if folder.exists():
        folder.rename(part / "old")
        shutil.rmtree(part / "old", ignore_errors=True)
    try:
        part.rename(folder)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise


def _description(wanted: Generated) -> dict[str, Any]:
    return {
        "format": _FORMAT,
        "kind": wanted.kind,
        "size_bytes": wanted.size_bytes,
        "files": wanted.files,
        "seed": wanted.seed,
    }


def _manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a folder, without the digests; nothing when it says nothing that can be read."""
    try:
        said = json.loads((folder / "manifest.json").read_text())
    except (OSError, ValueError):
        return {}
    return {key: value for key, value in said.items() if key != "sha256"} if isinstance(said, dict) else {}


def _whole(folder: Path, wanted: Generated) -> bool:
    sizes = {file_name(number): size for number, size in enumerate(file_sizes(wanted))}
    try:
        return {entry.name: entry.stat().st_size for entry in os.scandir(folder / "data")} == sizes
    except OSError:
        return False


def _check_room(wanted: Generated, root: Path) -> None:
    free = shutil.disk_usage(root).free
    if free < wanted.size_bytes:
        raise _no_room(wanted, root, free)


def _no_room(wanted: Generated, root: Path, free: int) -> FawkesError:
    return FawkesError(
        f"no space for the data {wanted.name!r}: {show_bytes(wanted.size_bytes)} are needed, but only "
        f"{show_bytes(free)} are free",
        where=str(root),
        hint="Make room, or ask for less in its [[generate]]",
    )


@contextlib.contextmanager
def _disk_errors(wanted: Generated, root: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise _no_room(wanted, root, shutil.disk_usage(root).free) from error
