"""Adopting a pool, on nodes with real leases and kept copies: what is found, who is refused, what is written."""

from __future__ import annotations

import stat
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from fawkes.base.errors import ElsewhereError, RefusedError, UserError
from fawkes.cli.pool.adopt import lines
from fawkes.config.clusters.details import ClusterDetails, JobDetails
from fawkes.config.nodes.inventory import Inventory
from fawkes.config.settings.settings import load_settings
from fawkes.config.site.site import Site
from fawkes.core.deciding.ruling import FolderStanding
from fawkes.core.state.state import State
from fawkes.core.values.adopted import KeptCluster
from fawkes.core.values.effects import Deploy, Goal, Member, StartJob
from fawkes.core.values.model import (
    ClusterId,
    ClusterLife,
    ClusterSpec,
    JobId,
    JobLife,
    JobSpec,
    NodeId,
    NodeLife,
    Role,
    Standby,
)
from fawkes.engine import rebuild
from fawkes.live.clusters.membership import MembershipKeeper, kept_cluster
from fawkes.live.controller import ruling
from fawkes.live.controller.access import access_of
from fawkes.live.controller.adopt import Adoption
from fawkes.live.controller.endpoint import SOCKET
from fawkes.live.controller.plans import ControllerPlan
from fawkes.live.controller.ruling import Reign
from fawkes.live.jobs.jobs import kept_job
from fawkes.live.nodes.clusters import Clusters, LiveCluster
from fawkes.live.nodes.playbooks import job as book
from fawkes.live.nodes.playbooks import lease, node
from fawkes.playbook import Lease
from fawkes.store.lock import StateLock
from fawkes.store.place import place_of, same_place
from fawkes.store.record import from_plain, loads
from fawkes.store.schema import SEAL
from fawkes.store.sqlite import LEDGER_FILE, Ledger, LedgerReader
from tests.live.played import bare_setup
from tests.support.local_nodes import LocalFleet, node_of
from tests.support.pools import policy

pytestmark = pytest.mark.slow

NAMES = tuple(f"node{i:02d}" for i in range(1, 5))
A = ClusterId("a")
SPEC = ClusterSpec(id=A, min_nodes=2, details=ClusterDetails(title="Ünder a name").plain())
JOB = JobDetails(kind="script", command="true").plain()
MEMBERS = {NodeId(name): Member(Goal.SERVING, Role.CORE, 2) for name in NAMES[:2]}


@dataclass
class Lost:
    """A pool of four nodes, two of which an MR-cluster has; the state folder of its controller is lost."""

    base: Path
    pool: str
    fleet: LocalFleet
    waits: list[Callable[[], None]] = field(default_factory=list)

    def plan(self, folder: str = "site") -> ControllerPlan:
        site = Site(self.base / folder)
        site.root.mkdir(exist_ok=True)
        inventory = Inventory(self.pool, tuple(self.fleet.nodes), self.base / "known_hosts")
        settings = load_settings(site.root / "fawkes.toml")
        access = access_of(settings.access, site.settings_file)
        return ControllerPlan(site, inventory, settings, policy(), shadow=False, access=access, playbooks=(), notes=())

    def adoption(self, folder: str = "site") -> Adoption:
        return Adoption(self.plan(folder), self.fleet.as_fleet(), pause=self.pause)

    def pause(self, seconds: float) -> None:
        """Acts between two looks at the signs of life."""
        for happens in self.waits:
            happens()

    def leases(self) -> dict[str, str]:
        return {n: (self.base / n / "lease").read_text() for n in NAMES if (self.base / n / "lease").exists()}

    def state(self, folder: str = "site") -> State:
        with closing(Ledger(self.base / folder / "state")) as ledger:
            return rebuild(ledger.entries())


