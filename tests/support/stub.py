"""A master in a test's own process: answers each path with the document that the test put there."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from urllib.parse import urlsplit

from tests.support.web import Request, serving


class Stub:
    """``answers`` by path: a document, or a function that gives one; paths that are missing are not found."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.answers: dict[str, object | Callable[[], object]] = {}


@contextmanager
def stub_master() -> Iterator[Stub]:
    """A master on a port of its own."""

    class Handler(Request):
        def answer(self) -> None:
            document = stub.answers.get(urlsplit(self.path).path)
            status = 404 if document is None else 200
            self.send(json.dumps(document() if callable(document) else document).encode(), status)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    stub = Stub(f"http://127.0.0.1:{server.server_port}")
    with serving(server):
        yield stub
