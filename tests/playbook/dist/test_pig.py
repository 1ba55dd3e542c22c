from __future__ import annotations

import hashlib
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from fawkes.base.errors import FawkesError, UserError
from fawkes.cli.main import cli
from fawkes.playbook.dist import cache, manifest
from fawkes.playbook.dist.maven import Say
from fawkes.playbook.dist.pig import DEFAULT_PIG, MAIN, PIG_PINS, PigPin, pig_release
from fawkes.playbook.dist.pins import PINS
from fawkes.playbook.dist.release import Release, describe
from fawkes.playbook.dist.spread import spread
from tests.playbook.dist.helpers import LocalShell, jar

NS = {"m": "http://maven.apache.org/POM/4.0.0"}
PIG = PIG_PINS[DEFAULT_PIG]
JARS = {
    f"lib/{name}": jar(name) for name in ("pig-1.0.jar", "commons-collections-3.jar", "roaringbitmap-for-pig-1.jar")
}


def give(pom: str, into: Path, say: Say) -> None:
    for path, content in JARS.items():
        (into.parent / path).write_bytes(content)


@pytest.fixture
def small(tmp_path: Path) -> PigPin:
    """A Pig of three small jars."""
    digests = {path: hashlib.sha256(content).hexdigest() for path, content in JARS.items()}
    (tmp_path / "pig-1.0.sha256").write_text(manifest.render(digests))
    return replace(PIG, version="1.0", pinned_in=tmp_path)


def test_the_pom_leaves_pig_s_own_dependencies_out_and_renames_roaringbitmap() -> None:
    project = ET.fromstring(PIG.pom())
    named = {part.findtext("m:artifactId", "", NS): part for part in project.findall("m:dependencies/m:dependency", NS)}

    assert named["pig"].findtext("m:exclusions/m:exclusion/m:artifactId", "", NS) == "*"
    assert not {"guava", "slf4j-api", "commons-cli", "commons-logging", "commons-codec", "servlet-api"} & named.keys()
    (relocation,) = project.iterfind(".//m:relocation", NS)
    assert [part.text for part in relocation] == ["org.roaringbitmap", "org.apache.pig.org.roaringbitmap"]
    goals = project.findtext("m:build/m:defaultGoal", "", NS).split()
    assert [goal.rpartition(":")[2] for goal in goals] == ["jar", "shade", "copy-dependencies"]


def test_every_jar_is_pinned_and_what_hadoop_has_in_another_version_is_not_among_them() -> None:
    names = {Path(path).name for path in PIG.jars()}
    hadoop = {Path(path).name for path in PINS["3.5.0"].jars()}

    assert {"pig-0.18.0.jar", "roaringbitmap-for-pig-0.7.45.jar"} <= names
    stems = {name.rpartition("-")[0] for name in names - hadoop}
    assert stems & {name.rpartition("-")[0] for name in hadoop} <= {"jline"}


def test_it_is_made_once_checked_listed_and_named_when_it_is_damaged(small: PigPin, cache_dir: Path) -> None:
    with pytest.raises(UserError, match=r"Pig 1.0 is not in the cache.*`fawkes dist get pig` makes it"):
        cache.cached_pig(small)

    assert cache.provide(small, resolve=give)
    assert not cache.provide(small, resolve=lambda *_: pytest.fail("asked Maven"))
    release = cache.cached_pig(small)

    assert release.root == str(cache_dir / "pig-1.0")
    assert cache.look(small).faults == ()
    (cache_dir / "pig-1.0" / "lib" / "pig-1.0.jar").write_text("rot")
    assert [fault.path for fault in cache.look(small).faults] == ["lib/pig-1.0.jar"]


def test_another_file_than_the_pinned_one_is_refused(small: PigPin, cache_dir: Path) -> None:
    def other(pom: str, into: Path, say: Say) -> None:
        give(pom, into, say)
        (into / "pig-1.0.jar").write_bytes(b"other")

    with pytest.raises(
        FawkesError, match=r"other files than those of the Pig 1.0 that Fawkes knows: pig-1.0.jar is not the file"
    ):
        cache.provide(small, resolve=other)
    assert not (cache_dir / "pig-1.0").exists()


def test_it_is_spread_as_a_release_is(small: PigPin, cache_dir: Path, tmp_path: Path) -> None:
    cache.provide(small, resolve=give)
    shell = LocalShell()

    first = spread(cache.cached_pig(small), {"a": str(tmp_path / "a")}, shell)
    again = spread(cache.cached_pig(small), {"a": str(tmp_path / "a")}, shell)

    assert (first.copied, again.copied, first.failed) == (["a"], [], {})
    assert first.roots == again.roots == {"a": str(tmp_path / "a" / "pig-1.0")}
    assert (tmp_path / "a" / "pig-1.0" / "lib" / "pig-1.0.jar").read_bytes() == JARS["lib/pig-1.0.jar"]


def test_its_client_has_hadoop_s_classes_first_and_ships_what_tasks_need(small: PigPin) -> None:
    hadoop = Release.from_listing("/h", (), describe(PINS["3.5.0"]))

    argv = pig_release(small, "/p").argv(hadoop, java_home="/j", conf_dir="/c", heap_mb=300)

    assert (argv[0], argv[-1]) == ("/j/bin/java", MAIN)
    assert argv[argv.index("-cp") + 1] == "/c:/h/etc:/h/web:/h/lib/*:/p/lib/*"
    shipped = "/p/lib/commons-collections-3.jar:/p/lib/roaringbitmap-for-pig-1.jar"
    assert f"-Dpig.additional.jars={shipped}" in argv[: argv.index("-cp")]
    assert "-Xmx300m" in argv


def test_the_command_says_what_it_would_do(cache_dir: Path) -> None:
    ended = CliRunner().invoke(cli, ["dist", "get", "pig", "--dry-run"])
    assert ended.stdout == f"would resolve the 13 jars of Pig 0.18.0 by Maven into {cache_dir}/pig-0.18.0\n"
