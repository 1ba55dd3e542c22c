"""Files that hold other files are unpacked or named by their first bytes, and never read by half."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import pickle
import sqlite3
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from fawkes.base.errors import ConfigError
from fawkes.workload.formats.formats import read_workload
from fawkes.workload.model import TraceJob
from fawkes.workload.reading.traces import Collected

DATA = Path(__file__).parents[1] / "data"
LOG = (DATA / "hpc2n-first60.swf").read_bytes()


def zipped(data: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("log.swf", data)
    return out.getvalue()


def tarred(data: bytes) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        member = tarfile.TarInfo("log.swf")
        member.size = len(data)
        archive.addfile(member, io.BytesIO(data))
    return out.getvalue()


def database(data: bytes) -> bytes:
    with sqlite3.connect(":memory:") as connection:
        connection.execute("create table log (line)")
        return connection.serialize()


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_what_is_packed_as_one_file_is_unpacked(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "log"
    path.write_bytes(LOG)
    plain = read_workload(path)
    path.write_bytes(pack(LOG))
    assert read_workload(path).jobs == plain.jobs
    path.write_bytes(pack(LOG)[:-20])
    with pytest.raises(ConfigError, match="ends too early"):
        read_workload(path)
    broken = bytearray(pack(LOG * 50))
    broken[len(broken) // 2 : len(broken) // 2 + 60] = b"\xaa" * 60
    path.write_bytes(bytes(broken))
    with pytest.raises(ConfigError, match=r"is broken|cannot be read"):
        read_workload(path)


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_all_streams_of_a_file_are_read_or_it_is_refused(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    """Files that were put together have several, and `xz` allows zeros between them."""
    path = tmp_path / "log.swf"
    path.write_bytes(LOG * 2)
    twice = read_workload(path)
    for between in (b"", bytes(4), bytes(200_000)):
        path.write_bytes(pack(LOG) + between + pack(LOG) + between)
        assert read_workload(path).jobs == twice.jobs
    for rest in (b"x" + pack(LOG)[1:], b"and more"):
        path.write_bytes(pack(LOG) + rest)
        with pytest.raises(ConfigError, match=r"is broken|cannot be read"):
            read_workload(path)


CONTAINERS: dict[str, tuple[bytes, str, str]] = {
    "zip": (zipped(LOG), "is a zip archive", "unzip"),
    "a bomb": (zipped(bytes(64 << 20)), "is a zip archive", "unzip"),
    "tar": (tarred(LOG), "is a tar archive", "tar xf"),
    "tar.gz": (gzip.compress(tarred(LOG)), "is a tar archive inside of gzip", "tar xf"),
    "zip.bz2": (bz2.compress(zipped(LOG)), "is a zip archive inside of bzip2", "unzip"),
    "gz.gz": (gzip.compress(gzip.compress(LOG)), "is compressed by gzip inside of gzip", "Unpack it once"),
    "zstd": (b"\x28\xb5\x2f\xfd\x04X" + LOG, "is compressed by zstd", "unzstd"),
    "7z": (b"7z\xbc\xaf\x27\x1c\x00\x04", "is a 7z archive", "7z x"),
    "pickle": (pickle.dumps({"jobs": [1]}), "is a pickle of Python", "opens no pickle"),
    "parquet in gzip": (gzip.compress(b"PAR1 and more"), "is a Parquet file inside of gzip", "Give the file itself"),
    "sqlite": (database(LOG), "is an SQLite database", "as a table"),
    "hdf5": (b"\x89HDF\r\n\x1a\n\x00", "is an HDF5 file", "as a table"),
    "avro": (b"Obj\x01\x04\x16avro.schema", "is an Avro file", "as a table"),
}


@pytest.mark.parametrize("kind", CONTAINERS)
@pytest.mark.parametrize("form", [None, "swf"])
def test_other_containers_are_named_with_what_to_do(tmp_path: Path, kind: str, form: str | None) -> None:
    data, what, hint = CONTAINERS[kind]
    path = tmp_path / "log.swf"
    path.write_bytes(data)
    with pytest.raises(ConfigError) as caught:
        read_workload(path, format=form)
    assert (caught.value.file, caught.value.what) == (str(path), what)
    assert hint in caught.value.hint


@pytest.mark.parametrize("pack", [bz2.compress, lzma.compress])
@pytest.mark.drill
def test_a_file_that_becomes_far_too_large_is_refused(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "log.swf"
    path.write_bytes(pack(LOG + (b";" + b" " * 99_998 + b"\n") * 3000))
    with pytest.raises(ConfigError, match="200 times as large"):
        read_workload(path)


def test_names_that_no_table_could_hold_are_mended_and_counted(tmp_path: Path) -> None:
    collected = Collected(tmp_path)
    collected.add(TraceJob(id="a\ud800", submit_us=0, user="x\0y", application="\u00a0z", after=("b\n",)), 1)
    trace = collected.trace(form="", header={})
    (job,) = trace.jobs
    assert (job.id, job.user, job.application, job.after) == ("a\ufffd", "x\ufffdy", "\u00a0z", ("b\ufffd",))
    assert trace.mended.total == 1
