"""HiBench's programs for Spark, run by Spark on this machine alone, against a computation of our own."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from fawkes.live.hadoop.setup import SPARK
from fawkes.playbook.dist import pieces
from fawkes.playbook.dist.cache import cached_spark
from fawkes.workload.hibench import reference
from fawkes.workload.hibench.programs import folder
from tests.e2e.programs.support import made

pytestmark = [pytest.mark.slow, pytest.mark.nightly]

SAMPLES = "--count 500 --dimensions 6 --clusters 3 --seed 4"
CASES: dict[str, tuple[str, str, Callable[[Path, Path, Path], str]]] = {
    "wordcount": ("words --size 60000", "3", lambda read, written, first: reference.wordcount(read, written)),
    "sort": ("records --size 40000", "3", lambda read, written, first: reference.sort(read, written)),
    "terasort": ("", "3", lambda read, written, first: reference.terasort(read, written)),
    "pagerank": ("links --count 300", "300 3 2", lambda read, written, first: reference.pagerank(read, written, 3)),
    "kmeans": (
        f"samples {SAMPLES}",
        "2 500 6 3 4 4 2",
        lambda read, written, first: reference.kmeans(read, written, made_first(first), 2),
    ),
}


def made_first(place: Path) -> Path:
    """The centres that K-Means begins with."""
    return made(folder() / "data.py", f"centres {SAMPLES} --k 4", place)


def records(place: Path) -> Path:
    """Two files of records as TeraGen writes them: any ten bytes first, 255 last."""
    place.mkdir()
    for number, file in enumerate(("part-m-00000", "part-m-00001")):
        keys = [random.Random(1000 * number + row).randbytes(99) for row in range(500)]
        (place / file).write_bytes(b"".join(key + b"\xff" for key in keys))
    return place


@pytest.mark.parametrize("name", CASES)
def test_a_twin_computes_what_its_mr_job_computes(name: str, tmp_path: Path) -> None:
    pieces.provide(pieces.of_name("spark"))
    home = Path(cached_spark(SPARK).root)
    data, numbers, wrong = CASES[name]
    read = made(folder() / "data.py", f"{data} --parts 2", tmp_path / "in") if data else records(tmp_path / "in")
    argv: list[str | Path] = [home / "bin/spark-submit", "--master", "local[2]", "--py-files", folder() / "data.py"]
    words: list[str | Path] = [folder() / "twins.py", name, read, tmp_path / "out", *numbers.split()]
    env = {**os.environ, "SPARK_HOME": str(home), "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    done = subprocess.run([*argv, *words], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert wrong(read, tmp_path / "out", tmp_path / "first") == ""
