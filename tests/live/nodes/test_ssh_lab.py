"""The SSH layer on hosts of their own: real sshd, real login shells, power failures, cut cables."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest

from fawkes.live.lab import Lab, LabSpec, up
from fawkes.live.nodes.ssh import ConnectionState
from playbooks import node as book
from tests.support.waiting import wait_for

pytestmark = pytest.mark.lab

NODES = ["node01", "node02", "node03"]
GOOD = {"exit": 0, "stdout": "fine\n", "stderr": ""}
#: a connection that a host opens for us: the first word of its sshd, the answer to garbage, a port where nobody listens
OPENED = {"said": "SSH-2.0-", "rest": "Invalid SSH identification string.", "nobody": "NotTakenError"}
LIMIT_S = 30.0


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    site = tmp_path_factory.mktemp("ssh") / "lab"
    with up(LabSpec(hosts=3, site=site, nodemanager_memory_bytes=64_000_000)) as lab:
        yield lab


class Controller:
    """A Fleet in a process on the controller's side of the lab."""

    def __init__(self, lab: Lab, *arguments: Path) -> None:
        script = Path(__file__).parents[1] / "lab_fleet.py"
        command: list[str | Path] = [sys.executable, "-P", script, lab.site, *arguments]
        self._process = lab.popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdin
        assert self._process.stdout
        self._to, self._from = self._process.stdin, self._process.stdout

    def tell(self, **order: Any) -> dict[str, dict[str, Any]]:
        self._to.write(json.dumps(order) + "\n")
        self._to.flush()
        answer: dict[str, dict[str, Any]] = json.loads(self._from.readline())
        return answer

    def run(self, script: str, *nodes: str, deadline_s: float = 20) -> dict[str, dict[str, Any]]:
        return self.tell(script=script, nodes=nodes or NODES, deadline_s=deadline_s)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._to.close()
        assert self._process.wait(LIMIT_S) == 0
        self._from.close()


@pytest.fixture
def controller(lab: Lab) -> Iterator[Controller]:
    with Controller(lab) as controller:
        yield controller


def good(controller: Controller) -> None:
    assert controller.run("echo fine") == dict.fromkeys(NODES, GOOD)


def test_all_hosts_at_once_by_their_own_names(controller: Controller) -> None:
    answers = controller.run("hostname; echo noise >&2; exit 3")
    assert answers == {node: {"exit": 3, "stdout": f"{node}\n", "stderr": "noise\n"} for node in NODES}


def test_a_login_shell_that_talks_does_not_mix_in(controller: Controller) -> None:
    controller.run("echo 'echo hello from bashrc; echo oops >&2' >~/.bashrc", "node01")
    controller.tell(drop="node01")
    try:
        assert controller.run("echo fine", "node01") == {"node01": GOOD}
    finally:
        controller.run("rm ~/.bashrc", "node01")


def test_a_connection_that_a_host_opens_for_us(controller: Controller) -> None:
    assert controller.tell(connect="node01") == {"node01": OPENED}


def test_at_the_deadline_the_process_group_is_ended_there(controller: Controller) -> None:
    late = controller.run("sleep 60 & sleep 60", "node02", deadline_s=0.5)["node02"]
    assert late["state"] == ConnectionState.TIMED_OUT
    left = "ps -e | grep -c '[s]leep'"
    wait_for(lambda: controller.run(left, "node02")["node02"]["stdout"] == "0\n", "the end of its processes")


def test_a_process_of_a_script_outlives_the_connection(controller: Controller) -> None:
    said = controller.run(book.linger().text, "node01")["node01"]["stdout"]
    facts = dict(line[1:].split("=") for line in said.splitlines())
    controller.tell(drop="node01")
    look = book.lingers(int(facts["pid"]), int(facts["since"]))
    assert controller.run(look.text, "node01")["node01"]["stdout"] == "@lingers=yes\n"


def test_a_paused_host_fails_alone_and_comes_back(lab: Lab, controller: Controller) -> None:
    good(controller)
    lab.pause("node02")
    try:
        answers = controller.run("echo fine", deadline_s=8)
    finally:
        lab.resume("node02")
    assert answers.pop("node02")["state"] == ConnectionState.NO_ANSWER
    assert answers == {"node01": GOOD, "node03": GOOD}
    good(controller)


def test_a_host_that_was_off_and_on_is_used_again_at_once(lab: Lab, controller: Controller) -> None:
    good(controller)
    lab.kill("node03")
    lab.start("node03")
    good(controller)


def test_a_host_that_is_off_refuses_or_does_not_answer(lab: Lab, controller: Controller) -> None:
    lab.kill("node03")
    try:
        answer = controller.run("echo fine", "node03")["node03"]
    finally:
        lab.start("node03")
    assert answer["state"] in (ConnectionState.NO_ANSWER, ConnectionState.REFUSED)
    assert answer["error"].startswith("node03: ")


def test_a_cut_cable_ends_the_waiting_and_a_mended_one_serves_again(lab: Lab, controller: Controller) -> None:
    good(controller)
    lab.cut("node01")
    try:
        cut = controller.run("echo fine", "node01", deadline_s=5)["node01"]
        again = controller.run("echo fine", "node01", deadline_s=5)["node01"]
    finally:
        lab.mend("node01")
    assert {cut["state"], again["state"]} == {ConnectionState.NO_ANSWER}
    wait_for(lambda: controller.run("echo fine", "node01")["node01"] == GOOD, "the cable to be whole")
    good(controller)


def test_a_changed_host_key_stops_that_host_alone(lab: Lab, tmp_path: Path) -> None:
    file = tmp_path / "known_hosts"
    lines = (lab.site / "known_hosts").read_text().splitlines()
    keys = {line.split()[0]: line.split()[1:] for line in lines}
    names = list(keys)
    first, other = next(name for name in names if name.endswith(".1")), next(n for n in names if n.endswith(".2"))
    keys[first] = keys[other]
    file.write_text("".join(f"{name} {' '.join(key)}\n" for name, key in keys.items()))
    with Controller(lab, file) as controller:
        answers = controller.run("touch /srv/touched; echo fine")
    stopped = answers.pop("node01")
    assert stopped["state"] == ConnectionState.KEY_CHANGED
    assert f"{file} has" in stopped["error"]
    assert answers == {"node02": GOOD, "node03": GOOD}
    with Controller(lab) as controller:
        assert controller.run("ls /srv/touched", "node01")["node01"]["exit"] != 0
