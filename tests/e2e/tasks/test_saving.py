"""Tasks that save themselves on real Hadoop: their nodes leave, and they go on elsewhere without a gap."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from fawkes.core.preemption.account import Account
from fawkes.core.values.model import ClusterId, ClusterLife, JobId, JobLife, Reason, Role
from fawkes.core.values.sight import Work
from fawkes.core.values.tags import tag_of
from fawkes.live.lab.spec import CONTROLLER_ADDRESS
from fawkes.playbook.dist import pieces
from fawkes.report.tables.waste_rows import account_of_job
from fawkes.store.sqlite import LedgerReader
from tests.support.site import FAWKES, LIMIT_S, PROJECT, RealSite, real_site

pytestmark = [pytest.mark.hadoop, pytest.mark.nightly]

SETTINGS = (
    'preset = "demo"\nperiod = "5s"\nsample_every = "2s"\nidle_time = "never"\ntransient_leave = "90s"\n'
    'preemption = "checkpoint"\n'
)
CLUSTER = f"""
min_nodes = 2
replication = 1
outputs = [{{ path = "/out", save_to = "../saved/t" }}]
clients = ["{CONTROLLER_ADDRESS}"]
"""
#: numbers, one every 0.2 s, in a file that the checkpoint has; a start that has it goes on behind its last line
COUNT = """
import os, pathlib, shutil, signal, sys, time

folder = pathlib.Path(os.environ["FAWKES_CHECKPOINT"])
kept = folder / "numbers"
numbers = kept.read_text() if kept.exists() else ""
first = len(numbers.split())

def save(*_):
    until = int(pathlib.Path(os.environ["FAWKES_UNTIL"]).read_text())
    assert until > time.time()
    kept.write_text(numbers)
    sys.exit(85)

signal.signal(signal.SIGUSR1, save)
with open("/tmp/counts", "a") as starts:
    print(os.environ["FAWKES_TASK_INDEX"], first, file=starts)
for number in range(first, {numbers}):
    time.sleep(0.2)
    numbers += f"{{number}}\\n"
pathlib.Path(os.environ["FAWKES_RESULTS"], "numbers").write_text(numbers)
"""
#: the same without a thought of being saved; it does not end before it may, however long nodes take to come and go
PLAIN = """
import os, pathlib, time

with open("starts", "a") as starts:
    print(os.environ["FAWKES_TASK_INDEX"], file=starts)
numbers = bytearray(os.urandom(10_000_000))
with open(os.environ["FAWKES_RESULTS"] + "/numbers", "w") as file:
    for number in range({numbers}):
        time.sleep(0.2)
        print(number, file=file, flush=True)
        numbers[number * 4096] = number % 251
while not os.path.exists("/tmp/plain.go"):
    time.sleep(0.2)
assert all(numbers[number * 4096] == number % 251 for number in range({numbers}))
pathlib.Path(os.environ["FAWKES_RESULTS"], "starts").write_text(open("starts").read())
"""
JOB = """
kind = "tasks"
tasks = {tasks}
memory = "256MiB"
output = "/out/{{id}}"
checkpoint = "{how}"
task_attempts = 1
files = ["{{id}}.py"]
command = "python3 {{id}}.py"
"""


URGENT = """
kind = "tasks"
tasks = {tasks}
memory = "{memory_mb}MiB"
output = "/out/{{id}}"
priority = 9
command = "sleep 3"
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealSite]:
    pieces.provide((*pieces.of_name("tasks"), *pieces.of_name("criu")))
    with real_site(tmp_path_factory.mktemp("saving") / "lab", 4, SETTINGS, memory_mb=1500) as site:
        site.write("clusters/t.toml", CLUSTER)
        site.run()
        site.request("t")
        yield site


def submit(site: RealSite, name: str, tasks: int, numbers: int, how: str = "own", program: str = COUNT) -> None:
    site.write(f"jobs/{name}.py", program.format(numbers=numbers))
    site.fawkes("submit", "t", site.job(name, JOB.format(tasks=tasks, how=how).replace("{id}.py", f"{name}.py")))


