"""Jobs of traces as load jobs: they do what the trace says, once, whoever is killed meanwhile."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from typing import Any

import pytest

from fawkes.base.errors import ExitStatus
from fawkes.cli.replay.stage import OUTPUT, POOL
from fawkes.core.values.model import JobLife
from tests.support.site import LIMIT_S, PROJECT, RealSite

pytestmark = [pytest.mark.hadoop, pytest.mark.nightly]

#: two jobs by their bytes (the second without shuffle), one of two processors for 3 s
SWIM = "first\t0\t0\t3000000\t2000000\t700001\nsecond\t2\t2\t1000\t0\t500\n"
SWF = "1 1 -1 3 2 -1 -1 2 10 -1 1 1 1 1 1 1 -1 -1\n"
SCENARIO = """
[pool]
nodes = 8
[[cluster]]
id = "alpha"
min_nodes = 2
replication = 2
[[cluster]]
id = "beta"
min_nodes = 2
replication = 2
[[load]]
cluster = "alpha"
trace = "bytes.tsv"
[[load]]
cluster = "beta"
trace = "times.swf"
"""


@pytest.fixture(scope="module")
def replayed(running: RealSite) -> dict[str, Any]:
    """The report of a replay whose command was killed as soon as it had submitted the first job."""
    site = running
    site.write("traces/bytes.tsv", SWIM)
    site.write("traces/times.swf", SWF)
    scenario = site.write("traces/twice.toml", SCENARIO)
    out = site.root / "replayed"
    words = [sys.executable, "-m", "fawkes", "--site", str(site.root), "replay", str(scenario), "--out", str(out)]
    log = site.root / "replay.log"
    with (
        log.open("wb") as said,
        subprocess.Popen(words, cwd=PROJECT, stdin=subprocess.DEVNULL, stderr=said) as command,
    ):
        site.until("the first job", lambda: "alpha-first" in site.ledger.jobs or command.poll() is not None)
        assert command.poll() is None, log.read_text()
        command.send_signal(signal.SIGKILL)
    site.fawkes("replay", scenario, "--out", out)
    site.ledger.catch_up()
    found: dict[str, Any] = json.loads((out / "replay.json").read_text())
    return found


def history(site: RealSite, cluster: str, application: str, what: str) -> Any:
    """The history server's answer on an application."""
    job = application.replace("application_", "job_")
    url = f"http://{site.master(cluster)}:19888/ws/v1/history/mapreduce/jobs/{job}{what}"
    return site.inside(cluster, "get", url)


def counter(site: RealSite, cluster: str, application: str, name: str) -> int:
    groups = history(site, cluster, application, "/counters")["jobCounters"]["counterGroup"]
    # A group of one counter has no list of it.
    each = [one if isinstance(one, list) else [one] for one in (group["counter"] for group in groups)]
    (value,) = [one["totalCounterValue"] for counters in each for one in counters if one["name"] == name]
    return int(value)


def test_each_job_was_submitted_once_and_succeeded(running: RealSite, replayed: dict[str, Any]) -> None:
    lives = {job: running.ledger.jobs[job].life for job in ("alpha-first", "alpha-second", "beta-1")}
    assert set(lives.values()) == {JobLife.SUCCEEDED}
    assert {row["job"] for row in replayed["jobs"]} == lives.keys()
    for job in lives:
        assert len(running.applications(running.ledger.jobs[job].cluster, job)) == 1


def test_bytes_are_those_of_the_trace(running: RealSite, replayed: dict[str, Any]) -> None:
    assert sum(running.hdfs("alpha", "sizes", f"{POOL}/twice-data-alpha").values()) == 3_000_000
    assert sum(running.hdfs("alpha", "sizes", f"{OUTPUT}/alpha-first").values()) == 700_001
    assert sum(running.hdfs("alpha", "sizes", f"{OUTPUT}/alpha-second").values()) == 500
    first = running.ledger.jobs["alpha-first"].application
    assert counter(running, "alpha", first, "MAP_OUTPUT_BYTES") == 2_000_000
    assert counter(running, "alpha", first, "HDFS_BYTES_READ") == pytest.approx(3_000_000, abs=2000)


def test_times_are_those_of_the_trace(running: RealSite, replayed: dict[str, Any]) -> None:
    application = running.ledger.jobs["beta-1"].application
    tasks = history(running, "beta", application, "/tasks")["tasks"]["task"]
    assert len(tasks) == 2
    assert all(3000 <= task["elapsedTime"] < 60_000 for task in tasks)


def replay(site: RealSite, name: str, seconds: int) -> subprocess.Popen[bytes]:
    """A replay of one job of one task on alpha, begun; its job is ``alpha-NAME``."""
    job = job_of(name)
    site.write(f"traces/{name}.swf", SWF.replace("1 1 -1 3", f"{job.partition('-')[2]} 1 -1 {seconds}", 1))
    head, _, _ = SCENARIO.partition("[[load]]")
    load = f'[[load]]\ncluster = "alpha"\ntrace = "{name}.swf"\n'
    scenario = site.write(f"traces/{name}.toml", head + load)
    words = [sys.executable, "-m", "fawkes", "--site", str(site.root), "replay", str(scenario)]
    out = ["--out", str(site.root / f"replayed-{name}")]
    command = subprocess.Popen([*words, *out], cwd=PROJECT, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    site.until("its job", lambda: job in site.ledger.jobs and site.ledger.jobs[job].application)
    return command


SUBMITTER = "pgrep -f fawkes.load.Submitter"


def job_of(name: str) -> str:
    return f"alpha-{sum(map(ord, name))}"


def test_a_cancelled_job_ends_and_its_submitter_stays(running: RealSite, replayed: dict[str, Any]) -> None:
    site, job = running, job_of("stopped")
    master = site.ledger.clusters["alpha"].master
    assert master is not None
    before = site.on(master, SUBMITTER)
    with replay(site, "stopped", 1000) as command:
        site.fawkes("cancel", job, "--wait")
        assert command.wait(LIMIT_S) == ExitStatus.PARTIAL
    assert site.on(master, SUBMITTER) == before
    (application,) = site.applications("alpha", job)
    assert application["state"] == "KILLED"


def test_a_job_outlives_its_submitter(running: RealSite, replayed: dict[str, Any]) -> None:
    site = running
    master = site.ledger.clusters["alpha"].master
    assert master is not None
    with replay(site, "orphan", 8) as command:
        gone = site.on(master, f"{SUBMITTER}; kill -9 $({SUBMITTER})")
        assert command.wait(LIMIT_S) == 0
    with replay(site, "next", 1) as command:
        assert command.wait(LIMIT_S) == 0
    site.ledger.catch_up()
    assert site.ledger.jobs[job_of("orphan")].attempt == 1
    assert site.on(master, SUBMITTER) not in ("", gone)
