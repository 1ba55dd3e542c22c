"""The SSH layer against a server in this process; what needs real hosts is in test_ssh_lab.py."""

from __future__ import annotations

import errno
import io
import logging
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePosixPath
from types import SimpleNamespace
from typing import Any

import paramiko
import pytest

from fawkes.base.errors import DeadlineError, ExitStatus, HostError, RefusedError, UserError
from fawkes.live.nodes.fleet import Fleet
from fawkes.live.nodes.lane import LaneBrokenError, run_once
from fawkes.live.nodes.ssh import ConnectionState, HostAddress, Result, SshError
from fawkes.playbook import Lease, Script
from playbooks import lease as leases
from tests.live.sshd import Sshd, new_key, write_key
from tests.support.waiting import wait_for

SHORT = 2.0
AMPLE = 30.0


@pytest.fixture
def known(server: Sshd, tmp_path: Path) -> Path:
    file = tmp_path / "known_hosts"
    file.write_text(f"# ours\n{server.known_line()}")
    return file


@pytest.fixture
def fleet(server: Sshd, key: Path, known: Path) -> Iterator[Fleet]:
    with Fleet({"node01": server.host(key)}, known, connect_s=2) as fleet:
        yield fleet


def failing(fleet: Fleet, script: str = "true", deadline_s: float = AMPLE, node: str = "node01") -> SshError:
    with pytest.raises(SshError) as caught:
        fleet.run(node, Script(script), deadline_s)
    return caught.value


def test_a_script_gives_its_exit_code_and_both_streams(fleet: Fleet) -> None:
    result = fleet.run("node01", Script("echo out; printf err >&2; exit 7"), AMPLE)
    assert (result.node, result.exit, result.stdout, result.stderr) == ("node01", 7, "out\n", "err")


@pytest.mark.slow
def test_connections_and_shells_are_kept(server: Sshd, fleet: Fleet) -> None:
    for number in range(5):
        assert fleet.run("node01", Script(f"x=$((x + 1)); echo $x {number}"), AMPLE).stdout == f"1 {number}\n"
    assert (server.connections, len(server.commands)) == (1, 1)


@pytest.mark.slow
def test_a_brief_script_runs_in_the_kept_shell_and_leaves_nothing_there(server: Sshd, fleet: Fleet) -> None:
    brief = Script(
        "cat; set -- b; x=$((x + 1)); cd /; exec 2>/dev/null; echo $$ $x $1; echo no >&2; exit 5", brief=True
    )
    ran = [fleet.run("node01", brief, AMPLE) for _ in range(3)]
    assert [(each.exit, each.stdout.split()[1:], each.stderr) for each in ran] == [(5, ["1", "b"], "")] * 3
    assert len({each.stdout.split()[0] for each in ran}) == 1
    shell = ran[0].stdout.split()[0]
    assert fleet.run("node01", Script("echo $$ $PPID; pwd"), AMPLE).stdout.split()[0] != shell
    assert (server.connections, len(server.commands)) == (1, 1)


@pytest.mark.slow
def test_a_brief_script_that_takes_long_is_late_and_the_next_one_has_a_shell(fleet: Fleet) -> None:
    assert fleet.run("node01", Script("read -r x; echo $?", brief=True), AMPLE).stdout == "1\n"
    with pytest.raises((DeadlineError, HostError)):
        fleet.run("node01", Script("sleep 5", brief=True), SHORT)
    assert fleet.run("node01", Script("echo well", brief=True), AMPLE).stdout == "well\n"


def test_what_the_login_shell_says_does_not_mix_in(server: Sshd, fleet: Fleet) -> None:
    server.noise = "echo Welcome to node01; echo a=b >&2; echo '@host=wrong'"
    result = fleet.run("node01", Script("echo '@host=right'"), AMPLE)
    assert (dict(result.facts), result.stderr) == ({"host": "right"}, "")
    assert fleet.run("node01", Script("cat"), AMPLE, stdin=io.BytesIO(b"data")).stdout == "data"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("noise", "what"),
    [
        ("exit 1", "its session ended with exit code 1 before the script"),
        ("echo Only rsync here >&2; exit 3", "with exit code 3 before the script; it said: Only rsync here"),
        (
            "echo This account is not available; exit 0",
            "code 0 before the script; it said: This account is not available",
        ),
        ("echo Welcome; exec sleep 60", "but its login shell does not begin the script; it said: Welcome"),
    ],
)
@pytest.mark.parametrize("stdin", [None, b"data"])
def test_a_session_that_does_not_run_the_script_is_told_by_what_it_said(
    server: Sshd, key: Path, known: Path, noise: str, what: str, stdin: bytes | None
) -> None:
    server.noise = noise
    with Fleet({"node01": server.host(key)}, known, connect_s=1.0) as fleet:
        with pytest.raises(SshError) as caught:
            fleet.run("node01", Script("true"), AMPLE, stdin=None if stdin is None else io.BytesIO(stdin))
        assert caught.value.state is ConnectionState.NO_SHELL
        assert what in caught.value.what
        assert "~/.bashrc" in caught.value.hint
        server.noise = ""
        assert fleet.run("node01", Script("echo well"), AMPLE).stdout == "well\n"


