"""Task events of clusterdata-2011-2 as batches of columns: gzip parts or plain files, one behind another.

A line that is no event is skipped and counted. Times that go back and broken files end the reading.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from fawkes.base.errors import ConfigError
from fawkes.base.reading import MIB, opened
from fawkes.offline.analyser import fold
from fawkes.offline.analyser.fold import CLASSES, KINDS, NOWHERE, PRIORITIES, Mask, Rows
from fawkes.workload.model import Dropped
from fawkes.workload.reading.traces import Tally

COLUMNS: Final = (
    "time", "missing_info", "job", "index", "machine", "type", "user", "class", "priority", "cpu", "memory", "disk",
    "other_machine",
)  # fmt: skip
#: a task's number is its job's, behind which are the bits of its index
INDEX_BITS: Final = 20
AFTER_US: Final = 2**63 - 1
"""The time of events after the end of the trace."""
_MOST: Final = {
    "time": AFTER_US, "job": 2 ** (63 - INDEX_BITS) - 1, "index": 2**INDEX_BITS - 1, "type": len(KINDS) - 1,
    "class": CLASSES - 1, "priority": PRIORITIES - 1,
}  # fmt: skip
_FORMS: Final = {
    "time": pa.int64(), "job": pa.int64(), "index": pa.int64(), "type": pa.int8(), "class": pa.int8(),
    "priority": pa.int8(), "machine": pa.int64(), "cpu": pa.float32(),
}  # fmt: skip
_WHOLE: Final = rf"^(?:[0-9]{{1,18}}|{AFTER_US})$"
_REAL: Final = r"^[0-9]*\.?[0-9]*(?:[0-9][eE][-+]?[0-9]{1,2})?$"
_GZIP: Final = b"\x1f\x8b"
_PIECE: Final = 48 * MIB
_BLOCK: Final = 4 * MIB
_HINT: Final = f"Give task events of clusterdata-2011-2: lines with {len(COLUMNS)} columns"


@dataclass
class Log:
    """The parts of a log while they are read: lines, skipped lines for each part, and the time reached so far."""

    parts: Sequence[Path]
    lines: int = 0
    latest_us: int = 0
    skipped: dict[Path, Tally] = field(default_factory=dict)

    def batches(self, say: Callable[[str], None] = lambda _: None) -> Iterator[Rows]:
        """Batches of events in the order of the log; ConfigError for a part that cannot be read, or goes back in time."""
        for part in self.parts:
            tally, before, events = self.skipped.setdefault(part, Tally()), 0, 0
            with _stream(part) as source:
                for text in _pieces(source, part):
                    rows, count = self._rows(text, part, tally, before)
                    before += count
                    events += len(rows.time_us)
                    if not events:
                        break
                    yield rows
            if not events:
                reasons = str(tally.dropped())
                what = f"has no event: {reasons}" if reasons else "has no event"
                raise ConfigError(what, file=str(part), hint=_HINT)
            self.lines += before
            say(part.name)

    @property
    def dropped(self) -> dict[Path, Dropped]:
        """The lines that were skipped, of the parts that have any."""
        dropped = {part: tally.dropped() for part, tally in self.skipped.items()}
        return {part: lines for part, lines in dropped.items() if lines.total}

    def _rows(self, text: bytes, part: Path, tally: Tally, before: int) -> tuple[Rows, int]:
        """The events of whole lines, and the number of lines."""
        wrong: list[int] = []

        def skip(row: csv.InvalidRow) -> str:
            wrong.append(row.number)
            tally.add(f"with {row.actual_columns} of {len(COLUMNS)} columns", before + row.number)
            return "skip"

        table = _table(text, skip)
        lines = np.delete(np.arange(1, len(table) + len(wrong) + 1), np.array(wrong, int) - 1) + before
        table, lines = _numbers(table, lines, tally)
        for name, most in _MOST.items():
            table, lines = _kept(table, lines, _within(table[name], most), tally, f"with a wrong {name}")
        table, lines = _kept(table, lines, _measure(table["cpu"]), tally, "with a wrong CPU request")
        late = _column(table["time"]) == AFTER_US
        table, lines = _kept(table, lines, ~late, tally, "from after the end of the trace")
        rows = _columns(table)
        self._look_back(rows, lines, part)
        return rows, text.count(b"\n")

    def _look_back(self, rows: Rows, lines: fold.Ints, part: Path) -> None:
        earlier = np.flatnonzero(np.diff(rows.time_us, prepend=self.latest_us) < 0)
        if len(earlier):
            at = int(earlier[0])
            since = int(rows.time_us[at - 1]) if at else self.latest_us
            raise ConfigError(
                f"the time goes back from {since} to {rows.time_us[at]}",
                file=str(part),
                key=f"line {lines[at]}",
                hint="Sort the events by time, and give the parts in their order",
            )
        if len(rows.time_us):
            self.latest_us = int(rows.time_us[-1])


def parts_of(paths: Sequence[Path]) -> list[Path]:
    """The files of a log: those that are named, and those of folders by name; ConfigError for a folder without any."""
    parts: list[Path] = []
    for path in paths:
        if not os.path.isdir(path):
            parts.append(path)
            continue
        folder = path / "task_events" if (path / "task_events").is_dir() else path
        inside = sorted([*folder.glob("*.csv.gz"), *folder.glob("*.csv")])
        if not inside:
            hint = "Give a folder with parts such as part-00000-of-00500.csv.gz"
            raise ConfigError("has no .csv.gz and no .csv", file=str(folder), hint=hint)
        parts += inside
    return parts


@contextmanager
def _stream(part: Path) -> Iterator[Any]:
    """The text of a part, unpacked; ConfigError when it cannot be read to its end."""
    with opened(part, hint=_HINT) as raw:
        packed = raw.read(len(_GZIP)) == _GZIP
        raw.seek(0)
        try:
            yield pa.CompressedInputStream(pa.BufferedInputStream(pa.PythonFile(raw), MIB), "gzip") if packed else raw
        except (pa.ArrowException, OSError) as error:
            what = f"is broken or ends too early ({str(error).splitlines()[0]})"
            raise ConfigError(what, file=str(part), hint="Fetch the file again") from None


def _pieces(source: BinaryIO, part: Path) -> Iterator[bytes]:
    """The text in pieces of whole lines."""
    rest = b""
    while text := source.read(_PIECE):
        end = text.rfind(b"\n") + 1
        if not end and len(rest) > _PIECE:
            raise ConfigError("has a line of more than 48 MiB", file=str(part), hint=_HINT)
        if end:
            yield rest + text[:end]
            rest = b""
        rest += text[end:]
    if rest:
        yield rest + b"\n"


def _table(text: bytes, skip: Callable[[csv.InvalidRow], str]) -> pa.Table:
    """The columns that are needed, as numbers; as bytes when a value is no number."""
    wrong: list[csv.InvalidRow] = []

    def note(row: csv.InvalidRow) -> str:
        wrong.append(row)
        return "skip"

    def read(forms: dict[str, pa.DataType]) -> pa.Table:
        wrong.clear()
        return csv.read_csv(
            pa.BufferReader(text),
            read_options=csv.ReadOptions(use_threads=False, column_names=COLUMNS, block_size=_BLOCK),
            parse_options=csv.ParseOptions(quote_char=False, ignore_empty_lines=False, invalid_row_handler=note),
            convert_options=csv.ConvertOptions(
                include_columns=list(forms), column_types=forms, null_values=[""], strings_can_be_null=False
            ),
        )

    try:
        table = read(_FORMS)
    except pa.ArrowInvalid:
        table = read(dict.fromkeys(_FORMS, pa.binary()))
    for row in wrong:
        skip(row)
    return table


def _numbers(table: pa.Table, lines: fold.Ints, tally: Tally) -> tuple[pa.Table, fold.Ints]:
    """The columns as numbers, without the lines in which one is none."""
    if table.schema.field("time").type != pa.binary():
        return table, lines
    for name in table.column_names:
        form = _REAL if name == "cpu" else f"^$|{_WHOLE}"
        fits = pc.match_substring_regex(table[name], form).to_numpy()
        table, lines = _kept(table, lines, fits, tally, f"with a {name} that is no number")
    columns = []
    for name, form in _FORMS.items():
        text = table[name].cast(pa.string())
        text = pc.if_else(pc.equal(text, ""), pa.scalar(None, pa.string()), text)
        columns.append(text.cast(pa.float32() if form == pa.float32() else pa.int64()))
    return pa.table(columns, names=list(_FORMS)), lines


def _kept(table: pa.Table, lines: fold.Ints, keep: Mask, tally: Tally, why: str) -> tuple[pa.Table, fold.Ints]:
    if keep.all():
        return table, lines
    for line in lines[~keep].tolist():
        tally.add(why, line)
    return table.filter(pa.array(keep)), lines[keep]


def _column(column: pa.ChunkedArray) -> fold.Ints:
    """Whole numbers; -1 where there is none."""
    values = column.fill_null(-1) if column.null_count else column
    return values.to_numpy()


def _within(column: pa.ChunkedArray, most: int) -> Mask:
    values = _column(column)
    return (values >= 0) & (values <= most)


def _measure(column: pa.ChunkedArray) -> Mask:
    values = column.to_numpy()
    return np.isnan(values) | ((values >= 0) & np.isfinite(values))


def _columns(table: pa.Table) -> Rows:
    cpu = table["cpu"].to_numpy().astype(np.float32, copy=False)
    group = _column(table["priority"]).astype(np.int16) * CLASSES + _column(table["class"])
    return Rows(
        time_us=_column(table["time"]),
        task=_column(table["job"]) << INDEX_BITS | _column(table["index"]),
        machine=np.maximum(_column(table["machine"]), NOWHERE),
        kind=_column(table["type"]).astype(np.int8, copy=False),
        group=group.astype(np.int16, copy=False),
        cpu=cpu,
    )
