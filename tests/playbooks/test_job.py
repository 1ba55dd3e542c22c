from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from fawkes.base.errors import UserError
from fawkes.playbook import Facts, Lease, Secret
from playbooks import job
from tests.playbooks.conftest import ok, sh
from tests.support.waiting import wait_for


def look(lease: Lease, name: str = "wordcount") -> Facts:
    return ok(job.look(lease.folders, name, 1))


def until(lease: Lease, wanted: Callable[[Facts], bool]) -> Facts:
    return wait_for(lambda: facts if wanted(facts := look(lease)) else None)


def finished(facts: Facts) -> bool:
    return facts["state"] == "finished"


def run(lease: Lease, script: str, *words: str) -> Facts:
    return ok(job.start(lease, "wordcount", 1, ["/bin/sh", "-c", script, "job", *words]))


def file(lease: Lease, name: str) -> Path:
    return Path(lease.folders.jobs, "wordcount.1", name)


def test_a_job_runs_and_leaves_its_result(lease: Lease) -> None:
    run(lease, 'echo "$1"; echo running application_1_0002 >&2; exit 3', "a  b$c")
    facts = until(lease, finished)
    assert facts["exit"] == "3"
    assert 0 <= int(facts["ended_us"]) - int(facts["began_us"]) < 20_000_000
    assert file(lease, "stdout").read_text() == "a  b$c\n"
    assert ok(job.said(lease.folders, "wordcount", 1)) == {"said": "a  b$c"}
    assert "application_1_0002" in sh(job.look(lease.folders, "wordcount", 1)).stderr


def test_looking_at_a_job_that_runs_starts_no_program(lease: Lease) -> None:
    """Each is looked at every second."""
    run(lease, "sleep 60")
    ran = sh(job.look(lease.folders, "wordcount", 1), path="")
    assert (ran.exit, ran.facts["state"], ran.stderr) == (0, "running", "")
    ok(job.cancel(lease, "wordcount", 1))


@pytest.mark.slow
def test_starting_again_starts_nothing(lease: Lease) -> None:
    count = file(lease, "../count")
    script = 'echo x >>"$1"; sleep 60'
    assert run(lease, script, str(count))["started"] == "yes"
    again = run(lease, script, str(count))
    assert (again["started"], again["state"]) == ("no", "running")
    ok(job.cancel(lease, "wordcount", 1))
    assert run(lease, script, str(count))["state"] == "finished"
    assert count.read_text() == "x\n"


def test_many_starts_at_once_run_it_once(lease: Lease) -> None:
    count = file(lease, "../count")
    script = job.start(lease, "wordcount", 1, ["/bin/sh", "-c", 'echo x >>"$0"', str(count)]).text
    starts = [subprocess.Popen(["/bin/sh", "-c", script], stdout=subprocess.DEVNULL) for _ in range(5)]
    assert [start.wait(timeout=60) for start in starts] == [0] * 5
    until(lease, finished)
    assert count.read_text() == "x\n"


def test_a_launcher_that_died_is_lost_and_not_started_again(lease: Lease) -> None:
    pid = run(lease, "sleep 60")["pid"]
    os.killpg(int(pid), signal.SIGKILL)
    until(lease, lambda facts: facts["state"] == "lost")
    assert run(lease, "sleep 60")["state"] == "lost"


def test_a_start_that_was_cut_off_before_the_launcher_can_be_repeated(lease: Lease) -> None:
    file(lease, "").mkdir(parents=True)
    assert look(lease)["state"] == "unborn"
    assert run(lease, "exit 0")["started"] == "yes"
    assert until(lease, finished)["exit"] == "0"


@pytest.mark.slow
def test_cancel_ends_the_command_and_the_result_tells(lease: Lease) -> None:
    run(lease, "sleep 60")
    facts = ok(job.cancel(lease, "wordcount", 1))
    assert (facts["state"], facts["exit"], facts["cancelled"]) == ("finished", "143", "yes")


@pytest.mark.slow
def test_cancel_kills_what_ignores_it_and_still_leaves_a_result(lease: Lease) -> None:
    run(lease, "trap '' TERM; echo ready; while :; do sleep 1; done")
    until(lease, lambda _: file(lease, "stdout").read_text() == "ready\n")
    facts = ok(job.cancel(lease, "wordcount", 1, grace_s=0.2))
    assert (facts["state"], facts["exit"]) == ("finished", "137")


def test_what_is_cancelled_before_it_began_never_begins(lease: Lease) -> None:
    file(lease, "").mkdir(parents=True)
    assert ok(job.cancel(lease, "wordcount", 1))["state"] == "finished"
    assert run(lease, "exit 0")["started"] == "no"


