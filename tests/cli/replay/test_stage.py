from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fawkes.base.errors import UserError
from fawkes.base.units import SECOND_US
from fawkes.cli.replay.stage import ReplayStages, stages
from fawkes.config.clusters.details import ClusterDetails
from fawkes.config.settings.settings import SiteSettings
from fawkes.config.site.site import Site
from fawkes.core.values.model import ClusterId, ClusterSpec
from fawkes.offline.scenarios.load import Demand, coming, paper
from fawkes.workload.model import TraceJob

JAR = Path("/cache/fawkes-load.jar")
MB = 1_000_000


@pytest.fixture
def settings(tmp_path: Path) -> SiteSettings:
    return Site(tmp_path).settings()


def demand(name: str, **extra: object) -> Demand:
    jobs = (
        TraceJob(id=f"{name}-a", submit_us=3 * SECOND_US, input_bytes=5 * MB, maps=1),
        TraceJob(id=f"{name}-b", submit_us=4 * SECOND_US, maps=1, map_us=SECOND_US, after=(f"{name}-a",), think_us=7),
    )
    spec = ClusterSpec(id=ClusterId(name), min_nodes=1, replication=1)
    return Demand(spec=spec, jobs=coming(jobs, name), **extra)  # type: ignore[arg-type]


def staged(
    settings: SiteSettings, *demands: Demand, running: tuple[str, ...] = (), limit: int = 10**9, prefix: str = ""
) -> ReplayStages:
    return stages(
        "w", demands, running=running, settings=settings, generate=(), jar=JAR, data_limit_bytes=limit, prefix=prefix
    )


def test_mr_clusters_and_data_come_before_the_time_begins(settings: SiteSettings) -> None:
    stages = staged(settings, demand("c-1"))
    assert [arrival.spec.id for arrival in stages.before.clusters] == ["c-1"]
    assert [job.spec.id for job in stages.before.jobs] == ["w-data-c-1"]
    assert [(job.spec.id, job.after, job.delay_us, job.behind, job.think_us) for job in stages.jobs.jobs] == [
        ("c-1-a", "start", 3 * SECOND_US, (), 0),
        ("c-1-b", "start", 4 * SECOND_US, ("c-1-a",), 7),
    ]
    assert (stages.jobs.clusters, stages.there) == ((), ("c-1",))


def test_what_runs_is_not_requested(settings: SiteSettings) -> None:
    stages = staged(settings, demand("c-1"), demand("c-2"), running=("c-2",))
    assert [arrival.spec.id for arrival in stages.before.clusters] == ["c-1"]
    assert stages.there == ("c-1", "c-2")


def test_a_later_mr_cluster_has_its_own_data_first(settings: SiteSettings) -> None:
    stages = staged(settings, demand("c-1"), demand("c-2", requested_us=60 * SECOND_US, behind=ClusterId("c-1")))
    (arrival,) = stages.jobs.clusters
    assert (arrival.spec.id, arrival.at_us, arrival.after) == ("c-2", 60 * SECOND_US, "c-1")
    late = {str(job.spec.id): job for job in stages.jobs.jobs if job.spec.cluster == "c-2"}
    assert late["w-data-c-2"].after == "running"
    assert late["c-2-a"].behind == ("w-data-c-2",)
    assert late["c-2-b"].behind == ("w-data-c-2", "c-2-a")
    assert late["c-2-a"].after == "request"
    assert stages.data == ("w-data-c-2",)


def test_jobs_of_a_later_mr_cluster_that_runs_already_keep_their_times(settings: SiteSettings) -> None:
    jobs = staged(settings, demand("c-1", requested_us=60 * SECOND_US), running=("c-1",)).jobs.jobs
    assert [(job.after, job.delay_us) for job in jobs] == [("start", 63 * SECOND_US), ("start", 64 * SECOND_US)]


def test_each_replay_has_jobs_and_data_of_its_own(settings: SiteSettings) -> None:
    stages = staged(settings, demand("c-1"), prefix="eq")
    (data,) = stages.before.jobs
    assert (data.spec.id, [(job.spec.id, job.behind) for job in stages.jobs.jobs]) == (
        "eq-data-c-1",
        [("eq-c-1-a", ()), ("eq-c-1-b", ("eq-c-1-a",))],
    )
    assert "output=/replay/pool/eq-data-c-1 " in str(data.spec.details["command"])
    assert "pool=/replay/pool/eq-data-c-1 " in str(stages.jobs.jobs[0].spec.details["command"])
    with pytest.raises(UserError, match="cannot be the name of a job"):
        staged(settings, demand("c-1"), prefix="e" * 60)


def test_no_more_data_than_allowed(settings: SiteSettings) -> None:
    (job,) = staged(settings, demand("c-1"), limit=2 * MB).before.jobs
    assert f"expect_bytes={2 * MB}" in str(job.spec.details["command"])


def test_the_paper_s_mr_clusters_can_be_deployed(settings: SiteSettings) -> None:
    stages = staged(settings, *paper("WKLD-A", 1))
    versions = {arrival.spec.details["hadoop_version"] for arrival in (*stages.before.clusters, *stages.jobs.clusters)}
    assert versions == {"3.5.0"}


def test_what_a_replay_writes_keeps_no_mr_cluster(settings: SiteSettings) -> None:
    details = ClusterDetails(hadoop_version="3.4.2", scratch=("/tmp",))
    own = replace(demand("c-2"), spec=replace(demand("c-2").spec, details=details.plain()))
    clusters = staged(settings, demand("c-1"), own).before.clusters
    assert [arrival.spec.details["scratch"] for arrival in clusters] == [["/replay"], ["/tmp", "/replay"]]


def test_names_meet(settings: SiteSettings) -> None:
    with pytest.raises(UserError, match="two jobs have the name 'w-data-c-1'"):
        staged(settings, demand("c-1"), demand("c-1"))
