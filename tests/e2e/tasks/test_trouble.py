"""Nothing is lost by trying: tasks of an ordinary user are saved while controllers, images, HDFS and hosts fail."""

from __future__ import annotations

import hashlib
import io
import os
import random
import shlex
import tarfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from fawkes.core.values.model import ClusterLife, JobLife, Reason, Role
from fawkes.live.lab.spec import CONTROLLER_ADDRESS
from fawkes.playbook.dist import pieces
from tests.support.site import FAWKES, LIMIT_S, PROJECT, RealSite, real_site

pytestmark = [pytest.mark.hadoop, pytest.mark.nightly]

SETTINGS = (
    'preset = "demo"\nperiod = "5s"\nsample_every = "2s"\nidle_time = "never"\ntransient_leave = "45s"\n'
    'preemption = "checkpoint"\n'
)
USER = "alpha" if os.geteuid() == 0 else ""
CLUSTER = f"""
{f'run_as = "{USER}"' if USER else ""}
min_nodes = 2
replication = 1
outputs = [{{ path = "/out", save_to = "../saved/t" }}]
clients = ["{CONTROLLER_ADDRESS}"]
"""
#: counts to a goal, and ends when its host has been told; what is saved by itself is saved slowly
PROGRAM = """
import os, pathlib, signal, sys, time

name, goal = sys.argv[1], int(sys.argv[2])
kept = pathlib.Path(os.environ["FAWKES_CHECKPOINT"], "numbers")
own = os.environ["FAWKES_TASK_SAVES"] == "own"
numbers = kept.read_text() if own and kept.exists() else ""

def save(*_):
    time.sleep(5)
    kept.write_text(numbers)
    sys.exit(85)

if own:
    signal.signal(signal.SIGUSR1, save)
number = len(numbers.split())
with open("/tmp/seen/" + name, "a") as starts:
    print(os.environ["FAWKES_TASK_INDEX"], number, file=starts)
memory = bytearray(os.urandom(8_000_000))
sums = sum(memory[::4096])
while number < goal or not os.path.exists(f"/tmp/seen/{name}.go"):
    if number < goal:
        numbers += f"{number}\\n"
        number += 1
    time.sleep(0.2)
assert sums == sum(memory[::4096])
pathlib.Path(os.environ["FAWKES_RESULTS"], "numbers").write_text(numbers)
"""
JOB = """
kind = "tasks"
tasks = {tasks}
memory = "256MiB"
output = "/out/{{id}}"
checkpoint = "{how}"
task_attempts = 1
files = ["count.py"]
command = "python3 count.py {{id}} {goal}"
"""
GOAL = 100
TASKS = 14
#: all that runs in namespaces of its own, or belongs to the user of the MR-cluster
LEFT = f"""
readlink /proc/[0-9]*/ns/pid /proc/[0-9]*/ns/mnt 2>/dev/null | sort -u | tail -n +3
{f"ps -u {USER} -o args= || :" if USER else ":"}
grep -E ' /media | fawkes' /proc/self/mounts || :
"""


ORDERS = "ls /srv/fawkes/clusters/t/nm-local/usercache/*/appcache/*/*/fawkes-order 2>/dev/null || :"


@pytest.fixture(scope="module")
def lab_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealSite]:
    pieces.provide((*pieces.of_name("tasks"), *pieces.of_name("criu")))
    folder = tmp_path_factory.mktemp("trouble") / "lab"
    with real_site(folder, 4, SETTINGS, memory_mb=1500, users=(USER,) if USER else ()) as site:
        site.write("clusters/t.toml", CLUSTER)
        site.write("jobs/count.py", PROGRAM)
        for host in site.hosts:
            site.on(host, "mkdir /tmp/seen")
        site.run()
        site.request("t")
        yield site


@pytest.fixture
def site(lab_site: RealSite) -> RealSite:
    lab_site.heal()
    return lab_site


