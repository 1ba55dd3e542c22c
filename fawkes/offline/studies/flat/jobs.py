"""Jobs of the study: submission, tasks, work and deadline as columns; from a CSV or Parquet table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

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


@dataclass(frozen=True, slots=True)
class Jobs:
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


def read_jobs(path: Path) -> Jobs:
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
    submit = _numbers(frame, columns[SUBMIT], SUBMIT, path, least=0.0)
    tasks = _whole(frame, columns[TASKS], path)
    work = _numbers(frame, columns[WORK], WORK, path, above=0.0)
    runtime = None if columns[RUNTIME] is None else _numbers(frame, columns[RUNTIME], RUNTIME, path, above=0.0)
    deadline = None if columns[DEADLINE] is None else _deadlines(frame, columns[DEADLINE], path)
    order = np.argsort(submit, kind="stable")
    return Jobs(
        path.name.partition(".")[0],
        submit[order] - submit.min(),
        tasks[order],
        work[order],
        None if runtime is None else runtime[order],
        None if deadline is None else deadline[order],
    )


def _frame(path: Path) -> pd.DataFrame:
    import pandas as pd

    with opened(path, hint="Give the path of a CSV or Parquet file, or the name of a twin: TR1 or TR2") as source:
        try:
            if path.suffix == ".parquet":
                return pd.read_parquet(source)
            compression: Any = "gzip" if path.suffix == ".gz" else None
            return pd.read_csv(source, comment="#", skipinitialspace=True, compression=compression)
        except (ValueError, OSError, EOFError) as error:
            raise ConfigError(f"cannot be read as a table ({error})", file=str(path), hint=_HINT) from None


def _column(frame: pd.DataFrame, key: str) -> str | None:
    return next((name for name in (key, *_ALSO[key]) if name in frame.columns), None)


def _numbers(
    frame: pd.DataFrame, column: str | None, key: str, path: Path, *, least: float = -np.inf, above: float = -np.inf
) -> Floats:
    import pandas as pd

    assert column is not None
    values = pd.to_numeric(frame[column], errors="coerce").to_numpy(np.float64)
    wrong = ~np.isfinite(values) | (values < least) | (values <= above) | (values > _MOST_SECONDS)
    _refuse(frame, column, wrong, path, f"must be a number greater than {max(above, 0):g}" if above >= 0 else
            "must be a number of at least 0")  # fmt: skip
    return values


def _whole(frame: pd.DataFrame, column: str | None, path: Path) -> Ints:
    import pandas as pd

    assert column is not None
    values = pd.to_numeric(frame[column], errors="coerce").to_numpy(np.float64)
    with np.errstate(invalid="ignore"):
        wrong = ~np.isfinite(values) | (values < 1) | (values != np.floor(values)) | (values > MOST_TASKS)
    _refuse(frame, column, wrong, path, f"must be a whole number from 1 to {MOST_TASKS}")
    return values.astype(np.int64)


def _deadlines(frame: pd.DataFrame, column: str | None, path: Path) -> Floats:
    import pandas as pd

    assert column is not None
    given = frame[column].notna().to_numpy()
    values = pd.to_numeric(frame[column], errors="coerce").to_numpy(np.float64)
    with np.errstate(invalid="ignore"):
        wrong = given & (~np.isfinite(values) | (values <= 0) | (values > _MOST_SECONDS))
    _refuse(frame, column, wrong, path, "must be seconds greater than 0, or empty for a job without a deadline")
    return np.where(given, values, np.inf)


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
