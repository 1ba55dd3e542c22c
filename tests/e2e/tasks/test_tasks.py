"""Jobs of tasks on real Hadoop: results, retries, failures, lost nodes, a lost ApplicationMaster."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from fawkes.core.values.model import ClusterId, ClusterLife, JobId, JobLife, Role
from fawkes.core.values.tags import tag_of
from fawkes.live.lab.spec import CONTROLLER_ADDRESS
from fawkes.playbook.dist import pieces
from tests.support.site import FAWKES, LIMIT_S, PROJECT, RealSite, real_site

pytestmark = [pytest.mark.hadoop, pytest.mark.nightly]

SETTINGS = 'preset = "demo"\nperiod = "10s"\nsample_every = "2s"\nidle_time = "never"\ntransient_leave = "instant"\n'
CLUSTER = f"""
min_nodes = 2
replication = 1
outputs = [{{ path = "/out", save_to = "../saved/t" }}]
clients = ["{CONTROLLER_ADDRESS}"]
"""
#: the second task fails at first; each says where it was tried, in a folder that outlives it
SQUARES = r"""
kind = "tasks"
tasks = 5
memory = "128MiB"
output = "/out/{id}"
priority = 9
files = ["factor.txt"]
command = '''
echo "task $FAWKES_TASK_INDEX of $FAWKES_TASK_COUNT says \"hello\" & $(( 1 + 1 ))"
[ "$FAWKES_TASK_INDEX-$FAWKES_TASK_ATTEMPT" != 1-1 ] || {
    echo not yet >&2; echo half >"$FAWKES_RESULTS/square"; exit 7; }
mkdir "$FAWKES_RESULTS/more"
echo $FAWKES_TASK_ATTEMPT >"$FAWKES_RESULTS/more/attempt"
echo $(( FAWKES_TASK_INDEX * FAWKES_TASK_INDEX * $(cat factor.txt) )) >"$FAWKES_RESULTS/square"
'''
"""
FAILS = """
kind = "tasks"
tasks = 3
memory = "128MiB"
output = "/out/{id}"
task_attempts = 2
command = "[ $FAWKES_TASK_INDEX != 2 ] || { echo the input is empty >&2; exit 3; }"
"""
#: its command ends well, and HDFS does not take the result
FULL = """
kind = "tasks"
tasks = 1
memory = "128MiB"
output = "/full/{id}"
task_attempts = 2
command = "echo 1 >$FAWKES_RESULTS/one"
"""
#: the third task fails once on each host, when the others have ended
ONCE = """
kind = "tasks"
tasks = 4
memory = "128MiB"
output = "/out/{id}"
task_attempts = 1
retries = 4
command = '''
echo $FAWKES_TASK_INDEX >>/tmp/once-starts
[ $FAWKES_TASK_INDEX != 2 ] || { sleep 8; mkdir /tmp/once || exit 0; exit 9; }
'''
"""
SLEEPS = """
kind = "tasks"
tasks = {tasks}
memory = "256MiB"
output = "/out/{{id}}"
task_attempts = 1
command = '''
echo $FAWKES_TASK_INDEX-$CONTAINER_ID >>/tmp/starts
sleep {seconds}
echo $FAWKES_TASK_INDEX >$FAWKES_RESULTS/index
'''
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealSite]:
    pieces.provide(pieces.of_name("tasks"))
    with real_site(tmp_path_factory.mktemp("tasks") / "lab", 4, SETTINGS, memory_mb=1500) as site:
        site.write("clusters/t.toml", CLUSTER)
        site.write("jobs/factor.txt", "3\n")
        site.run()
        site.request("t")
        yield site


def submit(site: RealSite, name: str, text: str) -> None:
    site.fawkes("submit", "t", site.job(name, text))


