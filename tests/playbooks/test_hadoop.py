from __future__ import annotations

import os
import signal
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from fawkes.base.errors import RefusedError
from fawkes.live.kerberos.keytab import is_of_site
from fawkes.playbook import Exit, Facts, Folders, Lease, failure
from playbooks import hadoop
from playbooks.hadoop import Daemon, Members
from tests.playbooks.conftest import ok, sh
from tests.support.waiting import wait_for


def sleeper(name: str = "datanode") -> Daemon:
    return Daemon(name, ["/bin/sleep", "60"], {"HADOOP_CONF_DIR": "/a b"})


def state(lease: Lease, name: str = "datanode") -> Facts:
    return ok(hadoop.status(lease.folders, [name]))


def pid_of(lease: Lease, name: str = "datanode") -> int:
    pid = state(lease, name).number(f"pid.{name}")
    assert pid
    return pid


def environment(pid: int) -> dict[str, str]:
    pairs = Path(f"/proc/{pid}/environ").read_text().split("\0")
    return dict(pair.split("=", 1) for pair in pairs if pair)


def test_configure_replaces_files_and_only_when_needed(lease: Lease) -> None:
    files = {"core-site.xml": "<a>'$x'\n</a>\n", "log4j.properties": "b"}
    assert ok(hadoop.configure(lease, files))["changed"] == "yes"
    assert ok(hadoop.configure(lease, files))["changed"] == "no"
    conf = Path(lease.folders.conf)
    assert {path.name: path.read_text() for path in conf.iterdir()} == files
    assert ok(hadoop.configure(lease, {"core-site.xml": "<b/>"}))["changed"] == "yes"
    assert [path.name for path in conf.iterdir()] == ["core-site.xml"]
    assert [path.name for path in conf.parent.glob("conf*")] == ["conf"]


def test_bytes_arrive_as_they_are_and_the_key_is_for_its_owner_alone(lease: Lease) -> None:
    jar, key = bytes(range(256)) * 50, "s3cret\n"
    script = hadoop.configure(lease, {"a.jar": jar, hadoop.DOORS_KEY: key, "a.xml": "1"})
    assert "s3cret" not in repr(script)
    assert ok(script)["changed"] == "yes"
    conf = Path(lease.folders.conf)
    assert (conf / "a.jar").read_bytes() == jar
    assert (conf / hadoop.DOORS_KEY).read_text() == key
    assert (conf / hadoop.DOORS_KEY).stat().st_mode & 0o777 == 0o600


def test_the_list_of_addresses_is_replaced_whole_where_there_is_a_configuration(lease: Lease) -> None:
    assert ok(hadoop.write_doors(lease, "10.0.0.1\n"))["doors"] == "absent"
    ok(hadoop.configure(lease, {"a.xml": "1", hadoop.DOORS_LIST: "10.0.0.1\n"}))
    assert ok(hadoop.write_doors(lease, "10.0.0.1\n10.0.0.2\n"))["doors"] == "written"
    conf = Path(lease.folders.conf)
    assert sorted(path.name for path in conf.iterdir()) == ["a.xml", hadoop.DOORS_LIST]
    assert (conf / hadoop.DOORS_LIST).read_text() == "10.0.0.1\n10.0.0.2\n"


def test_configure_keeps_the_folder_that_running_daemons_know(lease: Lease) -> None:
    """A JVM finds its class path once: in another folder of the same name its refreshes would read nothing."""
    ok(hadoop.configure(lease, {"a.xml": "1", "b.xml": "same"}))
    conf = Path(lease.folders.conf)
    before, same = conf.resolve(), (conf / "b.xml").stat().st_ino
    folder = os.open(conf, os.O_PATH)
    try:
        ok(hadoop.configure(lease, {"a.xml": "2", "b.xml": "same"}))
        assert conf.resolve() == before
        assert Path(f"/proc/self/fd/{folder}/a.xml").read_text() == "2"
        assert (conf / "b.xml").stat().st_ino == same
    finally:
        os.close(folder)


