"""Small documents over HTTP from the masters, with one deadline for the whole of a call.

The time limits of `requests` are for each read, so a server that drips bytes would hold its reader for ever. Here
every read on the socket gets only what is left of the call's deadline, headers included, and so does the look-up of
the host's name. An answer takes no more memory than `MAX_BYTES`, or than a line of `MAX_LINE_BYTES`: none may be
compressed, for 10 kB can become 10 GB.
"""

from __future__ import annotations

import http.cookiejar
import json
import math
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol
from urllib.parse import urlsplit

import requests
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import ConnectTimeoutError, HTTPError, NewConnectionError
from urllib3.util.ssl_ import create_urllib3_context

from fawkes.base.errors import FawkesError, SiteError
from fawkes.live.base import limits
from fawkes.live.wire.names import NAMES, Way
from fawkes.live.wire.own_faults import causes, own_fault

KEY_HEADER = "X-Fawkes-Key"
"""The header by which the controller shows the key of an MR-cluster to its daemons."""
MAX_BYTES = 128 << 20
MAX_LINE_BYTES = 1 << 20

_CHUNK = 1 << 16
_MOST_SERVERS = 256
_OK = 200
_WANTS_LOGIN, _FORBIDDEN = 401, 403
#: Hadoop takes its cookie back with each proof that it refuses; what else it forbids leaves that alone
_NO_LOGIN = "hadoop.auth=;"


class WebLogin(Protocol):
    """The proof of who the controller is to the web servers of an MR-cluster with Kerberos."""

    @property
    def key(self) -> str:
        """The key of the MR-cluster."""

    @property
    def fingerprint(self) -> str:
        """SHA-256, in hex, of the certificate that its servers show with HTTPS."""

    def header(self) -> str:
        """The value of an Authorization header, for one request; FawkesError when there is no ticket."""


Key = str | WebLogin
"""How the controller shows an MR-cluster's servers who it is: by a key alone, or by a ticket as well."""


class UnreadableError(FawkesError):
    """A question over HTTP was not answered: ``where`` was asked, ``why`` there is nothing.

    ``status`` is the HTTP status when there was an answer of the wrong kind, else None.
    """

    def __init__(self, where: str, why: str, *, status: int | None = None) -> None:
        super().__init__(why, where=where)
        self.why = why
        self.status = status


class OwnFaultError(UnreadableError):
    """A question that the controller could not ask: nothing is known of the server, not even that it is silent."""


class NoTicketError(OwnFaultError, SiteError):
    """The controller could not show who it is: it has no ticket, or the server refused it."""


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment on the monotonic clock (seconds) at which waiting ends."""

    at: float

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        """The deadline so many seconds from now."""
        return cls(time.monotonic() + seconds)

    def left(self) -> float:
        """Seconds until then; negative when it is past."""
        return self.at - time.monotonic()

    def within(self, seconds: float) -> Deadline:
        """The earlier one of this deadline and so many seconds from now."""
        return Deadline(min(self.at, time.monotonic() + seconds))


class _OfThread(threading.local):
    """The session of a thread and the deadline of its present call."""

    session: requests.Session | None = None
    deadline = Deadline(math.inf)


_of_thread = _OfThread()


class AnswerError(requests.RequestException):
    """An answer that is not read on: too large, or compressed."""


def _wait_s(given_s: float | None) -> float | None:
    """The time for which this thread's next read may wait; TimeoutError when its call has no time left."""
    left = _of_thread.deadline.left()
    if left <= 0:
        raise TimeoutError("the deadline of the call has passed")
    wait = left if given_s is None else min(left, given_s)
    return None if math.isinf(wait) else wait


class _Socket(socket.socket):
    """Each read waits no longer than it was given, and than the call of this thread has left."""

    _given_s: float | None = None

    def settimeout(self, value: float | None) -> None:
        self._given_s = value
        super().settimeout(value)

    def recv_into(self, *args: Any, **kwargs: Any) -> int:
        super().settimeout(_wait_s(self._given_s))
        return super().recv_into(*args, **kwargs)


class _TlsSocket(_Socket, ssl.SSLSocket):
    """The same, encrypted."""


