"""The program that compares a folder of HDFS with its copy, on a real HDFS."""

from __future__ import annotations

import json
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from fawkes.core.jobs.copied import Compared, Files, saved, to_copy_again
from fawkes.live.wire.webhdfs import Hdfs, HdfsFailedError
from fawkes.playbook.dist.compile.compiled import COPIES, jar_of
from tests.live.tiny_hadoop import BLOCK, TinyHadoop, tiny_hadoop
from tests.support.waiting import wait_for

pytestmark = [pytest.mark.hadoop, pytest.mark.drill]

ODD = "a b%20é#?\\'\"\t\n*[x]{y}"
OUTPUT = {"one": b"1", "two": b"2", "empty": b"", f"{ODD}/{ODD}": b"3", "a/b/gone": b"4"}


def compare(hadoop: TinyHadoop) -> Compared:
    argv, env = hadoop._command("jar", "client", {})
    at = argv.index("-cp") + 1
    argv = [*argv[:at], f"{argv[at]}:{jar_of(COPIES)}", *argv[at + 1 : -1], "fawkes.copies.Compare", "/out", "/copy"]
    done = subprocess.run(argv, env=env, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return Compared.of(json.loads(done.stdout.splitlines()[-1]))


def test_files_are_equal_only_where_both_checksums_are_known(tmp_path: Path) -> None:
    with tiny_hadoop(tmp_path / "h", "3.5.0", yarn=False, storing=("node01",)) as hadoop:
        hdfs, place = Hdfs(hadoop.masters.namenode, "root"), f"{hadoop.address}:{hadoop.ports[14]}"

        def write(folder: str, files: dict[str, bytes]) -> None:
            for name, data in files.items():
                hdfs.write(f"{folder}/{name}", [(place, iter([data]))], block_bytes=BLOCK, replication=1)

        def takes_files() -> bool:
            """A DataNode is in service before the NameNode knows its room."""
            with suppress(HdfsFailedError):
                write("/out", OUTPUT)
                return True
            return False

        wait_for(takes_files, "HDFS to take files")
        found = compare(hadoop)
        assert (found.files, found.equal, found.missing.count, len(found.missing.first)) == (5, 0, 5, 3)
        assert (saved(found), to_copy_again(found)) == (False, True)
        write("/copy", OUTPUT)
        hdfs.mkdir("/copy/no/file")
        write("/copy/no", {".distcp.tmp.attempt_1": b"begun by a copy that was killed"})
        assert compare(hadoop) == Compared(files=5, equal=5)

        before = set((tmp_path / "h").rglob("blk_*"))
        for name in ("one", "two", "a/b/gone"):
            hdfs.delete(f"/copy/{name}")
        write("/copy", {"one": b"x", "two": b"2", f"a/{ODD}": b""})
        gone, more = Files(1, ("a/b/gone",)), Files(1, (f"a/{ODD}",))
        assert compare(hadoop) == Compared(5, 3, missing=gone, different=Files(1, ("one",)), extra=more)

        for block in set((tmp_path / "h").rglob("blk_*")) - before:
            block.unlink()
        found = compare(hadoop)
        why = found.unknown_there.why
        assert found == Compared(5, 2, missing=gone, unknown_there=Files(2, found.unknown_there.first, why), extra=more)
        assert set(found.unknown_there.first) == {"one", "two"}
        assert "Fail to get block" in why
