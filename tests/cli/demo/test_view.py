"""The view of a run while it goes on."""

from __future__ import annotations

import contextlib
import os
import pty
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import click
import pytest

from fawkes.cli.demo.view import watched
from fawkes.store.sqlite import Ledger
from tests.report.played import play

pytestmark = pytest.mark.slow


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with closing(Ledger(tmp_path)) as ledger:
        yield ledger


def test_off_a_terminal_each_change_is_a_line_once(
    ledger: Ledger, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with watched(tmp_path):
        play(ledger)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "    0.0 s  The controller started: Fawkes 0.1.0, epoch 1, policy TD"
    assert sum("c-1 was requested" in line for line in lines) == 1
    assert lines[-1].endswith("c-1 is gone")
    times = [float(line.split(" s ")[0]) for line in lines]
    assert times == sorted(times)


def test_on_a_terminal_there_is_a_board(ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = pty.openpty()
    seen = bytearray()
    reader = threading.Thread(target=_read, args=(ours, seen))
    reader.start()
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setenv("LINES", "50")
    monkeypatch.setenv("TERM", "xterm")
    with open(theirs, "w") as terminal, monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", terminal)
        with watched(tmp_path):
            play(ledger)
    reader.join()
    os.close(ours)
    text = seen.decode()
    for part in ("pool lab", "MR-cluster", "discrimination", "against tau 1.11", "c-1 is gone"):
        assert part in text


def _read(terminal: int, seen: bytearray) -> None:
    """Until the other side is closed, which Linux tells by an error."""
    with contextlib.suppress(OSError):
        while data := os.read(terminal, 1 << 16):
            seen.extend(data)


def test_quiet_shows_nothing(ledger: Ledger, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with click.Context(click.Command("fawkes")) as context:
        context.params["quiet"] = True
        with watched(tmp_path):
            play(ledger)
    assert capsys.readouterr().err == ""


def test_a_run_without_news_ends_at_once(ledger: Ledger, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with watched(tmp_path):
        pass
    assert capsys.readouterr().err == ""
