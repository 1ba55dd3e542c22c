"""The common part of web servers that run in a test's own process."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer, ThreadingHTTPServer
from typing import Any, TypeVar

S = TypeVar("S", bound=HTTPServer)


class Request(BaseHTTPRequestHandler, ABC):
    """One request of any kind, answered with `send`; nothing is logged."""

    @abstractmethod
    def answer(self) -> None:
        """Send the answer; each kind of server has its own."""

    def do_GET(self) -> None:
        self.answer()

    do_PUT = do_POST = do_DELETE = do_GET  # noqa: N815

    def send(self, body: bytes, status: int = 200, kind: str = "application/json", **headers: str) -> None:
        """Answer with a body, and with headers besides; a ``-`` in the name of one is written as ``_``."""
        self.send_response(status)
        for key, value in {"content_type": kind, "content_length": str(len(body)), **headers}.items():
            self.send_header(key.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Nothing to say."""


class LastingRequest(Request):
    """One of many requests on a connection that stays open."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True


class LastingServer(ThreadingHTTPServer):
    """A server that waits for nobody when it ends; a client that has given up is no news."""

    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing."""


@contextmanager
def serving(server: S) -> Iterator[S]:
    """A server that takes connections, and answers them while this lasts."""
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    with server:
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
