"""The ASGI application of the page: it reads, passes on what holders of tokens ask for, and answers nobody else."""

from __future__ import annotations

import asyncio
import hmac
import logging
import time
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any, TypeVar

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send

from fawkes.base.errors import FawkesError
from fawkes.base.version import __version__
from fawkes.config.settings.tokens import ROLES
from fawkes.report.web.acting import HOLDER, Acting, bearer, no_key
from fawkes.report.web.looks import PageLook, Watcher, trouble

T = TypeVar("T")
_log = logging.getLogger(__name__)

STATIC = Path(__file__).parent / "static"
LOOK_EVERY_S = 1.0
"""Between two looks at the ledger; nothing is read meanwhile, however many ask."""
ANSWER_S = 10.0
"""For the answer to a question that reads the ledger."""
MOST_STREAMS = 64
"""Pages that are told of news at once."""
SILENT_S = 30.0
"""Without a look at the ledger; then nothing is answered, because old figures would pass for those of now."""
ALIVE_S = 15.0
"""Between two signs of life on a stream: a page that hears nothing for longer says so."""

_HEADERS = [
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
]


class Guard:
    """Lets in who has the key or a token, and adds headers that browsers obey.

    The key, and the token of a viewer, may come in a cookie. `Acting` looks at tokens itself.
    """

    def __init__(self, app: ASGIApp, key: str | None, acting: Acting | None) -> None:
        self._app = app
        self._key = None if key is None else key.encode()
        self._acting = acting

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *_HEADERS]
            await send(message)

        refused = self._refused(Request(scope))
        await (refused or self._app)(scope, receive, with_headers)

    def _refused(self, request: Request) -> Response | None:
        if request.method == "POST" and self._acting is not None and request.url.path.startswith("/api/"):
            return None
        if request.method not in ("GET", "HEAD"):
            return _plain(HTTPStatus.METHOD_NOT_ALLOWED, "This page only reads. Act with the commands: fawkes --help")
        if request.headers.get("content-length", "0") != "0" or "transfer-encoding" in request.headers:
            return _plain(HTTPStatus.BAD_REQUEST, "A question has no body here")
        given = request.query_params.get("key")
        if given is not None:
            if not self._reads(given):
                return no_key(request)
            # Out of the address at once: it would stay in the browser's history, and on the screen. Never to the path
            # of the request: `//evil.example/` is another site.
            answer = RedirectResponse("/", HTTPStatus.SEE_OTHER)
            secure = request.url.scheme == "https"
            answer.set_cookie(_cookie(request), given, httponly=True, samesite="strict", secure=secure)
            return answer
        cookie = request.cookies.get(_cookie(request), "")
        known = self._key == b"" or self._reads(cookie) or self._reads(bearer(request), acts=True)
        return None if known else no_key(request)

    def _reads(self, given: str, *, acts: bool = False) -> bool:
        """True for the key and the token of a viewer; with ``acts`` for any token."""
        if self._key is not None and hmac.compare_digest(given.encode(), self._key):
            return True
        token = None if self._acting is None else self._acting.holder(given)
        return token is not None and (acts or token.role == ROLES[0])


def _cookie(request: Request) -> str:
    """The name of the cookie. Browsers send one to all ports of a host, where the page of another site may be."""
    return f"fawkes-key-{request.scope['server'][1]}"


def _plain(status: HTTPStatus, text: str) -> Response:
    return PlainTextResponse(f"{text}.\n", status)


