"""Sums by key (aggregateByKey of SparkPerf): keys and values are texts."""

from common import Spread, context, finish, options, work  # type: ignore[import-not-found]

given = options(__doc__, records=100_000, keys=100)
spread = Spread(given.keys, given.seed)
spark = context("aggr-by-key")


def record(number: int) -> tuple[str, str]:
    """A record: the text of its key, and of its number."""
    work(given.work_us)
    return f"key{spread.key(number):012d}", f"{number}"


def take(so_far: tuple[int, int], value: str) -> tuple[int, int]:
    """Count and sum with one more value."""
    return so_far[0] + 1, so_far[1] + int(value)


def add(first: tuple[int, int], second: tuple[int, int]) -> tuple[int, int]:
    """Count and sum of both."""
    return first[0] + second[0], first[1] + second[1]


records = spark.parallelize(range(given.records), given.tasks).map(record)
sums = records.aggregateByKey((0, 0), take, add, given.tasks).collect()
found = {int(key[3:]): value for key, value in sums}
finish(spark, spread.wrong(found, given.records))
