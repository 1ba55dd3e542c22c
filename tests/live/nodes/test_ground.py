"""Errors of scripts on nodes, as the one who knows the inventory tells them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fawkes.base.errors import NodeRefusedError
from fawkes.core.values.model import ClusterId, NodeId
from fawkes.live.nodes.playbooks import lease as book
from tests.support.local_nodes import LocalFleet, node_of

A = ClusterId("alpha")


@pytest.mark.parametrize(
    ("holder", "advice"),
    [
        ("node04", "Check the addresses in inventory.toml: `fawkes check 'node[03-04]'`. Nothing was changed there"),
        ("other", "Give each node a work_dir on its own disk"),
    ],
)
def test_a_lease_of_another_node_of_the_inventory_is_an_address_to_check(
    holder: str, advice: str, tmp_path: Path
) -> None:
    nodes = [node_of(name, tmp_path) for name in ("node03", "node04")]
    ground = LocalFleet(nodes).ground(1, "c")
    right = ground.lease(NodeId("node03"), A, 1)
    ground.run(NodeId("node03"), book.take(replace(right, node=NodeId(holder))), "taking the node")
    for script in (book.take(right), book.close(right)):
        with pytest.raises(NodeRefusedError, match=f"belongs to node {holder}") as refused:
            ground.run(NodeId("node03"), script, "taking the node")
        assert str(refused.value.hint).startswith(advice)
