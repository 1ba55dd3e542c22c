"""A program that never ends by itself."""

from __future__ import annotations

import time

from pyspark.sql import SparkSession  # type: ignore[import-not-found]

spark = SparkSession.builder.getOrCreate()
print("it never ends", flush=True)
spark.sparkContext.parallelize(range(4), 4).foreach(lambda _: time.sleep(100_000))
