"""Outputs to persistent storage: whole, verified, never over other data."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fawkes.base.errors import FawkesError, RefusedError
from fawkes.live.data.loading import StoppedError
from fawkes.live.data.saved import MANIFEST, Stake, UnsavedError
from fawkes.live.data.saving import Saved, SaveOrder
from fawkes.live.wire.webhdfs import Hdfs, HdfsFailedError, HdfsFile, Refused
from tests.live.fake_hdfs import DATANODES, FakeHdfs
from tests.live.saves import BLOCK, FILES, StopAfter, an_output, check, contents, save, stakes, unsaved, working


@pytest.fixture
def server() -> Iterator[FakeHdfs]:
    with an_output() as server:
        yield server


def test_an_output_is_saved_whole(server: FakeHdfs, target: Path) -> None:
    saved = save(server, target)
    assert contents(target) == server.files("/out/wc")
    assert (target / "empty").is_dir()
    assert saved == Saved(files=5, size=sum(FILES.values()), already=False)
    assert [path.name for path in target.parent.iterdir()] == ["wc"]
    check(server, target)


def test_sha256sum_understands_the_manifest(server: FakeHdfs, target: Path) -> None:
    save(server, target)
    said = subprocess.run(["sha256sum", "-c", MANIFEST], cwd=target, capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stderr
    assert said.stdout.count(": OK") == len(FILES)


def test_saved_files_have_the_times_of_hdfs(server: FakeHdfs, target: Path) -> None:
    save(server, target)
    entry = server.tree["/out/wc/part-r-00001"]
    assert (target / "part-r-00001").stat().st_mtime_ns == entry.changed_ms * 1_000_000


def test_saving_the_same_again_is_done_already(server: FakeHdfs, target: Path) -> None:
    save(server, target)
    server.reads.clear()
    assert save(server, target).already
    assert server.reads == []


def test_a_folder_made_for_it_is_used(server: FakeHdfs, target: Path) -> None:
    target.mkdir(parents=True)
    assert not save(server, target).already
    assert contents(target) == server.files("/out/wc")


def test_a_folder_of_somebody_else_is_refused(server: FakeHdfs, target: Path) -> None:
    target.mkdir(parents=True)
    (target / "thesis.txt").write_text("mine")
    with pytest.raises(RefusedError, match=f"has no {MANIFEST}"):
        save(server, target)
    assert contents(target) == {"thesis.txt": b"mine"}


def change_in_hdfs(server: FakeHdfs, target: Path) -> None:
    server.put("/out/wc/part-r-00001", b"?" * 100)


def grow_in_hdfs(server: FakeHdfs, target: Path) -> None:
    server.put("/out/wc/part-r-00001", b"?" * 101)


def add_on_both(server: FakeHdfs, target: Path) -> None:
    server.put("/out/wc/part-r-00002", b"?")
    (target / "part-r-00002").write_bytes(b"!")


def remove_in_hdfs(server: FakeHdfs, target: Path) -> None:
    del server.tree["/out/wc/part-r-00001"]


def change_here(server: FakeHdfs, target: Path) -> None:
    (target / "part-r-00001").write_bytes(b"?" * 100)


def remove_here(server: FakeHdfs, target: Path) -> None:
    (target / "part-r-00001").unlink()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "why"),
    [
        (change_in_hdfs, "part-r-00001 differs from the file in HDFS"),
        (grow_in_hdfs, "part-r-00001 has 100 bytes here, but 101 in HDFS"),
        (add_on_both, "part-r-00002 lies there, and is not what HDFS has"),
        (remove_in_hdfs, "part-r-00001 is not in HDFS"),
        (change_here, "part-r-00001 was changed after MANIFEST.sha256 was written"),
        (remove_here, "part-r-00001 is listed in MANIFEST.sha256 but is missing"),
    ],
)
def test_other_data_is_not_overwritten_and_the_first_difference_named(
    server: FakeHdfs, target: Path, change: Any, why: str
) -> None:
    save(server, target)
    change(server, target)
    before = contents(target)
    with pytest.raises(RefusedError, match=why) as caught:
        save(server, target)
    assert caught.value.where == str(target)
    assert contents(target) == before


def test_what_came_after_a_save_is_added_to_it(server: FakeHdfs, target: Path) -> None:
    """A release once waited for ever: its own save lay there from before somebody moved data into the output."""
    save(server, target)
    (target / "notes.txt").write_text("mine")
    before = {path: path.stat().st_ino for path in target.rglob("*") if path.name != MANIFEST}
    server.put("/out/wc/later/part-r-00000", b"late")
    assert not save(server, target).already
    check(server, target)
    assert subprocess.run(["sha256sum", "--quiet", "-c", MANIFEST], cwd=target, check=False).returncode == 0
    assert (target / "later/part-r-00000").read_bytes() == b"late"
    assert {path: path.stat().st_ino for path in before} == before
    assert not working(target).exists()
    assert save(server, target).already


@pytest.mark.parametrize("links", [True, False])
def test_an_addition_that_is_cut_short_goes_on(
    server: FakeHdfs, target: Path, links: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_link(*_: object, **__: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    if not links:
        monkeypatch.setattr(os, "link", no_link)
    save(server, target)
    server.put("/out/wc/part-r-00007", b"7" * 3_000_000)
    server.put("/out/wc/part-r-00008", b"eight")
    ends = StopAfter(6)
    with pytest.raises(StoppedError):
        save(server, target, progress=ends.progress, stop=ends.stop)
    assert not {"part-r-00007", "part-r-00008"} & contents(target).keys()
    # As if it had been cut short between the files and their list.
    (target / "part-r-00008").write_bytes(b"eight")
    save(server, target)
    check(server, target)
    assert not working(target).exists()


def test_an_empty_save_is_in_nobodys_way(server: FakeHdfs, target: Path) -> None:
    """A release once waited for somebody to move a folder in which nothing had been saved."""
    server.make_folder("/out/none")
    server.make_folder("/out/none/folder")
    save(server, target, output="/out/none")
    assert not save(server, target).already
    check(server, target)
    assert save(server, target).already


def test_one_changed_bit_on_the_disk_is_found(server: FakeHdfs, target: Path) -> None:
    """Even with a manifest that was made to fit."""
    save(server, target)
    path = target / "part-r-00000"
    old = path.read_bytes()
    path.write_bytes(old[:-1] + bytes([old[-1] ^ 1]))
    manifest = target / MANIFEST
    sum_before, sum_after = (hashlib.sha256(text).hexdigest() for text in (old, path.read_bytes()))
    manifest.write_text(manifest.read_text().replace(sum_before, sum_after))
    with pytest.raises(RefusedError, match="part-r-00000 differs from the file"):
        check(server, target)


@pytest.mark.parametrize("kind", ["CRC32", "COMPOSITE"])
def test_checksums_of_another_kind(server: FakeHdfs, target: Path, kind: str) -> None:
    server.checksum_kind = kind
    save(server, target)
    assert contents(target) == server.files("/out/wc")
    change_in_hdfs(server, target)
    with pytest.raises(RefusedError, match="differs from the file in HDFS"):
        check(server, target)


def test_blocks_of_unequal_length(server: FakeHdfs, target: Path) -> None:
    server.put("/out/wc/appended", b"x" * 100, b"y" * 1024, b"z")
    save(server, target)
    assert contents(target) == server.files("/out/wc")


def test_what_is_read_wrongly_is_not_saved(server: FakeHdfs, target: Path) -> None:
    """However often it is read: HDFS's checksum tells, which its DataNodes made of what they hold."""
    server.on_read = lambda path, data: data[:-1] + b"?" if path.endswith("part-r-00000") else data
    assert unsaved(server, target) == {"/out/wc/part-r-00000": "the bytes that were read differ from those in HDFS"}


