"""Drills of lost masters on real Hadoop: their host loses power and disk while the MR-cluster is in a phase.

A lab is shared by seeds that follow each other: the MR-cluster lives on through several losses.
"""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from drills.agenda import Agenda
from drills.checks import Failure, comes_to_rest, jobs_once, never_green, one_owner, restless, stuck
from drills.loss import CLUSTER, HOSTS, Killed, LossPlan, Phase
from drills.masters_facts import LossFacts, OwnApplication
from drills.masters_phases import begin
from drills.real import PATIENCE_S, ask, cluster_text, job_text, write_input
from drills.real_facts import INPUTS, RealFacts
from drills.real_faults import Hands
from drills.result import Result, Tried
from drills.settings import SETTINGS
from drills.table import MASTERS
from fawkes.base.errors import FawkesError
from fawkes.core.values.model import ClusterId, ClusterLife, ClusterState, NodeId, NodeLife, Promise
from tests.support.probing import meanwhile
from tests.support.site import RealSite, real_site

#: many small files: loading them takes a while
_MANY, _FILES = "many", 150
#: how long lost masters may be held before an operator takes their copy
_HELD_S = 60.0
#: how long a lost and empty node, jobs and a second NameNode have until all is at rest
_OVER_S = 240.0
_LOOK_EVERY_S = 0.25


@contextmanager
def player(folder: Path) -> Iterator[Callable[[LossPlan], Result]]:
    """Whoever plays losses, on one lab for seeds of the same promise; sites of failed drills stay in ``folder``."""
    labs = Labs(folder.absolute() / "sites")
    try:
        yield labs.play
    finally:
        labs.end()


@dataclass(slots=True)
class Labs:
    """At most one lab at a time. The next seed gets another one after a failure, and for another promise."""

    folder: Path
    _stack: ExitStack = field(default_factory=ExitStack)
    _site: RealSite | None = None
    _promise: Promise | None = None
    _counts: dict[str, int] = field(default_factory=dict)

    def play(self, plan: LossPlan) -> Result:
        """Play one loss."""
        site = self._site_of(plan)
        result = MastersDrill(plan, site, self._counts).run()
        if result.failures:
            self._stack.close()
            self._site = None
        return result

    def _site_of(self, plan: LossPlan) -> RealSite:
        if self._site is not None and plan.loss.promise is self._promise:
            saved = self._site.root / "saved" / CLUSTER
            if saved.exists():
                # An earlier MR-cluster of this name was saved there, and no save overwrites another one's.
                saved.rename(saved.with_name(f"{CLUSTER}-before-{plan.seed}"))
            return self._site
        self.end()
        root = self.folder / f"{MASTERS}-{plan.seed}"
        shutil.rmtree(root, ignore_errors=True)
        site = self._stack.enter_context(real_site(root / "lab", HOSTS, SETTINGS))
        self._counts = write_input(site.root / "clusters")
        for number in range(_FILES):
            site.write(f"clusters/{_MANY}/part-{number:03d}.txt", f"{number} " * 400)
        (cluster,) = plan.story.clusters
        scratch = 'scratch = ["/users"]\n'
        site.write(f"clusters/{CLUSTER}.toml", cluster_text(cluster, (*INPUTS, _MANY)) + scratch)
        site.run()
        self._site, self._promise = site, plan.loss.promise
        return site

    def end(self) -> None:
        """End the lab, and remove its folder unless a drill failed on it."""
        self._stack.close()
        if self._site is not None:
            shutil.rmtree(self._site.root.parent)
        self._site = None


