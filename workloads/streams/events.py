"""A stream that analyses security events by rules, with a load that is replayed: 60 s low, 120 s high, 60 s low.

Events are lines in HDFS, a file for each second, made from their numbers alone: the same arguments give the same
events. Each is analysed once, for ``cost_ms``, and its verdict becomes a line of the output. Repeated events are
dropped by Spark's state store. The program ends when all events have their verdict.
"""

from __future__ import annotations

import argparse
import threading
import time
from collections.abc import Iterator

from pyspark.sql import SparkSession
from pyspark.sql.functions import col, split, udf

KINDS = ("login", "login-failed", "download", "sudo", "logout")
USERS = 97


def rates(low: int, high: int, phases: tuple[int, ...]) -> Iterator[int]:
    """Events of each second: phases of low and high load take turns."""
    for place, seconds in enumerate(phases):
        yield from [high if place % 2 else low] * seconds


def event(number: int) -> str:
    """An event by its number: number, user, kind."""
    return f"{number},user{number * 31 % USERS},{KINDS[number * 17 % 101 % len(KINDS)]}"


def verdict(user: str, kind: str) -> str:
    """The verdict of the rules."""
    if kind == "sudo" and int(user[4:]) % 7 == 0:
        return "alarm"
    return "watch" if kind == "login-failed" else "fine"


def replay(spark: SparkSession, folder: str, loads: list[int], errors: list[str]) -> None:
    """Write each second's events as a file, visible when it is whole; every tenth event comes twice."""
    jvm, conf = spark._jvm, spark._jsc.hadoopConfiguration()
    path = jvm.org.apache.hadoop.fs.Path
    files = path(folder).getFileSystem(conf)
    number, began = 0, time.monotonic()
    try:
        for second, count in enumerate(loads):
            time.sleep(max(0.0, began + second - time.monotonic()))
            lines = []
            for _ in range(count):
                lines += [event(number)] * (2 if number % 10 == 0 else 1)
                number += 1
            part = path(f"{folder}/_{second}")
            stream = files.create(part)
            stream.write(("\n".join(lines) + "\n").encode())
            stream.close()
            files.rename(part, path(f"{folder}/{second:06d}"))
    except Exception as error:
        errors.append(str(error))


def main() -> None:
    """Replay the load, analyse it, and end with 1 when some event has no verdict."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", help="in HDFS, for events, verdicts and Spark's checkpoints")
    parser.add_argument("--low", type=int, default=20)
    parser.add_argument("--high", type=int, default=60)
    parser.add_argument("--phases", default="60,120,60")
    parser.add_argument("--cost-ms", type=float, default=30.0)
    parser.add_argument("--batch-s", type=float, default=10.0)
    options = parser.parse_args()
    loads = list(rates(options.low, options.high, tuple(map(int, options.phases.split(",")))))
    spark = SparkSession.builder.getOrCreate()
    spark.conf.set("spark.sql.shuffle.partitions", "6")
    events, verdicts = f"{options.folder}/events", f"{options.folder}/verdicts"
    jvm_path = spark._jvm.org.apache.hadoop.fs.Path
    files = jvm_path(events).getFileSystem(spark._jsc.hadoopConfiguration())
    files.mkdirs(jvm_path(events))
    cost_s = options.cost_ms / 1000

    def analyse(user: str, kind: str) -> str:
        time.sleep(cost_s)
        return verdict(user, kind)

    parts = split(col("value"), ",")
    lines = spark.readStream.text(events).select(parts[0].alias("id"), parts[1].alias("user"), parts[2].alias("kind"))
    judged = lines.dropDuplicates(["id"]).withColumn("verdict", udf(analyse)(col("user"), col("kind")))
    query = (
        judged.writeStream.format("csv")
        .option("checkpointLocation", f"{options.folder}/checkpoint")
        .trigger(processingTime=f"{options.batch_s} seconds")
        .start(verdicts)
    )
    errors: list[str] = []
    source = threading.Thread(target=replay, args=(spark, events, loads, errors), daemon=True)
    source.start()
    while source.is_alive() and query.isActive:
        source.join(1)
    query.processAllAvailable()
    query.stop()
    seen = spark.read.csv(verdicts)
    counted, different = seen.count(), seen.select("_c0").distinct().count()
    print(f"{sum(loads)} events, {counted} verdicts of {different} events, {'; '.join(errors) or 'no error'}")
    spark.stop()
    if errors or not counted == different == sum(loads):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
