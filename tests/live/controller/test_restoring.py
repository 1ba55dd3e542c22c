"""The look before a restore: real scripts on "nodes" of this machine, with programs in the place of Hadoop's."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO, cast

import pytest

from fawkes.base.errors import FawkesError, HostError, RefusedError, UserError
from fawkes.core.values.effects import Goal, LookAtMasters, Member
from fawkes.core.values.model import ClusterId, Facts, NodeId, Role
from fawkes.live.controller.restoring import Restorer
from fawkes.live.edits.edit_log import Namespace
from fawkes.live.edits.image_xml import ImageError
from fawkes.live.edits.kept_copy import KeptCopy
from fawkes.live.nodes.clusters import Clusters, LiveCluster
from fawkes.live.nodes.ground import ControllerIdentity, Ground
from fawkes.live.nodes.ssh import Result
from fawkes.playbook import Script
from playbooks import hadoop as hadoop_book
from playbooks import lease as lease_book
from playbooks import node as node_book
from tests.live.edits.test_image_xml import block, image, inode
from tests.live.played import live_cluster
from tests.support.local_nodes import node_of

pytestmark = pytest.mark.slow

C = ClusterId("c-1")
OLD, TO, OTHER, LIGHT = (NodeId(f"node0{n}") for n in range(1, 5))
POOL = "BP-7-10.0.0.1-1795398889496"
VERSION = f"#Mon Nov 23\nnamespaceID=15\nblockpoolID={POOL}\nstorageType=NAME_NODE\nclusterID=pool-c-1\ncTime=1\n"
ORIGIN = Namespace("pool-c-1", "15", "1", POOL)
INODES = [
    inode(16385, "DIRECTORY", ""),
    inode(16386, "DIRECTORY", "data"),
    inode(16387, "FILE", "both", f"<blocks>{block(1, 11, 4)}{block(2, 12, 3)}</blocks>"),
    inode(16388, "FILE", "half", f"<blocks>{block(3, 13, 5)}{block(4, 14, 5)}</blocks>"),
    inode(16389, "FILE", "open", f"<blocks>{block(5, 15, 0)}</blocks><file-under-construction/>"),
]
FOLDERS = (
    "<directory><parent>16385</parent><child>16386</child></directory>"
    "<directory><parent>16386</parent><child>16387</child><child>16388</child><child>16389</child></directory>"
)
#: stands for a NameNode that merges: it needs VERSION, and makes an image
_MERGES = "cat nn/current/VERSION >/dev/null && : >nn/current/fsimage_0000000000000000055"


class Nodes:
    """Runs each node's scripts on this machine; those that are ``silent`` do not answer."""

    def __init__(self) -> None:
        self.silent: set[str] = set()

    def run(
        self,
        node: str,
        script: Script,
        deadline_s: float,
        stdin: BinaryIO | None = None,
        sink: BinaryIO | None = None,
    ) -> Result:
        if node in self.silent:
            raise HostError("does not answer", host=node)
        argv = ["/bin/sh", "-c", script.text]
        done = subprocess.run(argv, stdin=stdin or subprocess.DEVNULL, capture_output=True, check=False, timeout=60)
        if sink is not None:
            sink.write(done.stdout)
        out = "" if sink is not None else done.stdout.decode()
        return Result(node, done.returncode, out, done.stderr.decode())

    def connect(self, node: str, address: str, port: int, limit_s: float) -> Any:
        raise OSError("nobody listens")


def kept_copy(folder: Path, origin: Namespace = ORIGIN) -> KeptCopy:
    """A copy whose last transaction nobody asks for."""
    return KeptCopy(origin=origin, copied_us=40_000_000, transaction=0, image=0, size_bytes=0, folder=folder)


@dataclass
class Copies:
    kept: KeptCopy | None = None
    second: Mapping[NodeId, KeptCopy] = field(default_factory=dict)

    def newest(self, cluster: ClusterId) -> KeptCopy | None:
        return self.kept

    def fetch(self, cluster: ClusterId, node: NodeId) -> KeptCopy:
        return self.second[node]


@dataclass
class Programs:
    xml: Path
    merges: str = _MERGES

    def offline_argv(self, cluster: LiveCluster, node: NodeId, program: str) -> list[str]:
        does = {"namenode": self.merges, "oiv": 'cat "$XML"'}
        return ["sh", "-c", does[program], program]

    def environment(self, cluster: LiveCluster, node: NodeId) -> dict[str, str]:
        return {"XML": str(self.xml)}


def answer(restorer: Restorer, to: str = TO) -> Generator[dict[str, Any]]:
    """The pieces of an answer, as they come."""
    return cast(Generator[dict[str, Any]], restorer.answer({"cluster": C, "to": to}))