def test_a_read_that_is_cut_short_is_not_saved(server: FakeHdfs, target: Path) -> None:
    server.on_read = lambda path, data: data[: len(data) // 2]
    assert unsaved(server, target).keys() == {f"/out/wc/{name}" for name, size in FILES.items() if size}


def test_outputs_that_change_meanwhile_are_not_saved(server: FakeHdfs, target: Path) -> None:
    def change(path: str, data: bytes) -> bytes:
        server.put("/out/wc/late", b"?")
        return data

    server.on_read = change
    with pytest.raises(FawkesError, match="changed while it was saved"):
        save(server, target)
    assert not target.exists()
    server.on_read = None
    save(server, target)
    assert contents(target) == server.files("/out/wc")


@pytest.mark.parametrize("stop_after", [1, 2 * BLOCK, 4 * BLOCK])
def test_a_save_that_is_stopped_anywhere_goes_on(server: FakeHdfs, target: Path, stop_after: int) -> None:
    halt = StopAfter(stop_after)
    with pytest.raises(StoppedError):
        save(server, target, progress=halt.progress, stop=halt.stop, readers=1)
    assert not target.exists()
    whole = server.files("/out/wc")
    done = {name for name, there in contents(target.with_name(".wc.saving")).items() if there == whole[name] != b""}
    server.reads.clear()
    save(server, target)
    assert contents(target) == whole
    assert done.isdisjoint(path.removeprefix("/out/wc/") for path in server.reads)


def test_what_an_earlier_try_left_is_cleared_and_checked(server: FakeHdfs, target: Path) -> None:
    work = target.with_name(".wc.saving")
    (work / "deep").mkdir(parents=True)
    (work / "part-r-00001").write_bytes(b"?" * 100)
    (work / "stray").write_text("from another time")
    (work / "old folder").mkdir()
    (work / "old folder" / "x").write_text("x")
    (work / "deep" / "er").write_text("a file where a folder should be")
    (work / "empty").symlink_to("/tmp")
    save(server, target)
    assert contents(target) == server.files("/out/wc")
    assert (target / "empty").is_dir()
    assert not (target / "empty").is_symlink()


def test_a_file_named_like_the_manifest_is_reported(server: FakeHdfs, target: Path) -> None:
    server.put(f"/out/wc/{MANIFEST}", b"mine")
    assert unsaved(server, target) == {f"/out/wc/{MANIFEST}": "has the name of the list of checksums; rename it"}
    whole = server.files("/out/wc")
    assert contents(working(target)).keys() == whole.keys() - {MANIFEST}


def test_one_file_that_cannot_be_read_is_reported_and_the_rest_is_saved(server: FakeHdfs, target: Path) -> None:
    bad = "/out/wc/deep/er/part"
    server.unreadable.add(bad)
    assert unsaved(server, target) == {bad: f"Could not obtain block: BP-1:blk_1 file={bad}"}
    whole = server.files("/out/wc")
    rest = {name: data for name, data in whole.items() if f"/out/wc/{name}" != bad}
    assert {name: contents(working(target)).get(name) for name in rest} == rest
    said = subprocess.run(["sha256sum", "-c", MANIFEST], cwd=working(target), capture_output=True, check=False)
    assert said.returncode == 0, "what was saved has its list of checksums"
    server.unreadable.clear()
    server.reads.clear()
    save(server, target)
    assert contents(target) == whole
    assert server.reads == [bad], "a later try reads only what is missing"


def test_a_file_that_is_still_being_written_is_reported(server: FakeHdfs, target: Path) -> None:
    server.tree["/out/wc/part-r-00001"].being_written = True
    (why,) = unsaved(server, target).values()
    assert "is under construction" in why


def test_what_could_not_be_saved_is_told_in_a_few_words(server: FakeHdfs, target: Path) -> None:
    for n in range(20):
        server.put(f"/out/wc/bad{n:02}", b"x")
        server.unreadable.add(f"/out/wc/bad{n:02}")
    with pytest.raises(UnsavedError) as caught:
        save(server, target)
    text = str(caught.value)
    assert "not everything could be saved: /out/wc/bad00 (Could not obtain block" in text
    assert "and 17 more" in text
    assert "/out/wc/bad05" not in text
    assert len(caught.value.unsaved) == 20
    facts: Any = caught.value.facts
    assert (facts["unsaved_count"], facts["outputs"]) == (20, [])
    assert facts["unsaved"][19] == {"path": "/out/wc/bad19", "why": caught.value.unsaved[19].why}


def test_a_folder_that_cannot_be_listed_is_reported(server: FakeHdfs, target: Path) -> None:
    server.unlisted.add("/out/wc/deep")
    assert unsaved(server, target).keys() == {"/out/wc/deep"}
    assert contents(working(target)).keys() == server.files("/out/wc").keys() - {"deep/er/part"}


def test_a_namenode_that_goes_away_ends_the_save_at_once(server: FakeHdfs, target: Path) -> None:
    def gone(path: str, data: bytes) -> bytes:
        server.down |= {"127.0.0.1", *DATANODES}
        return b""

    server.on_read = gone
    with pytest.raises(HdfsFailedError) as caught:
        save(server, target, readers=1)
    assert caught.value.unreachable
    assert not isinstance(caught.value, UnsavedError)


def test_what_was_copied_before_is_not_read_again(server: FakeHdfs, target: Path) -> None:
    """`copy` while HDFS takes writes, `run` when it takes none any more: only the difference is read then."""
    job = SaveOrder(hdfs=Hdfs.of(server.masters()), output="/out/wc", target=target)
    server.unreadable.add("/out/wc/part-r-00000")
    job.copy()
    assert not target.exists()
    server.unreadable.clear()
    server.put("/out/wc/deep/late", b"late")
    server.put("/out/wc/part-r-00001", b"!" * 100)
    del server.tree["/out/wc/_SUCCESS"]
    server.reads.clear()
    saved = job.run()
    names = {"deep/late", "part-r-00000", "part-r-00001"}
    assert {path.removeprefix("/out/wc/") for path in server.reads} == names
    assert contents(target) == server.files("/out/wc")
    assert saved.files == len(contents(target))


def test_what_was_changed_here_between_the_two_is_copied_again(server: FakeHdfs, target: Path) -> None:
    job = SaveOrder(hdfs=Hdfs.of(server.masters()), output="/out/wc", target=target)
    job.copy()
    (working(target) / "part-r-00001").write_bytes(b"?" * 100)
    job.run()
    assert contents(target) == server.files("/out/wc")


def test_the_same_bytes_at_another_time_are_noticed(server: FakeHdfs, target: Path) -> None:
    """Replaced by other bytes of the same length and time: HDFS's checksum tells."""
    job = SaveOrder(hdfs=Hdfs.of(server.masters()), output="/out/wc", target=target)
    job.copy()
    entry = server.tree["/out/wc/part-r-00001"]
    entry.blocks = [(b"?" * 100, DATANODES[0])]
    job.run()
    assert contents(target) == server.files("/out/wc")


def test_a_saved_file_that_hdfs_has_lost_is_reported(server: FakeHdfs, target: Path) -> None:
    save(server, target)
    server.tree["/out/wc/part-r-00001"].being_written = True
    with pytest.raises(UnsavedError, match="part-r-00001"):
        save(server, target)


def test_an_output_that_is_not_there(server: FakeHdfs, target: Path) -> None:
    with pytest.raises(HdfsFailedError, match="File does not exist: /out/gone"):
        save(server, target, output="/out/gone")
    assert not target.parent.exists()


def test_an_empty_output(server: FakeHdfs, target: Path) -> None:
    server.make_folder("/out/none")
    assert save(server, target, output="/out/none").files == 0
    assert [path.name for path in target.iterdir()] == [MANIFEST]
    assert save(server, target, output="/out/none").already


def test_too_little_room_is_seen_before_anything_is_written(server: FakeHdfs, target: Path) -> None:
    class Huge(Hdfs):
        """An HDFS that says its files are larger than any disk."""

        def below(self, path: str, refused: Refused | None = None) -> Iterator[HdfsFile]:
            for file in super().below(path, refused):
                yield HdfsFile(file.path, file.size * 10**18, file.changed_ms, file.folder)

    with pytest.raises(FawkesError, match=r"the outputs need .*, but only .* are free"):
        save(server, target, hdfs=Huge(server.url, "hadoop"))
    assert server.reads == []
    assert not target.exists()


@pytest.mark.parametrize("place", ["file/below", "/sys/fawkes/wc", "n" * 300])
def test_a_place_that_cannot_be_written(server: FakeHdfs, tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(FawkesError, match="cannot be saved") as caught:
        save(server, tmp_path / place)
    assert caught.value.where


def test_a_hdfs_name_that_no_disk_takes(server: FakeHdfs, target: Path) -> None:
    server.put(f"/out/wc/{'n' * 300}", b"x")
    assert unsaved(server, target) == {f"/out/wc/{'n' * 300}": "File name too long"}
    assert contents(working(target)).keys() == server.files("/out/wc").keys() - {"n" * 300}


_FULL = """
import sys
from pathlib import Path
from fawkes.base.errors import FawkesError
from fawkes.live.data.saving import SaveOrder
from fawkes.live.wire.webhdfs import Hdfs
try:
    SaveOrder(hdfs=Hdfs(sys.argv[1], "hadoop"), output="/out/wc", target=Path(sys.argv[2])).run()
except FawkesError as error:
    print(error)
"""


@pytest.mark.lab
def test_a_disk_that_fills_up_while_it_is_written(server: FakeHdfs, tmp_path: Path) -> None:
    """A look at the free bytes beforehand does not help: here the file system runs out of names."""
    script = 'mount -t tmpfs -o size=10m,nr_inodes=5 none "$1" && "$2" -c "$3" "$4" "$1"/wc; ls -A "$1"'
    mount = ["unshare", "--map-root-user", "--mount", "sh", "-c", script, "sh"]
    said = subprocess.run(
        [*mount, str(tmp_path), sys.executable, _FULL, server.url],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
    )
    error, *left = said.stdout.splitlines()
    assert "cannot be saved (No space left on device)" in error, said.stderr
    assert left == [".wc.saving"]
    assert said.stderr == ""


def test_what_would_be_lost(server: FakeHdfs, target: Path) -> None:
    size = sum(FILES.values())
    unsaved, gone, far = stakes(server, ("/out/wc", target), ("/out/gone", target), ("/out/wc", "hdfs://far/x"))
    assert unsaved == Stake("/out/wc", str(target), size, 5, saved=False, owner="hadoop")
    assert gone == Stake("/out/gone", str(target), 0, 0, saved=True)
    assert not far.saved
    save(server, target)
    assert stakes(server, ("/out/wc", target))[0].saved


@pytest.mark.slow
@pytest.mark.parametrize(
    "change", [change_in_hdfs, grow_in_hdfs, add_on_both, remove_in_hdfs, change_here, remove_here]
)
def test_what_was_saved_before_the_last_change_is_at_stake(server: FakeHdfs, target: Path, change: Any) -> None:
    save(server, target)
    change(server, target)
    assert not stakes(server, ("/out/wc", target))[0].saved


def test_a_copy_without_a_manifest_is_not_saved(server: FakeHdfs, target: Path) -> None:
    save(server, target)
    (target / MANIFEST).unlink()
    assert not stakes(server, ("/out/wc", target))[0].saved
    shutil.rmtree(target)
    assert not stakes(server, ("/out/wc", target))[0].saved
