"""The look before a restore against real Hadoop: its image, its edits, its blocks on disks."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from fawkes.core.values.model import NodeId
from fawkes.live.edits import edit_log
from fawkes.live.nodes.clusters import LiveCluster
from fawkes.playbook.dist.release import LIGHT_FLAGS
from tests.live.controller.test_restoring import OTHER, TO, C, Lost, fates, kept_copy
from tests.live.tiny_hadoop import BLOCK, TinyHadoop, tiny_hadoop
from tests.support.waiting import wait_for

pytestmark = [pytest.mark.hadoop, pytest.mark.drill]

ODD = "amp&<angle>"
#: writes without an end: a client that holds a file open
_HOLD = "import sys, time; sys.stdout.buffer.write(b'x' * {}); sys.stdout.flush(); time.sleep(600)"


@dataclass
class RealPrograms:
    """Programs of a release of this machine."""

    hadoop: TinyHadoop

    def offline_argv(self, cluster: LiveCluster, node: NodeId, program: str) -> list[str]:
        conf = str(self.hadoop.folder / "client" / "conf")
        release, java = self.hadoop.release, self.hadoop.java_home
        return release.daemon_argv(program, java_home=java, conf_dir=conf, heap_mb=256, extra=LIGHT_FLAGS)

    def environment(self, cluster: LiveCluster, node: NodeId) -> dict[str, str]:
        conf = str(self.hadoop.folder / "client" / "conf")
        return self.hadoop.release.environment(self.hadoop.java_home, conf)


@contextmanager
def open_file(hadoop: TinyHadoop, path: str, size: int) -> Iterator[None]:
    """A file of one block that is being written."""
    argv, env = hadoop._command("fs", "client", {})
    source = [sys.executable, "-c", _HOLD.format(size)]
    with (
        subprocess.Popen(source, stdout=subprocess.PIPE) as writer,
        subprocess.Popen([*argv, "-put", "-", path], env=env, stdin=writer.stdout) as client,
    ):
        try:
            wait_for(lambda: any(hadoop.folder.glob("datanode*/disk/current/BP-*/current/rbw/blk_*.meta")), path)
            yield
        finally:
            client.kill()
            writer.kill()


def test_files_of_a_copy_against_blocks_on_disks(tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "deep").mkdir(parents=True)
    (source / "big").write_bytes(os.urandom(3 * BLOCK + 5))
    (source / "deep" / ODD).write_bytes(os.urandom(2000))
    (source / "empty").write_bytes(b"")
    with tiny_hadoop(tmp_path / "h", "3.5.0", yarn=False, storing=("node01", "node02")) as hadoop:
        for words in (
            ("-put", str(source), "/data"),
            ("-Ddfs.replication=2", "-put", str(source / "big"), "/two"),
        ):
            done = hadoop.run("fs", *words)
            assert done.returncode == 0, done.stderr
        with open_file(hadoop, "/open", BLOCK // 2):
            shutil.copytree(hadoop.folder / "namenode" / "name" / "current", tmp_path / "kept" / "nn")
        late = hadoop.run("fs", "-put", str(source / "big"), "/late")
        assert late.returncode == 0, late.stderr

    origin = edit_log.origin((tmp_path / "kept" / "nn" / "VERSION").read_text())
    assert origin is not None
    lost = Lost(tmp_path / "nodes")
    lost.programs = RealPrograms(hadoop)  # type: ignore[assignment]
    lost.copies.kept = kept_copy(tmp_path / "kept", origin)
    for number, node in ((1, TO), (2, OTHER)):
        shutil.rmtree(lost.ground.folders(node, C).dn)
        shutil.move(hadoop.folder / f"datanode{number}" / "disk", lost.ground.folders(node, C).dn)

    facts = lost.found()
    counted = fates(facts)
    assert counted["whole"] == (4, 2 * (3 * BLOCK + 5) + 2000, [])
    assert counted["open"][2] == ["/open._COPYING_"]
    assert counted["short"] == counted["unknown"] == (0, 0, [])
    assert facts["strangers"] == 4, "the blocks of the file that came after the copy"
    assert facts["txid"] > 20
    assert lost.left() == []

    for node in (TO, OTHER):
        blocks = Path(lost.ground.folders(node, C).dn).glob("current/BP-*/current/finalized/**/blk_*")
        for each in [path for path in blocks if path.suffix != ".meta" and path.stat().st_size == 2000]:
            each.unlink()
    named: list[Mapping[str, Any]] = lost.found()["files"][2]["named"]
    assert named == [{"path": f"/data/deep/{ODD}", "bytes": 2000, "missing": 1, "blocks": 1}]