@dataclass
class Lost:
    """An MR-cluster whose masters on node01 are lost; a test changes what is so."""

    folder: Path
    seen: dict[str, Any] = field(
        default_factory=lambda: {
            "old": "silent",
            "image": None,
            "copied_us": 1,
            "txid": 2,
            "reached": [TO, OTHER, LIGHT],
        }
    )

    def __post_init__(self) -> None:
        self.nodes = Nodes()
        self.copies = Copies()
        self.programs = Programs(self.folder / "image.xml")
        self.asked: list[LookAtMasters] = []
        self.clusters = Clusters()
        rows = [replace(node_of(name, self.folder), may_core=name != LIGHT) for name in _ROLES]
        self.ground = Ground(rows, ControllerIdentity("pool", 1, "c1"), self.nodes, command_s=60, threads=4)
        members = {name: Member(Goal.SERVING, role, 1) for name, role in _ROLES.items()}
        self.clusters._put(live_cluster(C, OLD, members))
        for name in _ROLES:
            lease = self.ground.lease(name, C, 1)
            self.ground.run(name, lease_book.take(lease), "taking")
            self.ground.run(name, node_book.prepare(lease), "preparing")
            self.ground.run(name, hadoop_book.configure(lease, {"hdfs-site.xml": "<configuration/>\n"}), "configuring")

    def keep(self, version: str = VERSION) -> None:
        files = self.folder / "kept" / "nn"
        files.mkdir(parents=True)
        (files / "VERSION").write_text(version)
        self.copies.kept = kept_copy(self.folder / "kept")
        count = len(INODES)
        text = image(INODES, count=count)
        head, _, rest = text.partition("<INodeDirectorySection>")
        _, _, tail = rest.partition("</INodeDirectorySection>")
        self.programs.xml.write_text(f"{head}<INodeDirectorySection>{FOLDERS}</INodeDirectorySection>{tail}")

    def replica(
        self, at: NodeId, number: int, stamp: int, size: int, kind: str = "finalized", pool: str = POOL
    ) -> None:
        place = Path(self.ground.folders(at, C).dn) / "current" / pool / "current" / kind
        place.mkdir(parents=True, exist_ok=True)
        (place / f"blk_{number}").write_bytes(b"x" * size)
        (place / f"blk_{number}_{stamp}.meta").write_bytes(b"m")

    def look(self, effect: LookAtMasters) -> Facts:
        self.asked.append(effect)
        return self.seen

    def restorer(self) -> Restorer:
        hands: tuple[Any, Any, Any] = (self.programs, self.nodes, self.copies)
        return Restorer(self.ground, self.clusters, *hands, self.look, lambda: 100_000_000)

    def found(self, to: str = TO) -> Mapping[str, Any]:
        *steps, last = answer(self.restorer(), to)
        assert [list(step) for step in steps] == [["doing"]] * len(steps)
        facts: Mapping[str, Any] = last["found"]
        return facts

    def left(self) -> list[Path]:
        return [path for name in _ROLES for path in Path(self.ground.folders(name, C).root).glob("restore*")]


_ROLES = {OLD: Role.CORE, TO: Role.CORE, OTHER: Role.TRANSIENT_CORE, LIGHT: Role.TRANSIENT}


@pytest.fixture
def lost(tmp_path: Path) -> Lost:
    return Lost(tmp_path)


def fates(facts: Mapping[str, Any]) -> dict[str, tuple[int, int, list[str]]]:
    return {
        row["fate"]: (row["files"], row["bytes"], [file["path"] for file in row["named"]]) for row in facts["files"]
    }


def test_what_would_come_back_is_told_by_name_and_nothing_stays_behind(lost: Lost) -> None:
    lost.keep()
    lost.replica(TO, 1, 11, 4)
    lost.replica(OTHER, 2, 12, 3)
    lost.replica(OTHER, 3, 13, 5)
    lost.replica(TO, 4, 99, 5)
    lost.replica(TO, 5, 15, 2, "rbw")
    lost.replica(TO, 6, 16, 1)
    facts = lost.found()
    assert fates(facts) == {
        "whole": (1, 7, []),
        "open": (1, 0, ["/data/open"]),
        "short": (1, 10, ["/data/half"]),
        "unknown": (0, 0, []),
    }
    assert facts["files"][2]["named"] == [{"path": "/data/half", "bytes": 10, "missing": 1, "blocks": 2}]
    assert (facts["strangers"], facts["silent"]) == (1, [OLD])
    assert (facts["txid"], facts["copied_us"], facts["now_us"]) == (53, 40_000_000, 100_000_000)
    assert (facts["old"], facts["master"], facts["to"]) == ("silent", OLD, TO)
    assert lost.left() == []
    assert lost.asked == [LookAtMasters(C, 0, OLD, TO)], "the facts are fresh"
    assert not Path(lost.ground.folders(TO, C).nn).exists(), "nothing was placed"


def test_blocks_on_the_masters_own_node_count_when_it_answers(lost: Lost) -> None:
    lost.keep()
    lost.seen |= {"old": "stopped", "image": False}
    lost.replica(OLD, 1, 11, 4)
    lost.replica(OLD, 2, 12, 3)
    facts = lost.found()
    assert fates(facts)["whole"] == (1, 7, [])
    assert facts["silent"] == []


