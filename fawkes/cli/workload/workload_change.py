"""`fawkes workload make|scale|fold|sample|perturb|merge`: workloads out of nothing, and out of others."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from fawkes.base.errors import cut
from fawkes.cli.asking.acting import BoundedNumber
from fawkes.cli.asking.parsed import DURATION, SIZE, Parsed
from fawkes.cli.offline.simulate import SETTING
from fawkes.cli.show.show import output_option, show
from fawkes.cli.show.tables import TABLES
from fawkes.cli.workload.workload_files import FORCE, FORMAT, OUT, SEED, TO, opened, tell, write

if TYPE_CHECKING:
    from fawkes.workload.model import Trace

Change: TypeAlias = "Callable[[Trace], Trace]"

_FACTOR = re.compile(r"\d{1,15}(?:\.\d{0,15})?(?:e[+-]?\d)?|\.\d{1,15}|\d{1,15}/\d{1,15}", re.IGNORECASE)
_MOST_FACTOR = Fraction(1_000_000)
_MOST_MACHINES = 1_000_000


def _factor(text: str) -> Fraction:
    """The exact number above 0, also written as a fraction (``20/600``); ValueError tells the right form."""
    text = text.strip()
    try:
        # An exponent of nine digits would be a number of a billion digits.
        factor = Fraction(text) if _FACTOR.fullmatch(text) else Fraction(0)
    except ZeroDivisionError:
        factor = Fraction(0)
    if factor <= 0:
        raise ValueError(f"{cut(text)!r} is not a factor: write a number above 0, such as 0.5 or 20/600")
    if not 1 / _MOST_FACTOR <= factor <= _MOST_FACTOR:
        raise ValueError(f"{cut(text)!r} is out of range: a factor is from 0.000001 to 1,000,000")
    return factor


def _machines(text: str) -> tuple[int, int]:
    """The machines of the trace and of the cluster that shall run it (``600:20``); ValueError tells the right form."""
    machines, _, target = text.partition(":")
    counts = [int(count) if count.isdecimal() and len(count) < 8 else 0 for count in (machines, target)]
    if not all(1 <= count <= _MOST_MACHINES for count in counts):
        raise ValueError(
            f"{cut(text)!r} is not FROM:TO: write the machines of trace and target, such as 600:20, "
            f"each at most {_MOST_MACHINES:,}"
        )
    return counts[0], counts[1]


_TIMES = Parsed("factor", _factor)
_FROM_TO = Parsed("machines", _machines)


def _changes(function: Callable[..., Change]) -> Callable[..., None]:
    """A verb that changes FILE: the function makes the change out of the verb's own options."""

    @wraps(function)
    def verb(file: str, form: str | None, out: Path, to: str, force: bool, output: str, **own: Any) -> None:
        change = function(**own)
        tell(write(change(opened(file, form)), out, to, force=force), output)

    for option in (output_option, FORCE, FORMAT, TO, OUT, click.argument("file")):
        verb = option(verb)
    return verb


@click.command()
@click.argument("name", required=False)
@click.option("--set", "settings", type=SETTING, multiple=True, help="Set a key of the maker; repeatable.")
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="FILE", help="Output file; compressed if it ends in .gz."
)
@TO
@SEED
@FORCE
@output_option
def make(
    name: str | None,
    settings: tuple[tuple[str, str], ...],
    out: Path | None,
    to: str,
    seed: int,
    force: bool,
    output: str,
) -> None:
    """Make a workload by the maker NAME; without NAME, list the makers and their keys."""
    from fawkes.workload.making.makers import MAKERS, maker

    if name is None:
        show(
            [
                {
                    "maker": each.name,
                    "makes": each.title,
                    "keys": {key: entry.help for key, entry in each.keys.items()},
                }
                for each in MAKERS.values()
            ],
            TABLES["workload make"],
            output,
        )
        return
    chosen = maker(name)
    if out is None:
        raise click.UsageError("Missing option '--out'.")
    tell(write(chosen.make(dict(settings), seed), out, to, force=force), output)


@click.command()
@_changes
@click.option("--time", type=_TIMES, default="1", show_default=True, help="Factor for arrival times.")
@click.option("--size", type=_TIMES, help="Factor for bytes and tasks.")
@click.option("--machines", type=_FROM_TO, metavar="FROM:TO", help="Scale sizes by the rules of SWIM, such as 600:20.")
@click.option("--per-reducer", type=SIZE, help="With --machines: bytes of shuffle and output per reduce.")
def scale(time: Fraction, size: Fraction | None, machines: tuple[int, int] | None, per_reducer: int | None) -> Change:
    """Change the arrival rate and the sizes of the jobs of FILE."""
    from fawkes.workload.changing import operations

    if machines is not None and size is not None:
        raise click.UsageError("--size and --machines both change sizes: give one of them.")
    if per_reducer is not None and machines is None:
        raise click.UsageError("--per-reducer goes with --machines.")
    if machines is None:
        return partial(operations.scale, time=time, size=size or 1)
    count, target = machines
    return partial(operations.scale_machines, machines=count, target=target, time=time, bytes_per_reducer=per_reducer)


