"""CPU quotas on real YARN: an application is steered to its deadline, and no limit outlives its controller."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import closing

import pytest

from fawkes.config.jobs.profiles import load, versions
from fawkes.core.quota.sight import CoresWay, PeriodCourse
from fawkes.core.values.model import JobLife
from fawkes.playbook.dist import pieces
from fawkes.policy.worker.policies import load_quota
from fawkes.store.quotas import QuotaReader
from tests.e2e.spark.test_spark import CLUSTER, SETTINGS
from tests.live.lab.test_quotas import _can_limit
from tests.support.site import PROJECT, RealSite, real_site

pytestmark = [
    pytest.mark.hadoop,
    pytest.mark.nightly,
    pytest.mark.skipif(not _can_limit(), reason="only root on a machine with cgroup v1 for CPU time can give groups"),
]

NODES = 2
JOB = """
kind = "spark"
python = "group-by.py"
files = ["common.py"]
args = ["--records", "8000", "--keys", "60", "--tasks", "40", "--work-us", "1000", "--seed", "1"]
"""
UNLIMITED = "-1"
# A group may go between the two: its node lifts its limits by itself.
LIMITS = """
for f in $(find /sys/fs/cgroup/cpu -path '*fawkes:*' -name cpu.cfs_quota_us 2>/dev/null); do cat $f 2>/dev/null; done
:
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealSite]:
    pieces.provide(pieces.of_name("spark"))
    settings = f"{SETTINGS}shared_cores = 2\n"
    with real_site(
        tmp_path_factory.mktemp("quota") / "lab", NODES, settings, memory_mb=2500, control_groups=True
    ) as site:
        site.write("clusters/s.toml", CLUSTER.format(name="s", nodes=NODES, software='["spark"]', more=""))
        shutil.copytree(PROJECT / "workloads/spark", site.root / "jobs", dirs_exist_ok=True)
        site.run()
        site.request("s")
        site.fawkes(
            "profile", "run", site.write("jobs/base.toml", f'id = "base"\n{JOB}'), "--cluster", "s", "--name", "p"
        )
        yield site


def submit(site: RealSite, name: str, deadline: str) -> None:
    keys = f'id = "{name}"\nprofile = "p"\ndeadline = "{deadline}"\n'
    site.fawkes("submit", "s", site.write(f"jobs/{name}.toml", keys + JOB))


def courses(site: RealSite, job: str) -> list[PeriodCourse]:
    with closing(QuotaReader(site.root / "state")) as reader:
        return [course for _, course in reader.courses(job)]


def limits(site: RealSite) -> set[str]:
    """The limits of the groups of containers on all nodes, in microseconds of each tenth of a second."""
    return {line for n in range(1, NODES + 1) for line in site.on(f"node0{n}", LIMITS).split()} - {UNLIMITED}


def steered(site: RealSite, job: str) -> bool:
    return any(course.way is CoresWay.CONTROLLED and course.given and not course.unset for course in courses(site, job))


def test_quotas_are_in_force_and_lifted_when_the_controller_is_killed(site: RealSite) -> None:
    submit(site, "steered", "4m")
    site.until("a controlled stage", lambda: steered(site, "steered"))
    site.until("a limit on a node", lambda: limits(site))
    site.kill()
    site.until("the nodes to lift their limits", lambda: not limits(site))
    site.run()
    site.until("a limit on a node again", lambda: limits(site))
    (job,) = site.until_ended("steered")

    assert (job.life, job.met) == (JobLife.SUCCEEDED, True), site.story()
    seen = courses(site, "steered")
    assert {"0 groupByKey at group-by.py:28", "1 collect at group-by.py:29"} <= {course.stage for course in seen}
    assert max(course.given or 0.0 for course in seen) <= 2.0
    lines = json.loads(site.fawkes("explain", "--job", "steered", "--output", "json"))["lines"]
    assert any("% planned" in line["text"] for line in lines if line["code"] == "quota")
    with closing(QuotaReader(site.root / "state")) as reader:
        assert list(reader.differences(load_quota)) == []
    site.until("no limit after the end", lambda: not limits(site))


def test_another_program_than_that_of_the_profile_gets_all_cores_and_is_told(site: RealSite) -> None:
    text = JOB.replace("group-by.py", "sort-by-key-int.py")
    keys = 'id = "other"\nprofile = "p"\ndeadline = "10m"\n'
    site.fawkes("submit", "s", site.write("jobs/other.toml", keys + text))
    (job,) = site.until_ended("other")
    assert job.life is JobLife.SUCCEEDED, site.story()
    ways = {course.way for course in courses(site, "other")}
    assert CoresWay.OTHER_SHAPE in ways
    assert CoresWay.CONTROLLED not in ways
    assert "is not in the profile" in site.fawkes("explain", "--job", "other")
    # Its run was of another shape: it makes the next version, which has its stages.
    made = site.until("a new version of the profile", lambda: versions(site.root / "profiles", "p")[1:])
    assert made == [2]
    stages = {stage.id for stage in load(site.root / "profiles", "p").stages}
    assert {course.stage for course in courses(site, "other")} - {""} <= stages
