"""An MR-cluster whose name another had before: answers about the other are not about it."""

from __future__ import annotations

import pytest

from fawkes.core.clusters.picture import Picture, picture, restored
from fawkes.core.state.state import State, evolve
from fawkes.core.values.model import ClusterId, ClusterLife
from fawkes.engine import rebuild
from fawkes.store.record import from_plain, to_plain
from tests.support.desk import Desk

A = ClusterId("a")


def gone() -> tuple[Desk, int]:
    """A pool in which `a` was saved and is gone, and the version of its save."""
    desk = Desk.running("a", count=4)
    desk.release(A)
    saved = desk.state.pending["cluster:a"].version
    desk.done("cluster:a")
    desk.clean_all()
    assert A not in desk.state.clusters
    return desk, saved


def saving(desk: Desk) -> int:
    """The next `a` is being saved; the version of its save."""
    desk.up("a")
    desk.release(A)
    return desk.state.pending["cluster:a"].version


def test_a_doubled_saved_of_a_predecessor_does_not_wipe_the_next_of_its_name() -> None:
    desk, before = gone()
    saving(desk)
    desk.done("cluster:a", version=before)
    assert desk.codes() == ["late-answer"]
    assert desk.state.clusters[A].life is ClusterLife.SAVING


def test_the_versions_of_a_name_only_ever_rise() -> None:
    desk, before = gone()
    last = desk.state.first_version(A) - 1
    assert last >= before
    desk.request("a")
    assert desk.state.pending["cluster:a"].version > last
    # Given back before anything of it was told: the number of the first is not forgotten.
    desk.release(A)
    desk.clean_all()
    assert desk.state.first_version(A) > last + 1


def test_a_name_that_is_new_begins_as_before() -> None:
    desk, _ = gone()
    assert desk.state.first_version(ClusterId("b")) == 0


@pytest.mark.parametrize("way", ["picture", "rebuilt"])
def test_the_last_version_survives_a_restart(way: str) -> None:
    desk, before = gone()
    if way == "picture":
        state = restored(from_plain(Picture, to_plain(picture(desk.state))))
    else:
        state = rebuild(desk.store.entries())
    assert state.first_version(A) == desk.state.first_version(A) > before
    assert saving(Desk(4, state=state)) > before


def test_the_picture_of_an_earlier_version_knows_no_names_that_are_gone() -> None:
    desk, _ = gone()
    plain = to_plain(picture(desk.state))
    assert isinstance(plain, dict)
    del plain["versions"]
    assert restored(from_plain(Picture, plain)).first_version(A) == 0


def test_pictures_of_the_same_state_are_the_same() -> None:
    desk, _ = gone()
    state = State()
    for entry in desk.store.entries():
        evolve(state, entry.event.at_us, entry.decision.changes)
    assert to_plain(picture(state)) == to_plain(picture(desk.state))