class BoundedConnection(HTTPConnection):
    """A connection whose reads, and whose look-up of the host's name, end with the deadline of the thread's call."""

    def _new_conn(self) -> socket.socket:
        name = self._dns_host
        way = NAMES.way(name)
        if way is not None:
            return self._by_way(way, name)
        places = NAMES.addresses(name, min(_of_thread.deadline.left(), limits.CONNECT_S))
        try:
            for place in places[:-1]:
                self._dns_host = place
                try:
                    return _Socket(fileno=super()._new_conn().detach())
                except NewConnectionError:
                    continue
            self._dns_host = places[-1]
            return _Socket(fileno=super()._new_conn().detach())
        finally:
            self._dns_host = name

    def _by_way(self, way: Way, name: str) -> socket.socket:
        given_s = self.timeout if isinstance(self.timeout, int | float) else limits.CONNECT_S
        try:
            return _Socket(fileno=way(name, self.port, min(_of_thread.deadline.left(), given_s)).detach())
        except TimeoutError as error:
            raise ConnectTimeoutError(self, f"no connection to {name} within {given_s:g} s") from error
        except OSError as error:
            raise NewConnectionError(self, str(error)) from error


class BoundedAdapter(HTTPAdapter):
    """HTTP over `BoundedConnection`; AnswerError for a compressed answer, which nobody has asked for.

    With a ``fingerprint`` HTTPS with servers that show just that certificate; without one plain HTTP alone.
    """

    def __init__(self, connection: type[BoundedConnection] = BoundedConnection, fingerprint: str = "") -> None:
        self._connection = connection
        self._fingerprint = fingerprint
        super().__init__(pool_connections=_MOST_SERVERS)

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the only certificate that it takes; empty for plain HTTP."""
        return self._fingerprint

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        """Hand out connections of our own."""
        if self._fingerprint:
            context = create_urllib3_context()
            context.check_hostname = False
            context.sslsocket_class = _TlsSocket
            kwargs |= {"ssl_context": context, "assert_fingerprint": self._fingerprint}
        super().init_poolmanager(*args, **kwargs)
        pool = type("_Pool", (HTTPConnectionPool,), {"ConnectionCls": self._connection})
        self.poolmanager.pool_classes_by_scheme = {"http": pool}
        if self._fingerprint:
            encrypted = type("_TlsConnection", (self._connection, HTTPSConnection), {})
            self.poolmanager.pool_classes_by_scheme = {
                "https": type("_TlsPool", (HTTPSConnectionPool,), {"ConnectionCls": encrypted})
            }

    def send(self, request: requests.PreparedRequest, *args: Any, **kwargs: Any) -> requests.Response:
        """Sends as its base does."""
        request.headers["accept-encoding"] = "identity"
        if self._fingerprint:
            # No authority has signed the certificate: it is known by its fingerprint.
            kwargs["verify"] = False
        response = super().send(request, *args, **kwargs)
        coding = response.headers.get("content-encoding", "identity")
        if coding.strip().lower() not in ("", "identity"):
            response.close()
            raise AnswerError(f"the answer is compressed ({coding[:20]}), which is not allowed")
        if response.is_redirect:
            # requests reads the body of each redirect, however large it is.
            keep(response)
        return response


def session(adapter: BoundedAdapter | None = None) -> requests.Session:
    """A new session of this kind: plain HTTP, no proxies or passwords from the environment, no cookies."""
    new = requests.Session()
    new.trust_env = False
    new.cookies.set_policy(http.cookiejar.DefaultCookiePolicy(allowed_domains=[]))
    # Those of requests itself speak HTTPS with any server that a redirect names.
    new.adapters.clear()
    new.mount("http://", adapter or BoundedAdapter())
    return new


@lru_cache(maxsize=_MOST_SERVERS)
def _shared(fingerprint: str = "") -> BoundedAdapter:
    """The adapter of all threads: of each its own would keep a connection to each server that it ever asked."""
    return BoundedAdapter(fingerprint=fingerprint)


def close_session() -> None:
    """Close the connections that threads have kept, as far as none of them asks just now."""
    if _of_thread.session is not None:
        _of_thread.session.close()
        _of_thread.session = None


def get_json(url: str, deadline: Deadline, params: Mapping[str, str] | None = None, *, key: Key = "") -> Any:
    """The JSON document at ``url``; UnreadableError when it is not there in time, or is something else.

    ``key`` is that of the MR-cluster that is asked; empty for other servers.

    Redirects are not followed: where a master sends a reader elsewhere, there is no document (an ApplicationMaster
    that has ended, for one). Numbers may be NaN: see `count`.
    """
    with _answer(url, deadline, params, key, accept="application/json, */*;q=0.1") as response:
        body = whole(response)
    return _json(body, url, response)


def get_lines(url: str, deadline: Deadline, params: Mapping[str, str] | None = None, *, key: Key = "") -> Iterator[str]:
    """The lines of the text at ``url`` as they come; UnreadableError like `get_json`, also in the middle.

    Only a line feed ends a line: a file's name may have any other character.
    """
    with _answer(url, deadline, params, key) as response:
        begun = b""
        for chunk in response.iter_content(_CHUNK):
            *lines, begun = (begun + chunk).split(b"\n")
            if len(begun) > MAX_LINE_BYTES:
                raise UnreadableError(url, f"a line of the answer is longer than {MAX_LINE_BYTES >> 10} KiB")
            for line in lines:
                yield line.removesuffix(b"\r").decode("utf-8", "replace")
        if begun:
            yield begun.decode("utf-8", "replace")


def whole(response: requests.Response) -> bytes:
    """The body of an open answer; AnswerError when it is larger than ``MAX_BYTES``."""
    body = bytearray()
    for chunk in response.iter_content(_CHUNK):
        body += chunk
        if len(body) > MAX_BYTES:
            raise AnswerError(f"the answer is larger than {MAX_BYTES >> 20} MiB")
    return bytes(body)


def keep(response: requests.Response) -> None:
    """Read an open answer now, as `whole` does, for whoever asks for its content later."""
    response._content = whole(response)
    response._content_consumed = True  # type: ignore[attr-defined]


def _json(body: bytes, url: str, response: requests.Response) -> Any:
    try:
        return json.loads(body)
    except RecursionError:
        raise UnreadableError(url, "the answer is JSON that is nested too deeply", status=_OK) from None
    except ValueError:
        kind = response.headers.get("content-type", "no content type")
        raise UnreadableError(url, f"the answer is not JSON ({kind})", status=_OK) from None


@contextmanager
def until(deadline: Deadline) -> Iterator[None]:
    """Ends with ``deadline`` what this thread reads over HTTP meanwhile."""
    outer, _of_thread.deadline = _of_thread.deadline, deadline
    try:
        yield
    finally:
        _of_thread.deadline = outer


def set_deadline(deadline: Deadline) -> None:
    """End this thread's reads, up to the end of the `until` around it, with ``deadline``."""
    _of_thread.deadline = deadline


