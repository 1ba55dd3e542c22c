"""Two controllers for one pool: the second one is refused, and a copied folder takes over only when somebody asks."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from fawkes.core.values.model import JobLife
from fawkes.store.sqlite import LEDGER_FILE
from tests.support.site import FAWKES, LIMIT_S, PROJECT, Ledger, RealSite

pytestmark = [pytest.mark.hadoop, pytest.mark.nightly]


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
    assert "the nodes know more than this ledger" in second.stderr
    works(site, "after-the-copy")
    assert {name: there.lease for name, there in site.on_nodes().items()} == leases


def test_a_copy_takes_over_only_when_somebody_says_so(site: RealSite, tmp_path: Path) -> None:
    """It is refused as often as it is tried; then it takes over, and the original is shut out."""
    copy = copied(site, tmp_path / "copy")
    master = site.ledger.clusters["alpha"].master
    assert master is not None
    leases = {name: there.lease for name, there in site.on_nodes().items()}
    for _ in range(3):
        refused = site.lab.exec([*FAWKES, "--site", str(copy), "run"], cwd=PROJECT, timeout_s=LIMIT_S)
        assert refused.returncode == 7, refused.stderr
        assert "is a copy of a state folder, or was moved" in refused.stderr
    assert {name: there.lease for name, there in site.on_nodes().items()} == leases
    works(site, "while-they-are-refused")

    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    words = [*FAWKES, "--site", str(copy), "run", "--take-over", "--yes"]
    new = site.lab.popen(words, cwd=PROJECT, **quiet)
    try:
        # Its own sign of life tells the replaced one, which has nothing to do otherwise.
        assert site.ended() == 7
        assert site.on_nodes([master])[master].lease["epoch"] != leases[master]["epoch"]
    finally:
        new.terminate()
        new.wait(LIMIT_S)
    for _ in range(2):
        late = site.lab.exec([*FAWKES, "--site", str(site.root), "run"], cwd=PROJECT, timeout_s=LIMIT_S)
        assert late.returncode == 7, late.stderr
        assert "the nodes know more than this ledger" in late.stderr
    # A rename moves no inode: this is the folder that rules, in another place of the same disk.
    shutil.rmtree(site.site.state_dir)
    (copy / "state").rename(site.site.state_dir)
    site.ledger = Ledger(site.site.state_dir)
    site.run()
    works(site, "in-charge-again")
