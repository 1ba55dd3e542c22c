"""The bundled scenario of deadlines, and the admission policy that docs/policies.md writes for it."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from fawkes.config.site.site import Site
from fawkes.core.state.admitting import Done, Job, Queue, checked
from fawkes.core.values.events import Submitted
from fawkes.offline.outcomes.outcome import Deadlines, outcome_of
from fawkes.offline.scenarios.plan import Plan
from fawkes.offline.scenarios.read import read_plan
from fawkes.offline.scenarios.scenario import simulate
from fawkes.policy import policy_text
from fawkes.policy.admission import compile_admission
from fawkes.sim.hadoop.model import TaskEvent
from tests.offline.support import CATALOG, ready

PAGE = (Path(__file__).parents[3] / "docs/policies.md").read_text()
(EXAMPLE,) = (text for text in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if "def admit" in text)


@cache
def deadlines() -> Plan:
    return read_plan(Site(Path("nowhere")), CATALOG, "deadlines-small", None)


def ended(policy: str, admission: str) -> Deadlines:
    tasks: list[TaskEvent] = []
    store = simulate(ready(deadlines(), policy, admission=admission), tasks=tasks)
    due = outcome_of(store, tasks).due
    assert due is not None
    return due


def test_its_jobs_have_deadlines_of_each_kind() -> None:
    jobs = [wish.event.spec for wish in ready(deadlines()).wishes if isinstance(wish.event, Submitted)]
    kinds = {(job.cluster, job.id.split("-")[1], job.deadline_us is None) for job in jobs}
    named = {"urgent", "tight", "loose", "hopeless"}
    expected = {(cluster, kind, False) for cluster in ("alerts", "reports") for kind in named}
    assert kinds == {*expected, ("reports", "free", True)}
    assert len(jobs) == 303


@pytest.mark.slow
def test_nodes_that_follow_deadlines_meet_as_many_as_equal_parts() -> None:
    demand, equal, still = (ended(policy, "justice") for policy in ("CD", "EQ", "None"))
    assert demand.jobs_due == equal.jobs_due == 300
    assert demand.jobs_met >= equal.jobs_met >= still.jobs_met


@pytest.mark.slow
def test_the_documented_admission_policy_meets_more_than_first_come_first_served(tmp_path: Path) -> None:
    mine = tmp_path / "mean.py"
    mine.write_text(EXAMPLE)
    learned, fifo = ended("CD", str(mine)), ended("CD", "fifo")
    assert learned.jobs_met > fifo.jobs_met
    assert (learned.wasted_s or 0) < (fifo.wasted_s or 0)


def test_the_documented_admission_policy_asks_for_the_mean_of_what_jobs_needed() -> None:
    mine = compile_admission(policy_text("MEAN", "mean.py", EXAMPLE), {"spare": 2.0})
    memory = mine.learn(Done(tasks=8, deadline_s=100.0, work_s=80.0, granted=8, total=20, met=True), None)
    memory = mine.learn(Done(tasks=8, deadline_s=100.0, work_s=240.0, granted=8, total=20, met=False), memory)
    assert memory == {"jobs": 2, "rates": pytest.approx(0.4)}
    waiting = Job("a", tasks=10, deadline_s=100.0, waited_s=0.0), Job("b", tasks=10, deadline_s=60.0, waited_s=0.0)
    queue = Queue(waiting, total=20, free=6)
    verdicts = checked(queue, mine.admit(queue, memory))
    assert [(row.job, row.cpus, row.asked) for row in verdicts] == [("b", 4, 4), ("a", 0, 4)]
