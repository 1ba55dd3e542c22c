"""The paper's applications and workloads as jobs: its Table 1, its classes SS, MS and MM, and WKLD-A to E of Table 2.

Each number says where it comes from: PAPER (section 5), HIBENCH (measured in HiBench's own paper, Huang et al. 2010, or
its profiles), or RECONSTRUCTION, our choice where both are silent. The choices that shape whole workloads stand
together in ``Reconstruction``.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from fawkes.base.errors import UserError
from fawkes.base.units import SECOND_US, size_bytes
from fawkes.config.files.loader import did_you_mean
from fawkes.workload.formats.swim import maps_of
from fawkes.workload.making.arrivals import NAMED, named
from fawkes.workload.model import TraceJob
from fawkes.workload.seeds import rng

PAPER, HIBENCH, RECONSTRUCTION = "paper", "HiBench", "reconstruction"
COMPUTE, DISK, BOTH = "compute", "disk", "compute + disk"
GB = 1_000_000_000
SIZES: Mapping[str, int] = {"small": GB, "medium": 50 * GB, "large": 100 * GB}
"""Input of the jobs of WKLD-A to E (paper, section 5.3)."""
_PIG_REDUCER_BYTES = GB
"""pig.exec.reducers.bytes.per.reducer as Pig ships it."""


class KnownClasses(NamedTuple):
    """A number and where it comes from."""

    value: float
    source: str


_paper, _hibench, _ours = (partial(KnownClasses, source=source) for source in (PAPER, HIBENCH, RECONSTRUCTION))
_ONE = _paper(1)


@dataclass(frozen=True, slots=True)
class Stage:
    """One MR-job of an application. ``input`` is a part of the application's input, the others of this job's own input.

    A stage without ``shuffle`` has no reduces. ``map_cpu`` and ``reduce_cpu`` are seconds of a core for each MB that a
    map reads and a reduce fetches; None leaves them to the model.
    """

    name: str
    kind: str
    input: KnownClasses
    shuffle: KnownClasses
    output: KnownClasses
    map_cpu: float | None = None
    reduce_cpu: float | None = None


@dataclass(frozen=True, slots=True)
class Application:
    """A row of Table 1. The first ``looped`` stages run ``iterations`` times, the others once after them."""

    code: str
    name: str
    kind: str
    input_bytes: int
    stages: tuple[Stage, ...]
    looped: int = 0
    iterations: KnownClasses = _ONE
    reducer_bytes: int | None = None
    """Input for one reduce, when the application reckons so (Pig does); else jobs have the workload's number."""

    def run(self) -> tuple[Stage, ...]:
        """The MR-jobs one after another."""
        return self.stages[: self.looped] * int(self.iterations.value) + self.stages[self.looped :]


_TABLE_1 = (
    Application("WC", "Wordcount", COMPUTE, 200 * GB, (
        Stage("", COMPUTE, _ONE, _hibench(3.99 / 60), _paper(5.5e6 / 200e9)),
    )),
    Application("ST", "Sort", DISK, 200 * GB, (
        Stage("", DISK, _ONE, _hibench(1), _ONE),
    )),
    Application("PR", "PageRank", COMPUTE, 50 * GB, (
        Stage("dangling", COMPUTE, _hibench(1), _hibench(672 / 1.21e9), _hibench(30 / 1.21e9)),
        Stage("update", COMPUTE, _hibench(1), _hibench(5.3 / 1.21), _hibench(1)),
        Stage("sort", COMPUTE, _hibench(1), _hibench(0.086 / 1.21), _paper(1.5e6 / 50e9)),
    ), looped=3, iterations=_hibench(3)),
    Application("KM", "K-Means", BOTH, 70 * GB, (
        Stage("iterate", COMPUTE, _ONE, _hibench(303e3 / 66e9), _hibench(4.6e3 / 66e9)),
        Stage("assign", DISK, _ONE, _hibench(0), _paper(72 / 70)),
    ), looped=1, iterations=_hibench(5)),
    Application("TT", "TrackerOverTime", COMPUTE, 100 * GB, (
        Stage("", COMPUTE, _ONE, _ours(1e-3), _paper(3.9e6 / 100e9)),
    )),
    Application("AH", "ActiveHashes", BOTH, 100 * GB, (
        Stage("distinct", DISK, _ONE, _ours(1), _ONE),
        Stage("count", COMPUTE, _ONE, _ours(1e-5), _paper(90e3 / 100e9)),
    )),
)  # fmt: skip