@pytest.fixture
def lost(tmp_path: Path) -> Lost:
    pool = f"pool-{tmp_path.name}"
    lost = Lost(tmp_path, pool, LocalFleet([node_of(name, tmp_path) for name in NAMES]))
    ground = lost.fleet.ground(7, "lost", pool)
    for name, member in MEMBERS.items():
        right = ground.lease(name, A, member.generation)
        ground.run(name, lease.take(right), "taking")
        ground.run(name, node.prepare(right), "preparing")
    master = NodeId(NAMES[0])
    right = ground.lease(master, A, 2)
    kept = LiveCluster(SPEC, ClusterDetails(), master, MEMBERS, ready=True, working=True, version=5)
    ground.run(master, book.keep(right, kept_cluster(kept)), "keeping")
    spec = JobSpec(id=JobId("word.count"), cluster=A, details=JOB)
    text = kept_job(StartJob(spec.id, A, 1, spec))
    ground.run(master, book.start(right, "word.count", 1, ["/bin/sh", "-c", "exit 0"], kept=text), "starting")
    ground.run(master, book.start(right, "lost-job", 1, ["/bin/sh", "-c", "exit 0"]), "starting")
    results = [Path(right.folders.jobs, f"{name}.1", "result") for name in ("word.count", "lost-job")]
    while not all(result.exists() for result in results):
        ground.run(master, node.verify(right), "looking")
    return lost


def test_a_pool_is_adopted_and_its_new_ledger_may_start(lost: Lost) -> None:
    before = lost.leases()
    with lost.adoption() as adoption:
        findings = adoption.examine("ann")
        assert lost.leases() == before
        adoption.carry_out(findings)
        ledger_file = lost.base / "site" / "state" / LEDGER_FILE
        # The header's word that there is no log: the file alone is the ledger.
        assert ledger_file.read_bytes()[18:20] == b"\x01\x01"
        with closing(LedgerReader(ledger_file.parent)) as reader:
            assert same_place(reader.note(SEAL), place_of(ledger_file))
    state = lost.state()
    assert (state.clusters[A].life, state.clusters[A].spec) == (ClusterLife.RUNNING, SPEC)
    assert [state.nodes[NodeId(n)].life for n in NAMES] == [NodeLife.SERVING] * 2 + [NodeLife.FREE] * 2
    assert state.had_job(A, JobId("word.count"))
    assert state.had_job(A, JobId("lost-job"))
    assert all("epoch=8" in text and "cluster=a\ngeneration=2" in text for text in lost.leases().values())
    seen = ruling.look(lost.fleet.as_fleet(), lost.fleet.nodes, within_s=10)
    with closing(Ledger(lost.base / "site" / "state")) as ledger:
        verdict = ruling.rule(ledger, state, seen, pool=lost.pool, where="", take_over=None)
        assert (verdict.standing, verdict.epoch) == (FolderStanding.RULES, 9)
        assert ledger.verify() == 1
    assert sorted(each.name for each in (lost.base / "site" / "state").iterdir()) == ["ledger.sqlite", "lock"]
    assert stat.S_IMODE((lost.base / "site" / "state").stat().st_mode) == 0o700


@pytest.mark.parametrize(("wait", "silent"), [("11s", True), ("13s", False)])
def test_nodes_may_take_as_long_as_the_site_says(lost: Lost, wait: str, silent: bool) -> None:
    lost.fleet.slow_s = {NAMES[1]: 12.0}
    plan = lost.plan()
    plan.site.settings_file.write_text(f'[ssh]\nanswer_timeout = "{wait}"\n')
    with lost.adoption() as adoption:
        (slow,) = [n for n in adoption.examine("ann").adopted.nodes if n.node == NAMES[1]]
    assert (slow.unknown == f"it does not answer (no answer within {wait[:-1]} s)") == silent


def test_a_second_name_node_is_shown_with_its_journal(lost: Lost) -> None:
    with lost.adoption() as adoption:
        findings = adoption.examine("ann")
    outcome = findings.outcome
    journal = tuple(map(NodeId, NAMES[:3]))
    standby = Standby(journal=journal, node=journal[1])
    kept = replace(outcome.clusters[A], standby=standby)
    members = {name: replace(member, cluster=kept) for name, member in outcome.members.items()}
    findings = replace(findings, outcome=replace(outcome, clusters={A: kept}, members=members))
    said = list(lines(findings, {A: "its masters see 2 NodeManagers"}))
    assert said[1] == "  its journal is on node[01-03], its second NameNode on node02"


