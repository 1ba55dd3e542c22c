"""Machine events: types of machines, and files that are none."""

from __future__ import annotations

from pathlib import Path

import pytest

from fawkes.base.errors import ConfigError
from fawkes.offline.analyser.machines import machine_rows
from tests.offline.analyser.support import written


def events(folder: Path, *lines: str) -> Path:
    (folder / "machine_events").mkdir()
    written(folder / "machine_events" / "part-00000-of-00001.csv.gz", lines)
    return folder


def test_a_machine_counts_once_with_its_first_type(tmp_path: Path) -> None:
    events(
        tmp_path, "0,5,0,B,0.5,0.25", "0,6,0,B,0.5,0.25", "9,5,1,B,0.5,0.25", "10,5,0,B,1,1", "dirty", "11,7,2,C,1,1"
    )
    (row,) = machine_rows([tmp_path, tmp_path / "task_events"])
    assert row == {"platform": "B", "cpu": "0.5", "memory_units": "0.25", "count": 2, "part_of_all": 1.0}


def test_a_log_without_machine_events_has_no_rows(tmp_path: Path) -> None:
    assert machine_rows([tmp_path, tmp_path / "part.csv.gz"]) == []


def test_a_file_that_adds_no_machine_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="adds no machine"):
        machine_rows([events(tmp_path, "0,5,0,B,0.5")])
