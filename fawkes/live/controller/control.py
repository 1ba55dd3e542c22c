"""The controller's ear: commands over HTTP on a Unix socket in the state folder.

``POST /VERB`` becomes an event of the core; the answer is the core's `Reply`. ``GET /NAME`` is answered by what the
live world knows. Who may ask is decided by the kernel's word on who is at the other end
(`fawkes.live.controller.access`), never by what the body says.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import os
import stat
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import CancelledError, Future
from dataclasses import replace
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socket import AF_UNIX, SHUT_RDWR, SOCK_STREAM, socket
from socketserver import ThreadingMixIn, UnixStreamServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from fawkes.base.errors import (
    DeadlineError,
    ElsewhereError,
    ExitStatus,
    FawkesError,
    RefusedError,
    UserError,
    cut,
)
from fawkes.core.values.decision import Decision
from fawkes.core.values.effects import Reply
from fawkes.core.values.events import ASKS, Event, Reloaded
from fawkes.core.values.model import Plain, Reason
from fawkes.live.base import limits
from fawkes.live.controller.access import Access, Gate
from fawkes.live.controller.asks import asks_masters, described, read_body, read_stop
from fawkes.live.controller.endpoint import LANGUAGE, MOST_BODY_BYTES, ROLE, SOCKET, TOKEN, Peer, peer_of, reachable
from fawkes.report.tables.explain import lines_of

Query = Callable[[Mapping[str, str]], Plain]

MOST_OPEN, MOST_OPEN_OF_USER = 256, 32
"""Connections of other users than the controller's own: in all, and of one user."""

_log = logging.getLogger(__name__)
_STATUS = {
    ExitStatus.USAGE: HTTPStatus.BAD_REQUEST,
    ExitStatus.REFUSED: HTTPStatus.FORBIDDEN,
    ExitStatus.TIMED_OUT: HTTPStatus.GATEWAY_TIMEOUT,
}