def in_shell(site: RealSite, command: str) -> str:
    """The output of a command of a user's shell, after `fawkes env`."""
    script = f'eval "$({shlex.join(FAWKES)} --site {site.root} env t)"; {command}'
    done = site.lab.exec(["sh", "-c", script], cwd=PROJECT, timeout_s=LIMIT_S)
    assert done.returncode == 0, done.stderr
    return done.stdout


def until_done(site: RealSite, name: str, tasks: int) -> None:
    """Wait until that many tasks of a job have ended well."""

    def done() -> bool:
        job, seen = site.ledger.jobs.get(name), site.state.latest(ClusterId("t"))
        assert job is None or job.life is not JobLife.FAILED, site.story()
        return any(
            row.tag == tag_of(JobId(name), 1) and (row.done or 0) >= tasks for row in (seen.work if seen else ())
        )

    site.until(f"{tasks} tasks of {name}", done)


def starts(site: RealSite, file: str = "/tmp/starts") -> list[str]:
    """The starts of tasks that hosts have seen."""
    return [line for host in site.hosts for line in site.on(host, f"cat {file} 2>/dev/null || :").split()]


def results(folder: Path) -> dict[str, str]:
    """The names of saved files and their texts."""
    return {file.relative_to(folder).as_posix(): file.read_text() for file in folder.rglob("*") if file.is_file()}


def test_each_task_leaves_its_result_and_one_that_failed_is_tried_again(site: RealSite) -> None:
    submit(site, "squares", SQUARES)
    (job,) = site.until_ended("squares")

    assert (job.life, job.attempt, job.why) == (JobLife.SUCCEEDED, 1, ""), site.story()
    (application,) = site.applications("t", "squares")
    assert (application["applicationType"], application["finalStatus"]) == ("FAWKES", "SUCCEEDED")
    assert application["priority"] == 9
    logs = in_shell(site, f"yarn logs -applicationId {application['id']}")
    assert "not yet" in logs
    assert 'task 4 of 5 says "hello" & 2' in logs


def test_a_task_that_fails_too_often_fails_the_job_with_index_code_and_host(site: RealSite) -> None:
    submit(site, "fails", FAILS)
    (job,) = site.until_ended("fails")

    assert job.life is JobLife.FAILED
    assert "task 2 failed 2 times, at last with exit code 3 on " in job.why
    assert job.why.endswith(": the input is empty")


def test_a_task_that_fails_without_a_word_has_none_of_fawkes(site: RealSite) -> None:
    silent = FAILS.replace("echo the input is empty >&2; ", "").replace("kind", 'checkpoint = "own"\nkind')
    submit(site, "silent", silent)
    (job,) = site.until_ended("silent")
    assert "task 2 failed 2 times, at last with exit code 3 on " in job.why
    assert not [words for words in ("begins again", "bytes of") if words in job.why]


def test_results_that_hdfs_does_not_take_are_the_reason_and_leave_nothing(site: RealSite) -> None:
    in_shell(site, "hdfs dfs -mkdir /full && hdfs dfsadmin -setSpaceQuota 1 /full")
    submit(site, "full", FULL)
    (job,) = site.until_ended("full")
    left = in_shell(site, "hdfs dfs -ls -C /full/full && hdfs dfs -rm -r -skipTrash /full >&2")
    assert "task 0 failed 2 times, at last with exit code 1 on " in job.why
    assert "its results were not kept: The DiskSpace quota of /full is exceeded" in job.why
    assert left.split() == ["/full/full/_job.full"]


def test_the_output_of_somebody_else_is_not_touched(site: RealSite) -> None:
    submit(site, "again", SQUARES.replace("{id}", "squares"))
    (job,) = site.until_ended("again")
    assert job.life is JobLife.FAILED
    assert "its output folder /out/squares exists already" in job.why


