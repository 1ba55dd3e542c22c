"""Quotas of real executors: a driver that answers over HTTP, nodes that are told, and a record of it all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from fawkes.base.errors import FawkesError, HostError
from fawkes.config.clusters.details import JobDetails
from fawkes.core.quota.profile import ApplicationProfile, ProfiledStage
from fawkes.core.quota.sight import CoresWay
from fawkes.core.quota.values import QuotaRules
from fawkes.core.state.state import State
from fawkes.core.values.effects import Goal, Member
from fawkes.core.values.events import PolicyText
from fawkes.core.values.model import (
    ClusterId,
    ClusterLife,
    ClusterSpec,
    ClusterState,
    JobId,
    JobLife,
    JobSpec,
    JobState,
    NodeId,
    Role,
)
from fawkes.live.hadoop.setup import Setup
from fawkes.live.jobs import quotas
from fawkes.live.jobs.quotas import Quotas, _not_in_force, goal_of
from fawkes.live.nodes.clusters import Clusters, LiveCluster
from fawkes.live.nodes.quotas import ContainerQuota, InForce, Limit, LimitMode, NodeQuotas, Wanted
from fawkes.store.quotas import FILE, QuotaReader, QuotaRecord
from tests.core.quota.support import quota
from tests.live.masters_server import APPS, INFO, NODE_LIST, Server, drips, hangs_up, says
from tests.live.played import live_cluster
from tests.live.wire.test_spark_driver import APP, EXECUTORS, STAGES, executor, stage

US = 1_000_000
POLICY = PolicyText("EDF_PURE", "edf_pure.py", "", "")
PROFILE = ApplicationProfile(
    "p",
    1,
    (ProfiledStage(id="3 map at words.py:3", duration_s=8, tasks=8, records_read=800, records_written=8, rate=100.0),),
)
CONTAINERS = ("container_1_0001_01_000002", "container_1_0001_01_000003")


def _said(cores: int | None) -> ContainerQuota:
    return ContainerQuota(Limit.NONE if cores is None else Limit.LIMITED, cores)


class Nodes:
    """Nodes that keep what they are told, or say why not."""

    def __init__(self) -> None:
        self.said: list[Wanted] = []
        self.failing: Mapping[NodeId, FawkesError] = {}

    def set(self, wanted: Wanted, within_s: float) -> dict[NodeId, InForce | FawkesError]:
        self.said.append(wanted)
        return {
            node: self.failing.get(node)
            or InForce(LimitMode.V1, {each: _said(cores) for each, cores in quotas.items()})
            for node, (_, _, quotas) in wanted.items()
        }


class Bench:
    """The loop over a server that stands for the masters and the driver."""

    def __init__(self, server: Server, folder: Path) -> None:
        self.server, self.folder, self.nodes, self.now_us = server, folder, Nodes(), US
        self.state = State()
        self.job(JobLife.RUNNING)
        clusters = Clusters()
        members = {NodeId(f"node0{n}"): Member(Goal.SERVING, Role.CORE, n) for n in (1, 2)}
        clusters._put(live_cluster("c", NodeId("node01"), members, ready=True))
        self.quotas = Quotas(
            self.state,
            clusters,
            cast(Setup, self),
            cast(NodeQuotas, self.nodes),
            QuotaRecord(folder, POLICY, QuotaRules()),
            folder / "profiles",
            divide=quota("edf_pure"),
            rules=QuotaRules(),
            shared_cores=lambda: 0.0,
            now_us=lambda: self.now_us,
        )

    def masters(self, cluster: LiveCluster) -> Any:
        return self.server.masters()

    def job(self, life: JobLife, **facts: Any) -> None:
        details = JobDetails(kind="spark", python="/w.py", profile=PROFILE.plain(), **facts)
        spec = JobSpec(id=JobId("j"), cluster=ClusterId("c"), details=details.plain(), deadline_us=20 * US)
        self.state.jobs[JobId("j")] = JobState(spec=spec, life=life, submitted_us=0)

    def period(self) -> Mapping[str, int | None]:
        """The quotas that one period sends, by container."""
        before = len(self.nodes.said)
        self.quotas.period()
        self.now_us += US // 2
        return {
            each: n for said in self.nodes.said[before:] for _, _, quotas in said.values() for each, n in quotas.items()
        }


@pytest.fixture
def bench(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    # A driver that answers is waited for, however busy this machine is.
    monkeypatch.setattr(quotas, "_PART", 60)
    row = {"id": APP, "state": "RUNNING", "applicationType": "SPARK", "applicationTags": "fawkes-j-1"}
    server.answers[APPS] = says({"apps": {"app": [row]}})
    server.answers[INFO] = says({"clusterInfo": {"state": "STARTED", "haState": "ACTIVE", "startedOn": 1}})
    node = {"state": "RUNNING", "usedVirtualCores": 1, "availableVirtualCores": 3}
    server.answers[NODE_LIST] = says({"nodes": {"node": [{**node, "nodeHostName": f"h{n}"} for n in (1, 2)]}})
    server.answers[STAGES] = says([stage(3, done=0)])
    rows = [executor(f"{n}", f"h{n}:1", attributes={"CONTAINER_ID": CONTAINERS[n - 1]}) for n in (1, 2)]
    server.answers[EXECUTORS] = says(rows)
    made = Bench(server, tmp_path)
    yield made
    made.quotas.close()


def test_a_stage_gets_the_cores_of_its_plan_and_all_is_recorded(bench: Bench) -> None:
    """800 records in 19 s at 100 a second and core are 1 core, half of it on each of two nodes."""
    assert bench.period() == dict.fromkeys(CONTAINERS, 50)
    (wanted,) = bench.nodes.said
    assert {node: (cluster, generation) for node, (cluster, generation, _) in wanted.items()} == {
        "node01": ("c", 1),
        "node02": ("c", 2),
    }
    bench.period()
    bench.quotas.close()
    with closing(QuotaReader(bench.folder)) as reader:
        assert [course.way for _, course in reader.courses("j")] == [CoresWay.CONTROLLED] * 2
        assert list(reader.differences(lambda policy: quota("edf_pure"))) == []


def test_quotas_that_cannot_be_recorded_are_in_force_and_that_is_told_once(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    place = bench.folder / FILE
    place.mkdir()
    assert bench.period() == dict.fromkeys(CONTAINERS, 50)
    assert bench.period().keys() == set(CONTAINERS)
    assert [each.message for each in caplog.records if "recorded" in each.message] == [
        f"{place}: the ledger cannot be opened: unable to open database file. Quotas are in force, but their periods "
        "are not recorded until that is over"
    ]
    place.rmdir()
    bench.period()
    bench.quotas.close()
    with closing(QuotaReader(bench.folder)) as reader:
        assert reader.count() == 1


@pytest.mark.parametrize("answer", [hangs_up, says({}), says("<html>")])
def test_a_driver_that_gives_no_answer_keeps_its_cores_and_then_has_no_limit(bench: Bench, answer: Any) -> None:
    first = bench.period()
    bench.server.answers[STAGES] = answer
    assert bench.period() == first
    bench.now_us += 11 * US
    assert bench.period() == dict.fromkeys(CONTAINERS, None)


def test_a_slow_driver_is_not_waited_for_and_its_answer_counts_later(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = bench.period()
    monkeypatch.setattr(quotas, "_PART", 0.1)
    bench.server.answers[STAGES] = drips([stage(3, done=0)], drops=40)
    assert bench.period() == first
    (answer,) = bench.quotas._answers.values()
    answer.result(timeout=60)
    bench.period()
    bench.quotas.close()
    with closing(QuotaReader(bench.folder)) as reader:
        assert [course.progress for _, course in reader.courses("j")] == [0.0, None, 0.0]


def test_a_node_that_does_not_answer_is_recorded_and_told_again(bench: Bench) -> None:
    bench.nodes.failing = {NodeId("node02"): HostError("it does not answer", host="node02")}
    bench.period()
    assert set(bench.period()) == set(CONTAINERS)
    bench.quotas.close()
    with closing(QuotaReader(bench.folder)) as reader:
        first, second = (course for _, course in reader.courses("j"))
    assert (first.unset, first.given) == ("", 1.0)
    assert ("does not answer" in second.unset, second.given) == (True, None)


def test_an_executor_on_a_node_that_leaves_is_told_nothing_and_nobody_counts_on_its_quota(bench: Bench) -> None:
    bench.period()
    cluster = bench.quotas._clusters.get(ClusterId("c"))
    assert cluster is not None
    bench.quotas._clusters._put(replace(cluster, members={NodeId("node01"): cluster.members[NodeId("node01")]}))
    for _ in range(2):
        assert set(bench.period()) == {CONTAINERS[0]}
    bench.quotas.close()
    with closing(QuotaReader(bench.folder)) as reader:
        course = [course for _, course in reader.courses("j")][-1]
    assert (course.unset, course.given) == ("node02 is no member of c", None)


@pytest.mark.parametrize(
    ("wanted", "said", "why"),
    [
        (50, ContainerQuota(Limit.LIMITED, 50), None),
        (50, ContainerQuota(Limit.LIMITED, 40), "its node says limited"),
        (50, ContainerQuota(Limit.DENIED, why="the group is full"), "the group is full"),
        (50, ContainerQuota(Limit.UNKNOWN), "its node says unknown"),
        (None, ContainerQuota(Limit.UNKNOWN), "its node says unknown"),
        (None, ContainerQuota(Limit.NONE), None),
        (None, ContainerQuota(Limit.LIMITED, 50), "its node says limited"),
        (50, ContainerQuota(Limit.GONE), None),
    ],
)
def test_a_quota_counts_as_set_only_when_its_node_says_so(
    wanted: int | None, said: ContainerQuota, why: str | None
) -> None:
    told = dict(_not_in_force(InForce(LimitMode.V1, {"c": said}), {"c": wanted}))
    assert told.get("c") == why


def test_nothing_is_told_to_anybody_without_a_job_under_quotas(bench: Bench) -> None:
    bench.job(JobLife.QUEUED)
    assert bench.period() == {}
    bench.state.jobs.clear()
    bench.period()
    assert bench.server.asked == []
    assert not (bench.folder / "quotas.sqlite").exists()


def test_a_profile_that_cannot_be_read_leaves_its_job_without_quotas(bench: Bench) -> None:
    job = bench.state.jobs[JobId("j")]
    damaged = {**job.spec.details, "profile": {**PROFILE.plain(), "stages": []}}
    assert goal_of(job) is not None
    assert goal_of(replace(job, spec=replace(job.spec, details=damaged))) is None


def test_the_nodes_that_a_plan_needs_are_told_to_the_readings(bench: Bench) -> None:
    cluster = ClusterId("c")
    bench.state.clusters[cluster] = ClusterState(spec=ClusterSpec(id=cluster, min_nodes=1), life=ClusterLife.RUNNING)
    bench.state.counts.usable = 2
    assert bench.quotas.planned() == {cluster: 0}
    bench.period()
    assert bench.quotas.planned() == {cluster: 1}


def test_a_policy_that_cannot_divide_nodes_leaves_needs_unknown(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    for name in ("c", "d"):
        spec = ClusterSpec(id=ClusterId(name), min_nodes=2)
        bench.state.clusters[spec.id] = ClusterState(spec=spec, life=ClusterLife.RUNNING)
    bench.period()
    bench.quotas._divide = lambda claims: []
    assert bench.quotas.planned() == {}
    assert "how many each MR-cluster needs is not known" in caplog.text


def test_a_profile_that_cannot_be_made_is_a_warning_with_the_next_command(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    """The ResourceManager has an application of the attempt, but HDFS has no log of it."""
    bench.server.answers[STAGES] = says([stage(9, done=0)])
    bench.period()
    row = {"id": APP, "state": "FINISHED", "finalStatus": "SUCCEEDED", "applicationTags": "fawkes-j-1"}
    bench.server.answers[APPS] = says({"apps": {"app": [row]}})
    del bench.state.jobs[JobId("j")]
    bench.period()
    # close() cancels what has not begun.
    bench.quotas._drivers.shutdown(wait=True)
    bench.quotas.close()
    (record,) = [each for each in caplog.records if each.name == "fawkes.live.jobs.quotas"]
    assert "j made no new profile" in record.message
    assert "`fawkes profile run` makes the next version of the profile p" in record.message
    assert not (bench.folder / "profiles").exists()