@pytest.mark.parametrize("stdin", [None, b"data"])
def test_a_session_that_ends_before_its_answer_is_heard_is_told_by_what_it_said(
    server: Sshd, key: Path, known: Path, stdin: bytes | None
) -> None:
    server.noise, server.hasty = "echo Only rsync here >&2; exit 3", True
    with Fleet({"node01": server.host(key)}, known, connect_s=5.0) as fleet, pytest.raises(SshError) as caught:
        fleet.run("node01", Script("true"), AMPLE, stdin=None if stdin is None else io.BytesIO(stdin))
    assert caught.value.state is ConnectionState.NO_SHELL
    assert "with exit code 3 before the script; it said: Only rsync here" in caught.value.what


def test_commands_in_a_script_cannot_eat_what_follows(fleet: Fleet) -> None:
    assert fleet.run("node01", Script("cat; echo next"), AMPLE).stdout == "next\n"
    assert fleet.run("node01", Script("cat"), AMPLE).stdout == ""


def test_a_script_with_a_syntax_error_does_nothing(fleet: Fleet, tmp_path: Path) -> None:
    result = fleet.run("node01", Script.of(": >{file}\nif", file=tmp_path / "touched"), AMPLE)
    assert result.exit == 2
    assert not (tmp_path / "touched").exists()
    assert fleet.run("node01", Script("echo fine"), AMPLE).stdout == "fine\n"


@pytest.mark.slow
def test_much_on_both_streams_is_drained(fleet: Fleet) -> None:
    many = "head -c 5000000 /dev/zero | tr '\\0'"
    result = fleet.run("node01", Script(f"{many} e >&2; {many} o; {many} e >&2"), AMPLE)
    assert (len(result.stdout), len(result.stderr)) == (5_000_000, 10_000_000)


@pytest.mark.slow
def test_bytes_in_and_out(fleet: Fleet, tmp_path: Path) -> None:
    data = bytes(range(256)) * 40_000
    target = tmp_path / "a b" / "file"
    path = PurePosixPath(target)
    fleet.put("node01", data, path, mode=0o640)
    assert target.read_bytes() == data
    assert target.stat().st_mode & 0o777 == 0o640
    assert fleet.get("node01", path) == data
    sink = io.BytesIO()
    assert fleet.get("node01", path, sink=sink) == b""
    assert sink.getvalue() == data
    assert [path.name for path in target.parent.iterdir()] == ["file"]


def test_a_stream_is_sent_from_where_it_stands(fleet: Fleet, tmp_path: Path) -> None:
    stream = io.BytesIO(b"header and body")
    stream.seek(7)
    fleet.put("node01", stream, PurePosixPath(tmp_path / "file"))
    assert (tmp_path / "file").read_bytes() == b"and body"


class _BreakingStream(io.BytesIO):
    def read(self, size: int | None = -1, /) -> bytes:
        if self.tell() > 0:
            raise OSError("the disk of the sender broke")
        return super().read(size)


def test_a_stream_that_breaks_does_not_look_like_one_that_ended(fleet: Fleet, tmp_path: Path) -> None:
    with pytest.raises(OSError, match="the sender broke"):
        fleet.put("node01", _BreakingStream(b"x" * 1_000_000), PurePosixPath(tmp_path / "file"))
    assert not (tmp_path / "file").exists()


@pytest.mark.slow
def test_put_asks_the_lease(fleet: Fleet, tmp_path: Path) -> None:
    work = PurePosixPath(tmp_path / "work")
    path = PurePosixPath(tmp_path / "file")
    lease = Lease(node="node01", work_dir=work, pool="p", cluster="alpha", generation=1, epoch=1, controller="c")
    with pytest.raises(RefusedError):
        fleet.put("node01", b"x", path, lease=lease)
    fleet.run("node01", leases.take(lease), AMPLE).check("taking")
    fleet.put("node01", b"x", path, lease=lease)
    assert (tmp_path / "file").read_bytes() == b"x"


