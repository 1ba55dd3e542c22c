from __future__ import annotations

import csv
import io
import json

import pytest

from fawkes.cli.show import Column, progress, show

ROWS: list[dict[str, object]] = [
    {"node": "node[01-03]", "since_us": 1_500_000, "why": None, "more": {"a": [1]}},
    {"node": "[bold]x[/bold]", "since_us": None, "why": "long " * 60, "more": {}},
]
COLUMNS = (Column("node"), Column("since_us", "since", lambda us: f"{us / 1e6:.1f}s", right=True), Column("why"))


def test_a_table_shows_values_for_people_and_takes_nothing_for_markup(capsys: pytest.CaptureFixture[str]) -> None:
    show(ROWS, COLUMNS, "table", title="Nodes [all]")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Nodes [all]"
    assert lines[2].split() == ["node", "since", "why"]
    assert lines[4].split() == ["node[01-03]", "1.5s", "-"]
    assert lines[5].split() == ["[bold]x[/bold]", "-", *["long"] * 60]
    assert len(lines) == 6
    assert all(line == line.rstrip() for line in lines)
    assert "\x1b" not in "".join(lines)


def test_a_table_fits_the_given_width(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "50")
    show(ROWS, COLUMNS, "table")
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= 50
    assert shown.count("long") == 60


def test_json_has_a_version_and_the_whole_rows(capsys: pytest.CaptureFixture[str]) -> None:
    show(ROWS, COLUMNS, "json")
    assert json.loads(capsys.readouterr().out) == {"version": 1, "rows": ROWS}


def test_csv_has_plain_values_of_the_columns(capsys: pytest.CaptureFixture[str]) -> None:
    show(ROWS, (*COLUMNS, Column("more")), "csv")
    read = list(csv.reader(io.StringIO(capsys.readouterr().out)))
    assert read == [
        ["node", "since_us", "why", "more"],
        ["node[01-03]", "1500000", "", '{"a": [1]}'],
        ["[bold]x[/bold]", "", "long " * 60, "{}"],
    ]


@pytest.mark.parametrize(
    ("output", "shown"), [("json", '{\n  "version": 1,\n  "rows": []\n}\n'), ("csv", "node,since_us,why\n")]
)
def test_no_rows_are_a_result_as_well(output: str, shown: str, capsys: pytest.CaptureFixture[str]) -> None:
    show([], COLUMNS, output)
    assert capsys.readouterr().out == shown


def test_what_a_host_says_cannot_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    show([{"node": "a\x1b[2Jb\rc"}], (Column("node"),), "table")
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "\r" not in out


def test_progress_is_a_line_for_each_step_off_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("copying", 2) as step:
        step("n1")
        step("n2")
    with progress("waiting") as step:
        step("for n3")
    captured = capsys.readouterr()
    assert captured.err == "copying 1/2: n1\ncopying 2/2: n2\nwaiting: for n3\n"
    assert captured.out == ""
