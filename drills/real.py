"""Drills on real Hadoop: the plan of a seed played on a lab, by the commands that users have."""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from drills.agenda import Agenda
from drills.aim import struck
from drills.checks import Failure, comes_to_rest, jobs_once, never_green, one_owner, restless, stuck
from drills.plan import OF_CONTROLLER, REBOOT_S, STORY_S, ClusterPlan, Fault, JobPlan, Kind, Plan
from drills.real_facts import INPUTS, RealFacts
from drills.real_faults import Hands, small_disk
from drills.result import Result, Tried
from drills.settings import SETTINGS
from drills.story_events import node_name
from fawkes.base.errors import FawkesError
from fawkes.config.site.site import Site
from fawkes.core.state import alerts
from fawkes.core.values.model import ClusterId, ClusterLife, NodeId, Role
from tests.support.site import RealSite, real_site

#: how long everything may take to come to rest once the faults are over, and again after the last release
PATIENCE_S = 300
_LOOK_EVERY_S = 0.25
#: how long users go on asking while no controller answers
_ASK_AGAIN_S = 120.0
_CLUSTER = """
min_nodes = {min_nodes}
replication = {replication}
block_size = "1MiB"
max_running_jobs = 2
growth = "{growth}"
masters = "{masters}"
data = [{data}]
outputs = [{{ path = "/output", save_to = "../saved/{name}" }}]
# Else a DataNode takes no block where less than 1 GB is free.
hadoop."hdfs-site"."dfs.datanode.round-robin-volume-choosing-policy.additional-available-space" = "16777216"
"""
_GROWTH = {Role.TRANSIENT: "TR", Role.TRANSIENT_CORE: "TC"}
_FILES = 2
#: each host's disk in a drill that fills one; it is held in memory, beside what containers get
_DISK_MB = 900
_MEMORY_MB = 1200


def player(folder: Path) -> Callable[[Plan], Result]:
    """Whoever plays plans on real Hadoop; sites of failed drills stay in ``folder``."""
    folder = folder.absolute()

    def play(plan: Plan) -> Result:
        site_folder = folder / "sites" / f"seed-{plan.seed}"
        if site_folder.exists():
            shutil.rmtree(site_folder)
        with ExitStack() as stack:
            root = site_folder / "lab"
            # Before the lab is up: its namespaces do not see what is mounted later.
            disk = stack.enter_context(small_disk(Site(root).state_dir, plan))
            low = any(fault.kind is Kind.LOW for fault in plan.faults)
            disk_mb = _DISK_MB if low else None
            site = stack.enter_context(
                real_site(root, plan.story.hosts, SETTINGS, memory_mb=_MEMORY_MB, disk_mb=disk_mb)
            )
            hands = stack.enter_context(Hands.on(site, plan, disk))
            result = RealDrill(plan, site, hands).run()
        if not result.failures:
            shutil.rmtree(site_folder)
        return result

    return play


def write_input(folder: Path) -> dict[str, int]:
    """The same files each time; how often each word is in them."""
    chance = random.Random(7)
    words = [f"word{n}" for n in range(100)]
    counts: Counter[str] = Counter()
    for name, count in (("words", _FILES), ("records", 1)):
        (folder / name).mkdir(parents=True)
        for number in range(count):
            rows = [chance.choices(words, k=9) for _ in range(300)]
            (folder / name / f"part-{number}.txt").write_text("".join(" ".join(row) + "\n" for row in rows))
            if name == "words":
                counts.update(word for row in rows for word in row)
    return dict(counts)


def cluster_text(cluster: ClusterPlan, inputs: Sequence[str] = INPUTS) -> str:
    """The file of an MR-cluster that loads these folders."""
    return _CLUSTER.format(
        name=cluster.name,
        min_nodes=cluster.min_nodes,
        replication=cluster.replication,
        growth=_GROWTH[cluster.growth],
        masters=cluster.masters,
        data=", ".join(f'{{ from = "{name}", to = "/{name}" }}' for name in inputs),
    )


def ask(site: RealSite, *words: str) -> str:
    """Ask until a controller answers: why it refused, or empty. A refusal is an answer."""
    limit = time.monotonic() + _ASK_AGAIN_S
    while time.monotonic() < limit:
        done = site.try_command(*words)
        if done.returncode == 0 or "controller" not in done.stderr:
            return done.stderr.strip() if done.returncode else ""
        time.sleep(1.0)
    return "no controller answered"


