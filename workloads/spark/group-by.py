"""Records by key (groupByKey of SparkPerf): all values of a key go to one task."""

from collections.abc import Iterable

from common import Spread, context, finish, options, work  # type: ignore[import-not-found]

given = options(__doc__, records=100_000, keys=100)
spread = Spread(given.keys, given.seed)
spark = context("group-by")


def record(number: int) -> tuple[int, int]:
    """A record: its key, and its number."""
    work(given.work_us)
    return spread.key(number), number


def counted(values: Iterable[int]) -> tuple[int, int]:
    """Count and sum of the values of a key; each value is worked on again."""
    count = total = 0
    for value in values:
        work(given.work_us)
        count, total = count + 1, total + value
    return count, total


records = spark.parallelize(range(given.records), given.tasks).map(record)
groups = records.groupByKey(given.tasks).mapValues(counted)
finish(spark, spread.wrong(dict(groups.collect()), given.records))
