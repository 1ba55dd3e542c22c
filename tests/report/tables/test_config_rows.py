"""Configurations that differ: what counts as a difference, and what is not known."""

from __future__ import annotations

import pytest

from fawkes.report.tables.config_rows import against_daemons, against_defaults, values_of

FILES = {
    "hdfs-site.xml": {"a": "1", "b": "host:1", "c": "${x}/d", "p": "<redacted>", "new": "7"},
    "yarn-site.xml": {"y": "2"},
}


@pytest.mark.parametrize(
    ("runs", "differ"),
    [
        ({"a": "1", "new": "7"}, {"b": ""}),
        ({"a": "2", "b": None, "new": "7"}, {"a": "2"}),
        ({"a": "1", "b": "host:1", "c": "/x/d", "p": "hunter2"}, {"new": ""}),
        ({}, {"a": "", "b": "", "new": ""}),
    ],
)
def test_a_daemon_differs_where_it_has_another_value_that_it_has_not_set_itself(
    runs: dict[str, str | None], differ: dict[str, str]
) -> None:
    rows = list(
        against_daemons(FILES, {"datanode": runs}, {"datanode": ["core-site.xml", "hdfs-site.xml"]}, {"a": "9"})
    )
    assert {row["setting"]: row["runs"] for row in rows} == differ
    assert all(row["default"] == ("9" if row["setting"] == "a" else None) for row in rows)


def test_what_hadoop_has_no_default_for_is_not_known_and_never_equal() -> None:
    rows = list(against_defaults({"y.xml": {"y": "2", "z": "3"}}, {"y": "2"}))
    assert rows == [{"file": "y.xml", "setting": "z", "writes": "3", "default": None}]


def test_a_file_of_hadoop_is_read_and_anything_else_refused() -> None:
    text = "<configuration><property><name> a </name><value>\n1 </value></property><property><name>b</name></property>"
    assert values_of(f"{text}</configuration>") == {"a": "1", "b": ""}
    with pytest.raises(ValueError, match="no element found"):
        values_of(text)
