"""Machines of a log by type (Table 1): what its machine events say, and writing them."""

from __future__ import annotations

import gzip
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from fawkes.base.errors import ConfigError
from fawkes.workload.reading.traces import Tally, lines

FOLDER: Final = "machine_events"
TASK_EVENTS: Final = "task_events"
_ADD: Final = b"0"
_SIZE: Final = rb"(?:(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)?"
_FORMS: Final = {
    name: re.compile(form)
    for name, form in {
        "time": rb"\d+", "machine": rb"\d+", "type": b"[012]", "platform": b".*", "cpu": _SIZE, "memory": _SIZE
    }.items()
}  # fmt: skip
#: platform, CPU, memory, and how many machines
TABLE_1: Final = (
    ("B", "0.5", "0.5", 6732), ("B", "0.5", "0.25", 3863), ("B", "0.5", "0.75", 1001), ("C", "1", "1", 795),
    ("A", "0.25", "0.25", 126), ("B", "0.5", "0.125", 52), ("B", "0.5", "0.03", 5), ("B", "0.5", "0.97", 5),
    ("C", "1", "0.5", 3), ("B", "0.5", "0.06", 1),
)  # fmt: skip


def machine_rows(paths: Sequence[Path], skipped: dict[Path, Tally]) -> list[dict[str, Any]]:
    """A row for each type of machines in the machine events beside a log, by number; none without such events.

    A machine has the type with which it was added first. Lines that are no machine event are counted in ``skipped``.
    ConfigError for a file without any machine.
    """
    types: dict[bytes, tuple[bytes, ...]] = {}
    folders = dict.fromkeys((path.parent if path.name == TASK_EVENTS else path) / FOLDER for path in paths)
    for part in (part for folder in folders for part in sorted(folder.glob("*.csv*"))):
        tally = skipped.setdefault(part, Tally())
        for number, line in lines(part):
            columns = line.strip().split(b",")
            if why := _why_not(columns):
                tally.add(why, number)
            elif columns[2] == _ADD:
                types.setdefault(columns[1], tuple(columns[3:]))
        if not types:
            what = ": ".join(filter(None, ("adds no machine", str(tally.dropped()))))
            raise ConfigError(what, file=str(part), hint=f"Give machine events: {len(_FORMS)} columns")
    counts = Counter(tuple(text.decode("utf-8", "replace") for text in each) for each in types.values())
    return [
        {"platform": platform, "cpu": cpu, "memory_units": memory, "count": count, "part_of_all": count / len(types)}
        for (platform, cpu, memory), count in counts.most_common()
    ]


def _why_not(columns: Sequence[bytes]) -> str:
    """The reason why a line is no machine event; empty if it is one."""
    if len(columns) != len(_FORMS):
        return f"with {len(columns)} of {len(_FORMS)} columns"
    wrong = (name for (name, form), text in zip(_FORMS.items(), columns, strict=True) if not form.fullmatch(text))
    return next((f"with a wrong {name}" for name in wrong), "")


def write_machines(folder: Path, count: int, chance: np.random.Generator) -> Mapping[tuple[str, str, str], int]:
    """Write machine events that add so many machines with the parts of Table 1; return how many of each type."""
    ends = np.rint(np.cumsum([each[-1] for each in TABLE_1]) * count / sum(each[-1] for each in TABLE_1))
    counts = np.diff(ends, prepend=0).astype(int)
    kinds = chance.permutation(np.repeat(np.arange(len(TABLE_1)), counts))
    (folder / FOLDER).mkdir()
    text = "".join(f"0,{number},0,{','.join(TABLE_1[kind][:3])}\n" for number, kind in enumerate(kinds, 1))
    (folder / FOLDER / "part-00000-of-00001.csv.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
    return {each[:3]: int(number) for each, number in zip(TABLE_1, counts, strict=True)}
