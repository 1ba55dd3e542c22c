from __future__ import annotations

import os
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path
from threading import Barrier, Thread

import pytest

from fawkes.base.errors import ExitStatus, HostError, PartialError
from fawkes.playbook.dist import cache
from fawkes.playbook.dist.pins import Pin
from fawkes.playbook.dist.release import Release
from fawkes.playbook.dist.spread import Parcel, Spread, spread
from tests.playbook.dist.helpers import FaultyShell, LocalShell, give
from tests.playbook.dist.test_release import unpack_tarball

NAME = "hadoop-1.0.0"


@pytest.fixture
def release(small: Pin, cache_dir: Path) -> Release:
    return cache.get(small, resolve=give).release


def contents(folder: Path | str) -> dict[str, bytes]:
    folder = Path(folder)
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def litter(place: Path) -> list[str]:
    return [path.name for path in place.iterdir() if path.name.startswith(".")]


def test_only_hosts_without_it_get_it(release: Release, tmp_path: Path) -> None:
    places = {f"node0{number}": str(tmp_path / f"node0{number}" / "dist") for number in (1, 2, 3)}
    shell = LocalShell()

    first = spread(release, {host: places[host] for host in ("node01", "node02")}, shell)
    second = spread(release, places, shell)

    assert sorted(first.copied) == ["node01", "node02"]
    assert second.copied == ["node03"]
    assert shell.copies == [*shell.copies[:2], "node03"]
    assert second.roots == {host: f"{place}/{NAME}" for host, place in places.items()}
    assert not first.failed
    assert not second.failed
    for root in second.roots.values():
        assert contents(root) == contents(release.root)
        assert os.access(f"{root}/bin/hadoop", os.X_OK)
        assert Release.from_folder(root) == release.at(root)


def test_hosts_that_share_a_folder_get_it_once(release: Release, tmp_path: Path) -> None:
    places = {f"node{number:02d}": str(tmp_path / "shared") for number in range(8)}
    shell = LocalShell()

    end = spread(release, places, shell)

    assert len(shell.copies) == 1
    assert end.copied == shell.copies
    assert set(end.roots) == set(places)
    assert litter(tmp_path / "shared") == []


def test_when_the_one_that_copies_fails_another_host_of_the_folder_does_it(release: Release, tmp_path: Path) -> None:
    places = {"node01": str(tmp_path / "shared"), "node02": str(tmp_path / "shared")}
    shell = FaultyShell(cut_off=frozenset({"node01"}))

    # One at a time, so that node01 is the first to claim the folder.
    end = spread(release, places, shell, fan_out=1)

    assert end.copied == ["node02"]
    assert list(end.failed) == ["node01"]
    assert end.failed["node01"].exit_status == ExitStatus.FAILED


def test_two_controllers_at_once_end_with_one_whole_copy(release: Release, tmp_path: Path) -> None:
    places = {"node01": str(tmp_path / "shared")}
    together = Barrier(2)

    def wait(content: bytes) -> bytes:
        together.wait(20)
        return content

    ends: list[Spread] = []
    threads = [
        Thread(target=lambda: ends.append(spread(release, places, FaultyShell(faults={"node01": wait}))))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)

    assert [end.failed for end in ends] == [{}, {}]
    assert contents(tmp_path / "shared" / NAME) == contents(release.root)
    assert litter(tmp_path / "shared") == []


def test_a_folder_with_other_contents_is_left_alone(release: Release, tmp_path: Path) -> None:
    other = tmp_path / "dist" / NAME
    other.mkdir(parents=True)
    (other / "MANIFEST.sha256").write_text("of another version of Fawkes\n")
    (other / "in use.jar").write_text("x")
    before = contents(other)

    end = spread(release, {"node01": str(tmp_path / "dist")}, LocalShell())
    again = spread(release, {"node01": str(tmp_path / "dist")}, LocalShell())

    tagged = f"{other}-{Parcel.of(release).digest[:8]}"
    assert end.roots == again.roots == {"node01": tagged}
    assert again.copied == []
    assert contents(other) == before
    assert contents(tagged) == contents(release.root)


@pytest.mark.parametrize("verify", [False, True])
def test_a_copy_that_lost_a_file_is_replaced(release: Release, tmp_path: Path, verify: bool) -> None:
    place = {"node01": str(tmp_path / "dist")}
    root = spread(release, place, LocalShell()).roots["node01"]
    Path(root, "lib/guava-9.jar").unlink()
    lines: list[str] = []

    end = spread(release, place, LocalShell(), verify=verify, say=lines.append)

    assert end.copied == ["node01"]
    assert any("damaged" in line for line in lines)
    assert contents(root) == contents(release.root)
    assert litter(tmp_path / "dist") == []


def test_a_damaged_file_is_found_when_asked_for(release: Release, tmp_path: Path) -> None:
    place = {"node01": str(tmp_path / "dist")}
    root = spread(release, place, LocalShell()).roots["node01"]
    Path(root, "lib/guava-9.jar").write_text("rot")

    assert spread(release, place, LocalShell()).copied == []
    assert spread(release, place, LocalShell(), verify=True).copied == ["node01"]
    assert spread(release, place, LocalShell(), verify=True).copied == []


def flipped(content: bytes) -> bytes:
    middle = content.index(b"guava" * 10)
    return content[:middle] + b"GUAVA" + content[middle + 5 :]


