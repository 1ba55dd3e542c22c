"""Jobs of all kinds, good ones and bad ones, in the queue of one MR-cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

from fawkes.core.values.model import JobLife, JobState, Reason
from fawkes.playbook.dist import pieces
from fawkes.report.words.sentences import why_ended
from tests.support.site import RealSite

pytestmark = pytest.mark.hadoop

GO = "/srv/fawkes/go"
#: two that wait for a word, so that what is behind them is in the queue until it comes; then the good and the bad
BATCH = f"""
[[job]]
id = "first"
kind = "script"
command = "until [ -e {GO} ]; do sleep 0.1; done"

[[job]]
id = "second"
kind = "script"
command = "until [ -e {GO} ]; do sleep 0.1; done"

[[job]]
id = "lost-jar"
kind = "jar"
jar = "lost.jar"
class = "Main"

[[job]]
id = "no-input"
kind = "jar"
jar = "examples"
args = ["wordcount", "/nowhere", "/output/nowhere"]

[[job]]
id = "no-room"
kind = "jar"
jar = "examples"
args = ["wordcount", "/records", "/records"]
retries = 3

[[job]]
id = "twice"
kind = "script"
command = "echo the reason is known >&2; exit 3"
retries = 1

[[job]]
id = "bad-task"
kind = "streaming"
mapper = "false"
reducer = "cat"
input = "/records"
output = "/output/{{id}}"
properties = {{ "mapreduce.map.maxattempts" = "1", "mapreduce.job.reduces" = "0" }}

[[job]]
id = "again"
kind = "streaming"
mapper = "sh -c 'case $mapreduce_job_tags in *-1) exit 1 ;; esac; cat'"
reducer = "cat"
input = "/records"
output = "/output/{{id}}"
retries = 1
properties = {{ "mapreduce.map.maxattempts" = "1", "mapreduce.job.reduces" = "0" }}

[[job]]
id = "too-long"
kind = "script"
command = "sleep 100000"
time_limit = "2s"

[[job]]
id = "lines"
kind = "streaming"
mapper = "cat"
reducer = "wc -l"
input = "/records"
output = "/output/{{id}}"

[[job]]
id = "tasks"
kind = "tasks"
tasks = 2
memory = "128MiB"
output = "/output/{{id}}"
command = '''
[ $FAWKES_TASK_INDEX-$FAWKES_TASK_ATTEMPT != 1-1 ] || exit 4
echo "$FAWKES_TASK_INDEX of $FAWKES_TASK_COUNT" >"$FAWKES_RESULTS/text"
'''

[[job]]
id = "good"
kind = "script"
command = "command -v hadoop && command -v yarn && grep -q 10.98.1 $HADOOP_CONF_DIR/core-site.xml"
reference_time = "100ms"
"""


@pytest.fixture(scope="module")
def ended(running: RealSite) -> dict[str, JobState]:
    """All of them, when each has ended."""
    site = running
    jar: Path = site.write("jobs/lost.jar", "not yet lost")
    pieces.provide(pieces.of_name("tasks"))
    site.fawkes("submit", "beta", site.job("batch", BATCH))
    jar.unlink()
    master = site.ledger.clusters["beta"].master
    assert master is not None
    site.on(master, f"touch {GO}")
    names = (
        "first",
        "second",
        "lost-jar",
        "no-input",
        "no-room",
        "twice",
        "bad-task",
        "again",
        "too-long",
        "lines",
        "tasks",
        "good",
    )
    try:
        return dict(zip(names, site.until_ended(*names), strict=True))
    finally:
        site.on(master, f"rm {GO}")


def test_the_queue_goes_on_behind_bad_jobs(ended: dict[str, JobState]) -> None:
    lives = {name: job.life for name, job in ended.items()}
    good = {"first", "second", "again", "lines", "tasks", "good"}
    assert lives == {name: JobLife.SUCCEEDED if name in good else JobLife.FAILED for name in lives}


def test_each_failure_says_why(running: RealSite, ended: dict[str, JobState]) -> None:
    assert ended["lost-jar"].why.endswith("lost.jar: there is no such file. The job cannot start without it")
    assert "Input path does not exist" in ended["no-input"].why
    assert ended["no-room"].why.startswith("its output folder /records exists already")
    assert ended["twice"].why == "the reason is known"
    assert "Task failed task_" in ended["bad-task"].why
    assert ended["too-long"].stop == Reason("over-limit")
    rows = running.rows("jobs", "beta", "--state", "failed")
    shown = {row["job"]: row["why"] for row in rows if row["job"] in ended}
    assert shown == {name: why_ended(job) for name, job in ended.items() if job.life is JobLife.FAILED}


def test_each_failure_says_where_its_log_is(running: RealSite, ended: dict[str, JobState]) -> None:
    command = ended["no-input"].log
    assert command == "fawkes logs beta --job no-input"
    assert "Input path does not exist" in running.fawkes(*command.split()[1:])


def test_a_retry_is_one_more_attempt(ended: dict[str, JobState]) -> None:
    assert {name: job.attempt for name, job in ended.items() if job.attempt > 1} == {"twice": 2, "again": 2}


def test_a_retry_writes_to_the_folder_that_the_first_attempt_had(running: RealSite, ended: dict[str, JobState]) -> None:
    texts = running.hdfs("beta", "read", "/output/again")
    assert sum(text.count("\n") for text in texts.values()) == 12000


def test_streaming_counts(running: RealSite, ended: dict[str, JobState]) -> None:
    assert ended["lines"].life is JobLife.SUCCEEDED
    texts = running.hdfs("beta", "read", "/output/lines")
    assert sum(int(text) for text in texts.values() if text.strip()) == 12000


def test_each_task_has_a_folder_of_results(running: RealSite, ended: dict[str, JobState]) -> None:
    for index in range(2):
        texts = running.hdfs("beta", "read", f"/output/tasks/{index}")
        assert list(texts.values()) == [f"{index} of 2\n"]


def test_slowdown_counts_the_wait(ended: dict[str, JobState]) -> None:
    job = ended["good"]
    assert job.slowdown is not None
    assert job.wait_us is not None
    assert job.slowdown > job.wait_us / 100_000


@pytest.mark.nightly
def test_a_cancelled_job_is_off_yarn(running: RealSite) -> None:
    site = running
    site.fawkes("submit", "alpha", site.job("naps", 'kind = "sleep"\nmaps = 1\nmap_time = "1000s"\nreduces = 0\n'))
    site.until("the job to run", lambda: site.state.jobs["naps"].life is JobLife.RUNNING)  # type: ignore[index]
    site.fawkes("cancel", "naps", "--wait")
    site.ledger.catch_up()
    assert site.ledger.jobs["naps"].life is JobLife.CANCELLED
    (application,) = site.applications("alpha", "naps")
    assert application["state"] == "KILLED"
    site.command("cancel", "naps", code=2)


def test_a_name_is_used_once_for_good(running: RealSite, ended: dict[str, JobState]) -> None:
    refused = running.command("submit", "beta", "--id", "good", "--script", "true", code=2)
    assert "there is a job 'good' already (succeeded)" in refused.stderr


def test_a_jar_that_is_not_there_is_refused_before_anything_is_sent(running: RealSite) -> None:
    before = set(running.ledger.jobs)
    refused = running.command("submit", "beta", "--jar", "/nowhere/app.jar", "--class", "Main", code=2)
    assert "there is no file '/nowhere/app.jar'" in refused.stderr
    running.now()
    assert set(running.ledger.jobs) == before
