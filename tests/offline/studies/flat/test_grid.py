"""Grids and `fawkes deadlines`: all combinations, resumed, and refused before anything runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from fawkes.cli.main import cli
from fawkes.offline.studies.flat.grid import CellFolder, cells, gather, summary

#: half a minute where the pool has not been compiled before
pytestmark = pytest.mark.slow

TABLE = "submit_s,tasks,work_s\n" + "".join(f"{60 * at},4,100\n" for at in range(20))


def files(folder: Path) -> dict[str, int]:
    return {file.name: file.stat().st_mtime_ns for file in folder.glob("*.json")}


def test_a_grid_runs_only_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(TABLE)
    one = cells(str(tmp_path / "t.csv"), (1, 2), ("Fixed2x", "Aria1x3x"), (4, 8), ("FIFO", "REACTIVE"))
    assert len(one) == 16
    folder, done = CellFolder(tmp_path / "runs"), list[str]()
    gather(one[:5], folder, say=done.append)
    before = files(folder.folder)
    rows = gather(one, folder, say=done.append)
    assert len(done) == 16
    assert before.items() <= files(folder.folder).items()
    table = summary(rows.values())
    assert [row["seeds"] for row in table] == [2] * 8
    assert all(row["ptr"] + row["wtr"] + row["unserved"] == pytest.approx(1) for row in table)


def test_another_table_or_half_a_row_is_no_row(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(TABLE)
    (cell,) = cells(str(tmp_path / "t.csv"), (1,), ("Fixed2x",), (4,), ("FIFO",))
    folder = CellFolder(tmp_path / "runs")
    gather([cell], folder)
    (file,) = folder.folder.glob("*.json")
    file.write_text(file.read_text()[:40])
    assert folder.row(cell) is None


def ask(*words: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(cli, ["deadlines", *words])
    return done.exit_code, done.stdout, str(done.exception)


def test_the_command_shows_rows_and_resumes(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(TABLE.replace("work_s", "work_s,deadline_s").replace(",100\n", ",100,60\n"))
    words = (str(tmp_path / "t.csv"), "--capacity", "4", "--out", str(tmp_path / "o"), "--jobs", "1", "-o", "json")
    code, shown, _ = ask(*words, "--allocators", "fifo,justice[correction=none]")
    assert code == 0
    rows = json.loads(shown)["rows"]
    assert [row["allocator"] for row in rows] == ["FIFO", "JUSTICE[correction=none]"]
    assert {row["deadlines"] for row in rows} == {"own"}
    before = files(tmp_path / "o")
    assert ask(*words, "--allocators", "fifo,justice[correction=none]")[1] == shown
    assert files(tmp_path / "o") == before


@pytest.mark.parametrize(
    "words",
    [
        ("TR3", "--capacity", "4"),
        ("t.csv", "--capacity", "0"),
        ("t.csv", "--capacity", "1.5"),
        ("t.csv", "--capacity", "4", "--types", "Fixed3x"),
        ("t.csv", "--capacity", "4", "--types", "own"),
        ("t.csv", "--capacity", "4", "--allocators", "nobody"),
        ("t.csv", "--capacity", "4", "--allocators", "justice[x=1]"),
        ("t.csv", "--capacity", "4", "--basis", "trace"),
        ("t.csv", "--capacity", "4", "--basis", "peak"),
    ],
)
def test_bad_input_ends_with_2_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text(TABLE)
    done = CliRunner().invoke(cli, ["deadlines", *words])
    assert done.exit_code == 2, done.output
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]
