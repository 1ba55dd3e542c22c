"""Made-up stories of one pool: whatever is asked and seen, in whatever order, the invariants hold and all comes free.

`tests/sim/test_random_runs.py` plays whole runs in a world that keeps its word. Here nobody does: answers come late,
twice or never, masters say anything of a node or are silent, and an MR-cluster is given back at any moment of its life.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fawkes.base.units import SECOND_US
from fawkes.core.values import effects, events
from fawkes.core.values.lifecycle import WITH_MASTERS
from fawkes.core.values.model import ClusterId, ClusterLife, Facts, NodeId, NodeLife, Promise, Role
from fawkes.core.values.sight import Compute, SafeMode, Service, Stored
from tests.support.desk import Desk
from tests.support.examples import examples
from tests.support.pools import settings as how

NAMES = ("a", "b", "c")
NODES = tuple(f"node{i:02d}" for i in range(1, 6))
#: what a survey may find: nothing, somebody's data, somebody's work, or what is not known
SURVEYS: tuple[Facts, ...] = (
    {"undeclared": [], "applications": []},
    {"undeclared": [{"path": "/user/alice", "bytes": 5}], "applications": []},
    {"undeclared": [], "applications": [{"id": "application_1", "user": "alice"}]},
    {"undeclared": None, "applications": None},
)
#: what a look at masters may find; ``copied_us`` counts from now, None: there is no copy
LOOKS: tuple[Facts, ...] = (
    {"old": "stopped", "image": True},
    {"old": "silent", "copied_us": -1, "reached": NODES},
    {"old": "silent", "copied_us": -1, "reached": []},
    {"old": "silent", "reached": NODES},
    {"old": "runs", "image": False, "copied_us": -(10**12), "reached": NODES},
    {"old": "answers", "image": True, "applications": []},
    {"old": "answers", "applications": [{"id": "application_1"}]},
    {"old": "silent", "standby": "standby", "journal": NODES},
    {"old": None, "standby": "standby", "journal": NODES},
    {"old": "silent", "standby": "standby", "journal": NODES[:1]},
    {"old": "answers", "standby": "standby", "journal": NODES, "applications": [{"id": "application_1"}]},
    {},
)
#: what is known of a move that failed
FAILURES: tuple[Facts, ...] = (
    {},
    {"untouched": True},
    {"untouched": True, "unreadable": True},
    {"untouched": True, "unreadable": True},
    {"alive": True},
    {"gone": True},
)
SERVICES = (
    Service(),
    Service(safe_mode=SafeMode.OFF, storing=2, manager="ACTIVE", computing=2, queues=1),
    Service(safe_mode=SafeMode.LOW, storing=2, manager="ACTIVE", computing=0, queues=1),
)
_ERRORS = st.sampled_from(("", "it ended"))
#: longer than any way from a request to the last wipe
MOST_STEPS = 200


Stage = (
    effects.Deploy
    | effects.Load
    | effects.Save
    | effects.Retire
    | effects.Survey
    | effects.LookAtMasters
    | effects.MoveMasters
    | effects.ArmStandby
)


class Story:
    """A desk, and what its world has been asked for so far: the latest goal of each key, and all answers it owes."""

    def __init__(self, growth: Role) -> None:
        patience = {"masters_lost_us": 5 * SECOND_US, "copy_gap_us": 3600 * SECOND_US, "copy_us": SECOND_US}
        patience |= {"standby_us": SECOND_US, "unusable_us": 3 * SECOND_US, "late_us": SECOND_US}
        self.desk = Desk(len(NODES), how=how(growth=growth, deploy_attempts=2, **patience))
        self.goals: dict[str, effects.Effect] = {}
        self.stages: list[Stage] = []
        self.looked: dict[str, Facts] = {}
        self.reached: list[effects.Effect] = []
        self.jobs = 0
        self.desk.survey = None

    def grown(self, promise: Promise) -> None:
        """MR-cluster a has all nodes, with data on each of them where it grows so."""
        desk = self.desk
        desk.request("a", 2 if promise is Promise.KEPT else 3, masters=promise)
        self.after()
        for _ in range(2):
            self.reached.append(self.stages[-1])
            desk.done("cluster:a")
            self.after()
        desk.settle("a")
        desk.balance(a=10)
        self.after()
        assert set(desk.lives("a").values()) == {"serving"}

    def after(self) -> None:
        """Take the effects of the latest decision over; no stage goes on of what was given back."""
        for effect in self.desk.last.effects:
            self.goals[effect.key] = effect
            if isinstance(effect, Stage):
                self.stages.append(effect)
            if isinstance(effect, effects.MoveMasters):
                self.safe(effect)
            if isinstance(effect, effects.ArmStandby):
                self.one_at_a_time(effect)
        self.between()
        for goal in self.goals.values():
            if isinstance(goal, effects.Deploy | effects.Load | effects.Save) and goal.key in self.desk.state.pending:
                assert self.desk.state.clusters[goal.cluster].life in WITH_MASTERS
        for cluster in self.desk.state.clusters.values():
            if cluster.life is ClusterLife.RETIRING:
                self.stopped(cluster.id)

    def safe(self, move: effects.MoveMasters) -> None:
        """Masters move only after a look that shows that the old ones cannot serve, and that there is data to go on."""
        look = self.looked[move.key]
        standby = self.desk.state.clusters[move.cluster].standby
        if move.standby:
            assert standby is not None
            assert standby.node == move.to
            assert look["standby"] == "standby"
            assert len(set(standby.journal) & set(look["journal"])) >= 2  # type: ignore[call-overload]
            assert (look["old"] == "answers") == move.planned
            return
        # The journal is still that of the old masters, and nobody takes over by it.
        assert standby is None or (standby.node, standby.ready) == (None, False)
        if move.planned:
            assert look["old"] == "answers"
            return
        assert look["old"] in ("stopped", "runs", "silent")
        assert (look.get("image") is True and not move.from_copy) or isinstance(look.get("copied_us"), int)

    def one_at_a_time(self, effect: effects.ArmStandby) -> None:
        """Most nodes of a journal stay when it changes, and the second NameNode is beside the masters."""
        assert len(set(effect.before) & set(effect.standby.journal)) >= 2, effect
        assert effect.standby.node not in (None, effect.master), effect
        assert {effect.master, effect.standby.node} <= set(effect.standby.journal), effect

    def between(self) -> None:
        """While masters move nobody is told anything but that, and no attempt begins."""
        moving = {c.id for c in self.desk.state.clusters.values() if c.moving is not None and c.moving.begun}
        for effect in self.desk.last.effects:
            if isinstance(effect, effects.StartJob | effects.Membership):
                assert effect.cluster not in moving, effect

    def stopped(self, cluster: ClusterId) -> None:
        """Its latest stage was reached, or the world was told that it is not wanted any more."""
        goal = self.goals[f"cluster:{cluster}"]
        assert isinstance(goal, effects.Retire) or goal in self.reached, goal
        pending = self.desk.state.pending.get(goal.key)
        assert pending is None or pending.effect == goal

    def act(self, draw: st.DrawFn) -> None:
        """Something is asked for, or seen, or its time comes."""
        often = (self.ask, self.answer, self.see, self.look)
        draw(st.sampled_from((*often, *often, self.operate, self.pass_time, self.lose)))(draw)
        self.after()

    def ask(self, draw: st.DrawFn) -> None:
        """Users ask for MR-clusters, hand in jobs, and give MR-clusters back whenever they like."""
        desk = self.desk
        name = ClusterId(draw(st.sampled_from(NAMES)))
        kind = draw(st.sampled_from(("request", "request", "release", "release", "force", "submit", "submit")))
        if kind == "submit":
            self.jobs += 1
            desk.submit(name, self.jobs)
        elif kind == "request":
            minimum, later = draw(st.integers(1, 4)), draw(st.sampled_from((False, False, True)))
            promise = draw(st.sampled_from(Promise)) if minimum >= 3 else Promise.KEPT
            desk.request(name, minimum, deploy_on_first_job=later, masters=promise)
        else:
            discard = draw(st.booleans())
            desk.release(name, discard=discard, force=kind == "force", ask="l")

    def operate(self, draw: st.DrawFn) -> None:
        """Operators take nodes out of service and back, and stop all moves."""
        at_us, node = self.desk.now_us, NodeId(draw(st.sampled_from(NODES)))
        name = ClusterId(draw(st.sampled_from(NAMES)))
        asks: tuple[events.Event, ...] = (
            events.DrainAsked(at_us=at_us, node=node, reason="test", ask="d"),
            events.DrainAsked(at_us=at_us, node=node, reason="test", discard=True, ask="d"),
            events.RetryAsked(at_us=at_us, subject=node, ask="r"),
            events.UndrainAsked(at_us=at_us, node=node, ask="u"),
            events.MoveMastersAsked(
                at_us=at_us, cluster=name, to=draw(st.sampled_from((None, node))), now=True, ask="m"
            ),
            events.MoveMastersAsked(at_us=at_us, cluster=name, ask="m"),
            events.RestoreAsked(at_us=at_us, cluster=name, ask="r"),
            events.CopySeen(at_us=at_us, cluster=name, error=draw(st.sampled_from(("", "full")))),
            events.StandbySeen(at_us=at_us, cluster=name, node=node, ready=draw(st.booleans()), error=draw(_ERRORS)),
            events.WaitSeen(at_us=at_us, effect=f"cluster:{name}", version=1, waits_for="a daemon", since_us=0),
            events.WaitSeen(at_us=at_us, effect=f"host:{node}", version=1, waits_for="a daemon", since_us=0),
            events.ServiceSeen(at_us=at_us, cluster=name, service=draw(st.sampled_from(SERVICES))),
            events.PauseAsked(at_us=at_us, reason="test"),
            events.ResumeAsked(at_us=at_us),
        )
        self.desk.tell(draw(st.sampled_from(asks)))

    def answer(self, draw: st.DrawFn) -> None:
        """A stage that was begun a while ago ends, well or badly, or for the second time."""
        if not self.stages:
            return
        stage = draw(st.sampled_from(self.stages[-3:]))
        at_us = self.desk.now_us
        if draw(st.sampled_from((True, True, False))):
            self.reached.append(stage)
            facts = draw(st.sampled_from(SURVEYS)) if isinstance(stage, effects.Survey) else {}
            if isinstance(stage, effects.LookAtMasters):
                self.found(stage, draw(st.sampled_from(LOOKS)))
                return
            self.desk.tell(events.Done(at_us=at_us, effect=stage.key, version=stage.version, facts=facts))
        else:
            final, facts = draw(st.booleans()), {}
            if isinstance(stage, effects.MoveMasters):
                facts = draw(st.sampled_from(FAILURES))
            failed = events.Failed(
                at_us=at_us, effect=stage.key, version=stage.version, error="no", final=final, facts=facts
            )
            self.desk.tell(failed)

    def is_asked(self, stage: effects.LookAtMasters) -> bool:
        """True if an answer to this look counts."""
        pending = self.desk.state.pending.get(stage.key)
        return pending is not None and pending.version == stage.version and pending.effect == stage

    def facts_of(self, facts: Facts) -> Facts:
        """The facts of a look, with times of this story."""
        copied = facts.get("copied_us")
        return facts if not isinstance(copied, int) else {**facts, "copied_us": self.desk.now_us + copied}

    def see(self, draw: st.DrawFn) -> None:
        """Something is seen of a node, mostly of one that was asked for something."""
        desk = self.desk
        hosts_pending = sorted(key.removeprefix("host:") for key in desk.state.pending if key.startswith("host:"))
        node = draw(st.sampled_from(hosts_pending or NODES))
        generation = max(0, desk.node(node).generation - draw(st.sampled_from((0, 0, 0, 1))))
        desk.see(node, draw(st.sampled_from(list(events.Condition))), "seen", generation)

    def look(self, draw: st.DrawFn) -> None:
        """Masters say anything of one of their nodes, or do not answer at all."""
        desk = self.desk
        members = [node for node, state in sorted(desk.state.nodes.items()) if state.owner is not None]
        kind = draw(st.integers(0, 5))
        if kind == 1:
            self.follow(draw)
        elif kind == 0:
            desk.masters(draw(st.sampled_from(NAMES)), draw(st.sampled_from(("", "no answer"))))
        elif members:
            compute = draw(st.sampled_from((Compute.LEFT, Compute.LEFT, *Compute)))
            stored = draw(st.sampled_from((Stored.LEFT, Stored.LEFT, Stored.DEAD, *Stored)))
            at_risk, missing, unheard = (draw(st.sampled_from((0, 0, 1))) for _ in range(3))
            blocks = {"at_risk_files": at_risk, "missing_files": missing, "unheard_files": unheard}
            desk.look(draw(st.sampled_from(members)), compute, stored, **blocks)

    def lose(self, draw: st.DrawFn) -> None:
        """Masters are silent until they are looked at, and the look finds something."""
        name = draw(st.sampled_from(NAMES))
        for _ in range(draw(st.integers(1, 2))):
            self.desk.masters(name, "no answer")
            self.after()
            for _ in range(draw(st.integers(2, 8))):
                looks = self.goals.get(f"masters:{name}")
                if isinstance(looks, effects.LookAtMasters) and self.is_asked(looks):
                    self.found(looks, draw(st.sampled_from(LOOKS)))
                    break
                self.desk.wake()
                self.after()

    def found(self, look: effects.LookAtMasters, facts: Facts) -> None:
        """A look ends."""
        facts = self.facts_of(facts)
        if self.is_asked(look):
            self.looked[look.key] = facts
        self.desk.tell(events.Done(at_us=self.desk.now_us, effect=look.key, version=look.version, facts=facts))

    def follow(self, draw: st.DrawFn) -> None:
        """A second NameNode is seen to follow, or not to."""
        for cluster in list(self.desk.state.clusters.values()):
            if cluster.standby is not None and cluster.standby.node is not None:
                ready, error = draw(st.booleans()), draw(_ERRORS)
                at_us, node = self.desk.now_us, cluster.standby.node
                self.desk.tell(events.StandbySeen(at_us=at_us, cluster=cluster.id, node=node, ready=ready, error=error))
                self.after()

    def pass_time(self, draw: st.DrawFn) -> None:
        """A deadline passes, or another controller takes over."""
        rules = self.desk.state.rules
        if rules is not None and draw(st.sampled_from((False, False, True))):
            self.desk = Desk(len(NODES), state=self.desk.state, how=rules.settings)
            self.desk.survey = None
        else:
            self.desk.wake()

    def end(self) -> None:
        """Everything is given back, and from now on the world does what it is asked."""
        for node in NODES:
            self.desk.undrain(node)
        for _ in range(MOST_STEPS):
            for name in list(self.desk.state.clusters):
                self.desk.release(name, discard=True, force=True)
                self.after()
            goals = [goal for goal in self.goals.values() if goal.key in self.desk.state.pending]
            for goal in goals:
                self.obey(goal)
            if not self.desk.state.clusters and not goals:
                return
            self.desk.wake()
            self.after()

    def obey(self, goal: effects.Effect) -> None:
        """The world reaches a goal about a node."""
        if isinstance(goal, effects.Host):
            condition = events.Condition.CLEAN if goal.role is None else events.Condition.SERVING
            self.desk.see(goal.node, condition, "", goal.generation)
            self.after()


@st.composite
def stories(draw: st.DrawFn) -> Story:
    """A story up to its last free moment."""
    story = Story(draw(st.sampled_from((Role.TRANSIENT, Role.TRANSIENT_CORE))))
    if draw(st.booleans()):
        story.grown(draw(st.sampled_from(Promise)))
    for _ in range(draw(st.integers(30, 90))):
        story.act(draw)
    return story


@pytest.mark.slow
@settings(max_examples=examples(150), deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(stories())
def test_whatever_happens_all_nodes_come_free(story: Story) -> None:
    story.end()
    state = story.desk.state
    assert not state.clusters
    assert not state.jobs
    lives = {node: known.life for node, known in state.nodes.items() if known.life is not NodeLife.FREE}
    assert set(lives.values()) <= {NodeLife.OUT}, lives
    assert {key.partition(":")[0] for key in state.pending} <= {"tick", "back"}
    # A job of an MR-cluster that is no more gives no answer that counts.
    for number in range(story.jobs):
        story.desk.job(f"a-{number}", events.Progress.SUCCEEDED)
        assert story.desk.codes() == ["late-answer"]
