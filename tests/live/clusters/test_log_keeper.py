"""Logs of wiped nodes have a budget, and whatever goes wrong with them is no more than a warning."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fawkes.base.errors import FawkesError, HostError
from fawkes.core.values.effects import Host
from fawkes.core.values.model import ClusterId, NodeId
from fawkes.live.clusters.log_keeper import LIMIT_BYTES, LogKeeper, LogRoom, NoRoomError
from fawkes.live.nodes.ssh import Result
from fawkes.playbook import Script
from tests.live.played import PlayedGround

MB = 1_000_000


def wiped(node: str, cluster: str = "c", generation: int = 1) -> Host:
    return Host(NodeId(node), ClusterId(cluster), None, generation)


class Nodes:
    """Every node has logs of so many bytes; ``breaks`` is what happens in the middle of them."""

    def __init__(self, folder: Path, budget: int, free: Callable[[], int] = lambda: 10**12) -> None:
        self.folder = folder
        self.size = MB
        self.exit = 0
        self.stderr = ""
        self.breaks: Exception | None = None
        self.scripts: list[str] = []
        ground = PlayedGround(*(f"n{number}" for number in range(10)))
        self.keeper = LogKeeper(ground, self, folder, LogRoom(folder, budget, lambda path: free()))

    def run(self, node: str, script: Script, deadline_s: float, *, sink: BinaryIO) -> Result:
        self.scripts.append(script.text)
        left = self.size
        while left > 0:
            sink.write(b"x" * min(left, 65536))
            left -= 65536
            if self.breaks is not None and left < self.size // 2:
                raise self.breaks
        return Result(node, self.exit, "", self.stderr)

    def keep(self, *nodes: str) -> None:
        for node in nodes:
            self.keeper.keep(wiped(node))
            path = self.folder / "c" / f"{node}.1.tar.gz"
            if path.exists():
                os.utime(path, ns=(len(self.scripts), len(self.scripts)))

    def there(self) -> list[str]:
        return sorted(path.name for path in self.folder.glob("*/*"))


def test_an_archive_is_kept_once_for_each_generation(tmp_path: Path) -> None:
    nodes = Nodes(tmp_path, 10 * MB)
    nodes.keep("n1", "n1")
    nodes.keeper.keep(wiped("n1", generation=2))
    assert nodes.there() == ["n1.1.tar.gz", "n1.2.tar.gz"]
    assert (tmp_path / "c/n1.1.tar.gz").read_bytes() == b"x" * MB
    assert len(nodes.scripts) == 2


def test_the_oldest_go_first(tmp_path: Path) -> None:
    nodes = Nodes(tmp_path, 5 * MB // 2)
    nodes.keep("n1", "n2", "n3", "n4")
    assert nodes.there() == ["n3.1.tar.gz", "n4.1.tar.gz"]


def test_logs_take_a_quarter_of_what_is_free_at_most(tmp_path: Path) -> None:
    disk = 10 * MB
    nodes = Nodes(tmp_path, 10**12, lambda: disk - sum(path.stat().st_size for path in tmp_path.glob("*/*")))
    nodes.keep("n1", "n2", "n3", "n4")
    assert nodes.there() == ["n3.1.tar.gz", "n4.1.tar.gz"]


def test_what_does_not_fit_is_not_kept_and_says_why(tmp_path: Path) -> None:
    nodes = Nodes(tmp_path, 2 * MB)
    nodes.keep("n1")
    nodes.size = 3 * MB
    with pytest.raises(FawkesError, match=r"n2.1.tar.gz: cannot be written \(logs may take 2000000 bytes in all\)"):
        nodes.keep("n2")
    # No room is lost by that.
    nodes.size = MB
    nodes.keep("n3", "n4")
    assert nodes.there() == ["n3.1.tar.gz", "n4.1.tar.gz"]


def test_a_node_is_asked_for_no_more_than_there_is_room_for(tmp_path: Path) -> None:
    small, large = Nodes(tmp_path / "a", 2 * MB), Nodes(tmp_path / "b", 10**12)
    small.keep("n1")
    large.keep("n1")
    assert f"limit={2 * MB}" in small.scripts[0]
    assert f"limit={LIMIT_BYTES}" in large.scripts[0]


@pytest.mark.parametrize(
    ("breaks", "kind"),
    [
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), FawkesError),
        (HostError("the connection was lost", host="n1"), HostError),
    ],
)
def test_nothing_half_is_left_behind(tmp_path: Path, breaks: Exception, kind: type[FawkesError]) -> None:
    nodes = Nodes(tmp_path, 3 * MB)
    nodes.breaks = breaks
    for _ in range(10):
        with pytest.raises(kind):
            nodes.keep("n1")
    assert nodes.there() == []
    nodes.breaks = None
    nodes.keep("n1", "n2", "n3")
    assert len(nodes.there()) == 3


def test_a_node_without_logs_leaves_nothing(tmp_path: Path) -> None:
    nodes = Nodes(tmp_path, 3 * MB)
    nodes.exit, nodes.size = 73, 0
    nodes.keep("n1")
    assert nodes.there() == []


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "logs").write_text("a file is in the way")
    nodes = Nodes(tmp_path / "logs", 3 * MB)
    with pytest.raises(FawkesError, match="cannot be written"):
        nodes.keep("n1")


def test_what_an_earlier_controller_left_half_written_goes(tmp_path: Path) -> None:
    (tmp_path / "c").mkdir()
    for name in ("n1.1.tar.gz", "n2.1.tar.half", "n3.1.tar.gz.half"):
        (tmp_path / "c" / name).touch()
    nodes = Nodes(tmp_path, MB)
    nodes.keeper.clear()
    assert nodes.there() == ["n1.1.tar.gz"]


@pytest.mark.slow
@given(
    budget=st.integers(0, 100),
    old=st.lists(st.integers(0, 40), max_size=6),
    steps=st.lists(st.integers(1, 40), max_size=10),
)
def test_there_is_never_more_than_the_budget(
    tmp_path_factory: pytest.TempPathFactory, budget: int, old: list[int], steps: list[int]
) -> None:
    folder = tmp_path_factory.mktemp("logs")
    (folder / "c").mkdir()
    for number, size in enumerate(old):
        (folder / "c" / f"{number}.tar.gz").write_bytes(b"x" * size)
    room, begun = LogRoom(folder, budget, lambda path: 10**9), 0
    for count in steps:
        try:
            room.take(count)
        except NoRoomError:
            assert begun + count > budget
            room.end(begun)
            begun = 0
        else:
            begun += count
            assert sum(path.stat().st_size for path in folder.glob("*/*")) + begun <= budget
