"""Tasks that have to go, by the scripts that nodes get and the script of a container, with a stub for Java."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from fawkes.base.errors import UserError
from fawkes.playbook import Exit, Lease
from fawkes.playbook.dist.compile.compiled import TASKS
from playbooks import tasks
from tests.playbooks.conftest import ok, sh
from tests.support.programs import program
from tests.support.waiting import wait_for

ONE = "container_1700000000000_0001_01_000002"
OTHER = "container_1700000000000_0001_01_000003"
LIMIT_S = 30.0
#: notes what it was asked; ``load`` brings what ``image`` has, if that is there
JAVA = """
while case $1 in -*) ;; *) false ;; esac; do shift; done
echo "$@" >>calls
[ ! -e ../slow ] || sleep 1000
no() { printf 'Exception in thread "main" a.B: no room\n\tat a.B.main(B.java:1)\n\t... 4 more\n' >&2; exit $1; }
[ "$2" != load ] || { [ -e ../image ] && cp ../image fawkes-image; } || no ${NO_IMAGE:-3}
[ "$2" = load ] || [ ! -e ../full ] || no 1
[ "$2" != save ] || cp fawkes-image ../image
"""
#: a CRIU that runs, and dumps only where it may
CRIU = """
case $1 in
    run) cd "$2"; exec sh "./$4" ;;
    dump) [ -e "$2/../../may" ] || { echo "CRIU cannot dump it: a socket" >&2; exit 1; } ;;
