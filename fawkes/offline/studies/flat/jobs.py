"""Jobs of the study: submission, tasks, work and deadline as columns; from a CSV or Parquet table."""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from fawkes.base.errors import ConfigError
from fawkes.base.reading import opened

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SUBMIT, TASKS, WORK, RUNTIME, DEADLINE, JOB = "submit_s", "tasks", "work_s", "runtime_s", "deadline_s", "job"
#: other names of columns: those of the traces that the dissertation describes
_ALSO: Mapping[str, tuple[str, ...]] = {
    SUBMIT: ("submit",),
    TASKS: ("maps", "requested_tasks"),
    WORK: ("work", "map_time_s", "comp_time_s"),
    RUNTIME: ("runtime", "job_runtime_s"),
    DEADLINE: ("deadline",),
    JOB: ("id", "job_id"),
}
_HINT = (
    "A table of jobs needs the columns submit_s, tasks (or maps) and work_s (or map_time_s: CPU seconds of all tasks)"
)
MOST_TASKS = 10**9
_MOST_SECONDS = 1e15


def _positive(values: Floats) -> NDArray[np.bool_]:
    return (values > 0) & (values <= _MOST_SECONDS)


#: of each column, in their order in errors: which numbers are right, and how errors say so
_RANGES: Mapping[str, tuple[Callable[[Floats], NDArray[np.bool_]], str]] = {
    SUBMIT: (lambda values: (values >= 0) & (values <= _MOST_SECONDS), "must be a number of at least 0"),
    TASKS: (
        lambda values: (values >= 1) & (values == np.floor(values)) & (values <= MOST_TASKS),
        f"must be a whole number from 1 to {MOST_TASKS}",
    ),
    WORK: (_positive, "must be a number greater than 0"),
    RUNTIME: (_positive, "must be a number greater than 0"),
    DEADLINE: (_positive, "must be seconds greater than 0, or empty for a job without a deadline"),
}


@dataclass(frozen=True, slots=True)
class FlatJobs:
    """Columns of equal length, in order of submission. Times are seconds; ``work_s`` is CPU seconds of all tasks.

    ``runtime_s`` is None when the table has none; ``deadline_s`` counts from submission, infinite without a deadline,
    None when no deadlines have been set yet.
    """

    name: str
    submit_s: Floats
    tasks: Ints
    work_s: Floats
    runtime_s: Floats | None = None
    deadline_s: Floats | None = None
    peak: int = 0
    """CPUs of the whole cluster that the jobs come from; 0: not known."""

    def __len__(self) -> int:
        return len(self.submit_s)

    @property
    def span_s(self) -> float:
        """Seconds from time 0 to the last submission."""
        return float(self.submit_s[-1]) if len(self) else 0.0


def read_jobs(path: Path) -> FlatJobs:
    """The jobs of a CSV or Parquet file, sorted by submission, which begins at 0.

    ConfigError names the file and the column, or the row, that is missing or wrong.
    """
    frame = _frame(path)
    columns = {key: _column(frame, key) for key in _ALSO}
    for key in (SUBMIT, TASKS, WORK):
        if columns[key] is None:
            raise ConfigError(f"has no column {key}", file=str(path), key=key, hint=_HINT)
    if not len(frame):
        raise ConfigError("has no jobs", file=str(path), hint=_HINT)
    read = {key: _numbers(frame, column, key, path) for key, column in columns.items() if key in _RANGES and column}
    submit = read[SUBMIT]
    order = np.argsort(submit, kind="stable")
    return FlatJobs(
        path.name.partition(".")[0],
        submit[order] - submit.min(),
        read[TASKS][order].astype(np.int64),
        read[WORK][order],
        read[RUNTIME][order] if RUNTIME in read else None,
        np.nan_to_num(read[DEADLINE][order], nan=np.inf) if DEADLINE in read else None,
    )


def _frame(path: Path) -> pd.DataFrame:
    import pandas as pd

    with opened(path, hint="Give the path of a CSV or Parquet file, or the name of a twin: TR1 or TR2") as source:
        try:
            if path.suffix == ".parquet":
                return pd.read_parquet(source)
            plain = cast(BinaryIO, gzip.GzipFile(fileobj=source)) if path.suffix == ".gz" else source
            _refuse_lengths(plain, path)
            plain.seek(0)
            return pd.read_csv(plain, comment="#", skipinitialspace=True, index_col=False)
        except (ValueError, OSError, EOFError, csv.Error, zlib.error) as error:
            raise ConfigError(f"cannot be read as a table ({error})", file=str(path), hint=_HINT) from None


def _refuse_lengths(source: BinaryIO, path: Path) -> None:
    """ConfigError for the first row that has more or fewer fields than the heading: pandas would shift or fill it."""
    text = io.TextIOWrapper(source, encoding="utf-8-sig", newline="")
    rows = csv.reader((line.partition("#")[0] for line in text), skipinitialspace=True)
    lengths = (len(row) for row in rows if row and row != [""])
    heading = next(lengths, 0)
    for number, length in enumerate(lengths, 1):
        if length != heading:
            what = f"has {length} fields, but the heading has {heading}"
            raise ConfigError(what, file=str(path), key=f"row {number}", hint="Remove or add commas")
    text.detach()


def _column(frame: pd.DataFrame, key: str) -> str | None:
    return next((name for name in (key, *_ALSO[key]) if name in frame.columns), None)


def _numbers(frame: pd.DataFrame, column: str, key: str, path: Path) -> Floats:
    """The numbers of a column, in range; an empty deadline is NaN. ConfigError says what would be right."""
    import pandas as pd

    column_values = frame[column]
    if pd.api.types.is_datetime64_any_dtype(column_values):
        if key != SUBMIT:
            raise ConfigError("has points in time, not seconds", file=str(path), key=column, hint=_HINT)
        column_values = column_values - column_values.min()
    if pd.api.types.is_timedelta64_dtype(column_values):
        column_values = column_values.dt.total_seconds()
    values = pd.to_numeric(column_values, errors="coerce").to_numpy(np.float64)
    in_range, right = _RANGES[key]
    with np.errstate(invalid="ignore"):
        wrong = ~(np.isfinite(values) & in_range(values))
    if key == DEADLINE:
        wrong &= frame[column].notna().to_numpy()
    _refuse(frame, column, wrong, path, right)
    return values


def _refuse(frame: pd.DataFrame, column: str, wrong: NDArray[np.bool_], path: Path, right: str) -> None:
    """ConfigError for the first wrong row, which is counted from 1 below the heading."""
    if not wrong.any():
        return
    at = int(np.argmax(wrong))
    value = frame[column].iloc[at]
    said = "is empty" if value != value else f"is {str(value)[:40]}"
    more = int(wrong.sum()) - 1
    others = f" (as in {more} further row{'s' if more > 1 else ''})" if more else ""
    raise ConfigError(f"{said}; {right}{others}", file=str(path), key=f"row {at + 1}, {column}", hint=_HINT)
