"""Ranks of pages (PageRank of SparkBench): each page has as many links from others as to others, so all ranks are 1."""

from common import Spread, context, finish, options, work  # type: ignore[import-not-found]

DAMPING = 0.85
given = options(__doc__, records=20_000, links=4, iterations=1)
spreads = [Spread(given.records, given.seed + turn) for turn in range(given.links)]
spark = context("pagerank")


def page(number: int) -> tuple[int, list[int]]:
    """A page and its links."""
    work(given.work_us)
    return number, [spread.key(number) for spread in spreads]


def shares(row: tuple[int, tuple[list[int], float]]) -> list[tuple[int, float]]:
    """A page's share of rank for each of its links."""
    work(given.work_us)
    _, (links, rank) = row
    return [(to, rank / len(links)) for to in links]


pages = spark.parallelize(range(given.records), given.tasks).map(page).partitionBy(given.tasks).cache()
ranks = pages.mapValues(lambda _: 1.0)
for _ in range(given.iterations):
    given_on = pages.join(ranks, given.tasks).flatMap(shares)
    ranks = given_on.reduceByKey(lambda first, second: first + second, given.tasks).mapValues(
        lambda rank: 1 - DAMPING + DAMPING * rank
    )

right = ranks.filter(lambda row: abs(row[1] - 1) < 1e-9).count()
finish(spark, "" if right == given.records else f"{right} of {given.records} pages have the rank 1")