@dataclass
class Page:
    """One ledger, and who looks at it."""

    watcher: Watcher
    look: PageLook = field(default_factory=PageLook)
    streams: int = 0

    def __post_init__(self) -> None:
        self._news = asyncio.Condition()
        self._version = 0
        self._looked_s = time.monotonic()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="ledger")
        # A question may take long, and no look at the ledger waits for it.
        self._explaining = ThreadPoolExecutor(1, thread_name_prefix="explain")

    async def in_thread(self, thread: ThreadPoolExecutor, ask: Callable[[], T]) -> T:
        """The value of ``ask``, called in a thread; TimeoutError when that is busy for long."""
        return await asyncio.wait_for(asyncio.get_running_loop().run_in_executor(thread, ask), ANSWER_S)

    async def follow(self) -> None:
        """Look at the ledger again and again, until it is cancelled."""
        while True:
            look = await asyncio.get_running_loop().run_in_executor(self._thread, self._seen)
            self._looked_s = time.monotonic()
            if look is not self.look:
                async with self._news:
                    self.look = look
                    self._version += 1
                    self._news.notify_all()
            await asyncio.sleep(0.05 if look.reading else LOOK_EVERY_S)

    def _seen(self) -> PageLook:
        try:
            return self.watcher.look()
        except Exception as error:
            known = error if isinstance(error, FawkesError) else FawkesError(f"defect in the page: {error!r}")
            state = trouble(known)
            if self.look.state == state:
                return self.look
            _log.warning("%s", known, exc_info=None if known is error else error)
            return PageLook(seq=self.look.seq, state=state, stale=str(known), reading=False)

    async def state(self, request: Request) -> Response:
        """The pool, its MR-clusters, nodes and jobs, and the latest moves and steps."""
        self.watcher.wanted = True
        return self._answer(request, self.look.state, "application/json")

    async def course(self, request: Request) -> Response:
        """Curves over time: nodes by role, waiting tasks, discrimination and weight of each MR-cluster."""
        self.watcher.wanted = True
        with suppress(TimeoutError):
            return self._answer(request, await self.in_thread(self._thread, self.watcher.course), "application/json")
        return self._answer(request, b"", "")

    async def metrics(self, request: Request) -> Response:
        """The figures for Prometheus."""
        return self._answer(request, self.look.metrics, "text/plain; version=0.0.4; charset=utf-8")

    def _answer(self, request: Request, body: bytes, kind: str) -> Response:
        if not body or time.monotonic() - self._looked_s > SILENT_S:
            return _plain(HTTPStatus.SERVICE_UNAVAILABLE, "The ledger is being read, or cannot be read")
        tag = f'"{self._version}-{self.look.seq}"'
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=HTTPStatus.NOT_MODIFIED, headers={"etag": tag})
        return Response(body, media_type=kind, headers={"etag": tag, "cache-control": "no-cache"})

    async def explain(self, request: Request) -> Response:
        """The reason why a node, an MR-cluster or a job is as it is."""
        of, name = request.path_params["of"], request.path_params["name"]
        try:
            ask = partial(self.watcher.explain, of, name, time.monotonic() + ANSWER_S)
            return JSONResponse(await self.in_thread(self._explaining, ask))
        except FawkesError as error:
            return JSONResponse({"error": str(error)}, HTTPStatus.NOT_FOUND)
        except TimeoutError:
            return JSONResponse(
                {"error": "this takes too long; ask again, or use `fawkes explain`"}, HTTPStatus.SERVICE_UNAVAILABLE
            )

    async def stream(self, request: Request) -> Response:
        """A server-sent event for each piece of news: the number of the newest step."""
        if self.streams >= MOST_STREAMS:
            return _plain(HTTPStatus.SERVICE_UNAVAILABLE, "Too many pages are open")
        return StreamingResponse(self._steps(), media_type="text/event-stream", headers={"cache-control": "no-store"})

    async def _steps(self) -> AsyncIterator[bytes]:
        self.streams += 1
        known = -1
        try:
            while True:
                if known == self._version:
                    with suppress(TimeoutError):
                        await asyncio.wait_for(self._newer(known), ALIVE_S)
                known, seq = self._version, self.look.seq
                yield f"data: {seq}\n\n".encode()
        finally:
            self.streams -= 1

    async def _newer(self, known: int) -> None:
        async with self._news:
            await self._news.wait_for(lambda: self._version != known)


#: path, what is asked for, and the kinds of answers
_PATHS = (
    ("/api/state", "state", "application/json"),
    ("/api/course", "course", "application/json"),
    ("/api/explain/{of}/{name}", "explain", "application/json"),
    ("/api/stream", "stream", "text/event-stream"),
    ("/metrics", "metrics", "text/plain"),
)


_REFUSALS = {"401": {"description": "no key"}, "503": {"description": "the ledger is being read"}}


def openapi(acting: Acting | None = None) -> dict[str, Any]:
    """The description of the API (OpenAPI 3.1), made of the tables of its paths and of the controller's."""
    paths = {}
    for path, name, kind in _PATHS:
        names = [part[1:-1] for part in path.split("/") if part.startswith("{")]
        parameters = [{"name": each, "in": "path", "required": True, "schema": {"type": "string"}} for each in names]
        answers = {"200": {"description": "the answer", "content": {kind: {}}}, **_REFUSALS}
        if names:
            answers["404"] = {"description": "the ledger does not know it"}
        said = (getattr(Page, name).__doc__ or "").strip()
        paths[path] = {"get": {"operationId": name, "summary": said, "parameters": parameters, "responses": answers}}
    info = {"title": "Fawkes", "version": __version__, "description": "Reads a pool; the commands act on it."}
    described: Mapping[str, Any] = {"openapi": "3.1.0", "info": info, "paths": {}, "components": {}}
    if acting is not None:
        described = acting.described
        answers = {"200": {"description": "name and role"}, **_REFUSALS}
        paths[HOLDER] = {"get": {"operationId": "token", "summary": "The holder of the token.", "responses": answers}}
    key = {"securitySchemes": {"key": {"type": "http", "scheme": "bearer"}}}
    return {
        **described,
        "paths": {**paths, **described["paths"]},
        "components": {**described["components"], **key},
        "security": [{"key": []}],
    }


async def _index(request: Request) -> Response:
    return Response((STATIC / "index.html").read_bytes(), media_type="text/html")


def application(watcher: Watcher, *, key: str | None, hosts: list[str], acting: Acting | None = None) -> Starlette:
    """The page of a ledger.

    ``key`` lets in, empty: everybody is, None: only tokens do. ``hosts`` are the names by which it is asked for. With
    ``acting`` holders of tokens act.
    """
    page = Page(watcher)
    described = openapi(acting)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        following = asyncio.create_task(page.follow())
        yield
        following.cancel()
        await asyncio.get_running_loop().run_in_executor(page._thread, watcher.close)

    async def description(_: Request) -> Response:
        return JSONResponse(described)

    routes: list[Route | Mount] = [Route(path, getattr(page, name)) for path, name, _ in _PATHS]
    if acting is not None:
        routes.append(Route("/api/{name}", acting.answer, methods=["GET", "POST"]))
    return Starlette(
        routes=[
            Route("/", _index),
            Route("/openapi.json", description),
            *routes,
            Mount("/static", StaticFiles(directory=STATIC)),
        ],
        # The Host of a request is checked first: a page of somebody else may have its name point here.
        middleware=[
            Middleware(TrustedHostMiddleware, allowed_hosts=hosts),
            Middleware(Guard, key=key, acting=acting),
        ],
        lifespan=lifespan,
    )
