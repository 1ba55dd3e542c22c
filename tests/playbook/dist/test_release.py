from __future__ import annotations

import json
from pathlib import Path

import pytest

from fawkes.base.errors import HostError, UserError
from fawkes.playbook.dist.pins import PINS
from fawkes.playbook.dist.release import PROGRAMS, Release, describe
from fawkes.playbook.dist.remote import release_on
from tests.playbook.dist.helpers import LocalShell


def unpack_tarball(folder: Path, version: str) -> Path:
    """Unpacks the part of Apache's tarball that matters."""
    for path in (
        f"share/hadoop/common/hadoop-common-{version}.jar",
        f"share/hadoop/common/hadoop-common-{version}-tests.jar",
        "share/hadoop/common/lib/guava-9.jar",
        f"share/hadoop/hdfs/hadoop-hdfs-{version}.jar",
        f"share/hadoop/yarn/hadoop-yarn-server-resourcemanager-{version}.jar",
        f"share/hadoop/yarn/hadoop-yarn-server-nodemanager-{version}.jar",
        f"share/hadoop/mapreduce/hadoop-mapreduce-client-jobclient-{version}.jar",
        f"share/hadoop/mapreduce/hadoop-mapreduce-client-jobclient-{version}-tests.jar",
        f"share/hadoop/mapreduce/hadoop-mapreduce-examples-{version}.jar",
        f"share/hadoop/mapreduce/sources/hadoop-mapreduce-examples-{version}-sources.jar",
        f"share/hadoop/tools/lib/hadoop-streaming-{version}.jar",
        "lib/native/libhadoop.so.1.0.0",
        "bin/hadoop",
    ):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(path)
    return folder


@pytest.fixture
def tarball(tmp_path: Path) -> Path:
    return unpack_tarball(tmp_path / "opt/hadoop", "3.3.6")


def test_a_tarballs_layout(tarball: Path) -> None:
    release = Release.from_folder(tarball)

    assert (release.version, release.layout, release.root) == ("3.3.6", "tarball", str(tarball))
    assert (release.min_java, release.max_java) == (11, 22)
    mapreduce = f"{tarball}/share/hadoop/mapreduce"
    assert release.examples_jar == f"{mapreduce}/hadoop-mapreduce-examples-3.3.6.jar"
    assert release.jobclient_tests_jar == f"{mapreduce}/hadoop-mapreduce-client-jobclient-3.3.6-tests.jar"
    assert release.streaming_jar == f"{tarball}/share/hadoop/tools/lib/hadoop-streaming-3.3.6.jar"
    entries = release.classpath("/etc/conf").split(":")
    assert entries[:3] == ["/etc/conf", f"{tarball}/share/hadoop/common/lib/*", f"{tarball}/share/hadoop/common/*"]
    assert f"{tarball}/share/hadoop/hdfs" in entries
    assert release.task_class_path[0] == "share/hadoop/common/lib/*"


def test_native_libraries_follow_the_release_to_another_folder(tarball: Path) -> None:
    there = Release.from_folder(tarball).at("/srv/hadoop")

    argv = there.daemon_argv("fs", java_home="/java", conf_dir="/conf", heap_mb=64)

    assert "-Djava.library.path=/srv/hadoop/lib/native" in argv
    assert not [word for word in argv if str(tarball) in word]


@pytest.mark.parametrize(("version", "java"), [("3.5.0", "17+"), ("3.4.3", "11-22"), ("4.0.0-beta1", "17+")])
def test_the_java_that_a_tarball_needs(tmp_path: Path, version: str, java: str) -> None:
    assert Release.from_folder(unpack_tarball(tmp_path / "h", version)).java_range == java


def test_a_tarball_without_extras_says_so_when_they_are_wanted(tarball: Path) -> None:
    for file in [*tarball.rglob("*examples*"), *tarball.rglob("*streaming*"), *tarball.rglob("*-tests.jar")]:
        file.unlink()
    release = Release.from_folder(tarball)

    for jar in ("examples_jar", "streaming_jar", "jobclient_tests_jar"):
        with pytest.raises(UserError, match=r"has no jar of hadoop-"):
            getattr(release, jar)


def test_a_tarball_that_is_not_complete(tarball: Path) -> None:
    next(tarball.rglob("*nodemanager*")).unlink()

    with pytest.raises(UserError, match="not complete: no share/hadoop/yarn/hadoop-yarn-server-nodemanager"):
        Release.from_folder(tarball)


@pytest.mark.parametrize("name", ["", "no/such/folder"])
def test_a_folder_that_is_no_release(tmp_path: Path, name: str) -> None:
    with pytest.raises(UserError, match="not a Hadoop release") as caught:
        Release.from_folder(tmp_path / name)
    assert "release.json" in caught.value.hint
    assert caught.value.where == str(tmp_path / name)


