"""The keeper: who is told of copies and when, the last data of stopped masters, a copy on its way to other nodes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from fawkes.base.errors import FawkesError, HostError, RefusedError
from fawkes.core.clusters.keeping import KeepRules
from fawkes.core.values.model import NodeId
from fawkes.live.clusters.given import Given
from fawkes.live.edits.edit_log import HEADER_BYTES
from fawkes.live.edits.kept_copy import KeepError
from fawkes.live.hadoop.setup import Setup
from fawkes.live.masters.keeping import Keeper
from fawkes.live.nodes.clusters import LiveCluster
from playbooks import lease as leases
from tests.live.kept_site import CLUSTER, MASTER, SECOND, THIRD, KeptSite, content, kept_site, state
from tests.live.namenode_files import NameNodeFiles, version
from tests.support.waiting import wait_for

pytestmark = pytest.mark.slow


@pytest.fixture
def site(tmp_path: Path) -> Iterator[KeptSite]:
    with kept_site(tmp_path) as site:
        yield site


@pytest.fixture
def living(site: KeptSite) -> KeptSite:
    """Its masters run, and both copies are there."""
    site.run_namenode()
    store = site.path(MASTER, "rm-state/Root")
    store.mkdir(parents=True)
    (store / "app").write_bytes(b"one")
    site.nn.write(b"a", b"b")
    site.lives()
    site.round()
    assert site.told() == ""
    second_is_there(site)
    return site


def second_is_there(site: KeptSite, at: NodeId = SECOND) -> None:
    """The second copy is noted; the first of it is looked at by its note."""

    def copied() -> bool:
        site.keeper.round()
        return site.path(at, "kept/note").exists()

    wait_for(copied, "a second copy")


def data(site: KeptSite, at: NodeId) -> dict[str, bytes]:
    return content(site.path(at, "nn/current"))


@pytest.mark.nightly
def test_copies_are_told_once_until_they_fail_and_again_when_they_work(
    living: KeptSite, caplog: pytest.LogCaptureFixture
) -> None:
    living.stop_namenode()
    living.keeper.round()
    assert "the NameNode is not running" in living.told()
    assert any("NameNode is not running" in each.message for each in caplog.records if each.levelname == "WARNING")
    living.keeper.round()
    living.run_namenode()
    living.round()
    assert living.told() == ""


@pytest.mark.nightly
def test_masters_that_do_not_run_make_no_copy_newer(living: KeptSite) -> None:
    before = living.round()
    living.stop_namenode()
    living.nn.write(b"c")
    living.keeper.round()
    living.told()
    found = living.keeper.newest(CLUSTER)
    assert found is not None
    assert found.copied_us == before.copied_us


@pytest.mark.nightly
def test_a_second_copy_that_fails_is_told_and_the_controllers_goes_on(living: KeptSite) -> None:
    living.ground.run(SECOND, leases.close(living.lease(SECOND)), "closing")
    living.nn.write(b"c")
    living.round()
    assert living.told().startswith("the second copy: ")
    assert living.round().transaction == 3
    living.lives(copy_on=THIRD)
    living.round()
    second_is_there(living, THIRD)
    assert living.told() == ""


@pytest.mark.nightly
def test_the_last_data_of_stopped_masters_are_taken(living: KeptSite) -> None:
    living.nn.write(b"c", b"d")
    living.stop_namenode()
    with living.keeper.held(CLUSTER):
        living.keeper.round()
        assert living.keeper.top_up(CLUSTER, MASTER).transaction == 4


def test_stopped_masters_that_lack_what_the_copy_has_give_nothing(living: KeptSite) -> None:
    older = living.path(MASTER, "nn/current") / living.nn.segment.name
    before = older.read_bytes()
    living.nn.write(b"c")
    copy = living.round()
    living.stop_namenode()
    older.write_bytes(before)
    with pytest.raises(KeepError, match="does not continue the copy"):
        living.keeper.top_up(CLUSTER, MASTER)
    found = living.keeper.newest(CLUSTER)
    assert found is not None
    assert found.transaction == copy.transaction


def test_masters_that_lost_their_disk_give_nothing_and_the_copy_stays(living: KeptSite) -> None:
    before = living.round()
    living.stop_namenode()
    living.nn.current.rename(living.nn.current.with_name("lost"))
    with pytest.raises(KeepError, match="no data of a NameNode"):
        living.keeper.top_up(CLUSTER, MASTER)
    assert living.keeper.newest(CLUSTER) == before


@pytest.mark.parametrize("at", [SECOND, THIRD])
def test_a_copy_becomes_the_masters_data_of_another_node(living: KeptSite, at: NodeId) -> None:
    living.nn.checkpoint()
    living.nn.write(b"c")
    copy = living.round()
    living.keeper.place(copy, at, living.lease(at))
    found = data(living, at)
    assert found == {name: found[name] for name in living.nn.content() if name in found}
    assert found == {name: living.nn.content()[name] for name in found}
    assert set(copy.names()) <= set(found)
    assert (living.path(at, "nn/current/VERSION")).read_text() == living.nn.version
    assert (living.path(at, "nn/current/seen_txid")).read_text() == "3\n"
    assert state(living.path(at, "rm-state")) == {"Root/app": b"one"}


def test_placing_again_leaves_what_the_namenode_wrote_since(living: KeptSite) -> None:
    copy = living.round()
    living.keeper.place(copy, THIRD, living.lease(THIRD))
    written = living.path(THIRD, "nn/current/edits_inprogress_0000000000000000009")
    written.write_bytes(b"new")
    living.keeper.place(copy, THIRD, living.lease(THIRD))
    assert written.read_bytes() == b"new"


@pytest.mark.nightly
def test_what_lies_where_a_copy_is_placed_is_set_aside(living: KeptSite) -> None:
    copy = living.round()
    for number in (1, 2):
        older = living.path(THIRD, "nn")
        (older / "current").mkdir(parents=True, exist_ok=True)
        (older / "current/precious").write_text(f"{number}")
        (older / "placed").unlink(missing_ok=True)
        (living.path(THIRD, "rm-state") / "old").write_text(f"{number}")
        living.keeper.place(copy, THIRD, living.lease(THIRD))
        assert (living.path(THIRD, f"nn.before-{number}") / "current/precious").read_text() == f"{number}"
        assert (living.path(THIRD, f"rm-state.before-{number}") / "old").read_text() == f"{number}"
    assert data(living, THIRD) == content(copy.files)


def test_a_copy_is_not_placed_under_a_running_namenode(living: KeptSite) -> None:
    copy = living.round()
    before = data(living, MASTER)
    with pytest.raises(RefusedError, match="the namenode runs here"):
        living.keeper.place(copy, MASTER, living.lease(MASTER))
    assert data(living, MASTER) == before


def test_a_copy_of_another_mr_cluster_is_not_placed_beside_blocks(living: KeptSite) -> None:
    copy = living.round()
    living.path(THIRD, "dn/current/BP-9-10.0.0.1-1").mkdir(parents=True)
    with pytest.raises(RefusedError, match="another MR-cluster"):
        living.keeper.place(copy, THIRD, living.lease(THIRD))
    assert not living.path(THIRD, "nn").exists()
    living.path(THIRD, "dn/current/BP-1-127.0.0.1-1").mkdir()
    living.keeper.place(copy, THIRD, living.lease(THIRD))


@pytest.mark.nightly
def test_a_copy_is_not_placed_where_the_lease_does_not_allow_it(living: KeptSite) -> None:
    copy = living.round()
    with pytest.raises(RefusedError):
        living.keeper.place(copy, THIRD, replace(living.lease(THIRD), generation=2))
    assert not living.path(THIRD, "nn").exists()


@pytest.mark.nightly
def test_a_second_copy_that_is_damaged_is_not_what_is_placed(living: KeptSite) -> None:
    copy = living.round()
    (living.path(SECOND, "kept/nn") / living.nn.segment.name).write_bytes(b"damaged")
    living.keeper.place(copy, SECOND, living.lease(SECOND))
    assert data(living, SECOND) == content(copy.files)


@pytest.mark.nightly
def test_the_copy_goes_on_with_the_new_masters(living: KeptSite) -> None:
    copy = living.round()
    living.stop_namenode()
    living.keeper.place(copy, SECOND, living.lease(SECOND))
    # A NameNode closes the segment that it finds, and begins another.
    current = living.path(SECOND, "nn/current")
    (current / "edits_inprogress_0000000000000000001").rename(current / f"edits_{1:019d}-{2:019d}")
    moved = living.path(SECOND, "new")
    living.nn = NameNodeFiles(moved, last=2, first=3)
    living.nn.write(b"c")
    for name in ("edits_inprogress_0000000000000000003",):
        (moved / name).rename(current / name)
    living.run_namenode(SECOND)
    living.lives(master=SECOND, copy_on=THIRD)
    assert living.round().transaction == 3
    assert not (living.folder / "state" / f"{CLUSTER}.before").exists()


@pytest.mark.nightly
def test_what_the_copy_had_and_the_new_masters_have_not_is_set_aside(living: KeptSite) -> None:
    copy = living.round()
    living.keeper.place(copy, SECOND, living.lease(SECOND))
    living.nn.write(b"never seen by the new masters")
    living.round()
    living.stop_namenode()
    current = living.path(SECOND, "nn/current")
    (current / "edits_inprogress_0000000000000000001").rename(current / f"edits_{1:019d}-{2:019d}")
    living.run_namenode(SECOND)
    living.lives(master=SECOND, copy_on=None)
    assert living.round().transaction == 2
    assert (living.folder / "state" / f"{CLUSTER}.before").exists()


def test_a_lost_state_folder_is_filled_from_the_second_copy(living: KeptSite) -> None:
    copy = living.round()
    kept = content(copy.files)
    living.keeper.remove(CLUSTER)
    assert living.keeper.newest(CLUSTER) is None
    copied_us = living.keeper.second(CLUSTER, SECOND)
    found = living.keeper.fetch(CLUSTER, SECOND)
    # A push that was under way may have ended in between.
    assert copied_us is not None
    assert found.copied_us >= copied_us
    assert content(found.files) == kept
    assert state(found.state) == {"Root/app": b"one"}
    assert living.keeper.newest(CLUSTER) == found


@pytest.mark.nightly
def test_what_is_no_copy_of_the_mr_cluster_is_not_fetched(living: KeptSite) -> None:
    before = living.round()
    (living.path(SECOND, "kept/nn/VERSION")).write_text(version("pool-c-2"))
    assert living.keeper.second(CLUSTER, SECOND) is None
    with pytest.raises(FawkesError):
        living.keeper.fetch(CLUSTER, SECOND)
    with pytest.raises(HostError):
        living.keeper.fetch(CLUSTER, THIRD)
    assert living.keeper.newest(CLUSTER) == before


@pytest.mark.nightly
def test_a_copy_that_an_earlier_mr_cluster_of_the_name_left_is_never_used(living: KeptSite) -> None:
    living.round()
    living.lives(ready=False)

    def given_up() -> bool:
        living.keeper.round()
        return living.keeper.newest(CLUSTER) is None

    wait_for(given_up, "the end of the copy")
    assert (living.folder / "state" / f"{CLUSTER}.before").exists()


@pytest.mark.nightly
def test_a_failover_does_not_wait_for_a_round_that_hangs_on_the_dead_node(living: KeptSite) -> None:
    copy = living.round()
    path = living.path(MASTER, "nn/current/VERSION")
    path.unlink()
    os.mkfifo(path)
    living.keeper.round()
    living.nn.write(b"not acknowledged by the new masters")
    living.keeper.place(copy, THIRD, living.lease(THIRD))
    assert data(living, THIRD) == content(copy.files)
    # Not by `open`: it would wait for a reader if the round was never begun.
    end = os.open(path, os.O_RDWR)
    os.write(end, living.nn.version.encode())
    os.close(end)


@pytest.mark.nightly
def test_copies_go_with_their_mr_cluster_alone(living: KeptSite) -> None:
    folder = living.folder / "state"
    living.keeper.clear(lambda cluster: True)
    assert living.keeper.newest(CLUSTER) is not None
    living.keeper.given.put(CLUSTER, Given(1, SECOND, 1))
    # A fetch that a crash has cut off leaves these.
    (folder / f".{CLUSTER}.fetched" / "nn").mkdir(parents=True)
    (folder / f".{CLUSTER}.fetched.tar").write_text("half")
    (folder / ".other.fetched.tar").write_text("half")
    living.clusters.remove(CLUSTER)
    living.keeper.clear(lambda cluster: cluster != CLUSTER)
    assert {path.name for path in folder.iterdir()} == {".other.fetched.tar"}


@pytest.mark.nightly
def test_the_controllers_copy_is_for_its_user_alone(living: KeptSite) -> None:
    for path in [living.folder / "state" / CLUSTER, *(living.folder / "state" / CLUSTER).rglob("*")]:
        assert path.stat().st_mode & 0o077 == 0, path
    assert len(content(living.round().files)[living.nn.segment.name]) > HEADER_BYTES


class Made:
    """A command that makes an image, as far as the NameNode's files show."""

    def __init__(self, site: KeptSite) -> None:
        self.mark = site.folder / "checkpoint made"

    def checkpoint_argv(self, cluster: LiveCluster, node: NodeId) -> list[str]:
        return ["/bin/sh", "-c", 'echo "$WHO" >>"$0"', f"{self.mark}"]

    def environment(self, cluster: LiveCluster, node: NodeId) -> dict[str, str]:
        return {"WHO": str(node)}


@pytest.mark.nightly
def test_many_edits_are_made_an_image_once_on_the_node_of_the_second_copy(site: KeptSite) -> None:
    made, rules = Made(site), KeepRules(edits_bytes=1000)
    state, setup = site.folder / "state", cast(Setup, made)
    site.keeper = Keeper(site.ground, site.clusters, site.fleet, site.mailbox, state, setup, rules)
    site.run_namenode()
    site.lives()
    site.round()
    assert not made.mark.exists()
    site.nn.write(b"x" * 2000)
    for _ in range(2000):
        site.round()
        if made.mark.exists():
            break
    for _ in range(3):
        site.round()
    assert made.mark.read_text() == f"{SECOND}\n"
