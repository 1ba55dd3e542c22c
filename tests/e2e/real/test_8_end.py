"""The whole ledger of all tests before, and the end: what is at stake is told, saved and verified, nodes are wiped."""

from __future__ import annotations

import hashlib
import shutil
from contextlib import closing

import pytest

from fawkes.core.decision import PutNode
from fawkes.core.effects import Deploy, Goal, Membership
from fawkes.core.members import in_full
from fawkes.core.model import ClusterLife, JobLife, NodeLife
from fawkes.core.state import State, evolve
from fawkes.live.saved import MANIFEST
from fawkes.report import history
from fawkes.report.sentences import bare, sentence
from fawkes.store.sqlite import LedgerReader
from tests.support.site import FAWKES, LIMIT_S, PROJECT, Ledger, RealSite

pytestmark = pytest.mark.hadoop


def test_no_node_ever_had_two_owners(site: RealSite) -> None:
    """Each step: in the ledger, and in what the masters were told."""
    owners: dict[str, str | None] = {}
    state = State()
    for entry in site.ledger.entries:
        evolve(state, entry.event.at_us, entry.decision.changes)
        for change in entry.decision.changes:
            if isinstance(change, PutNode):
                name, owner = change.state.node.id, change.state.owner
                assert owners.get(name) in (None, owner) or owner is None, entry
                owners[name] = owner
        for effect in in_full(state, entry.decision.effects):
            if isinstance(effect, Deploy | Membership):
                serving = {n for n, m in effect.members.items() if m.goal is Goal.SERVING}
                assert serving, entry
                assert {owners[n] for n in serving} == {effect.cluster}, entry


def test_every_move_has_a_reason_and_every_reason_a_sentence(site: RealSite) -> None:
    with closing(LedgerReader(site.site.state_dir)) as ledger:
        moves = history.moves(ledger)
    assert {(move.source, move.target) for move in moves} >= {("alpha", "beta"), ("beta", "alpha")}
    assert [move for move in moves if not move.reasons or not all(r.code for r in move.reasons)] == []
    said = [reason for entry in site.ledger.entries for reason in entry.decision.reasons]
    assert [reason for reason in said if sentence(reason) == bare(reason)] == []


def test_every_decision_comes_again(site: RealSite) -> None:
    assert "every decision is the same as the stored one, byte for byte" in site.command("verify").stderr


def test_the_ledger_is_whole(site: RealSite) -> None:
    with closing(LedgerReader(site.site.state_dir)) as ledger:
        assert ledger.verify() >= len(site.ledger.entries)


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
    told = site.command("down", "--yes").stderr
    assert "alpha is running" in told
    assert f"will be saved to {site.root / 'saved' / 'alpha'} before any node is released" in told
    assert site.ended() == 0

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