BTWORLD_SETS: Mapping[str, KnownClasses] = {
    "raw": _ONE,
    "tot": _paper(3.9e6 / 100e9),
    "ah-rows": _ONE,
    "ah": _paper(90e3 / 100e9),
} | {
    name: _ours(part)
    for name, part in (
        ("sot-rows", 0.6), ("sot", 0.3), ("hot-rows", 0.4), ("hot", 0.2), ("at", 1e-8), ("as-rows", 1e-6), ("as", 1e-8),
        ("tktl-rows", 2e-5), ("tktl", 1e-6), ("tktg-rows", 1e-6), ("tktg", 1e-8), ("tksl-rows", 0.03), ("tksl", 1e-4),
        ("tksg-rows", 1e-4), ("tksg", 1e-8), ("tkhl-rows", 0.02), ("tkhl", 1e-4), ("tkhg-rows", 1e-4), ("tkhg", 1e-8),
        ("join-rows", 0.1), ("join", 0.05), ("ns", 1e-5), ("ds", 1e-5),
    )
}  # fmt: skip
"""What BTWorld's MR-jobs read and write, as parts of the raw data."""

BTWORLD_JOBS: tuple[tuple[str, str, str, float, str], ...] = (
    ("ToT", "raw", "tot", 1e-3, COMPUTE),
    ("AH-1", "raw", "ah-rows", 1, DISK),
    ("AH-2", "ah-rows", "ah", 1e-5, COMPUTE),
    ("SoT-1", "raw", "sot-rows", 0.8, DISK),
    ("SoT-2", "sot-rows", "sot", 0.6, DISK),
    ("HoT-1", "raw", "hot-rows", 0.6, DISK),
    ("HoT-2", "hot-rows", "hot", 0.6, DISK),
    ("AT", "tot", "at", 0.1, COMPUTE),
    ("AS-1", "tot", "as-rows", 0.1, COMPUTE),
    ("AS-2", "as-rows", "as", 0.1, COMPUTE),
    ("TKTL-1", "tot", "tktl-rows", 0.5, COMPUTE),
    ("TKTL-2", "tktl-rows", "tktl", 0.5, COMPUTE),
    ("TKTG-1", "tktl", "tktg-rows", 1, COMPUTE),
    ("TKTG-2", "tktg-rows", "tktg", 0.1, COMPUTE),
    ("TKSL-1", "sot", "tksl-rows", 0.2, DISK),
    ("TKSL-2", "tksl-rows", "tksl", 0.1, COMPUTE),
    ("TKSG-1", "tksl", "tksg-rows", 1, COMPUTE),
    ("TKSG-2", "tksg-rows", "tksg", 0.1, COMPUTE),
    ("TKHL-1", "hot", "tkhl-rows", 0.2, DISK),
    ("TKHL-2", "tkhl-rows", "tkhl", 0.1, COMPUTE),
    ("TKHG-1", "tkhl", "tkhg-rows", 1, COMPUTE),
    ("TKHG-2", "tkhg-rows", "tkhg", 0.1, COMPUTE),
    ("Join-1", "raw", "join-rows", 0.1, COMPUTE),
    ("Join-2", "join-rows", "join", 0.5, DISK),
    ("NS", "join", "ns", 0.1, COMPUTE),
    ("DS", "join", "ds", 0.1, COMPUTE),
)
"""The MR-jobs one after another: name, set read, set written, shuffle / input (RECONSTRUCTION) and kind.

The paper gives 14 queries, 26 MR-jobs, 13 input sizes and the order. Names and steps of the queries are reconstruction.
"""

_BTWORLD = Application(
    "BT",
    "BTWorld",
    BOTH,
    100 * GB,
    tuple(
        Stage(
            name,
            kind,
            BTWORLD_SETS[reads],
            _ours(shuffle),
            KnownClasses(BTWORLD_SETS[writes].value / BTWORLD_SETS[reads].value, BTWORLD_SETS[writes].source),
        )
        for name, reads, writes, shuffle, kind in BTWORLD_JOBS
    ),
    reducer_bytes=_PIG_REDUCER_BYTES,
)

APPLICATIONS: Mapping[str, Application] = {app.code: app for app in (*_TABLE_1, _BTWORLD)}
"""Table 1 and BTWorld by code. ``input_bytes`` is Table 1's; jobs of other sizes keep the ratios."""


def label_of(app: Application, stage: Stage) -> str:
    """The ``application`` of a stage's jobs."""
    return f"{app.code}-{stage.name}" if stage.name else app.code


def stages_of(apps: Mapping[str, Application]) -> dict[str, Stage]:
    """The stages by ``application`` of the jobs made here: what a model needs to know of an MR-job beside its sizes."""
    return {label_of(app, stage): stage for app in apps.values() for stage in app.stages}


