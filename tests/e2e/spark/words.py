"""Count words in rounds whose tasks take their time; each round reads what the one before has shuffled.

With a folder as last argument every fourth round keeps its counts there: what is lost later costs no more than that.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator

from pyspark.sql import SparkSession  # type: ignore[import-not-found]

rounds, tasks, seconds, out = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), sys.argv[4]
KEEP_EVERY = 4


def words(part: Iterable[int]) -> Iterator[tuple[str, int]]:
    for number in part:
        time.sleep(seconds)
        yield from ((f"word{(number * 7 + n) % 13}", 1) for n in range(1000))


spark = SparkSession.builder.appName("words").getOrCreate()
counts = spark.sparkContext.parallelize([("word0", 0)], 1)
for kept in sys.argv[5:]:
    spark.sparkContext.setCheckpointDir(kept)
for number in range(rounds):
    fresh = spark.sparkContext.parallelize(range(tasks), tasks).mapPartitions(words)
    counts = counts.union(fresh).reduceByKey(lambda one, other: one + other, 4)
    if sys.argv[5:] and number % KEEP_EVERY == KEEP_EVERY - 1:
        counts.checkpoint()
    if sum(count for _, count in counts.collect()) % (tasks * 1000):
        raise ValueError("words were lost, or counted twice")
counts.map(lambda pair: f"{pair[0]}\t{pair[1]}").saveAsTextFile(out)
spark.stop()
