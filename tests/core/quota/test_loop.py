"""The inner loop: applications that are played against it, and laws of every period."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fawkes.core.quota.loop import node_cores, planned_nodes, step, teachers
from fawkes.core.quota.profile import ApplicationProfile, ProfiledStage
from fawkes.core.quota.sight import (
    ApplicationSeen,
    CoresWay,
    ExecutorSeen,
    JobGoal,
    LoopApplication,
    LoopState,
    Period,
    PeriodLook,
    StageSeen,
)
from fawkes.core.quota.values import LIVE, Parameters, QuotaRules
from fawkes.core.values.model import ClusterId, JobId, JobLife, JobSpec, JobState, NodeId
from fawkes.store.record import from_plain, text_of, to_plain
from tests.core.quota.support import quota

US = 1_000_000
NODES: Mapping[NodeId, float | None] = {NodeId("n1"): 4.0, NodeId("n2"): 4.0}
RULES = QuotaRules()


def stage(name: str, *parents: str, seconds: float = 50.0, rate: float | None = 100.0) -> ProfiledStage:
    """A stage of 400 tasks on 8 cores."""
    records = seconds * 8 * 100
    return ProfiledStage(
        id=name,
        duration_s=seconds,
        tasks=400,
        records_read=records,
        records_written=records,
        rate=rate,
        parents=parents,
    )


def goal(*stages: ProfiledStage, job: str = "j", due_s: float = 200.0, at_s: float = 0.0) -> JobGoal:
    return JobGoal(
        job=JobId(job),
        cluster=ClusterId("c"),
        attempt=1,
        profile=ApplicationProfile("p", 1, stages),
        size=1.0,
        submitted_us=int(at_s * US),
        due_us=int(due_s * US),
    )


@dataclass
class App:
    """An application whose stages run one after another, as fast as the cores of all of its executors."""

    goal: JobGoal
    speed: float = 1.0
    nodes: tuple[str, ...] = ("n1", "n2")
    done: float = 0.0
    stage: int = 0
    ended_s: float | None = None
    cores: list[float] = field(default_factory=list)

    def seen(self) -> ApplicationSeen:
        rows = [
            StageSeen(
                id=each.id,
                tasks=400,
                done=400 if place < self.stage else int(self.done),
                written=each.records_written if place < self.stage else 0,
                active=place == self.stage,
            )
            for place, each in enumerate(self.goal.profile.stages[: self.stage + 1])
        ]
        executors = tuple(ExecutorSeen(container=f"{self.goal.job}-{n}", node=NodeId(n), slots=4) for n in self.nodes)
        return ApplicationSeen(goal=self.goal, stages=tuple(rows), executors=executors)

    def advance(self, period: Period, now_us: int) -> None:
        given = [period.quotas[NodeId(n)][f"{self.goal.job}-{n}"] for n in self.nodes]
        cores = sum(4.0 if each is None else each for each in given)
        self.cores.append(cores)
        records = self.goal.profile.stages[self.stage].records_read
        self.done += 0.5 * cores * 100 * self.speed * 400 / records
        if self.done >= 400:
            self.stage, self.done = self.stage + 1, 0.0
            if self.stage == len(self.goal.profile.stages):
                self.ended_s = (now_us + US // 2) / US


def look(at_us: int, *seen: ApplicationSeen) -> PeriodLook:
    return PeriodLook(at_us=at_us, seen=seen, nodes=NODES)


def play(*apps: App, policy: str = "edf_pure", rules: QuotaRules = RULES) -> list[Period]:
    divide, room, periods = quota(policy), LoopState(), list[Period]()
    for count in range(2000):
        now_us = count * US // 2
        live = [app for app in apps if app.ended_s is None and app.goal.submitted_us <= now_us]
        if not live and all(app.ended_s is not None for app in apps):
            return periods
        period = step(room, look(now_us, *(app.seen() for app in live)), divide, rules)
        for app in live:
            app.advance(period, now_us)
        periods.append(period)
        room = period.room
    raise AssertionError("an application does not end")


@pytest.mark.parametrize("speed", [0.6, 1.0, 1.4])
def test_an_application_ends_on_its_deadline_also_when_its_profile_is_wrong(speed: float) -> None:
    app = App(goal(stage("0 a"), stage("1 b", "0 a")), speed=speed)
    play(app)
    assert app.ended_s == pytest.approx(200, abs=2.0)
    assert sum(app.cores) * 0.5 == pytest.approx(800 / speed, rel=0.03)


@pytest.mark.parametrize(
    ("idle_s", "end_s", "first_s"), [(None, None, 100), (None, 12.0, 94), (20.0, 0.0, 90), (20.0, 12.0, 84)]
)
def test_stages_leave_the_time_in_which_none_runs(idle_s: float | None, end_s: float | None, first_s: float) -> None:
    known = goal(stage("0 a"), replace(stage("1 b", "0 a"), idle_s=idle_s))
    app = App(replace(known, profile=replace(known.profile, end_s=end_s)))
    (steered,) = play(app)[0].room.applications[JobId("j")].steered
    assert steered.plan.deadline_s == pytest.approx(first_s)
    # Here the second stage follows at once, so that what was left before it is its own.
    assert app.ended_s == pytest.approx(200 - (end_s or 0.0), abs=1.5)


def test_a_rate_in_records_written_is_held_against_records_written() -> None:
    """A program that makes its data reads nothing: its rate counts what it writes."""
    makes = replace(stage("0 a"), records_read=0.0)
    course = step(LoopState(), look(0, App(goal(makes, due_s=100)).seen()), quota("edf_pure"), RULES).courses[0]
    assert (course.way, course.requested) == (CoresWay.CONTROLLED, 4.0)


def test_two_applications_share_their_nodes_and_the_earlier_one_is_first() -> None:
    first, second = App(goal(stage("0 a"), job="x", due_s=60)), App(goal(stage("0 a"), job="y", due_s=110))
    periods = play(first, second)
    assert first.ended_s == pytest.approx(60, abs=1.0)
    assert second.ended_s == pytest.approx(110, abs=1.5)
    assert max(sum(of.values()) for period in periods for of in period.quotas.values()) <= 4 + 1e-9  # type: ignore[arg-type]


def ways(
    seen: ApplicationSeen, *, now_s: float = 1.0, room: LoopState | None = None
) -> tuple[CoresWay, Mapping[str, float | None]]:
    period = step(room or LoopState(), look(int(now_s * US), seen), quota("edf_pure"), RULES)
    return period.courses[0].way, {each: cores for of in period.quotas.values() for each, cores in of.items()}


def test_what_an_application_gets_when_it_cannot_be_controlled() -> None:
    app = App(goal(stage("0 a")))
    everything = {"j-n1": 4.0, "j-n2": 4.0}
    seen = app.seen()
    assert ways(replace(seen, stages=())) == (CoresWay.STARTING, everything)
    assert ways(App(goal(stage("0 a", rate=None))).seen()) == (CoresWay.NO_RATE, everything)
    assert ways(App(goal(stage("0 a"), due_s=0.5)).seen(), now_s=1.0)[1] == everything
    stranger = StageSeen(id="7 z", tasks=4, active=True)
    assert ways(replace(seen, stages=(stranger,))) == (CoresWay.OTHER_SHAPE, everything)
    ended = StageSeen(id="0 a", tasks=400, done=400, active=False)
    assert ways(replace(seen, stages=(ended,))) == (CoresWay.BETWEEN, {"j-n1": 0.05, "j-n2": 0.05})


@pytest.mark.parametrize(("name", "way", "cores"), [("a", CoresWay.CONTROLLED, 2.5), ("b", CoresWay.NO_RATE, 4.0)])
def test_a_rate_that_is_missing_is_learned_when_a_stage_of_the_same_line_has_ended(
    name: str, way: CoresWay, cores: float
) -> None:
    """400 tasks of a second in 99 s are 5 cores, of which each of two executors gets a half; a loop has such stages."""
    seen = App(goal(stage("0 a", rate=None), stage(f"1 {name}", "0 a", rate=None), due_s=199)).seen()
    stages = (StageSeen(id="0 a", tasks=400, done=400, run_s=400), StageSeen(id=f"1 {name}", tasks=400, active=True))
    assert ways(replace(seen, stages=stages), now_s=100) == (way, {"j-n1": cores, "j-n2": cores})


def test_what_a_stage_took_under_a_quota_is_not_learned() -> None:
    seen = App(goal(*(stage(f"{number} a", rate=None) for number in range(3)), due_s=199)).seen()
    ended = (StageSeen(id="0 a", tasks=400, done=400, run_s=400), StageSeen(id="1 a", tasks=9, done=9, run_s=90))
    stages = (*ended, StageSeen(id="2 a", tasks=400, active=True))
    assert ways(replace(seen, stages=stages), now_s=100) == (CoresWay.CONTROLLED, {"j-n1": 2.5, "j-n2": 2.5})


def test_a_driver_that_says_nothing_keeps_its_cores_for_a_while_and_then_has_no_limit() -> None:
    seen = App(goal(stage("0 a"))).seen()
    first = step(LoopState(), look(US, seen), quota("edf_pure"), RULES)
    silent = replace(seen, stages=None, executors=())
    kept = {each: cores for of in first.quotas.values() for each, cores in of.items()}
    assert ways(silent, now_s=9, room=first.room)[1] == kept
    (course,) = step(first.room, look(9 * US, silent), quota("edf_pure"), RULES).courses
    assert (course.set_point is not None, course.progress) == (True, None), "how far it is, nobody knows"
    assert ways(silent, now_s=12, room=first.room) == (CoresWay.SILENT, {"j-n1": None, "j-n2": None})
    (course,) = step(first.room, look(12 * US, silent), quota("edf_pure"), RULES).courses
    assert course.requested is None


def test_of_several_stages_one_with_a_controller_is_shown() -> None:
    seen = App(goal(stage("0 a", rate=None), stage("1 b"))).seen()
    both = replace(seen, stages=tuple(StageSeen(id=each, tasks=400, active=True) for each in ("0 a", "1 b")))
    course = step(LoopState(), look(US, both), quota("edf_pure"), RULES).courses[0]
    assert (course.way, course.stage, course.set_point) == (CoresWay.NO_RATE, "1 b", 0.0)


def test_a_driver_that_is_not_there_yet_is_not_silent() -> None:
    coming = replace(App(goal(stage("0 a"))).seen(), stages=None, executors=())
    room = step(LoopState(), look(US, coming), quota("edf_pure"), RULES).room
    assert ways(coming, now_s=60, room=room) == (CoresWay.STARTING, {})


def test_an_application_stays_of_another_shape_and_says_how() -> None:
    seen = App(goal(stage("0 a"))).seen()
    strange = replace(seen, stages=(StageSeen(id="7 z", tasks=4, active=True),))
    room = step(LoopState(), look(US, strange), quota("edf_pure"), RULES).room
    assert ways(seen, now_s=2, room=room)[0] is CoresWay.OTHER_SHAPE
    assert "'7 z' is not in version 1 of the profile p" in room.applications[JobId("j")].other_shape


def test_a_loop_that_begins_in_the_middle_of_a_stage_counts_only_what_is_left() -> None:
    app = App(goal(stage("0 a"), due_s=100), done=200)
    period = step(LoopState(), look(50 * US, app.seen()), quota("edf_pure"), RULES)
    course = period.courses[0]
    assert (course.set_point, course.progress) == (0.0, 0.0)
    assert course.given == pytest.approx(4, abs=0.2)


def test_nodes_that_the_plans_of_an_mr_cluster_need() -> None:
    """Eq. 6: 40,000 records in 200 s at 100 a second and core are 2 cores, of which a node has 4."""
    slow, tight = App(goal(stage("0 a"), job="x")).seen(), App(goal(stage("0 a"), job="y", due_s=60)).seen()
    late = App(goal(stage("0 a"), job="z", due_s=0.5)).seen()
    divide, cluster = quota("edf_pure"), ClusterId("c")
    needed = []
    for seen in ([slow], [slow, tight], [late], []):
        room = step(LoopState(), look(US, *seen), divide, RULES).room
        needed.append((planned_nodes(room, cluster, NODES, 9), planned_nodes(room, cluster, NODES, 2)))
    assert needed == [(1, 1), (3, 2), (9, 2), (0, 0)]
    assert planned_nodes(step(LoopState(), look(US, slow), divide, RULES).room, cluster, {}, 9) is None


def test_a_quota_that_is_not_in_force_is_said_and_leaves_no_windup() -> None:
    seen = App(goal(stage("0 a"))).seen()
    unset = replace(look(US, seen), unset={"j-n1": "denied"})
    period = step(LoopState(), unset, quota("edf_pure"), RULES)
    course = period.courses[0]
    assert (course.given, course.unset) == (None, "denied")
    control = period.room.applications[JobId("j")].steered[0].control
    assert control is not None
    assert control.applied == course.requested


def test_a_node_of_unknown_cores_has_no_limits() -> None:
    seen = App(goal(stage("0 a"))).seen()
    period = step(
        LoopState(), PeriodLook(at_us=US, seen=(seen,), nodes={**NODES, NodeId("n2"): None}), quota("edf_pure"), RULES
    )
    assert period.quotas["n2"] == {"j-n2": None}  # type: ignore[index]
    assert period.courses[0].given is None


def test_a_new_attempt_of_a_job_begins_anew() -> None:
    seen = App(goal(stage("0 a"))).seen()
    room = step(LoopState(), look(US, seen), quota("edf_pure"), RULES).room
    again = replace(seen, goal=replace(seen.goal, attempt=2), stages=())
    assert ways(again, now_s=2, room=room)[0] is CoresWay.STARTING


@pytest.mark.parametrize(
    ("vcores", "shared", "nodes", "cores"),
    [(8, 0.0, 4, 8.0), (8, 2.0, 4, 0.5), (1, 16.0, 4, 1.0), (None, 2.0, 4, None), (0, 0.0, 1, None)],
)
def test_cores_of_a_node(vcores: int | None, shared: float, nodes: int, cores: float | None) -> None:
    assert node_cores(vcores, shared, nodes) == cores


stages_seen = st.lists(
    st.builds(
        StageSeen,
        id=st.sampled_from(["0 a", "1 b", "2 c", "9 z"]),
        attempt=st.integers(0, 1),
        tasks=st.integers(1, 50),
        done=st.integers(0, 60),
        written=st.sampled_from([0.0, 10.0, 1e6]),
        active=st.booleans(),
    ),
    max_size=3,
    unique_by=lambda each: (each.id, each.attempt),
)
executors_seen = st.lists(st.sampled_from(["n1", "n2", "n3"]), max_size=3, unique=True)


@given(
    st.lists(st.tuples(st.one_of(st.none(), stages_seen), executors_seen, st.integers(0, 20)), min_size=1, max_size=8),
    st.sampled_from(["edf_all", "edf_pure", "edf_prop", "proportional", "speed", "weights"]),
    st.sampled_from([0.0, 0.5, 1.0]),
    st.sampled_from([0.05, 1.0]),
)
def test_laws_of_every_period(
    history: list[tuple[list[StageSeen] | None, list[str], int]], policy: str, gamma: float, quantum: float
) -> None:
    """Quotas fit their node, also one smaller than a quantum, and are never below the least.

    A stored state decides as the one that was stored does.
    """
    profile = (stage("0 a"), stage("1 b", "0 a", rate=None), stage("2 c"))
    rules = replace(RULES, parameters=replace(LIVE, gamma=gamma, quantum=quantum))
    nodes = {NodeId("n1"): 1.5, NodeId("n2"): 0.4, NodeId("n3"): None}
    divide, room, now_us = quota(policy), LoopState(), 0
    for stages, names, passed_s in history:
        now_us += passed_s * US
        seen = []
        for job in ("x", "y"):
            executors = tuple(ExecutorSeen(container=f"{job}-{n}", node=NodeId(n), slots=2) for n in names)
            rows = None if stages is None else tuple(stages)
            seen.append(ApplicationSeen(goal=goal(*profile, job=job), stages=rows, executors=executors))
        given_to = PeriodLook(at_us=now_us, seen=tuple(seen), nodes=nodes)
        period = step(room, given_to, divide, rules)
        stored = from_plain(LoopState, to_plain(room))
        assert text_of(step(stored, given_to, divide, rules).room) == text_of(period.room)
        for node, quotas in period.quotas.items():
            limits = [cores for cores in quotas.values() if cores is not None]
            assert sum(limits) <= (nodes[node] or 0.0) + 1e-9
            assert all(cores >= LIVE.least for cores in limits)
        room = period.room


def test_parameters_of_the_paper_pause_and_those_of_a_site_do_not() -> None:
    assert (Parameters().least, LIVE.least) == (0.0, 0.05)


@pytest.mark.parametrize(("attempt", "waits"), [(1, True), (2, False), (None, False)])
@pytest.mark.parametrize(
    ("rate", "other_shape", "unfit"), [(100.0, "", False), (100.0, "another", True), (None, "", True)]
)
def test_an_attempt_may_make_a_profile_when_it_has_ended_and_its_own_did_not_fit(
    attempt: int | None, waits: bool, rate: float | None, other_shape: str, unfit: bool
) -> None:
    """None: the job has ended, and nobody keeps it."""
    aim = goal(stage("a", rate=rate), stage("b"))
    app = LoopApplication(goal=aim, heard_us=0, submitted=("a",), other_shape=other_shape)
    jobs = {}
    if attempt is not None:
        spec = JobSpec(id=aim.job, cluster=aim.cluster)
        jobs[aim.job] = JobState(spec=spec, life=JobLife.RUNNING, submitted_us=0, attempt=attempt)
    waiting, ended = teachers({}, LoopState({aim.job: app}), jobs)
    assert (waiting, ended) == ([aim] * (unfit and waits), [aim] * (unfit and not waits))
    # It is remembered after the loop has forgotten its application.
    assert teachers({each.job: each for each in waiting}, LoopState(), {}) == ([], waiting)
