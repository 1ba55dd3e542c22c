"""The whole ledger of all tests before, and the end: what is at stake is told, saved and verified, nodes are wiped."""

from __future__ import annotations

import hashlib
import shutil
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from fawkes.core.state import alerts
from fawkes.core.values.model import ClusterAlert, ClusterLife, JobLife, NodeLife
from fawkes.live.data.saved import MANIFEST
from fawkes.live.edits import kept_copy
from tests.e2e.laws import assert_decided_again, assert_one_owner, assert_whole, explained_moves
from tests.support.site import FAWKES, LIMIT_S, PROJECT, Ledger, RealSite

pytestmark = pytest.mark.hadoop

#: is being written when the pool is given back
HELD = "/output/held/open"


def test_no_node_ever_had_two_owners(site: RealSite) -> None:
    assert_one_owner(site)


def test_every_move_has_a_reason_and_every_reason_a_sentence(site: RealSite) -> None:
    assert explained_moves(site) >= {("alpha", "beta"), ("beta", "alpha")}


def test_every_decision_comes_again(site: RealSite) -> None:
    assert_decided_again(site)


def test_the_ledger_is_whole(site: RealSite) -> None:
    assert_whole(site)


def has_new_key(site: RealSite, name: str) -> bool:
    """True if all nodes of an MR-cluster have the key that the controller made for it."""
    key = site.site.state_dir / "keys" / name
    show = f"cat /srv/fawkes/clusters/{name}/conf/doors.key 2>/dev/null || :"
    return key.exists() and {site.on(n.node.id, show).strip() for n in site.nodes_of(name)} == {key.read_text().strip()}


@pytest.mark.nightly
def test_a_lost_state_folder_is_adopted(site: RealSite) -> None:
    """The MR-clusters and a job go on, and nothing on the nodes has changed; what follows works on the adopted pool."""
    site.fawkes("submit", "alpha", "--id", "goes-on", "--script", "sleep 30; true")
    site.until("the job to run", lambda: site.ledger.jobs["goes-on"].life is JobLife.RUNNING)
    site.kill()
    before = {name: (there.folders, there.processes) for name, there in site.on_nodes().items()}
    owners = {name: state.owner for name, state in site.state.nodes.items()}
    empty = site.lab.exec([*FAWKES, "--site", str(site.root), "adopt", "--yes"], cwd=PROJECT, timeout_s=LIMIT_S)
    assert empty.returncode == 6, empty.stderr
    shutil.rmtree(site.site.state_dir)
    for verb, code in ((["run"], 7), (["adopt"], 6), (["adopt", "--yes"], 0)):
        done = site.lab.exec([*FAWKES, "--site", str(site.root), *verb], cwd=PROJECT, timeout_s=LIMIT_S)
        assert done.returncode == code, done.stderr
    assert {name: (there.folders, there.processes) for name, there in site.on_nodes().items()} == before
    site.ledger = Ledger(site.site.state_dir)
    site.run()
    assert {name: state.owner for name, state in site.state.nodes.items()} == owners
    (job,) = site.until_ended("goes-on")
    assert (job.life, job.attempt) == (JobLife.SUCCEEDED, 1)
    site.until("the new keys on all nodes", lambda: all(has_new_key(site, name) for name in ("alpha", "beta")))


def written(site: RealSite) -> bool:
    """True if the file that is being written has bytes."""
    found = site.hdfs("beta", "readable", HELD.rpartition("/")[0])
    return bool(set(found.values()) - {hashlib.sha256().hexdigest()})


def test_the_end(site: RealSite) -> None:
    """Jobs forbid it; without them everything is saved, verified and given back, and the controller ends."""
    before = {name: site.hdfs(name, "digests", "/output") for name in ("alpha", "beta")}
    assert all(before.values())
    site.fawkes("submit", "alpha", "--id", "in-the-way", "--script", "sleep 100000")
    assert "in the way" not in site.command("down", "--yes", code=6).stdout
    site.fawkes("cancel", "in-the-way", "--wait")

    stake = {(row["cluster"], row["path"]): row for row in site.rows("down", "--dry-run")}
    assert {key for key in stake if key[1] == "/output"} == {("alpha", "/output"), ("beta", "/output")}
    assert stake["alpha", "/output"]["save_to"] == str(site.root / "saved" / "alpha")
    with ThreadPoolExecutor() as threads:
        place = f"{site.master('beta')}:9864"
        writer = threads.submit(site.hdfs, "beta", "hold_open", HELD, place)
        site.until("a file that is being written", lambda: written(site))
        told = site.command("down", "--yes").stderr
        assert "alpha is running" in told
        assert f"will be saved to {site.root / 'saved' / 'alpha'} before any node is released" in told
        assert site.ended() == 0
        assert writer.result(), "its client learns that it was cut"
    (closed,) = site.ledger.reasons("files-closed")
    files: Any = closed.facts["files"]
    held = site.root / "saved" / "beta" / HELD.removeprefix("/output/")
    assert [(row["path"], row["bytes"]) for row in files] == [(HELD, held.stat().st_size)]
    assert set(held.read_bytes()) == {ord("x")}
    held.unlink()

    assert {name: site.ledger.clusters[name].life for name in before} == dict.fromkeys(before, ClusterLife.GONE)
    assert {node.life for node in site.state.nodes.values()} == {NodeLife.FREE}
    for name, digests in before.items():
        folder = site.root / "saved" / name
        found = {
            f"/output/{path.relative_to(folder)}": hashlib.sha256(path.read_bytes()).hexdigest()
            for path in folder.rglob("*")
            if path.is_file() and path.name != MANIFEST
        }
        assert found == {path: sha for path, (_, sha) in digests.items()}
        assert (site.ledger.clusters[name].save_us or 0) > 0
    assert {name: there.clean for name, there in site.on_nodes().items()} == dict.fromkeys(site.hosts, True)
    # Another pool, or this one with a ledger of its own, may begin with these nodes.
    assert [name for name, there in site.on_nodes().items() if there.lease] == []


def test_nothing_is_left_of_all_that_has_run(running: RealSite) -> None:
    """Two versions of Hadoop, all kinds of jobs, crashes: the hosts have the files that they had before."""
    site = running
    assert site.controller is None
    after = site.files()
    changed = {host: after[host] ^ before for host, before in site.bare.items()}
    # The empty work folder stays: an administrator may have made it.
    assert [(host, row) for host in changed for row in changed[host] if not row.endswith(" /srv/fawkes")] == []
    # The masters that died may have taken writes of their last seconds with them: then their copies stay to be read.
    lost = {name for name, state in site.ledger.clusters.items() if alerts.about(state, ClusterAlert.WRITES)}
    assert kept_copy.clusters_in(site.site.state_dir / "kept") == lost
