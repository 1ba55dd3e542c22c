"""Sums by key (aggregateByKey of SparkPerf): keys and values are numbers."""

from common import Spread, context, finish, options, work  # type: ignore[import-not-found]

given = options(__doc__, records=100_000, keys=100)
spread = Spread(given.keys, given.seed)
spark = context("aggr-by-key-int")


def record(number: int) -> tuple[int, int]:
    """A record: its key, and its number."""
    work(given.work_us)
    return spread.key(number), number


def take(so_far: tuple[int, int], value: int) -> tuple[int, int]:
    """Count and sum with one more value."""
    return so_far[0] + 1, so_far[1] + value


def add(first: tuple[int, int], second: tuple[int, int]) -> tuple[int, int]:
    """Count and sum of both."""
    return first[0] + second[0], first[1] + second[1]


records = spark.parallelize(range(given.records), given.tasks).map(record)
sums = records.aggregateByKey((0, 0), take, add, given.tasks)
finish(spark, spread.wrong(dict(sums.collect()), given.records))