def starts(site: RealSite) -> list[tuple[int, int]]:
    """The starts that hosts have seen: index, and the first number."""
    lines = [line for host in site.hosts for line in site.on(host, "cat /tmp/counts 2>/dev/null || :").splitlines()]
    return [(int(index), int(first)) for index, first in (line.split() for line in lines)]


def left(site: RealSite) -> list[str]:
    """The transient nodes that the MR-cluster still has, in whatever life."""
    return [state.node.id for state in site.nodes_of("t") if state.role is Role.TRANSIENT]


def until_all_run(site: RealSite, name: str, tasks: int) -> None:
    """Wait until so many tasks of a job have a process: a node that has only been given one is free at once."""

    def running() -> bool:
        counts = (site.on(host, f"pgrep -fxc 'python3 {name}.py' || :") for host in site.hosts)
        return sum(int(count) for count in counts) == tasks

    site.until(f"{tasks} tasks of {name}", running)


def reasons(site: RealSite, code: str) -> list[Reason]:
    return [reason for entry in site.ledger.entries for reason in entry.decision.reasons if reason.code == code]


def test_tasks_of_nodes_that_leave_go_on_elsewhere_from_what_they_have_saved(site: RealSite) -> None:
    submit(site, "count", 14, 150)
    nodes = site.until_serving("t", Role.TRANSIENT, 2)
    site.until("tasks on all nodes", lambda: len(starts(site)) == 14)
    site.fawkes("shrink", "t", "2")
    site.until("both are free", lambda: not left(site))
    (job,) = site.until_ended("count")

    assert (job.life, job.attempt, job.why) == (JobLife.SUCCEEDED, 1, ""), site.story()
    went = reasons(site, "task-went")
    assert went
    assert {reason.facts["how"] for reason in went} == {"saved"}
    resumed = sorted(index for index, first in starts(site) if first > 0)
    assert resumed == sorted(int(str(reason.facts["index"])) for reason in went)
    assert {reason.facts["node"] for reason in went} <= set(nodes)


def has_images(site: RealSite, job: str) -> bool:
    script = f'eval "$({shlex.join(FAWKES)} --site {site.root} env t)"; hdfs dfs -ls -R /out/{job}/_saved'
    return site.lab.exec(["sh", "-c", script], cwd=PROJECT, timeout_s=LIMIT_S).returncode == 0


def test_a_cancelled_job_leaves_no_image(site: RealSite) -> None:
    site.fawkes("unhold", "t")
    submit(site, "gone", 12, 100_000)
    site.until_serving("t", Role.TRANSIENT, 2)
    until_all_run(site, "gone", 12)
    before = len(reasons(site, "task-went"))
    site.fawkes("shrink", "t", "2")
    site.until("what was saved", lambda: len(reasons(site, "task-went")) > before)
    assert has_images(site, "gone")
    site.fawkes("cancel", "gone", "--wait")
    site.until("that no image is left", lambda: not has_images(site, "gone"))


def test_processes_that_know_nothing_of_it_go_on_elsewhere_and_twice(site: RealSite) -> None:
    """The job shrinks twice under its tasks: some of them are moved twice, and write only what has changed then."""
    submit(site, "plain", 14, 200, "criu", PLAIN)
    sizes: list[dict[object, int]] = []
    for _ in range(2):
        site.try_command("unhold", "t")
        site.until_serving("t", Role.TRANSIENT, 2)
        until_all_run(site, "plain", 14)
        before = len(reasons(site, "task-went"))
        site.fawkes("shrink", "t", "2")
        site.until("both are free", lambda: not left(site))
        went = reasons(site, "task-went")[before:]
        assert went
        assert {reason.facts["how"] for reason in went} == {"saved"}, site.story()
        sizes.append({reason.facts["index"]: int(str(reason.facts["size_bytes"])) for reason in went})
    first, second = sizes
    assert first.keys() & second.keys()
    assert all(0 < second[index] < first[index] / 3 for index in first.keys() & second.keys()), sizes
    for host in site.hosts:
        site.on(host, "touch /tmp/plain.go")
    (job,) = site.until_ended("plain")
    assert (job.life, job.attempt, job.why) == (JobLife.SUCCEEDED, 1, ""), site.story()
    account = waste(site, "plain")
    assert (account.saved, account.unseen) == (sum(map(len, sizes)), 0)
    assert min(account.waiting_s, account.waste.restoring_s) > 0


