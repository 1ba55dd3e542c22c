"""Power failures, pauses, cut cables."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fawkes.base.errors import ExitStatus, UserError
from fawkes.live.lab import Lab
from tests.live.lab.support import fawkes, on_host, output_of, states_by_host
from tests.support.waiting import wait_for

pytestmark = pytest.mark.lab

UNREACHABLE = 255


def state(lab: Lab, host: str) -> tuple[str, str]:
    return next((row.state, row.network) for row in lab.status() if row.host == host)


def states_of_sleepers(lab: Lab) -> list[str]:
    """The states of all `sleep 1234` in the lab, as its outer side sees them."""
    script = (
        "for p in /proc/[0-9]*; do tr '\\0' ' ' < $p/cmdline | grep -q '^sleep 1234 ' && cut -d ' ' -f 3 $p/stat; done"
    )
    return lab.exec(["sh", "-c", script]).stdout.split()


def start_sleeper(lab: Lab, host: str) -> str:
    pid = output_of(lab, host, "setsid sleep 1234 </dev/null >/dev/null 2>&1 & echo $!")
    wait_for(lambda: states_of_sleepers(lab) == ["S"], "the process to sleep")
    return pid


def test_a_power_failure_ends_all_processes_and_keeps_the_disks(lab: Lab) -> None:
    start_sleeper(lab, "node02")
    output_of(lab, "node02", "echo kept | tee /srv/f > ~/f")
    assert lab.kill("node02").state == "off"
    assert states_of_sleepers(lab) == []
    assert on_host(lab, "node02", "true", connect_s=1).returncode == UNREACHABLE
    assert output_of(lab, "node01", "hostname") == "node01"
    assert lab.kill("node02").state == "off"  # twice is once
    # the controller's side does not take over the hardware address of another host
    assert "02:00:0a:62:00:01" in output_of(lab, "node01", "grep 10.98.0.1 /proc/net/arp")
    assert lab.start("node02").state == "on"
    assert output_of(lab, "node02", "cat /srv/f ~/f; hostname") == "kept\nkept\nnode02"
    assert lab.start("node02").state == "on"


@pytest.mark.nightly
def test_a_host_whose_first_process_ends_is_off_and_can_be_started(lab: Lab) -> None:
    kill_first = "for p in /proc/[0-9]*; do grep -qs '^NSpid:.*[[:space:]]1$' $p/status && echo ${p#/proc/}; done"
    firsts = lab.exec(["sh", "-c", kill_first]).stdout.split()[1:]  # without the warden
    assert len(firsts) == 3
    lab.exec(["kill", "-9", *firsts], check=True)
    wait_for(lambda: {row.state for row in lab.status()} == {"off"}, "all hosts to be off")
    for host in ("node01", "node02", "node03"):
        assert lab.start(host).state == "on"
        assert output_of(lab, host, "hostname") == host


def test_a_paused_host_does_nothing_until_it_goes_on(lab: Lab) -> None:
    pid = start_sleeper(lab, "node02")
    try:
        assert lab.pause("node02").state == "paused"
        assert states_of_sleepers(lab) == ["T"]
        assert on_host(lab, "node02", "true", connect_s=1).returncode == UNREACHABLE
        assert output_of(lab, "node01", "hostname") == "node01"
        assert lab.pause("node02").state == "paused"
    finally:
        assert lab.resume("node02").state == "on"
    wait_for(lambda: states_of_sleepers(lab) == ["S"], "the process to sleep on")
    assert output_of(lab, "node02", f"kill -9 {pid}; hostname") == "node02"


@pytest.mark.nightly
def test_a_host_full_of_forks_is_paused_as_a_whole(lab: Lab) -> None:
    forks = "setsid sh -c 'while :; do (true); date > /srv/now; done' </dev/null >/dev/null 2>&1 & echo $!"
    pid = output_of(lab, "node03", forks)
    lab.pause("node03")
    try:
        paused = [states for states in states_by_host(lab) if "T" in states]
        assert len(paused) == 1
        # D: a parent whose child was stopped between vfork and exec.
        assert paused[0] <= {"T", "Z", "D"}
    finally:
        lab.resume("node03")
    output_of(lab, "node03", f"kill -9 -{pid}")


@pytest.mark.nightly
def test_a_paused_host_can_lose_its_power(lab: Lab) -> None:
    lab.pause("node03")
    assert lab.kill("node03").state == "off"
    assert lab.start("node03").state == "on"
    assert output_of(lab, "node03", "hostname") == "node03"


def test_a_cut_cable_isolates_one_host_whose_processes_go_on(lab: Lab) -> None:
    pid = start_sleeper(lab, "node02")
    assert lab.cut("node02").network == "cut"
    assert on_host(lab, "node02", "true", connect_s=1).returncode == UNREACHABLE
    assert output_of(lab, "node01", "hostname") == "node01"
    assert states_of_sleepers(lab) == ["S"]
    assert lab.mend("node02").network == "ok"
    assert output_of(lab, "node02", f"kill -9 {pid}; hostname") == "node02"


@pytest.mark.nightly
def test_a_cut_cable_stays_cut_over_a_power_failure(lab: Lab) -> None:
    lab.cut("node02")
    lab.kill("node02")
    lab.start("node02")
    assert state(lab, "node02") == ("on", "cut")
    assert on_host(lab, "node02", "true", connect_s=1).returncode == UNREACHABLE
    lab.mend("node02")
    assert output_of(lab, "node02", "hostname") == "node02"


@pytest.mark.parametrize("act", [Lab.pause, Lab.resume])
def test_what_needs_power_is_refused_without(lab: Lab, act: Callable[[Lab, str], object]) -> None:
    lab.kill("node01")
    with pytest.raises(UserError, match=r"node01: this host is off.*lab start node01"):
        act(lab, "node01")
    lab.start("node01")


def test_an_unknown_host_is_refused_and_the_hosts_are_named(lab: Lab) -> None:
    done = fawkes("lab", "kill", "--name", lab.name, "node99")
    assert done.returncode == ExitStatus.USAGE
    assert "no host 'node99'. Its hosts are node[01-03]" in done.stderr
    assert {row.state for row in lab.status()} == {"on"}


@pytest.mark.nightly
def test_the_command_line_does_the_same(lab: Lab) -> None:
    for verb, answer in [
        ("kill", "node01: off, network ok"),
        ("start", "node01: on, network ok"),
        ("pause", "node01: paused, network ok"),
        ("resume", "node01: on, network ok"),
        ("cut", "node01: on, network cut"),
        ("mend", "node01: on, network ok"),
    ]:
        done = fawkes("lab", verb, "--name", lab.name, "node01")
        assert (done.stdout, done.returncode) == (f"{answer}\n", 0)
