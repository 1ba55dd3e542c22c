"""Machine events: types of machines, and files that are none."""

from __future__ import annotations

from pathlib import Path

import pytest

from fawkes.base.errors import ConfigError
from fawkes.offline.analyser.machines import machine_rows
from fawkes.workload.reading.traces import Tally
from tests.offline.analyser.support import written


def events(folder: Path, *lines: str) -> Path:
    (folder / "machine_events").mkdir()
    written(folder / "machine_events" / "part-00000-of-00001.csv.gz", lines)
    return folder


def test_a_machine_counts_once_with_its_first_type(tmp_path: Path) -> None:
    events(
        tmp_path, "0,5,0,B,0.5,0.25", "0,6,0,B,0.5,0.25", "9,5,1,B,0.5,0.25", "10,5,0,B,1,1", "dirty", "11,7,2,C,1,1"
    )
    skipped: dict[Path, Tally] = {}
    (row,) = machine_rows([tmp_path, tmp_path / "task_events"], skipped)
    assert [tally.dropped().counts for tally in skipped.values()] == [{"with 1 of 6 columns": 1}]
    assert row == {"platform": "B", "cpu": "0.5", "memory_units": "0.25", "count": 2, "part_of_all": 1.0}


def test_a_log_without_machine_events_has_no_rows(tmp_path: Path) -> None:
    assert machine_rows([tmp_path, tmp_path / "part.csv.gz"], {}) == []


def test_a_file_that_adds_no_machine_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="adds no machine: 1 line with 5 of 6 columns"):
        machine_rows([events(tmp_path, "0,5,0,B,0.5")], {})


@pytest.mark.parametrize(
    ("dirty", "why"),
    [
        ("0,6,0,B,0.5", "with 5 of 6 columns"),
        ("0,6,0,B,0.5,0.5,0", "with 7 of 6 columns"),
        ("0,6,0,B,abc,-3", "with a wrong cpu"),
        ("0,6,0,B,0.5,-3", "with a wrong memory"),
        ("0,6,0,B,.,0.5", "with a wrong cpu"),
        ("0,6,0,B,nan,0.5", "with a wrong cpu"),
        ("0,6,0,B,e5,0.5", "with a wrong cpu"),
        ("0,6,3,B,0.5,0.5", "with a wrong type"),
        ("0,6,,B,0.5,0.5", "with a wrong type"),
        ("0,,0,B,0.5,0.5", "with a wrong machine"),
        ("soon,6,0,B,0.5,0.5", "with a wrong time"),
        ("0,6,0,B,,", ""),
        ("0,6,0,,1e-1,.5", ""),
        ("0,6,1,B,0.5,0.5\r", ""),
    ],
)
def test_a_line_that_is_no_machine_event_is_counted(tmp_path: Path, dirty: str, why: str) -> None:
    skipped: dict[Path, Tally] = {}
    rows = machine_rows([events(tmp_path, "0,5,0,B,0.5,0.25", dirty)], skipped)
    (tally,) = skipped.values()
    assert (tally.dropped().counts, tally.dropped().first_lines) == (({why: 1}, {why: 2}) if why else ({}, {}))
    assert sum(row["count"] for row in rows) == 1 + (not why and ",0," in dirty[2:6])
