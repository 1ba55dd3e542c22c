"""Tasks without a container are ended: those alone that stray to this moment."""

from __future__ import annotations

import pytest

from fawkes.base.errors import FawkesError
from fawkes.core.values.effects import EndAttempts
from tests.live.job_bench import APPS, Bench, C
from tests.support.stub import Stub

STRAYS = [f"attempt_1_1_m_00000{n}_0" for n in (1, 2, 3)]


def straying(master: Stub, *, at: str = "node02:4000", state: str = "RUNNING") -> None:
    """A job with three running attempts; the ResourceManager knows the container of the second."""
    name, job = "application_1_1", "/proxy/application_1_1/ws/v1/mapreduce/jobs/job_1_1/tasks"
    master.answers[f"{APPS}/{name}"] = {"app": {"id": name, "state": state, "amRPCAddress": at}}
    master.answers[job] = {"tasks": {"task": [{"id": "t", "state": "RUNNING"}]}}
    rows = [{"id": name, "state": "RUNNING", "assignedContainerId": f"c{n}"} for n, name in enumerate(STRAYS)]
    master.answers[f"{job}/t/attempts"] = {"taskAttempts": {"taskAttempt": rows}}
    master.answers[f"{APPS}/{name}/appattempts"] = {"appAttempts": {"appAttempt": [{"appAttemptId": "a1"}]}}
    master.answers[f"{APPS}/{name}/appattempts/a1/containers"] = {"container": [{"containerId": "c1"}]}


def test_only_attempts_that_stray_to_this_moment_are_ended(bench: Bench, master: Stub) -> None:
    straying(master)
    assert bench.jobs.end_attempts(EndAttempts(C, 1, tuple(STRAYS[:2]))) == {"ended": 1}
    (order,) = bench.orders
    assert b"killTaskAttempt" in order.recv(4096)
    assert bench.did == []


def test_attempts_are_ended_by_the_client_where_no_order_can_be_given(bench: Bench, master: Stub) -> None:
    straying(master, at="")
    assert bench.jobs.end_attempts(EndAttempts(C, 1, tuple(STRAYS))) == {"ended": 2}
    assert bench.did == [f"killing {STRAYS[0]}", f"killing {STRAYS[2]}"]


def test_nothing_is_ended_of_an_application_that_has_ended_and_nothing_unseen(bench: Bench, master: Stub) -> None:
    straying(master, state="FINISHED")
    assert bench.jobs.end_attempts(EndAttempts(C, 1, tuple(STRAYS))) == {"ended": 0}
    straying(master)
    del master.answers[f"{APPS}/application_1_1/appattempts/a1/containers"]
    with pytest.raises(FawkesError):
        bench.jobs.end_attempts(EndAttempts(C, 1, tuple(STRAYS)))
    assert (bench.did, bench.orders) == ([], [])
