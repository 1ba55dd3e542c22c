"""Small documents over HTTP from the masters, with one deadline for the whole of a call.

The time limits of `requests` are for each read, so a server that drips bytes would hold its reader for ever. Here
every read on the socket gets only what is left of the call's deadline, headers included. What stays outside is the
look-up of a host name, which the C library does not let go of; `measure.Sampler` gives up such a thread.
"""

from __future__ import annotations

import json
import math
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import requests
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection
from urllib3.connectionpool import HTTPConnectionPool

from fawkes.errors import FawkesError

CONNECT_S = 3.0
MAX_BYTES = 256 << 20

_CHUNK = 1 << 16
_OK = 200


class UnreadableError(FawkesError):
    """A question over HTTP was not answered: ``where`` was asked, ``why`` there is nothing.

    ``status`` is the HTTP status when there was an answer of the wrong kind, else None.
    """

    def __init__(self, where: str, why: str, *, status: int | None = None) -> None:
        super().__init__(why, where=where)
        self.why = why
        self.status = status


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment on the monotonic clock (seconds) at which waiting ends."""

    at: float

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        """So many seconds from now."""
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


class _Socket(socket.socket):
    """Each read waits no longer than the call of this thread has left."""

    def recv_into(self, *args: Any, **kwargs: Any) -> int:
        left = _of_thread.deadline.left()
        if left <= 0:
            raise TimeoutError("the deadline of the call is over")
        self.settimeout(None if math.isinf(left) else left)
        return super().recv_into(*args, **kwargs)


class _Connection(HTTPConnection):
    def _new_conn(self) -> socket.socket:
        return _Socket(fileno=super()._new_conn().detach())


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Connection


class _Adapter(HTTPAdapter):
    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, **kwargs)
        self.poolmanager.pool_classes_by_scheme = {"http": _Pool}


def session() -> requests.Session:
    """A new session of this kind: plain HTTP, no proxies or passwords from the environment."""
    new = requests.Session()
    new.trust_env = False
    new.mount("http://", _Adapter())
    return new


def close_session() -> None:
    """Close the connections that this thread has kept."""
    if _of_thread.session is not None:
        _of_thread.session.close()
        _of_thread.session = None


def get_json(url: str, deadline: Deadline, params: Mapping[str, str] | None = None) -> Any:
    """The JSON document at ``url``; UnreadableError when it is not there in time, or is something else.

    Redirects are not followed: where a master sends a reader elsewhere, there is no document (an ApplicationMaster
    that has ended, for one). Numbers may be NaN: see `count`.
    """
    with _answer(url, deadline, params) as response:
        body = bytearray()
        for chunk in response.iter_content(_CHUNK):
            body += chunk
            if len(body) > MAX_BYTES:
                raise UnreadableError(url, f"the answer is larger than {MAX_BYTES >> 20} MiB")
    try:
        return json.loads(body)
    except ValueError:
        kind = response.headers.get("content-type", "no content type")
        raise UnreadableError(url, f"the answer is not JSON ({kind})", status=_OK) from None


def get_lines(url: str, deadline: Deadline, params: Mapping[str, str] | None = None) -> Iterator[str]:
    """The lines of the text at ``url`` as they come; UnreadableError like `get_json`, also in the middle."""
    with _answer(url, deadline, params) as response:
        for line in response.iter_lines(_CHUNK):
            yield line.decode("utf-8", "replace")


@contextmanager
def _answer(url: str, deadline: Deadline, params: Mapping[str, str] | None) -> Iterator[requests.Response]:
    """The open answer of a GET with status 200; what goes wrong while it is read is UnreadableError, too."""
    mine = _of_thread
    if mine.session is None:
        mine.session = session()
    left = deadline.left()
    if left <= 0:
        raise UnreadableError(url, "there was no time left to ask")
    outer, mine.deadline = mine.deadline, deadline
    try:
        with _ask(mine.session, url, params, left) as response:
            if response.status_code != _OK:
                raise UnreadableError(url, _refusal(response), status=response.status_code)
            yield response
    except (requests.RequestException, OSError) as error:
        raise UnreadableError(url, _why(error, deadline)) from error
    finally:
        mine.deadline = outer


def _ask(session: requests.Session, url: str, params: Mapping[str, str] | None, left: float) -> requests.Response:
    def ask() -> requests.Response:
        return session.get(url, params=params, stream=True, allow_redirects=False, timeout=(min(left, CONNECT_S), left))

    try:
        return ask()
    except requests.ConnectionError as error:
        # A master closes idle connections; the question that meets that moment would get no answer.
        if not any(isinstance(cause, ConnectionResetError | BrokenPipeError) for cause in _causes(error)):
            raise
    return ask()


def _causes(error: BaseException) -> Iterator[BaseException]:
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__


def _refusal(response: requests.Response) -> str:
    if response.is_redirect:
        return f"sent elsewhere ({response.headers['location']})"
    return f"answered {response.status_code} {response.reason}".rstrip()


def _why(error: Exception, deadline: Deadline) -> str:
    if deadline.left() <= 0 or isinstance(error, requests.ReadTimeout):
        return "did not answer in time"
    if isinstance(error, requests.ConnectTimeout):
        return f"took no connection within {CONNECT_S:g} s"
    return reason_of(error)


def reason_of(error: BaseException) -> str:
    """What the operating system said in the end, of an error that libraries have wrapped several times."""
    for cause in _causes(error):
        if isinstance(cause, OSError) and cause.strerror:
            return cause.strerror.lower()
        if isinstance(cause, TimeoutError):
            return "no answer in time"
    return f"broke off the answer ({type(error).__name__})"


def count(value: object) -> int | None:
    """A whole number of at least 0; None for what is missing, NaN, infinite, negative (YARN's -1) or no number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
        return None
    return int(value)


def listed(document: object, outer: str, inner: str, where: str) -> list[Mapping[str, Any]]:
    """The objects of ``{outer: {inner: [...]}}`` as Hadoop writes them.

    No object at all is written as ``{}``, ``null`` or ``""`` by its versions, a single one sometimes without the
    list. UnreadableError when the document has another shape: an empty answer would pass for "nothing is waiting".
    """
    if not isinstance(document, Mapping) or outer not in document:
        raise UnreadableError(where, f"the answer has no {outer!r}")
    group = document[outer]
    found = group.get(inner) if isinstance(group, Mapping) else group
    if not found:
        return []
    rows = [found] if isinstance(found, Mapping) else found
    if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
        raise UnreadableError(where, f"{outer!r} is no list of objects")
    return rows