@click.command()
@_changes
@click.option("--cycle", type=DURATION, required=True, help="Length of the slices that are folded onto each other.")
@click.option("--duration", type=DURATION, default="1h", show_default=True, help="Length of the result.")
@click.option("--concentration", type=_TIMES, default="1", show_default=True, help="Factor for the density of jobs.")
@click.option(
    "--starts-after", type=DURATION, default="0s", help="Skip jobs that arrive sooner than this after the first job."
)
@SEED
def fold(cycle: int, duration: int, concentration: Fraction, starts_after: int, seed: int) -> Change:
    """Fold FILE into a shorter time as Rumen's Folder does; the same seed selects the same jobs."""
    from fawkes.workload.changing.folding import fold as folded

    _above_nothing("--cycle", cycle)
    _above_nothing("--duration", duration)
    return partial(
        folded,
        cycle_us=cycle,
        duration_us=duration,
        concentration=float(concentration),
        seed=seed,
        starts_after_us=starts_after,
    )


@click.command()
@_changes
@click.option("--jobs", type=click.IntRange(1, 10_000_000), help="Number of jobs.")
@click.option("--share", type=BoundedNumber(0, 1, min_open=True), help="Share of the jobs, such as 0.1.")
@click.option("--from", "begin", type=DURATION, help="Only jobs that arrive this long after the start, or later.")
@click.option("--until", "end", type=DURATION, help="Only jobs that arrive earlier than this after the start.")
@SEED
def sample(jobs: int | None, share: float | None, begin: int | None, end: int | None, seed: int) -> Change:
    """Select jobs of FILE: a number, a share, or a window of time."""
    from fawkes.workload.changing import operations

    if jobs is not None and share is not None:
        raise click.UsageError("--jobs and --share both say how many: give one of them.")
    if jobs is share is begin is end is None:
        raise click.UsageError("Give --jobs, --share, --from or --until.")

    def change(trace: Trace) -> Trace:
        window = None
        if begin is not None or end is not None:
            window = (begin or 0, trace.jobs[-1].submit_us + 1 if end is None else end)
        return operations.sample(trace, jobs=jobs, share=share, window_us=window, seed=seed)

    return change


@click.command()
@_changes
@click.option("--spread", type=DURATION, default="0s", help="Largest shift of an arrival, earlier or later.")
@click.option(
    "--sizes",
    type=BoundedNumber(0, 10),
    default=0.0,
    help="Standard deviation of the factor for sizes, whose mean is 1.",
)
@SEED
def perturb(spread: int, sizes: float, seed: int) -> Change:
    """Perturb the jobs of FILE: their arrival times and sizes."""
    from fawkes.workload.changing import operations

    if not spread and not sizes:
        raise click.UsageError("Give --spread or --sizes.")
    return partial(operations.perturb, spread_us=spread, deviation=sizes, seed=seed)


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="[CLUSTER=]FILE...")
@OUT
@TO
@FORMAT
@FORCE
@output_option
def merge(files: tuple[str, ...], out: Path, to: str, form: str | None, force: bool, output: str) -> None:
    """Merge workloads; with CLUSTER= all jobs of a file are for that MR-cluster.

    Each keeps its own time zero. If two have the same ids, all ids get the MR-cluster in front, or the number of the
    file where that does not make them differ.
    """
    from fawkes.workload.changing import operations

    parts = [_part(text) for text in files]
    traces = [opened(file, form) for _, file in parts]
    clusters = [cluster for cluster, _ in parts]
    labels = [cluster or str(number) for number, cluster in enumerate(clusters, 1)]
    tell(write(operations.merge(traces, clusters=clusters, labels=labels), out, to, force=force), output)


def _part(text: str) -> tuple[str | None, str]:
    """MR-cluster and file; a file whose name has a ``=`` is meant when it is there."""
    cluster, sign, file = text.partition("=")
    return (cluster, file) if sign and cluster and "/" not in cluster and not Path(text).exists() else (None, text)


def _above_nothing(option: str, us: int) -> None:
    if us <= 0:
        raise click.UsageError(f"{option} must be greater than 0.")
