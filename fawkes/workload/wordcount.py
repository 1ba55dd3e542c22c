"""Wordcount without Hadoop: what a Wordcount that a MR-cluster ran and saved must have come out as."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from fawkes.config.details import ClusterDetails, JobDetails
from fawkes.config.workloads import Workload
from fawkes.core.model import ClusterSpec, JobSpec

_SUCCESS = "_SUCCESS"


@dataclass(frozen=True)
class Compared:
    """The saved output of a Wordcount held against a local count: ``wrong`` is empty when they are identical."""

    job: str
    words: int
    total: int
    wrong: str


def counts(folder: Path) -> Counter[bytes]:
    """How often each word is in the files of a folder; words are what blanks divide, as Hadoop's example has it."""
    found: Counter[bytes] = Counter()
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        with file.open("rb") as lines:
            for line in lines:
                found.update(line.split())
    return found


def saved_counts(folder: Path) -> Counter[bytes]:
    """The counts in the files that a Wordcount wrote; ValueError for a word that stands there twice."""
    found: Counter[bytes] = Counter()
    for file in sorted(folder.glob("part-r-*")):
        for line in file.read_bytes().splitlines():
            word, _, count = line.rpartition(b"\t")
            if word in found:
                raise ValueError(f"{word.decode(errors='replace')!r} is counted twice")
            found[word] = int(count)
    return found


def compare_all(workload: Workload) -> Iterator[Compared]:
    """Every Wordcount of the release's examples whose input is local and whose output is saved locally."""
    specs = {one.spec.id: one.spec for one in workload.clusters}
    for job in (one.spec for one in workload.jobs):
        folders = _folders(job, specs[job.cluster])
        if folders is not None:
            yield _compare(job.id, *folders)


def _folders(job: JobSpec, cluster: ClusterSpec) -> tuple[Path, Path] | None:
    """Where its input came from and where its output was saved."""
    details, of_cluster = JobDetails.of(job.details), ClusterDetails.of(cluster.details)
    if details.release_jar != "examples" or len(details.args) != 3 or details.args[0] != "wordcount":
        return None
    _, read, written = details.args
    sources = [Path(one.source) for one in of_cluster.data if one.to == read and one.source.startswith("/")]
    saved = [
        Path(one.save_to, written.removeprefix(one.path).lstrip("/"))
        for one in of_cluster.outputs
        if f"{written}/".startswith(f"{one.path}/") and one.save_to.startswith("/")
    ]
    return (sources[0], saved[0]) if sources and saved else None


def _compare(job: str, source: Path, saved: Path) -> Compared:
    wanted = counts(source)
    if not (saved / _SUCCESS).exists():
        return Compared(job, len(wanted), wanted.total(), f"there is no whole output in {saved}")
    try:
        found = saved_counts(saved)
    except ValueError as error:
        return Compared(job, len(wanted), wanted.total(), str(error))
    differs = sorted(word for word in wanted.keys() | found.keys() if wanted[word] != found[word])
    wrong = ""
    if differs:
        word = differs[0]
        shown = word.decode(errors="replace")
        wrong = f"{len(differs)} words differ, such as {shown!r}: {found[word]} instead of {wanted[word]}"
    return Compared(job, len(wanted), wanted.total(), wrong)
