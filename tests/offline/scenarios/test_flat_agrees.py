"""The flat pool and the full simulator: the same jobs let in, with as many CPUs, dropped and killed in the same order.

Jobs have equal maps, no Hadoop beside them takes time, and the grants divide the tasks: then waves take as long as
perfect parallelism does. Each event has its instant for itself: the flat pool makes one pass of admission for all of an
instant, and the full simulator one for each event, as live. It learns the work of a job just after the pass that the
job's end begins, and the flat pool before: policies that learn are compared where no job waits at such an end.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from fawkes.base.units import SECOND_US
from fawkes.core.values.decision import PutJob
from fawkes.core.values.events import Requested
from fawkes.core.values.model import ClusterId, ClusterSpec, JobId, JobLife, JobSpec
from fawkes.offline.scenarios.load import Coming, Demand
from fawkes.offline.scenarios.plan import Plan, with_demands
from fawkes.offline.scenarios.scenario import pool_of, simulate
from fawkes.offline.studies.flat.jobs import FlatJobs
from fawkes.offline.studies.flat.pool import FlatPool
from fawkes.policy.admission import compile_admission
from fawkes.sim.events.steps import Delays
from fawkes.sim.hadoop.constants import PLAIN
from tests.offline.studies.flat.support import jobs_of
from tests.offline.support import CATALOG
from tests.support.examples import examples
from tests.support.pools import admission

NODES, SLOTS = 6, 2
CAPACITY = NODES * SLOTS
TASK_S = 8.0
#: readings are far apart: a pass of admission at a reading is one that the flat pool does not have
READS_S = 100_000
BEGIN_S = READS_S + 10
AT_ONCE = Delays(
    deploy_us=0,
    load_us=0,
    save_us=0,
    membership_us=0,
    join_us=0,
    drain_us=0,
    clean_us=0,
    job_start_us=0,
    job_cancel_us=0,
)
MET, MISSED = "met", "missed"

Job = tuple[float, int, float]
"""When it comes, how many tasks it has, and its deadline."""
Told = tuple[str, int, int]
"""What became of a job: which one, and with how many CPUs."""


def flat(rows: Sequence[Job], policy: str, options: dict[str, Any]) -> tuple[list[Told], FlatPool, FlatJobs]:
    jobs = jobs_of(*((at, tasks, tasks * TASK_S, due) for at, tasks, due in rows))
    pool = FlatPool(jobs, CAPACITY, compile_admission(admission(policy), options))
    outcome = pool.run()
    events = [
        (what, number, int(outcome.granted[number]) if what == "started" else 0)
        for _, what, number in pool.story
        if what != "submitted"
    ]
    return events, pool, jobs


def full(rows: Sequence[Job], policy: str, options: dict[str, Any]) -> list[Told]:
    cluster = ClusterId("a")
    come = tuple(
        Coming(
            round((BEGIN_S + at) * SECOND_US),
            JobSpec(
                id=JobId(f"a-{number}"),
                cluster=cluster,
                tasks=tasks,
                tasks_estimated=False,
                deadline_us=None if due == float("inf") else round(due * SECOND_US),
                details={"profile": {"maps": tasks, "map_us": round(TASK_S * SECOND_US)}},
            ),
        )
        for number, (at, tasks, due) in enumerate(rows)
    )
    spec = ClusterSpec(id=cluster, min_nodes=NODES, replication=1, max_running_jobs=1000)
    said = {
        "preset": "paper", "policy": "None", "admission": policy, "admission_parameters": options, "idle_time": "never",
        "period": f"{2 * READS_S}s", "sample_every": f"{READS_S}s",
    }  # fmt: skip
    demand = Demand(spec=spec, from_start=come)
    plan = Plan(name="flat", nodes=pool_of(NODES), settings=said, demands=(demand,), constants=PLAIN, delays=AT_ONCE)
    store = simulate(with_demands(plan.scenario(CATALOG), plan.demands))
    assert any(isinstance(entry.event, Requested) for entry in store.entries())
    events: list[Told] = []
    for entry in store.entries():
        for change in entry.decision.changes:
            if not isinstance(change, PutJob):
                continue
            job, number = change.state, int(change.state.id.removeprefix("a-"))
            if job.life is JobLife.STARTING:
                events.append(("started", number, job.granted))
            elif job.life is JobLife.SUCCEEDED:
                events.append((MET if job.met in (True, None) else MISSED, number, 0))
            elif job.life in (JobLife.DROPPED, JobLife.KILLED):
                events.append((job.life.value, number, 0))
    return events


times = st.integers(0, 40_000).map(lambda number: number / 997)
traces = st.lists(
    st.tuples(times, st.sampled_from((1, 2, 3, 4, 6, 12)), st.integers(900, 90_000).map(lambda number: number / 991)),
    min_size=1,
    max_size=9,
).map(lambda rows: sorted(rows))


def apart(rows: Sequence[Job], pool: FlatPool) -> bool:
    """True if each submission, end and deadline has an instant of its own, and no job ends with the one before."""
    instants = [at for at, what, _ in pool.story if what in ("submitted", MET, MISSED, "killed")]
    instants += [at + due for at, _, due in rows]
    return all(later - sooner > 1e-4 for sooner, later in pairwise(sorted(instants)))


def alike(events: Sequence[Told], other: Sequence[Told]) -> bool:
    """The same order of starts and ends, and the same order of drops: a job may be dropped at a pass in between."""
    starts, drops = ([event for event in events if (event[0] == "dropped") is dropped] for dropped in (False, True))
    return starts == [event for event in other if event[0] != "dropped"] and drops == [
        event for event in other if event[0] == "dropped"
    ]


def even(rows: Sequence[Job], events: Sequence[Told]) -> bool:
    """True if each grant divides the tasks."""
    return all(rows[number][1] % cpus == 0 for what, number, cpus in events if what == "started")


random_traces = settings(
    max_examples=examples(150),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


@pytest.mark.slow
@random_traces
@given(rows=traces, policy=st.sampled_from(("baseline", "reactive", "oracle")))
def test_policies_that_learn_nothing_tell_the_same_story(rows: list[Job], policy: str) -> None:
    # What a job holds of an MR-cluster is fixed when it begins.
    options: dict[str, Any] = {} if policy == "oracle" else {"top_up": 0}
    events, pool, _ = flat(rows, policy, options)
    assume(even(rows, events) and apart(rows, pool))
    assert alike(full(rows, policy, options), events)


@pytest.mark.slow
@random_traces
@given(rows=traces, policy=st.sampled_from(("pythia", "justice")))
def test_policies_that_learn_tell_the_same_story_while_nobody_waits_for_a_lesson(rows: list[Job], policy: str) -> None:
    events, pool, _ = flat(rows, policy, {})
    assume(even(rows, events) and apart(rows, pool))
    waits: set[int] = set()
    for _, what, number in pool.story:
        if what == "submitted":
            waits.add(number)
        else:
            waits.discard(number)
            assume(not waits or what not in (MET, MISSED))
    assert alike(full(rows, policy, {}), events)


#: two jobs that teach, one that is in time, one that must wait too long, one without a deadline to speak of
SMALL: list[Job] = [(0, 12, 20.0), (0.5, 12, 90.0), (30, 12, 80.0), (61, 12, 7.0), (62, 12, 200.0)]
#: the same for a policy that grants as few CPUs as the deadline allows: 4, 2, 2, none, 1
SPARING: list[Job] = [(0, 12, 25.0), (0.5, 12, 49.0), (30, 12, 90.0), (61, 12, 7.0), (62, 12, 200.0)]


@pytest.mark.parametrize(
    ("policy", "rows", "options"),
    [
        ("baseline", SMALL, {"top_up": 0}),
        ("reactive", SMALL, {"top_up": 0}),
        ("oracle", SPARING, {}),
        ("pythia", SMALL, {}),
        ("justice", SMALL, {}),
    ],
)
def test_a_small_trace_in_both(policy: str, rows: list[Job], options: dict[str, Any]) -> None:
    events, _, _ = flat(rows, policy, options)
    assert full(rows, policy, options) == events
    assert len({what for what, _, _ in events}) >= 3