def test_a_node_that_falls_silent_meanwhile_is_told(lost: Lost) -> None:
    lost.keep()
    lost.nodes.silent = {OTHER}
    assert lost.found()["silent"] == [OLD, OTHER]


def test_a_disk_that_has_the_whole_data_needs_no_copy(lost: Lost) -> None:
    lost.seen |= {"old": "stopped", "image": True}
    facts = lost.found()
    assert (facts["files"], facts["image"]) == ([], True)


def test_a_copy_that_only_another_node_has_is_fetched(lost: Lost) -> None:
    lost.keep()
    assert lost.copies.kept is not None
    lost.copies = Copies(second={TO: replace(lost.copies.kept, copied_us=30_000_000)})
    lost.seen |= {"copy_at": TO}
    assert lost.found()["copied_us"] == 30_000_000


def test_the_age_of_each_copy_is_told(lost: Lost) -> None:
    assert lost.restorer().copies({}) == [{"cluster": C, "age_us": None}]
    lost.keep()
    assert lost.restorer().copies({"cluster": C}) == [{"cluster": C, "age_us": 60_000_000}]
    assert lost.restorer().copies({"cluster": "c-9"}) == []


@pytest.mark.parametrize("state", ["silent", "stopped"])
def test_without_a_copy_nothing_is_restored(lost: Lost, state: str) -> None:
    lost.seen |= {"old": state}
    with pytest.raises(RefusedError, match=r"c-1: there is no kept copy .* Nothing was changed"):
        lost.found()


def test_masters_that_answer_are_left_alone(lost: Lost) -> None:
    lost.keep()
    lost.seen |= {"old": "answers"}
    with pytest.raises(RefusedError, match="its masters answer, so there is nothing to restore"):
        lost.found()


def test_masters_of_which_nothing_is_known_are_left_alone(lost: Lost) -> None:
    lost.keep()
    for seen in ({}, {"old": None}, {"old": "soon"}):
        lost.seen = seen
        with pytest.raises(RefusedError, match="it is not known whether its masters still run"):
            lost.found()


@pytest.mark.parametrize(
    ("version", "says"),
    [
        (VERSION.replace("pool-c-1", "pool-c-2"), "the kept copy is of pool-c-2 .* now, not of pool-c-1"),
        (VERSION.replace(POOL, "BP-9"), "block pool BP-9"),
        (VERSION.replace("clusterID=", "cluster="), "is of nothing that is known"),
        ("", "is of nothing that is known"),
    ],
)
def test_a_copy_that_is_another_one_by_now_is_refused(lost: Lost, version: str, says: str) -> None:
    lost.keep(version)
    with pytest.raises(RefusedError, match=says):
        lost.found()


def test_a_copy_of_an_earlier_mr_cluster_of_the_same_name_is_refused(lost: Lost) -> None:
    lost.keep()
    lost.replica(OTHER, 1, 11, 4, pool="BP-8")
    with pytest.raises(RefusedError, match=r"node03: it has blocks of BP-8, and the kept copy is of BP-7"):
        lost.found()
    assert lost.left() == []


@pytest.mark.parametrize("to", ["", "node03", "node04", "node09"])
def test_only_a_core_node_can_have_the_masters(lost: Lost, to: str) -> None:
    lost.keep()
    with pytest.raises(UserError, match=rf"{to!r} is not a core node of c-1. Its core nodes are node01, node02"):
        lost.found(to)
    assert lost.asked == []


def test_an_mr_cluster_that_is_not_there_is_an_error(lost: Lost) -> None:
    with pytest.raises(UserError, match="'c-9' is not an MR-cluster with masters"):
        lost.restorer().answer({"cluster": "c-9", "to": TO})


def test_a_copy_that_cannot_be_read_is_told_and_removed(lost: Lost) -> None:
    lost.keep()
    lost.programs.merges = 'echo "java.io.IOException: there is a gap in the edits"; exit 255'
    with pytest.raises(HostError, match=r"node02: reading the copy failed.*there is a gap in the edits"):
        lost.found()
    assert lost.left() == []
    lost.programs.merges = _MERGES
    lost.programs.xml.write_text("<fsimage></fsimage>")
    with pytest.raises(ImageError, match="the image of the NameNode cannot be read"):
        lost.found()
    assert lost.left() == []


def test_a_copy_that_is_gone_is_an_error_that_names_it(lost: Lost) -> None:
    lost.copies.kept = kept_copy(lost.folder / "nowhere")
    with pytest.raises(FawkesError, match="nowhere: the copy cannot be read"):
        lost.found()


def test_one_look_at_a_time_for_each_mr_cluster(lost: Lost) -> None:
    lost.keep()
    restorer = lost.restorer()
    first = answer(restorer)
    next(first)
    with pytest.raises(RefusedError, match="somebody else looks at its kept copy"):
        list(answer(restorer))
    # Whoever asked has gone away: the next one may look.
    gone = threading.Thread(target=first.close)
    gone.start()
    gone.join()
    assert list(answer(restorer))[-1]["found"]