def test_a_file_that_is_not_there(fleet: Fleet, tmp_path: Path) -> None:
    with pytest.raises(HostError, match=r"reading .*no-file failed.*No such file"):
        fleet.get("node01", PurePosixPath(tmp_path / "no-file"))


def gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def wait_until_gone(pid: int) -> None:
    wait_for(lambda: gone(pid))


@pytest.mark.slow
def test_at_the_deadline_the_whole_process_group_is_ended(fleet: Fleet, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    script = Script.of("echo $$ >{file}; sleep 60 & echo $! >>{file}; wait", file=pids)
    with pytest.raises(DeadlineError) as caught:
        fleet.run("node01", script, SHORT)
    assert isinstance(caught.value, HostError)
    assert caught.value.exit_status is ExitStatus.TIMED_OUT
    for pid in pids.read_text().split():
        wait_until_gone(int(pid))
    assert fleet.run("node01", Script("echo fine"), AMPLE).stdout == "fine\n"


@pytest.mark.slow
def test_what_ignores_the_end_is_killed(fleet: Fleet, tmp_path: Path) -> None:
    script = Script.of("echo $$ >{file}; trap '' TERM; while :; do sleep 1; done", file=tmp_path / "pid")
    assert failing(fleet, script.text, SHORT).state is ConnectionState.TIMED_OUT
    wait_until_gone(int((tmp_path / "pid").read_text()))


@pytest.mark.slow
def test_a_daemon_outlives_script_and_connection(fleet: Fleet) -> None:
    result = fleet.run("node01", Script("setsid sleep 60 </dev/null >/dev/null 2>&1 & echo $!"), AMPLE)
    pid = int(result.stdout)
    fleet.drop("node01")
    try:
        assert fleet.run("node01", Script.of("kill -0 {pid}", pid=pid), AMPLE).exit == 0
    finally:
        fleet.run("node01", Script.of("kill {pid}", pid=pid), AMPLE)


def test_exit_code_124_of_a_script_is_its_own(fleet: Fleet) -> None:
    assert fleet.run("node01", Script("exit 124"), AMPLE).exit == 124


def test_a_changed_key_stops_the_host_before_anything_is_sent(server: Sshd, key: Path, known: Path) -> None:
    server.host_key, expected = new_key(), server.host_key
    with Fleet({"node01": server.host(key)}, known) as fleet:
        error = failing(fleet)
    assert error.state is ConnectionState.KEY_CHANGED
    for word in ("CHANGED", str(known), "line 2", expected.fingerprint, server.host_key.fingerprint, "ssh-keygen -R"):
        assert word in str(error)
    assert (server.logins, server.commands) == ([], [])


def test_an_unknown_key_stops_the_host_until_it_is_trusted(server: Sshd, key: Path, tmp_path: Path) -> None:
    file = tmp_path / "none"
    with Fleet({"node01": server.host(key)}, file) as fleet:
        error = failing(fleet)
        assert error.state is ConnectionState.KEY_UNKNOWN
        assert server.host_key.fingerprint in str(error)
        assert "fawkes check --trust node01" in str(error)
        assert server.logins == []
        fleet.trust("node01", fleet.shown_key("node01"))
        assert fleet.run("node01", Script("echo in"), AMPLE).stdout == "in\n"


def test_a_revoked_key_is_refused(server: Sshd, key: Path, tmp_path: Path) -> None:
    file = tmp_path / "known"
    file.write_text(f"{server.known_line()}@revoked {server.known_line()}")
    with Fleet({"node01": server.host(key)}, file) as fleet:
        assert "revoked" in str(failing(fleet))


def test_one_of_two_known_keys_is_enough(server: Sshd, key: Path, known: Path) -> None:
    other = new_key()
    name = server.known_line().split()[0]
    known.write_text(f"{name} {other.get_name()} {other.get_base64()}\n{server.known_line()}")
    with Fleet({"node01": server.host(key)}, known) as fleet:
        assert fleet.run("node01", Script("echo in"), AMPLE).stdout == "in\n"


def test_a_login_that_is_refused(server: Sshd, known: Path, tmp_path: Path) -> None:
    wrong = write_key(new_key(), tmp_path / "wrong")
    with Fleet({"node01": server.host(wrong)}, known) as fleet:
        error = failing(fleet)
    assert error.state is ConnectionState.AUTH_REFUSED
    assert f"user 'tester' cannot log in with the key {wrong}" in str(error)


@pytest.mark.parametrize("content", [None, "no key"])
def test_a_private_key_that_cannot_be_read(server: Sshd, known: Path, tmp_path: Path, content: str | None) -> None:
    file = tmp_path / "bad"
    if content is not None:
        file.write_text(content)
    with Fleet({"node01": server.host(file)}, known) as fleet:
        assert str(file) in str(failing(fleet))
    assert server.connections == 0


def test_a_key_with_a_passphrase_says_what_to_do(server: Sshd, known: Path, tmp_path: Path) -> None:
    file = tmp_path / "locked"
    server.authorized.write_private_key_file(str(file), password="x")
    with Fleet({"node01": server.host(file)}, known) as fleet:
        assert "SSH agent" in str(failing(fleet))


@pytest.mark.slow
def test_each_way_of_not_answering_has_its_own_sentence(server: Sshd, key: Path, known: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        free = closed.getsockname()[1]
    with socket.create_server(("127.0.0.1", 0)) as mute:
        hosts = {
            "refusing": HostAddress("refusing", "127.0.0.1", "u", free, key),
            "nameless": HostAddress("nameless", "no-such-host.invalid", "u", 22, key),
            "mute": HostAddress("mute", "127.0.0.1", "u", mute.getsockname()[1], key),
            "good": server.host(key, "good"),
        }
        with Fleet(hosts, known, connect_s=0.5) as fleet:
            results = fleet.run_many(hosts, Script("echo fine"), AMPLE)
    errors = {node: result for node, result in results.items() if isinstance(result, SshError)}
    assert {node: error.state for node, error in errors.items()} == {
        "refusing": ConnectionState.REFUSED,
        "nameless": ConnectionState.NAME_UNKNOWN,
        "mute": ConnectionState.NO_ANSWER,
    }
    assert len({error.what for error in errors.values()}) == 3
    good = results["good"]
    assert isinstance(good, Result)
    assert good.stdout == "fine\n"


@pytest.mark.slow
def test_a_server_that_drops_connections_is_tried_again(server: Sshd, fleet: Fleet) -> None:
    server.drop = 2
    assert fleet.run("node01", Script("echo in"), AMPLE).stdout == "in\n"
    assert server.connections == 3


@pytest.mark.slow
def test_something_else_than_sshd_is_given_up(server: Sshd, key: Path, known: Path) -> None:
    server.drop = 1000
    with Fleet({"node01": server.host(key)}, known, connect_s=0.3) as fleet:
        assert failing(fleet).state is ConnectionState.NO_ANSWER


def test_a_connection_that_died_meanwhile_is_replaced(server: Sshd, fleet: Fleet) -> None:
    fleet.run("node01", Script("true"), AMPLE)
    server.cut()
    assert fleet.run("node01", Script("echo again"), AMPLE).stdout == "again\n"
    assert server.connections == 2


@pytest.mark.slow
def test_a_connection_that_dies_under_a_script_is_lost_and_nothing_is_sent_twice(
    server: Sshd, fleet: Fleet, tmp_path: Path
) -> None:
    begun = tmp_path / "begun"

    def cut() -> None:
        wait_for(begun.exists)
        server.cut()

    fleet.run("node01", Script("true"), AMPLE)
    cutter = threading.Thread(target=cut)
    cutter.start()
    error = failing(fleet, Script.of("echo x >>{file}; sleep 5", file=begun).text)
    cutter.join()
    assert error.state is ConnectionState.LOST
    assert begun.read_text() == "x\n"
    assert fleet.run("node01", Script("echo again"), AMPLE).stdout == "again\n"


@pytest.mark.slow
def test_a_host_that_stops_answering_after_the_login(server: Sshd, key: Path, known: Path) -> None:
    server.silent_exec = True
    with Fleet({"node01": server.host(key)}, known, connect_s=0.5) as fleet:
        assert failing(fleet).state is ConnectionState.NO_ANSWER


def test_a_host_without_room_for_sessions(server: Sshd, fleet: Fleet) -> None:
    server.refuse_channels = True
    assert "MaxSessions" in str(failing(fleet))


class Long:
    """A script that runs in a thread from ``with`` to the end of it."""

    def __init__(self, fleet: Fleet, folder: Path) -> None:
        self.results: list[Result] = []
        self._begun, self._gate = folder / "begun", folder / "gate"
        script = Script.of(
            ": >{begun}; while [ ! -e {gate} ]; do sleep 0.02; done; echo long", begun=self._begun, gate=self._gate
        )
        self._thread = threading.Thread(target=lambda: self.results.append(fleet.run("node01", script, AMPLE)))

    def __enter__(self) -> None:
        self._thread.start()
        wait_for(self._begun.exists)

    def __exit__(self, *_: object) -> None:
        self._gate.touch()
        self._thread.join()


def test_a_long_script_does_not_hold_up_a_short_one(fleet: Fleet, tmp_path: Path) -> None:
    long = Long(fleet, tmp_path)
    with long:
        assert fleet.run("node01", Script("echo short"), AMPLE).stdout == "short\n"
    assert long.results[0].stdout == "long\n"


@pytest.mark.slow
def test_lanes_are_bounded_and_waiting_ends_at_the_deadline(
    server: Sshd, key: Path, known: Path, tmp_path: Path
) -> None:
    with Fleet({"node01": server.host(key)}, known, lanes=1) as fleet, Long(fleet, tmp_path):
        assert "busy until the deadline" in str(failing(fleet, "true", 0.2))


@pytest.mark.slow
def test_many_hosts_each_with_its_own_script_and_result(server: Sshd, key: Path, known: Path) -> None:
    nodes = [f"n{i}" for i in range(20)]
    with Fleet({node: server.host(key, node) for node in nodes}, known, fanout=8) as fleet:
        results = fleet.run_many(nodes, lambda node: Script.of("echo {node}", node=node), AMPLE)
    assert list(results) == nodes
    assert [r.stdout for r in results.values() if isinstance(r, Result)] == [f"{node}\n" for node in nodes]


@pytest.mark.slow
def test_each_host_has_a_deadline_of_its_own(server: Sshd, key: Path, known: Path) -> None:
    nodes = ["slow", "fast"]
    with Fleet({node: server.host(key, node) for node in nodes}, known) as fleet:
        results = fleet.run_many(nodes, lambda n: Script("sleep 60" if n == "slow" else "echo ok"), SHORT)
    slow, fast = results["slow"], results["fast"]
    assert isinstance(slow, DeadlineError)
    assert isinstance(fast, Result)


@pytest.mark.slow
def test_those_who_ask_a_silent_host_together_share_the_answer(key: Path, known: Path) -> None:
    """Its login takes until the time limit: eight in a row would hold up whoever needs the last answer."""
    askers = 8
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = HostAddress("node01", "127.0.0.1", "u", silent.getsockname()[1], key)
        with Fleet({"node01": address}, known, connect_s=SHORT) as fleet:
            errors = fleet_errors(fleet, askers)
        assert [error.state for error in errors] == [ConnectionState.NO_ANSWER] * askers
        assert len({id(error) for error in errors}) == askers
        silent.setblocking(False)
        # The first one had begun before some of the others asked; the second one answers them all.
        assert 1 <= accepted(silent) <= 2
        with Fleet({"node01": address}, known, connect_s=SHORT) as fleet:
            fleet_errors(fleet, 1)
            fleet_errors(fleet, 1)
        assert accepted(silent) == 2, "who asks later gets a fresh answer"


def test_who_asks_while_a_login_hangs_gets_one_beside_it(key: Path, known: Path) -> None:
    """Each would else wait for the end of the other's, and then as long for his own."""
    with socket.create_server(("127.0.0.1", 0)) as silent, ThreadPoolExecutor(2) as threads:
        silent.settimeout(AMPLE)
        address = HostAddress("node01", "127.0.0.1", "u", silent.getsockname()[1], key)
        with Fleet({"node01": address}, known, connect_s=AMPLE) as fleet:
            first = threads.submit(failing, fleet)
            with silent.accept()[0]:
                second = threads.submit(failing, fleet)
                with silent.accept()[0]:
                    assert not first.done()
                    # A server that hangs up is tried once more: nobody is there then, and both have come to their ends.
                    silent.close()
            assert {error.result().host for error in (first, second)} == {"node01"}


def fleet_errors(fleet: Fleet, askers: int) -> list[SshError]:
    together = threading.Barrier(askers)

    def ask(_: int) -> SshError:
        together.wait()
        return failing(fleet)

    with ThreadPoolExecutor(askers) as threads:
        return list(threads.map(ask, range(askers)))


def accepted(server: socket.socket) -> int:
    """The connections that somebody has opened, each taken off the queue."""
    count = 0
    while True:
        try:
            server.accept()[0].close()
        except BlockingIOError:
            return count
        count += 1


def test_a_result_turns_into_facts_or_an_error(fleet: Fleet) -> None:
    assert dict(fleet.run("node01", Script("echo @a=1"), AMPLE).check("looking")) == {"a": "1"}
    with pytest.raises(HostError, match=r"node01: looking failed: exit code 3: no such thing"):
        fleet.run("node01", Script("echo no such thing >&2; exit 3"), AMPLE).check("looking")


def test_an_unknown_node_is_the_users_mistake(fleet: Fleet) -> None:
    with pytest.raises(UserError, match="node99"):
        fleet.run("node99", Script("true"), AMPLE)


@pytest.mark.slow
def test_endless_output_is_cut_off(fleet: Fleet) -> None:
    assert failing(fleet, "yes").state is ConnectionState.TOO_MUCH
    assert fleet.run("node01", Script("echo fine"), AMPLE).stdout == "fine\n"


def test_the_users_own_configuration_is_not_read(
    server: Sshd, key: Path, known: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    (home / ".ssh").mkdir(parents=True)
    (home / ".ssh" / "config").write_text("Host *\n  Port 1\n  User nobody\n  ProxyCommand false\n")
    (home / ".fabric.yaml").write_text("gateway: nowhere\n")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("FABRIC_USER", "nobody")
    monkeypatch.setenv("INVOKE_RUN_SHELL", "/bin/false")
    with Fleet({"node01": server.host(key)}, known) as fleet:
        assert fleet.run("node01", Script("echo in"), AMPLE).stdout == "in\n"
    assert set(server.logins) == {"tester"}


def test_secrets_do_not_reach_the_log(fleet: Fleet, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    fleet.run("node01", Script("echo s3cret-value"), AMPLE)
    assert "s3cret-value" not in caplog.text


class _Gone(paramiko.Channel):
    """A channel whose connection has broken: whatever is sent fails, the word that it is closed as well."""

    def __init__(self) -> None:
        """Without a transport."""

    def exec_command(self, command: object) -> None:
        """It went out before."""

    def settimeout(self, timeout: float | None) -> None:
        """Nothing to wait for."""

    def sendall(self, s: object) -> None:
        raise OSError("Socket is closed")

    def get_transport(self) -> Any:
        return SimpleNamespace(is_active=lambda: False)

    def close(self) -> None:
        raise EOFError


def test_a_connection_that_breaks_under_a_script_is_a_broken_lane_also_while_it_is_closed() -> None:
    with pytest.raises(LaneBrokenError) as caught:
        run_once("node01", _Gone(), Script("true"), io.BytesIO(b""), 1, 1, None)
    assert not caught.value.begun


def test_a_bad_line_in_known_hosts_refuses_its_host_alone(server: Sshd, key: Path, tmp_path: Path) -> None:
    file = tmp_path / "known_hosts"
    with Sshd(authorized=server.authorized) as other:
        file.write_text(f"[127.0.0.1]:{server.port} ssh-ed25519 AAAA\nrubbish\n{other.known_line()}")
        hosts = {"bad": server.host(key, "bad"), "good": other.host(key, "good")}
        with Fleet(hosts, file, connect_s=AMPLE) as fleet:
            results = fleet.run_many(["bad", "good"], Script("true"), AMPLE)
    error, result = results["bad"], results["good"]
    assert isinstance(error, SshError)
    assert (error.state, error.where) == (ConnectionState.KEY_UNKNOWN, "bad")
    assert f"in {file}, line 1 is not a host key" in str(error)
    assert server.logins == []
    assert isinstance(result, Result)
    assert result.exit == 0


class FullDisk(io.BytesIO):
    def write(self, data: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")


def test_a_sink_that_fails_is_no_fault_of_the_host(server: Sshd, fleet: Fleet) -> None:
    """The disk of this machine is full: its connections to the host, and what else runs there, go on."""
    with pytest.raises(OSError, match="No space left"):
        fleet.run("node01", Script("head -c 1000000 /dev/zero"), AMPLE, sink=FullDisk())
    assert fleet.run("node01", Script("echo on"), AMPLE).stdout == "on\n"
    assert server.connections == 1
