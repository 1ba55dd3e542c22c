"""Options, seeded data and checked results that the eight applications share."""

from __future__ import annotations

import argparse
import math
import random
import sys
import time
from collections.abc import Iterator
from typing import Any


def options(about: str, **numbers: int) -> Any:
    """The options of an application: ``numbers`` with their defaults, and those that all have."""
    parser = argparse.ArgumentParser(description=about)
    for name, default in {**numbers, "tasks": 8, "seed": 1, "work_us": 0}.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=int, default=default)
    return parser.parse_args()


def context(name: str) -> Any:
    """Spark, for an application of this name."""
    from pyspark.sql import SparkSession  # type: ignore[import-not-found]

    return SparkSession.builder.appName(name).getOrCreate().sparkContext


def work(micros: int) -> None:
    """Compute for so long by the clock of the CPU: under a quota it takes longer by the clock on the wall."""
    end = time.thread_time() + micros / 1e6
    while time.thread_time() < end:
        pass


class Spread:
    """Numbers 0, 1, 2 ... and the keys that a seed gives them: all keys equally often, in an order like chance."""

    def __init__(self, keys: int, seed: int) -> None:
        draw = random.Random(seed)  # noqa: S311 - data, not secrets
        steps = (draw.randrange(1, keys + 1) for _ in range(10_000))
        self.keys, self.shift = keys, draw.randrange(keys)
        self.step = next(step for step in steps if math.gcd(step, keys) == 1)

    def key(self, number: int) -> int:
        """The key of a number."""
        return (number * self.step + self.shift) % self.keys

    def expected(self, key: int, records: int) -> tuple[int, int]:
        """How many of so many numbers have a key, and their sum."""
        first = (key - self.shift) * pow(self.step, -1, self.keys) % self.keys
        count = max(0, -(-(records - first) // self.keys))
        return count, count * first + self.keys * (count * (count - 1) // 2)

    def wrong(self, found: dict[int, tuple[int, int]], records: int) -> str:
        """The first key whose count and sum are not as expected; empty when all are."""
        for key in range(self.keys):
            if found.get(key, (0, 0)) != self.expected(key, records):
                return f"key {key} has {found.get(key)} and should have {self.expected(key, records)}"
        return "" if len(found) <= self.keys else f"{len(found)} keys instead of {self.keys}"


def in_order(part: Iterator[Any]) -> Iterator[tuple[int, Any, Any, bool]]:
    """Count, first key, last key and order of a part of sorted records; nothing of an empty part."""
    keys = [key for key, _ in part]
    if keys:
        yield len(keys), keys[0], keys[-1], all(keys[at - 1] <= keys[at] for at in range(1, len(keys)))


def unsorted(parts: list[tuple[int, Any, Any, bool]], records: int) -> str:
    """Why these parts are not all records in order; empty when they are."""
    if sum(part[0] for part in parts) != records:
        return f"{sum(part[0] for part in parts)} records instead of {records}"
    ends = all(parts[at - 1][2] <= parts[at][1] for at in range(1, len(parts)))
    return "" if ends and all(part[3] for part in parts) else "the records are not in order"


def finish(spark: Any, wrong: str) -> None:
    """End the application: with success, or with what is wrong with its result."""
    spark.stop()
    if wrong:
        sys.exit(f"the result is wrong: {wrong}")
    print("the result is right")
