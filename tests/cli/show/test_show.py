from __future__ import annotations

import csv
import io
import json

import click
import pytest
from click.testing import CliRunner

from fawkes.cli.main import cli
from fawkes.cli.show.fields import FIELDS
from fawkes.cli.show.show import Wide, console, note, output_option, progress, say, show, warn
from fawkes.cli.show.tables import TABLES, Table

ROWS: list[dict[str, object]] = [
    {"node": "node[01-03]", "wait_s": 1.5, "why": None, "details": {"a": [1]}},
    {"node": "[bold]x[/bold]", "wait_s": None, "why": "long " * 60, "details": {}},
]
TABLE = Table(("node", "wait_s", "why"), ("details",))


def test_a_table_shows_values_for_people_and_takes_nothing_for_markup(capsys: pytest.CaptureFixture[str]) -> None:
    show(ROWS, TABLE, "table", title="Nodes [all]")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Nodes [all]"
    assert lines[1].split() == ["node", "wait", "why"]
    assert lines[3].split() == ["node[01-03]", "1.5s", "-"]
    assert lines[4].split() == ["[bold]x[/bold]", "-", *["long"] * 60]
    assert len(lines) == 5
    assert all(line == line.rstrip() for line in lines)
    assert "\x1b" not in "".join(lines)


def test_a_table_fits_the_given_width(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "50")
    show(ROWS, TABLE, "table")
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= 50
    assert shown.count("long") == 60


def test_columns_go_before_a_value_is_broken(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    row = {"node": "node0000001", "job": "j" * 12, "cluster": "c" * 8, "state": "running", "why": "no space left"}
    show([row], Table(("node", "job", "cluster", "state", "why"), drop=("job",)), "table")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["node", "MR-cluster"]
    assert lines[2].split() == ["node0000001", "c" * 8]
    assert lines[-1] == "3 more columns: -o wide"


def test_a_table_that_is_cut_has_one_line_for_a_row(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    show(ROWS, Table(("node", "why"), cut=True), "table")
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4
    assert lines[3].endswith("…")
    assert len(lines[3]) == 40


def test_wide_shows_every_column_unbroken(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    show(ROWS, Table(("node", "brief"), ("why", "wait_s"), cut=True), Wide("table"))
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["node", "wait", "why"]
    assert lines[3].count("long") == 60


def test_json_has_a_version_and_the_whole_rows(capsys: pytest.CaptureFixture[str]) -> None:
    show(ROWS, TABLE, "json", envelope={"total": 7})
    assert json.loads(capsys.readouterr().out) == {"version": 2, "rows": ROWS, "total": 7}


def test_csv_has_plain_values_of_all_columns(capsys: pytest.CaptureFixture[str]) -> None:
    show(ROWS, TABLE, "csv")
    read = list(csv.reader(io.StringIO(capsys.readouterr().out)))
    assert read == [
        ["node", "wait_s", "why", "details"],
        ["node[01-03]", "1.5", "", '{"a": [1]}'],
        ["[bold]x[/bold]", "", "long " * 60, "{}"],
    ]


@pytest.mark.parametrize(
    ("output", "shown"), [("json", '{\n  "version": 2,\n  "rows": []\n}\n'), ("csv", "node,wait_s,why,details\n")]
)
def test_no_rows_are_a_result_as_well(output: str, shown: str, capsys: pytest.CaptureFixture[str]) -> None:
    show([], TABLE, output)
    assert capsys.readouterr().out == shown


def test_what_a_host_says_cannot_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    show([{"node": "a\x1b[2Jb\rc"}], Table(("node",)), "table")
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "\r" not in out


@pytest.mark.parametrize("value", ["1", "anything"])
def test_no_color_leaves_no_escapes(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", value)
    monkeypatch.setenv("FORCE_COLOR", "1")
    out = console()
    with out.capture() as capture:
        out.print("x", style="bold red")
    assert capture.get() == "x\n"


# --- the registry ---------------------------------------------------------------------------------------------------


def test_every_table_is_made_of_known_keys() -> None:
    for name, table in TABLES.items():
        assert set(table.keys) | set(table.wide) <= FIELDS.keys(), name
        assert set(table.drop) <= set(table.keys[1:]), name
        assert not set(table.keys) & set(table.wide), name
        headings = [FIELDS[key].heading for key in table.all_keys]
        assert len(headings) == len(set(headings)), name


def test_only_the_last_column_of_a_table_may_wrap() -> None:
    for name, table in TABLES.items():
        wrapping = [key for key in table.keys if FIELDS[key].shape.wraps]
        assert wrapping in ([], [table.keys[-1]]) or name in ("demo, points", "workload make"), name


def test_every_key_is_described_in_a_sentence() -> None:
    for key, field in FIELDS.items():
        assert key == field.key
        assert field.about.endswith("."), key
        assert len(field.about.split()) <= 25, key
        assert field.heading, key


# --- progress and notes ---------------------------------------------------------------------------------------------


@click.command()
@output_option
def working(output: str) -> None:
    """Work and say so."""
    with progress("copying", 2) as step:
        step("n1")
        step("n2")
    with progress("waiting") as step:
        step("for n3")
    note("a note")
    warn("a warning")
    show([{"node": "n1"}], Table(("node",)), output)


def test_progress_is_a_line_for_each_step_off_a_terminal() -> None:
    done = CliRunner().invoke(working, ["-o", "csv"])
    assert done.stderr == "copying 1/2: n1\ncopying 2/2: n2\nwaiting: for n3\na note\na warning\n"
    assert done.stdout == "node\nn1\n"


def test_quiet_leaves_results_and_warnings() -> None:
    @click.group()
    @click.option("-q", "--quiet", is_flag=True)
    def group(quiet: bool) -> None:
        """A group like `fawkes`."""

    group.add_command(working)
    done = CliRunner().invoke(group, ["-q", "working", "-o", "csv"])
    assert (done.stdout, done.stderr) == ("node\nn1\n", "a warning\n")


def test_fawkes_has_the_option() -> None:
    assert "-q, --quiet" in CliRunner().invoke(cli, ["--help"]).stdout


def test_a_sentence_goes_on_behind_its_indent_and_no_word_is_broken(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    say("jobs          4 and node[01-03] go on", " " * 14)
    say("")
    assert capsys.readouterr().out.splitlines() == [
        "jobs          4 and",
        "              node[01-03]",
        "              go on",
        "",
    ]
    monkeypatch.delenv("COLUMNS")
    say("long " * 30)
    assert len(capsys.readouterr().out.splitlines()) == 1
