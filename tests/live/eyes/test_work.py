"""The work of a job by the counters of Hadoop, from servers with canned documents."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from fawkes.core.values.effects import CountWork
from fawkes.core.values.model import ClusterId, JobId
from fawkes.live.eyes.work import work_us
from fawkes.live.wire.masters import MasterAddresses
from fawkes.live.wire.rest import Deadline, UnreadableError
from tests.support.stub import Stub, stub_master

APPS, INFO = "/ws/v1/cluster/apps", "/ws/v1/cluster/info"
HISTORY = "/ws/v1/history/mapreduce/jobs"
COUNTERS = "org.apache.hadoop.mapreduce.JobCounter"
EFFECT = CountWork(JobId("q"), ClusterId("c"), 1, "application_1_1", {})


def application(number: int, **facts: str) -> dict[str, Any]:
    usual = {"state": "FINISHED", "finalStatus": "SUCCEEDED", "applicationType": "MAPREDUCE"}
    return {"id": f"application_1_{number}", "startedTime": number, "finishedTime": 9, **usual, **facts}


def counters(**values: object) -> dict[str, Any]:
    rows = [{"name": name, "totalCounterValue": value} for name, value in values.items()]
    groups = [
        {"counterGroupName": "org.apache.hadoop.mapreduce.FileSystemCounter", "counter": [{"name": "MILLIS_MAPS"}]},
        {"counterGroupName": COUNTERS, "counter": rows},
    ]
    return {"jobCounters": {"id": "job", "counterGroup": groups}}


def knows(stub: Stub, number: int, maps: object, reduces: object, **values: object) -> None:
    """The history server has this job with these counters."""
    stub.answers[f"{HISTORY}/job_1_{number}"] = {"job": {"mapsTotal": maps, "reducesTotal": reduces}}
    stub.answers[f"{HISTORY}/job_1_{number}/counters"] = counters(**values)


@pytest.fixture
def server() -> Iterator[Stub]:
    """One application, which has two maps and a reduce."""
    with stub_master() as stub:
        stub.answers[INFO] = {"clusterInfo": {"state": "STARTED", "haState": "ACTIVE", "startedOn": 1}}
        stub.answers[APPS] = {"apps": {"app": [application(1)]}}
        knows(stub, 1, 2, 1, MILLIS_MAPS=46770, MILLIS_REDUCES=21046, SLOTS_MILLIS_MAPS=99999)
        yield stub


def counted(stub: Stub, effect: CountWork = EFFECT) -> int:
    masters = MasterAddresses(resource_manager=stub.url, namenode="", user="", history=stub.url)
    return work_us(masters, effect, Deadline.after(10))


def refused(stub: Stub, why: str) -> None:
    with pytest.raises(UnreadableError, match=why):
        counted(stub)


def test_maps_and_reduces_count(server: Stub) -> None:
    assert counted(server) == (46770 + 21046) * 1000


def test_all_mr_jobs_of_the_attempt_count(server: Stub) -> None:
    server.answers[APPS] = {"apps": {"app": [application(1), application(2, finalStatus="FAILED")]}}
    knows(server, 2, 3, 0, MILLIS_MAPS=5)
    assert counted(server) == (46770 + 21046 + 5) * 1000


@pytest.mark.parametrize("missing", [f"{HISTORY}/job_1_1", f"{HISTORY}/job_1_1/counters", INFO, APPS])
def test_what_is_not_there_yet_is_not_known(server: Stub, missing: str) -> None:
    del server.answers[missing]
    refused(server, "404")


def test_a_job_that_the_resource_manager_has_forgotten_is_not_known(server: Stub) -> None:
    server.answers[APPS] = {"apps": {"app": [application(2)]}}
    refused(server, "does not know the job's first application")


def test_an_mr_job_that_still_runs_is_not_known(server: Stub) -> None:
    server.answers[APPS] = {"apps": {"app": [application(1), application(2, state="RUNNING")]}}
    refused(server, "application_1_2: it has not ended")


def test_an_application_that_is_not_mapreduce_has_no_work_here(server: Stub) -> None:
    server.answers[APPS] = {"apps": {"app": [application(1), application(2, applicationType="SPARK")]}}
    refused(server, "SPARK has no counters of MapReduce")


@pytest.mark.parametrize(
    ("maps", "reduces", "values"),
    [
        (2, 1, {"MILLIS_MAPS": 5}),
        (2, 0, {}),
        (2, 0, {"MILLIS_MAPS": -5}),
        (2, 0, {"MILLIS_MAPS": "5"}),
        (2, 0, {"MILLIS_MAPS": True}),
        (2, 0, {"MILLIS_MAPS": float("nan")}),
        (2, 0, {"MILLIS_MAPS": 10**16}),
        (2, 0, {"MILLIS_MAPS": 10**400}),
        (None, 0, {"MILLIS_MAPS": 5}),
        (2, "many", {"MILLIS_MAPS": 5}),
    ],
)
def test_figures_that_are_none_are_never_work(
    server: Stub, maps: object, reduces: object, values: dict[str, Any]
) -> None:
    knows(server, 1, maps, reduces, **values)
    refused(server, "is not a")


@pytest.mark.parametrize(("maps", "values"), [(0, {}), (2, {"MILLIS_MAPS": 0})])
def test_no_time_at_all_is_not_known(server: Stub, maps: int, values: dict[str, int]) -> None:
    knows(server, 1, maps, 0, **values)
    refused(server, "none of its tasks has taken any time")


@pytest.mark.parametrize("document", [[], {}, {"jobCounters": {"counterGroup": "x"}}, {"jobCounters": 7}])
def test_counters_of_another_form_are_not_known(server: Stub, document: object) -> None:
    server.answers[f"{HISTORY}/job_1_1/counters"] = document
    with pytest.raises(UnreadableError):
        counted(server)


@pytest.mark.parametrize("document", [[], {}, {"job": None}])
def test_a_job_of_another_form_is_not_known(server: Stub, document: object) -> None:
    server.answers[f"{HISTORY}/job_1_1"] = document
    refused(server, "no 'job'")


def test_without_a_history_server_it_is_not_known(server: Stub) -> None:
    masters = MasterAddresses(resource_manager=server.url, namenode="", user="")
    with pytest.raises(UnreadableError, match="no JobHistory server"):
        work_us(masters, EFFECT, Deadline.after(10))