def test_what_is_found_and_what_is_not_known_is_said(lost: Lost) -> None:
    lost.fleet.off = {NAMES[3], NAMES[1]}
    with lost.adoption() as adoption:
        findings = adoption.examine("ann")
    said = "\n".join(lines(findings, {A: "its masters see 2 NodeManagers"}))
    for words in (
        "a: adopted, with 2 nodes (node[01-02]), masters on node01",
        "jobs: word.count",
        "node02 do not answer; the kept copy names them",
        "the declaration of job lost-job is not known",
        "node04: held out of service: not known when the pool was adopted: it does not answer",
        "free nodes: node03",
    ):
        assert words in said


def test_an_adoption_that_nobody_agreed_to_leaves_nothing(lost: Lost) -> None:
    before = lost.leases()
    with lost.adoption() as adoption:
        adoption.examine("ann")
    assert lost.leases() == before
    assert not (lost.base / "site" / "state").exists()


def test_a_living_controller_is_not_adopted_from_under_its_feet(lost: Lost) -> None:
    reign = Reign(lost.fleet.ground(7, "lost", lost.pool), lambda: [NodeId(NAMES[0])], lambda error: None)
    reign.beat()
    lost.waits = [reign.beat]
    with lost.adoption() as adoption, pytest.raises(ElsewhereError, match="controller lost is at work"):
        adoption.examine("ann")
    lost.waits = []
    with lost.adoption() as adoption:
        assert adoption.examine("ann").epoch == 8


def test_of_two_adopts_in_one_folder_the_second_is_refused(lost: Lost) -> None:
    with lost.adoption(), pytest.raises(ElsewhereError), lost.adoption():
        raise AssertionError("two adoptions at once")


def test_of_two_adopts_in_two_folders_the_slower_one_changes_nothing(lost: Lost) -> None:
    with lost.adoption("quick") as quick, lost.adoption("slow") as slow:
        ours, theirs = quick.examine("ann"), slow.examine("bob")
        quick.carry_out(ours)
        after = lost.leases()
        with pytest.raises(ElsewhereError):
            slow.carry_out(theirs)
    assert lost.leases() == after
    assert not (lost.base / "slow" / "state").exists()
    with lost.adoption("slow") as slow:
        assert slow.examine("bob").epoch == 9


def test_a_folder_that_has_a_ledger_is_not_overwritten(lost: Lost) -> None:
    folder = lost.base / "site" / "state"
    folder.mkdir(parents=True)
    (folder / LEDGER_FILE).write_text("whatever")
    with pytest.raises(RefusedError, match="not empty: it has ledger"), lost.adoption():
        raise AssertionError("a ledger was there")
    assert (folder / LEDGER_FILE).read_text() == "whatever"


def test_what_a_controller_without_a_ledger_leaves_is_no_obstacle(lost: Lost) -> None:
    folder = lost.base / "site" / "state"
    (folder / "logs").mkdir(parents=True)
    StateLock(folder).close()
    # What a killed controller leaves.
    (folder / SOCKET).touch()
    with lost.adoption() as adoption:
        adoption.carry_out(adoption.examine("ann"))
    assert (folder / "logs").is_dir()


def test_a_pool_that_no_node_knows_is_not_adopted(lost: Lost) -> None:
    lost.pool = "another"
    with lost.adoption() as adoption, pytest.raises(RefusedError, match="no node knows pool another"):
        adoption.examine("ann")


def test_an_inventory_that_lacks_a_member_is_named(lost: Lost) -> None:
    lost.fleet.nodes = [node for node in lost.fleet.nodes if node.name != NAMES[1]]
    with lost.adoption() as adoption, pytest.raises(UserError, match="has node02, which the inventory does not name"):
        adoption.examine("ann")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"spec": 3}', "\x00\xff", "[" * 100_000])
