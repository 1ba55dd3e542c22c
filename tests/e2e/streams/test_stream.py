"""A stream through its load on real Hadoop and Spark, alone and beside tasks that are saved for it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fawkes.core.values.model import ClusterId, ClusterLife, JobId, JobLife
from fawkes.core.values.sight import StreamSeen
from fawkes.core.values.tags import tag_of
from fawkes.live.lab.spec import CONTROLLER_ADDRESS
from fawkes.playbook.dist import pieces
from tests.support.site import RealSite, real_site

pytestmark = [pytest.mark.hadoop, pytest.mark.drill]

PROGRAM = Path(__file__).parents[3] / "workloads/streams/events.py"
SETTINGS = 'preset = "steady"\nperiod = "10s"\nsample_every = "2s"\nidle_time = "never"\ntransient_leave = "30s"\n'
CLUSTER = """
min_nodes = 2
max_nodes = {most}
replication = 1
software = ["spark"]
clients = ["{address}"]
scratch = ["/s", "/out"]
"""
STREAM = """
kind = "stream"
python = "events.py"
args = ["/s/{name}", "--low", "8", "--high", "40", "--phases", "{phases}", "--cost-ms", "50", "--batch-s", "10"]
executors = 1
most_executors = 6
batch = "10s"
guarantee = {guarantee}
"""
TASKS = """
kind = "tasks"
tasks = 4
command = "sh count.sh"
memory = "400MiB"
output = "/out/{id}"
checkpoint = "own"
files = ["count.sh"]
"""
COUNT = """i=$(cat $FAWKES_CHECKPOINT/i 2>/dev/null || echo 0)
trap 'echo $i >$FAWKES_CHECKPOINT/i; exit 85' USR1
while [ $i -lt 150 ]; do i=$((i + 1)); sleep 1 & wait $!; done
echo $i >$FAWKES_RESULTS/count
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealSite]:
    pieces.provide(pieces.of_job("stream"))
    with real_site(tmp_path_factory.mktemp("streams") / "lab", 5, SETTINGS, memory_mb=2100) as site:
        for name, most in (("alone", 5), ("beside", 2)):
            own = CLUSTER.replace("{most}", str(most)).replace("{address}", CONTROLLER_ADDRESS)
            site.write(f"clusters/{name}.toml", own)
        site.write("jobs/events.py", PROGRAM.read_text())
        site.run()
        yield site


def begin(site: RealSite, name: str, phases: str, guarantee: float) -> None:
    """Submit a stream to an MR-cluster of that name, and wait until its first batch was seen."""
    site.request(name)
    keys = STREAM.replace("{name}", name).replace("{phases}", phases).replace("{guarantee}", str(guarantee))
    site.fawkes("submit", name, site.write(f"jobs/{name}.toml", f'id = "{name}"\n{keys}'))
    site.until("a batch", lambda: (seen := stream(site, name)) is not None and seen.batch > 0, limit_s=400)


def stream(site: RealSite, name: str) -> StreamSeen | None:
    """The stream by the latest reading."""
    job, seen = site.ledger.jobs.get(name), site.state.latest(ClusterId(name))
    assert job is None or job.life is not JobLife.FAILED, site.story()
    tag = tag_of(JobId(name), 1)
    return next((row.stream for row in (seen.work if seen else ()) if row.tag == tag), None)


def has(site: RealSite, name: str, least: int, most: int = 99) -> bool:
    """True if the stream has so many executors."""
    seen = stream(site, name)
    return seen is not None and least <= seen.executors <= most


def notes(site: RealSite, name: str) -> list[object]:
    """The folders of notes for streams in the HDFS of an MR-cluster."""
    url = f"http://{site.master(name)}:9870/webhdfs/v1/staging/streams?op=LISTSTATUS&user.name=root"
    rows: list[object] = site.inside(name, "get", url)["FileStatuses"]["FileStatus"]
    return rows


def test_a_stream_gets_executors_for_its_load_and_gives_them_back(site: RealSite) -> None:
    begin(site, "alone", "60,120,150", 1.0)
    site.until("more executors", lambda: has(site, "alone", 2), limit_s=400)
    most = 2

    def gives_back() -> bool:
        """True once it has fewer than it had; by one of them a slow machine may be half busy with the least load."""
        nonlocal most
        most = max(most, now.executors if (now := stream(site, "alone")) is not None else 0)
        return has(site, "alone", 1, most - 1)

    site.until("fewer executors", gives_back, limit_s=300)
    (job,) = site.until_ended("alone")
    assert (job.life, job.attempt) == (JobLife.SUCCEEDED, 1), site.story()
    story = site.fawkes("explain", "--job", "alone")
    assert "more workers" in story
    assert "fewer workers" in story
    site.fawkes("release", "alone", "--yes")
    site.until_life(ClusterLife.GONE, "alone")


def test_a_stream_claims_its_guarantee_from_tasks_that_save_themselves(site: RealSite) -> None:
    site.write("jobs/count.sh", COUNT)
    begin(site, "beside", "45,120,90", 0.8)
    site.fawkes("submit", "beside", site.write("jobs/batch.toml", f'id = "batch"\n{TASKS}'))
    site.until("room of the tasks", lambda: has(site, "beside", 2), limit_s=400)
    site.kill()
    site.run()
    site.until("more executors by another controller", lambda: has(site, "beside", 3))
    stream_job, batch = site.until_ended("beside", "batch", limit_s=600)
    assert (stream_job.life, batch.life) == (JobLife.SUCCEEDED, JobLife.SUCCEEDED), site.story()
    assert (stream_job.attempt, len(site.applications("beside", "beside"))) == (1, 1)
    assert "saved" in site.fawkes("explain", "--job", "batch")
    site.until("the notes to be gone", lambda: notes(site, "beside") == [])
    site.fawkes("release", "beside", "--yes")
    site.until_life(ClusterLife.GONE, "beside")
