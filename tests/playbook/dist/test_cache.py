from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path
from threading import Event, Thread

import pytest

from fawkes.base.errors import FawkesError, UserError
from fawkes.playbook.dist import cache
from fawkes.playbook.dist.manifest import Fault
from fawkes.playbook.dist.maven import Say
from fawkes.playbook.dist.pins import PINS, Pin
from tests.playbook.dist.helpers import JARS, give


def tree(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def test_get_makes_a_whole_release(small: Pin, cache_dir: Path) -> None:
    got = cache.get(small, resolve=give)

    assert got.made
    assert got.release.root == str(cache_dir / "hadoop-1.0.0")
    assert got.release.classpath("/conf").split(":")[0] == "/conf"
    folder = cache_dir / "hadoop-1.0.0"
    assert {path: (folder / path).read_bytes() for path in JARS} == JARS
    assert os.access(folder / "bin" / "hadoop", os.X_OK)
    checked = subprocess.run(["sha256sum", "--quiet", "-c", "MANIFEST.sha256"], cwd=folder, check=False)
    assert checked.returncode == 0
    assert (folder / "web/webapps/hdfs/.keep").is_file()


def test_a_second_get_does_nothing(small: Pin, cache_dir: Path) -> None:
    cache.get(small, resolve=give)
    before = (cache_dir / "hadoop-1.0.0").stat()

    got = cache.get(small, resolve=lambda *_: pytest.fail("asked Maven"))

    assert not got.made
    assert (cache_dir / "hadoop-1.0.0").stat() == before


def test_again_replaces_a_damaged_release(small: Pin, cache_dir: Path) -> None:
    cache.get(small, resolve=give)
    (cache_dir / "hadoop-1.0.0/lib/guava-9.jar").write_text("rot")
    assert cache.look(small).faults == (Fault("lib/guava-9.jar", "damaged"),)

    assert cache.get(small, again=True, resolve=give).made

    assert cache.look(small).faults == ()
    assert not list(cache_dir.glob(".*.part-*"))


def test_a_missing_file_is_brought_back_without_being_told(small: Pin, cache_dir: Path) -> None:
    cache.get(small, resolve=give)
    (cache_dir / "hadoop-1.0.0/lib/guava-9.jar").unlink()

    assert cache.get(small, resolve=give).made


def test_a_release_of_another_fawkes_is_made_anew(small: Pin, cache_dir: Path) -> None:
    cache.get(small, resolve=give)
    (cache_dir / "hadoop-1.0.0/MANIFEST.sha256").write_text("of another version\n")

    with pytest.raises(UserError, match=r"fawkes dist get 1\.0\.0"):
        cache.cached(small)
    assert cache.get(small, resolve=give).made
    assert cache.cached(small).version == "1.0.0"


def test_look_names_every_fault(small: Pin, cache_dir: Path) -> None:
    folder = Path(cache.get(small, resolve=give).release.root)
    (folder / "lib/guava-9.jar").unlink()
    (folder / "lib/planted.jar").write_text("x")
    (folder / "bin/hadoop").write_text("rm -rf /")
    (folder / "MANIFEST.sha256").unlink()

    assert cache.look(small).faults == (
        Fault("bin/hadoop", "damaged"),
        Fault("lib/guava-9.jar", "missing"),
        Fault("lib/planted.jar", "surplus"),
        Fault("MANIFEST.sha256", "missing"),
    )


def test_other_files_than_the_pinned_ones_are_refused(small: Pin, cache_dir: Path) -> None:
    def tampered(pom: str, into: Path, say: Say) -> None:
        give(pom, into, say)
        (into / "guava-9.jar").write_text("trojan")
        (into / "hadoop-common-1.0.0.jar").unlink()
        (into / "surprise.jar").write_text("x")

    with pytest.raises(FawkesError) as caught:
        cache.get(small, resolve=tampered)

    assert "guava-9.jar is not the file that is pinned" in str(caught.value)
    assert "hadoop-common-1.0.0.jar is missing" in str(caught.value)
    assert "surprise.jar is not part of it" in str(caught.value)
    assert caught.value.exit_status == 1
    assert tree(cache_dir) == {".hadoop-1.0.0.lock"}


def test_a_bad_jar_in_mavens_own_store_is_named(
    small: Pin, cache_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    store = tmp_path / ".m2/repository/com/google/guava/9/guava-9.jar"
    store.parent.mkdir(parents=True)
    store.write_text("rot")

    def rotten(pom: str, into: Path, say: Say) -> None:
        give(pom, into, say)
        (into / "guava-9.jar").write_text("rot")

    with pytest.raises(FawkesError, match="Delete") as caught:
        cache.get(small, resolve=rotten)
    assert str(store) in caught.value.hint


@pytest.mark.parametrize(
    ("failure", "said"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "the disk is full"),
        (OSError(errno.EDQUOT, "Disk quota exceeded"), "the disk is full"),
        (OSError(errno.EACCES, "Permission denied", "/x/lib"), "Permission denied"),
    ],
)
def test_a_disk_that_refuses_leaves_nothing(small: Pin, cache_dir: Path, failure: OSError, said: str) -> None:
    def resolve(pom: str, into: Path, say: Say) -> None:
        (into / "guava-9.jar").write_text("half")
        raise failure

    with pytest.raises(FawkesError, match=said) as caught:
        cache.get(small, resolve=resolve)

    assert "FAWKES_CACHE" in caught.value.hint
    assert tree(cache_dir) == {".hadoop-1.0.0.lock"}


def test_an_interrupt_leaves_nothing_and_the_old_release_as_it_was(small: Pin, cache_dir: Path) -> None:
    cache.get(small, resolve=give)

    def interrupted(pom: str, into: Path, say: Say) -> None:
        (into / "guava-9.jar").write_text("half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cache.get(small, again=True, resolve=interrupted)

    assert cache.look(small).faults == ()
    assert not list(cache_dir.glob(".*.part-*"))


_KILLED = """
import signal, sys
from pathlib import Path
from fawkes.playbook.dist import cache
from fawkes.playbook.dist.pins import Pin

def resolve(pom, into, say):
    (into / "guava-9.jar").write_text("half")
    print("half", flush=True)
    signal.pause()

cache.get(Pin("1.0.0", 11, 22, pinned_in=Path(sys.argv[1])), resolve=resolve)
"""


def test_a_killed_get_is_made_good_by_the_next(small: Pin, cache_dir: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _KILLED, str(small.pinned_in)], stdout=subprocess.PIPE, text=True
    ) as victim:
        assert victim.stdout is not None
        assert victim.stdout.readline() == "half\n"
        victim.send_signal(signal.SIGKILL)
    assert len(list(cache_dir.glob(".*.part-*"))) == 1
    assert not (cache_dir / "hadoop-1.0.0").exists()

    assert cache.get(small, resolve=give).made

    assert not list(cache_dir.glob(".*.part-*"))
    assert cache.look(small).faults == ()


def test_of_two_gets_at_once_one_waits_for_the_other(small: Pin, cache_dir: Path) -> None:
    first_in, second_waits = Event(), Event()
    ends: dict[str, cache.Got] = {}

    def slow(pom: str, into: Path, say: Say) -> None:
        first_in.set()
        assert second_waits.wait(20)
        give(pom, into, say)

    def hear(line: str) -> None:
        if "waiting" in line:
            second_waits.set()

    def second() -> None:
        assert first_in.wait(20)
        ends["second"] = cache.get(small, say=hear, resolve=lambda *_: pytest.fail("asked Maven"))

    thread = Thread(target=second)
    thread.start()
    ends["first"] = cache.get(small, resolve=slow)
    thread.join(20)

    assert ends["first"].made
    assert not ends["second"].made


def test_what_is_not_there_is_told_with_what_to_type(cache_dir: Path) -> None:
    for ask in (cache.cached, cache.look):
        with pytest.raises(UserError, match=r"fawkes dist get 3\.4\.2"):
            ask(PINS["3.4.2"])
    assert cache.there() == []


def test_two_fawkes_of_one_version_agree_on_the_manifest(small: Pin, cache_dir: Path, tmp_path: Path) -> None:
    made = Path(cache.get(small, resolve=give).release.root)

    assert (made / "MANIFEST.sha256").read_text() == cache.wanted_manifest(small)


def test_jars_that_cannot_be_opened_are_named(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    for path, content in JARS.items():
        (tmp_path / path).write_bytes(content)
    (tmp_path / "lib/cut.jar").write_bytes(JARS["lib/guava-9.jar"][:-30])

    assert cache.unreadable_jars(str(tmp_path)) == ["lib/cut.jar"]