@contextmanager
def _bound(url: str, deadline: Deadline) -> Iterator[requests.Session]:
    """The session of this thread, bound by ``deadline``; all that goes wrong meanwhile is UnreadableError."""
    if _of_thread.session is None:
        _of_thread.session = session(_shared())
    if deadline.left() <= 0:
        raise OwnFaultError(url, "there was no time left to ask")
    try:
        with until(deadline):
            yield _of_thread.session
    except (requests.RequestException, HTTPError, OSError, ValueError) as error:
        if lack := own_fault(error):
            raise OwnFaultError(url, f"could not be asked, for {lack}") from error
        raise UnreadableError(url, _why(error, deadline)) from error


@contextmanager
def _answer(
    url: str, deadline: Deadline, params: Mapping[str, str] | None, key: Key, accept: str = "*/*"
) -> Iterator[requests.Response]:
    """The open answer of a GET with status 200; what goes wrong while it is read is UnreadableError, too."""
    with _bound(url, deadline) as mine, _ask(mine, url, params, deadline, key, accept) as response:
        if response.status_code != _OK:
            kind = UnreadableError if isinstance(key, str) or not _is_refused(response) else NoTicketError
            raise kind(url, _refusal(response), status=response.status_code)
        yield response


def _timeout(deadline: Deadline) -> tuple[float, float]:
    left = max(0.001, deadline.left())
    return min(left, limits.CONNECT_S), left


