"""Results that programs wrote and an MR-cluster saved, held against the same computation on this machine.

Known are the examples Wordcount, Sort and TeraSort, HiBench's PageRank and K-Means, its programs for Spark, and the
BTWorld workflow; of other jobs nothing is known that could be compared.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from fawkes.base.errors import UserError
from fawkes.config.clusters.details import ClusterDetails, JobDetails
from fawkes.config.workloads.workloads import Workload
from fawkes.core.values.model import ClusterSpec
from fawkes.workload.btworld import reference as btworld
from fawkes.workload.hibench import reference as hibench
from fawkes.workload.hibench.programs import folder as hibench_folder

_EXAMPLES = {"wordcount": hibench.wordcount, "sort": hibench.sort, "terasort": hibench.terasort}
_TEXT = "org.apache.hadoop.mapreduce.lib.input.KeyValueTextInputFormat"
_SUCCESS = "_SUCCESS"

Place = Callable[[str], Path | None]
"""From a folder in HDFS to where its files are here: saved at the end, or where they came from; None for neither."""
Found = tuple[str, str]
"""What was compared, and what is wrong with it."""


@dataclass(frozen=True)
class Compared:
    """A job whose result was compared; ``wrong`` is empty when it is as it must be. ``what`` was compared, in words."""

    job: str
    what: str
    wrong: str


def compared(workload: Workload) -> Iterator[Compared]:
    """Every job of a workload whose result is known how to compute and whose input and output are on this machine."""
    clusters = {cluster.spec.id: cluster.spec for cluster in workload.clusters}
    for spec in (job.spec for job in workload.jobs):
        details, place = JobDetails.of(spec.details), partial(_place, clusters[spec.cluster])
        for known in _KNOWN:
            for what, wrong in known(details, place):
                yield Compared(spec.id, what, wrong)


def _place(cluster: ClusterSpec, path: str) -> Path | None:
    details = ClusterDetails.of(cluster.details)
    ways = [(row.path, row.save_to) for row in details.outputs] + [(row.to, row.source) for row in details.data]
    for inside, outside in ways:
        if f"{path}/".startswith(f"{inside}/") and outside.startswith("/"):
            return Path(outside, path.removeprefix(inside).lstrip("/"))
    return None


def _example(details: JobDetails, place: Place) -> Iterator[Found]:
    program, text = details.args[0] if details.args else "", _TEXT in details.args
    if details.release_jar != "examples" or program not in _EXAMPLES or (program == "sort" and not text):
        return
    read, written = map(place, details.args[-2:])
    if read is not None and written is not None:
        yield f"what {program} wrote", _wrong(partial(_EXAMPLES[program], read, written), written)


def _pagerank(details: JobDetails, place: Place) -> Iterator[Found]:
    match shlex.split(details.command):
        case ["sh", "pagerank.sh", source, target, _, iterations, *_]:
            read, written = place(source), place(target)
            if read is not None and written is not None:
                compare = partial(hibench.pagerank, read, written, int(iterations))
                yield f"ranks of {iterations} iterations", _wrong(compare)


def _kmeans(details: JobDetails, place: Place) -> Iterator[Found]:
    match shlex.split(details.command):
        case ["sh", "kmeans.sh", source, target, iterations, "python3", "data.py", *words]:
            yield from _centres(place(source), place(target), int(iterations), words)


def _centres(read: Path | None, written: Path | None, iterations: int, words: Sequence[str]) -> Iterator[Found]:
    if read is not None and written is not None:
        with TemporaryDirectory(prefix="fawkes-") as first:
            program = [sys.executable, str(hibench_folder() / "data.py"), *words, "--out", first]
            subprocess.run(program, check=True, stdout=subprocess.DEVNULL)
            compare = partial(hibench.kmeans, read, written, Path(first), iterations)
            yield f"centres of {iterations} iterations", _wrong(compare)


def _twin(details: JobDetails, place: Place) -> Iterator[Found]:
    """The result of one of HiBench's programs for Spark."""
    if Path(details.python).name != "twins.py":
        return
    program, source, target, *numbers = details.args
    read, written = place(source), place(target)
    if program == "kmeans":
        iterations, count, dimensions, clusters, k, seed, _ = numbers
        shape = ["--count", count, "--dimensions", dimensions, "--clusters", clusters, "--k", k, "--seed", seed]
        yield from _centres(read, written, int(iterations), ["centres", *shape])
    elif read is not None and written is not None:
        whole, compare = written, partial(_EXAMPLES.get(program, hibench.sort), read, written)
        if program == "pagerank":
            whole = written / f"sorted-{numbers[1]}"
            compare = partial(hibench.pagerank, read, written, int(numbers[1]))
        yield f"what {program} wrote", _wrong(compare, whole)


def _btworld(details: JobDetails, place: Place) -> Iterator[Found]:
    said = dict(word.partition("=")[::2] for word in details.args if "=" in word)
    raw, sets = place(said.get("raw", "")), place(said.get("sets", ""))
    if Path(details.pig).name != "btworld.pig" or raw is None or sets is None:
        return
    try:
        for check in btworld.compare(sets, btworld.results(btworld.scrapes(raw))):
            yield f"{check.name}, {check.rows} rows", check.wrong
    except UserError as error:
        yield "its records", str(error)


def _wrong(compare: Callable[[], str], whole: Path | None = None) -> str:
    """The fault of a result, missing files included; ``whole`` must have Hadoop's mark of a whole output."""
    if whole is not None and not (whole / _SUCCESS).exists():
        return f"there is no whole output in {whole}"
    try:
        return compare()
    except (UserError, ValueError) as error:
        return str(error)


_KNOWN = (_example, _pagerank, _kmeans, _twin, _btworld)
