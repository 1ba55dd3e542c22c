"""An output in an HDFS in memory, and saving it."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from fawkes.config.clusters.details import Output
from fawkes.live.data.saved import MANIFEST, Stake, UnsavedError, at_stake, compare
from fawkes.live.data.saving import Saved, SaveOrder
from fawkes.live.wire.rest import close_session
from fawkes.live.wire.webhdfs import Hdfs
from tests.live.fake_hdfs import FakeHdfs, running

BLOCK = 1024
FILES = {
    "part-r-00000": 3 * BLOCK + 7,
    "part-r-00001": 100,
    "_SUCCESS": 0,
    "deep/er/part": BLOCK,
    "odd name\\with\nbreaks": 5,
}


@contextmanager
def an_output() -> Iterator[FakeHdfs]:
    """While this lasts ``/out/wc`` has the FILES."""
    with running() as server:
        random_bytes = random.Random(4)
        for name, size in FILES.items():
            data = random_bytes.randbytes(size)
            blocks = [data[start : start + BLOCK] for start in range(0, size, BLOCK)]
            server.put(f"/out/wc/{name}", *blocks, block_bytes=BLOCK)
        server.make_folder("/out/wc/empty")
        yield server
    close_session()


def verify(hdfs: Hdfs, output: str, target: Path) -> None:
    """Compare a saved folder with HDFS: nothing happens when all files agree."""
    lacking: list[str] = []
    files = (file for file in hdfs.below(output) if not file.folder)
    if unsaved := compare(hdfs, output, target, lambda: False, files, lacking):
        raise UnsavedError(unsaved, where=str(target))
    assert not lacking


def save(server: FakeHdfs, target: Path, **changes: Any) -> Saved:
    return SaveOrder(
        **{"hdfs": Hdfs.of(server.masters()), "output": "/out/wc", "target": target, "readers": 2, **changes}
    ).run()


def made_set(folder: Path, sizes: Mapping[str, int], seed: int) -> Path:
    """A folder with files of these sizes, and the same random bytes for the same seed."""
    random_bytes = random.Random(seed)
    for name, size in sizes.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(random_bytes.randbytes(size))
    return folder


class StopAfter:
    """The end of a transfer after so many bytes: what it is given as ``progress`` and as ``stop``."""

    def __init__(self, size: int) -> None:
        self.left = size

    def progress(self, size: int) -> None:
        self.left -= size

    def stop(self) -> bool:
        return self.left <= 0


def contents(folder: Path) -> dict[str, bytes]:
    files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    files.pop(MANIFEST, None)
    return files


def check(server: FakeHdfs, target: Path) -> None:
    verify(Hdfs.of(server.masters()), "/out/wc", target)


def unsaved(server: FakeHdfs, target: Path, **changes: Any) -> dict[str, str]:
    """The files that a save could not have, each with the reason."""
    with pytest.raises(UnsavedError) as caught:
        save(server, target, **changes)
    assert not target.exists()
    return {row.path: row.why for row in caught.value.unsaved}


def working(target: Path) -> Path:
    return target.with_name(f".{target.name}.saving")


def stakes(server: FakeHdfs, *outputs: tuple[str, Path | str]) -> list[Stake]:
    declared = (Output(path=path, save_to=str(save_to)) for path, save_to in outputs)
    return at_stake(Hdfs.of(server.masters()), declared)
