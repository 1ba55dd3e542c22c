"""Task events of clusterdata-2011-2 as batches of columns: gzip parts or plain files, one behind another.

A line that is no event is skipped and counted. Times that go back and broken files end the reading.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from fawkes.base.errors import ConfigError
from fawkes.base.reading import MIB, opened
from fawkes.offline.analyser.fold import CLASSES, KINDS, NOWHERE, PRIORITIES, EventRows, Ints, Mask
from fawkes.offline.analyser.machines import TASK_EVENTS
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
_WHOLE: Final = r"^[ \t]*(?:-?[0-9]+|0[xX][0-9a-fA-F]+)[ \t]*$"
_REAL: Final = r"^[ \t]*[-+]?(?i:\.?[0-9]|inf|nan)"
"""Texts that may be numbers. Only pyarrow's parser decides, or a damaged line would change how others are judged."""
_GZIP: Final = b"\x1f\x8b"
_PIECE: Final = 48 * MIB
_BLOCK: Final = 4 * MIB
_TRIED: Final = 1_000
"""A part that has no event in so many lines is not read any further."""
_HINT: Final = f"Give task events of clusterdata-2011-2: lines with {len(COLUMNS)} columns"


@dataclass
class Log:
    """The parts of a log while they are read: lines, skipped lines for each part, and the time reached so far."""

    parts: Sequence[Path]
    lines: int = 0
    latest_us: int = 0
    skipped: dict[Path, Tally] = field(default_factory=dict)

    def batches(self, say: Callable[[str], None] = lambda _: None) -> Iterator[EventRows]:
        """Batches of events in the order of the log; ConfigError for a part that is broken or goes back in time."""
        for part in self.parts:
            tally, before, events = self.skipped.setdefault(part, Tally()), 0, 0
            for text in _pieces(part):
                rows, count = self._rows(text, part, tally, before)
                before += count
                events += len(rows.time_us)
                if not events and before > _TRIED:
                    break
                if len(rows.time_us):
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

    def _rows(self, text: bytes, part: Path, tally: Tally, before: int) -> tuple[EventRows, int]:
        """The events of whole lines, and the number of lines."""
        table, wrong = _table(text)
        for number, count in wrong:
            tally.add(f"with {count} of {len(COLUMNS)} columns", before + number)
        places = np.array([number - 1 for number, _ in wrong], np.int64)
        lines = np.delete(np.arange(1, len(table) + len(wrong) + 1), places) + before
        checked = _Checked(table, lines, tally)
        if table.schema.field("time").type == pa.binary():
            checked.keep_numbers()
        for name, most in _MOST.items():
            checked.keep(_within(checked.column(name), most), f"with a wrong {name}")
        cpu = checked.table["cpu"].to_numpy()
        checked.keep(np.isnan(cpu) | ((cpu >= 0) & np.isfinite(cpu)), "with a wrong cpu")
        checked.keep(checked.column("time") != AFTER_US, "from after the end of the trace")
        rows = checked.rows()
        self._look_back(rows, checked.lines, part)
        return rows, text.count(b"\n")

    def _look_back(self, rows: EventRows, lines: Ints, part: Path) -> None:
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
        folder = path / TASK_EVENTS if (path / TASK_EVENTS).is_dir() else path
        inside = sorted([*folder.glob("*.csv.gz"), *folder.glob("*.csv")])
        if not inside:
            hint = "Give a folder with parts such as part-00000-of-00500.csv.gz"
            raise ConfigError("has no .csv.gz and no .csv", file=str(folder), hint=hint)
        parts += inside
    return parts


def _pieces(part: Path) -> Iterator[bytes]:
    """The text of a part, unpacked, in pieces of whole lines; ConfigError when it cannot be read to its end."""
    rest = b""
    for text in _unpacked(part):
        end = text.rfind(b"\n") + 1
        if not end and len(rest) > _PIECE:
            raise ConfigError("has a line of more than 48 MiB", file=str(part), hint=_HINT)
        if end:
            yield rest + text[:end]
            rest = b""
        rest += text[end:]
    if rest:
        yield rest + b"\n"


def _unpacked(part: Path) -> Iterator[bytes]:
    with opened(part, hint=_HINT) as raw:
        packed = raw.read(len(_GZIP)) == _GZIP
        raw.seek(0)
        try:
            # Without the buffer it asks Python for each 64 KiB.
            file: Any = raw
            if packed:
                file = pa.CompressedInputStream(pa.BufferedInputStream(pa.PythonFile(file), MIB), "gzip")
            yield from iter(lambda: file.read(_PIECE), b"")
        except (pa.ArrowException, OSError) as error:
            what = f"cannot be read to its end ({str(error).splitlines()[0]})"
            raise ConfigError(what, file=str(part), hint="Fetch the file again") from None


