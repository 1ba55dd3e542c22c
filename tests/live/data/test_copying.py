"""The controller's copy of the masters' data: whatever the NameNode does, and wherever a crash cuts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fawkes.base.errors import HostError
from fawkes.core.values.model import NodeId
from fawkes.live.data.copying import Copier
from fawkes.live.edits.edit_log import needed
from fawkes.live.edits.kept_copy import CopyFolder, KeepError
from fawkes.live.nodes.ground import Ground
from fawkes.playbook import Facts, Script
from tests.live.kept_site import CLUSTER, MASTER, KeptSite, content, kept_site, state
from tests.live.namenode_files import HEADER, NameNodeFiles, operation, version

pytestmark = pytest.mark.slow


def last(copy: CopyFolder) -> int:
    """The last transaction of a copy that a NameNode can start from."""
    kept = copy.copy()
    assert kept is not None
    return kept.transaction


def same(site: KeptSite, copy: CopyFolder) -> bool:
    """True if the copy has all that a NameNode would read, and nothing else."""
    names = needed(list(site.nn.content())) or []
    wanted = {each.name for each in names} & set(site.nn.content())
    theirs = {name: data for name, data in site.nn.content().items() if name in wanted}
    images = {name: data for name, data in content(copy.path).items() if name.startswith("fsimage")}
    assert last(copy) == site.nn.last
    assert images.items() <= site.nn.content().items()
    return {name: data for name, data in content(copy.path).items() if name not in images} == theirs


def test_all_that_was_acknowledged_is_copied(site: KeptSite) -> None:
    copy = site.copy()
    assert copy.copy() is None
    site.bring(copy)
    assert same(site, copy)
    site.nn.write(b"a", b"b" * 5000)
    assert site.bring(copy).changed
    assert same(site, copy)
    assert not site.bring(copy).changed
    assert not site.bring(copy).running


STEPS: dict[str, Callable[[NameNodeFiles], None]] = {
    "write": lambda nn: nn.write(b"x" * 100),
    "much": lambda nn: nn.write(*[b"y" * 3000] * 20),
    "roll": NameNodeFiles.roll,
    "crash": NameNodeFiles.crash,
    "checkpoint": NameNodeFiles.checkpoint,
    "purge": NameNodeFiles.purge,
}


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rounds=st.lists(st.lists(st.sampled_from(sorted(STEPS)), max_size=5), min_size=1, max_size=4))
def test_a_copy_follows_whatever_the_namenode_does(
    rounds: list[list[str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    with kept_site(tmp_path_factory.mktemp("site")) as site:
        copy = site.copy()
        for steps in rounds:
            for step in steps:
                STEPS[step](site.nn)
            site.bring(copy)
            assert same(site, copy), steps
            copy = site.copy()
            assert same(site, copy), "taken up again"


def test_a_segment_that_a_crash_left_padded_is_copied_to_its_last_operation(site: KeptSite) -> None:
    """Hadoop only renames it. The copy may have a part of it, all of it, or nothing yet."""
    copy = site.copy()
    site.nn.write(b"a")
    site.bring(copy)
    for write in (True, False):
        if write:
            site.nn.write(b"b")
        site.nn.crash()
        site.nn.write(b"c")
        assert site.bring(copy).changed
        assert same(site, copy)
        assert not site.bring(copy).changed
    site.nn.write(b"d")
    site.nn.crash()
    copy.set_aside()
    site.bring(copy)
    assert same(site, copy)


@pytest.mark.parametrize("part", [operation(3)[:9], operation(3)[:-1], b"\x09\x00\x00"])
def test_an_operation_that_is_being_written_is_waited_for_and_never_copied(site: KeptSite, part: bytes) -> None:
    copy = site.copy()
    site.nn.write(b"a", b"b")
    site.bring(copy)
    site.nn.tear(part)
    with pytest.raises(KeepError, match="not whole"):
        site.bring(copy)
    assert same(site, copy)
    site.nn.write(b"c")
    site.bring(copy)
    assert same(site, copy)


def test_a_long_operation_is_copied(site: KeptSite) -> None:
    site.nn.write(b"l" * (3 << 20))
    copy = site.copy()
    site.bring(copy)
    assert same(site, copy)


class Counting(Ground):
    """The ground of a site, with the number of scripts that were played."""

    played = 0

    def run(self, node: NodeId, script: Script, doing: str, **more: Any) -> Facts:
        self.played += 1
        return super().run(node, script, doing, **more)


def test_a_steady_stream_of_writes_needs_one_look_in_each_round(site: KeptSite) -> None:
    """Each look starts processes on the masters' node: they are what a copy costs."""
    ground = Counting(site.ground.nodes.values(), site.ground.identity, site.fleet, command_s=60, threads=4)
    copy, copier = site.copy(), Copier(ground, site.fleet, site.mailbox.clock.now_us)
    played = []
    for _ in range(4):
        site.nn.write(*[b"x" * 100] * 400)
        before = ground.played
        copier.bring(copy, CLUSTER, MASTER, compare=False)
        played.append(ground.played - before)
        assert copy.last(min(copy.segments())) == site.nn.last
    assert played[0] > 1
    assert played[2:] == [1, 1]