def begin(site: RealSite, name: str, how: str, tasks: int = TASKS, goal: int = GOAL) -> None:
    """Submit a job, and wait until all of its tasks run."""
    for host in site.hosts:
        site.on(host, f": >/tmp/seen/{name}; chmod 666 /tmp/seen/{name}")
    site.try_command("unhold", "t")
    site.fawkes("submit", "t", site.job(name, JOB.format(tasks=tasks, how=how, goal=goal)))
    until_all_run(site, name, tasks)


def until_all_run(site: RealSite, name: str, tasks: int = TASKS) -> None:
    site.until(f"{tasks} tasks of {name}", lambda: sum(running(site, name).values()) == tasks)


def running(site: RealSite, name: str) -> dict[str, int]:
    """How many tasks of a job run on each host that is on."""
    on = [row.host for row in site.lab.status() if row.state == "on"]
    return {host: int(site.on(host, f"pgrep -fc '^python3 count.py {name} ' || :")) for host in on}


def grow_again(site: RealSite, name: str) -> None:
    """The nodes that left come back, and all tasks run."""
    site.fawkes("unhold", "t")
    site.until_serving("t", Role.TRANSIENT, 2)
    until_all_run(site, name)


def transient(site: RealSite) -> list[str]:
    """The transient nodes that the MR-cluster still has, in whatever life."""
    return [state.node.id for state in site.nodes_of("t") if state.role is Role.TRANSIENT]


def shrink(site: RealSite, nodes: int = 2) -> int:
    """Begin to shrink; the number of the step before."""
    now = site.now()
    site.fawkes("shrink", "t", str(nodes))
    return now


def until_gone(site: RealSite) -> None:
    site.until("the transient nodes to be free", lambda: not transient(site))


def went(site: RealSite, job: str, after: int = 0) -> list[Reason]:
    return [reason for reason in site.ledger.reasons("task-went", after=after) if reason.facts["job"] == job]


def starts(site: RealSite, name: str) -> list[tuple[int, int]]:
    """The starts that hosts have seen of tasks of a job: index, and the first number."""
    lines = [line for host in site.hosts for line in site.on(host, f"cat /tmp/seen/{name}").splitlines()]
    return [(int(index), int(first)) for index, first in (line.split() for line in lines)]


def fresh(site: RealSite, name: str) -> Counter[int]:
    """How often each task of a job has begun from nothing."""
    return Counter(index for index, first in starts(site, name) if first == 0)


def finish(site: RealSite, name: str, tasks: int = TASKS, goal: int = GOAL) -> None:
    """Let the tasks of a job end: each has all its numbers once, and nothing saved is left."""
    for host in site.hosts:
        site.on(host, f"touch /tmp/seen/{name}.go")
    (job,) = site.until_ended(name)
    assert (job.life, job.attempt, job.why) == (JobLife.SUCCEEDED, 1, ""), site.story()
    numbers = hashlib.sha256("".join(f"{number}\n" for number in range(goal)).encode()).hexdigest()
    listed = {path: sha for path, (_, sha) in site.hdfs("t", "digests", f"/out/{name}").items()}
    expected = {f"/out/{name}/{index}/numbers": numbers for index in range(tasks)}
    assert listed == expected | {f"/out/{name}/_SUCCESS": hashlib.sha256().hexdigest()}


def in_shell(site: RealSite, *commands: str) -> str:
    """The output of commands of a shell of the MR-cluster's user, after `fawkes env`."""
    name = f"export HADOOP_USER_NAME={USER}" if USER else ":"
    script = "; ".join(["set -e", f'eval "$({shlex.join(FAWKES)} --site {site.root} env t)"', name, *commands])
    done = site.lab.exec(["sh", "-c", script], cwd=PROJECT, timeout_s=LIMIT_S)
    assert done.returncode == 0, done.stderr
    return done.stdout


def images(site: RealSite, name: str) -> dict[int, list[str]]:
    """The paths of the whole images of each task of a job."""
    paths = [path for path in site.hdfs("t", "sizes", f"/out/{name}/_saved") if "/_" not in path.partition("_saved")[2]]
    return {int(path.split("/")[-2]): [path] for path in paths}