class ControlServer:
    """Listens from construction to `close`.

    ``post`` takes an event into the controller's queue and returns at once, or refuses it by an error; the live world
    calls `reply` with each Reply effect. ``query`` answers ``GET``: plain data, or an iterator of plain data that is
    sent piece by piece. ``stop`` is told who wants the controller (not the MR-clusters) to stop. ``gate`` decides who
    may ask for what, ``rehearse`` gives the decision on an event that is neither stored nor done; without a gate
    root and the controller's own user may, and nobody else. ``answer_within_s`` is longer than the surveys may take
    that a release and the end of the pool wait for. ElsewhereError when another controller listens in this folder.
    """

    def __init__(
        self,
        folder: Path,
        post: Callable[[Event], None],
        query: Mapping[str, Query],
        now: Callable[[], int],
        *,
        stop: Callable[[str], None],
        rehearse: Callable[[Event], Decision] | None = None,
        reread: Callable[[], Reloaded] | None = None,
        gate: Gate | None = None,
        answer_within_s: float = 90.0,
    ) -> None:
        self.folder = folder
        self.gate = gate or Gate(Access(), None, folder)
        self._post = post
        self._query = {"openapi": lambda _: described(), **query}
        self._now = now
        self._stop = stop
        self._rehearse = rehearse
        self._reread = reread
        self._answer_within_s = answer_within_s
        self._waiting: dict[str, Future[Reply]] = {}
        self._lock = threading.Lock()
        self._closed = False
        _make_folder(folder, 0o711 if self.gate.access.open else 0o700)
        _clear_away(folder)
        self._server = _Server(self)
        self._inode = os.lstat(folder / SOCKET).st_ino
        self._thread = threading.Thread(target=self._server.serve_forever, name="control", daemon=True)
        self._thread.start()

    def reply(self, effect: Reply) -> None:
        """Hand the core's answer to whoever waits for it; nobody waits for an old one."""
        with self._lock:
            answer = self._waiting.pop(effect.to, None)
        if answer is not None:
            answer.set_result(effect)

    def hold_up(self, error: FawkesError) -> None:
        """Tell everybody who waits that it takes longer; what they asked for may still be done."""
        with self._lock:
            waiting = list(self._waiting.values())
            self._waiting.clear()
        for answer in waiting:
            answer.set_exception(error)

    def close(self) -> None:
        """Stop listening; whoever waits is told that the controller stops. Harmless when called again."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            waiting = list(self._waiting.values())
            self._waiting.clear()
        for answer in waiting:
            answer.cancel()
        # Wakes the listening thread; without it closing takes as long as that thread's poll.
        self._server.socket.shutdown(SHUT_RDWR)
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        with contextlib.suppress(FileNotFoundError):
            # A successor may listen already: its socket is another file of the same name.
            if os.lstat(self.folder / SOCKET).st_ino == self._inode:
                os.unlink(self.folder / SOCKET)

    def ask(self, verb: str, body: bytes, peer: Peer) -> Reply:
        """The core's answer to one request of a peer.

        UserError for a bad body, RefusedError when the peer may not ask for it, DeadlineError when no answer comes.
        """
        checked = read_body(verb, body)
        self.gate.act(peer, verb, checked.event(0, peer.name, ""))
        return self._reply_to(verb, checked.event, peer)

    def reload(self, peer: Peer, *, dry_run: bool = False) -> Reply:
        """Read the settings again: the core's answer, or what it would be told.

        ConfigError names file and key of what cannot be; the old settings stay in force then.
        """
        self.gate.act(peer, "reload", None)
        if self._reread is None:
            raise FawkesError("this controller cannot read its settings again")
        news = self._reread()
        if dry_run or not (news.changed or news.restart):
            return Reply("", None, {"changed": list(news.changed), "restart": list(news.restart)})
        return self._reply_to("reload", lambda at_us, by, ask: replace(news, at_us=at_us, by=by, ask=ask), peer)

    def _reply_to(self, verb: str, make: Callable[[int, str, str], Event], peer: Peer) -> Reply:
        ask = uuid.uuid4().hex
        answer: Future[Reply] = Future()
        with self._lock:
            if self._closed:
                raise _stopping()
            # Under the lock, so that requests enter the queue in the order of their times. No reply can be earlier
            # than the next line, and nobody waits for the answer to what was not taken.
            event = make(self._now(), peer.name, ask)
            self._post(event)
            self._waiting[ask] = answer
        try:
            return answer.result(self._answer_within_s)
        except TimeoutError:
            raise DeadlineError(
                f"the controller accepted /{verb} but did not answer within {self._answer_within_s:g} s",
                hint="It may still do it: check with `fawkes status` before you repeat the command",
            ) from None
        except CancelledError:
            raise _stopping() from None
        finally:
            with self._lock:
                self._waiting.pop(ask, None)

    def dry_run(self, verb: str, body: bytes, peer: Peer) -> Reply:
        """The core's answer to one request of a peer, of which nothing is stored or done; it raises as `ask`.

        ``would`` has the reasons of the decision. UserError for what the core first asks the masters about.
        """
        checked = read_body(verb, body)
        if asks_masters(verb):
            hint = 'Write "dry_run": true in the body'
            raise UserError("nobody can foresee this without the masters", where=f"/{verb}", hint=hint)
        event = checked.event(self._now(), peer.name, "dry-run")
        self.gate.act(peer, verb, event)
        if self._rehearse is None:
            raise FawkesError("this controller cannot do a dry run")
        decision = self._rehearse(event)
        replies = [effect for effect in decision.effects if isinstance(effect, Reply) and effect.to == "dry-run"]
        would = [{"code": reason.code, "facts": reason.facts} for reason in decision.reasons]
        reply = replies[0] if replies else Reply("dry-run", None, {})
        return Reply(reply.to, reply.refused, {**reply.facts, "would": would})

    def answer(self, name: str, parameters: Mapping[str, str], peer: Peer) -> Plain:
        """The live world's answer to ``GET /name``; UserError for a name that there is not.

        RefusedError when the peer may not see it.
        """
        query = self._query.get(name)
        if query is None:
            raise UserError(f"there is no query /{name}", hint=f"There are: {', '.join(sorted(self._query))}")
        self.gate.ask(peer, name, parameters)
        return query(parameters)

    def stop(self, peer: Peer) -> None:
        """Somebody wants the controller to stop; MR-clusters and jobs go on."""
        self._stop(peer.name)


def _stopping() -> FawkesError:
    return FawkesError(
        "the controller is shutting down", hint="After it restarts, `fawkes status` shows whether this was done"
    )


def _make_folder(folder: Path, mode: int) -> None:
    """The folder of the socket, as open as its site says; RefusedError when it is somebody else's."""
    folder.mkdir(mode=mode, parents=True, exist_ok=True)
    status = folder.stat()
    if status.st_uid not in (os.geteuid(), 0):
        raise RefusedError("belongs to another user", where=str(folder), hint="Remove it, or `chown` it")
    if stat.S_IMODE(status.st_mode) != mode:
        folder.chmod(mode)


