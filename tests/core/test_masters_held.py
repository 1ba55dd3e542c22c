"""Lost masters that the settings leave alone: an operator decides."""

from __future__ import annotations

from fawkes.core.effects import LookAtMasters
from tests.support.desk import Desk
from tests.support.masters import all_of, at, begun, cluster, look, restore, silence
from tests.support.pools import settings


def test_lost_masters_that_nothing_takes_over_can_be_restored() -> None:
    desk = Desk(6, how=settings(masters_lost_us=0))
    desk.up("a", 3)
    restore(desk)
    assert desk.refusal() == "masters-answer"
    silence(desk)
    at(desk, 100)
    restore(desk, dry_run=True)
    assert (desk.refusal(), cluster(desk).moving) == ("", None)
    restore(desk)
    assert len(all_of(desk, LookAtMasters)) == 1
    look(desk, copied_us=5, reached=[])
    assert begun(desk)
