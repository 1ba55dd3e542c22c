"""Records in the order of their keys (sortByKey of SparkPerf): keys are numbers."""

from common import Spread, context, finish, in_order, options, unsorted, work  # type: ignore[import-not-found]

given = options(__doc__, records=100_000, keys=5_000)
spread = Spread(given.keys, given.seed)
spark = context("sort-by-key-int")


def record(number: int) -> tuple[int, int]:
    """A record: its key, and its number."""
    work(given.work_us)
    return spread.key(number), number


records = spark.parallelize(range(given.records), given.tasks).map(record)
parts = records.sortByKey(numPartitions=given.tasks).mapPartitions(in_order).collect()
finish(spark, unsorted(parts, given.records))
