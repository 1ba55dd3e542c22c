"""A server that answers as the masters of an MR-cluster do, from recorded answers, and fails as it is told to."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from fawkes.core.values.model import NodeId
from fawkes.live.wire.masters import MasterAddresses
from tests.support.web import LastingRequest, LastingServer, serving

DATA = Path(__file__).with_name("data")
NODES = {name: NodeId(f"node0{n}") for n in range(1, 5) for name in (f"h{n}", f"10.77.0.{n}")}

APPS = "/ws/v1/cluster/apps"
NODE_LIST = "/ws/v1/cluster/nodes"
INFO = "/ws/v1/cluster/info"
JMX = "/jmx"
MARK = "/webhdfs/v1/"
HISTORY = "/ws/v1/history/mapreduce/jobs"

Query = dict[str, str]
Answer = Callable[["Handler", Query], None]


def recorded(name: str) -> Any:
    return json.loads((DATA / name).read_text())


def am(application: str) -> str:
    return f"/proxy/{application}/ws/v1/mapreduce/jobs"


class Handler(LastingRequest):
    server: Server

    def answer(self) -> None:
        parts = urlsplit(self.path)
        query = {key: values[0] for key, values in parse_qs(parts.query, keep_blank_values=True).items()}
        self.server.asked.append((parts.path, query))
        self.server.answers.get(parts.path, missing)(self, query)


class Server(LastingServer):
    """``answers`` by path; ``asked`` is what it was asked; ``over`` is set when the test is."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers: dict[str, Answer] = {}
        self.asked: list[tuple[str, Query]] = []
        self.over = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def masters(self, **changes: Any) -> MasterAddresses:
        return MasterAddresses(
            **{
                "resource_manager": self.url,
                "namenode": self.url,
                "history": self.url,
                "user": "root",
                "nodes": NODES,
                **changes,
            }
        )

    def questions(self, path: str) -> list[Query]:
        return [query for place, query in self.asked if place == path]


def missing(handler: Handler, query: Query) -> None:
    handler.send(b'{"RemoteException": {"exception": "NotFoundException"}}', 404)


def says(document: object, status: int = 200) -> Answer:
    return lambda handler, query: handler.send(json.dumps(document).encode(), status)


def text(body: str, status: int = 200, kind: str = "text/html") -> Answer:
    return lambda handler, query: handler.send(body.encode(), status, kind)


def redirects(to: str) -> Answer:
    return lambda handler, query: handler.send(b"", 302, location=to)


def hangs(handler: Handler, query: Query) -> None:
    """Answer only when the test is over."""
    over = handler.server.over
    over.wait()
    handler.close_connection = True


def hangs_up(handler: Handler, query: Query) -> None:
    handler.close_connection = True
    handler.connection.shutdown(2)


def drips(document: object, *, headers: bool = False, drops: int = 200) -> Answer:
    """Answer in the end, but a byte at a time, much more often than any time limit for a single read."""
    body = json.dumps(document).encode()

    def answer(handler: Handler, query: Query) -> None:
        over = handler.server.over
        head = b"HTTP/1.1 200 OK\r\n"
        filler = b"x-drop: 1\r\n" if headers else b" "
        handler.close_connection = True
        handler.wfile.write(head if headers else head + b"content-type: application/json\r\n\r\n")
        for _ in range(drops):
            if over.wait(0.02):
                return
            handler.wfile.write(filler)
        handler.wfile.write(b"\r\n" + body if headers else body)

    return answer


def by_states(live: object, ended: object) -> Answer:
    """The list of applications: those that live or those that have ended, as the question wants."""
    return lambda handler, query: says(ended if "FINISHED" in query.get("states", "") else live)(handler, query)


def beans(**documents: object) -> Answer:
    """The NameNode's JMX by the name of the bean that is asked for."""

    def answer(handler: Handler, query: Query) -> None:
        name = query["qry"].rpartition("name=")[2]
        says(documents.get(name, {"beans": []}))(handler, query)

    return answer


def healthy(server: Server) -> None:
    """Everything that was recorded of one small MR-cluster on four nodes."""
    server.answers |= {
        INFO: says(recorded("info.json")),
        APPS: by_states(recorded("apps_live.json"), {"apps": {}}),
        NODE_LIST: says(recorded("nodes.json")),
        JMX: beans(
            NameNodeInfo=recorded("namenode.json"),
            BlockStats=recorded("blockstats.json"),
            NameNodeActivity=recorded("activity.json"),
        ),
        MARK: says({"XAttrs": [{"name": "user.fawkes.used", "value": '"100000000"'}]}),
        HISTORY: says(recorded("history.json")),
        am("application_1795220018027_0001"): says(recorded("am_running.json")),
    }


def clear(server: Server) -> None:
    """Forget everything, and let go of those who wait for an answer."""
    server.over.set()
    server.over = threading.Event()
    server.answers.clear()
    server.asked.clear()


@contextmanager
def running() -> Iterator[Server]:
    with serving(Server()) as server:
        try:
            yield server
        finally:
            server.over.set()
