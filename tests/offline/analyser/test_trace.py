"""Reading task events: dirty lines are counted with their place, broken logs end with a reason."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fawkes.base.errors import ConfigError
from fawkes.offline.analyser.fold import EVICT, SCHEDULE, SUBMIT
from fawkes.offline.analyser.trace import Log, parts_of
from tests.offline.analyser.support import line, state_of, written

GOOD = [line(at, SUBMIT, job=at) for at in range(1, 6)]


@pytest.mark.parametrize(
    ("dirty", "why"),
    [
        ("", "with 1 of 13 columns"),
        ("1000000,,1,0,,0,user,0,0,0.1,0.1,0.1", "with 12 of 13 columns"),
        ("1000000,,1,0,,0,user,0,0,0.1,0.1,0.1,0,0", "with 14 of 13 columns"),
        (line(3, SUBMIT, job=4).replace("3000000", "soon"), "with a time that is no number"),
        (line(3, SUBMIT, cpu="much"), "with a cpu that is no number"),
        (line(3, SUBMIT, cpu="-0.1"), "with a wrong cpu"),
        (line(3, SUBMIT, cpu="inf"), "with a wrong cpu"),
        (line(3, SUBMIT, cpu="."), "with a cpu that is no number"),
        (line(3, SUBMIT, cpu="0.1.1"), "with a cpu that is no number"),
        (line(3, SUBMIT, machine="9" * 19), "with a machine that is no number"),
        (line(3, 9), "with a wrong type"),
        (line(3, 300), "with a wrong type"),
        (line(3, SUBMIT, scheduling_class=4), "with a wrong class"),
        (line(3, SUBMIT, priority=-1), "with a wrong priority"),
        (line(3, SUBMIT, priority=64), "with a wrong priority"),
        (line(3, SUBMIT, index=2**20), "with a wrong index"),
        (line(3, SUBMIT, job=2**43), "with a wrong job"),
        (line(3, SUBMIT).replace("3000000,", ",", 1), "with a wrong time"),
        (line(3, SUBMIT).replace("3000000", "9223372036854775807"), "from after the end of the trace"),
        (line(3, SUBMIT).replace("3000000", "9" * 25), "with a time that is no number"),
    ],
)
def test_a_line_that_is_no_event_is_counted(tmp_path: Path, dirty: str, why: str) -> None:
    path = written(tmp_path / "log.csv.gz", [*GOOD[:3], dirty, *GOOD[3:]])
    state, log = state_of(path)
    assert state.totals.events.sum() == len(GOOD)
    (dropped,) = log.dropped.values()
    assert (dropped.counts, dropped.first_lines) == ({why: 1}, {why: 4})
    assert log.lines == len(GOOD) + 1


WHOLE = ("3", "-3", "+3", " 3", "3\t", "0x3", "0X3 ", "-0x3", "0x", "0" * 30 + "3", "3.0", "3e0", "12" + "0" * 17, " ",
         "9" * 19, "-", "\v3", "3x", "\xff")  # fmt: skip
REAL = ("", "nan", "-NaN", "inf", "1e400", "1e-400", " 0.5", "0.5\t", "+0.5", ".5", "1.", "1.e-1", ".", ".e1", "1e",
        "0.1.1", "5E-1", "1e005", "0.5f", "0,5", "infinite", "nano", " ", "-", "\xff")  # fmt: skip


@pytest.mark.parametrize(("name", "texts"), [("job", WHOLE), ("machine", WHOLE), ("index", WHOLE), ("cpu", REAL)])
def test_a_damaged_line_changes_nothing_for_its_neighbours(tmp_path: Path, name: str, texts: tuple[str, ...]) -> None:
    for text in texts:
        fields: Any = {name: text}
        lines = [GOOD[0], line(2, SCHEDULE, **fields)]
        path, other = tmp_path / "alone.csv.gz", tmp_path / "beside.csv.gz"
        logs = (written(path, lines), written(other, [*lines, "soon" + GOOD[2]]))
        (alone,), (beside,) = (list(Log([log]).batches()) for log in logs)
        columns: Any = zip(alone, beside, strict=True)
        assert all(np.array_equal(one, two, equal_nan=True) for one, two in columns), text


def test_a_long_line_counts_beside_a_damaged_one(tmp_path: Path) -> None:
    lines = [GOOD[0], GOOD[1].replace("user", "u" * 9_000_000), "soon" + GOOD[2]]
    assert state_of(written(tmp_path / "log.csv", lines, packed=False))[0].totals.events.sum() == 2


@pytest.mark.parametrize("packed", [True, False])
def test_parts_of_a_folder_are_one_log(tmp_path: Path, packed: bool) -> None:
    folder = tmp_path / "task_events"
    folder.mkdir()
    end = ".csv.gz" if packed else ".csv"
    written(folder / f"part-00001-of-00002{end}", [line(100, EVICT, machine=7), line(200, SUBMIT)], packed=packed)
    written(folder / f"part-00000-of-00002{end}", [line(10, SCHEDULE, machine=7)], packed=packed)
    state, log = state_of(tmp_path)
    assert [path.name for path in log.parts] == [f"part-0000{number}-of-00002{end}" for number in (0, 1)]
    assert state.totals.evicted_cpu.sum() == 90_000_000 * 0.5


def test_several_members_of_gzip_and_no_last_newline(tmp_path: Path) -> None:
    path = tmp_path / "log.csv.gz"
    path.write_bytes(gzip.compress(f"{GOOD[0]}\n".encode()) + gzip.compress(GOOD[1].encode()))
    assert state_of(path)[0].totals.events.sum() == 2


CUT = gzip.compress("".join(f"{line(at, SUBMIT, job=at * 977)}\n" for at in range(1, 5_000)).encode(), mtime=0)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (CUT[: len(CUT) // 2], "cannot be read to its end"),
        (CUT[:-4], "cannot be read to its end"),
        (CUT[:600] + b"\0" * 40 + CUT[640:], "cannot be read to its end"),
        (b"\x1f\x8b", "cannot be read to its end"),
        (b"", "has no event"),
        (gzip.compress(b"", mtime=0), "has no event"),
        (b"a picture\xff\xfe\0\0\n" * 10, "has no event: 10 lines with 1 of 13 columns (first: line 1)"),
        (b"\n".join(each.rpartition(",")[0].encode() for each in GOOD), "has no event: 5 lines with 12 of 13 columns"),
        ("\n".join([*GOOD, GOOD[2]]).encode(), "line 6: the time goes back from 5000000 to 3000000"),
    ],
)
def test_a_log_that_cannot_be_read_is_refused(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "log.csv.gz"
    path.write_bytes(content)
    with pytest.raises(ConfigError) as refused:
        state_of(path)
    assert str(path) in str(refused.value)
    assert says in str(refused.value)


def test_parts_in_the_wrong_order_are_refused(tmp_path: Path) -> None:
    late, early = (written(tmp_path / name, lines) for name, lines in (("b.csv", GOOD[3:]), ("a.csv", GOOD[:3])))
    with pytest.raises(ConfigError, match=r"a\.csv: line 1: the time goes back from 5000000 to 1000000"):
        list(Log([late, early]).batches())


def test_a_folder_without_parts_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"has no \.csv\.gz"):
        parts_of([tmp_path])
