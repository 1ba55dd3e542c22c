"""workloads/prepare.sh and verify.sh with a `hadoop` that keeps HDFS in a folder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fawkes.workload.hibench.programs import folder

HADOOP = """#!/bin/sh
shift
case $1 in
    -mkdir) mkdir -p "$HDFS$3" ;;
    -put) shift 2; for last; do :; done
          while [ $# -gt 1 ]; do cp "$1" "$HDFS$last/"; shift; done ;;
    -du) echo "$(cat "$HDFS$3"/* | wc -c) 0 $3" ;;
esac
"""


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    for name in ("programs", "hdfs", "work"):
        (tmp_path / name).mkdir()
    (tmp_path / "programs" / "hadoop").write_text(HADOOP)
    (tmp_path / "programs" / "hadoop").chmod(0o755)
    return {"PATH": f"{tmp_path}/programs:{os.environ['PATH']}", "HDFS": f"{tmp_path}/hdfs"}


def run(tmp_path: Path, env: dict[str, str], script: Path, *words: str) -> subprocess.CompletedProcess[str]:
    argv = ["sh", str(script), *words]
    return subprocess.run(argv, cwd=tmp_path / "work", env=env, capture_output=True, text=True, check=False)


def prepare(tmp_path: Path, env: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    made = [sys.executable, str(folder() / "data.py"), "words", "--size", "5000", "--parts", "2", *words]
    return run(tmp_path, env, folder().parent / "prepare.sh", "/a/in", *made)


def test_what_was_made_is_in_hdfs_and_no_longer_on_the_master(tmp_path: Path, env: dict[str, str]) -> None:
    ended = prepare(tmp_path, env)

    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "/a/in: 5000 bytes\n", "")
    assert sorted(path.name for path in (tmp_path / "hdfs/a/in").iterdir()) == ["part-00000", "part-00001"]
    assert list((tmp_path / "work").iterdir()) == []
    assert prepare(tmp_path, env).returncode == 0


def test_other_bytes_in_hdfs_are_refused(tmp_path: Path, env: dict[str, str]) -> None:
    (tmp_path / "hdfs/a/in").mkdir(parents=True)
    (tmp_path / "hdfs/a/in/old").write_text("old")

    ended = prepare(tmp_path, env)

    assert ended.returncode == 1
    assert ended.stderr == "/a/in has 5003 bytes instead of 5000: was something in it before?\n"


def test_a_generator_that_fails_ends_it_before_anything_is_in_hdfs(tmp_path: Path, env: dict[str, str]) -> None:
    ended = prepare(tmp_path, env, "--size", "9" * 18)

    assert ended.returncode == 1
    assert "no space for 9999" in ended.stderr
    assert list((tmp_path / "hdfs").iterdir()) == []


def test_verify_compares_as_well(tmp_path: Path, env: dict[str, str]) -> None:
    prepare(tmp_path, env)

    assert run(tmp_path, env, folder() / "verify.sh", "/a/in", "5000").returncode == 0
    ended = run(tmp_path, env, folder() / "verify.sh", "/a/in", "6000")
    assert (ended.returncode, ended.stderr) == (1, "/a/in has 5000 bytes instead of 6000\n")
