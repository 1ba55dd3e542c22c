"""HiBench's programs for Spark: the same input as the MR-jobs have, and results of the same form.

A job file gives the words, of which the last is the number of files of a result:

wordcount INPUT OUTPUT FILES
sort      INPUT OUTPUT FILES
terasort  INPUT OUTPUT FILES
pagerank  INPUT OUTPUT PAGES ITERATIONS FILES           OUTPUT/sorted-ITERATIONS
kmeans    INPUT OUTPUT ITERATIONS COUNT DIMENSIONS CLUSTERS K SEED FILES
                                                        OUTPUT/centres-ITERATIONS and OUTPUT/samples; needs data.py
"""

from __future__ import annotations

import sys
from operator import add
from typing import Any

DAMPING = 0.85

Lines = Any
"""Lines of a text, or what was made of them: an RDD."""


def wordcount(lines: Lines, output: str, files: int) -> None:
    """Each word with its count."""
    counts = lines.flatMap(str.split).map(lambda word: (word, 1)).reduceByKey(add, files)
    counts.map(lambda pair: f"{pair[0]}\t{pair[1]}").saveAsTextFile(output)


def sort(lines: Lines, output: str, files: int) -> None:
    """The records by key, through all files."""
    records = lines.map(lambda line: tuple(line.split("\t", 1))).sortByKey(numPartitions=files)
    records.map("\t".join).saveAsTextFile(output)


def terasort(records: Lines, output: str, files: int) -> None:
    """The records of TeraGen by key, through all files. Each ends with byte 255, which ends the lines of this text."""
    ordered = records.sortBy(lambda record: record[:10], numPartitions=files)
    rows = ordered.map(lambda record: (record.removesuffix(b"\xff"),)).toDF("record binary")
    writer = rows.selectExpr("cast(record as string)").write
    writer.option("encoding", "ISO-8859-1").option("lineSep", "\xff").text(output)


def pagerank(lines: Lines, output: str, pages: int, iterations: int, files: int) -> None:
    """The pages by rank after so many iterations. The rank of a page without links goes to all pages."""
    rows = lines.map(lambda line: line.split("\t"))
    links = rows.map(lambda row: (row[0], row[2].split())).partitionBy(files).cache()
    ranks = rows.map(lambda row: (row[0], float(row[1])))
    for _ in range(iterations):
        state = links.join(ranks, files).cache()
        lost = state.filter(lambda row: not row[1][0]).map(lambda row: row[1][1]).sum() / pages
        shares = state.flatMap(lambda row: [(row[0], 0.0), *((to, row[1][1] / len(row[1][0])) for to in row[1][0])])
        even = (1 - DAMPING) / pages + DAMPING * lost
        ranks = shares.reduceByKey(add, files).mapValues(lambda share, even=even: even + DAMPING * share)
    ordered = ranks.sortBy(lambda row: (-row[1], int(row[0])), numPartitions=files)
    ordered.map(lambda row: f"{row[0]}\t{row[1]!r}").saveAsTextFile(f"{output}/sorted-{iterations}")


def kmeans(lines: Lines, output: str, iterations: int, *shape: int) -> None:
    """The centres after so many iterations of Lloyd's algorithm, and each sample behind its cluster."""
    import data  # type: ignore[import-not-found]

    count, dimensions, clusters, k, seed, files = shape
    first = (line.decode().split("\t") for line in data.centres(count, seed, dimensions, clusters, k))
    centres = {int(cluster): list(map(float, values.split())) for cluster, values in first}
    points = lines.map(lambda line: (list(map(float, line.split())), line)).cache()
    for _ in range(iterations):
        # Each of the tasks gets the centres with it.
        near = points.map(lambda row, centres=dict(centres): (_nearest(row[0], centres), (1, row[0])))
        sums = near.reduceByKey(lambda one, other: (one[0] + other[0], list(map(add, one[1], other[1]))), files)
        centres |= {cluster: [value / here for value in total] for cluster, (here, total) in sums.collect()}
    rows = sorted(centres.items())
    made = lines.context.parallelize(rows, files).map(lambda row: f"{row[0]}\t{' '.join(map(repr, row[1]))}")
    made.saveAsTextFile(f"{output}/centres-{iterations}")
    points.map(lambda row: f"{_nearest(row[0], centres)}\t{row[1]}").saveAsTextFile(f"{output}/samples")


def _nearest(point: list[float], centres: dict[int, list[float]]) -> int:
    return min(centres, key=lambda at: sum((a - b) * (a - b) for a, b in zip(point, centres[at])))  # noqa: B905


def main(name: str, read: str, output: str, *numbers: str) -> None:
    """One program from its input to its output."""
    from pyspark.sql import SparkSession  # type: ignore[import-not-found]

    spark = SparkSession.builder.appName(name).getOrCreate()
    programs = {"wordcount": wordcount, "sort": sort, "terasort": terasort, "pagerank": pagerank, "kmeans": kmeans}
    program: Any = programs[name]
    context = spark.sparkContext
    rows = context.binaryRecords(read, 100) if name == "terasort" else context.textFile(read)
    program(rows, output, *map(int, numbers))
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