def test_what_a_crash_left_of_an_operation_is_cut_off(site: KeptSite) -> None:
    copy = site.copy()
    site.nn.write(b"a", b"b")
    site.bring(copy)
    before = copy.copy()
    with site.copy().path.joinpath(site.nn.segment.name).open("ab") as file:
        file.write(operation(3)[:11])
    again = site.copy()
    assert again.copy() == before
    site.nn.write(b"c")
    site.bring(again, compare=True)
    assert same(site, again)


def test_a_copy_whose_first_round_was_cut_short_is_none(site: KeptSite) -> None:
    copy = site.copy()
    copy.begin(version())
    assert site.copy().copy() is None
    site.bring(copy := site.copy())
    assert same(site, copy)


def test_a_namenode_that_was_formatted_anew_leaves_the_copy_as_it_is(site: KeptSite) -> None:
    copy = site.copy()
    site.nn.write(b"a")
    site.bring(copy)
    before = copy.copy()
    (site.nn.current / "VERSION").write_text(version(namespace=2))
    with pytest.raises(KeepError, match="formatted anew"):
        site.bring(copy, compare=True)
    assert site.copy().copy() == before


def test_data_of_another_cluster_are_not_copied(site: KeptSite) -> None:
    (site.nn.current / "VERSION").write_text(version("pool-c-2"))
    with pytest.raises(KeepError, match="of pool-c-2, not of pool-c-1"):
        site.bring(site.copy())


def test_a_history_that_took_another_turn_is_copied_afresh(site: KeptSite) -> None:
    copy = site.copy()
    site.nn.write(b"a", b"b")
    site.bring(copy)
    site.nn.segment.unlink()
    for path in list(site.nn.current.iterdir()):
        path.unlink()
    site.nn.current.rmdir()
    site.nn = NameNodeFiles(site.nn.current)
    site.nn.write(b"a", b"other")
    site.bring(copy, compare=True)
    assert same(site, copy)


def test_an_image_that_does_not_match_its_checksum_is_not_taken(site: KeptSite) -> None:
    copy = site.copy()
    site.bring(copy)
    site.nn.write(b"a")
    site.nn.checkpoint()
    (site.nn.current / f"fsimage_{1:019d}").write_bytes(b"damaged")
    with pytest.raises(KeepError, match="did not arrive whole"):
        site.bring(copy)
    assert site.copy().image == 0


def test_masters_without_data_are_said(site: KeptSite) -> None:
    site.nn.current.rename(site.nn.current.with_name("gone"))
    with pytest.raises(KeepError, match="no data of a NameNode"):
        site.bring(site.copy())


