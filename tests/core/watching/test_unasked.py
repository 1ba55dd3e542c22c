"""Masters that the controller could not ask, for want of a ticket: nothing is known of them, and nothing follows."""

from __future__ import annotations

import pytest

from fawkes.core.values.events import MastersSeen
from tests.support.desk import grown
from tests.support.leaving import SILENT_S, A


@pytest.mark.parametrize("silent_s", [0, SILENT_S - 1, SILENT_S])
def test_masters_that_could_not_be_asked_are_not_silent(silent_s: int) -> None:
    """A silence before that says nothing of the time since then, and users read why nobody asks."""
    desk = grown()
    if silent_s:
        desk.masters(A, "refused")
        desk.wait(silent_s)
    lives = [node.life for node in desk.state.nodes.values()]
    why = "keytabs/a.keytab: the KDC gave no ticket"
    desk.tell(MastersSeen(at_us=desk.now_us, cluster=A, error=why, unasked=True))
    assert desk.cluster(A).alert == f"the controller cannot ask its masters: {why}"
    desk.wait(10 * SILENT_S)
    assert [node.life for node in desk.state.nodes.values()] == lives
    desk.submit(A, 1)
    assert desk.said("job-held")[0]["error"] == desk.cluster(A).alert
    desk.masters(A, "refused")
    desk.wait(SILENT_S - 1)
    assert [node.life for node in desk.state.nodes.values()] == lives
    desk.masters(A)
    assert (desk.cluster(A).alert, desk.cluster(A).silent_us) == ("", None)
