"""A linear support vector machine (SVM of SparkBench): gradient descent on the hinge loss of examples with labels."""

from common import context, finish, options, work  # type: ignore[import-not-found]

given = options(__doc__, records=50_000, features=10, iterations=1)
spark = context("svm")
Vector = list[float]


def example(number: int) -> tuple[int, Vector]:
    """A label (1 or -1) and features that lie on its side of a plane, with noise of less than their distance to it."""
    work(given.work_us)
    label = 1 if number % 2 else -1
    turn = number // 2 * 7919 + given.seed
    return label, [label * (1.0 + d % 3) + ((turn + d * 311) % 1999) / 1000 - 0.999 for d in range(given.features)]


def side(weights: Vector, features: Vector) -> float:
    """The signed distance to the plane, times a constant."""
    return sum(w * x for w, x in zip(weights, features))  # noqa: B905


def slope(row: tuple[int, Vector], weights: Vector) -> tuple[int, Vector]:
    """The part of an example in the gradient of the loss: nothing where it is beyond its margin."""
    work(given.work_us)
    label, features = row
    return 1, [label * x if label * side(weights, features) < 1 else 0.0 for x in features]


def add(first: tuple[int, Vector], second: tuple[int, Vector]) -> tuple[int, Vector]:
    """Count and sum of both."""
    return first[0] + second[0], [a + b for a, b in zip(first[1], second[1])]  # noqa: B905


examples = spark.parallelize(range(given.records), given.tasks).map(example).cache()
weights, count = [0.0] * given.features, 0
for turn in range(given.iterations):
    # Each of the tasks gets the weights with it.
    slopes = examples.map(lambda row, now=tuple(weights): slope(row, now))
    count, total = slopes.treeReduce(add)
    weights = [w + x / count / (turn + 1) for w, x in zip(weights, total)]  # noqa: B905

right = examples.filter(lambda row: row[0] * side(weights, row[1]) > 0).count()
finish(spark, "" if right == count == given.records else f"{right} of {given.records} examples are on their side")
