"""Saves to another HDFS: saved is what one attempt has seen at the target with equal, known checksums."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fawkes.core.jobs.copied import Compared, Files
from fawkes.live.data.saved import UnsavedError
from fawkes.live.wire.rest import close_session
from tests.live.clusters.test_stages import ACTIVE, APPS, FAR, INFO, Site
from tests.live.fake_hdfs import rpc, running
from tests.support.stub import stub_master

EQUAL = Compared(files=2, equal=2)
LOST = Files(1, ("1",), "no DataNode has it")


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with running() as server, rpc(server) as port, stub_master() as yarn:
        server.put("/out/a/1", b"one")
        server.put("/out/a/2", b"two")
        yarn.answers = {APPS: {"apps": {}}, INFO: ACTIVE}
        site = Site(server, port, yarn, tmp_path / "saved")
        site.outputs = {"/out/a": FAR}
        yield site
    close_session()


def save(site: Site, *compared: Compared) -> Any:
    """One attempt, in which the comparisons find this."""
    site.copies.compared = list(compared)
    facts = site.save(all_declared=False)
    assert site.copies.compared == []
    return facts


def test_a_copy_that_is_equal_is_copied_no_further(site: Site) -> None:
    facts = {"outputs": [{"path": "/out/a", "save_to": FAR}]}
    assert save(site, EQUAL) == facts
    assert save(site, EQUAL) == facts
    assert site.copies.hows() == ["-atomic"]


@pytest.mark.parametrize("noted", [True, False])
@pytest.mark.parametrize("how", ["missing", "different"])
def test_what_has_gone_since_an_earlier_attempt_is_copied_again(site: Site, noted: bool, how: str) -> None:
    """The same if the controller died before it noted the first copy."""
    save(site, EQUAL)
    if not noted:
        site.server.tree["/out/a"].xattrs.clear()
    gone, none = Files(1, ("1",)), Files()
    missing, different = (gone, none) if how == "missing" else (none, gone)
    lacking = Compared(files=2, equal=1, missing=missing, different=different)
    save(site, lacking, EQUAL)
    assert site.copies.hows() == ["-atomic", "-update"]
    with pytest.raises(UnsavedError, match=f"{how} there: 1"):
        save(site, lacking, lacking)


@pytest.mark.parametrize(
    ("found", "says"),
    [
        (
            Compared(files=2, equal=1, unknown_there=LOST),
            rf"equal at {FAR}: 1 of 2; without a checksum there: 1 \(no DataNode has it\)\. "
            rf"Repair that HDFS, or delete .*`hdfs dfs -rm {FAR}/1`\), then `fawkes retry c-1`",
        ),
        (Compared(files=2, equal=1, unknown_here=LOST), r"without a checksum in /out/a: 1 .*`hdfs dfs -rm /out/a/1`"),
        (
            Compared(files=2, equal=2, extra=Files(7, ("a x", "y"))),
            rf"there, but not in /out/a: a x, y and 5 more.*`hdfs dfs -rm '{FAR}/a x'`.*`fawkes retry c-1`",
        ),
        (Compared(files=2, equal=1), f"equal at {FAR}: 1 of 2"),
        (Compared(files=2, equal=2, whole=False), "the rest was not compared"),
    ],
)
def test_what_is_not_known_to_be_equal_is_not_saved(site: Site, found: Compared, says: str) -> None:
    """DistCp takes a file for equal when one of its two checksums cannot be had."""
    save(site, EQUAL)
    with pytest.raises(UnsavedError, match=says):
        save(site, found)
    assert site.copies.hows() == ["-atomic"]
    assert site.server.orders[-1] == "thaw"
    save(site, EQUAL)


def test_a_file_that_the_mr_cluster_cannot_read_is_named_with_its_reason(site: Site) -> None:
    site.server.tree["/out/a/1"].being_written = True
    with pytest.raises(UnsavedError) as raised:
        save(site, Compared(files=2, equal=1, unknown_here=LOST))
    assert [row.path for row in raised.value.unsaved] == ["/out/a/1", "/out/a"]
