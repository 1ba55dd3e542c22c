"""The commands that a release made of artifacts brings: `hadoop`, `hdfs`, `yarn`, `mapred`."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from fawkes.playbook.dist import cache
from fawkes.playbook.dist.pins import Pin
from fawkes.playbook.dist.release import JAVA_FLAGS
from tests.playbook.dist.helpers import give
from tests.support.programs import program


class Site:
    """A release, a configuration folder, and a Java that prints its arguments."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.root = root
        self.conf = folder / "my conf"
        self.conf.mkdir()
        program(folder / "jdk/bin/java", "printf '%s\\n' \"$@\"")
        self.env = {"PATH": "/usr/bin:/bin", "JAVA_HOME": str(folder / "jdk"), "HADOOP_CONF_DIR": str(self.conf)}

    def run(self, command: str, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [f"{self.root}/bin/{command}", *arguments],
            env=self.env | env,
            capture_output=True,
            text=True,
            check=False,
        )

    def java(self, command: str, *arguments: str, **env: str) -> list[str]:
        ran = self.run(command, *arguments, **env)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout.splitlines()


@pytest.fixture
def site(small: Pin, cache_dir: Path, tmp_path: Path) -> Site:
    return Site(Path(cache.get(small, resolve=give).release.root), tmp_path)


@pytest.mark.parametrize(
    ("command", "arguments", "started"),
    [
        ("hadoop", ["fs", "-ls", "/"], ["org.apache.hadoop.fs.FsShell", "-ls", "/"]),
        ("hadoop", ["jar", "my x.jar", "*"], ["org.apache.hadoop.util.RunJar", "my x.jar", "*"]),
        ("hadoop", ["my.own.Main", "-a"], ["my.own.Main", "-a"]),
        ("hdfs", ["dfs", "-ls"], ["org.apache.hadoop.fs.FsShell", "-ls"]),
        ("hdfs", ["dfsadmin", "-report"], ["org.apache.hadoop.hdfs.tools.DFSAdmin", "-report"]),
        (
            "yarn",
            ["application", "-list"],
            ["org.apache.hadoop.yarn.client.cli.ApplicationCLI", "application", "-list"],
        ),
        ("yarn", ["node", "-list"], ["org.apache.hadoop.yarn.client.cli.NodeCLI", "-list"]),
        ("mapred", ["job", "-list"], ["org.apache.hadoop.mapred.JobClient", "-list"]),
        ("mapred", ["streaming", "-input", "/a"], ["org.apache.hadoop.streaming.HadoopStreaming", "-input", "/a"]),
    ],
)
def test_a_command_starts_its_class(site: Site, command: str, arguments: list[str], started: list[str]) -> None:
    said = site.java(command, *arguments)

    at = said.index("-cp")
    assert said[at + 1] == f"{site.conf}:{site.root}/etc:{site.root}/web:{site.root}/lib/*"
    assert said[at + 2 :] == started


def test_java_gets_the_flags_that_hadoop_needs(site: Site) -> None:
    flags = site.java("hadoop", "fs")[0]

    assert flags.startswith("@")
    assert tuple(Path(flags[1:]).read_text().splitlines()) == JAVA_FLAGS


def test_the_environment_of_hadoops_own_scripts_is_understood(site: Site) -> None:
    said = site.java(
        "hadoop",
        "fs",
        HADOOP_HEAPSIZE_MAX="512",
        HADOOP_OPTS="-Da=1 -Db=*",
        HADOOP_CLIENT_OPTS="-Dc=3",
        HADOOP_CLASSPATH="/extra/*",
        HADOOP_ROOT_LOGGER="WARN,console",
    )

    assert [word for word in said if word[:4] in ("-Xmx", "-Da=", "-Db=", "-Dc=")] == [
        "-Xmx512m",
        "-Da=1",
        "-Db=*",
        "-Dc=3",
    ]
    assert "-Dhadoop.root.logger=WARN,console" in said
    assert said[said.index("-cp") + 1].endswith("/lib/*:/extra/*")
    first = site.java("hadoop", "fs", HADOOP_CLASSPATH="/extra/*", HADOOP_USER_CLASSPATH_FIRST="true")
    assert first[first.index("-cp") + 1].startswith("/extra/*:")
    assert "-Xmx2g" in site.java("hadoop", "fs", HADOOP_HEAPSIZE_MAX="2g")


def test_options_before_the_command(site: Site, tmp_path: Path) -> None:
    said = site.java("yarn", "--config", str(tmp_path), "--loglevel", "DEBUG", "node")

    assert said[said.index("-cp") + 1].startswith(f"{tmp_path}:")
    assert "-Dhadoop.root.logger=DEBUG,console" in said


def test_it_works_by_a_link_and_from_the_path(site: Site, tmp_path: Path) -> None:
    link = tmp_path / "hadoop"
    link.symlink_to(site.root / "bin/hadoop")
    by_link = subprocess.run([link, "classpath"], env=site.env, capture_output=True, text=True, check=True)
    by_path = subprocess.run(
        ["/bin/sh", "-c", "hadoop classpath"],
        env=site.env | {"PATH": f"{site.root}/bin:{site.env['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )

    assert by_link.stdout == by_path.stdout == f"{site.conf}:{site.root}/etc:{site.root}/web:{site.root}/lib/*\n"


@pytest.mark.parametrize(
    ("arguments", "env", "said"),
    [
        (["frobnicate"], {}, "hadoop: frobnicate is neither a command nor a class"),
        (["fs"], {"HADOOP_CONF_DIR": ""}, "hadoop: HADOOP_CONF_DIR is not set; `fawkes env` prints it"),
        (["fs"], {"HADOOP_CONF_DIR": "/no/such"}, "HADOOP_CONF_DIR is /no/such, which is no folder"),
        (["fs"], {"JAVA_HOME": "/no/such"}, "JAVA_HOME is /no/such, which has no bin/java"),
        (["--config"], {}, "--config needs a folder"),
        ([], {}, "Usage: hadoop"),
    ],
)
def test_a_mistake_is_told(site: Site, arguments: list[str], env: dict[str, str], said: str) -> None:
    ran = site.run("hadoop", *arguments, **env)

    assert ran.returncode == 1
    assert said in ran.stderr
    assert ran.stdout == ""


def test_help_lists_every_command(site: Site) -> None:
    ran = site.run("hdfs", "--help")

    assert ran.returncode == 0
    assert {"  dfs", "  dfsadmin", "  classpath", "  fsck"} <= set(ran.stdout.splitlines())