@dataclass(slots=True)
class MastersDrill:
    """One loss on a lab."""

    plan: LossPlan
    site: RealSite
    counts: dict[str, int]
    failures: dict[Failure, None] = field(default_factory=dict)
    figures: dict[str, float] = field(default_factory=dict)
    _agenda: Agenda = field(default_factory=Agenda)
    _tried: Tried | None = None

    def run(self) -> Result:
        """Play it to its end; whatever the harness meets is a failure of the drill."""
        began_s = time.monotonic()
        try:
            self._play()
        except (AssertionError, LookupError, ValueError, subprocess.SubprocessError, OSError, FawkesError) as error:
            self._fail(Failure("broke off", str(error).splitlines()[0] if str(error) else repr(error)))
            (self.site.root / f"broke-off-{self.plan.seed}.txt").write_text(str(error))
        return Result(
            seed=self.plan.seed,
            world=MASTERS,
            tried=(self._tried or Tried(self.plan.loss),),
            failures=tuple(self.failures),
            steps=len(self.site.ledger.entries),
            took_s=time.monotonic() - began_s,
            figures=self.figures,
        )

    def _play(self) -> None:
        for job in self.plan.story.jobs:
            self.site.write(f"jobs/{job.name}.toml", job_text(job))
        self._agenda.begin()
        facts = LossFacts(self.site, self.plan)
        with ExitStack() as stack:
            phase = begin(self.plan, self.site, stack)
            facts.began = self.site.now()
            facts.before = phase.before
            users = f"/users/{self.plan.seed}"
            answers = stack.enter_context(meanwhile(self.site, CLUSTER, "keep_probing", self._addresses(), users))
            phase.reach()
            self._lose(facts, phase.off)
            self._until_over(facts)
            self._check(facts.explained())
            self._request_again(facts)
            if self.plan.loss.phase is not Phase.SAVE:
                self._until("a while of work", lambda: time.time() > facts.over_s + 3.0)
        self.figures |= facts.measured(answers)
        self._until_rest(phase.own)
        self._check_all(facts, answers, phase.own)

    def _addresses(self) -> Sequence[str]:
        return tuple(self.site.hosts.values())

    # --- the loss

    def _lose(self, facts: LossFacts, off: Sequence[NodeId]) -> None:
        loss = self.plan.loss
        time.sleep(loss.after_s)
        self.site.ledger.catch_up()
        node = self._cluster().master
        assert node is not None, "there are no masters to lose"
        hands = Hands(self.site, self.plan.seed)
        facts.lost(node)
        now_s = self._agenda.now_s()
        hands.strike(loss.fault, node, ClusterId(CLUSTER))
        facts.lost_s = time.time()
        self._tried = Tried(loss, node, now_s)
        self._agenda.add(now_s + loss.back_s, partial(hands.undo, loss.fault, node))
        for host in off:
            self._agenda.add(now_s + loss.back_s, partial(self.site.lab.start, host))
        if loss.killed is Killed.AT_LOSS:
            self._kill()

    def _kill(self) -> None:
        self.site.kill()
        self._agenda.add(self._agenda.now_s() + self.plan.loss.down_s, self.site.run)

    def _until_over(self, facts: LossFacts) -> None:
        """Until other masters serve; an operator restores those that Fawkes holds back for long."""
        kill = self.plan.loss.killed is Killed.AT_DECISION
        held_s = None
        limit_s = self._agenda.now_s() + PATIENCE_S
        while not self._over(facts):
            self._turn()
            now_s = self._agenda.now_s()
            if kill and facts.decided():
                kill = False
                self._agenda.add(now_s + self.plan.loss.killed_after_s, self._kill)
            if not facts.held():
                held_s = None
            elif held_s is None:
                held_s = now_s
            if held_s is not None and now_s > held_s + _HELD_S and "restored" not in self.figures:
                refused = ask(self.site, "restore", CLUSTER, "--yes")
                self.figures["restored"] = 1
                if refused:
                    self._fail(Failure("not restored", refused))
            assert now_s < limit_s, f"waited {PATIENCE_S} s for other masters\n{self.site.story()}"
        facts.over_s = time.time()

    def _request_again(self, facts: LossFacts) -> None:
        """An MR-cluster that was given up in the middle of its load has no data yet: its user requests it again."""
        if self.plan.loss.phase is Phase.LOAD and facts.given_up():
            self.figures["anew"] = 1
            self.site.until_life(ClusterLife.GONE, CLUSTER)
            self.site.request(CLUSTER)

    def _over(self, facts: LossFacts) -> bool:
        cluster = self._cluster()
        if cluster.life in (ClusterLife.GONE, ClusterLife.RETIRING):
            return True
        if cluster.moving is not None or cluster.master is None or not self._agenda.empty:
            return False
        serves = self.site.node(cluster.master).life is NodeLife.SERVING and facts.left(cluster.master)
        return serves and facts.answered()

    def _cluster(self) -> ClusterState:
        return self.site.ledger.clusters[CLUSTER]

    def _turn(self) -> None:
        self._agenda.do_due()
        controller = self.site.controller
        assert controller is None or controller.poll() is None, f"the controller ended by itself\n{self.site.story()}"
        time.sleep(_LOOK_EVERY_S)
        self.site.ledger.catch_up()

    def _until(self, awaited: str, condition: Callable[[], bool], within_s: float = PATIENCE_S) -> bool:
        """Turn until a condition holds; whether it does in time."""
        limit_s = self._agenda.now_s() + within_s
        while not condition():
            if self._agenda.now_s() > limit_s:
                return False
            self._turn()
        return True

    # --- the end

    def _until_rest(self, own: OwnApplication | None) -> None:
        self._until("rest", lambda: self._agenda.empty and not restless(self.site.state), _OVER_S)
        self._check(comes_to_rest(self.site.state))
        self._check(stuck(self.site.state, (), ()))
        standby = self.plan.loss.promise is Promise.STANDBY and self._cluster().life is ClusterLife.RUNNING
        if standby and not self._until("a second NameNode", self._follows, _OVER_S):
            self._fail(Failure("no second NameNode", f"{CLUSTER}: {self._cluster().standby or 'it was given up'}"))
        if own is not None:
            self._until("the end of the user's application", own.ended, _OVER_S)

    def _follows(self) -> bool:
        standby = self._cluster().standby
        return standby is not None and standby.ready

    def _check_all(self, facts: LossFacts, answers: dict[str, Any], own: OwnApplication | None) -> None:
        inputs = (*INPUTS, _MANY)
        read = RealFacts(self.site, self.plan.story, self.counts, inputs=inputs)
        self._check(one_owner(read.owners()))
        self._check(read.verified())
        self._check(facts.jobs_done())
        if self._cluster().life is ClusterLife.GONE:
            self._check(read.saved())
            self._check(facts.saved())
            return
        self._check(read.at_rest())
        self._check(never_green(self.site.state, read.missing()))
        self._check(jobs_once(read.jobs()))
        self._check(facts.kept())
        self._check(facts.written(answers["files"], self.figures))
        if own is not None:
            self._check(facts.own_application(own))

    def _check(self, found: Sequence[Failure]) -> None:
        for failure in found:
            self._fail(failure)

    def _fail(self, failure: Failure) -> None:
        self.failures[failure] = None
