"""The talk of `fawkes lab kill`, `status` and so on to the warden: one line each way on a Unix socket."""

from __future__ import annotations

import json
import os
import socket
import struct
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from fawkes.base.errors import BrokenError, DeadlineError, FawkesError, HostError, RefusedError, UserError
from fawkes.live.lab.blueprint import CONTROL

COMMIT = b"commit\n"
"""The word after which a lab outlives the `lab up` that started it."""

_LIMIT_S = 90.0
_KINDS: dict[str, Callable[..., FawkesError]] = {kind.__name__: kind for kind in (UserError, RefusedError, BrokenError)}


def error_as_data(error: FawkesError) -> dict[str, str]:
    """An error as plain data, for the other side."""
    return {"kind": type(error).__name__, "error": error.what, "where": error.where, "hint": error.hint}


def error_from_data(data: dict[str, str]) -> FawkesError:
    """The inverse of `error_as_data`."""
    if data["kind"] == HostError.__name__:
        return HostError(data["error"], host=data["where"], hint=data["hint"])
    return _KINDS.get(data["kind"], FawkesError)(data["error"], where=data["where"], hint=data["hint"])


def refusal_as_data(error: OSError) -> dict[str, Any]:
    """The kernel's refusal while a lab was being built, as plain data."""
    return {"errno": error.errno or 0, "error": error.strerror or str(error), "where": error.filename or ""}


def refusal_from_data(data: dict[str, Any]) -> OSError:
    """The inverse of `refusal_as_data`."""
    return OSError(data["errno"], data["error"], data["where"])


class NoWardenError(FawkesError):
    """Nobody listens: the lab is not up."""


class WardenLine:
    """A connection to the warden of the lab whose things are in ``folder``; NoWardenError when there is none."""

    def __init__(self, folder: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(_LIMIT_S)
        try:
            # Not by its path: that may be longer than the 108 bytes of a socket's address.
            handle = os.open(folder, os.O_PATH | os.O_DIRECTORY)
            try:
                self._socket.connect(f"/proc/self/fd/{handle}/{CONTROL}")
            finally:
                os.close(handle)
        except OSError as error:
            self._socket.close()
            raise NoWardenError("the lab is not up") from error

    def warden_pid(self) -> int:
        """The warden's process id as the calling process sees it."""
        credentials = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        pid: int = struct.unpack("3i", credentials)[0]
        return pid

    def ask(self, verb: str, host: str = "") -> Any:
        """The warden's answer to one request; the error that it raised is raised here."""
        try:
            self._socket.sendall(json.dumps({"verb": verb, "host": host}).encode() + b"\n")
            with self._socket.makefile() as file:
                answer = file.readline()
        except TimeoutError as error:
            raise DeadlineError(f"the lab did not answer within {_LIMIT_S:.0f} s to {verb!r}") from error
        except OSError as error:
            raise NoWardenError("the lab has ended") from error
        if not answer:
            raise NoWardenError("the lab has ended")
        data = json.loads(answer)
        if "error" in data:
            raise error_from_data(data)
        return data["answer"]

    def close(self) -> None:
        """End the connection."""
        self._socket.close()

    def __enter__(self) -> WardenLine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def answer_next(listener: socket.socket, do: Callable[[str, str], Any]) -> None:
    """Take one request from the listening socket and answer it with what ``do(verb, host)`` returns or raises."""
    connection, _ = listener.accept()
    connection.settimeout(_LIMIT_S)
    with connection, suppress(OSError), connection.makefile() as file:
        line = file.readline()
        if not line:
            return
        data: dict[str, Any]
        try:
            request = json.loads(line)
            data = {"answer": do(request["verb"], request["host"])}
        except FawkesError as error:
            data = error_as_data(error)
        except Exception as error:
            # The warden must live on whatever happens: its end would be the end of all hosts.
            data = error_as_data(BrokenError(f"the lab failed to carry out {line.strip()}: {error!r}"))
        connection.sendall(json.dumps(data).encode() + b"\n")
