"""A simulated MR-cluster whose HDFS takes no writes for a while: jobs wait, and their attempts are not used up."""

from __future__ import annotations

import pytest

from fawkes.base.units import SECOND_US
from fawkes.core.values.decision import PutJob
from fawkes.core.values.events import ServiceSeen
from fawkes.core.values.model import ClusterId, JobLife
from fawkes.core.values.sight import SafeMode, Service
from fawkes.sim.engines import Engine
from fawkes.sim.events.steps import Delays
from fawkes.sim.world import SimWorld
from tests.support.pools import Checked, request, settings, started, submit

A = ClusterId("a")
GOOD = Service(safe_mode=SafeMode.OFF, storing=2, manager="ACTIVE", computing=2, queues=1)
LOW = Service(safe_mode=SafeMode.LOW, storing=2, manager="ACTIVE", computing=2, queues=1)


def seen(at_s: float, service: Service) -> ServiceSeen:
    return ServiceSeen(at_us=round(at_s * SECOND_US), cluster=A, service=service)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["readable", "compiled"])
def test_jobs_wait_for_writes_and_all_succeed_at_their_first_attempt(engine: Engine) -> None:
    world = SimWorld(until_us=900 * SECOND_US, engine=engine, delays=Delays(sample_us=2 * SECOND_US))
    jobs = [submit("a", number, at_s, tasks=4, task_s=5) for number, at_s in enumerate((40, 70, 80, 90))]
    facts = [seen(30, GOOD), seen(60, LOW), seen(200, GOOD)]
    world.script([started(3, how=settings(unusable_us=4 * SECOND_US)), request("a", 1), *jobs, *facts])
    run = Checked(world)
    run.run()
    changes = [change for entry in run.store.entries() for change in entry.decision.changes]
    ended = {c.state.id: c.state for c in changes if isinstance(c, PutJob) and c.state.finished_us is not None}
    assert {name: (job.life, job.attempt) for name, job in ended.items()} == {
        f"a-{number}": (JobLife.SUCCEEDED, 1) for number in range(4)
    }
    assert (ended[jobs[0].spec.id].finished_us or 0) < 100 * SECOND_US, "a job that runs goes on"
    held = [(at_s, facts["job"]) for at_s, facts in run.reasons("job-held")]
    assert held == [(70, "a-1"), (80, "a-2"), (90, "a-3")]
    assert [at_s for at_s, _ in run.reasons("unusable")] == [64]
    assert [at_s for at_s, _ in run.reasons("usable")] == [212]
    assert all(at_s >= 212 for at_s, facts in run.reasons("job-released") if facts["job"] != "a-0")


def test_without_writes_an_attempt_that_begins_fails_at_once() -> None:
    """The core spares jobs such a failure: here nobody told it."""
    world = SimWorld(until_us=300 * SECOND_US, services={A: LOW})
    world.script([started(3, how=settings()), request("a", 1), submit("a", 0, 60, retries=1)])
    run = Checked(world)
    run.run()
    assert [facts["error"] for _, facts in run.reasons("job-failed")] == ["Name node is in safe mode"]
