"""The rule over real leases and real ledgers: copies, backups, empty folders, two at once."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from fawkes.base.errors import ElsewhereError, FawkesError, NodeRefusedError, RefusedError
from fawkes.core.deciding.ruling import FolderStanding, Ruling
from fawkes.core.state.state import State
from fawkes.core.values.model import ClusterId, NodeId
from fawkes.engine import rebuild
from fawkes.live.controller import ruling
from fawkes.live.controller.ruling import Reign
from fawkes.live.nodes.ground import Ground
from fawkes.live.nodes.playbooks import lease
from fawkes.live.nodes.playbooks import node as book
from fawkes.store.place import place_of
from fawkes.store.schema import CLAIM, SEAL
from fawkes.store.sqlite import LEDGER_FILE, Ledger
from tests.support.desk import Desk
from tests.support.local_nodes import LocalFleet, node_of
from tests.support.pools import started

NAMES = ("node01", "node02", "node03")


@dataclass
class Pool:
    """Three nodes, of which two are held by MR-cluster a, and the state folder of the controller that did that."""

    fleet: LocalFleet
    folder: Path
    base: Path

    def begun(self, folder: Path, epoch: int, controller: str) -> None:
        """A controller starts from a folder that may, as far as its ledger is concerned, and is sealed there."""
        with closing(Ledger(folder)) as ledger:
            desk = Desk(3, state=rebuild(ledger.entries()))
            event = started(3, epoch=epoch, controller=controller, at_s=desk.now_s)
            ledger.append(event, desk.tell(event))
            ledger.put_note(SEAL, place_of(ledger.path))

    def holds(self, node: str, epoch: int, controller: str, generation: int = 1) -> None:
        ground = self.fleet.ground(epoch, controller, "pool")
        ground.run(NodeId(node), lease.take(ground.lease(NodeId(node), ClusterId("a"), generation)), "taking")

    def start(self, folder: Path, take_over: Callable[[str], None] | None = None) -> Ruling:
        """The verdict on a start from a folder."""
        seen = ruling.look(self.fleet.as_fleet(), self.fleet.nodes, within_s=10)
        if not (folder / LEDGER_FILE).exists():
            return ruling.rule(None, State(), seen, pool="pool", where=str(folder), take_over=take_over)
        with closing(Ledger(folder)) as ledger:
            state = rebuild(ledger.entries())
            return ruling.rule(ledger, state, seen, pool="pool", where=str(folder), take_over=take_over)

    def copy(self, name: str = "copy") -> Path:
        return Path(shutil.copytree(self.folder, self.base / name))

    def leases(self) -> list[str]:
        return [(self.base / name / "lease").read_text() for name in NAMES if (self.base / name / "lease").exists()]

    def steps(self, folder: Path) -> tuple[int, int]:
        with closing(Ledger(folder)) as ledger:
            return ledger.last_seq(), ledger.identity().last_epoch


@pytest.fixture
def pool(tmp_path: Path) -> Pool:
    made = Pool(LocalFleet([node_of(name, tmp_path) for name in NAMES]), tmp_path / "state", tmp_path)
    made.begun(made.folder, 1, "first")
    made.begun(made.folder, 2, "true")
    for node in NAMES[:2]:
        made.holds(node, 2, "true")
    return made


def test_the_true_one_restarts_whether_a_node_is_dead_or_not(pool: Pool) -> None:
    free(pool)
    assert pool.start(pool.folder).standing is FolderStanding.RULES
    pool.fleet.off = set(NAMES)
    assert pool.start(pool.folder) == Ruling(FolderStanding.RULES, (), 3)


def free(pool: Pool) -> None:
    """The nodes are free, and know the controller that freed them."""
    for node in NAMES[:2]:
        ground = pool.fleet.ground(2, "true", "pool")
        ground.run(NodeId(node), lease.release(ground.lease(NodeId(node), ClusterId("a"), 1)), "releasing")


@pytest.mark.slow
def test_a_copy_is_refused_ten_times_and_changes_nothing(pool: Pool) -> None:
    free(pool)
    copy, leases = pool.copy(), pool.leases()
    before = pool.steps(copy)
    for _ in range(10):
        with pytest.raises(ElsewhereError, match="is a copy of a state folder, or was moved") as refused:
            pool.start(copy)
        assert "fawkes run --take-over" in refused.value.hint
    assert (pool.steps(copy), pool.leases()) == (before, leases)
    assert pool.start(pool.folder).standing is FolderStanding.RULES


@pytest.mark.slow
def test_a_copy_takes_over_when_the_user_agrees_and_the_original_is_refused_then(pool: Pool) -> None:
    free(pool)
    notes: list[str] = []
    copy = pool.copy()

    def no(what: str) -> None:
        raise RefusedError("that was not 'pool'")

    with pytest.raises(RefusedError):
        pool.start(copy, no)
    verdict = pool.start(copy, notes.append)
    assert (verdict.standing, verdict.epoch, len(notes)) == (FolderStanding.ELSEWHERE, 3, 1)
    reign_of(pool, verdict.epoch, "copy").claim_in_turn([lease.node for lease in verdict.leases])
    pool.begun(copy, verdict.epoch, "copy")
    assert pool.start(copy).standing is FolderStanding.RULES
    for _ in range(3):
        with pytest.raises(ElsewhereError, match="the nodes know more than this ledger"):
            pool.start(pool.folder, notes.append)


def test_whoever_takes_over_is_told_of_nodes_that_nobody_could_ask(pool: Pool) -> None:
    free(pool)
    pool.fleet.off = {"node03"}
    said: list[str] = []
    pool.start(pool.copy(), said.append)
    assert "node03: no answer. Another ledger of the pool may have" in said[0]
    pool.fleet.off = set()
    pool.start(pool.copy("another"), said.append)
    assert said[1].endswith("is shut out for good")


def test_a_restored_backup_is_led_to_adopt_also_with_take_over(pool: Pool) -> None:
    """It lies where it lay, but a node was handed over since then."""
    for _ in range(2):
        with pytest.raises(ElsewhereError, match="with generation 1 on node01") as refused:
            pool.start(pool.folder, lambda what: None)
        assert "fawkes adopt" in refused.value.hint


def test_an_empty_folder_is_led_to_adopt_and_stays_empty(pool: Pool) -> None:
    empty = pool.base / "other"
    with pytest.raises(ElsewhereError, match=r"node\[01-02\] know epoch 2") as refused:
        pool.start(empty, lambda what: None)
    assert "fawkes adopt" in refused.value.hint
    assert not empty.exists()


def test_a_second_site_is_refused_however_often_it_was_started(pool: Pool) -> None:
    """Its epoch grew with each start that saw no node, until it was newer than that of the living controller."""
    second = pool.base / "second"
    pool.fleet.off = set(NAMES)
    for epoch in (1, 2, 3):
        assert pool.start(second) == Ruling(FolderStanding.RULES, (), epoch)
        pool.begun(second, epoch, f"second-{epoch}")
    pool.fleet.off, leases = set(), pool.leases()
    with pytest.raises(ElsewhereError, match=r"node\[01-02\] know epoch 2 of a controller that was never") as refused:
        pool.start(second, lambda what: None)
    assert "fawkes adopt" in refused.value.hint
    assert pool.leases() == leases


def test_a_node_that_answers_later_is_changed_only_if_its_lease_is_of_this_ledger(pool: Pool) -> None:
    """Each script looks before it writes anything; other nodes go on."""
    second = pool.base / "second"
    pool.fleet.off = {"node01", "node02"}
    for epoch in (1, 2, 3):
        pool.begun(second, epoch, f"second-{epoch}")
    assert pool.start(second).standing is FolderStanding.RULES
    pool.fleet.off, leases = set(), pool.leases()
    ground = pool.fleet.ground(3, "second-3", "pool")
    right = ground_of(ground, second).lease(NodeId("node01"), ClusterId("b"), 9)
    for script in (lease.take(right), lease.close(right), lease.claim(replace(right, cluster="")), book.wipe(right)):
        with pytest.raises(NodeRefusedError, match="another site has the node for a pool of this name") as refused:
            ground.run(NodeId("node01"), script, "taking")
        assert "epoch 2 of controller true was never a start of this ledger" in refused.value.what
    assert pool.leases() == leases
    right = ground.lease(NodeId("node03"), ClusterId("b"), 9)
    ground.run(NodeId("node03"), lease.take(right), "taking")
    ground.run(NodeId("node03"), lease.release(right), "releasing")
    ruled = pool.start(second)
    assert [row.node for row in ruled.leases] == ["node03"]
    assert ruling.apart(ruled).startswith("node[01-02] know epoch 2 of a controller that was never a start")


def ground_of(ground: Ground, folder: Path) -> Ground:
    with closing(Ledger(folder)) as ledger:
        starts = ruling.past(ledger, rebuild(ledger.entries()))
    ground.starts_for = lambda node: starts
    return ground


def test_a_silent_node_with_the_lease_of_an_earlier_start_is_its_own(pool: Pool) -> None:
    pool.begun(pool.folder, 3, "later")
    ground = ground_of(pool.fleet.ground(3, "later", "pool"), pool.folder)
    reign = Reign(ground, tuple, lambda error: None)
    reign.claim_in_turn([NodeId(name) for name in NAMES])
    assert [text.count("controller=later") for text in pool.leases()] == [1, 1, 1]


def test_damage_and_other_pools_are_no_evidence(pool: Pool) -> None:
    free(pool)
    (pool.base / "node01" / "lease").write_text("epoch=99\n")
    ground = pool.fleet.ground(99, "theirs", pool="another")
    ground.run(NodeId("node03"), lease.take(ground.lease(NodeId("node03"), ClusterId("b"), 5)), "taking")
    assert pool.start(pool.folder).standing is FolderStanding.RULES


def reign_of(pool: Pool, epoch: int, controller: str, refused: Callable[[FawkesError], None] = lambda e: None) -> Reign:
    return Reign(pool.fleet.ground(epoch, controller, "pool"), lambda: [NodeId(NAMES[0])], refused)


def test_of_two_take_overs_at_once_the_second_is_refused_by_the_first_node(pool: Pool) -> None:
    nodes = [NodeId(name) for name in reversed(NAMES[:2])]
    reign_of(pool, 3, "quick").claim_in_turn(nodes)
    leases = pool.leases()
    with pytest.raises(ElsewhereError):
        reign_of(pool, 3, "slow").claim_in_turn(nodes)
    assert pool.leases() == leases
    assert all("controller=quick" in text and "cluster=a" in text for text in leases)


def test_a_claim_passes_over_nodes_that_do_not_answer(pool: Pool) -> None:
    pool.fleet.off = {NAMES[0]}
    reign_of(pool, 3, "new").claim_in_turn([NodeId(name) for name in NAMES[:2]])
    assert ["controller=new" in text for text in pool.leases()] == [False, True]


def test_a_controller_leaves_a_sign_of_life_until_it_is_replaced(pool: Pool) -> None:
    errors: list[FawkesError] = []
    reign = reign_of(pool, 2, "true", errors.append)
    beats = []
    for _ in range(2):
        reign.beat()
        beats.append(ruling.look(pool.fleet.as_fleet(), pool.fleet.nodes, within_s=10).beats())
    assert beats == [{"node01": "true 1"}, {"node01": "true 2"}]
    assert not errors
    reign_of(pool, 3, "new").claim([NodeId("node01")])
    reign.beat()
    assert [type(error) for error in errors] == [ElsewhereError]
    assert ruling.look(pool.fleet.as_fleet(), pool.fleet.nodes, within_s=10).beats() == beats[1]


def test_a_node_without_a_lease_gets_no_sign_of_life(pool: Pool) -> None:
    ground = pool.fleet.ground(2, "true", "pool")
    Reign(ground, lambda: [NodeId("node03")], lambda error: None).beat()
    assert not (pool.base / "node03").exists()


@pytest.mark.slow
def test_a_take_over_that_ended_before_it_was_stored_may_be_repeated(pool: Pool) -> None:
    free(pool)
    copy = pool.copy()
    with closing(Ledger(copy)) as ledger:
        ledger.put_note(CLAIM, "3 killed")
    reign_of(pool, 3, "killed").claim_in_turn([NodeId(NAMES[0])])
    assert pool.start(copy, lambda what: None).epoch == 4
