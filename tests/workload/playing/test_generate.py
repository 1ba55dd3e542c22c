from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from fawkes.base.errors import FawkesError
from fawkes.config.workloads.workloads import Generated
from fawkes.workload.playing.generate import file_sizes, generate

BOOK = Generated(name="book", kind="words", size_bytes=300_000, files=3, seed=7)
ROWS = Generated(name="rows", kind="records", size_bytes=2_020_001, files=2, seed=7)


def texts(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.mark.parametrize("wanted", [BOOK, ROWS])
def test_sizes_are_exact_and_every_line_ends(wanted: Generated, tmp_path: Path) -> None:
    made = texts(generate(wanted, tmp_path))
    assert [len(data) for data in made.values()] == file_sizes(wanted)
    assert sum(map(len, made.values())) == wanted.size_bytes
    assert all(data.endswith(b"\n") for data in made.values())


@pytest.mark.slow
def test_the_bytes_are_the_same_in_any_process_and_of_this_version(tmp_path: Path) -> None:
    """Whoever compares results over months relies on it: a change of these digests needs a new format."""
    digests = {}
    for wanted in (BOOK, ROWS):
        digests[wanted.name] = hashlib.sha256(b"".join(texts(generate(wanted, tmp_path)).values())).hexdigest()[:16]
    code = f"from tests.workload.playing.test_generate import *; generate(BOOK, Path({str(tmp_path / 'other')!r}))"
    subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": "3"}, check=True)
    assert texts(tmp_path / "other" / "book" / "data") == texts(tmp_path / "book" / "data")
    assert digests == {"book": "d9b9be03b989c226", "rows": "a6229f367c9ad1e5"}


def test_another_seed_and_another_file_give_other_data(tmp_path: Path) -> None:
    first = texts(generate(BOOK, tmp_path / "a"))
    second = texts(generate(replace(BOOK, seed=8), tmp_path / "b"))
    assert len({*first.values(), *second.values()}) == 2 * BOOK.files


def test_words_follow_zipf(tmp_path: Path) -> None:
    wanted = replace(BOOK, size_bytes=1_000_000)
    counts = Counter(b" ".join(texts(generate(wanted, tmp_path)).values()).split())
    ranked = [count for _, count in counts.most_common(16)]
    assert 1000 < len(counts) < 10_000
    assert ranked[1] == pytest.approx(ranked[0] / 2, rel=0.1)
    assert ranked[7] == pytest.approx(ranked[0] / 8, rel=0.2)
    assert all(more >= fewer for more, fewer in pairwise(ranked))


def test_records_are_lines_of_a_hundred_letters_and_digits(tmp_path: Path) -> None:
    whole = b"".join(data for data in texts(generate(ROWS, tmp_path)).values()).splitlines()
    lengths = Counter(map(len, whole))
    assert lengths[100] >= len(whole) - ROWS.files
    assert all(line.isalnum() for line in whole if line)
    assert len(set(whole)) >= len(whole) - 1


def test_what_is_there_already_is_used_again(tmp_path: Path) -> None:
    folder = generate(BOOK, tmp_path)
    before = [path.stat().st_ino for path in sorted(folder.iterdir())]
    assert generate(BOOK, tmp_path) == folder
    assert [path.stat().st_ino for path in sorted(folder.iterdir())] == before


@pytest.mark.parametrize("damage", ["missing", "short", "surplus", "manifest", "other"])
def test_what_does_not_fit_is_made_anew(damage: str, tmp_path: Path) -> None:
    wanted = texts(generate(BOOK, tmp_path / "right"))
    folder = generate(replace(BOOK, seed=1) if damage == "other" else BOOK, tmp_path)
    if damage == "missing":
        (folder / "part-00000").unlink()
    elif damage == "short":
        (folder / "part-00000").write_bytes(b"x")
    elif damage == "surplus":
        (folder / "more").touch()
    elif damage == "manifest":
        (folder.parent / "manifest.json").write_text("{")
    assert texts(generate(BOOK, tmp_path)) == wanted


def test_the_manifest_has_the_digest_of_each_file(tmp_path: Path) -> None:
    folder = generate(BOOK, tmp_path)
    said = json.loads((folder.parent / "manifest.json").read_text())["sha256"]
    assert said == {name: hashlib.sha256(data).hexdigest() for name, data in texts(folder).items()}


def test_no_space_is_told_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(FawkesError, match="no space for the data 'book'") as caught:
        generate(replace(BOOK, size_bytes=10**18), tmp_path)
    assert "free" in caught.value.what
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_write_that_fails_leaves_nothing(tmp_path: Path) -> None:
    script = """
import resource, signal, sys
from pathlib import Path
from tests.workload.playing.test_generate import BOOK
import fawkes.workload.playing.generate as module
import errno
from fawkes.base.errors import FawkesError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
try:
    module.generate(BOOK, Path(sys.argv[1]))
except OSError as error:
    print(error.errno == errno.EFBIG, list(Path(sys.argv[1]).iterdir()))
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=True, cwd=Path.cwd()
    )
    assert done.stdout.split() == ["True", "[]"]


@pytest.mark.parametrize("size", [0, 1, 2, 5])
def test_tiny_sizes(size: int, tmp_path: Path) -> None:
    made = texts(generate(replace(BOOK, size_bytes=size, files=3), tmp_path))
    assert sum(map(len, made.values())) == size
