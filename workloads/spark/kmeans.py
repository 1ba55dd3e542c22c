"""Clusters of points (KMeans of SparkBench): Lloyd's algorithm, from centres beside the true ones."""

from common import context, finish, options, work  # type: ignore[import-not-found]

given = options(__doc__, records=50_000, dimensions=20, clusters=10, iterations=1)
spark = context("kmeans")
Point = list[float]


def centre(cluster: int) -> Point:
    """The true centre of a cluster; any two are at least 10 apart in the first dimension."""
    return [10.0 * cluster, *(float((cluster * 7 + d * 3 + given.seed) % 11) for d in range(1, given.dimensions))]


def point(number: int) -> Point:
    """A point: its cluster's centre, and noise of less than 1 whose mean is almost 0."""
    work(given.work_us)
    turn = number // given.clusters * 7919 + given.seed
    return [x + ((turn + d * 311) % 1999) / 1000 - 0.999 for d, x in enumerate(centre(number % given.clusters))]


def nearest(place: Point, centres: list[Point]) -> int:
    """The cluster with the nearest centre."""
    return min(range(len(centres)), key=lambda at: sum((a - b) ** 2 for a, b in zip(place, centres[at])))  # noqa: B905


def add(first: tuple[int, Point], second: tuple[int, Point]) -> tuple[int, Point]:
    """Count and sum of both."""
    return first[0] + second[0], [a + b for a, b in zip(first[1], second[1])]  # noqa: B905


points = spark.parallelize(range(given.records), given.tasks).map(point).cache()
centres = [[x + 0.5 for x in centre(cluster)] for cluster in range(given.clusters)]
counts: dict[int, int] = {}
for _ in range(given.iterations):
    # Each of the tasks gets the centres with it.
    near = points.map(lambda place, now=tuple(centres): (nearest(place, now), (1, place)))
    sums = dict(near.reduceByKey(add, given.tasks).collect())
    counts = {cluster: count for cluster, (count, _) in sums.items()}
    centres = [[x / counts[cluster] for x in sums[cluster][1]] for cluster in sorted(sums)]

sizes = {c: len(range(c, given.records, given.clusters)) for c in range(given.clusters)}
wrong = "" if counts == sizes else f"the clusters have {counts} points"
# The noise of fewer points has another mean.
most = 0.1 + 2000 * given.clusters / given.records
far = [c for c, found in enumerate(centres) if any(abs(a - b) > most for a, b in zip(found, centre(c)))]  # noqa: B905
finish(spark, wrong or (f"the centres of {far} are not where they should be" if far else ""))
