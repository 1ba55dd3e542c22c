"""Two controllers for one pool: the state folder refuses the second, the nodes refuse one with a copy of the folder."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from fawkes.core.model import JobLife
from fawkes.store.sqlite import LEDGER_FILE
from tests.support.site import FAWKES, LIMIT_S, PROJECT, RealSite

pytestmark = pytest.mark.hadoop


def works(site: RealSite, job: str) -> None:
    """The controller in charge still commands its nodes."""
    site.fawkes("submit", "alpha", "--id", job, "--script", "true")
    (ended,) = site.until_ended(job)
    assert ended.life is JobLife.SUCCEEDED


def test_a_second_controller_on_the_same_folder_is_refused(site: RealSite) -> None:
    before = site.now()
    second = site.lab.exec([*FAWKES, "--site", str(site.root), "run"], cwd=PROJECT, timeout_s=LIMIT_S)
    assert second.returncode == 7, second.stderr
    assert "controller" in second.stderr
    works(site, "after-a-second")
    assert [r.facts["epoch"] for r in site.ledger.reasons("started", after=before)] == []


def copied(site: RealSite, folder: Path) -> Path:
    """The site folder as a backup has it, taken while the controller works."""
    shutil.copytree(site.root, folder, ignore=shutil.ignore_patterns("state", "saved", "*.log"))
    (folder / "state").mkdir()
    with (
        closing(sqlite3.connect(site.site.state_dir / LEDGER_FILE)) as source,
        closing(sqlite3.connect(folder / "state" / LEDGER_FILE)) as target,
    ):
        source.backup(target)
    return folder


def test_a_controller_with_an_older_copy_of_the_folder_is_refused_by_the_nodes(site: RealSite, tmp_path: Path) -> None:
    copy = copied(site, tmp_path / "copy")
    assert site.stop() == 0
    site.run()
    works(site, "before-the-copy")
    leases = {name: there.lease for name, there in site.on_nodes().items()}
    second = site.lab.exec([*FAWKES, "--site", str(copy), "run"], cwd=PROJECT, timeout_s=LIMIT_S)
    assert second.returncode == 7, second.stderr
    assert "another controller has taken over the node" in second.stderr
    works(site, "after-the-copy")
    assert {name: there.lease for name, there in site.on_nodes().items()} == leases


def test_a_controller_that_was_replaced_ends_when_a_node_tells_it(site: RealSite, tmp_path: Path) -> None:
    """A copy that is newer than the controller takes over; the old one acts no more and says so."""
    copy = copied(site, tmp_path / "copy")
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    master = site.ledger.clusters["alpha"].master
    assert master is not None
    epoch = site.on_nodes([master])[master].lease["epoch"]
    new = site.lab.popen([*FAWKES, "--site", str(copy), "run"], cwd=PROJECT, **quiet)
    try:
        site.until("the copy to take over", lambda: site.on_nodes([master])[master].lease["epoch"] != epoch)
        site.fawkes("submit", "alpha", "--id", "too-late", "--script", "true")
        assert site.ended() == 7
    finally:
        new.terminate()
        new.wait(LIMIT_S)
    # The copy had the epoch that comes next in the old ledger: the nodes know which of the two was first.
    site.run()
    assert site.ended() == 7
    site.run()
    works(site, "in-charge-again")
    (late,) = site.until_ended("too-late")
    assert (late.life, late.attempt) == (JobLife.SUCCEEDED, 1)