def test_the_folder_above_a_release_is_none(tarball: Path) -> None:
    with pytest.raises(UserError, match="not a Hadoop release"):
        Release.from_folder(tarball.parent)


def test_the_description_of_a_made_release(tmp_path: Path) -> None:
    (tmp_path / "release.json").write_text(describe(PINS["3.5.0"]))

    release = Release.from_folder(tmp_path)

    assert (release.version, release.layout, release.java_range) == ("3.5.0", "artifacts", "17+")
    # Not published at 3.5.0.
    assert release.examples_jar == f"{tmp_path}/lib/hadoop-mapreduce-examples-3.4.2.jar"
    assert release.jobclient_tests_jar == f"{tmp_path}/lib/hadoop-mapreduce-client-jobclient-3.5.0-tests.jar"
    assert release.classpath("/c") == f"/c:{tmp_path}/etc:{tmp_path}/web:{tmp_path}/lib/*"
    assert release.task_class_path == ("lib/*",)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"layout": 1}', '{"layout": 1, "version": "3.5.0", "class_path": 3}', "null"]
)
def test_a_damaged_description(tmp_path: Path, text: str) -> None:
    (tmp_path / "release.json").write_text(text)

    with pytest.raises(UserError, match="not the description of a release") as caught:
        Release.from_folder(tmp_path)
    assert caught.value.where == f"{tmp_path}/release.json"


def test_a_description_of_a_later_fawkes(tmp_path: Path) -> None:
    facts = json.loads(describe(PINS["3.5.0"])) | {"layout": 2}
    (tmp_path / "release.json").write_text(json.dumps(facts))

    with pytest.raises(UserError, match="layout 2, this version of Fawkes knows 1"):
        Release.from_folder(tmp_path)


def test_the_arguments_of_a_daemon(tmp_path: Path) -> None:
    (tmp_path / "release.json").write_text(describe(PINS["3.5.0"]))
    release = Release.from_folder(tmp_path).at("/srv/hadoop-3.5.0")

    argv = release.daemon_argv(
        "datanode", java_home="/java", conf_dir="/conf", heap_mb=128, extra=["-Xmx99m", "-XX:+UseSerialGC"]
    )

    assert argv[:3] == ["/java/bin/java", "-Dproc_datanode", "-Xmx128m"]
    assert "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED" in argv
    assert argv.index("-Xmx99m") > argv.index("-Xmx128m")
    assert argv[-3:] == [
        "-cp",
        "/conf:/srv/hadoop-3.5.0/etc:/srv/hadoop-3.5.0/web:/srv/hadoop-3.5.0/lib/*",
        "org.apache.hadoop.hdfs.server.datanode.DataNode",
    ]


def test_the_format_of_a_namenode_never_asks(tarball: Path) -> None:
    argv = Release.from_folder(tarball).daemon_argv("namenode-format", java_home="/j", conf_dir="/c", heap_mb=64)

    assert argv[-3:] == [*PROGRAMS["namenode"], "-format", "-nonInteractive"]


@pytest.mark.parametrize("program", PROGRAMS)
def test_no_program_names_a_garbage_collector_by_itself(tarball: Path, program: str) -> None:
    argv = Release.from_folder(tarball).daemon_argv(program, java_home="/j", conf_dir="/c", heap_mb=64)

    assert not [word for word in argv if "GC" in word]


def test_the_environment_holds_every_home(tarball: Path) -> None:
    environment = Release.from_folder(tarball).environment("/java", "/conf")

    assert environment["JAVA_HOME"] == "/java"
    assert environment["HADOOP_CONF_DIR"] == environment["YARN_CONF_DIR"] == "/conf"
    assert {value for name, value in environment.items() if name.startswith("HADOOP_") and name.endswith("_HOME")} == {
        str(tarball)
    }


def test_a_release_on_a_node_is_recognised_as_here(tarball: Path, tmp_path: Path) -> None:
    made = tmp_path / "made"
    made.mkdir()
    (made / "release.json").write_text(describe(PINS["3.4.2"]))

    for folder in (tarball, made):
        assert release_on(LocalShell(), "node01", str(folder)) == Release.from_folder(folder)


def test_a_folder_on_a_node_that_is_no_release_names_the_node(tmp_path: Path) -> None:
    with pytest.raises(HostError, match=rf"^node01: {tmp_path}: this is not a Hadoop release"):
        release_on(LocalShell(), "node01", str(tmp_path))
    with pytest.raises(HostError, match=r"^node01: reading /no/such failed"):
        release_on(LocalShell(), "node01", "/no/such")
