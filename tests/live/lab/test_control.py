from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from fawkes.base.errors import BrokenError, FawkesError, HostError, RefusedError, UserError
from fawkes.live.lab.blueprint import CONTROL
from fawkes.live.lab.control import NoWardenError, WardenLine, answer_next, error_as_data, error_from_data


@contextmanager
def warden(folder: Path, do: Callable[[str, str], Any]) -> Iterator[None]:
    """Somebody who answers one request."""
    handle = os.open(folder, os.O_PATH)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"/proc/self/fd/{handle}/{CONTROL}")
        listener.listen()
        thread = threading.Thread(target=answer_next, args=(listener, do))
        thread.start()
        yield
        thread.join(10)
    os.close(handle)


def test_a_request_is_answered_even_where_the_path_is_too_long_for_a_socket(tmp_path: Path) -> None:
    folder = tmp_path / ("x" * 200)
    folder.mkdir()
    with warden(folder, lambda verb, host: {"verb": verb, "host": host}), WardenLine(folder) as line:
        assert line.warden_pid() == os.getpid()
        assert line.ask("kill", "node01") == {"verb": "kill", "host": "node01"}


@pytest.mark.parametrize(
    "error",
    [
        UserError("no", hint="yes"),
        RefusedError("no", where="here"),
        HostError("no", host="node01", hint="yes"),
        FawkesError("no"),
    ],
)
def test_the_wardens_errors_are_raised_here(tmp_path: Path, error: FawkesError) -> None:
    def do(verb: str, host: str) -> None:
        raise error

    with warden(tmp_path, do), WardenLine(tmp_path) as line, pytest.raises(type(error)) as caught:
        line.ask("kill")
    assert str(caught.value) == str(error)
    assert type(error_from_data(error_as_data(error))) is type(error)


def test_a_defect_is_reported_and_ends_nothing(tmp_path: Path) -> None:
    defect = pytest.raises(BrokenError, match="ZeroDivisionError")
    with warden(tmp_path, lambda verb, host: 1 / 0), WardenLine(tmp_path) as line, defect:
        line.ask("kill", "node01")


def test_nobody_there(tmp_path: Path) -> None:
    with pytest.raises(NoWardenError):
        WardenLine(tmp_path)
    with pytest.raises(NoWardenError):
        WardenLine(tmp_path / "missing")


def test_a_warden_that_goes_away_in_between(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / CONTROL))
        listener.listen()
        line = WardenLine(tmp_path)
        listener.accept()[0].close()
    with line, pytest.raises(NoWardenError):
        line.ask("status")
