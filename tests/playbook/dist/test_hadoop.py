"""The releases that Maven's artifacts make, used: a NameNode, and the commands that come with it."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time
import urllib.request
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from fawkes.playbook.dist import cache
from fawkes.playbook.dist.compile.java import find_java
from fawkes.playbook.dist.pins import DEFAULT_VERSION, PINS
from fawkes.playbook.dist.release import LIGHT_FLAGS, PROGRAMS, Release
from tests.playbook.dist.helpers import LocalShell

pytestmark = pytest.mark.hadoop


@pytest.fixture(
    scope="module",
    params=[DEFAULT_VERSION, *(pytest.param(v, marks=pytest.mark.nightly) for v in PINS if v != DEFAULT_VERSION)],
)
def release(request: pytest.FixtureRequest) -> Release:
    return cache.get(PINS[request.param]).release


@pytest.fixture(scope="module")
def java_home(release: Release) -> str:
    return find_java(LocalShell(env=os.environ), "this machine", release).home


def free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [int(each.getsockname()[1]) for each in sockets]
    for each in sockets:
        each.close()
    return ports


def configure(folder: Path, rpc: int, http: int) -> Path:
    conf = folder / "conf"
    conf.mkdir()
    for name, values in {
        "core-site.xml": {"fs.defaultFS": f"hdfs://127.0.0.1:{rpc}", "hadoop.tmp.dir": f"{folder}/tmp"},
        "hdfs-site.xml": {
            "dfs.namenode.http-address": f"127.0.0.1:{http}",
            "dfs.namenode.safemode.extension": "0",
        },
    }.items():
        rows = "".join(
            f"<property><name>{key}</name><value>{value}</value></property>" for key, value in values.items()
        )
        (conf / name).write_text(f"<configuration>{rows}</configuration>")
    return conf


@contextmanager
def running(argv: list[str], env: dict[str, str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    with (
        log.open("wb") as out,
        subprocess.Popen(
            argv, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True
        ) as daemon,
    ):
        try:
            yield daemon
        finally:
            if daemon.poll() is None:
                os.killpg(daemon.pid, signal.SIGKILL)


def jmx(port: int, daemon: subprocess.Popen[bytes], log: Path) -> dict[str, Any]:
    """The NameNode's beans, as soon as it answers."""
    url = f"http://127.0.0.1:{port}/jmx?qry=Hadoop:service=NameNode,name=NameNodeInfo"
    late = time.monotonic() + 120
    while time.monotonic() < late and daemon.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:
                beans: list[dict[str, Any]] = json.load(answer)["beans"]
                if beans:
                    return beans[0]
        except OSError:
            pass
        Event().wait(0.1)
    raise AssertionError(log.read_text()[-3000:])


def test_a_namenode_starts_and_the_commands_reach_it(release: Release, java_home: str, tmp_path: Path) -> None:
    rpc, http = free_ports(2)
    conf = configure(tmp_path, rpc, http)
    env = {"PATH": os.environ["PATH"], **release.environment(java_home, str(conf))}
    log = tmp_path / "namenode.log"

    def argv(program: str) -> list[str]:
        return release.daemon_argv(program, java_home=java_home, conf_dir=str(conf), heap_mb=256, extra=LIGHT_FLAGS)

    formatted = subprocess.run(argv("namenode-format"), env=env, capture_output=True, text=True, check=False)
    assert formatted.returncode == 0, formatted.stderr
    with running(argv("namenode"), env, log) as namenode:
        assert jmx(http, namenode, log)["SoftwareVersion"] == release.version

        for command in ("hadoop fs -mkdir /made", "hdfs dfs -ls /"):
            said = subprocess.run(
                f"{release.bin_dir}/{command}".split(), env=env, capture_output=True, text=True, check=False
            )
            assert said.returncode == 0, said.stderr
        assert re.search(r"^drwx.* /made$", said.stdout, re.MULTILINE)
        assert said.stderr == ""

        namenode.terminate()
        assert namenode.wait(60) == 128 + signal.SIGTERM


def test_every_class_that_is_named_is_in_a_jar(release: Release) -> None:
    named = {argv[0] for argv in PROGRAMS.values()}
    for script in Path(release.bin_dir).iterdir():
        named |= set(re.findall(r"org\.apache\.\S+", script.read_text()))
    there: set[str] = set()
    for file in Path(release.root, "lib").iterdir():
        with zipfile.ZipFile(file) as opened:
            there |= set(opened.namelist())

    assert {name for name in named if f"{name.replace('.', '/')}.class" not in there} == set()
    for jar in (release.examples_jar, release.streaming_jar, release.jobclient_tests_jar):
        assert Path(jar).is_file()


@pytest.mark.nightly
def test_a_damaged_jar_of_the_cache_is_named_and_made_good(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Maven brings it from its own store: nothing is downloaded again."""
    wanted = PINS[DEFAULT_VERSION]
    good = cache.get(wanted).release
    monkeypatch.setenv("FAWKES_CACHE", str(tmp_path))
    copy = tmp_path / "dist" / good.name
    shutil.copytree(good.root, copy)
    assert cache.look(wanted).faults == ()
    victim = copy / "lib" / f"hadoop-hdfs-{good.version}.jar"
    victim.write_bytes(victim.read_bytes()[:-1])

    assert [fault.path for fault in cache.look(wanted).faults] == [f"lib/{victim.name}"]
    assert cache.get(wanted, again=True).made
    assert cache.look(wanted).faults == ()
