"""HiBench's report of its runs: the line of a run in the present form and in that of HiBench 2.2, written and read."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from fawkes.base.errors import ConfigError
from fawkes.base.units import SECOND_US
from fawkes.core.values.model import JobLife, JobState
from fawkes.workload.hibench.load import WORKLOADS

_FORM = "%-12s %-10s %-8s %-20s %-20s %-20s %-20s\n"
_NUMBER = re.compile(r"-\d+$")
_TITLES = (
    "Type", "Date", "Time", "Input_data_size", "Duration(s)", "Throughput(bytes/s)", "Throughput/node",
)  # fmt: skip
HEADER = _FORM % _TITLES

TYPES = {name: f"Hadoop{name.capitalize()}" for name in WORKLOADS}
"""Program -> what HiBench calls it."""


@dataclass(frozen=True, slots=True)
class ProgramRun:
    """One run of a program: when it began and ended (from the epoch), what it read, on how many nodes."""

    program: str
    began_us: int
    ended_us: int
    input_bytes: int
    nodes: int

    @property
    def duration_ms(self) -> int:
        """The duration in whole milliseconds, as HiBench measures."""
        return (self.ended_us - self.began_us) // 1000

    @property
    def throughput(self) -> int:
        """Bytes a second, cut to a whole number as `bc` does; 0 for a run that took no time."""
        return self.input_bytes * 1000 // self.duration_ms if self.duration_ms else 0


def of_job(job: JobState, nodes: int) -> ProgramRun | None:
    """The run that a job was: one of HiBench's programs (``sort``, or ``sort-2``) that succeeded; None for others."""
    program = _NUMBER.sub("", job.id)
    if program not in TYPES or job.life is not JobLife.SUCCEEDED or job.started_us is None or job.finished_us is None:
        return None
    return ProgramRun(program, job.started_us, job.finished_us, job.spec.input_bytes or 0, nodes)


def line(run: ProgramRun) -> str:
    """The line of the present report; names longer than its columns push the rest, as in HiBench's own."""
    ended = datetime.fromtimestamp(run.ended_us / SECOND_US, UTC)
    return _FORM % (
        TYPES.get(run.program, run.program),
        ended.strftime("%Y-%m-%d"),
        ended.strftime("%H:%M:%S"),
        run.input_bytes,
        f"{run.duration_ms / 1000:.3f}",
        run.throughput,
        run.throughput // max(1, run.nodes),
    )


def old_line(run: ProgramRun) -> str:
    """The line of HiBench 2.2: ``TYPE HH:MM:SS <startms,endms> size duration throughput``."""
    ended = datetime.fromtimestamp(run.ended_us / SECOND_US, UTC)
    times = f"<{run.began_us // 1000},{run.ended_us // 1000}>"
    numbers = f"{run.input_bytes} {run.duration_ms / 1000:.3f} {run.throughput}"
    return f"{run.program.upper()} {ended:%H:%M:%S} {times} {numbers}\n"


def append(file: Path, runs: Iterable[ProgramRun], *, old: bool = False) -> None:
    """Add runs to a report; a new one in the present form begins with its header. Folders are made."""
    text = "".join(map(old_line if old else line, runs))
    if not old and not file.exists():
        text = HEADER + text
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a", encoding="utf-8") as report:
        report.write(text)


@dataclass(frozen=True, slots=True)
class ReportRow:
    """A line of a report of the present form; ``ended`` is date and time as written."""

    type: str
    ended: str
    input_bytes: int
    duration_s: float
    throughput: int
    throughput_node: int


def read(file: Path) -> list[ReportRow]:
    """The runs of a report of the present form; ConfigError with file and line for one that has not seven fields."""
    rows = []
    for number, text in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        fields = text.split()
        if not fields or fields[0] == _TITLES[0]:
            continue
        try:
            kind, date, time, size, duration, throughput, each = fields
            rows.append(ReportRow(kind, f"{date} {time}", int(size), float(duration), int(throughput), int(each)))
        except ValueError:
            raise ConfigError(
                f"{text.strip()!r} is not a line of a report",
                file=f"{file}:{number}",
                hint=f"It has {' '.join(_TITLES)}",
            ) from None
    return rows
