"""Answers of the controller about the history of a job and the data at stake."""

from __future__ import annotations

import gzip
import io
import tarfile
import tracemalloc
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from types import SimpleNamespace
from typing import Any, BinaryIO

import pytest

from fawkes.base.errors import FawkesError, HostError, UserError
from fawkes.config.clusters.details import ClusterDetails, Output
from fawkes.core.state.state import State
from fawkes.core.values.events import ReleaseAsked
from fawkes.core.values.model import ClusterId, JobId
from fawkes.core.values.tags import tag_of
from fawkes.live.clusters.log_keeper import LIMIT_BYTES
from fawkes.live.controller.data_answers import DataAnswers
from fawkes.live.wire.masters import MasterAddresses
from fawkes.playbook import Folders
from tests.support.desk import Desk
from tests.support.stub import Stub, stub_master

APPS = "/ws/v1/cluster/apps"
JOB = "/ws/v1/history/mapreduce/jobs/job_1_0007"
ASKED = {"cluster": "c-1", "job": "j-1", "attempt": "2"}


class Cluster:
    """The one MR-cluster with masters, and where they answer."""

    def __init__(self, url: str) -> None:
        self.url = url

    def get(self, name: str) -> Cluster | None:
        return self if name == "c-1" else None

    def masters(self, cluster: object) -> MasterAddresses:
        return MasterAddresses(resource_manager=self.url, namenode="", user="", history=self.url)


@pytest.fixture
def server() -> Iterator[Stub]:
    with stub_master() as stub:
        app = {
            "id": "application_1_0007",
            "applicationTags": tag_of(JobId("j-1"), 2),
            "startedTime": 5,
            "finishedTime": 9,
        }
        stub.answers = {
            APPS: {"apps": {"app": [app]}},
            JOB: {"job": {"state": "SUCCEEDED"}},
            f"{JOB}/counters": {"jobCounters": {}},
            f"{JOB}/tasks": {"tasks": {}},
        }
        yield stub


def ask(stub: Stub, **query: str) -> list[Any]:
    cluster: Any = Cluster(stub.url)
    nothing: Any = None
    answers = DataAnswers(State(), cluster, cluster, nothing, nothing, nothing, Path())
    pieces: Any = answers.queries()["history"]({**ASKED, **query})
    return list(pieces)


def test_the_applications_of_an_attempt_are_found_by_their_tag(server: Stub) -> None:
    documents = ask(server)
    assert [document["application"]["id"] for document in documents] == ["application_1_0007"]
    assert documents[0]["application"]["started_us"] == 5000
    assert documents[0]["job"] == {"state": "SUCCEEDED"}


def test_what_the_resource_manager_has_forgotten_is_asked_for_by_its_id(server: Stub) -> None:
    server.answers[APPS] = {"apps": {}}
    assert ask(server) == []
    assert ask(server, application="application_1_0007")[0]["job"] == {"state": "SUCCEEDED"}


def test_a_mr_cluster_that_is_gone_has_no_history(server: Stub) -> None:
    with pytest.raises(FawkesError, match="c-9 is not running"):
        ask(server, cluster="c-9")


@pytest.mark.parametrize("attempt", ["", "-1", "x"])
def test_an_attempt_has_a_number(server: Stub, attempt: str) -> None:
    with pytest.raises(UserError, match="attempt"):
        ask(server, attempt=attempt)


class Silent:
    """Every MR-cluster that there ever was, with an output folder; no NameNode answers."""

    def __init__(self, *names: str) -> None:
        self.names = names

    def all(self) -> list[Any]:
        details = ClusterDetails(outputs=(Output(path="/out", save_to="/saved"),))
        return [SimpleNamespace(id=ClusterId(name), details=details) for name in self.names]

    def at_stake(self, cluster: object) -> list[Any]:
        raise FawkesError("nobody answers")


