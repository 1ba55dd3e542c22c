"""The commands' side of the control socket: asks the running controller and turns its answers into values or errors."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import socket
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from time import monotonic, sleep
from typing import Any, TypeVar
from urllib.parse import urlencode

from fawkes.config.site import Site
from fawkes.core.model import Facts, Plain, Reason
from fawkes.errors import (
    DeadlineError,
    ElsewhereError,
    ExitStatus,
    FawkesError,
    RefusedError,
    UserError,
)
from fawkes.live.endpoint import SOCKET, peer_of, reachable

T = TypeVar("T")

_FIRST_PAUSE_S = 0.02
_LONGEST_PAUSE_S = 1.0
_ERRORS: Mapping[int, type[FawkesError]] = {
    ExitStatus.USAGE: UserError,
    ExitStatus.TIMED_OUT: DeadlineError,
    ExitStatus.REFUSED: RefusedError,
    ExitStatus.ANOTHER_CONTROLLER: ElsewhereError,
}


class NoControllerError(FawkesError):
    """No controller listens."""


class HungUpError(FawkesError):
    """The controller ended while it was asked, or speaks otherwise: whether it has done something is not known."""


class TurnedDownError(RefusedError):
    """The core says no: ``reason`` has the code and the numbers behind it."""

    def __init__(self, reason: Reason) -> None:
        from fawkes.report.sentences import sentence

        super().__init__(sentence(reason))
        self.reason = reason


class Client:
    """Talks to the controller of one site; a connection for each question.

    NoControllerError (exit 1) when no controller runs, TurnedDownError (exit 6) when the core refuses, RefusedError
    (exit 6) when the caller may not act, DeadlineError (exit 5) when no answer comes within ``timeout_s``, else the
    error that the controller met.
    """

    def __init__(self, site: Site, *, timeout_s: float = 120.0) -> None:
        self.site = site
        self._timeout_s = timeout_s

    def get(self, name: str, **parameters: str) -> Any:
        """What the controller answers to ``GET /name``, as plain data."""
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
            for line in response:
                said = json.loads(line)
                if "piece" not in said:
                    _refuse_error(said)
                    return
                yield said["piece"]
            raise FawkesError(
                "the controller stopped in the middle of its answer", hint="`fawkes status` shows whether it still runs"
            )

    def post(self, verb: str, body: Mapping[str, Plain]) -> Facts:
        """Ask for something; the facts of the core's answer, or TurnedDownError with its reason."""
        with self._sent("POST", f"/{verb}", json.dumps(body).encode()) as response:
            said = _answer(response)
        if said["refused"] is not None:
            raise TurnedDownError(Reason(said["refused"]["code"], said["refused"]["facts"]))
        facts: Facts = said["facts"]
        return facts

    def wait(self, look: Callable[[], T | None], what: str, *, limit_us: int | None = None) -> T:
        """What ``look`` returns as soon as it returns something; DeadlineError after ``limit_us``.

        Nothing is taken back when the limit passes or the user interrupts: the controller goes on.
        """
        end_s = None if limit_us is None else monotonic() + limit_us / 1e6
        pause_s = _FIRST_PAUSE_S
        while True:
            seen = look()
            if seen is not None:
                return seen
            if end_s is not None and monotonic() >= end_s:
                raise DeadlineError(
                    f"the time limit ended before {what}",
                    hint="The controller continues with it; `fawkes status` shows its progress",
                )
            sleep(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)

    def _sent(self, method: str, path: str, body: bytes | None = None) -> http.client.HTTPResponse:
        connection = _Connection(self.site, self._timeout_s)
        try:
            # The controller may answer, and hang up, before it has heard everything: to a body that is too long.
            with contextlib.suppress(BrokenPipeError):
                connection.request(method, path, body)
            return connection.getresponse()
        except TimeoutError:
            raise DeadlineError(
                f"the controller did not answer within {self._timeout_s:g} s",
                hint="It may still do it: check with `fawkes status` before you repeat the command",
            ) from None
        except (http.client.HTTPException, ConnectionError) as error:
            raise HungUpError(
                f"the controller hung up ({type(error).__name__})", hint="`fawkes status` shows whether it still runs"
            ) from error


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
        return UserError(
            "this is not a site folder: it has no inventory.toml",
            where=os.fspath(site.root),
            hint="Name the folder with `fawkes --site DIR`, or write one with `fawkes init DIR`",
        )
    return NoControllerError(
        f"no controller is running for the site {os.path.abspath(site.root)}", hint="Start it with `fawkes run`"
    )


def _path(name: str, parameters: Mapping[str, str]) -> str:
    return f"/{name}?{urlencode(parameters)}" if parameters else f"/{name}"


def _answer(response: http.client.HTTPResponse) -> Any:
    try:
        said = json.loads(response.read())
    except (ValueError, http.client.HTTPException) as error:
        raise FawkesError(
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
