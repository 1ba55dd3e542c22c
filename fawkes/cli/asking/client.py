"""The commands' side of the control socket: asks the running controller and turns its answers into values or errors."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import socket
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from fawkes.base.errors import (
    DeadlineError,
    ElsewhereError,
    ExitStatus,
    FawkesError,
    RefusedError,
    UserError,
)
from fawkes.base.units import SECOND_US, show_duration
from fawkes.base.version import __version__
from fawkes.config.site.site import Site
from fawkes.core.values.model import Facts, Plain, Reason
from fawkes.live.controller.endpoint import LANGUAGE, SOCKET, peer_of, reachable

#: any controller that works answers a short question within this time, on a busy machine too
ALIVE_S = 8.0
#: no event keeps the loop for so long: a decision takes milliseconds, and storing it a second on a busy disk
_STUCK_S = 10.0
#: of an answer that is passed on
_MOST_BYTES = 1 << 24
#: every version names a verb so that it does not know
_UNKNOWN = f" /{LANGUAGE}".encode()
_ERRORS: Mapping[int, type[FawkesError]] = {
    ExitStatus.USAGE: UserError,
    ExitStatus.TIMED_OUT: DeadlineError,
    ExitStatus.REFUSED: RefusedError,
    ExitStatus.ANOTHER_CONTROLLER: ElsewhereError,
}


class NoControllerError(FawkesError):
    """No controller listens."""


class NoSiteError(UserError, NoControllerError):
    """No controller listens, and the folder is no site."""


class HungUpError(FawkesError):
    """The controller ended while it was asked, or speaks otherwise: whether it has done something is not known."""


class SilentError(DeadlineError):
    """A controller runs, but no answer came in time."""


class TurnedDownError(RefusedError):
    """The core says no: ``reason`` has the code and the numbers behind it."""

    def __init__(self, reason: Reason) -> None:
        from fawkes.report.words.sentences import sentence

        super().__init__(sentence(reason))
        self.reason = reason


class Client:
    """Talks to the controller of one site; a connection for each question.

    NoControllerError (exit 1) when no controller runs, TurnedDownError (exit 6) when the core refuses, RefusedError
    (exit 6) when the caller may not act, SilentError (exit 5) when no answer comes within ``timeout_s``, else the
    error that the controller met. A long ``timeout_s`` is for long answers: a controller that answers nothing at all is
    told from one that works after some seconds, and then it was asked for nothing.

    While ``stored`` is set, it answers in the place of a controller that does not.
    """

    def __init__(self, site: Site, *, timeout_s: float = 120.0) -> None:
        self.site = site
        self.timeout_s = timeout_s
        self.stored: Callable[[str, Mapping[str, str]], Any] | None = None
        self._heard = False

    def get(self, name: str, **parameters: str) -> Any:
        """The controller's answer to ``GET /name``, as plain data."""
        if self.stored is not None:
            return self.stored(name, parameters)
        with self._sent("GET", _path(name, parameters)) as response:
            return _answer(response)

    def rows(self, name: str, **parameters: str) -> list[dict[str, Any]]:
        """The same for names that answer with rows."""
        rows: list[dict[str, Any]] = self.get(name, **parameters)
        return rows

    def stream(self, name: str, **parameters: str) -> Iterator[Any]:
        """The pieces of a long answer as they come; an error of the controller is raised where it broke off."""
        with self._sent("GET", _path(name, parameters)) as response:
            if response.status != http.client.OK:
                _answer(response)
            for line in _lines(response):
                said = json.loads(line)
                if "piece" not in said:
                    _refuse_error(said)
                    return
                yield said["piece"]
            raise HungUpError(
                "the controller stopped in the middle of its answer", hint="`fawkes status` shows whether it still runs"
            )

    def post(self, verb: str, body: Mapping[str, Plain], *, dry_run: bool = False) -> Facts:
        """Ask for something; the facts of the core's answer, or TurnedDownError with its reason.

        ``dry_run``: nothing is done, and ``would`` of the facts has the reasons of the decision.
        """
        with self._sent("POST", f"/{verb}?dry_run=1" if dry_run else f"/{verb}", _encoded(body)) as response:
            said = _answer(response)
        if said["refused"] is not None:
            raise TurnedDownError(Reason(said["refused"]["code"], said["refused"]["facts"]))
        facts: Facts = said["facts"]
        return facts

    def alive(self) -> Mapping[str, Any]:
        """The standing of the ledger and its loop (`LiveWorld.ledger_row`); SilentError when nothing answers.

        Empty where the controller does not say.
        """
        try:
            row: Mapping[str, Any] = self.get("ledger")
        except (NoControllerError, HungUpError):
            raise
        except SilentError:
            raise SilentError(
                f"the controller does not answer within {self.timeout_s:g} s, so it was asked for nothing",
                hint="`fawkes status` shows since when; end its process if it hangs, then start `fawkes run` again",
            ) from None
        except (RefusedError, UserError):
            # A controller that does not say so is alive.
            return {}
        return row

    def passed(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> tuple[int, str, bytes]:
        """Status, kind and body of the controller's answer as it is; errors of the way to it as of `post`."""
        with self._sent(method, path, body, headers) as response:
            try:
                answer = response.read(_MOST_BYTES + 1)
            except (TimeoutError, http.client.HTTPException, ConnectionError):
                raise _broken_off() from None
            if len(answer) > _MOST_BYTES:
                raise UserError(f"the answer has more than {_MOST_BYTES} bytes", hint="Ask with a command of `fawkes`")
            return response.status, response.headers["Content-Type"], answer

    def _sent(
        self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> http.client.HTTPResponse:
        """The controller's answer. Of another version's controller that is RefusedError, except to a plain stop."""
        if method != "POST":
            return self._exchanged(method, path, body, headers)
        # A controller that does not know dry runs or roles would do what it must not.
        response = self._exchanged(method, f"/{LANGUAGE}{path[1:]}", body, headers)
        if response.status != http.client.BAD_REQUEST or _UNKNOWN not in response.peek(_MOST_BYTES):
            return response
        response.close()
        if path == "/stop" and not headers:
            return self._exchanged(method, path, body, headers)
        raise RefusedError(
            f"the controller is of another version than this command ({__version__}), and was asked for nothing",
            hint="Start it again with this version: `fawkes down --keep`, then `fawkes run`; or use its own commands",
        )

    def _exchanged(
        self, method: str, path: str, body: bytes | None, headers: Mapping[str, str] | None
    ) -> http.client.HTTPResponse:
        if self.timeout_s > ALIVE_S and not self._heard:
            Client(self.site, timeout_s=ALIVE_S).alive()
            self._heard = True
        connection = _Connection(self.site, self.timeout_s)
        try:
            # The controller may answer, and hang up, before it has heard everything: to a body that is too long.
            with contextlib.suppress(BrokenPipeError):
                connection.request(method, path, body, headers or {})
            return connection.getresponse()
        except (TimeoutError, BlockingIOError):
            # The latter when so many wait for it that the kernel lets nobody else in.
            raise SilentError(
                f"the controller did not answer within {self.timeout_s:g} s",
                hint="It may still do it: check with `fawkes status` before you repeat the command",
            ) from None
        except (http.client.HTTPException, ConnectionError) as error:
            may_be_done = "" if method == "GET" else "It may have done what it was asked for: "
            hint = f"{may_be_done}`fawkes status` shows whether it still runs"
            raise HungUpError("the controller ended the connection without an answer", hint=hint) from error


class _Connection(http.client.HTTPConnection):
    """HTTP over the site's control socket."""

    def __init__(self, site: Site, timeout_s: float) -> None:
        super().__init__("controller")
        self._site = site
        self._timeout_s = timeout_s

    def connect(self) -> None:
        """Connect to the socket for other users where the site has one, else to the one in the state folder."""
        for folder in (self._site.control_dir, self._site.state_dir):
            self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self.sock.settimeout(self._timeout_s)
            try:
                with reachable(folder) as address:
                    self.sock.connect(address)
            except (FileNotFoundError, NotADirectoryError, ConnectionRefusedError):
                self.sock.close()
                continue
            except PermissionError:
                raise RefusedError(
                    "you may not command the controller of this site",
                    where=os.fspath(folder / SOCKET),
                    hint=f"Ask {_owner(folder)}, who runs it, or root",
                ) from None
            server = peer_of(self.sock)
            # `eval "$(fawkes env ...)"` runs what the answer says: believe nobody who merely could write into the
            # folder.
            if server.uid not in (os.geteuid(), 0, folder.stat().st_uid):
                raise RefusedError(
                    f"{server.name} answers instead of this site's controller", where=os.fspath(folder / SOCKET)
                )
            return
        raise _nobody(self._site)


def _owner(folder: Path) -> str:
    try:
        return folder.owner()
    except (KeyError, OSError):
        return "the user"


def _nobody(site: Site) -> FawkesError:
    if not site.inventory_file.exists():
        return NoSiteError(
            "this is not a site folder: it has no inventory.toml",
            where=os.fspath(site.root),
            hint="Name the folder with `fawkes --site DIR`, or write one with `fawkes init DIR`",
        )
    return NoControllerError(
        f"no controller is running for the site {os.path.abspath(site.root)}", hint="Start it with `fawkes run`"
    )


def _path(name: str, parameters: Mapping[str, str]) -> str:
    return f"/{name}?{urlencode(parameters)}" if parameters else f"/{name}"


def trouble(row: Mapping[str, Any]) -> str:
    """Reason why a controller that answers decides nothing (``row`` is of `Client.alive`); empty when it decides."""
    if row.get("trouble"):
        return f"NOTHING IS DECIDED: {row['trouble']}"
    worked_s = float(row.get("event_s") or 0.0)
    if worked_s < _STUCK_S:
        return ""
    worked = show_duration(round(worked_s) * SECOND_US)
    return f"NOTHING IS DECIDED: the controller has worked on one event ({row['event']}) for {worked}"


def _lines(response: http.client.HTTPResponse) -> Iterator[bytes]:
    try:
        yield from response
    except TimeoutError:
        raise _broken_off() from None


def _broken_off() -> SilentError:
    return SilentError(
        "the controller stopped answering in the middle of its answer", hint="`fawkes status` shows since when"
    )


def _encoded(body: Mapping[str, Plain]) -> bytes:
    for key, value in body.items():
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise UserError("this is not UTF-8", where=key, hint="Write it in UTF-8") from None
    return json.dumps(body).encode()


def _answer(response: http.client.HTTPResponse) -> Any:
    try:
        said = json.loads(response.read())
    except TimeoutError:
        raise _broken_off() from None
    except (ValueError, http.client.HTTPException, ConnectionError) as error:
        raise HungUpError(
            "the controller stopped in the middle of its answer", hint="`fawkes status` shows whether it still runs"
        ) from error
    if response.status not in (http.client.OK, http.client.CONFLICT):
        _refuse_error(said)
    return said


def _refuse_error(said: Mapping[str, Any]) -> None:
    if "error" in said:
        error = said["error"]
        kind = _ERRORS.get(error["exit"], FawkesError)
        raise kind(error["what"], where=error["where"], hint=error["hint"])
