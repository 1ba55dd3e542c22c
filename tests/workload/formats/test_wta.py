from __future__ import annotations

import shutil
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fawkes.base.errors import ConfigError
from fawkes.workload.formats.formats import read_workload

DATA = Path(__file__).parents[1] / "data"
ROW: dict[str, Any] = {
    "id": 1,
    "workflow_id": 7,
    "ts_submit": 1000,
    "runtime": 2500,
    "resource_amount_requested": 1.5,
    "parents": [],
}


def written(folder: Path, *rows: Mapping[str, Any], name: str = "part.0.parquet") -> Path:
    path = folder / "tasks" / "schema-1.0" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist([dict(row) for row in rows]), path)
    return folder


def test_a_folder_of_a_public_trace_is_a_workload() -> None:
    trace = read_workload(DATA / "wta")
    assert (trace.format, len(trace.jobs)) == ("wta", 46)
    assert (trace.jobs[0].submit_us, trace.dropped.total, trace.mended.total) == (0, 0, 0)
    assert {job.processors for job in trace.jobs} == {1}
    assert len({job.id.split("-")[0] for job in trace.jobs}) == 2
    assert sum(bool(job.after) for job in trace.jobs) > 30


def test_one_file_of_it_is_a_workload_of_its_own() -> None:
    assert len(read_workload(DATA / "wta/tasks/schema-1.0/part.0.parquet").jobs) == 23


def test_times_are_milliseconds_and_parts_of_a_processor_are_one(tmp_path: Path) -> None:
    later = ROW | {"id": 2, "ts_submit": 4000, "parents": [1], "user_id": 5}
    first, second = read_workload(written(tmp_path, ROW | {"user_id": -1}, later)).jobs
    assert (first.id, first.submit_us, first.run_us, first.processors, first.user) == ("7-1", 0, 2_500_000, 2, "")
    assert (second.submit_us, second.after, second.user) == (3_000_000, ("7-1",), "5")


def test_times_may_be_timestamps(tmp_path: Path) -> None:
    moments = [datetime(2026, 1, 1, 0, 0, second, tzinfo=UTC) for second in (3, 5)]
    rows = [ROW | {"id": number, "ts_submit": moment} for number, moment in enumerate(moments)]
    assert [job.submit_us for job in read_workload(written(tmp_path, *rows)).jobs] == [0, 2_000_000]


def test_rows_that_are_no_jobs_are_counted(tmp_path: Path) -> None:
    bad: tuple[dict[str, Any], ...] = (
        {"ts_submit": -1},
        {"runtime": -1},
        {"resource_amount_requested": -1.0},
        {"runtime": None},
    )
    rows = [ROW, *({**ROW, "id": number, **change} for number, change in enumerate(bad, 2))]
    trace = read_workload(written(tmp_path, *rows, ROW | {"id": 9, "parents": [99]}))
    assert [job.id for job in trace.jobs] == ["7-1", "7-9"]
    assert trace.dropped.first_lines == {
        "with a negative submit time": 2,
        "with a job without run time": 3,
        "with a job without processors": 4,
        "with a field that is not a number": 5,
    }
    assert trace.mended.counts == {"that depends on a job that is not there": 1}


@pytest.mark.parametrize("damage", ["cut", "text", "empty", "middle"])
def test_one_broken_part_is_named_and_nothing_is_read(tmp_path: Path, damage: str) -> None:
    folder = Path(shutil.copytree(DATA / "wta", tmp_path / "wta"))
    part = folder / "tasks/schema-1.0/part.1.parquet"
    data = part.read_bytes()
    middle = data[:4] + bytes(byte ^ 0xFF for byte in data[4:2000]) + data[2000:]
    part.write_bytes({"cut": data[:5000], "text": b"PAR1 no more", "empty": b"", "middle": middle}[damage])
    with pytest.raises(ConfigError, match="is not a complete Parquet file") as caught:
        read_workload(folder)
    assert (caught.value.file, "Fetch the file again" in caught.value.hint) == (str(part), True)


def test_other_tables_are_refused_with_the_columns_that_they_need(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="has no column 'workflow_id'") as caught:
        read_workload(written(tmp_path, {"id": 1, "ts_submit": 2}))
    assert "resource_amount_requested" in caught.value.hint