def key_headers(key: Key) -> dict[str, str]:
    """The headers of one request that show a key, and a ticket where there is one; FawkesError without a ticket."""
    if not isinstance(key, str):
        return {KEY_HEADER: key.key, "Authorization": key.header()}
    return {KEY_HEADER: key} if key else {}


def trust(session: requests.Session, key: Key, where: str, adapter: Callable[[str], BoundedAdapter]) -> None:
    """Let a session speak HTTPS with the servers of an MR-cluster whose URLs begin with ``where``.

    ``adapter`` makes an adapter for a fingerprint.
    """
    if isinstance(key, str) or not where.startswith("https:"):
        return
    there = session.adapters.get(where)
    if not isinstance(there, BoundedAdapter) or there.fingerprint != key.fingerprint:
        if there is not None:
            there.close()
        session.mount(where, adapter(key.fingerprint))


def _ask(
    session: requests.Session, url: str, params: Mapping[str, str] | None, deadline: Deadline, key: Key, accept: str
) -> requests.Response:
    server = urlsplit(url)._replace(path="/", query="", fragment="").geturl()
    trust(session, key, server, _shared)

    def ask() -> requests.Response:
        try:
            headers = {"Accept": accept, **key_headers(key)}
        except FawkesError as error:
            # The server, which was not asked, has no part in it.
            raise NoTicketError("", str(error)) from error
        if deadline.left() <= 0:
            raise OwnFaultError(url, "a ticket came too late to ask")
        return session.get(
            url, params=params, headers=headers, stream=True, allow_redirects=False, timeout=_timeout(deadline)
        )

    try:
        return ask()
    except requests.ConnectionError as error:
        # A master closes idle connections; the question that meets that moment would get no answer.
        if not any(isinstance(cause, ConnectionResetError | BrokenPipeError) for cause in causes(error)):
            raise
    return ask()


def _is_refused(response: requests.Response) -> bool:
    """True if a server did not take the proof of who asks."""
    no_login = response.headers.get("set-cookie", "").startswith(_NO_LOGIN)
    return response.status_code == _WANTS_LOGIN or (response.status_code == _FORBIDDEN and no_login)


def _refusal(response: requests.Response) -> str:
    if response.is_redirect:
        return f"redirected ({response.headers['location']})"
    return f"answered {response.status_code} {response.reason}".rstrip()


def _why(error: Exception, deadline: Deadline) -> str:
    if deadline.left() <= 0 or isinstance(error, requests.ReadTimeout):
        return "did not answer in time"
    if isinstance(error, requests.ConnectTimeout):
        return f"did not accept a connection within {limits.CONNECT_S:g} s"
    return reason_of(error)


def reason_of(error: BaseException) -> str:
    """The operating system's reason at the root of an error that libraries have wrapped several times."""
    for cause in causes(error):
        if isinstance(cause, AnswerError):
            return str(cause)
        if isinstance(cause, OSError) and cause.strerror:
            return cause.strerror[0].lower() + cause.strerror[1:]
        if isinstance(cause, TimeoutError):
            return "no answer in time"
    return f"broke off the answer ({type(error).__name__})"


def count(value: object) -> int | None:
    """A whole number of at least 0; None for what is missing, NaN, infinite, negative (YARN's -1) or no number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    # A whole number may be too large for a float.
    return int(value) if value >= 0 and (isinstance(value, int) or math.isfinite(value)) else None


def listed(document: object, outer: str, inner: str, where: str) -> list[Mapping[str, Any]]:
    """The objects of ``{outer: {inner: [...]}}`` as Hadoop writes them.

    No object at all is written as ``{}``, ``null`` or ``""`` by its versions, a single one sometimes without the
    list. UnreadableError when the document has another shape: an empty answer would pass for "nothing is waiting".
    """
    if not isinstance(document, Mapping) or outer not in document:
        raise UnreadableError(where, f"the answer has no {outer!r}")
    group = document[outer]
    listing = group.get(inner) if isinstance(group, Mapping) else group
    if not listing:
        return []
    rows = [listing] if isinstance(listing, Mapping) else listing
    if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
        raise UnreadableError(where, f"{outer!r} is not a list of objects")
    return rows
