"""Outputs to persistent storage: whole, verified, never over other data."""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fawkes.config.details import Output
from fawkes.errors import FawkesError, RefusedError
from fawkes.live.data import StoppedError
from fawkes.live.rest import close_session
from fawkes.live.saving import MANIFEST, Save, Saved, Stake, at_stake, verify
from fawkes.live.webhdfs import Hdfs, HdfsFailedError
from tests.live.fake_hdfs import FakeHdfs, running

BLOCK = 1024
FILES = {
    "part-r-00000": 3 * BLOCK + 7,
    "part-r-00001": 100,
    "_SUCCESS": 0,
    "deep/er/part": BLOCK,
    "odd name\\with\nbreaks": 5,
}


@pytest.fixture
def server() -> Iterator[FakeHdfs]:
    with running() as server:
        random_bytes = random.Random(4)
        for name, size in FILES.items():
            data = random_bytes.randbytes(size)
            blocks = [data[start : start + BLOCK] for start in range(0, size, BLOCK)]
            server.put(f"/out/wc/{name}", *blocks, block_bytes=BLOCK)
        server.make_folder("/out/wc/empty")
        yield server
    close_session()


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "saved" / "wc"


def save(server: FakeHdfs, target: Path, **changes: Any) -> Saved:
    return Save(
        **{"hdfs": Hdfs.of(server.masters()), "output": "/out/wc", "target": target, "readers": 2, **changes}
    ).run()


def contents(folder: Path) -> dict[str, bytes]:
    found = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    found.pop(MANIFEST, None)
    return found


def check(server: FakeHdfs, target: Path) -> None:
    verify(Hdfs.of(server.masters()), "/out/wc", target)


def test_an_output_is_saved_whole(server: FakeHdfs, target: Path) -> None:
    found = save(server, target)
    assert contents(target) == server.files("/out/wc")
    assert (target / "empty").is_dir()
    assert found == Saved(files=5, size=sum(FILES.values()), already=False)
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


def add_in_hdfs(server: FakeHdfs, target: Path) -> None:
    server.put("/out/wc/part-r-00002", b"?")


def remove_in_hdfs(server: FakeHdfs, target: Path) -> None:
    del server.tree["/out/wc/part-r-00001"]


def change_here(server: FakeHdfs, target: Path) -> None:
    (target / "part-r-00001").write_bytes(b"?" * 100)


def remove_here(server: FakeHdfs, target: Path) -> None:
    (target / "part-r-00001").unlink()


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (change_in_hdfs, "part-r-00001 has other bytes than the file in HDFS"),
        (grow_in_hdfs, "part-r-00001 has 100 bytes here and 101 in HDFS"),
        (add_in_hdfs, "part-r-00002 is in HDFS and was not saved"),
        (remove_in_hdfs, r"part-r-00001 is not in HDFS \(any more\)"),
        (change_here, "part-r-00001 was changed after MANIFEST.sha256 was written"),
        (remove_here, "part-r-00001 is in MANIFEST.sha256 and is gone"),
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


def test_one_changed_bit_on_the_disk_is_found(server: FakeHdfs, target: Path) -> None:
    """Even with a manifest that was made to fit."""
    save(server, target)
    path = target / "part-r-00000"
    old = path.read_bytes()
    path.write_bytes(old[:-1] + bytes([old[-1] ^ 1]))
    manifest = target / MANIFEST
    sum_before, sum_after = (hashlib.sha256(text).hexdigest() for text in (old, path.read_bytes()))
    manifest.write_text(manifest.read_text().replace(sum_before, sum_after))
    with pytest.raises(RefusedError, match="part-r-00000 has other bytes"):
        check(server, target)


@pytest.mark.parametrize("kind", ["CRC32", "COMPOSITE"])
def test_checksums_of_another_kind(server: FakeHdfs, target: Path, kind: str) -> None:
    server.checksum_kind = kind
    save(server, target)
    assert contents(target) == server.files("/out/wc")
    change_in_hdfs(server, target)
    with pytest.raises(RefusedError, match="has other bytes"):
        check(server, target)


def test_blocks_of_unequal_length(server: FakeHdfs, target: Path) -> None:
    server.put("/out/wc/appended", b"x" * 100, b"y" * 1024, b"z")
    save(server, target)
    assert contents(target) == server.files("/out/wc")


def test_what_is_read_wrongly_is_not_saved(server: FakeHdfs, target: Path) -> None:
    """However often it is read: HDFS's checksum tells, which its DataNodes made of what they hold."""
    server.on_read = lambda path, data: data[:-1] + b"?" if path.endswith("part-r-00000") else data
    with pytest.raises(FawkesError, match="what was read is not what HDFS holds") as caught:
        save(server, target)
    assert caught.value.where.endswith("/out/wc/part-r-00000")
    assert not target.exists()


def test_a_read_that_is_cut_short_is_not_saved(server: FakeHdfs, target: Path) -> None:
    server.on_read = lambda path, data: data[: len(data) // 2]
    with pytest.raises(FawkesError):
        save(server, target)
    assert not target.exists()


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
    stop, seen = threading.Event(), [0]

    def progress(size: int) -> None:
        seen[0] += size
        if seen[0] >= stop_after:
            stop.set()

    with pytest.raises(StoppedError):
        save(server, target, progress=progress, stop=stop.is_set, readers=1)
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


def test_a_file_named_like_the_manifest_is_refused(server: FakeHdfs, target: Path) -> None:
    server.put(f"/out/wc/{MANIFEST}", b"mine")
    with pytest.raises(RefusedError, match=f"there is a file {MANIFEST} among the outputs"):
        save(server, target)
    assert not target.exists()


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

        def below(self, path: str) -> Iterator[Any]:
            for file in super().below(path):
                yield type(file)(file.path, file.size * 10**18, file.changed_ms, file.folder)

    with pytest.raises(FawkesError, match=r"are to be saved and .* are free"):
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
    with pytest.raises(FawkesError, match="File name too long"):
        save(server, target)
    assert not target.exists()


_FULL = """
import sys
from pathlib import Path
from fawkes.errors import FawkesError
from fawkes.live.saving import Save
from fawkes.live.webhdfs import Hdfs
try:
    Save(hdfs=Hdfs(sys.argv[1], "hadoop"), output="/out/wc", target=Path(sys.argv[2])).run()
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
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    error, *left = said.stdout.splitlines()
    assert "cannot be saved (No space left on device)" in error, said.stderr
    assert left == [".wc.saving"]
    assert said.stderr == ""


def stakes(server: FakeHdfs, *outputs: tuple[str, Path | str]) -> list[Stake]:
    found = (Output(path=path, save_to=str(save_to)) for path, save_to in outputs)
    return at_stake(Hdfs.of(server.masters()), found)


def test_what_would_be_lost(server: FakeHdfs, target: Path) -> None:
    size = sum(FILES.values())
    unsaved, gone, far = stakes(server, ("/out/wc", target), ("/out/gone", target), ("/out/wc", "hdfs://far/x"))
    assert unsaved == Stake("/out/wc", str(target), size, 5, saved=False)
    assert gone == Stake("/out/gone", str(target), 0, 0, saved=True)
    assert not far.saved
    save(server, target)
    assert stakes(server, ("/out/wc", target))[0].saved


@pytest.mark.parametrize(
    "change", [change_in_hdfs, grow_in_hdfs, add_in_hdfs, remove_in_hdfs, change_here, remove_here]
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