def at_stake(desk: Desk, **query: str) -> list[str]:
    silent: Any = Silent("a", "b", "gone")
    nothing: Any = None
    answers = DataAnswers(desk.state, silent, nothing, nothing, nothing, silent, Path())
    rows: Any = answers.queries()["at-stake"](query)
    assert [(row["path"], row["bytes"], row["files"], row["owner"]) for row in rows] == [
        (path, None, None, None) for row in rows[::2] for path in ("/out", "/")
    ]
    return [row["cluster"] for row in rows[::2]]


def test_nothing_is_at_stake_before_hdfs_takes_writes() -> None:
    """Unknown data count as at stake, but only of those that may have some."""
    desk = Desk(4)
    desk.request("a")
    desk.up("b")
    assert at_stake(desk) == ["b"]
    desk.done("cluster:a")
    assert at_stake(desk) == ["a", "b"], "it is being loaded, and users may have written"
    desk.done("cluster:a")
    assert at_stake(desk) == ["a", "b"]
    desk.tell(ReleaseAsked(at_us=desk.now_us, cluster=ClusterId("a")))
    assert at_stake(desk, cluster="a") == ["a"], "it is being saved"
    desk.done("cluster:a")
    assert at_stake(desk) == ["b"]


def archive(**texts: bytes) -> bytes:
    """Logs as a node sends them."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as packed:
        for name, text in texts.items():
            member = tarfile.TarInfo(f"logs/{name}")
            member.size = len(text)
            packed.addfile(member, io.BytesIO(text))
    return out.getvalue()


def sparse() -> bytes:
    """A file of a petabyte in some bytes, as GNU tar writes it."""
    member = tarfile.TarInfo("logs/huge")
    member.pax_headers = {"GNU.sparse.size": str(1 << 50), "GNU.sparse.map": "0,0", "GNU.sparse.numblocks": "1"}
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz", format=tarfile.PAX_FORMAT) as packed:
        packed.addfile(member)
    return out.getvalue()


def headers() -> bytes:
    """A header of an archive that becomes gigabytes in memory: the pieces of a sparse file."""
    member = tarfile.TarInfo("logs/x")
    member.pax_headers = {"GNU.sparse.size": "1", "GNU.sparse.map": "0,0," * (1 << 20), "GNU.sparse.numblocks": "1"}
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz", format=tarfile.PAX_FORMAT) as packed:
        packed.addfile(member)
    return out.getvalue()


class Nodes:
    """Nodes of c-1, with what each of them sends when it is asked for its logs; the others do not answer."""

    def __init__(self, folder: Path, **sent: bytes) -> None:
        self.folder = folder
        self.sent = sent
        self.nodes = dict.fromkeys((*sent, "down"))

    def get(self, name: str) -> Any:
        return SimpleNamespace(id=ClusterId(name), master="m") if name == "c-1" else None

    def nodes_of(self, name: str) -> list[str]:
        return list(self.nodes)

    def folders(self, node: str, cluster: str) -> Folders:
        return Folders(work_dir=PurePosixPath("/srv/fawkes"), cluster=ClusterId(cluster))

    def run(self, node: str, script: object, deadline_s: float, *, sink: BinaryIO) -> None:
        if node == "down":
            raise HostError("does not answer", host=node)
        sink.write(self.sent[node])

    def ask(self, **query: str) -> Iterator[Any]:
        mine: Any = self
        answers = DataAnswers(mine, mine, mine, mine, mine, mine, self.folder / "logs")
        pieces: Any = answers.queries()["logs"]({"cluster": "c-1", **query})
        return pieces  # type: ignore[no-any-return]

    def logs(self, **query: str) -> list[Any]:
        return list(self.ask(**query))


def test_the_last_lines_of_a_log_are_counted_by_line_feeds(tmp_path: Path) -> None:
    text = "one\u2028two\rthree\x0cfour\nfive\nsix"
    nodes = Nodes(tmp_path, a=archive(x=text.encode()))
    kept = [nodes.logs(lines=str(lines), node="a")[0]["text"] for lines in (1, 2, 3, 0)]
    assert kept == ["six", "five\nsix", text, text]


@pytest.mark.parametrize("ends", [b"", b"\n"])
@pytest.mark.parametrize("lines", [0, 1, 2, 7, 50, 10_000])
def test_long_logs_come_in_pieces_of_whole_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: int, ends: bytes
) -> None:
    monkeypatch.setattr("fawkes.live.controller.data_answers._PIECE_BYTES", 600)
    text = b"\n".join(b"x" * (number % 50) for number in range(200)) + b"\n" * 50 + b"last" + ends
    pieces = [piece["text"] for piece in Nodes(tmp_path, a=archive(x=text)).logs(lines=str(lines), node="a")]
    assert "".join(pieces) == b"".join(text.splitlines(keepends=True)[-lines:]).decode()
    assert all(piece.endswith("\n") for piece in pieces[:-1])
    assert max(map(len, pieces)) <= 1200


def test_logs_take_a_small_part_of_their_size_in_memory(tmp_path: Path) -> None:
    """A node that sends line feeds made a list of them, and headers of an archive are read whole."""
    feeds = archive(x=bytes(16 << 20).replace(b"\0", b"\n"))
    tracemalloc.start()
    try:
        for lines, length in (("200", 200), ("999999999", 16 << 20), ("0", 16 << 20)):
            tracemalloc.reset_peak()
            query = {"cluster": "c-1", "node": "a", "lines": lines}
            assert sum(len(piece["text"]) for piece in Nodes(tmp_path, a=feeds).ask(**query)) == length
            assert tracemalloc.get_traced_memory()[1] < 12 << 20
    finally:
        tracemalloc.stop()


def test_a_node_that_gives_no_logs_keeps_no_other_one_from_being_shown(tmp_path: Path) -> None:
    nodes = Nodes(tmp_path, a=archive(x=b"one\ntwo\n"))
    assert nodes.logs(lines="1") == [
        {"node": "a", "file": "logs/x", "text": "two\n"},
        {"node": "down", "file": "(not read)", "text": "down: does not answer\n"},
    ]
    with pytest.raises(HostError, match="does not answer"):
        nodes.logs(node="down")


BOMB = gzip.compress(bytes(3 * LIMIT_BYTES), 1)
LIMIT = "its logs have more than 128.0 MB"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sent", "why"),
    [
        (b"garbage", "its logs are damaged"),
        (b"", "its logs are damaged"),
        (archive(x=b"text" * 100)[:-20], "its logs are damaged"),
        (gzip.compress(b"garbage" * 1000), "its logs are damaged"),
        (b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xff\xff\xff", "its logs are damaged"),
        (BOMB, LIMIT),
        (sparse(), LIMIT),
        (headers(), LIMIT),
    ],
    # Archives have the time in them, so that workers would collect tests of different names.
    ids=["garbage", "nothing", "cut off", "no archive", "no end", "bomb", "sparse", "headers"],
)
def test_logs_that_cannot_be_read_say_so_live_and_kept(tmp_path: Path, sent: bytes, why: str) -> None:
    nodes = Nodes(tmp_path, a=sent)
    (tmp_path / "logs" / "c-2").mkdir(parents=True)
    (tmp_path / "logs" / "c-2" / "a.1.tar.gz").write_bytes(sent)
    for query in ({"node": "a"}, {"cluster": "c-2"}):
        (piece,) = nodes.logs(**query)
        assert (piece["node"], piece["file"]) == ("a", "(not read)")
        assert piece["text"].startswith(why)


def test_a_node_that_sends_without_end_is_given_up(tmp_path: Path) -> None:
    nodes = Nodes(tmp_path, a=bytes(2 * LIMIT_BYTES + 1))
    with pytest.raises(HostError, match=LIMIT):
        nodes.logs(node="a")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("cluster", "../../etc"),
        ("cluster", "/etc"),
        ("cluster", ""),
        ("cluster", "a\0b"),
        ("lines", "-1"),
        ("lines", "x"),
    ],
)
def test_what_is_no_name_or_number_is_refused(tmp_path: Path, key: str, value: str) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc" / "a.1.tar.gz").write_bytes(archive(x=b"secret"))
    with pytest.raises(UserError) as refused:
        Nodes(tmp_path).logs(**{key: value})
    assert refused.value.where == key
    assert refused.value.hint