def test_configure_puts_a_file_right_that_was_edited_by_hand(lease: Lease) -> None:
    ok(hadoop.configure(lease, {"a.xml": "right"}))
    Path(lease.folders.conf, "a.xml").write_text("wrong")
    assert ok(hadoop.configure(lease, {"a.xml": "right"}))["changed"] == "yes"
    assert Path(lease.folders.conf, "a.xml").read_text() == "right"


@pytest.mark.slow
def test_daemons_start_once_marked_and_detached(lease: Lease) -> None:
    daemons = [sleeper("datanode"), sleeper("nodemanager")]
    assert dict(ok(hadoop.start(lease, daemons))) == {"daemon.datanode": "started", "daemon.nodemanager": "started"}
    pid = pid_of(lease)
    assert dict(ok(hadoop.start(lease, daemons))) == {"daemon.datanode": "running", "daemon.nodemanager": "running"}
    assert pid_of(lease) == pid
    env = environment(pid)
    assert {key: env[key] for key in lease.marks("datanode")} == lease.marks("datanode")
    assert env["HADOOP_CONF_DIR"] == "/a b"
    assert os.getsid(pid) == pid
    assert {os.readlink(f"/proc/{pid}/fd/{fd}") for fd in (0, 1, 2)} == {
        "/dev/null",
        str(lease.folders.logs / "datanode.out"),
    }
    assert not any("lock" in os.readlink(fd) for fd in Path(f"/proc/{pid}/fd").iterdir())


