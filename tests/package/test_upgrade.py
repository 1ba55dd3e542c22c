"""A pool that Fawkes 0.1.0 controlled goes on under this version.

``pool-0.1.0`` is a site with the ledger that 0.1.0 wrote, in format 1, until a controller of 0.1.0 was stopped in the
middle of a run: three MR-clusters work, jobs run and wait, three nodes are leaving. It is never made anew.
"""

from __future__ import annotations

import fcntl
import lzma
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path, PurePosixPath

import pytest

from fawkes import __version__
from fawkes.core.values.events import Started
from fawkes.core.values.model import NodeLife
from fawkes.playbook import Exit, Lease
from fawkes.store.lock import LOCK_FILE
from fawkes.store.remembered import remembered
from fawkes.store.schema import FORMAT, file_format
from fawkes.store.sqlite import LEDGER_FILE, Ledger
from playbooks import lease as leases
from tests.package.running import ROOT, fawkes
from tests.playbooks.conftest import ok, sh

KEPT = Path(__file__).parent / "pool-0.1.0"
STEPS = 145


@pytest.fixture
def site(tmp_path: Path) -> Path:
    folder = tmp_path / "site"
    shutil.copytree(KEPT, folder)
    packed = folder / f"{LEDGER_FILE}.xz"
    (folder / "state").mkdir()
    (folder / "state" / LEDGER_FILE).write_bytes(lzma.decompress(packed.read_bytes()))
    packed.unlink()
    return folder


@contextmanager
def controller(site: Path) -> Iterator[subprocess.Popen[str]]:
    """A real controller; it reaches none of its nodes."""
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "fawkes", "--site", str(site), "run"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=env) as process:
        try:
            yield process
        finally:
            process.kill()


def until(process: subprocess.Popen[str], text: str) -> str:
    """The line that the controller says with this in it; an error when it ends before."""
    assert process.stderr is not None
    said = []
    for line in process.stderr:
        said.append(line)
        if text in line:
            return line
    raise AssertionError(f"it never said {text!r}: {''.join(said)}")


def format_of(site: Path) -> int:
    with closing(sqlite3.connect(site / "state" / LEDGER_FILE)) as connection:
        return file_format(connection)


def test_the_kept_ledger_is_of_the_version_before(site: Path) -> None:
    assert format_of(site) == 1 < FORMAT


@pytest.mark.slow
@pytest.mark.parametrize(
    ("verb", "code", "says"),
    [
        ("status", 0, "10 nodes: 10 held"),
        ("jobs", 0, "c-1"),
        ("explain", 0, "Tick "),
        ("verify", 3, "0 of them decided by this version"),
    ],
)
def test_before_a_controller_has_run_all_can_be_read_and_the_ledger_stays(
    verb: str, code: int, says: str, site: Path
) -> None:
    before = (site / "state" / LEDGER_FILE).read_bytes()
    ended = fawkes(verb, folder=site)
    assert ended.returncode == code
    assert says in ended.stdout + ended.stderr
    assert (site / "state" / LEDGER_FILE).read_bytes() == before


def test_while_a_controller_of_the_version_before_runs_nothing_is_read(site: Path) -> None:
    """It has an exclusive lock of the whole file, and nothing that says who it is."""
    with (site / "state" / LOCK_FILE).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        ended = fawkes("events", folder=site)
    assert (ended.returncode, ended.stdout) == (6, "")
    assert "the ledger has the older format 1. End its controller, which is of an older version" in ended.stderr


def test_the_state_is_as_it_was(site: Path) -> None:
    with closing(Ledger(site / "state")) as ledger:
        assert ledger.verify() == STEPS
        state, pictured = remembered(ledger)
    assert pictured == 0
    assert sorted(state.clusters) == ["c-1", "c-2", "c-3"]
    leaving = sorted(name for name, node in state.nodes.items() if node.life is NodeLife.DRAINING)
    assert leaving == ["node05", "node06", "node07"]
    assert format_of(site) == FORMAT


@pytest.mark.slow
def test_a_controller_of_this_version_takes_the_pool_over(site: Path) -> None:
    with controller(site) as process:
        assert until(process, "controls pool") == f"Fawkes {__version__} controls pool lab, epoch 2\n"
        status = fawkes("status", folder=site)
        assert status.returncode == 0
        assert f"Fawkes {__version__}" in status.stdout
        assert "10 nodes: 10 held, 0 free" in status.stdout
        assert fawkes("down", "--keep", folder=site).returncode == 0
        assert process.wait(60) == 0
    with closing(Ledger(site / "state")) as ledger:
        assert ledger.verify() > STEPS
        starts = [entry.event for entry in ledger.entries() if isinstance(entry.event, Started)]
        assert [(start.version, start.epoch) for start in starts] == [("0.1.0", 1), (__version__, 2)]
        state, _ = remembered(ledger)
    assert sorted(state.clusters) == ["c-1", "c-2", "c-3"]
    assert not [node for node in state.nodes.values() if node.owner is None]


@pytest.mark.slow
def test_steps_of_this_version_are_decided_again_as_they_were(site: Path) -> None:
    """Those of 0.1.0 may differ: exit code 3 says that no step of this version does."""
    with controller(site) as process:
        until(process, "controls pool")
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    ended = fawkes("verify", "-o", "csv", folder=site)
    assert ended.returncode == 3
    assert "0 of them decided by this version" in ended.stderr


# --- a node of the version before -----------------------------------------------------------------------------------

_TAKEN = "node=node01\npool=lab\ncluster=c-1\ngeneration=3\nepoch=1\ncontroller=0123456789abcdef\nclosed=0\n"
_FREE = "node=node01\npool=lab\ncluster=\ngeneration=\nepoch=1\ncontroller=0123456789abcdef\nclosed=0\n"


@pytest.mark.parametrize(("written", "answer"), [(_TAKEN, "kept"), (_FREE, "taken")])
def test_a_lease_that_the_version_before_wrote_is_kept(written: str, answer: str, tmp_path: Path) -> None:
    """Leases as 0.1.0 wrote them for a node that is held and for one that is free."""
    (tmp_path / "lease").write_text(written)
    new = Lease(
        node="node01",
        work_dir=PurePosixPath(tmp_path),
        pool="lab",
        cluster="c-1",
        generation=3,
        epoch=2,
        controller="fedcba9876543210",
    )
    assert ok(leases.take(new))["lease"] == answer
    # The controller of before, should it still be there, is refused from now on.
    assert sh(leases.take(replace(new, epoch=1, controller="0123456789abcdef"))).exit == Exit.FENCED
