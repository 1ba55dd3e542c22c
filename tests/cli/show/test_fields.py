"""Every verb's table on a terminal of 80 columns: with usual values nothing goes, with the worst nothing breaks."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fawkes.cli
from fawkes.cli.show.fields import FIELDS, Shape
from fawkes.cli.show.show import console, show
from fawkes.cli.show.tables import COMBINED, TABLES, Table

REASON = (
    "c-analytics-2 waits for node[07,09-12], which may hold data: its NodeManager is lost, its DataNode is dead, and "
    "/srv/data/warehouse/2026/part-00017 has too few replicas elsewhere"
)

#: values as they are on most days, and the worst that are realistic
USUAL: dict[str, Any] = {
    "name": "node07",
    "time": "2026-05-04T12:00:05.123Z",
    "text": "c-1 held 4 nodes and should have 6",
    "list": ["one", "two"],
    "keys and texts": {"jobs": "How many jobs"},
    "problems": [{"check": "java", "what": "is missing"}],
    "yes or no": True,
    "count": 12,
    "bytes": 1_500_000_000,
    "seconds": 290.4,
    "microseconds": 93_000_000,
    "number": 5.142,
    "share of 1": 0.1234,
}
WORST: dict[str, Any] = USUAL | {
    "name": "wordcount-7abc2de",
    "text": REASON,
    "list": [REASON, REASON],
    "count": 123_456,
    "bytes": 999_900_000_000,
    "seconds": 123_456.7,
    "microseconds": 86_399_000_000,
    "number": 1234.5678,
    "share of 1": -0.9999,
}
#: what names of these keys look like, where they are not just any name
NAMES: dict[str, tuple[str, str]] = {
    "cluster": ("c-1", "c-analytics-2"),
    "from_cluster": ("c-1", "c-analytics-2"),
    "to_cluster": ("c-2", "c-analytics-3"),
    "role": ("transient", "transient-core"),
    "state": ("serving", "evacuating"),
    "health": ("green", "yellow"),
    "node_set": ("node[01-03]", "node[001,003-005,007,009-010]"),
    "job": ("sort-1", "wordcount-7abc2de"),
    "name": ("sort-1", "wordcount-7abc2de"),
    "kind": ("Requested", "CommandStarted"),
    "policy": ("TD", "shortest-first"),
    "settings": ("tau=5", "tau=5, period=90s"),
    "decided_by": ("0.2.0", "0.2.0.dev12"),
    "differs": ("changes", "changes"),
    "path": ("/out", "/user/alice/warehouse/2026-05"),
    "folder": ("/srv/dist/3.5.0", "/srv/hadoop/cache/releases/hadoop-3.5.0-lean"),
    "file": ("a.toml", "/home/alice/fawkes/workloads/facebook-2009.jobs.csv.gz"),
    "address": ("10.0.0.7", "fd00:1234:5678::1:0042"),
    "growth": ("transient", "transient-core"),
    "deploy": ("at once", "first job"),
    "hadoop": ("3.5.0", "/opt/hadoop-3.4.2"),
    "origin": ("site", "built-in"),
    "code": ("grow", "shrink-to-admit"),
    "reason": ("a visit", REASON),
    "result": ("fits", "unreachable"),
    "findings": ("memory (warning)", "names (warning), java, clock (warning), disk, memory, ports, left, tools"),
    "constant": ("map_start", "nodemanager_start_s"),
    "record": ("may", "record-of-may"),
    "part": ("jobs", "before"),
    "action": ("submit", "request"),
    "point": ("A", "A"),
    "what": ("c-1 grows", "c-1 gets every free node, because it waits"),
    "voluntary_moves": ("paused", "allowed"),
    "version": ("3.5.0", "3.5.0"),
    "java_range": ("17", "8, 11, 17"),
    "format": ("table", "jobhistory"),
    "quantity": ("gap between jobs", "gap between jobs"),
    "method": ("median", "least squares"),
    "problem": ("skipped", "no history"),
    "first": ("sort-1", "wordcount-7abc2de"),
    "manager": ("offers", "full release"),
    "framework": ("hadoop", "spark-coarse"),
    "maker": ("paper", "facebook"),
    "pool_id": ("7d1f0c9e", "7d1f0c9e-2f0e-4b43-9c39-3a6d6ad1e9b7"),
}
CHECKS = (
    "ssh",
    "key",
    "names",
    "java",
    "clock",
    "disk",
    "memory",
    "ports",
    "left",
    "tools",
    "shell",
    "logout",
    "users",
)


def value(key: str, worst: bool) -> Any:
    if key in CHECKS:
        return "warning" if worst else "ok"
    if key in NAMES:
        return NAMES[key][worst]
    return (WORST if worst else USUAL)[FIELDS[key].shape.name]


def drawn(table: Table, rows: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]) -> list[str]:
    show(rows, table, "table")
    return capsys.readouterr().out.splitlines()


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


@pytest.mark.slow
@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize("name", sorted(TABLES))
def test_with_usual_values_every_column_is_there(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    table = TABLES[name]
    lines = drawn(table, [{key: value(key, worst=False) for key in table.keys}] * 2, capsys)
    assert "more column" not in lines[-1]
    assert max(map(len, lines)) <= 80


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize("name", sorted(TABLES))
def test_with_the_worst_values_nothing_breaks(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    table = TABLES[name]
    row = {key: value(key, worst=True) for key in table.keys}
    usual = {key: value(key, worst=False) for key in table.keys}
    lines = drawn(table, [row, usual], capsys)
    assert max(map(len, lines)) <= 80
    headings = re.split(r"\s{2,}", lines[0].strip())
    shown = [key for key in table.keys if FIELDS[key].heading in headings]
    assert shown[0] == table.keys[0]
    for key in shown:
        cell = FIELDS[key].cell(row)
        if not FIELDS[key].shape.wraps:
            assert any(cell in line for line in lines), key
        elif not table.cut:
            words = " ".join(lines)
            assert all(word in words for word in cell.split()), key
    gone = len(table.keys) - len(shown)
    assert (f"{gone} more column" in lines[-1]) == (gone > 0)
    if table.cut:
        assert len(lines) == 4 + (gone > 0)


@pytest.mark.usefixtures("terminal")
def test_the_first_column_wraps_only_when_the_terminal_is_narrower(capsys: pytest.CaptureFixture[str]) -> None:
    long = "node[" + ",".join(f"{n:04}" for n in range(1, 60, 2)) + "]"
    lines = drawn(TABLES["nodes --fold"], [{"node_set": long, "count": 30, "state": "free"}], capsys)
    assert max(map(len, lines)) <= 80
    assert "".join(line.strip() for line in lines[2:-1]) == long


def test_off_a_terminal_nothing_is_cut_or_wrapped(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    table = TABLES["nodes"]
    (line,) = drawn(table, [{key: value(key, worst=True) for key in table.keys}], capsys)[2:]
    assert REASON in line


@pytest.mark.slow
@given(st.data())
def test_any_names_fit_any_width_or_columns_go(data: st.DataObject) -> None:
    from fawkes.cli.show.layout import fitted

    table = TABLES[data.draw(st.sampled_from(sorted(TABLES)))]
    width = data.draw(st.integers(30, 200))
    row = {
        key: data.draw(st.text("abc-0", min_size=1, max_size=25))
        for key in table.keys
        if FIELDS[key].shape.name == "name"
    }
    layout = fitted([row], table, width)
    assert layout.width <= width
    assert layout.dropped < len(table.keys)
    out = console()
    out.width = width
    with out.capture() as capture:
        out.print(layout.grid)
    lines = capture.get().splitlines()
    assert max(map(len, lines)) <= width
    for column in layout.grid.columns:
        cell = str(next(iter(column.cells)))
        assert FIELDS[key_of(table, column.header.plain)].shape.wraps or any(cell in line for line in lines)  # type: ignore[union-attr]


def key_of(table: Table, heading: str) -> str:
    return next(key for key in table.keys if FIELDS[key].heading == heading)


def test_keys_that_put_others_together_are_for_tables_only() -> None:
    for table in TABLES.values():
        assert not COMBINED & set(table.all_keys)
    assert isinstance(FIELDS["story"].shape, Shape)


def test_every_table_is_shown_by_a_verb_and_every_verb_shows_one_of_them() -> None:
    folder = Path(fawkes.cli.__file__).parent
    shown = {
        name for file in folder.rglob("*.py") for name in re.findall(r'TABLES\["([^"]+)"\]', file.read_text("utf-8"))
    }
    assert shown == TABLES.keys()