@pytest.mark.slow
def test_the_environment_of_the_login_does_not_reach_daemons(lease: Lease, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HADOOP_USER_NAME", "mallory")
    ok(hadoop.start(lease, [sleeper()]))
    assert "HADOOP_USER_NAME" not in environment(pid_of(lease))


@pytest.mark.slow
def test_stop_ends_and_can_be_done_again(lease: Lease) -> None:
    ok(hadoop.start(lease, [sleeper("datanode"), sleeper("nodemanager")]))
    names = ["datanode", "nodemanager", "namenode"]
    assert ok(hadoop.stop(lease, names)).under("daemon") == {
        "datanode": "stopped",
        "nodemanager": "stopped",
        "namenode": "absent",
    }
    assert set(ok(hadoop.stop(lease, names)).under("daemon").values()) == {"absent"}
    assert state(lease)["daemon.datanode"] == "absent"


@pytest.mark.slow
def test_stop_kills_what_ignores_it(lease: Lease) -> None:
    stubborn = Daemon("datanode", ["/bin/sh", "-c", "trap '' TERM; while :; do sleep 1; done"])
    ok(hadoop.start(lease, [stubborn], watch_s=0.5))
    assert ok(hadoop.stop(lease, ["datanode"], grace_s=0.2))["daemon.datanode"] == "killed"
    assert state(lease)["daemon.datanode"] == "absent"


@pytest.mark.slow
def test_a_daemon_that_was_killed_is_dead_not_absent(lease: Lease) -> None:
    ok(hadoop.start(lease, [sleeper()]))
    os.kill(pid_of(lease), signal.SIGKILL)
    wait_for(lambda: state(lease)["daemon.datanode"] == "dead")
    assert "it was killed" in state(lease)["why.datanode"]
    assert ok(hadoop.start(lease, [sleeper()]))["daemon.datanode"] == "started"


@pytest.mark.parametrize(
    "line",
    [
        "java.net.BindException: Problem binding to [0.0.0.0:8020] java.net.BindException: Address already in use",
        "java.net.BindException: Port in use: node01:8020",
    ],
)
def test_a_port_in_use_is_named(lease: Lease, line: str) -> None:
    Path(lease.folders.logs, "namenode.log").write_text(
        "java.net.BindException: Port in use: 0.0.0.0:9870\nSTARTUP_MSG: Starting NameNode\nINFO fine\n"
    )
    ran = sh(hadoop.start(lease, [Daemon("namenode", ["/bin/sh", "-c", 'echo "$0"; exit 1', line])]))
    assert ran.exit == Exit.DIED
    assert ran.facts["port.namenode"] == "8020"
    assert "namenode ended: port 8020 is in use" in str(failure("node01", "starting", ran.exit, ran.stderr))


NO_LOGIN = "failure to login: for principal: hadoop/a from keytab k javax.security.auth.login.LoginException: refused"
NO_KDC = f"echo 'ERROR x: org.apache.hadoop.security.KerberosAuthException: {NO_LOGIN}'\necho 'Caused by: y: refused'\n"
NO_KDC += "echo '2026-12-01 01:00:00,001 ERROR x.NameNode: Failed to start namenode.'\nexit 1"


@pytest.mark.parametrize("what", ["start", "format", "refresh"])
def test_a_kdc_that_is_away_is_named_whatever_failed_by_it(lease: Lease, what: str) -> None:
    script = {
        "start": hadoop.start(lease, [Daemon("namenode", ["/bin/sh", "-c", NO_KDC])]),
        "format": hadoop.format_namenode(lease, formatting(lease, NO_KDC), {}, cluster_id="c"),
        "refresh": hadoop.refresh(lease, members(1), {"hdfs": ["/bin/sh", "-c", NO_KDC]}),
    }[what]
    ran = sh(script)
    error = failure("node01", "starting", ran.exit, ran.stderr)
    assert NO_LOGIN in str(error)
    assert is_of_site(error)


def test_a_java_that_is_not_there_is_named(lease: Lease) -> None:
    ran = sh(hadoop.start(lease, [Daemon("namenode", ["/no/such/java", "-version"])]))
    assert ran.exit == Exit.DIED
    assert "/no/such/java" in ran.facts["why.namenode"]


@pytest.mark.slow
def test_a_pid_file_of_another_boot_or_a_reused_pid_is_nobody(lease: Lease) -> None:
    ok(hadoop.start(lease, [sleeper()]))
    file = Path(lease.folders.run, "datanode.pid")
    pid, since, boot = file.read_text().split()
    for text in (f"{pid} {since} 0000", f"{pid} {int(since) - 1} {boot}", "garbage", ""):
        file.write_text(text)
        assert state(lease)["daemon.datanode"] == "dead", text
    file.write_text(f"{pid} {since} {boot}\n")
    assert state(lease)["daemon.datanode"] == "running"


FORMAT = """
for word in "$@"; do case $word in -Ddfs.namenode.name.dir=file://*) dir=${word#*file://} ;; esac; done
mkdir -p "$dir/current" && echo "$@" >"$dir/current/VERSION"
"""


def formatting(lease: Lease, script: str = FORMAT) -> list[str]:
    return ["/bin/sh", "-c", script, "NameNode", "-format", "-nonInteractive"]


def test_a_namenode_is_formatted_once(lease: Lease) -> None:
    def act() -> str:
        return ok(hadoop.format_namenode(lease, formatting(lease), {}, cluster_id="CID-1"))["formatted"]

    assert act() == "yes"
    version = Path(lease.folders.nn, "current", "VERSION")
    assert version.read_text().endswith("-format -nonInteractive -clusterid CID-1\n")
    version.write_text("precious")
    assert act() == "already"
    assert version.read_text() == "precious"


def test_a_folder_with_something_else_in_it_is_never_formatted(lease: Lease) -> None:
    precious = Path(lease.folders.nn, "precious")
    precious.parent.mkdir()
    precious.write_text("data")
    assert sh(hadoop.format_namenode(lease, formatting(lease), {}, cluster_id="c")).exit == Exit.NOT_EMPTY
    assert precious.read_text() == "data"


def test_a_format_that_failed_is_done_again(lease: Lease) -> None:
    failing = formatting(lease, FORMAT + "echo broken >&2; exit 1")
    ran = sh(hadoop.format_namenode(lease, failing, {}, cluster_id="c"))
    assert ran.exit == 1
    assert "broken" in ran.stderr
    assert not Path(lease.folders.nn).exists()
    assert ok(hadoop.format_namenode(lease, formatting(lease), {}, cluster_id="c"))["formatted"] == "yes"


def members(version: int, **leaving: int) -> Members:
    return Members(version=version, data=["10.0.0.2", "10.0.0.1"], compute=["10.0.0.1", "10.0.0.2"], leaving=leaving)


def read_members(lease: Lease) -> dict[str, str]:
    return {path.name: path.read_text() for path in Path(lease.folders.members).iterdir()}


def test_refresh_writes_the_lists_then_runs_the_commands(lease: Lease) -> None:
    cat = ["/bin/sh", "-c", 'cat "$1" >"$1.seen"; echo "$HADOOP_CONF_DIR" >&2', "x"]
    commands = {"hdfs": [*cat, Folders.DFS_INCLUDE], "yarn": [*cat, Folders.YARN_EXCLUDE]}
    facts = ok(hadoop.refresh(lease, members(7, node03=3600, node04=0), commands, {"HADOOP_CONF_DIR": "/c"}))
    assert dict(facts) == {"written": "7", "refresh.hdfs": "0", "refresh.yarn": "0"}
    files = read_members(lease)
    assert files["dfs.include.seen"] == files["dfs.include"] == "10.0.0.1\n10.0.0.2\n"
    assert "<host><name>node03</name><timeout>3600</timeout></host>" in files["yarn.exclude.xml.seen"]
    assert files["dfs.exclude"] == ""


def test_yarn_is_told_names_as_well_for_it_finds_time_limits_under_them_alone() -> None:
    files = hadoop.members_files(
        Members(
            version=1,
            data=["10.0.0.1"],
            compute=["10.0.0.1", "10.0.0.2"],
            leaving={"10.0.0.1": 0, "10.0.0.2": -1},
            names={"10.0.0.1": "node01.example.org", "10.0.0.2": "10.0.0.2"},
        )
    )
    assert files["yarn.include"] == "10.0.0.1\n10.0.0.2\nnode01.example.org\n"
    assert files["dfs.include"] == "10.0.0.1\n"
    root = ET.fromstring(files["yarn.exclude.xml"])
    assert [(host.findtext("name"), host.findtext("timeout")) for host in root] == [
        ("10.0.0.1", "0"),
        ("node01.example.org", "0"),
        ("10.0.0.2", "-1"),
    ]


def test_the_master_adds_the_names_that_it_has_for_leaving_nodes(lease: Lease) -> None:
    ok(hadoop.refresh(lease, Members(version=1, data=["a"], compute=["a"], leaving={"127.0.0.1": 0, "192.0.2.1": 60})))
    root = ET.fromstring(read_members(lease)["yarn.exclude.xml"])
    rows = [(host.findtext("name"), host.findtext("timeout")) for host in root]
    assert rows[:2] == [("127.0.0.1", "0"), ("192.0.2.1", "60")]
    assert ("localhost", "0") in rows


def test_an_older_version_does_not_come_back(lease: Lease) -> None:
    ok(hadoop.refresh(lease, members(7)))
    before = read_members(lease)
    assert sh(hadoop.refresh(lease, members(6, node03=0))).exit == Exit.SUPERSEDED
    assert read_members(lease) == before
    ok(hadoop.refresh(lease, members(7)))


def test_a_refresh_that_fails_says_why(lease: Lease) -> None:
    ran = sh(hadoop.refresh(lease, members(1), {"hdfs": ["/bin/sh", "-c", "echo refused; exit 3"], "yarn": ["true"]}))
    assert ran.exit == 1
    assert (ran.facts["refresh.hdfs"], ran.facts["refresh.yarn"]) == ("3", "0")
    assert "refused" in ran.stderr


def test_an_empty_include_list_is_refused_before_anything_is_sent(lease: Lease) -> None:
    for empty in (Members(version=1, data=[], compute=["a"]), Members(version=1, data=["a"], compute=[])):
        with pytest.raises(RefusedError, match="empty include"):
            hadoop.refresh(lease, empty)


def test_a_list_of_blanks_is_refused_on_the_node(lease: Lease) -> None:
    ran = sh(hadoop.refresh(lease, Members(version=1, data=[" "], compute=["a"])))
    assert ran.exit == Exit.EMPTY_INCLUDE
    assert "dfs.include" not in read_members(lease)