def test_a_damaged_copy_leaves_the_mr_cluster_alone(lost: Lost, text: str) -> None:
    copy = lost.base / NAMES[0] / "clusters" / "a" / "members" / "kept.json"
    assert copy.stat().st_mode & 0o777 == 0o600
    copy.write_text(text, encoding="latin-1")
    before = lost.leases()
    with lost.adoption() as adoption:
        findings = adoption.examine("ann")
        assert "cannot be read" in findings.outcome.left["a"]
        adoption.carry_out(findings)
    state = lost.state()
    assert not state.clusters
    assert [state.nodes[NodeId(n)].life for n in NAMES] == [NodeLife.OUT] * 2 + [NodeLife.FREE] * 2
    assert {name: text.replace("epoch=7", "") for name, text in before.items()}.keys() == lost.leases().keys()
    assert all("cluster=a" in text for text in lost.leases().values())


def test_a_job_that_ran_is_watched_again(lost: Lost) -> None:
    ground = lost.fleet.ground(7, "lost", lost.pool)
    right = ground.lease(NodeId(NAMES[0]), A, 2)
    spec = JobSpec(id=JobId("long"), cluster=A, details=JOB)
    text = kept_job(StartJob(spec.id, A, 1, spec))
    ground.run(NodeId(NAMES[0]), book.start(right, "long", 1, ["sleep", "60"], kept=text), "starting")
    try:
        with lost.adoption() as adoption:
            adoption.carry_out(adoption.examine("ann"))
        state = lost.state()
        assert state.jobs[JobId("long")].life is JobLife.RUNNING
        assert isinstance(state.pending["job:long"].effect, StartJob)
    finally:
        ground.run(NodeId(NAMES[0]), book.cancel(lost_right(lost, right), "long", 1, grace_s=0), "cancelling")


def test_more_jobs_than_a_look_has_time_for_are_adopted(lost: Lost) -> None:
    jobs = lost.base / NAMES[0] / "clusters" / "a" / "jobs"
    for number in range(400):
        spec = JobSpec(id=JobId(f"old-{number}"), cluster=A, details=JOB)
        (jobs / f"{spec.id}.1" / "begun").mkdir(parents=True)
        (jobs / f"{spec.id}.1" / "kept.json").write_text(kept_job(StartJob(spec.id, A, 1, spec)) + "\n")
        (jobs / f"{spec.id}.1" / "result").write_text("exit=0\nbegan_us=1\nended_us=2\n")
    lost.fleet.slow_s = {NAMES[0]: 12.0}
    for command, why in (("14s", None), ("11s", "longer than 11 s")):
        settings = f'[ssh]\nanswer_timeout = "13s"\ncommand_timeout = "{command}"\n'
        lost.plan().site.settings_file.write_text(settings)
        with lost.adoption() as adoption:
            findings = adoption.examine("ann")
        if why is None:
            assert sum(job.kept is not None and job.exit == 0 for job in findings.adopted.jobs) == 401
        else:
            assert f"make ssh.command_timeout in fawkes.toml {why}" in findings.outcome.left["a"]


def lost_right(lost: Lost, right: Lease) -> Lease:
    """The same right, of whoever rules now."""
    epoch, controller = 9, "cleaner"
    return lost.fleet.ground(epoch, controller, lost.pool).lease(NodeId(right.node), A, right.generation)


def test_the_kept_copy_is_written_when_it_is_news(lost: Lost) -> None:
    ground, clusters = lost.fleet.ground(7, "lost", lost.pool), Clusters()
    clusters.deploying(Deploy(A, 1, SPEC, MEMBERS, NodeId(NAMES[0])))
    keeper = MembershipKeeper(ground, clusters, bare_setup(ground), workers_s=10)
    copy = lost.base / NAMES[0] / "clusters" / "a" / "members" / "kept.json"
    keeper.keep(A)
    first = from_plain(KeptCluster, loads(copy.read_text()))
    assert not first.loaded
    copy.unlink()
    keeper.keep(A)
    assert not copy.exists()
    clusters.mark(A, working=True)
    keeper.keep(A)
    assert from_plain(KeptCluster, loads(copy.read_text())) == KeptCluster(
        spec=SPEC, master=NodeId(NAMES[0]), loaded=True, members=MEMBERS
    )
    keeper.keep(ClusterId("nobody"))