def test_tasks_that_are_moved_again_and_again_end_as_if_nothing_had_been(site: RealSite) -> None:
    """Their nodes leave at seeded times, until CRIU has moved one twice; tasks of other kinds run beside them."""
    kinds = {"criu": 12, "own": 3, "none": 1}
    for how, tasks in kinds.items():
        begin(site, f"mixed-{how}", how, tasks, 300)
    chance = random.Random(32)
    while max(Counter(reason.facts["index"] for reason in went(site, "mixed-criu")).values(), default=0) < 2:
        site.try_command("unhold", "t")
        site.until_serving("t", Role.TRANSIENT, 2)
        until_all_run(site, "mixed-criu", kinds["criu"])
        moment = time.monotonic() + chance.uniform(0, 15)
        site.until("its moment", lambda moment=moment: time.monotonic() > moment)  # type: ignore[misc]
        shrink(site)
        until_gone(site)
    assert {reason.facts["how"] for reason in went(site, "mixed-criu")} == {"saved"}, site.story()
    site.fawkes("unhold", "t")
    for how, tasks in kinds.items():
        finish(site, f"mixed-{how}", tasks, 300)
    assert fresh(site, "mixed-criu") == dict.fromkeys(range(kinds["criu"]), 1)


def test_a_controller_that_is_killed_over_orders_and_answers_loses_no_task(site: RealSite) -> None:
    begin(site, "cut", "own")
    shrink(site)
    nodes = transient(site)
    site.until("orders", lambda: any("fawkes-order" in site.on(node, ORDERS) for node in nodes))
    site.kill()
    assert not went(site, "cut")
    site.until("tasks to leave by themselves", lambda: not any(running(site, "cut")[node] for node in nodes))
    site.run()
    until_gone(site)

    grow_again(site, "cut")
    now = shrink(site)
    site.until("an answer", lambda: went(site, "cut", now))
    site.kill()
    assert transient(site)
    site.run()
    until_gone(site)
    assert {reason.facts["how"] for reason in went(site, "cut")} == {"saved"}, site.story()
    finish(site, "cut")
    assert fresh(site, "cut") == dict.fromkeys(range(TASKS), 1)
    resumed = sorted(index for index, first in starts(site, "cut") if first > 0)
    assert resumed == sorted(int(str(reason.facts["index"])) for reason in went(site, "cut"))
    site.fawkes("verify")


