"""Orders to masters about a node after it has left, and masters that take a node for leaving that is not."""

from __future__ import annotations

import pytest

from fawkes.core.values.effects import Membership
from fawkes.core.values.events import Condition
from fawkes.core.values.sight import Compute, Stored
from tests.support.desk import grown
from tests.support.leaving import NODE, evacuating


def test_masters_forget_a_node_once_it_was_wiped() -> None:
    desk = evacuating()
    before = len(desk.world.effects)
    desk.look(NODE, Compute.LEFT, Stored.LEFT)
    desk.see(NODE, Condition.CLEAN)
    documents = [effect for effect in desk.world.effects[before:] if isinstance(effect, Membership)]
    assert documents
    assert NODE not in documents[-1].members


@pytest.mark.slow
@pytest.mark.parametrize(
    ("compute", "stored"),
    [
        (Compute.DRAINING, Stored.IN_SERVICE),
        (Compute.IDLE, Stored.IN_SERVICE),
        (Compute.RUNNING, Stored.LEAVING),
        (Compute.RUNNING, Stored.LEFT),
    ],
)
def test_a_serving_node_that_its_masters_think_leaves_is_told_again(compute: Compute, stored: Stored) -> None:
    desk = grown()
    desk.look(NODE, compute, stored)
    assert "told-again" in desk.wait(3600)
