"""Records in the order of their keys (sortByKey of SparkPerf): keys are texts."""

from common import Spread, context, finish, in_order, options, unsorted, work  # type: ignore[import-not-found]

given = options(__doc__, records=100_000, keys=5_000)
spread = Spread(given.keys, given.seed)
spark = context("sort-by-key")


def record(number: int) -> tuple[str, str]:
    """A record: the text of its key, and of its number."""
    work(given.work_us)
    return f"key{spread.key(number):012d}", f"{number}"


records = spark.parallelize(range(given.records), given.tasks).map(record)
parts = records.sortByKey(numPartitions=given.tasks).mapPartitions(in_order).collect()
finish(spark, unsorted(parts, given.records))
