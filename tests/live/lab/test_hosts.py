"""A lab that is up: what its hosts are like, and commands inside."""

from __future__ import annotations

import csv
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fawkes.base.errors import ExitStatus, RefusedError
from fawkes.base.paths import cache_dir
from fawkes.live.lab import Lab, LabSpec, find, up
from tests.live.lab.conftest import OTHERS, SMALL
from tests.live.lab.support import FAWKES, fawkes, on_host, output_of
from tests.support.no_network import Asked
from tests.support.waiting import wait_for

pytestmark = pytest.mark.lab

HOSTS = ["node01", "node02", "node03"]


def test_every_host_is_reached_by_name_with_its_own_key_name_and_processes(lab: Lab) -> None:
    script = Path(__file__).with_name("ssh_into_all.py")
    answers = json.loads(lab.exec([sys.executable, "-P", script, lab.site], check=True).stdout)
    assert sorted(answers["hosts"]) == HOSTS
    for host, (name, user, processes) in answers["hosts"].items():
        assert name == host
        assert user == answers["user"]
        assert int(processes) < 15  # sshd, the session and the commands in it: nobody else's
        assert output_of(lab, host, "cat /srv/by-sftp") == host


@pytest.mark.nightly
def test_sshd_is_the_first_process_and_lets_no_dead_process_stay(lab: Lab) -> None:
    assert output_of(lab, "node01", "tr '\\0' ' ' < /proc/1/cmdline").startswith("sshd: ")
    pid = output_of(lab, "node01", "setsid sleep 1000 </dev/null >/dev/null 2>&1 & echo $!")
    assert "sleep" in output_of(lab, "node01", f"cat /proc/{pid}/cmdline | tr '\\0' ' '")
    output_of(lab, "node01", f"kill -9 {pid}")
    wait_for(lambda: on_host(lab, "node01", f"test -e /proc/{pid}").returncode == 1, "the orphan to be reaped")


def test_folders_are_each_hosts_own_but_for_the_shared_one(lab: Lab) -> None:
    own = "/srv/own /tmp/own /var/tmp/own ~/own /dev/shm/own"
    output_of(lab, "node01", f"touch {own}")
    for each in own.split():
        assert on_host(lab, "node02", f"test -e {each}").returncode == 1
        assert on_host(lab, "node01", f"test -e {each}").returncode == 0
    shared = cache_dir() / "dist" / f".seen-{lab.name}"
    output_of(lab, "node01", f"touch /srv/dist/{shared.name}")
    try:
        assert shared.exists()
        output_of(lab, "node02", f"test -e /srv/dist/{shared.name}")
    finally:
        shared.unlink()


@pytest.mark.parametrize("path", ["/etc/lab", "/usr/lab", "/var/lib/lab", "/opt/lab"])
def test_a_host_cannot_change_the_machine(lab: Lab, path: str) -> None:
    done = on_host(lab, "node01", f"touch {path}")
    assert done.returncode == 1
    assert not Path(path).exists()


def test_hosts_and_controller_know_all_names_and_nothing_else(lab: Lab) -> None:
    names = "getent hosts node03 controller localhost | cut -d ' ' -f 1"
    expected = ["10.98.1.3", "10.98.0.1", "127.0.0.1"]
    assert output_of(lab, "node01", names).split() == expected
    assert lab.exec(["sh", "-c", names]).stdout.split() == expected
    assert on_host(lab, "node01", "getent hosts example.org").returncode == 2


def test_hosts_reach_each_other_and_the_controller_but_no_other_network(lab: Lab) -> None:
    probe = "exec 3<>/dev/tcp/{}/22 && head -c 7 <&3"
    assert output_of(lab, "node01", f"bash -c '{probe.format('node02')}'") == "SSH-2.0"
    assert on_host(lab, "node01", f"bash -c '{probe.format('192.0.2.1')}'").returncode == 1


def test_whatever_asks_for_something_to_be_fetched_inside_fails_its_test(lab: Lab, asked_inside: Asked) -> None:
    """All tests look at what was asked; this one has asked itself."""
    assert subprocess.run(["mvn", "-v"], capture_output=True, check=False).returncode == 0
    assert asked_inside.take() == []
    done = lab.exec(["mvn", "-v"])
    assert (done.returncode, done.stderr) == (1, "[ERROR] there is no network inside a lab\n")
    (line,) = asked_inside.take()
    assert line.startswith("mvn -v, asked by ")


def test_a_terminal_works(lab: Lab) -> None:
    ssh = ["ssh", "-tt", "-F", str(lab.site / "ssh_config"), "node01", "tty"]
    assert lab.exec(ssh, check=True).stdout.strip() == "/dev/pts/0"