def test_environment_is_the_given_one_and_secrets_stay_private(lease: Lease, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HADOOP_USER_NAME", "mallory")
    # With it Java takes one letter of a path for another, and two outputs for one.
    monkeypatch.setenv("LANG", "C")
    script = job.start(
        lease, "wordcount", 1, ["/usr/bin/env"], env={"HADOOP_CONF_DIR": "/a 'b'", "TOKEN": Secret("s3cret")}
    )
    assert "s3cret" not in script.masked
    ok(script)
    until(lease, finished)
    env = file(lease, "stdout").read_text().splitlines()
    assert {"HADOOP_CONF_DIR=/a 'b'", "TOKEN=s3cret", "LANG=C.UTF-8", f"FAWKES_POOL={lease.pool}"} <= set(env)
    assert not any(line.startswith("HADOOP_USER_NAME") for line in env)
    assert file(lease, "env").stat().st_mode & 0o077 == 0


def test_a_job_that_does_not_exist_is_absent(lease: Lease) -> None:
    assert look(lease, "nothing")["state"] == "absent"
    assert ok(job.cancel(lease, "nothing", 1))["state"] == "absent"


def test_a_name_that_is_no_file_name_is_refused(lease: Lease) -> None:
    with pytest.raises(UserError, match="no valid name"):
        job.start(lease, "../x", 1, ["true"])


LAUNCHERS = ("result", "begun", "pid", "env", "command", "cancelled", "stdout", "stderr", "launcher.log", "conf")


@pytest.mark.slow
def test_files_of_the_user_may_have_the_names_of_the_launchers(lease: Lease) -> None:
    files = Path(job.files_folder(lease.folders, "wordcount", 1))
    assert files.parent == file(lease, "result").parent
    files.mkdir(parents=True)
    for name in LAUNCHERS:
        (files / name).write_text("exit=0\nbegan_us=1\nended_us=2\n")
    assert look(lease)["state"] == "unborn"
    assert run(lease, "cat result; pwd; echo $FAWKES_JOB_DIR; sleep 60; true")["state"] == "running"
    facts = ok(job.cancel(lease, "wordcount", 1))
    assert (facts["state"], facts["exit"]) == ("finished", "143")
    assert file(lease, "stdout").read_text() == f"exit=0\nbegan_us=1\nended_us=2\n{files}\n{files}\n"
    assert sorted(path.name for path in files.iterdir()) == sorted(LAUNCHERS)


@pytest.mark.slow
def test_a_job_may_write_files_with_the_names_of_the_launchers(lease: Lease) -> None:
    script = "for name in " + " ".join(LAUNCHERS) + "; do echo exit=0 >$name; done; echo ready >&2; sleep 60"
    run(lease, script)
    until(lease, lambda _: file(lease, "stderr").read_text() == "ready\n")
    assert look(lease)["state"] == "running"
    assert ok(job.cancel(lease, "wordcount", 1))["exit"] == "143"


def test_a_file_that_came_before_the_attempt_was_begun_is_no_result(lease: Lease) -> None:
    """Older versions had the user's files in the launcher's folder."""
    file(lease, "").mkdir(parents=True)
    file(lease, "result").write_text("exit=0\n")
    assert look(lease)["state"] == "unborn"
    assert run(lease, "exit 4")["started"] == "yes"
    assert until(lease, finished)["exit"] == "4"
    assert "cancelled" not in look(lease)


#: what the version before had as its launcher, when it was begun in the attempt's folder itself
OLDER = r"""
cd "$0" && mkdir begun || exit 1
since() { shift 19; echo "$1"; }
read -r boot </proc/sys/kernel/random/boot_id && read -r line </proc/$$/stat
echo "$$ $(since ${line##*) }) $boot" >pid
trap : TERM
( exec sleep 60 ) </dev/null >stdout 2>stderr &
child=$!
while :; do wait $child; code=$?; kill -0 $child 2>/dev/null || break; done
printf "exit=%s\nbegan_us=1\nended_us=2\n" "$code" >result
"""


@pytest.mark.slow
def test_an_attempt_that_an_older_version_began_is_found_and_cancelled_and_not_begun_twice(lease: Lease) -> None:
    file(lease, "").mkdir(parents=True)
    subprocess.Popen(
        ["/bin/sh", "-c", OLDER, str(file(lease, ""))],
        start_new_session=True,
        env={**os.environ, **lease.marks("job"), "FAWKES_JOB": "wordcount.1"},
    )
    until(lease, lambda facts: facts["state"] == "running")
    assert run(lease, "exit 0")["started"] == "no"
    facts = ok(job.cancel(lease, "wordcount", 1))
    assert (facts["state"], facts["exit"], facts["cancelled"]) == ("finished", "143", "yes")


def test_a_look_tells_the_boot_of_the_node(lease: Lease) -> None:
    assert look(lease)["boot"] == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
