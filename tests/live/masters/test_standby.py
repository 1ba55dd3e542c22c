"""Looks at a second NameNode and its journal: what is told, and when."""

from __future__ import annotations

from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fawkes.core.values.events import StandbySeen
from fawkes.live.base.mailbox import Mailbox
from fawkes.live.base.timers import Clock
from fawkes.live.masters.standby import LatestEdit, StandbyWatch
from tests.live.masters_site import OLD, THIRD, TO
from tests.live.pair_site import PairSite
from tests.live.played import NoTicket

pytestmark = pytest.mark.slow


class Looks:
    """Looks until their end, and what each of them told."""

    def __init__(self, site: PairSite) -> None:
        self.mailbox = Mailbox(Clock(0))
        self.watch = StandbyWatch(site.clusters, site.pair, self.mailbox, behind_us=0)

    def told(self) -> list[tuple[str, bool, str]]:
        self.watch.round()
        for eye in self.watch._eyes.values():
            if eye.look is not None:
                eye.look.result()
        self.mailbox.end()
        found = list(iter(self.mailbox.take, None))
        self.mailbox = self.watch._mailbox = Mailbox(Clock(0))
        return [(each.node, each.ready, each.error) for each in cast(list[StandbySeen], found)]


def test_what_is_whole_is_told_once(site: PairSite) -> None:
    looks = Looks(site)
    assert looks.told() == [(TO, True, "")]
    assert looks.told() == []


def test_one_part_of_the_journal_may_be_away_while_it_is_ready(site: PairSite) -> None:
    looks = Looks(site)
    looks.told()
    site.stop(THIRD, "journalnode")
    ((node, ready, error),) = looks.told()
    assert (node, ready) == (TO, True)
    assert error.startswith("the JournalNode on node03 does not answer")
    site.stop(TO, "journalnode")
    ((_, ready, error),) = looks.told()
    assert (ready, error.count("JournalNode")) == (False, 2)


def test_a_second_namenode_that_cannot_take_over(site: PairSite) -> None:
    looks = Looks(site)
    looks.told()
    site.told(TO, "namenode", "transitionToActive")
    assert looks.told() == [(TO, False, "the second NameNode on node02 says that it is active")]
    site.stop(TO, "namenode")
    assert looks.told() == [], "that it is not ready is no news"
    site.lost.add(OLD)
    ((_, ready, error),) = looks.told()
    assert (ready, "the second NameNode on node02 does not answer" in error) == (False, True)


def test_what_could_not_be_asked_is_as_it_was(site: PairSite) -> None:
    looks = Looks(site)
    looks.told()
    site.setup.key = NoTicket()
    assert looks.told() == []


def test_nothing_is_told_while_masters_move_or_without_a_second_namenode(site: PairSite) -> None:
    looks = Looks(site)
    site.clusters.begin_move(site.cluster().id, TO)
    assert looks.told() == []
    site.clusters.end_move(site.cluster().id, OLD)
    site.clusters.arm(site.cluster().id, None)
    assert looks.told() == []


def test_how_long_a_second_namenode_has_been_behind() -> None:
    course = LatestEdit()
    course.note(10.0, 100)
    course.note(12.0, 103)
    assert course.behind_s(13.0, 103) == 0
    course.note(20.0, 103)
    assert course.behind_s(25.0, 99) == 5.0
    course.note(26.0, 110)
    assert course.behind_s(30.0, 103) == 4.0


@given(st.lists(st.tuples(st.floats(0.1, 5), st.integers(0, 3)), max_size=30))
def test_one_that_has_everything_is_never_behind(steps: list[tuple[float, int]]) -> None:
    course, now_s, txid = LatestEdit(), 0.0, 0
    for waited_s, written in steps:
        now_s, txid = now_s + waited_s, txid + written
        course.note(now_s, txid)
        assert course.behind_s(now_s, txid) == 0