def test_a_second_attempt_of_the_job_runs_what_is_missing(site: RealSite) -> None:
    submit(site, "once", ONCE)
    (job,) = site.until_ended("once")
    assert job.life is JobLife.SUCCEEDED, site.story()
    assert job.attempt > 1
    counts = Counter(starts(site, "/tmp/once-starts"))
    assert counts == {"0": 1, "1": 1, "2": job.attempt, "3": 1}


def test_a_process_that_a_command_leaves_behind_holds_nothing_up(site: RealSite) -> None:
    leaves = FAILS.replace("[ $FAWKES_TASK_INDEX != 2 ] || { echo the input is empty >&2; exit 3; }", "sleep 54321 &")
    submit(site, "leaves", leaves)
    (job,) = site.until_ended("leaves")
    assert job.life is JobLife.SUCCEEDED, site.story()


def test_a_job_that_never_ends_is_cancelled(site: RealSite) -> None:
    submit(site, "endless", SLEEPS.format(tasks=3, seconds=100_000))
    site.until("its tasks", lambda: any(row["runningContainers"] > 1 for row in site.applications("t", "endless")))
    site.fawkes("cancel", "endless", "--wait")
    (job,) = site.until_ended("endless")
    assert job.life is JobLife.CANCELLED
    (application,) = site.applications("t", "endless")
    assert application["finalStatus"] == "KILLED"


def test_the_tasks_of_a_lost_master_run_on_and_none_begins_twice(site: RealSite) -> None:
    for host in site.hosts:
        site.on(host, "rm -f /tmp/starts")
    submit(site, "master", SLEEPS.format(tasks=30, seconds=5))
    until_done(site, "master", 6)
    # Looked for everywhere before it is killed: the next one may begin on a host whose turn would come later.
    (host,) = (host for host in site.hosts if site.on(host, "pgrep -f fawkes.tasks.Maste[r] || :").strip())
    site.on(host, "pkill -9 -f fawkes.tasks.Maste[r]")
    (job,) = site.until_ended("master")

    assert (job.life, job.attempt) == (JobLife.SUCCEEDED, 1), site.story()
    (application,) = site.applications("t", "master")
    listed = site.yarn("t", f"apps/{application['id']}/appattempts")["appAttempts"]["appAttempt"]
    assert len(listed) == 2
    assert len(starts(site)) == 30


def test_tasks_are_demand_and_those_of_a_node_that_leaves_run_again(site: RealSite) -> None:
    began, before = site.now(), len(starts(site))
    submit(site, "moved", SLEEPS.format(tasks=60, seconds=8))
    nodes = site.until_serving("t", Role.TRANSIENT, 2)
    until_done(site, "moved", 20)
    site.fawkes("shrink", "t", "1")
    site.until("one node less", lambda: len(site.serving("t", Role.TRANSIENT)) < len(nodes))
    (job,) = site.until_ended("moved")

    assert (job.life, job.attempt, job.why) == (JobLife.SUCCEEDED, 1, ""), site.story()
    readings = [r for e in site.ledger.entries[began:] for r in getattr(e.event, "readings", ()) if r.cluster == "t"]
    assert max(r.tasks_waiting for r in readings) > 40
    assert max(r.tasks_running for r in readings) > 5
    assert len(starts(site)) - before > 60


def test_what_was_saved_is_one_whole_result_of_each_task(site: RealSite) -> None:
    site.fawkes("release", "t", "--yes")
    site.until_life(ClusterLife.GONE, "t")
    saved = results(site.root / "saved/t/squares")
    expected = {f"{n}/square": f"{3 * n * n}\n" for n in range(5)}
    expected |= {f"{n}/more/attempt": "2\n" if n == 1 else "1\n" for n in range(5)}
    assert saved == expected | {"_SUCCESS": ""}
    for name, tasks in (("master", 30), ("moved", 60)):
        folder = site.root / "saved/t" / name
        if name in site.ledger.jobs:
            assert results(folder) == {f"{n}/index": f"{n}\n" for n in range(tasks)} | {"_SUCCESS": ""}
