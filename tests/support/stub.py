"""A master in a test's own process: answers each path with the document that the test put there."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit


class Stub:
    """``answers`` by path: a document, or a function that gives one; paths that are missing are not found.

    ``puts`` has every path that was written to.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.answers: dict[str, object | Callable[[], object]] = {}


@contextmanager
def stub_master() -> Iterator[Stub]:
    """A master on a port of its own."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer = stub.answers.get(urlsplit(self.path).path)
            self._answer(404 if answer is None else 200, answer() if callable(answer) else answer)

        def _answer(self, status: int, document: object) -> None:
            body = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: Any) -> None:
            """Nothing to say."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    stub = Stub(f"http://127.0.0.1:{server.server_port}")
    # The port takes connections from here on; `shutdown` waits for at most one poll.
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield stub
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