esac
"""
#: counts until it is told to save what it has
COUNT = """
n=$(cat "$FAWKES_CHECKPOINT/n" 2>/dev/null || echo 0)
trap 'echo $n >"$FAWKES_CHECKPOINT/n"; exit 85' USR1
while [ ! -e ../stop ]; do n=$((n + 1)); echo $n >>../numbers; sleep 0.01; done
"""


class Container:
    """The folder and the processes of a container, as YARN makes them."""

    def __init__(self, lease: Lease, app: Path, name: str, command: str, **env: str) -> None:
        self.name, self.app, self.folder = name, app, app / name
        self.folder.mkdir(parents=True, exist_ok=True)
        (app / f"{name}.command").write_text(command)
        for file, place in (
            ("fawkes-task", TASKS.sources / "fawkes-task"),
            ("fawkes-command", app / f"{name}.command"),
        ):
            (self.folder / file).symlink_to(place)
        program(app / "java/bin/java", JAVA)
        own = {
            "JAVA_HOME": str(app / "java"),
            "CONTAINER_ID": name,
            "FAWKES_JOB": "count",
            "FAWKES_TASK_INDEX": "7",
            "FAWKES_TASK_COUNT": "8",
            "FAWKES_TASK_KILLS": "2",
            "FAWKES_TASK_SAVES": "yes",
            "FAWKES_TASK_SAVED": "",
        }
        self.process = subprocess.Popen(
            ["/bin/sh", "./fawkes-task"],
            cwd=self.folder,
            env={**os.environ, **lease.marks("nodemanager"), **own, **env},
            start_new_session=True,
            stderr=subprocess.PIPE,
            text=True,
        )

    def end(self) -> tuple[int, str]:
        """The exit code, and what it said."""
        said = self.process.communicate(timeout=LIMIT_S)[1]
        return self.process.returncode, said

    @property
    def calls(self) -> list[str]:
        file = self.folder / "calls"
        return file.read_text().splitlines() if file.exists() else []

    def kill(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.communicate()


Start = Callable[..., Container]


@pytest.fixture
def app(lease: Lease) -> Path:
    """The folder of an application on the node."""
    return Path(str(lease.folders.nm_local)) / "usercache/somebody/appcache/application_1_1"


@pytest.fixture
def start(lease: Lease, app: Path) -> Iterator[Start]:
    begun: list[Container] = []

    def start_one(command: str, name: str = ONE, **env: str) -> Container:
        begun.append(Container(lease, app, name, command, **env))
        return begun[-1]

    yield start_one
    for container in begun:
        container.kill()


def numbers(app: Path) -> list[int]:
    file = app / "numbers"
    return [int(line) for line in file.read_text().split()] if file.exists() else []


def went(lease: Lease, name: str = ONE) -> list[str]:
    return ok(tasks.went(lease, [name]))[f"went.{name}"].split()


def preempt(lease: Lease, save: bool, name: str = ONE) -> str:
    return ok(tasks.preempt(lease, {name: save}, within_s=60))[f"told.{name}"]


def test_a_task_is_seen_with_its_time_and_memory(lease: Lease, start: Start, app: Path) -> None:
    assert dict(ok(tasks.look(lease))) == {"looked": "yes"}
    start(f"trap : USR1; {COUNT}")
    wait_for(lambda: bool(numbers(app)), "the first number")
    facts = ok(tasks.look(lease))
    job, index, kills, ran, size = facts[f"task.{ONE}"].split()
    assert (job, index, kills) == ("count", "7", "2")
    assert 0 <= int(ran) < LIMIT_S * 100
    assert int(size) > 100_000


def test_a_claim_tells_the_applications_on_a_node_that_a_more_important_job_waits(lease: Lease, app: Path) -> None:
    assert dict(ok(tasks.look(lease, hold=(5, 40.0)))) == {"looked": "yes"}
    app.mkdir(parents=True)
    before_s = int(time.time())
    ok(tasks.look(lease, hold=(5, 40.0)))
    priority, until_s = map(int, (app / "fawkes-hold").read_text().split())
    assert priority == 5
    assert before_s + 40 <= until_s <= time.time() + 40
    ok(tasks.look(lease))
    assert [each.name for each in app.iterdir()] == ["fawkes-hold"]


def test_a_task_of_a_job_that_cannot_be_saved_is_not_seen(lease: Lease, start: Start, app: Path) -> None:
    start(COUNT, FAWKES_TASK_SAVES="")
    wait_for(lambda: bool(numbers(app)), "the first number")
    assert dict(ok(tasks.look(lease))) == {"looked": "yes"}


def test_a_task_that_is_saved_goes_on_behind_its_last_number(lease: Lease, start: Start, app: Path) -> None:
    app.mkdir(parents=True)
    (app / "count").write_text(COUNT)
    first = start("trap : USR1; sh ../count")
    wait_for(lambda: len(numbers(app)) > 3, "some numbers")
    assert (preempt(lease, True), preempt(lease, True)) == ("yes", "before")
    assert first.end()[0] == 85
    how, took, size = went(lease)
    assert (how, int(size)) == ("saved", (app / "image").stat().st_size)
    assert int(took) < LIMIT_S * 100
    assert first.calls == ["fawkes.tasks.Image save"]

    second = start(COUNT, OTHER, FAWKES_TASK_SAVED="yes")
    before = len(numbers(app))
    wait_for(lambda: len(numbers(app)) > before + 3, "more numbers")
    *_, restored = seen = ok(tasks.look(lease))[f"task.{OTHER}"].split()
    assert len(seen) == 6
    assert 0 <= int(restored) < LIMIT_S * 100
    (app / "stop").touch()
    assert second.end()[0] == 0
    assert second.calls == ["fawkes.tasks.Image load", "fawkes.tasks.Keep"]
    assert numbers(app) == list(range(1, len(numbers(app)) + 1))


@pytest.mark.parametrize(("due", "held", "ended"), [(True, False, True), (True, True, False), (False, False, False)])
def test_an_order_that_was_cut_off_is_followed_once_when_it_is_given_again(
    lease: Lease, start: Start, app: Path, due: bool, held: bool, ended: bool
) -> None:
    """It is due, and nobody is about to follow it; one that an earlier version gave is not due."""
    task = start(f"trap : USR1; {COUNT}")
    wait_for(lambda: bool(numbers(app)), "the first number")
    (task.folder / "fawkes-order").write_text("save 0\n")
    if due:
        (task.folder / "fawkes-due").touch()
    folder = os.open(task.folder, os.O_RDONLY)
    if held:
        fcntl.flock(folder, fcntl.LOCK_EX)
    assert preempt(lease, False) == "before"
    os.close(folder)
    if ended:
        assert (task.end()[0], went(lease)[0]) == (85, "saved")
    assert (went(lease) == ["runs"], (task.folder / "fawkes-due").exists()) == (not ended, held)


def test_an_order_is_followed_although_nobody_listens_any_more(lease: Lease, start: Start, app: Path) -> None:
    task = start(f"trap : USR1; {COUNT}")
    wait_for(lambda: bool(numbers(app)), "the first number")
    read, write = os.pipe()
    os.close(read)
    script = tasks.preempt(lease, {ONE: True}, within_s=60).text.encode()
    done = subprocess.run(["/bin/sh"], input=script, stdout=write, stderr=subprocess.PIPE, check=False)
    os.close(write)
    assert (task.end()[0], went(lease)[0]) == (85, "saved"), done


def test_a_task_that_must_end_is_ended_with_all_that_it_has_started(lease: Lease, start: Start, app: Path) -> None:
    task = start("trap : USR1; sleep 1000 & sleep 1000; :")
    wait_for(lambda: f"task.{ONE}" in ok(tasks.look(lease)), "the task")
    assert preempt(lease, False) == "yes"
    assert task.end()[0] == 84
    assert went(lease)[0] == "killed"
    assert f"task.{ONE}" not in ok(tasks.look(lease))


def test_what_criu_cannot_dump_is_ended_with_its_reason(lease: Lease, start: Start, app: Path) -> None:
    (app / ONE).mkdir(parents=True)
    (app / ONE / "fawkes-criu").write_text(CRIU)
    (app / "program").write_text("exec sleep 1000")
    (app / ONE / "program").symlink_to(app / "program")
    task = start("sh ./program", FAWKES_TASK_SAVES="criu")
    wait_for(lambda: f"task.{ONE}" in ok(tasks.look(lease)), "the task")
    facts = ok(tasks.preempt(lease, {ONE: True}, within_s=60))
    assert (facts[f"told.{ONE}"], facts[f"why.{ONE}"]) == ("yes", "CRIU cannot dump it: a socket")
    assert task.end()[0] == 84
    assert went(lease)[0] == "killed"


def test_a_command_that_does_not_know_the_signal_begins_again(lease: Lease, start: Start) -> None:
    task = start("trap : USR1; sleep 1000")
    wait_for(lambda: f"task.{ONE}" in ok(tasks.look(lease)), "the task")
    preempt(lease, True)
    assert task.end()[0] == 84
    assert went(lease) == ["killed", went(lease)[1], "0"]


def test_what_cannot_be_stored_is_not_called_saved(lease: Lease, start: Start, app: Path) -> None:
    task = start(f"trap : USR1; {COUNT}")
    wait_for(lambda: bool(numbers(app)), "the first number")
    (app / "full").touch()
    preempt(lease, True)
    assert task.end()[0] == 84
    how, _, size, *why = went(lease)
    assert (how, size, " ".join(why)) == ("killed", "0", "no room")
    assert not (app / "image").exists()


@pytest.mark.parametrize(
    ("trouble", "code", "how"),
    [("none", 0, "ended"), ("full", 84, "killed"), ("slow", None, "runs")],
)
def test_a_task_that_ends_well_although_it_had_to_go_is_done_when_its_results_are_kept(
    lease: Lease, start: Start, app: Path, trouble: str, code: int | None, how: str
) -> None:
    task = start("trap 'exit 0' USR1; touch ../runs; while :; do sleep 0.01; done")
    wait_for(lambda: (app / "runs").exists(), "the command")
    (app / trouble).touch()
    preempt(lease, True)
    wait_for(lambda: task.calls == ["fawkes.tasks.Keep"], "the last step")
    assert code is None or task.end()[0] == code
    assert went(lease)[0] == how
    assert (went(lease)[3:] == ["its", "results", "were", "not", "kept:", "no", "room"]) == (trouble == "full")


def test_results_that_are_not_kept_are_the_last_words_of_a_failure(start: Start, app: Path) -> None:
    app.mkdir(parents=True)
    (app / "full").touch()
    code, said = start(":").end()
    assert (code, said) == (1, "the command ended with 0, but its results were not kept: no room\n")


@pytest.mark.parametrize("code", [83, 84, 85])
def test_the_codes_of_tasks_that_had_to_go_are_failures_of_others(start: Start, code: int) -> None:
    ended, said = start(f"exit {code}").end()
    assert ended == 1
    assert f"it ended with {code}" in said


@pytest.mark.parametrize("saved", ["", "yes"])
def test_other_codes_and_the_last_words_are_those_of_the_command(start: Start, app: Path, saved: str) -> None:
    """The words about an image that is gone are no reason of a failure; the command begins again."""
    assert start("echo it failed >&2; exit 7", FAWKES_TASK_SAVED=saved).end() == (7, "it failed\n")


@pytest.mark.parametrize(("code", "calls"), [(86, ["load", "drop"]), (87, ["load", "leave"])])
def test_an_image_that_cannot_be_used_goes_and_the_task_begins_again(
    start: Start, app: Path, code: int, calls: list[str]
) -> None:
    """One that only this node could not restore stays for others."""
    (app / ONE).mkdir(parents=True)
    (app / ONE / "fawkes-criu").write_text(f'[ "$1" != resume ] || exit {code}; cd "$2"; exec sh "./$4"')
    (app / "empty").mkdir()
    subprocess.run(["tar", "-cf", str(app / "image"), "-C", str(app), "empty"], check=True)
    (app / "program").write_text("exit 0")
    (app / ONE / "program").symlink_to(app / "program")
    task = start("sh ./program", FAWKES_TASK_SAVES="criu", FAWKES_TASK_SAVED="yes")
    assert task.end()[0] == 0
    assert task.calls == [*(f"fawkes.tasks.Image {call}" for call in calls), "fawkes.tasks.Keep"]


@pytest.mark.parametrize("trouble", ["1", "255"])
def test_an_image_that_hdfs_does_not_give_is_not_given_up(start: Start, app: Path, trouble: str) -> None:
    task = start("touch ../began", FAWKES_TASK_SAVED="yes", NO_IMAGE=trouble)
    assert task.end() == (83, "what was saved of it cannot be read: no room\n")
    assert not (app / "began").exists()


def test_an_image_that_finds_no_room_on_the_node_is_not_given_up(start: Start, app: Path) -> None:
    app.mkdir(parents=True)
    (app / "image").write_text("this is no archive")
    code, said = start("touch ../began", FAWKES_TASK_SAVED="yes").end()
    assert (code, said.startswith("what was saved of it cannot be read: ")) == (83, True)
    assert not (app / "began").exists()


def test_who_runs_and_who_is_gone_are_told_apart(lease: Lease, start: Start, app: Path) -> None:
    start(COUNT)
    wait_for(lambda: bool(numbers(app)), "the first number")
    assert (went(lease), went(lease, OTHER)) == (["runs"], ["gone"])
    assert preempt(lease, True, OTHER) == "gone"


def test_one_that_answers_and_goes_during_the_look_is_not_gone(lease: Lease, app: Path) -> None:
    """YARN takes its folder away right after its answer: whoever looks for the answer first can miss both."""
    app.mkdir(parents=True)
    leaves = """folder_of() {
        for app in "$homes"/*/appcache/*; do
            mkdir -p "$app/fawkes-answers" && echo saved 7 11 >"$app/fawkes-answers/$1"
        done
        return 1
    }
    """
    facts = ok(tasks._as_owner(lease, f"{leaves}went 0 {ONE}"))
    assert facts[f"went.{ONE}"] == "saved 7 11"


def test_a_newer_controller_shuts_out_an_older_one(lease: Lease, start: Start, app: Path) -> None:
    start(COUNT)
    wait_for(lambda: bool(numbers(app)), "the first number")
    stale = replace(lease, epoch=lease.epoch - 1)
    done = sh(tasks.preempt(stale, {ONE: True}, within_s=1))
    assert done.exit == Exit.FENCED
    assert not (app / ONE / "fawkes-order").exists()


@pytest.mark.parametrize("name", ["", "container_1; rm -rf /", "../x", "container_1/../../x"])
def test_only_containers_are_told_anything(lease: Lease, name: str) -> None:
    with pytest.raises(UserError, match="is not the id of a container"):
        tasks.preempt(lease, {name: True}, within_s=1)
    with pytest.raises(UserError, match="is not the id of a container"):
        tasks.went(lease, [name])
