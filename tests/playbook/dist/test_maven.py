from __future__ import annotations

import os
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import pytest

from fawkes.base.errors import DeadlineError, FawkesError, UserError
from fawkes.playbook.dist import maven
from fawkes.playbook.dist.pins import EXAMPLES, PINS, STREAMING, pin
from tests.support.programs import program

Install = Callable[[str], None]
NS = {"m": "http://maven.apache.org/POM/4.0.0"}


@pytest.fixture
def into(tmp_path: Path) -> Path:
    folder = tmp_path / "made" / "lib"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def install_maven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    def install(script: str) -> None:
        programs = tmp_path / "programs"
        program(programs / "mvn", script)
        monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")

    return install


def test_jars_come_into_the_folder_and_the_pom_goes(into: Path, install_maven: Install) -> None:
    install_maven(
        """
        for word; do
            case $word in
                --file=*) grep -q '<artifactId>hadoop-common' "${word#--file=}" || exit 9 ;;
                -DoutputDirectory=*) echo jar >"${word#*=}/a.jar" ;;
            esac
        done
        for n in $(seq 45); do echo "Downloaded from central: https://repo/x/$n.jar (2 kB at 3 kB/s)"; done
        """,
    )
    said: list[str] = []

    maven.resolve(PINS["3.5.0"].pom(), into, said.append)

    assert (into / "a.jar").read_text() == "jar\n"
    assert said == ["20 jars downloaded", "40 jars downloaded"]
    assert [path.name for path in into.parent.iterdir()] == ["lib"]


def test_a_failing_maven_is_told_by_its_own_words_without_passwords(into: Path, install_maven: Install) -> None:
    install_maven(
        """
        echo '[INFO] Scanning for projects...'
        echo '[ERROR] Could not transfer artifact x from/to m (https://joe:secret@mirror/m2): Connection refused' >&2
        echo '[ERROR]'
        echo '[ERROR] Re-run Maven using the -X switch to enable full debug logging.'
        exit 1
        """,
    )

    with pytest.raises(FawkesError) as caught:
        maven.resolve("<project/>", into, lambda line: None)

    assert caught.value.exit_status == 1
    assert "(https://***@mirror/m2): Connection refused" in str(caught.value)
    assert "secret" not in str(caught.value)
    assert "Scanning" not in str(caught.value)
    assert "settings.xml" in caught.value.hint
    assert "[ERROR] Re-run" not in str(caught.value)


def test_of_a_failing_maven_the_cause_alone_is_told(into: Path, install_maven: Install) -> None:
    """Maven puts each complaint into the one before it, and names the place three times."""
    pom, place = "org.eclipse.jdt:ecj:pom:3.38.0", "https://repo.example/m2"
    artifact = f"Could not transfer artifact {pom} from/to central ({place})"
    why = "Unknown host repo.example: Temporary failure in name resolution"
    install_maven(
        f"""
        echo '[ERROR] Failed to execute goal on project java-compiler: Could not resolve dependencies for project '\
            'fawkes:java-compiler:pom:1: Failed to collect dependencies at org.eclipse.jdt:ecj:jar:3.38.0: '\
            '{artifact}: transfer failed for {place}/ecj-3.38.0.pom: {why} -> [Help 1]'
        exit 1
        """,
    )
    with pytest.raises(FawkesError) as caught:
        maven.resolve("<project/>", into, lambda line: None)
    assert caught.value.what == f"Maven failed (exit 1): {artifact}: {why}"


def test_a_full_disk_under_maven_is_told_as_such(into: Path, install_maven: Install) -> None:
    install_maven("echo '[ERROR] x.jar (No space left on device)'; exit 1")

    with pytest.raises(FawkesError, match="Make room on the disk"):
        maven.resolve("<project/>", into, lambda line: None)


def test_a_maven_that_says_nothing_but_fails(into: Path, install_maven: Install) -> None:
    install_maven("exit 3")

    with pytest.raises(FawkesError, match=r"Maven failed \(exit 3\)"):
        maven.resolve("<project/>", into, lambda line: None)


def test_a_maven_that_hangs_is_ended_with_its_children(into: Path, install_maven: Install) -> None:
    """Without the end of the children the pipe stays open and this would wait for them."""
    install_maven("sleep 300 & sleep 300")

    with pytest.raises(DeadlineError, match=r"within 0\.2 s"):
        maven.resolve("<project/>", into, lambda line: None, deadline_s=0.2)


def test_without_maven_or_java_it_says_what_to_install(
    tmp_path: Path, into: Path, install_maven: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    with pytest.raises(FawkesError, match="apt-get install maven"):
        maven.resolve("<project/>", into, lambda line: None)

    install_maven("exit 0")
    with pytest.raises(FawkesError, match=r"Maven needs Java.*apt-get install openjdk-17"):
        maven.resolve("<project/>", into, lambda line: None)


@pytest.mark.parametrize("version", PINS)
def test_the_pom_names_every_artifact_at_its_version(version: str) -> None:
    wanted = PINS[version]
    project = ET.fromstring(wanted.pom())

    artifacts = project.findall("m:dependencies/m:dependency", NS)
    named = {
        (part.findtext("m:artifactId", "", NS), part.findtext("m:classifier", "", NS)): part.findtext(
            "m:version", "", NS
        )
        for part in artifacts
    }
    alone = {part.findtext("m:artifactId", "", NS) for part in artifacts if part.find("m:exclusions", NS) is not None}
    assert len(named) == len(artifacts) == 14
    assert named[("hadoop-yarn-server-timelineservice", "")] == version
    assert named[("hadoop-mapreduce-client-jobclient", "tests")] == version
    assert named[(EXAMPLES, "")] == named[(STREAMING, "")] == "3.4.2"
    assert alone == ({EXAMPLES, STREAMING} if version == "3.5.0" else set())


@pytest.mark.parametrize(("version", "jars"), [("3.5.0", 194), ("3.4.2", 182)])
def test_the_pinned_digests_are_complete(version: str, jars: int) -> None:
    wanted = pin(version)

    assert len(wanted.jars()) == jars
    assert {wanted.examples_jar, wanted.streaming_jar, wanted.jobclient_tests_jar} <= set(wanted.jars())


def test_an_unknown_version_names_those_that_are_known() -> None:
    with pytest.raises(UserError, match=r"'3\.3\.6' is not .* Known are 3\.5\.0, 3\.4\.2"):
        pin("3.3.6")