def test_tasks_whose_images_are_damaged_begin_again_and_the_images_go(site: RealSite, tmp_path: Path) -> None:
    begin(site, "hurt", "criu")
    shrink(site)
    until_gone(site)
    saved = images(site, "hurt")
    shorter, other, version, block = sorted(saved)[:4]
    paths = [saved[index][0] for index in (shorter, other, version)]
    in_shell(site, *(f"hdfs dfs -get {path} {tmp_path}/{number}" for number, path in enumerate(paths)))
    whole = [(tmp_path / str(number)).read_bytes() for number in range(3)]
    middle = len(whole[1]) // 2
    whole[0] = whole[0][: len(whole[0]) // 2]
    whole[1] = whole[1][:middle] + bytes(4096) + whole[1][middle + 4096 :]
    whole[2] = of_another_criu(whole[2])
    for number, content in enumerate(whole):
        (tmp_path / str(number)).write_bytes(content)
    container = paths[2].rsplit("/", 1)[1].split("-")[0]
    renamed = f"{os.path.dirname(paths[2])}/{container}-{len(whole[2])}-{hashlib.sha256(whole[2]).hexdigest()}"
    in_shell(
        site,
        f"hdfs dfs -put -f {tmp_path}/0 {paths[0]}",
        f"hdfs dfs -put -f {tmp_path}/1 {paths[1]}",
        f"hdfs dfs -rm -skipTrash {paths[2]}",
        f"hdfs dfs -put {tmp_path}/2 {renamed}",
    )
    size, digest = saved[block][0].split("-")[-2:]
    blocks = f"find /srv/fawkes -name 'blk_*' -size {size}c -exec sha256sum {{}} + | grep '^{digest}' | cut -c 67-"
    for host in site.hosts:
        for file in site.on(host, f"{blocks} || :").split():
            site.on(host, f"printf spoilt | dd of={file} bs=1 seek={int(size) // 2} conv=notrunc 2>&1")
    site.fawkes("unhold", "t")
    expected = dict.fromkeys(range(TASKS), 1) | dict.fromkeys((shorter, other, version, block), 2)
    site.until("them to begin again", lambda: fresh(site, "hurt") == expected)
    # Of the last one HDFS might have another replica somewhere.
    assert {shorter, other, version, block} & set(images(site, "hurt")) == {block}
    finish(site, "hurt")
    assert fresh(site, "hurt") == expected


def of_another_criu(image: bytes) -> bytes:
    """A whole image that says that another version of CRIU has made it."""
    made = io.BytesIO()
    with tarfile.open(fileobj=io.BytesIO(image)) as old, tarfile.open(fileobj=made, mode="w") as new:
        for entry in old:
            file = old.extractfile(entry) if entry.isreg() else None
            content = file.read() if file is not None else b""
            if entry.name.endswith("/about"):
                content = content.replace(b"4.1.1", b"4.1.9")
            new.addfile(entry, io.BytesIO(content))
    return made.getvalue()


def test_tasks_that_hdfs_has_no_room_for_begin_again_and_their_nodes_go_in_time(site: RealSite) -> None:
    begin(site, "full", "criu")
    in_shell(site, "hdfs dfs -mkdir -p /out/full/_saved", "hdfs dfsadmin -setSpaceQuota 1 /out/full/_saved")
    now = shrink(site)
    until_gone(site)
    rows = went(site, "full", now)
    assert rows
    # What YARN ends when the time is up says nothing any more.
    assert {reason.facts["how"] for reason in rows} == {"killed"}
    assert "quota of /out/full/_saved is exceeded" in site.fawkes("explain", "--job", "full")
    in_shell(site, "hdfs dfsadmin -clrSpaceQuota /out/full/_saved")
    site.fawkes("unhold", "t")
    finish(site, "full")
    counts = Counter(int(str(reason.facts["index"])) for reason in rows)
    assert fresh(site, "full") == {index: 1 + counts[index] for index in range(TASKS)}


def test_tasks_of_a_host_without_power_go_on_from_their_earlier_image(site: RealSite) -> None:
    begin(site, "dark", "own")
    shrink(site)
    until_gone(site)
    earlier = set(images(site, "dark"))
    assert earlier
    grow_again(site, "dark")
    now = shrink(site)
    (node, *_) = site.until(
        "orders", lambda: [str(r.facts["node"]) for r in site.ledger.reasons("task-must-go", after=now)]
    )
    site.lab.kill(node)
    dark = {
        int(str(r.facts["index"])) for r in site.ledger.reasons("task-must-go", after=now) if r.facts["node"] == node
    }
    site.until("the loss", lambda: site.node(node).life == "lost" or node not in transient(site))
    site.lab.start(node)
    until_gone(site)
    grow_again(site, "dark")
    finish(site, "dark")
    unsaved = {int(str(r.facts["index"])) for r in went(site, "dark", now) if r.facts["how"] != "saved"}
    assert dark <= unsaved
    again = {index for index, count in fresh(site, "dark").items() if count > 1}
    assert again == unsaved - earlier


def unfinished(paths: Iterable[str]) -> list[str]:
    """The paths of files that end with their job: what tasks have saved, and output that was not committed."""
    return [path for path in paths if {"_saved", "_temporary"} & set(path.split("/"))]


def test_nothing_is_left_on_hosts_or_in_hdfs(site: RealSite) -> None:
    assert unfinished(["/out/mixed-own/1/numbers", "/out/cut/_saved/1/a-9-b"]) == ["/out/cut/_saved/1/a-9-b"]
    assert unfinished(site.hdfs("t", "sizes", "/out")) == []
    site.fawkes("down", "--yes")
    assert site.ended() == 0
    assert site.ledger.clusters["t"].life is ClusterLife.GONE
    assert {host: site.on(host, LEFT) for host in site.hosts} == dict.fromkeys(site.hosts, "")
    after = site.files()
    changed = [row for host, before in site.bare.items() for row in after[host] ^ before]
    assert [row for row in changed if not row.endswith(" /srv/fawkes") and "/tmp/seen" not in row] == []
