"""Profiles on real YARN: an application is run once, and its profile gives the next run one executor on each node."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from fawkes.config.clusters.details import JobDetails
from fawkes.core.quota.profile import profile_of
from fawkes.core.values.model import JobLife, Role
from fawkes.live.lab.spec import CONTROLLER_ADDRESS
from fawkes.playbook.dist import pieces
from tests.e2e.spark.support import history, stages
from tests.e2e.spark.test_spark import CLUSTER, SETTINGS
from tests.support.site import PROJECT, RealSite, real_site

pytestmark = [pytest.mark.hadoop, pytest.mark.nightly]

NODES = 3
#: quotas stretch an application to its deadline, so it is one that a test can wait for
DUE = "2m"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealSite]:
    pieces.provide(pieces.of_name("spark"))
    with real_site(tmp_path_factory.mktemp("profile") / "lab", NODES, SETTINGS, memory_mb=2500) as site:
        more = f'clients = ["{CONTROLLER_ADDRESS}"]'
        site.write("clusters/s.toml", CLUSTER.format(name="s", nodes=NODES, software='["spark"]', more=more))
        shutil.copytree(PROJECT / "workloads/spark", site.root / "jobs", dirs_exist_ok=True)
        site.run()
        site.request("s")
        yield site


def test_the_stages_of_a_run_are_its_profile(site: RealSite) -> None:
    site.fawkes("profile", "run", site.root / "jobs/pagerank.toml", "--cluster", "s")
    profile = profile_of(json.loads((site.root / "profiles/pagerank/1.json").read_text()), "1.json")

    site.ledger.catch_up()
    (job,) = (name for name in site.ledger.jobs if name.startswith("pagerank"))
    ran = {row["stageId"]: row for row in stages(site, "s", job)}
    assert [int(stage.id.split()[0]) for stage in profile.stages] == sorted(ran)
    for stage in profile.stages:
        row = ran[int(stage.id.split()[0])]
        assert stage.tasks == row["numCompleteTasks"]
        assert stage.records_read == row["inputRecords"] + row["shuffleReadRecords"]
        assert stage.records_written == row["outputRecords"] + row["shuffleWriteRecords"]
    assert len(profile.stages[1].parents) == 1
    assert all(stage.rate for stage in profile.stages)
    state = site.ledger.jobs[job]
    assert state.run_us is not None
    assert profile.end_s is not None
    explained_s = sum(stage.duration_s + (stage.idle_s or 0.0) for stage in profile.stages) + profile.end_s
    assert explained_s == pytest.approx(state.run_us / 1e6, abs=0.01), "stages one after another, and the rest"


@pytest.mark.parametrize("name", ["pagerank", "aggr-by-key-int"])
def test_with_a_profile_each_node_has_one_executor(site: RealSite, name: str) -> None:
    if name != "pagerank":
        site.fawkes("profile", "run", site.root / f"jobs/{name}.toml", "--cluster", "s")
    text = (site.root / f"jobs/{name}.toml").read_text()
    own = site.write(f"jobs/{name}-due.toml", f'id = "{name}-due"\nprofile = "{name}"\ndeadline = "{DUE}"\n{text}')
    site.fawkes("submit", "s", own)
    (job,) = site.until_ended(f"{name}-due")

    assert (job.life, job.attempt) == (JobLife.SUCCEEDED, 1), site.story()
    details = JobDetails.of(job.spec.details)
    assert details.profile is not None
    assert profile_of(details.profile, name).version == 1
    executors = [row for row in history(site, "s", job.id, "allexecutors") if row["id"] != "driver"]
    assert len({row["hostPort"].split(":")[0] for row in executors}) == len(executors) == NODES, executors
    assert {row["totalCores"] for row in executors} == {2}


def test_a_deadline_that_is_too_early_is_said_and_blocks_nothing(site: RealSite) -> None:
    text = (site.root / "jobs/pagerank.toml").read_text()
    early = site.write("jobs/early.toml", f'id = "early"\nprofile = "pagerank:1"\ndeadline = "1s"\n{text}')
    assert "its deadline looks too early" in site.command("submit", "s", early, code=0).stderr
    (job,) = site.until_ended("early")
    assert (job.life, job.met) == (JobLife.SUCCEEDED, False)


def test_a_node_that_joins_gets_one_more_executor(tmp_path: Path) -> None:
    with real_site(tmp_path / "lab", NODES, SETTINGS, memory_mb=2500) as site:
        more = f'clients = ["{CONTROLLER_ADDRESS}"]'
        site.write("clusters/g.toml", CLUSTER.format(name="g", nodes=NODES - 1, software='["spark"]', more=more))
        shutil.copytree(PROJECT / "workloads/spark", site.root / "jobs", dirs_exist_ok=True)
        site.fawkes("profile", "make", "group-by", "--from", PROJECT / "tests/config/jobs/data/group-by.events")
        words = ["--records", "5000", "--work-us", "4000", "--tasks", "40"]
        keys = f'profile = "group-by"\ndeadline = "{DUE}"\nargs = {words}\nfiles = ["common.py"]\n'
        job = site.write("jobs/joins.toml", f'id = "joins"\nkind = "spark"\npython = "group-by.py"\n{keys}')
        site.run()
        site.request("g")
        site.fawkes("pause", "--reason", "the application begins on two nodes")
        site.fawkes("submit", "g", job)
        site.until(
            "its executors", lambda: any(row["runningContainers"] > 1 for row in site.applications("g", "joins"))
        )
        site.fawkes("resume")
        (late,) = site.until_serving("g", Role.TRANSIENT, 1)
        (ended,) = site.until_ended("joins")

        assert (ended.life, ended.attempt) == (JobLife.SUCCEEDED, 1), site.story()
        executors = [row for row in history(site, "g", "joins", "allexecutors") if row["id"] != "driver"]
        assert len({row["hostPort"].split(":")[0] for row in executors}) == len(executors) == NODES, executors
        joined = max(executors, key=lambda row: row["addTime"])
        assert joined["hostPort"].split(":")[0] in (late, site.hosts[late])
