"""The page, served on this machine: limits for whoever is slow, silent or many."""

from __future__ import annotations

import asyncio
import asyncio.constants
import secrets
import socket
from collections.abc import Callable
from pathlib import Path

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from fawkes.base.errors import UserError
from fawkes.config.settings.tokens import LOOPBACK, fit_secret, private_text
from fawkes.report.web.acting import Acting
from fawkes.report.web.app import application
from fawkes.report.web.looks import Watcher

REQUEST_S = 10.0
"""For a whole request, from the opening of its connection or the answer before."""
MOST_CONNECTIONS = 500
MOST_HEADER_BYTES = 16_384
_KEY_BYTES = 24
#: uvicorn's own list allows, below TLS 1.3, ciphers that neither encrypt nor authenticate
_CIPHERS = "ECDHE+AESGCM:ECDHE+CHACHA20"


class _Patient(H11Protocol):
    """A connection on which no whole request comes in time is closed; uvicorn itself would keep it for ever.

    The same goes for one whose other end takes nothing of an answer.
    """

    _left = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._late = self.loop.call_later(REQUEST_S, self._give_up)

    def on_response_complete(self) -> None:
        self._late.cancel()
        self._late = self.loop.call_later(REQUEST_S, self._give_up)
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self._late.cancel()
        super().connection_lost(exc)

    def _give_up(self) -> None:
        if self.cycle is None or self.cycle.response_complete:
            self.transport.close()
            return
        before, self._left = self._left, self.transport.get_write_buffer_size()
        if 0 < before <= self._left:
            self.transport.abort()
            return
        self._late = self.loop.call_later(REQUEST_S, self._give_up)


def key_of(file: Path | None) -> str:
    """The key in a file that its owner alone can read, or a new one for this run. UserError for any other file."""
    if file is None:
        return secrets.token_urlsafe(_KEY_BYTES)
    key = private_text(file).strip()
    if not fit_secret(key):
        raise UserError("a key has at least 16 printable characters", where=str(file))
    return key


def serve(
    folder: Path,
    *,
    port: int,
    key: str | None,
    names: tuple[str, ...],
    ready: Callable[[int], None],
    host: str = LOOPBACK,
    tls: tuple[Path, Path] | None = None,
    acting: Acting | None = None,
    idle: Callable[[], str] = lambda: "",
) -> None:
    """Serve the page of a state folder until a signal; ``ready`` gets the port. UserError when it is in use.

    ``tls`` are the files with the certificate and its key; see `application` for ``key`` and ``acting``, and
    `Watcher` for ``idle``.
    """
    # With its protocol: asyncio sends small answers of any other socket late, after 40 ms (Nagle, and delayed ACKs).
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        # Before the address is printed: who opens it at once has to wait a moment, and is not refused.
        listening.listen(MOST_CONNECTIONS)
    except OSError as error:
        listening.close()
        hint = "Choose another one with --port, or in [web]"
        raise UserError(f"cannot listen: {error.strerror}", where=f"{host}:{port}", hint=hint) from None
    app = application(Watcher(folder, idle=idle), key=key, hosts=[LOOPBACK, "localhost", host, *names], acting=acting)
    # Of connections that never begin TLS; uvicorn would let them wait for a minute.
    asyncio.constants.SSL_HANDSHAKE_TIMEOUT = REQUEST_S
    config = uvicorn.Config(
        app,
        http=_Patient,
        ws="none",
        log_level="warning",
        access_log=False,
        server_header=False,
        limit_concurrency=MOST_CONNECTIONS,
        timeout_keep_alive=5,
        timeout_graceful_shutdown=1,
        h11_max_incomplete_event_size=MOST_HEADER_BYTES,
        ssl_certfile=tls and tls[0],
        ssl_keyfile=tls and tls[1],
        ssl_ciphers=_CIPHERS,
    )
    ready(listening.getsockname()[1])
    uvicorn.Server(config).run(sockets=[listening])
