"""The second copy of the masters' data, on another node: always what the controller's was, or not noted at all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from fawkes.errors import RefusedError
from fawkes.live.kept_copy import CopyFolder, KeepError
from fawkes.live.second_copy import SecondCopy, Snapshot
from tests.live.kept_site import CLUSTER, MASTER, SECOND, THIRD, KeptSite, content, kept_site, state
from tests.live.namenode_files import version


@pytest.fixture
def site(tmp_path: Path) -> Iterator[KeptSite]:
    with kept_site(tmp_path) as site:
        yield site


def push(site: KeptSite, copy: CopyFolder, second: SecondCopy) -> None:
    snapshot = Snapshot.of(copy)
    assert snapshot is not None
    second.push(snapshot, SECOND, site.lease(SECOND))
    there = site.path(SECOND, "kept")
    assert content(there / "nn") == content(copy.path)
    assert state(there / "rm-state") == state(copy.state_path)
    assert (there / "nn/VERSION").read_text() == copy.version


def test_it_follows_the_controllers(site: KeptSite) -> None:
    copy = site.copy()
    second = site.second(copy)
    store = site.path(MASTER, "rm-state")
    (store / "Root").mkdir(parents=True)
    for number in range(4):
        site.nn.write(b"a" * 100, b"b" * 2_000_000)
        (store / f"Root/app{number}").write_bytes(b"one")
        (store / f"Root/app{number - 1}").unlink(missing_ok=True)
        site.bring(copy)
        push(site, copy, second)
        if number == 1:
            site.nn.roll()
        if number == 2:
            site.nn.checkpoint()
    assert second.copied_us(SECOND, CLUSTER) == copy.copied_us
    assert site.path(SECOND, "kept").stat().st_mode & 0o077 == 0


def test_a_controller_that_was_started_again_goes_on_where_it_was(site: KeptSite) -> None:
    copy = site.copy()
    site.nn.write(b"a", b"b")
    site.bring(copy)
    push(site, copy, site.second(copy))
    kept = site.path(SECOND, "kept/nn") / site.nn.segment.name
    before = kept.stat().st_ino
    site.nn.write(b"c")
    site.bring(copy := site.copy())
    push(site, copy, site.second(copy))
    assert kept.stat().st_ino == before


@pytest.mark.parametrize("damage", [b"", b"something else entirely"])
def test_one_that_is_not_as_it_was_sent_is_made_afresh(site: KeptSite, damage: bytes) -> None:
    copy = site.copy()
    second = site.second(copy)
    site.nn.write(b"a")
    site.bring(copy)
    push(site, copy, second)
    (site.path(SECOND, "kept/nn") / site.nn.segment.name).write_bytes(damage)
    site.nn.write(b"b")
    site.bring(copy)
    with pytest.raises(KeepError, match="the second copy has another"):
        push(site, copy, second)
    push(site, copy, second)


def test_one_of_another_namespace_is_set_aside(site: KeptSite) -> None:
    copy = site.copy()
    site.bring(copy)
    push(site, copy, site.second(copy))
    there = site.path(SECOND, "kept")
    (there / "nn/VERSION").write_text(version(namespace=7))
    push(site, copy, site.second(copy))
    assert "namespaceID=7" in (there.with_name("kept.before") / "nn/VERSION").read_text()


def test_a_node_that_is_somebody_elses_gets_nothing(site: KeptSite) -> None:
    copy = site.copy()
    site.bring(copy)
    snapshot = Snapshot.of(copy)
    assert snapshot is not None
    with pytest.raises(RefusedError):
        site.second(copy).push(snapshot, SECOND, replace(site.lease(SECOND), generation=2))
    assert not site.path(SECOND, "kept").exists()


def test_a_node_without_one_has_none(site: KeptSite) -> None:
    assert site.second(site.copy()).copied_us(THIRD, CLUSTER) is None