def _clear_away(folder: Path) -> None:
    """Remove the socket that a killed controller left; whatever else has its name is not ours to remove."""
    path = folder / SOCKET
    try:
        kind = os.lstat(path).st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(kind):
        raise RefusedError("this file is in the place of the control socket", where=str(path), hint="Move it away")
    with reachable(folder) as address, socket(AF_UNIX, SOCK_STREAM) as probe:
        try:
            probe.connect(address)
        except OSError:
            os.unlink(path)
            return
    raise ElsewhereError("another controller listens here", where=str(path), hint="Stop it with `fawkes down --keep`")


class _Timely(io.RawIOBase):
    """The bytes of one request, all of which must come within ``limits.REQUEST_S``, however slowly each does."""

    def __init__(self, connection: socket) -> None:
        self._connection, self._until = connection, time.monotonic() + limits.REQUEST_S

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._connection.settimeout(max(1e-6, self._until - time.monotonic()))
        try:
            return self._connection.recv_into(buffer)
        finally:
            self._connection.settimeout(limits.REQUEST_S)


class _Server(ThreadingMixIn, UnixStreamServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def __init__(self, control: ControlServer) -> None:
        self.control = control
        #: of whom the open connections are; the controller's own user and root are not counted
        self._open: dict[Any, int] = {}
        super().__init__(os.fspath(control.folder / SOCKET), _Handler)

    def server_bind(self) -> None:
        with reachable(self.control.folder) as address:
            self.socket.bind(address)
            # Before anything listens: nobody gets in between with the modes of the umask.
            os.chmod(address, 0o666 if self.control.gate.access.open else 0o600)

    def verify_request(self, request: Any, client_address: Any) -> bool:
        """True if the peer has a rank and room. Others cost no thread: the connection is closed with the reason."""
        try:
            peer = peer_of(request)
            self.control.gate.rank(peer)
            if peer.uid not in (self.control.gate.own_uid(), 0):
                held = list(self._open.values())
                if len(held) >= MOST_OPEN or held.count(peer.uid) >= MOST_OPEN_OF_USER:
                    hint = f"At most {MOST_OPEN_OF_USER} of a user and {MOST_OPEN} in all; close some, or try again"
                    raise RefusedError("too many connections to this controller are open", hint=hint)
                self._open[request] = peer.uid
        except RefusedError as error:
            _turn_away(request, error)
            return False
        return True

    def close_request(self, request: Any) -> None:
        self._open.pop(request, None)
        super().close_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        error = sys.exc_info()[1]
        if not isinstance(error, ConnectionError | TimeoutError):
            _log.error("a request ended in a defect", exc_info=error)


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    server_version = "fawkes"
    sys_version = ""
    timeout = limits.REQUEST_S

    def setup(self) -> None:
        super().setup()
        self.rfile = io.BufferedReader(_Timely(self.connection))

    def do_GET(self) -> None:
        self._guarded(self._get)

    def do_POST(self) -> None:
        self._guarded(self._post)

    def log_message(self, template: str, *args: Any) -> None:
        _log.debug(template, *args)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Sends the reason why a request is not HTTP that we know, as JSON like every other answer."""
        # Of a line that is no HTTP no version is known, and the answer would go out without its status.
        self.request_version = self.protocol_version
        self._send(code, _plain_error(UserError(message or HTTPStatus(code).phrase)))

    def _guarded(self, serve: Callable[[], None]) -> None:
        try:
            gate, token = self.server.control.gate, self.headers.get(TOKEN)
            peer = peer_of(self.connection)
            self._peer = peer if token is None else gate.holder(peer, token, self.headers.get(ROLE, ""))
            serve()
        except FawkesError as error:
            self._send(status_of(error), _plain_error(error))
        except (ConnectionError, TimeoutError):
            raise
        except Exception as error:
            _log.exception("%s %s failed", self.command, self.path)
            self._send(HTTPStatus.INTERNAL_SERVER_ERROR, _plain_error(_defect(error)))

    def _post(self) -> None:
        url = urlsplit(self.path)
        verb, dry_run = url.path.strip("/").removeprefix(LANGUAGE), url.query == "dry_run=1"
        if url.query and not dry_run:
            # What is meant as a dry run must not be done.
            raise UserError(f"{cut(url.query)!r} is unknown", where=f"/{verb}", hint="Write ?dry_run=1, or nothing")
        control = self.server.control
        body = self._body()
        if verb == "stop":
            read_stop(body)
            control.gate.act(self._peer, verb, None)
            # The answer first: a controller that stops may be gone before it could give one.
            self._answer(Reply("", None, {"would": []} if dry_run else {}))
            if not dry_run:
                control.stop(self._peer)
            return
        if verb not in ASKS and verb != "reload":
            raise UserError(f"there is no command /{verb}", hint=f"There are: {', '.join(sorted(ASKS))}, reload, stop")
        if verb == "reload":
            read_stop(body)
            reply = control.reload(self._peer, dry_run=dry_run)
        else:
            reply = (control.dry_run if dry_run else control.ask)(verb, body, self._peer)
        self._answer(reply)

    def _answer(self, reply: Reply) -> None:
        would: Any = reply.facts.get("would", [])
        reasons = [reply.refused] if reply.refused else [Reason(row["code"], row["facts"]) for row in would]
        refused = reply.refused and {"code": reply.refused.code, "facts": reply.refused.facts}
        says: list[Plain] = [line.text for line in lines_of(reasons)]
        answer = _encoded({"ok": refused is None, "refused": refused, "facts": reply.facts, "says": says})
        self._send(HTTPStatus.OK if refused is None else HTTPStatus.CONFLICT, answer)

    def _body(self) -> bytes:
        length = self.headers.get("Content-Length", "")
        if not length.isascii() or not length.isdigit():
            raise UserError("Content-Length is missing or not a number")
        if int(length) > MOST_BODY_BYTES:
            raise UserError(f"a body of {int(length)} bytes is too long", hint=f"At most {MOST_BODY_BYTES}")
        body = self.rfile.read(int(length))
        if len(body) < int(length):
            raise UserError(f"the body ended after {len(body)} of {int(length)} bytes")
        return body

    def _get(self) -> None:
        url = urlsplit(self.path)
        parameters = dict(parse_qsl(url.query, keep_blank_values=True))
        answer = self.server.control.answer(url.path.strip("/"), parameters, self._peer)
        if isinstance(answer, Iterator):
            self._stream(answer)
        else:
            self._send(HTTPStatus.OK, _encoded(answer))

    def _stream(self, pieces: Iterator[Plain]) -> None:
        """One line of JSON for each piece; the last line tells a whole stream from one that broke off."""
        # Whoever reads with a pager may take minutes for the next page.
        self.connection.settimeout(None)
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "application/x-ndjson")
        self.end_headers()
        try:
            for piece in pieces:
                self.wfile.write(_encoded({"piece": piece}) + b"\n")
            last = _encoded({"end": True})
        except FawkesError as error:
            last = _plain_error(error)
        except (ConnectionError, TimeoutError):
            raise
        except Exception as error:
            _log.exception("%s %s broke off", self.command, self.path)
            last = _plain_error(_defect(error))
        self.wfile.write(last + b"\n")

    def _send(self, status: int, body: bytes) -> None:
        self.close_connection = True
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def status_of(error: FawkesError) -> HTTPStatus:
    """The status of an answer that is an error."""
    return _STATUS.get(error.exit_status, HTTPStatus.INTERNAL_SERVER_ERROR)


def _turn_away(connection: socket, error: FawkesError) -> None:
    """The answer to somebody who is not listened to, if he takes it at once."""
    body = _plain_error(error)
    head = f"HTTP/1.0 {HTTPStatus.FORBIDDEN} Forbidden\r\nContent-Length: {len(body)}\r\n\r\n"
    with contextlib.suppress(OSError):
        connection.setblocking(False)
        connection.sendall(head.encode() + body)


def _encoded(value: Plain) -> bytes:
    return json.dumps(value, default=_jsonable, allow_nan=False).encode()


def _jsonable(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Path):
        return os.fspath(value)
    raise TypeError(f"{type(value).__name__} is not plain data")


def _plain_error(error: FawkesError) -> bytes:
    return _encoded(error.plain())


def _defect(error: Exception) -> FawkesError:
    return FawkesError(
        f"defect in the controller: {type(error).__name__}: {error}",
        hint="Its log has more; please report it",
    )
