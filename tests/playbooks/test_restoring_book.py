"""Work on nodes before a restore: a copy unpacked and read beside everything else, blocks listed from disks."""

from __future__ import annotations

import base64
import gzip
import io
import os
import subprocess
import tarfile
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from fawkes.base.errors import HostError
from fawkes.core.nodes.salvage import BlockStamp, Replicas
from fawkes.core.values.model import NodeId
from fawkes.live.controller.restoring import BlockList
from fawkes.live.hadoop.hadoop_conf import to_xml
from fawkes.playbook import Folders, Lease, Script
from playbooks import hadoop, restoring
from tests.playbooks.conftest import LeaseOf, ok, sh
from tests.support.programs import program

POOL = "BP-7-10.0.0.1-1795398889496"


#: what stays of a configuration without its journal, and what does not
KEPT = {"dfs.blocksize": "1048576", "dfs.ha.tail-edits.period": "1s", "dfs.namenode.name.dir": "file:///nn"}
JOURNAL = {
    "dfs.ha.namenode.id": "node01",
    "dfs.nameservices": "alpha",
    "dfs.namenode.shared.edits.dir": "qjournal://a:8485;b:8485;c:8485/alpha",
}
SITE = to_xml({**KEPT, **JOURNAL})


@pytest.fixture
def lease(lease: Lease) -> Lease:
    """The node has a configuration as well."""
    ok(hadoop.configure(lease, {"hdfs-site.xml": SITE, "core-site.xml": "<configuration/>\n"}))
    return lease


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
    assert replicas == Replicas(
        {BlockStamp(1073741825, 1001, 5), BlockStamp(-9223372036854775792, 1002, 0)}, {1073741830}
    )
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
    broken = program(tmp_path / "bin" / "find", 'PATH=${PATH#*:} command find "$@"\nexit 1').parent
    script = Script.of("PATH={bin}:$PATH\n", bin=str(broken)) + restoring.blocks(lease.folders, POOL)
    with pytest.raises(HostError, match="a folder could not be read"):
        listed(script)


_WRITE = (
    "2026-11-22 15:58:16,540 INFO org.apache.hadoop.hdfs.server.datanode.DataNode.clienttrace: src: /10.98.1.1:54044, "
    "dest: /10.98.1.2:9866, volume: /srv/dn, bytes: 902848, op: HDFS_WRITE, "
    "cliID: DFSClient_attempt_17_0003_m_000000_0_16_1, offset: 0, srvID: 06b7, blockid: BP-7:blk_{}, duration(ns): 1\n"
)
_GIVEN = (
    "2026-11-22 16:00:53,933 INFO org.apache.hadoop.hdfs.StateChange: BLOCK* allocate blk_{}, "
    "replicas=10.98.1.2:9866, 10.98.1.1:9866 for {}\n"
)


def newer_lines(lease: Lease, limit: int = 100) -> tuple[set[str], str]:
    facts = ok(restoring.newer(lease.folders, POOL, after=1005, until=5000, limit=limit))
    return set(gzip.decompress(base64.b64decode(facts["rows"])).decode().split("\n")) - {""}, facts["more"]


def test_replicas_that_a_copy_does_not_know_are_listed_with_what_logs_say_of_them(lease: Lease) -> None:
    disk, archive = volume(lease.folders), volume(lease.folders, "dn-input")
    replica(disk / "finalized/subdir0/subdir1", 11, 1005, 5)
    replica(disk / "finalized/subdir0/subdir1", 12, 1006, 6)
    replica(archive / "rbw", -32, 5000, 7)
    replica(disk / "finalized", 13, 5001, 8)
    replica(volume(lease.folders, pool="BP-other") / "finalized", 14, 1007, 9)
    for path in (disk / "finalized/subdir0/subdir1/blk_12", archive / "rbw/blk_-32"):
        os.utime(path, (1_700_000_000, 1_700_000_000))
    logs = Path(lease.folders.logs)
    (logs / "datanode.log.1").write_text(_WRITE.format("12_1006"))
    (logs / "datanode.log").write_text("\n" + _WRITE.format("11_1005") + _WRITE.format("-32_5000"))
    (logs / "namenode.log").write_text(_GIVEN.format("11_1005", "/old") + _GIVEN.format("12_1006", "/a b"))
    client = "DFSClient_attempt_17_0003_m_000000_0_16_1 /10.98.1.1:54044 /10.98.1.2:9866"
    expected = {"R 12 6 1700000000", "R -32 7 1700000000", f"W 12 {client}", f"W -32 {client}", "A 12 /a b"}
    assert newer_lines(lease) == (expected, "no")
    lines, more = newer_lines(lease, limit=1)
    assert (len([line for line in lines if line.startswith("R")]), more) == (1, "yes")


def test_a_node_without_newer_replicas_says_so(lease: Lease) -> None:
    assert newer_lines(lease) == (set(), "no")
    replica(volume(lease.folders) / "finalized", 11, 1005, 5)
    assert newer_lines(lease) == (set(), "no")


def test_a_disk_with_errors_gives_no_list_of_newer_replicas(lease: Lease, tmp_path: Path) -> None:
    replica(volume(lease.folders) / "finalized", 12, 1006, 5)
    broken = program(tmp_path / "bin" / "find", "exit 1").parent
    script = restoring.newer(lease.folders, POOL, after=1, until=5000, limit=9)
    done = sh(Script.of("PATH={bin}:$PATH\n", bin=str(broken)) + script)
    assert (done.exit, "cannot be read" in done.stderr) == (1, True)


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


def test_the_namenode_that_reads_a_copy_knows_no_journal(lease: Lease) -> None:
    """It would ask the journal of a living MR-cluster for its edits, and repair what it finds there."""
    assert with_input(restoring.receive(lease), tar_of(VERSION=b"")).returncode == 0
    ok(restoring.merge(lease, ["sh", "-c", _NAMENODE, "namenode"], {"MODE": "well"}))
    text = Path(restoring.conf(lease.folders), "hdfs-site.xml").read_text()
    assert {row.findtext("name"): row.findtext("value") for row in ET.fromstring(text)} == KEPT
    assert Path(restoring.conf(lease.folders), "core-site.xml").exists()
    assert Path(lease.folders.conf, "hdfs-site.xml").read_text() == SITE


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
