"""Lines below the table of `fawkes status`."""

from __future__ import annotations

from fawkes.cli.clusters.status import target_lines


def test_targets_of_nodes_that_are_gone() -> None:
    pool = {"nodes": 9, "out": 3, "lost": 0, "simulated": False}
    row = {"cluster": "a", "target": 8, "out_of_service": 0, "nodes": 6}
    assert target_lines(pool, [row]) == ["the targets are for 8 nodes, and 6 are in service now: see the next tick"]
    assert target_lines(pool, [row | {"target": 6}]) == []
    assert target_lines(pool, [row | {"target": None, "out_of_service": 2}]) == []
