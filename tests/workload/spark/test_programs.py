"""The eight applications of xSpark's Table 2: their data is as it should be, and a wrong result ends them."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fawkes.config.jobs.jobs import load_jobs
from fawkes.live.hadoop.setup import SPARK
from fawkes.playbook.dist import pieces
from fawkes.playbook.dist.cache import cached_spark

FOLDER = Path(__file__).parents[3] / "workloads" / "spark"
NAMES = ("aggr-by-key", "aggr-by-key-int", "group-by", "kmeans", "pagerank", "sort-by-key", "sort-by-key-int", "svm")


def loaded() -> ModuleType:
    spec = importlib.util.spec_from_file_location("common", FOLDER / "common.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


common: Any = loaded()


def test_each_application_is_short_and_has_a_job_file() -> None:
    assert tuple(sorted(path.stem for path in FOLDER.glob("*.toml"))) == NAMES
    for name in NAMES:
        (spec,) = load_jobs(FOLDER / f"{name}.toml", "c")
        assert spec.details["python"] == str(FOLDER / f"{name}.py")
        assert len((FOLDER / f"{name}.py").read_text().splitlines()) < 60


@given(st.integers(1, 60), st.integers(0, 400), st.integers())
def test_counts_and_sums_are_known_without_counting(keys: int, records: int, seed: int) -> None:
    spread = common.Spread(keys, seed)
    counted = dict.fromkeys(range(keys), (0, 0))
    for number in range(records):
        count, total = counted[spread.key(number)]
        counted[spread.key(number)] = (count + 1, total + number)
    assert {key: spread.expected(key, records) for key in range(keys)} == counted
    assert spread.wrong(counted, records) == ""
    count, total = counted[keys - 1]
    assert f"key {keys - 1} has" in spread.wrong({**counted, keys - 1: (count, total + 1)}, records)
    assert "keys instead of" in spread.wrong({**counted, keys: (1, 1)}, records)


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        ([[1, 2, 2], [2, 3]], ""),
        ([[1, 2], [], [3, 3, 4]], ""),
        ([[1, 3, 2], [3, 4]], "not in order"),
        ([[1, 2, 4], [3, 4]], "not in order"),
        ([[1, 2], [3]], "3 records instead of 5"),
    ],
)
def test_records_that_are_lost_or_out_of_order_are_seen(parts: list[list[int]], says: str) -> None:
    ends = [end for part in parts for end in common.in_order(iter([(key, "") for key in part]))]
    assert says in common.unsorted(ends, 5)
    assert bool(common.unsorted(ends, 5)) is bool(says)


def test_a_wrong_result_is_a_failure() -> None:
    class Spark:
        def stop(self) -> None:
            pass

    common.finish(Spark(), "")
    with pytest.raises(SystemExit, match="the result is wrong: no") as caught:
        common.finish(Spark(), "no")
    assert caught.value.code not in (0, None)


@pytest.mark.nightly
@pytest.mark.parametrize("name", NAMES)
def test_an_application_has_the_right_result_on_spark(name: str) -> None:
    pieces.provide(pieces.of_name("spark"))
    home = cached_spark(SPARK).root
    words = ["--records", "2000", "--tasks", "3", "--seed", "7", "--work-us", "10"]
    command = [f"{home}/bin/spark-submit", "--master", "local[2]", "--conf", "spark.ui.enabled=false"]
    surroundings = {
        **os.environ,
        "SPARK_HOME": str(home),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    done = subprocess.run(
        [*command, "--py-files", str(FOLDER / "common.py"), str(FOLDER / f"{name}.py"), *words],
        capture_output=True, text=True, env=surroundings, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    assert "the result is right" in done.stdout