def job_text(job: JobPlan) -> str:
    """The file of a job: a word count with output, or a script that only waits."""
    head = f'id = "{job.name}"\nretries = {job.retries}\n'
    if job.writes:
        args = f'["wordcount", "-Dmapreduce.job.reduces={job.writes}", "/words", "/output/{job.name}"]'
        return head + f'kind = "jar"\njar = "examples"\nargs = {args}\n'
    return head + f'kind = "script"\ncommand = "sleep {job.run_s}"\ntasks = {job.tasks}\n'


@dataclass(slots=True)
class RealDrill:
    """One drill on one lab."""

    plan: Plan
    site: RealSite
    hands: Hands
    failures: dict[Failure, None] = field(default_factory=dict)
    tried: dict[int, Tried] = field(default_factory=dict)
    _agenda: Agenda = field(default_factory=Agenda)
    _over_s: float = STORY_S
    _away: set[NodeId] = field(default_factory=set)
    _robbed: set[ClusterId] = field(default_factory=set)
    _controller_down: bool = False
    _disk_full: bool = False

    def run(self) -> Result:
        """Play it to its end; whatever the harness meets is a failure of the drill."""
        began_s = time.monotonic()
        try:
            self._play()
        except (AssertionError, LookupError, subprocess.SubprocessError, OSError, FawkesError) as error:
            self._fail(Failure("broke off", str(error).splitlines()[0] if str(error) else repr(error)))
            (self.site.root / "broke-off.txt").write_text(str(error))
        return Result(
            seed=self.plan.seed,
            world="real",
            tried=tuple(self.tried.get(n, Tried(fault)) for n, fault in enumerate(self.plan.faults)),
            failures=tuple(self.failures),
            steps=len(self.site.ledger.entries),
            took_s=time.monotonic() - began_s,
        )

    def _play(self) -> None:
        counts = write_input(self.site.root / "clusters")
        self._write_files()
        self.site.run()
        self._agenda.begin()
        with ThreadPoolExecutor(max_workers=8) as users:
            for at_s, words in self._asks():
                self._agenda.add(at_s, partial(self._asked, users, words))
            while self._agenda.now_s() < self._over_s or not self._agenda.empty:
                self._turn()
        facts = RealFacts(self.site, self.plan.story, counts, self._robbed, self._away)
        self._until_rest()
        self._check(facts.at_rest())
        self._check(never_green(self.site.state, facts.missing()))
        self._check(jobs_once(facts.jobs()))
        self._check(one_owner(facts.owners()))
        self._give_all_back()
        self._check(facts.saved())
        self._check(one_owner(facts.owners()))
        self._check(facts.verified())

    # --- what users do

    def _write_files(self) -> None:
        for cluster in self.plan.story.clusters:
            self.site.write(f"clusters/{cluster.name}.toml", cluster_text(cluster))
        for job in self.plan.story.jobs:
            self.site.write(f"jobs/{job.name}.toml", job_text(job))

    def _asks(self) -> Iterator[tuple[float, tuple[str, ...]]]:
        story = self.plan.story
        for cluster in story.clusters:
            yield cluster.at_s, ("request", cluster.name)
            if cluster.release_s is not None:
                yield cluster.release_s, ("release", cluster.name, "--force", "--yes")
        for job in story.jobs:
            yield job.at_s, ("submit", job.cluster, str(self.site.root / "jobs" / f"{job.name}.toml"))
        for drain in story.drains:
            yield drain.at_s, ("drain", node_name(drain.node), "--reason", "drill")
            yield drain.back_s, ("undrain", node_name(drain.node))

    def _asked(self, users: Executor, words: tuple[str, ...]) -> None:
        users.submit(ask, self.site, *words)

    # --- the way of a drill

    def _turn(self) -> None:
        """Do what is due, look at the ledger, and strike."""
        self._agenda.do_due()
        self._look_after_controller()
        self.site.ledger.catch_up()
        for number, fault in enumerate(self.plan.faults):
            if number not in self.tried and self._agenda.now_s() >= fault.from_s:
                self._aim(number, fault)
        time.sleep(_LOOK_EVERY_S)

    def _look_after_controller(self) -> None:
        """A controller that ended by itself is a failure; somebody starts it again all the same."""
        controller = self.site.controller
        if self._controller_down or controller is None or controller.poll() is None:
            return
        tail = self.site.log.read_text(errors="replace").strip().splitlines()[-1:]
        self._fail(Failure("controller ended", f"with {controller.returncode}: {' '.join(tail)}"))
        self.site.controller = None
        if self._disk_full:
            self._controller_down = True
        else:
            self.site.run()

    def _aim(self, number: int, fault: Fault) -> None:
        now_s = self._agenda.now_s()
        if fault.kind in OF_CONTROLLER:
            if len(self.site.ledger.entries) >= fault.step:
                self._strike_controller(number, fault, now_s)
            return
        node = struck(fault, self.site.state)
        if node is None or not self.hands.can(fault.kind):
            return
        owner = self.site.state.nodes[node].owner
        self.tried[number] = Tried(fault, node, now_s + fault.after_s)
        self._agenda.add(now_s + fault.after_s, lambda: self.hands.strike(fault, node, owner))
        if fault.kind is Kind.EMPTIED and owner is not None:
            self._robbed.add(owner)
        if fault.back_s is None:
            self._away.add(node)
            return
        for off_s in fault.reboots_s[1:]:
            again_s = now_s + fault.after_s + off_s
            self._agenda.add(again_s - REBOOT_S, lambda: self.hands.undo(fault, node))
            self._agenda.add(again_s, lambda: self.hands.strike(fault, node, owner))
        back_s = now_s + fault.after_s + fault.back_s
        self._over_s = max(self._over_s, back_s)
        self._agenda.add(back_s, lambda: self.hands.undo(fault, node))

    def _strike_controller(self, number: int, fault: Fault, now_s: float) -> None:
        if not self.hands.can(fault.kind) or self._controller_down:
            return
        assert fault.back_s is not None
        self.tried[number] = Tried(fault, at_s=now_s)
        self._over_s = max(self._over_s, now_s + fault.back_s)
        if fault.kind is Kind.STATE_DISK:
            self._disk_full = True
            self.hands.fill_disk()
            self._agenda.add(now_s + fault.back_s, self._room_again)
            return
        if fault.kind is Kind.STOPPED:
            self.hands.signal_controller(signal.SIGSTOP)
            self._agenda.add(now_s + fault.back_s, lambda: self.hands.signal_controller(signal.SIGCONT))
            return
        self._controller_down = True
        self.site.kill()
        self._agenda.add(now_s + fault.back_s, self._controller_back)

    def _room_again(self) -> None:
        """Somebody makes room; a controller that ended over it is started again."""
        self.hands.free_disk()
        self._disk_full = False
        if self._controller_down and self.site.controller is None:
            self._controller_back()

    def _controller_back(self) -> None:
        self._controller_down = False
        self.site.run()

    # --- the end

    def _until_rest(self) -> None:
        self._wait(PATIENCE_S / 2)
        self._give_up()
        self._wait(PATIENCE_S)
        self._check(comes_to_rest(self.site.state))
        self._check(stuck(self.site.state, self._away, self._robbed))

    def _wait(self, patience_s: float, *, emptied: bool = False) -> None:
        """Until all is at rest, or patience is at its end; ``emptied``: also until no MR-cluster is there.

        All is at rest once no fault is under way either: one of the controller would strike the checks.
        """
        limit_s = self._agenda.now_s() + patience_s
        while self._agenda.now_s() < limit_s:
            rest = self._agenda.empty and not restless(self.site.state, self._away)
            if rest and not (emptied and self.site.state.clusters):
                return
            self._turn()

    def _give_up(self) -> None:
        """An operator does what the alert says of masters without a copy whose node never comes back."""
        for cluster in list(self.site.state.clusters.values()):
            words = ("release", cluster.id, "--discard-data", "--force")
            said = any(f"`fawkes {' '.join(words)}`" in alert.text for alert in alerts.every(cluster))
            if cluster.master in self._away and said:
                self._robbed.add(cluster.id)
                self._released(cluster.id, ask(self.site, *words, "--yes"))

    def _released(self, cluster: ClusterId, refused: str) -> None:
        if refused:
            self._fail(Failure("not given back", f"{cluster}: {refused}"))

    def _give_all_back(self) -> None:
        for cluster in list(self.site.state.clusters.values()):
            if cluster.life is not ClusterLife.RETIRING:
                self._released(cluster.id, ask(self.site, "release", cluster.id, "--force", "--yes"))
        self._wait(PATIENCE_S, emptied=True)
        self._check(comes_to_rest(self.site.state))
        self._check(stuck(self.site.state, self._away, self._robbed))

    def _check(self, found: list[Failure]) -> None:
        for failure in found:
            self._fail(failure)

    def _fail(self, failure: Failure) -> None:
        self.failures[failure] = None