def test_an_important_job_gets_room_from_tasks_that_go_on_later(site: RealSite) -> None:
    submit(site, "low", 30, 200)
    site.until("as many tasks as there is room for", lambda: any(row.running for row in work(site, "low")))
    site.fawkes("submit", "t", site.job("urgent", URGENT.format(tasks=4, memory_mb=256)))
    (urgent,) = site.until_ended("urgent")

    assert urgent.life is JobLife.SUCCEEDED, site.story()
    assert site.ledger.jobs["low"].life is JobLife.RUNNING
    assert went_for(site, "urgent") == {"low"}
    (low,) = site.until_ended("low")
    assert (low.life, low.attempt, low.why) == (JobLife.SUCCEEDED, 1, ""), site.story()


def test_important_jobs_one_after_another_get_room_on_many_nodes_at_once(site: RealSite) -> None:
    site.try_command("unhold", "t")
    submit(site, "wide", 40, 1000)
    for number, (tasks, memory_mb) in enumerate(((4, 256), (1, 1024), (4, 256))):
        site.until("as many tasks as there is room for", lambda: full(site, "wide"))
        text = URGENT.format(tasks=tasks, memory_mb=memory_mb)
        site.fawkes("submit", "t", site.job(f"urgent{number}", text))
        (urgent,) = site.until_ended(f"urgent{number}")
        assert urgent.life is JobLife.SUCCEEDED, site.story()
        assert went_for(site, urgent.id) == {"wide"}
    site.fawkes("cancel", "wide", "--wait")


def went_for(site: RealSite, claimant: str) -> set[object]:
    """The jobs whose tasks had to go: two for an ApplicationMaster, which is as large, and none twice."""
    went = [reason.facts for reason in reasons(site, "task-must-go") if reason.facts.get("claimant") == claimant]
    assert len(went) == len({(facts["job"], facts["index"]) for facts in went}) <= 6, site.story()
    return {facts["job"] for facts in went}


def full(site: RealSite, job: str) -> bool:
    """True if YARN has no room for any more of the tasks of the job on four nodes."""
    return any((row.running or 0) >= 19 for row in work(site, job))


def work(site: RealSite, job: str) -> list[Work]:
    """How far a job has got in YARN by the latest reading."""
    seen = site.state.latest(ClusterId("t"))
    return [row for row in (seen.work if seen else ()) if row.tag == tag_of(JobId(job), 1)]


def waste(site: RealSite, job: str) -> Account:
    with closing(LedgerReader(site.site.state_dir)) as ledger:
        return account_of_job(ledger, job)


def test_the_numbers_have_no_gap_and_no_image_is_left(site: RealSite) -> None:
    site.fawkes("release", "t", "--yes")
    site.until_life(ClusterLife.GONE, "t")
    expected = "".join(f"{number}\n" for number in range(200))
    for index in range(14):
        folder = site.root / "saved/t/plain" / str(index)
        assert (folder / "numbers").read_text() == expected
        assert (folder / "starts").read_text() == f"{index}\n"
    for index in range(30):
        assert (site.root / "saved/t/low" / str(index) / "numbers").read_text() == expected
    folder = site.root / "saved/t/count"
    expected = "".join(f"{number}\n" for number in range(150))
    for index in range(14):
        assert (folder / str(index) / "numbers").read_text() == expected
    assert sorted(Path(each).name for each in map(str, folder.iterdir())) == sorted([*map(str, range(14)), "_SUCCESS"])
