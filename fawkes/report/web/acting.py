"""Requests that act: passed on to whoever judges them, for the holder of a token, by a few threads of their own."""

from __future__ import annotations

import asyncio
import logging
import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from http import HTTPStatus
from typing import Any
from urllib.parse import quote, urlencode

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from fawkes.base.errors import FawkesError, RefusedError, UserError
from fawkes.config.settings.tokens import Token, Tokens

MOST_AT_ONCE, MOST_QUESTIONS, MOST_OF_HOLDER = 16, 12, 8
"""Requests that wait for the controller at once; more are refused, so that a slow controller costs no more threads.

Questions leave places to requests that act, and no holder has all.
"""
MOST_BODY_BYTES = 1 << 20
BODY_S = 10.0
"""For the whole body of a request."""
MOST_ACTS, ACTS_PER_S = 100, 10.0
"""Requests of a holder that act, at once and in the long run: a loop that went wild writes no ledger full."""

_log = logging.getLogger(__name__)

HOLDER = "/api/token"
"""The name and the role of who asks."""
Passed = tuple[int, str, bytes]
"""Status, kind and body of an answer."""
STATUSES = tuple(map(HTTPStatus, (401, 408, 413, 429, 502, 503)))
"""Errors of passing on, beside those of the controller."""


class Pace:
    """The pace of each holder: ``at_once`` acts, and ``per_s`` a second in the long run."""

    def __init__(self, at_once: int, per_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._each_s, self._most_s = clock, 1 / per_s, (at_once - 1) / per_s
        self._busy_until: dict[str, float] = {}

    def wait_s(self, name: str) -> float:
        """The time until a name may take once more; 0 if it may now."""
        return max(0.0, self._busy_until.get(name, 0.0) - self._clock() - self._most_s)

    def take(self, name: str) -> None:
        """Count one take of a name."""
        now = self._clock()
        self._busy_until = {each: until for each, until in self._busy_until.items() if until > now}
        self._busy_until[name] = max(now, self._busy_until.get(name, now)) + self._each_s


class Acting:
    """The way to a controller for holders of tokens. It judges nothing but who that is: the controller does.

    ``ask`` sends a request (method, path, body) for the holder of a token and gives the answer as it is.
    ``described`` is the description of the API.
    """

    def __init__(
        self, tokens: Tokens, ask: Callable[[str, str, bytes | None, Token], Passed], described: Mapping[str, Any]
    ) -> None:
        self.described = described
        self._tokens = tokens
        self._ask = ask
        #: the requests of each holder that wait for the controller
        self._waiting: Counter[str] = Counter()
        self._trouble = ""
        self._acts = Pace(MOST_ACTS, ACTS_PER_S)

    def holder(self, given: str) -> Token | None:
        """The holder of a token; None for any other text, and while the file of tokens is not fit to be used."""
        if not given:
            return None
        try:
            holder, trouble = self._tokens.holder(given), ""
        except UserError as error:
            holder, trouble = None, str(error)
        if trouble != self._trouble:
            self._trouble = trouble
            _log.warning("%s", trouble or "tokens can be used again")
        return holder

    async def answer(self, request: Request) -> Response:
        """The controller's answer to ``/api/NAME``."""
        token = self.holder(bearer(request))
        if token is None:
            return no_key(request)
        host = request.headers["host"]
        if request.headers.get("origin", f"https://{host}") not in (f"https://{host}", f"http://{host}"):
            return refusal(HTTPStatus.FORBIDDEN, RefusedError("another page may not ask here", where="Origin"))
        if request.url.path == HOLDER and request.method != "POST":
            return JSONResponse(token._asdict())
        body = None
        try:
            if request.method == "POST":
                if wait_s := self._acts.wait_s(token.name):
                    return too_often(wait_s, f"{token.name} acts too often")
                self._acts.take(token.name)
                body = await asyncio.wait_for(_body(request), BODY_S)
        except (TimeoutError, ClientDisconnect):
            return refusal(HTTPStatus.REQUEST_TIMEOUT, UserError(f"the body was not whole after {BODY_S:g} s"))
        if body is not None and len(body) > MOST_BODY_BYTES:
            error = UserError("the body is too long", hint=f"At most {MOST_BODY_BYTES} bytes")
            return refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, error)
        most = MOST_QUESTIONS if body is None else MOST_AT_ONCE
        if self._waiting.total() >= most or self._waiting[token.name] >= MOST_OF_HOLDER:
            busy = FawkesError("too many requests wait for the controller", hint="Ask again when they are answered")
            return refusal(HTTPStatus.SERVICE_UNAVAILABLE, busy)
        status, kind, answer = await self._passed(request, body, token)
        return Response(answer, status, media_type=kind, headers={"cache-control": "no-store"})

    def _passed(self, request: Request, body: bytes | None, token: Token) -> asyncio.Future[Passed]:
        path = f"/{quote(request.path_params['name'], safe='')}"
        if parameters := request.query_params.multi_items():
            path += f"?{urlencode(parameters)}"
        method = "POST" if request.method == "POST" else "GET"
        loop, answered = asyncio.get_running_loop(), asyncio.Future[Passed]()

        def ask() -> None:
            try:
                answer = self._ask(method, path, body, token)
            except Exception as error:
                _log.exception("%s %s failed", method, path)
                defect = refusal(HTTPStatus.INTERNAL_SERVER_ERROR, FawkesError(f"defect in the page: {error!r}"))
                answer = defect.status_code, "application/json", bytes(defect.body)
            # The page may have ended meanwhile.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(self._over, token.name, answered, answer)

        # A daemon: the page's end waits for no controller.
        threading.Thread(target=ask, name="acting", daemon=True).start()
        self._waiting[token.name] += 1
        return answered

    def _over(self, holder: str, answered: asyncio.Future[Passed], answer: Passed) -> None:
        self._waiting[holder] -= 1
        if not answered.done():
            answered.set_result(answer)


def bearer(request: Request) -> str:
    """The secret in a request's header; empty without one. A cookie is none: browsers send it for anybody's page."""
    kind, _, given = request.headers.get("authorization", "").partition(" ")
    return given if kind.lower() == "bearer" else ""


def refusal(status: HTTPStatus, error: FawkesError) -> Response:
    """An error in the form of the controller's."""
    return JSONResponse(error.plain(), status)


def too_often(wait_s: float, what: str) -> Response:
    """The answer to requests that come too fast."""
    answer = refusal(HTTPStatus.TOO_MANY_REQUESTS, FawkesError(what, hint=f"Ask again in {math.ceil(wait_s)} s"))
    answer.headers["retry-after"] = str(math.ceil(wait_s))
    return answer


def no_key(request: Request) -> Response:
    """The answer to who has neither key nor token, for people or for programs."""
    what = "The key or token is missing or wrong"
    if request.url.path.startswith("/api/"):
        answer = refusal(HTTPStatus.UNAUTHORIZED, UserError(what, hint="Send it as `Authorization: Bearer TOKEN`"))
    else:
        hint = "Open the address that `fawkes web` printed, or /?key= with the token of a viewer, none that acts"
        answer = PlainTextResponse(f"{what}. {hint}.\n", HTTPStatus.UNAUTHORIZED)
    answer.headers["www-authenticate"] = 'Bearer realm="fawkes"'
    return answer


async def _body(request: Request) -> bytes:
    """The body, or a piece of it that is too long already."""
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > MOST_BODY_BYTES:
            break
    return body