def _table(text: bytes) -> tuple[Any, list[tuple[int, int]]]:
    """The columns that are needed, and the lines with more or fewer columns: their numbers, and how many they have.

    Columns are numbers, or all of them bytes when a value is no number.
    """
    with suppress(pa.ArrowInvalid):
        table = _read(text, _FORMS)
        # pyarrow takes an empty line for one that has every column, without values.
        if not table["time"].null_count:
            return table, []
    # A handler of pyarrow would be given such lines as text, which they need not be.
    lines = text.splitlines(keepends=True)
    counts = [line.count(b",") + 1 for line in lines]
    wrong = [(number, count) for number, count in enumerate(counts, 1) if count != len(COLUMNS)]
    rest = b"".join(line for line, count in zip(lines, counts, strict=True) if count == len(COLUMNS))
    if not rest:
        return pa.table({name: pa.array([], form) for name, form in _FORMS.items()}), wrong
    with suppress(pa.ArrowInvalid):
        return _read(rest, _FORMS), wrong
    # A line must not be longer than two blocks; here one of a clean piece may have another place.
    return _read(rest, dict.fromkeys(_FORMS, pa.binary()), len(rest) + 1), wrong


def _read(text: bytes, forms: Mapping[str, Any], block: int = _BLOCK) -> Any:
    source: Any = pa.BufferReader(text)
    return csv.read_csv(
        source,
        read_options=csv.ReadOptions(use_threads=False, column_names=list(COLUMNS), block_size=block),
        parse_options=csv.ParseOptions(quote_char=False, ignore_empty_lines=False),
        convert_options=csv.ConvertOptions(include_columns=list(forms), column_types=dict(forms), null_values=[""]),
    )


class _Checked:
    """The lines of a piece of text that are left, with their numbers; others are counted in ``tally``."""

    def __init__(self, table: Any, lines: Ints, tally: Tally) -> None:
        self.table, self.lines, self._tally = table, lines, tally

    def keep(self, which: Mask, why: str) -> None:
        """Keeps these lines alone."""
        if which.all():
            return
        for line in self.lines[~which].tolist():
            self._tally.add(why, line)
        self.table, self.lines = self.table.filter(pa.array(which)), self.lines[which]

    def keep_numbers(self) -> None:
        """Makes numbers of bytes, without the lines in which a value is none."""
        for at, name in enumerate(_FORMS):
            texts = self.table[name].combine_chunks().dictionary_encode()
            numbers = _numbers(texts.dictionary, real=name == "cpu").take(texts.indices)
            known: Any = pc.or_(pc.is_valid(numbers), pc.equal(self.table[name], pa.scalar(b"")))
            self.table = self.table.set_column(at, name, numbers)
            self.keep(known.to_numpy(), f"with a {name} that is no number")

    def column(self, name: str) -> Ints:
        """Whole numbers; -1 where there is none."""
        column = self.table[name]
        values: Ints = (column.fill_null(-1) if column.null_count else column).to_numpy()
        return values

    def rows(self) -> EventRows:
        """These lines as events."""
        return EventRows(
            time_us=self.column("time"),
            task=self.column("job") << INDEX_BITS | self.column("index"),
            machine=np.maximum(self.column("machine"), NOWHERE),
            kind=self.column("type").astype(np.int8, copy=False),
            group=self.column("priority").astype(np.int16) * CLASSES + self.column("class").astype(np.int16),
            cpu=self.table["cpu"].to_numpy().astype(np.float32, copy=False),
        )


def _numbers(texts: Any, *, real: bool) -> Any:
    """Texts as numbers, by the rule by which pyarrow reads them from a file; none for those that are no number."""
    likely = pc.match_substring_regex(texts, _REAL if real else _WHOLE)
    # Unsafe: bytes need not be UTF-8.
    likely = pc.if_else(likely, texts, None).cast(pa.string(), safe=False)
    return _parsed(pc.ascii_trim(likely, " \t"), pa.float32() if real else pa.int64())


def _parsed(texts: Any, form: Any) -> Any:
    with suppress(pa.ArrowInvalid):
        return texts.cast(form)
    half = len(texts) // 2
    halves = (texts[:half], texts[half:]) if half else ()
    return pa.concat_arrays([_parsed(each, form) for each in halves] or [pa.nulls(1, form)])


def _within(values: Ints, most: int) -> Mask:
    return (values >= 0) & (values <= most)