def test_a_host_knows_no_password_and_no_other_key(lab: Lab, tmp_path: Path) -> None:
    user = output_of(lab, "node01", "id -un")
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "other"], check=True)
    options = ["-o", "IdentitiesOnly=yes", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=no"]
    known = ["-o", f"UserKnownHostsFile={tmp_path}/known"]
    key = ["-i", str(tmp_path / "other")]
    done = lab.exec(["ssh", "-F", "/dev/null", *options, *known, *key, f"{user}@node01", "true"])
    assert done.returncode == 255
    assert "Permission denied (publickey)" in done.stderr


def test_commands_inside_get_input_and_folder_and_give_output_and_code(lab: Lab, tmp_path: Path) -> None:
    done = lab.exec(["sh", "-c", "cat; pwd; echo $FAWKES_SITE; echo wrong >&2; exit 7"], input="in\n", cwd=tmp_path)
    assert done.stdout.splitlines() == ["in", str(tmp_path), str(lab.site)]
    assert (done.stderr, done.returncode) == ("wrong\n", 7)
    with pytest.raises(subprocess.CalledProcessError):
        lab.exec(["false"], check=True)


def test_the_command_line_passes_input_and_code_on(lab: Lab) -> None:
    def inside(*command: str) -> subprocess.CompletedProcess[str]:
        return fawkes("lab", "exec", "--name", lab.name, "--", *command, stdin="hello\n")

    assert inside("cat").stdout == "hello\n"
    assert inside("sh", "-c", "exit 42").returncode == 42
    assert inside("sh", "-c", "kill -9 $$").returncode == -signal.SIGKILL
    assert inside("sh", "-c", "kill -15 $$").returncode == -signal.SIGTERM
    missing = inside("/no/such/program")
    assert missing.returncode == 127
    assert "/no/such/program: No such file" in missing.stderr


def test_fawkes_itself_is_found_inside(lab: Lab) -> None:
    done = lab.exec(["fawkes", "--version"], env={"PATH": "/usr/bin:/bin"})
    assert done.stdout.startswith("fawkes, version "), done.stderr


def test_signals_reach_the_command_and_a_kill_ends_it(lab: Lab) -> None:
    trap = "trap 'echo caught; exit 3' TERM; echo ready; while :; do sleep 0.05; done"
    with lab.popen(["sh", "-c", trap], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.terminate()
        assert process.stdout.readline() == "caught\n"
    assert process.returncode == 3
    with lab.popen(["sh", "-c", "echo $$; exec sleep 1000"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        inner = process.stdout.readline().strip()
        process.kill()
    wait_for(lambda: lab.exec(["test", "-e", f"/proc/{inner}"]).returncode == 1, "the command to end")


def test_up_again_finds_the_lab_and_another_of_its_name_is_refused(lab: Lab) -> None:
    spec = LabSpec(hosts=3, site=lab.site, nodemanager_memory_bytes=SMALL, users=OTHERS)
    before = (lab.site / "known_hosts").read_bytes()
    again = up(spec)
    assert not again.fresh
    assert again.name == lab.name
    with pytest.raises(RefusedError, match=f"another lab '{lab.name}' is up: 3 hosts.*lab down --name"):
        up(LabSpec(hosts=2, site=lab.site, nodemanager_memory_bytes=SMALL))
    assert (lab.site / "known_hosts").read_bytes() == before
    assert find(site=lab.site).name == find(name=lab.name).name == lab.name


@pytest.mark.nightly
def test_status_in_all_forms(lab: Lab) -> None:
    rows = json.loads(fawkes("lab", "status", "--name", lab.name, "-o", "json").stdout)["rows"]
    assert rows[0] == {"host": "node01", "address": "10.98.1.1", "state": "on", "network": "ok"}
    assert len(rows) == 3
    lines = fawkes("lab", "status", "--site", str(lab.site), "-o", "csv").stdout.splitlines()
    assert list(csv.DictReader(lines)) == rows
    table = fawkes("--site", str(lab.site), "lab", "status").stdout
    assert "node03" in table


@pytest.mark.nightly
def test_two_labs_with_the_same_addresses_do_not_meet(lab: Lab, tmp_path: Path) -> None:
    with up(LabSpec(hosts=2, site=tmp_path / "other", nodemanager_memory_bytes=SMALL)) as other:
        assert other.name != lab.name
        assert output_of(other, "node01", "ls -A ~; ls -A /tmp; ls -A /var/tmp; ls -A /srv") == "dist"
        output_of(lab, "node01", "echo first > /srv/which")
        output_of(other, "node01", "echo second > /srv/which")
        other.kill("node02")
        assert output_of(lab, "node01", "cat /srv/which") == "first"
        assert output_of(lab, "node02", "hostname") == "node02"
    assert output_of(lab, "node01", "cat /srv/which") == "first"


@pytest.mark.nightly
def test_a_lab_is_not_taken_down_from_inside(lab: Lab) -> None:
    done = lab.exec([*FAWKES, "lab", "down", "--name", lab.name])
    assert done.returncode == ExitStatus.REFUSED
    assert "from inside" in done.stderr
    assert lab.exec([*FAWKES, "lab", "status", "--name", lab.name]).returncode == 0
    assert lab.exec([*FAWKES, "lab", "exec", "--name", lab.name, "--", "hostname"]).returncode == 0


@pytest.mark.nightly
def test_limits_of_disk_and_network(tmp_path: Path) -> None:
    spec = LabSpec(
        hosts=1,
        site=tmp_path / "lab",
        nodemanager_memory_bytes=SMALL,
        disk_bytes=8 << 20,
        rate_bytes=2_000_000,
    )
    with up(spec) as lab:
        full = on_host(lab, "node01", "head -c 9000000 /dev/zero > /srv/big")
        assert full.returncode == 1
        assert "No space left" in full.stderr
        output_of(lab, "node01", "rm /srv/big; echo kept > /srv/small")
        lab.kill("node01")
        lab.start("node01")
        assert output_of(lab, "node01", "cat /srv/small") == "kept"
        shapers = (
            "import pyroute2, json; n = pyroute2.IPRoute();"
            "print(json.dumps([[q.get_attr('TCA_KIND'), q.get_nested('TCA_OPTIONS', 'TCA_TBF_PARMS')['rate']]"
            " for q in n.get_qdiscs() if q.get_attr('TCA_KIND') == 'tbf']))"
        )
        assert json.loads(lab.exec([sys.executable, "-c", shapers], check=True).stdout) == [["tbf", 2_000_000]]
    assert "8MB" in (spec.site / "inventory.toml").read_text()