def test_a_node_that_does_not_answer_is_a_host_error(site: KeptSite) -> None:
    site.server.close()
    with pytest.raises(HostError):
        site.bring(site.copy())


def test_the_state_store_is_followed_without_what_hadoop_makes_beside(site: KeptSite) -> None:
    store = site.path(MASTER, "rm-state")
    (store / "Root/app_1").mkdir(parents=True)
    (store / "Root/app_1/app_1").write_bytes(b"one")
    (store / "Root/app_1/.app_1.crc").write_bytes(b"sum")
    (store / "Root/Epoch.tmp").write_bytes(b"half")
    copy = site.copy()
    assert site.bring(copy).changed
    assert state(copy.state_path) == {"Root/app_1/app_1": b"one"}
    assert not site.bring(copy).changed
    (store / "Root/app_1/app_1").write_bytes(b"two")
    (store / "Root/app_2").write_bytes(b"three")
    site.bring(copy)
    assert state(copy.state_path) == {"Root/app_1/app_1": b"two", "Root/app_2": b"three"}
    # A ResourceManager that was killed while it replaced a file goes on with this one.
    (store / "Root/app_1/app_1").rename(store / "Root/app_1/app_1.new")
    site.bring(copy)
    expected = {"Root/app_1/app_1.new": b"two", "Root/app_2": b"three"}
    assert state(copy.state_path) == state(site.copy().state_path) == expected
    (store / "Root/app_1/app_1.new").unlink()
    site.bring(copy)
    assert state(copy.state_path) == {"Root/app_2": b"three"}


def test_a_full_disk_is_said_and_the_copy_stays_usable(site: KeptSite) -> None:
    copy = site.copy()
    site.nn.write(b"a")
    site.bring(copy)
    before = copy.copy()
    full = CopyFolder(site.folder / "state" / "c-1", "pool-c-1", lambda path: 1000)
    site.nn.write(b"b")
    with pytest.raises(KeepError, match="no room"):
        site.bring(full)
    assert site.copy().copy() == before


class Journal:
    """The JournalNode beside the NameNode: closed segments, as another NameNode has written them."""

    def __init__(self, site: KeptSite) -> None:
        self.current = Path(site.folders(MASTER).journal) / "c-1" / "current"
        self.current.mkdir(parents=True)

    def closed(self, first: int, last: int, content: bytes = b"x" * 20) -> bytes:
        data = HEADER + b"".join(operation(number, content) for number in range(first, last + 1))
        (self.current / f"edits_{first:019d}-{last:019d}").write_bytes(data)
        return data


def test_what_another_namenode_has_written_comes_from_the_journal(site: KeptSite) -> None:
    """After a takeover the folder of the new NameNode begins with its own first segment."""
    written = Journal(site).closed(1, 4)
    site.nn.segment.unlink()
    site.nn.first, site.nn.last = 5, 4
    site.nn.write(b"a", b"b")
    copy = site.copy()
    site.bring(copy)
    assert last(copy) == 6
    assert content(copy.path)[f"edits_{1:019d}-{4:019d}"] == written
    assert not site.bring(copy, compare=True).changed


def test_where_both_have_a_segment_the_journal_counts(site: KeptSite) -> None:
    """A NameNode that was shut out may have closed more than was acknowledged, and have an open end from then."""
    journal = Journal(site)
    site.nn.write(*[b"not acknowledged"] * 5)
    site.nn.roll()
    site.nn.write(b"nor this")
    stale = site.nn.segment
    written = journal.closed(1, 4), journal.closed(5, 9)
    (journal.current / f"edits_inprogress_{10:019d}").write_bytes(HEADER)
    copy = site.copy()
    site.bring(copy)
    assert last(copy) == 9
    contents = content(copy.path)
    assert (contents[f"edits_{1:019d}-{4:019d}"], contents[f"edits_{5:019d}-{9:019d}"]) == written
    assert stale.name not in contents
