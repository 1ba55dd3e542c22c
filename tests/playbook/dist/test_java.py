from __future__ import annotations

import os
from pathlib import Path

import pytest

from fawkes.base.errors import HostError
from fawkes.playbook.dist.compile.java import Java, choose, find_java, major_of
from fawkes.playbook.dist.pins import PINS
from tests.playbook.dist.helpers import LocalShell
from tests.support.programs import program

HADOOP_35, HADOOP_34 = PINS["3.5.0"], PINS["3.4.2"]


def install(home: Path, version: str, *, described: bool = True) -> Path:
    """A Java whose program says its version as OpenJDK does; ``described`` adds the file that tells it too."""
    program(home / "bin" / "java", f"echo 'Picked up JAVA_TOOL_OPTIONS: -Dx=y' >&2\necho '{version}' >&2")
    if described:
        (home / "release").write_text(f'IMPLEMENTOR="X"\nJAVA_VERSION={version.split()[2]}\n')
    return home


@pytest.mark.parametrize(
    ("text", "major"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('java version "1.8.0_402"', 8),
        ('openjdk version "11" 2018-09-25', 11),
        ('openjdk version "26-ea" 2026-03-17', 26),
        ('Picked up JAVA_TOOL_OPTIONS: -Xmx1g\nopenjdk version "21.0.2" 2024', 21),
        ("Error: could not find libjava.so", None),
        ("", None),
    ],
)
def test_the_version_in_what_java_writes(text: str, major: int | None) -> None:
    assert major_of(text) == major


@pytest.mark.parametrize("described", [True, False])
def test_the_inventorys_java_is_the_one(tmp_path: Path, described: bool) -> None:
    home = install(tmp_path / "jdk", 'openjdk version "21.0.2" 2024', described=described)

    assert find_java(LocalShell(), "node01", HADOOP_35, java_home=str(home)).home == str(home)


def test_a_wrong_java_home_is_not_replaced_by_another(tmp_path: Path) -> None:
    old = install(tmp_path / "old", 'openjdk version "11.0.2" 2019')
    good = install(tmp_path / "good", 'openjdk version "17.0.2" 2022')
    shell = LocalShell(env={"PATH": os.environ["PATH"], "JAVA_HOME": str(good)})

    with pytest.raises(HostError) as caught:
        find_java(shell, "node01", HADOOP_35, java_home=str(old))
    assert str(caught.value) == (
        f"node01: the Java in {old} is version 11. "
        "Hadoop 3.5.0 needs Java 17 or newer; correct java_home of the node in inventory.toml"
    )
    with pytest.raises(HostError, match="there is no Java in /no/such"):
        find_java(shell, "node01", HADOOP_35, java_home="/no/such")


def test_java_home_of_the_node_comes_before_its_path(tmp_path: Path) -> None:
    named = install(tmp_path / "named", 'openjdk version "17.0.1" 2021')
    on_path = install(tmp_path / "on path", 'openjdk version "17.0.2" 2022')
    path = f"{on_path}/bin:{os.environ['PATH']}"

    assert find_java(LocalShell(env={"PATH": path, "JAVA_HOME": str(named)}), "n", HADOOP_35).home == str(named)
    assert find_java(LocalShell(env={"PATH": path}), "n", HADOOP_35).home == str(on_path)


def test_a_java_that_does_not_fit_is_passed_over(tmp_path: Path) -> None:
    """A Java too new for Hadoop 3.4 is found first."""
    new = install(tmp_path / "new", 'openjdk version "25.0.1" 2025')
    fits = install(tmp_path / "fits", 'openjdk version "17.0.2" 2022')
    shell = LocalShell(env={"PATH": f"{fits}/bin:{os.environ['PATH']}", "JAVA_HOME": str(new)})

    assert find_java(shell, "n", HADOOP_34).home == str(fits)
    assert find_java(shell, "n", HADOOP_35).home == str(new)


def test_a_link_on_the_path_leads_to_the_home(tmp_path: Path) -> None:
    home = install(tmp_path / "jdk-17", 'openjdk version "17.0.2" 2022')
    links = tmp_path / "links"
    links.mkdir()
    (links / "java").symlink_to(home / "bin" / "java")

    java = find_java(LocalShell(env={"PATH": f"{links}:{os.environ['PATH']}"}), "n", HADOOP_35)

    assert (java.home, java.major) == (str(home), 17)


def test_a_java_that_does_not_run_is_told_with_its_words(tmp_path: Path) -> None:
    home = install(tmp_path / "broken", "cannot open shared object libjli.so", described=False)
    (home / "bin/java").write_text("#!/bin/sh\necho 'cannot open libjli.so' >&2\nexit 127\n")

    with pytest.raises(HostError, match=r"does not run \(cannot open libjli\.so\)"):
        find_java(LocalShell(), "node01", HADOOP_35, java_home=str(home))


def test_without_any_java_it_is_told_what_to_install() -> None:
    with pytest.raises(HostError) as caught:
        choose([], HADOOP_35, "node07")
    assert caught.value.host == "node07"
    assert "Java 17 or newer: install it (`apt-get install openjdk-17-jre-headless`)" in str(caught.value)

    with pytest.raises(HostError, match=r"Java in /a is version 8; the Java in /b is version 25\..*Java 11 to 22"):
        choose([Java("/a", 8, ""), Java("/b", 25, "")], HADOOP_34, "node07")
