"""Lines below the table of `fawkes status`."""

from __future__ import annotations

from pathlib import Path

import pytest

from fawkes.cli.clusters.status import page_line, target_lines
from fawkes.config.site.site import Site


def test_targets_of_nodes_that_are_gone() -> None:
    pool = {"nodes": 9, "out": 3, "lost": 0, "simulated": False}
    row = {"cluster": "a", "target": 8, "out_of_service": 0, "nodes": 6}
    assert target_lines(pool, [row]) == ["the targets are for 8 nodes, and 6 are in service now: see the next tick"]
    assert target_lines(pool, [row | {"target": 6}]) == []
    assert target_lines(pool, [row | {"target": None, "out_of_service": 2}]) == []


@pytest.mark.parametrize(
    ("page", "line"),
    [
        ({}, ""),
        ({"url": "http://127.0.0.1:8042/", "ended": ""}, "page: http://127.0.0.1:8042/"),
        (
            {"url": "http://127.0.0.1:8042/", "ended": "the page has ended (exit code 3); it is started again"},
            "page: http://127.0.0.1:8042/ IS NOT SERVED: the page has ended (exit code 3); it is started again",
        ),
        (None, "page: http://127.0.0.1:8077/ (not known if it is served: the controller does not say)"),
    ],
)
def test_the_line_about_the_page(page: dict[str, str] | None, line: str, tmp_path: Path) -> None:
    (tmp_path / "fawkes.toml").write_text('[web]\naddress = "127.0.0.1:8077"\ntokens = "tokens"\n')
    assert page_line(Site(tmp_path), page) == line


def test_nothing_is_said_about_a_page_that_there_is_not(tmp_path: Path) -> None:
    for text in ("", "web = 3"):
        (tmp_path / "fawkes.toml").write_text(text)
        assert page_line(Site(tmp_path), None) == ""