STAGES: Mapping[str, Stage] = stages_of(APPLICATIONS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconstruction:
    """All that Table 2 leaves open. Times in microseconds; counts are (size, jobs).

    With the defaults, the heaviest MR-cluster has 3.4 times the tasks of the lightest in WKLD-D (c-2 to c-1) and 8
    times in WKLD-E (c-1 to c-2). The paper says 3 and 8. In D it cannot be below 3.36: c-3 has 555 small jobs, c-1 165.
    By tasks of the mean job it is 3.0 in D. There c-2 is a few tasks ahead of c-3, but reads three times as much.
    """

    reduces: int = 20
    """Of a job: one wave on the reduce slots of an MR-cluster's 10 core nodes."""
    span_us: int = 2 * 3600 * SECOND_US
    """In which the jobs of average and bursty arrivals come."""
    counts_d: tuple[tuple[str, int], ...] = (("small", 170), ("medium", 8), ("large", 10))
    """Of the 188 jobs of c-2 in WKLD-D."""
    counts_e: tuple[tuple[str, int], ...] = (("small", 287), ("medium", 41), ("large", 31))
    """Of the 359 jobs of c-1 in WKLD-E."""
    burst_sizes: tuple[tuple[int, float], ...] = ((2, 1), (3, 2), (4, 1))
    """Large jobs in a burst, with weights."""
    burst_within_us: int = 60 * SECOND_US
    btworld: str = "large"
    """Size of BTWorld's raw data: what TT and AH read in Table 1."""


DEFAULTS = Reconstruction()


@dataclass(frozen=True, slots=True)
class Mix:
    """Applications and how many jobs there are of each size, dealt to the applications in turn.

    A size is one of SIZES, or bytes as users write them (``20GB``).
    """

    apps: tuple[str, ...]
    counts: tuple[tuple[str, int], ...]

    def deal(self, chance: random.Random) -> list[tuple[str, str]]:
        """Application and size of each job, in random order."""
        jobs = [(self.apps[at % len(self.apps)], size) for size, count in self.counts for at in range(count)]
        chance.shuffle(jobs)
        return jobs


@dataclass(frozen=True, slots=True)
class ClassLoad:
    """The load of one MR-cluster of a workload, its data and its jobs: times count from the start of the workload."""

    cluster: str
    requested_us: int
    data_bytes: int
    jobs: tuple[TraceJob, ...]

    @property
    def tasks(self) -> int:
        """The tasks of all its jobs."""
        return sum(job.tasks for job in self.jobs)


@dataclass(frozen=True, slots=True)
class _Row:
    cluster: str
    mix: Mix
    arrivals: str
    data_bytes: int
    requested_us: int = 0


NAMES = ("WKLD-A", "WKLD-B", "WKLD-C", "WKLD-D", "WKLD-E")


def workload(name: str, seed: int, choice: Reconstruction = DEFAULTS) -> tuple[ClassLoad, ...]:
    """The loads of c-1, c-2 and c-3 in ``WKLD-A`` to ``WKLD-E``; the same for the same seed.

    Seeds change the order of applications and sizes and the times, not how many jobs there are of each. UserError when
    there is no such workload.
    """
    if name not in NAMES:
        raise UserError(f"there is no workload {name!r} in the paper", hint=did_you_mean(name, NAMES))
    return tuple(
        ClassLoad(
            row.cluster,
            row.requested_us,
            row.data_bytes,
            generate(row.cluster, row.mix, row.arrivals, seed, label=name, start_us=row.requested_us, choice=choice),
        )
        for row in _rows(name, choice)
    )


def load_ratio(loads: Sequence[ClassLoad]) -> float:
    """Tasks of the heaviest load to those of the lightest."""
    return max(load.tasks for load in loads) / min(load.tasks for load in loads)


def generate(
    cluster: str,
    mix: Mix,
    arrivals: str,
    seed: int,
    *,
    label: str = "",
    start_us: int = 0,
    choice: Reconstruction = DEFAULTS,
    apps: Mapping[str, Application] = APPLICATIONS,
) -> tuple[TraceJob, ...]:
    """The MR-jobs of a mix for one MR-cluster, in the order in which they come, with ids ``CLUSTER-0001``, ...

    ``arrivals`` is one of ``fawkes.workload.making.arrivals.NAMED``; the largest jobs are those that come in bursts. An
    application of several MR-jobs becomes a chain of them by ``after``, ``CLUSTER-0001.01``, ...

    ``cluster``, ``label`` and ``seed`` divide the random numbers. ``apps`` are those that the mix may name. UserError
    for unknown names.
    """
    _check(mix, arrivals, apps)
    dealt = mix.deal(rng(seed, label, cluster, "mix"))
    most = max(size_of(size) for _, size in dealt)
    times = named(
        arrivals,
        [size_of(size) == most for _, size in dealt],
        rng(seed, label, cluster, "arrivals"),
        span_us=choice.span_us,
        burst_sizes=choice.burst_sizes,
        burst_within_us=choice.burst_within_us,
        start_us=start_us,
    )
    coming = sorted(zip(times, dealt, strict=True), key=lambda item: item[0])
    jobs: list[TraceJob] = []
    for number, (at_us, (code, size)) in enumerate(coming, start=1):
        after = (jobs[-1].id,) if jobs and arrivals == "sequential" else ()
        name = f"{cluster}-{number:04d}"
        jobs += chain(name, code, size, submit_us=at_us, after=after, reduces=choice.reduces, apps=apps)
    return tuple(jobs)


def chain(
    name: str,
    code: str,
    size: str,
    *,
    submit_us: int = 0,
    after: tuple[str, ...] = (),
    reduces: int = DEFAULTS.reduces,
    apps: Mapping[str, Application] = APPLICATIONS,
) -> list[TraceJob]:
    """The MR-jobs of one run of an application: each is ``after`` the one before, the first one as it is given."""
    app = apps[code]

    def wanted(read_bytes: int) -> int:
        return reduces if app.reducer_bytes is None else min(reduces, -(-read_bytes // app.reducer_bytes))

    stages = [(label_of(app, stage), stage) for stage in app.run()]
    return jobs_of(name, stages, size_of(size), wanted, submit_us=submit_us, after=after)


def jobs_of(
    name: str,
    stages: Sequence[tuple[str, Stage]],
    input_bytes: int,
    reduces: Callable[[int], int],
    *,
    submit_us: int = 0,
    after: tuple[str, ...] = (),
) -> list[TraceJob]:
    """The MR-jobs of stages with their labels, one ``after`` another; ``reduces`` are those for a number of bytes."""
    jobs: list[TraceJob] = []
    for step, (label, stage) in enumerate(stages, start=1):
        read_bytes = max(1, round(stage.input.value * input_bytes))
        jobs.append(
            TraceJob(
                id=name if len(stages) == 1 else f"{name}.{step:02d}",
                application=label,
                submit_us=submit_us,
                input_bytes=read_bytes,
                shuffle_bytes=round(stage.shuffle.value * read_bytes),
                output_bytes=round(stage.output.value * read_bytes),
                maps=maps_of(read_bytes),
                reduces=reduces(read_bytes) if stage.shuffle.value else 0,
                after=(jobs[-1].id,) if jobs else after,
            )
        )
    return jobs


def size_of(size: str) -> int:
    """Bytes of ``small``, ``medium``, ``large``, or of a size as users write it; ValueError when it is neither."""
    return SIZES[size] if size in SIZES else size_bytes(size)


def _check(mix: Mix, arrivals: str, apps: Mapping[str, Application]) -> None:
    if arrivals not in NAMED:
        raise UserError(f"there are no arrivals {arrivals!r}", hint=did_you_mean(arrivals, NAMED))
    for code in mix.apps:
        if code not in apps:
            raise UserError(f"there is no application {code!r}", hint=did_you_mean(code, apps))
    for size, count in mix.counts:
        try:
            size_of(size)
        except ValueError as error:
            raise UserError(str(error), hint=f"Or one of: {', '.join(SIZES)}") from None
        if count < 1:
            raise UserError(f"{count} jobs of size {size!r}", hint="Ask for at least one")
    if not mix.apps or not mix.counts:
        raise UserError("a workload without jobs", hint="Name applications, and how many jobs there are of each size")


def _rows(name: str, choice: Reconstruction) -> tuple[_Row, ...]:
    """Table 2. RECONSTRUCTION: the data of B and C (50 GB as in A, or what a job reads); that only A's come apart."""
    wc, st, both = ("WC",), ("ST",), ("WC", "ST")
    if name == "WKLD-A":
        fifty = Mix(wc, (("small", 50),))
        return tuple(_Row(f"c-{at + 1}", fifty, "batch", 50 * GB, at * 100 * SECOND_US) for at in range(3))
    if name in ("WKLD-B", "WKLD-C"):
        apps = wc if name == "WKLD-B" else st
        counts = (("small", 90), ("medium", 5), ("large", 5))
        return tuple(
            _Row(f"c-{at}", Mix(apps, (row,)), "batch", max(50 * GB, size_of(row[0])))
            for at, row in enumerate(counts, start=1)
        )
    if name == "WKLD-D":
        return (
            _Row("c-1", Mix(both, (("small", 165),)), "average", 200 * GB),
            _Row("c-2", Mix(both, choice.counts_d), "bursty", 200 * GB),
            _Row("c-3", Mix(both, (("small", 555),)), "average", 200 * GB),
        )
    return (
        _Row("c-1", Mix(both, choice.counts_e), "average", 200 * GB),
        _Row("c-2", Mix(("BT",), ((choice.btworld, 1),)), "sequential", 200 * GB),
        _Row("c-3", Mix(both, (("small", 559),)), "average", 200 * GB),
    )