def test_what_arrives_cut_or_changed_is_thrown_away(release: Release, tmp_path: Path) -> None:
    places = {host: str(tmp_path / host) for host in ("cut", "changed", "good")}
    faults = {"cut": lambda content: content[: len(content) // 2], "changed": flipped}

    end = spread(release, places, FaultyShell(faults=faults))

    assert list(end.roots) == ["good"]
    assert set(end.failed) == {"cut", "changed"}
    assert "damaged" in str(end.failed["changed"])
    assert str(end.failed["cut"]).startswith(f"cut: copying {NAME} to {tmp_path}/cut/{NAME} failed")
    assert litter(tmp_path / "cut") == litter(tmp_path / "changed") == []
    with pytest.raises(PartialError, match="1 ok, 2 failed"):
        end.check()
    assert spread(release, places, LocalShell()).copied == ["cut", "changed"]


def test_a_full_disk_on_the_node_leaves_nothing(release: Release, tmp_path: Path) -> None:
    """A limit of the size of files stands for the disk; the big file does not fit."""
    end = spread(release, {"node01": str(tmp_path / "dist")}, LocalShell(before={"node01": "ulimit -f 1"}))

    with pytest.raises(HostError, match="cannot be written to") as caught:
        end.check()
    assert "disk is not full" in caught.value.hint
    assert litter(tmp_path / "dist") == []
    assert not (tmp_path / "dist" / NAME).exists()


def test_a_folder_that_cannot_be_made_is_told_by_its_host(release: Release, tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    end = spread(release, {"node01": f"{tmp_path}/file/dist"}, LocalShell())

    assert end.failed["node01"].where == "node01"
    assert "cannot be written to" in str(end.failed["node01"])


def test_what_a_node_says_besides_does_not_matter(release: Release, tmp_path: Path) -> None:
    greeting = {"node01": "echo Welcome to node01; echo '@ home'"}

    end = spread(release, {"node01": str(tmp_path / "dist")}, LocalShell(before=greeting))

    assert end.roots == {"node01": f"{tmp_path}/dist/{NAME}"}


def test_folders_with_strange_names(release: Release, tmp_path: Path) -> None:
    place = tmp_path / "a b" / "$(touch bad)'\""

    end = spread(release, {"node01": str(place)}, LocalShell())

    assert contents(end.roots["node01"]) == contents(release.root)


def test_a_sites_own_release_is_spread_without_its_documentation(tmp_path: Path) -> None:
    folder = unpack_tarball(tmp_path / "hadoop-3.3.6", "3.3.6")
    (folder / "share/doc").mkdir()
    (folder / "share/doc/index.html").write_text("x")
    (folder / "lib/native/libhadoop.so").symlink_to("libhadoop.so.1.0.0")
    release = Release.from_folder(folder)

    end = spread(release, {"node01": str(tmp_path / "node01")}, LocalShell(), verify=True)

    root = Path(end.roots["node01"])
    assert Release.from_folder(root) == release.at(str(root))
    assert not (root / "share/doc").exists()
    assert (root / "lib/native/libhadoop.so").readlink() == Path("libhadoop.so.1.0.0")
    assert spread(release, {"node01": str(tmp_path / "node01")}, LocalShell()).copied == []


def test_the_stream_is_a_tar_that_every_tar_reads(release: Release, tmp_path: Path) -> None:
    sent = tmp_path / "sent.tar"
    with Parcel.of(release).stream() as stream:
        sent.write_bytes(stream.read())

    with tarfile.open(sent) as archive:
        members = archive.getmembers()
    assert {member.name for member in members} == set(contents(release.root))
    assert {(member.uid, member.mtime) for member in members} == {(0, 0)}
    listed = subprocess.run(["tar", "-tf", sent], capture_output=True, text=True, check=True)
    assert len(listed.stdout.splitlines()) == len(members)


def test_reading_in_small_pieces_gives_the_same_stream(release: Release) -> None:
    with Parcel.of(release).stream() as whole, Parcel.of(release).stream() as pieces:
        assert b"".join(iter(lambda: pieces.read(7001), b"")) == whole.read()


def _append(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"more")


def _link(path: Path) -> None:
    path.unlink()
    path.symlink_to("/etc/hostname")


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("lib/{jar}", _append),
        ("lib/{jar}", Path.unlink),
        ("lib/{jar}", _link),
        ("lib/{jar}", lambda path: path.chmod(0o666)),
        ("lib/aaa.jar", Path.touch),
        ("lib/aaa.jar", lambda path: path.symlink_to("/etc/hostname")),
        ("lib", lambda path: path.chmod(0o777)),
    ],
    ids=["changed", "gone", "a link", "open to all", "one more", "one more link", "an open folder"],
)
def test_what_is_wrong_with_a_copy_is_named_and_put_right(
    name: str, change: Callable[[Path], object], release: Release, tmp_path: Path
) -> None:
    places = {"node01": str(tmp_path / "dist")}
    root = Path(spread(release, places, LocalShell()).roots["node01"])
    assert not spread(release, places, LocalShell(), verify=True).wrong
    name = name.replace("{jar}", min(path.name for path in (root / "lib").iterdir()))
    change(root / name)

    end = spread(release, places, LocalShell(), verify=True)

    assert end.wrong == {"node01": (name,)}
    assert contents(root) == contents(release.root)
    assert not spread(release, places, LocalShell(), verify=True).wrong
