"""What is done on nodes before a restore: a copy unpacked and read beside everything else, blocks listed from disks."""

from __future__ import annotations

import gzip
import io
import subprocess
import tarfile
from pathlib import Path

import pytest

from fawkes.core.model import NodeId
from fawkes.core.salvage import Block, Replicas
from fawkes.errors import HostError
from fawkes.live.found_blocks import BlockList
from fawkes.playbook import Folders, Lease, Script
from playbooks import lease as lease_book
from playbooks import node, restoring
from tests.playbooks.conftest import LeaseOf, ok, sh

POOL = "BP-7-10.0.0.1-1795398889496"


@pytest.fixture
def lease(lease_of: LeaseOf) -> Lease:
    made = lease_of()
    ok(lease_book.take(made))
    ok(node.prepare(made))
    return made


def volume(folders: Folders, name: str = "dn", pool: str = POOL) -> Path:
    folder = Path(folders.root) / name / "current" / pool / "current"
    (folder / "finalized" / "subdir0" / "subdir1").mkdir(parents=True)
    (folder / "rbw").mkdir()
    return folder


def replica(folder: Path, number: int, stamp: int, size: int) -> None:
    (folder / f"blk_{number}").write_bytes(b"x" * size)
    (folder / f"blk_{number}_{stamp}.meta").write_bytes(b"m")


def with_input(script: Script, data: bytes) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["/bin/sh", "-c", script.text], input=data, capture_output=True, check=False, timeout=60)


def listed(script: Script) -> tuple[Replicas, frozenset[str]]:
    done = with_input(script, b"")
    assert done.returncode == 0, done
    found = BlockList(NodeId("node01"))
    found.write(done.stdout)
    return found.end()


def test_whole_and_begun_replicas_of_all_volumes_are_listed(lease: Lease) -> None:
    disk, archive = volume(lease.folders), volume(lease.folders, "dn-input")
    replica(disk / "finalized/subdir0/subdir1", 1073741825, 1001, 5)
    replica(archive / "finalized", -9223372036854775792, 1002, 0)
    replica(disk / "rbw", 1073741830, 1007, 3)
    (disk / "finalized" / "blk_11").write_bytes(b"without its checksums")
    (disk / "finalized" / "blk_12_1.meta").write_bytes(b"without its bytes")
    replicas, pools = listed(restoring.blocks(lease.folders, POOL))
    assert replicas == Replicas({Block(1073741825, 1001, 5), Block(-9223372036854775792, 1002, 0)}, {1073741830})
    assert pools == {POOL}


def test_blocks_of_another_pool_are_named_and_not_listed(lease: Lease) -> None:
    replica(volume(lease.folders, pool="BP-other") / "finalized", 1, 1, 1)
    assert listed(restoring.blocks(lease.folders, POOL)) == (Replicas(set(), set()), frozenset({"BP-other"}))


def test_a_node_without_any_block_has_an_empty_list(lease: Lease) -> None:
    assert listed(restoring.blocks(lease.folders, POOL)) == (Replicas(set(), set()), frozenset())


def test_a_folder_that_cannot_be_read_makes_no_list(lease: Lease, tmp_path: Path) -> None:
    folder = volume(lease.folders)
    replica(folder / "finalized", 1, 1, 1)
    # `find` of a disk with errors ends with 1, after it has told what it could read.
    broken = tmp_path / "bin"
    broken.mkdir()
    (broken / "find").write_text('#!/bin/sh\nPATH=${PATH#*:} command find "$@"\nexit 1\n')
    (broken / "find").chmod(0o755)
    script = Script.of("PATH={bin}:$PATH\n", bin=str(broken)) + restoring.blocks(lease.folders, POOL)
    with pytest.raises(HostError, match="a folder could not be read"):
        listed(script)


def tar_of(**files: bytes) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return made.getvalue()


def test_a_copy_is_unpacked_beside_and_replaces_what_an_earlier_try_left(lease: Lease) -> None:
    current = Path(restoring.place(lease.folders)) / "nn" / "current"
    for name in ("before", "VERSION"):
        done = with_input(restoring.receive(lease), tar_of(**{name: b"text"}))
        assert done.returncode == 0, done
    assert [path.name for path in current.iterdir()] == ["VERSION"]
    assert restoring.place(lease.folders).parent == lease.folders.root
    assert not Path(lease.folders.nn).exists()
    ok(restoring.drop(lease))
    assert not Path(restoring.place(lease.folders)).exists()


def test_a_copy_that_was_cut_short_is_refused(lease: Lease) -> None:
    data = tar_of(VERSION=b"text" * 10_000)
    assert with_input(restoring.receive(lease), data[:20_000]).returncode == 73


def test_nothing_is_written_on_a_node_of_another_mr_cluster(lease: Lease, lease_of: LeaseOf) -> None:
    other = lease_of("beta")
    assert with_input(restoring.receive(other), tar_of(VERSION=b"")).returncode == 79
    assert sh(restoring.merge(other, ["true"], {})).exit == 79
    assert sh(restoring.drop(other)).exit == 79
    assert not Path(restoring.place(other.folders)).exists()


#: stands for a NameNode: notes what it was told, and writes an image
_NAMENODE = """
read answer; echo "$answer $*" >told; echo "STARTUP $MODE"
[ "$MODE" != broken ] || { echo "java.io.IOException: there is a gap in the edits"; exit 255; }
: >nn/current/fsimage_0000000000000000000; : >nn/current/fsimage_0000000000000000000.md5
: >nn/current/fsimage_0000000000000000055; : >nn/current/fsimage_0000000000000000055.md5
"""


def test_an_image_is_made_of_the_copy_and_its_name_told(lease: Lease) -> None:
    assert with_input(restoring.receive(lease), tar_of(VERSION=b"")).returncode == 0
    facts = ok(restoring.merge(lease, ["sh", "-c", _NAMENODE, "namenode"], {"MODE": "well"}))
    assert facts["image"] == "fsimage_0000000000000000055"
    place = restoring.place(lease.folders)
    told = (Path(place) / "told").read_text()
    folders = " ".join(f"-Ddfs.namenode.{kind}.dir=file://{place}/nn" for kind in ("name", "edits"))
    assert told == f"y {folders} -recover\n"


def test_a_copy_that_no_namenode_can_read_says_why(lease: Lease) -> None:
    assert with_input(restoring.receive(lease), tar_of(VERSION=b"")).returncode == 0
    ran = sh(restoring.merge(lease, ["sh", "-c", _NAMENODE, "namenode"], {"MODE": "broken"}))
    assert ran.exit == 1
    assert ran.stderr.splitlines()[-1] == "java.io.IOException: there is a gap in the edits"
    assert "image" not in ran.facts


@pytest.mark.parametrize(("code", "ends"), [(0, 0), (255, 1)])
def test_the_viewer_s_end_is_told_behind_what_it_printed(lease: Lease, code: int, ends: int) -> None:
    assert with_input(restoring.receive(lease), tar_of(VERSION=b"")).returncode == 0
    viewer = ["sh", "-c", f'echo "<fsimage>$*</fsimage>"; echo bad >&2; exit {code}', "oiv"]
    done = with_input(restoring.as_xml(lease.folders, "fsimage_55", viewer, {}), b"")
    assert done.returncode == ends
    assert gzip.decompress(done.stdout) == b"<fsimage>-p XML -i nn/current/fsimage_55 -o /dev/stdout</fsimage>\n"
    assert done.stderr == (b"bad\n" if code else b"")
