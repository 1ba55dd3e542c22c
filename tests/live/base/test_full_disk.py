"""A controller whose ledger takes nothing, for its disk is full or it is locked: it says so, waits, and goes on."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from fawkes.base.errors import ExitStatus, FawkesError, FullError, RefusedError
from fawkes.core.values.decision import Decision
from fawkes.core.values.effects import Reply
from fawkes.core.values.events import Event, PauseAsked, Woke
from fawkes.engine import Engine
from fawkes.live.base.mailbox import Mailbox
from fawkes.live.base.timers import Clock
from fawkes.live.controller.control import ControlServer
from fawkes.live.controller.controller import HeardLedger, _keep_pictures
from fawkes.live.controller.endpoint import Peer
from fawkes.policy import compile_policy
from fawkes.store.schema import CLOCK
from fawkes.store.sqlite import LEDGER_FILE, Ledger
from tests.live.played import world_of
from tests.store.test_room import PRIVATE, can_mount
from tests.support.pools import started
from tests.support.waiting import wait_for

LIMIT_S = 60.0

#: a shell in a mount namespace of its own: everything that the test does to the small disk it does through it
SHELL = """
    mount -t tmpfs -o size=2m none "$1/state" || exit 1
    echo ready
    while read -r line; do eval "$line" >/dev/null 2>&1; echo "done $?"; done
"""


class Small:
    """A site whose state folder is a disk of 2 MB, and commands on it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        subprocess.run([sys.executable, "-m", "fawkes", "init", str(folder)], check=True, capture_output=True)
        for name in ("known_hosts", "log"):
            (folder / name).touch()
        (folder / "state").mkdir(mode=0o700)
        self._shell = subprocess.Popen(
            [*PRIVATE, "sh", "-c", textwrap.dedent(SHELL), "sh", str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._line() == "ready"

    def _line(self) -> str:
        assert self._shell.stdout is not None
        return self._shell.stdout.readline().strip()

    def sh(self, line: str) -> int:
        """Run a line where the small disk is; its exit code."""
        assert self._shell.stdin is not None
        self._shell.stdin.write(line + "\n")
        self._shell.stdin.flush()
        return int(self._line().removeprefix("done "))

    def fawkes(self, *words: str) -> tuple[int, str]:
        """A command on the site: its exit code, and what it wrote."""
        out = self.folder / "out"
        code = self.sh(f"{sys.executable} -m fawkes --site {self.folder} {' '.join(words)} >{out} 2>&1")
        return code, out.read_text()

    def fill(self) -> None:
        for size in ("64k", "4k", "512"):
            self.sh(f"dd if=/dev/zero of={self.folder}/state/filler.{size} bs={size}")

    def free(self) -> None:
        self.sh(f"rm {self.folder}/state/filler.*")

    @property
    def log(self) -> str:
        """The controller's lines on standard error."""
        return (self.folder / "log").read_text()

    def start(self) -> None:
        self.sh(
            f"{sys.executable} -m fawkes --site {self.folder} run 2>>{self.folder}/log & echo $! >{self.folder}/pid"
        )

    @property
    def runs(self) -> bool:
        """True if the controller still runs."""
        pid = (self.folder / "pid").read_text().strip()
        with suppress(FileNotFoundError):
            return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
        return False

    def end(self) -> None:
        with suppress(ProcessLookupError, FileNotFoundError, ValueError):
            os.kill(int((self.folder / "pid").read_text()), signal.SIGKILL)
        self._shell.kill()
        self._shell.communicate()


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Small]:
    made = Small(tmp_path / "site")
    yield made
    made.end()
    shutil.rmtree(tmp_path)


def _status(small: Small) -> Mapping[str, Any]:
    code, said = small.fawkes("status", "-o", "json")
    pool: Mapping[str, Any] = json.loads(said[said.index("{") :])["pool"]
    assert code == (ExitStatus.PARTIAL if pool["trouble"] else 0), said
    return pool


@pytest.mark.slow
@pytest.mark.skipif(not can_mount(), reason="needs root and a mount namespace of its own")
def test_a_controller_waits_for_room_and_goes_on(small: Small) -> None:
    small.start()
    wait_for(lambda: "controls pool" in small.log)
    small.fill()
    said: list[tuple[int, str]] = []
    while not said or said[-1][0] == 0:
        said.append(small.fawkes("pause", "--reason", f"a-visit-{len(said)}"))
        assert len(said) < 200
    held_up, first = said[-1], len(said) - 1
    assert held_up[0] == ExitStatus.FAILED
    assert f"{small.folder}/state/ledger.sqlite: not stored yet: the disk is full" in held_up[1]
    code, refused = small.fawkes("resume")
    assert code == ExitStatus.REFUSED
    assert f"{small.folder}/state/ledger.sqlite: the ledger cannot be written: the disk is full" in refused
    assert "Free some space" in refused
    status = _status(small)
    assert status["trouble"] == f"{small.folder}/state/ledger.sqlite: the ledger cannot be written: the disk is full"
    assert status["paused"] == (f"a-visit-{first - 1}" if first else "")
    assert "NOTHING IS DECIDED" in small.fawkes("status")[1]
    assert small.log.count("the disk is full") == 1
    assert small.runs
    small.free()
    wait_for(lambda: "can be written again" in small.log)
    after = wait_for(lambda: (found := _status(small))["paused"] == f"a-visit-{first}" and found)
    assert after["trouble"] == ""
    assert small.fawkes("resume")[0] == 0
    assert small.fawkes("down", "--keep")[0] == 0
    wait_for(lambda: not small.runs)
    assert small.fawkes("verify")[0] == 0
    assert small.fawkes("events", "--verify")[0] == 0


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.skipif(not can_mount(), reason="needs root and a mount namespace of its own")
def test_a_controller_that_waits_for_room_can_be_stopped(small: Small) -> None:
    small.start()
    wait_for(lambda: "controls pool" in small.log)
    small.fill()
    wait_for(lambda: small.fawkes("pause", "--reason", "a-visit")[0] != 0)
    small.sh(f"kill -TERM $(cat {small.folder}/pid)")
    wait_for(lambda: not small.runs)
    assert "Traceback" not in small.log
    before = small.log.count("the disk")
    small.fill()
    small.start()
    # There may be room to open the ledger but none for the first step, then it waits; or for a few steps.
    wait_for(lambda: small.log.count("the disk") > before or "epoch 2" in small.log)
    small.free()
    wait_for(lambda: "epoch 2" in small.log or not small.runs)
    if not small.runs:
        small.start()
        wait_for(lambda: "epoch 2" in small.log)
    assert "Traceback" not in small.log
    assert small.fawkes("verify")[0] == 0
    assert small.fawkes("status")[0] == 0


@pytest.mark.parametrize("journal", ["WAL", "DELETE"])
def test_a_program_that_locks_the_ledger_is_waited_for_and_each_step_is_stored_once(
    tmp_path: Path, journal: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("fawkes.store.opening._BUSY_S", 0.01)
    monkeypatch.setattr("fawkes.live.base.limits.ROOM_EVERY_S", 0.0)
    world = world_of()
    with closing(Ledger(tmp_path)) as ledger, closing(sqlite3.connect(tmp_path / LEDGER_FILE)) as shell:
        ledger._db.execute(f"PRAGMA journal_mode = {journal}")
        shell.isolation_level = None
        keep = _keep_pictures(ledger, 0, world.mailbox.clock)
        first = iter([True])

        def hear(event: Event, decision: Decision) -> None:
            """Locked once the step is stored: what belongs beside it is stored after the next one."""
            if next(first, False):
                shell.execute("BEGIN IMMEDIATE")

        engine = Engine(world, HeardLedger(ledger, hear), compile_policy, remember=keep)
        refusals: list[RefusedError] = []

        def close_it(error: FawkesError) -> None:
            refusals.append(world.mailbox.refusal)  # type: ignore[arg-type]
            shell.execute("ROLLBACK")

        world.held_up = close_it
        assert engine.offer(started(4))
        assert not ledger.note(CLOCK)
        assert engine.offer(Woke(at_us=engine.view.now_us))
        assert ledger.note(CLOCK)
        assert [type(entry.event).__name__ for entry in ledger.entries()] == ["Started", "Woke"]
    (refusal,) = refusals
    assert refusal.what == "the ledger cannot be written: another program has locked the ledger"
    assert "Close the program that has it open, such as an sqlite3 shell, then repeat" in refusal.hint
    assert caplog.text.count("Nothing is decided until then") == 1
    world.close()


ANN = Peer(1, os.geteuid(), "ann")


def test_who_waits_is_told_and_who_comes_later_is_refused(tmp_path: Path) -> None:
    mailbox = Mailbox(Clock())
    server = ControlServer(tmp_path / "state", mailbox.post, {}, mailbox.clock.now_us, stop=lambda by: None)
    with closing(server):
        caught: list[Exception] = []

        def ask() -> None:
            try:
                server.ask("pause", b'{"reason": "a visit"}', ANN)
            except FullError as error:
                caught.append(error)

        waiting = threading.Thread(target=ask)
        waiting.start()
        event = mailbox.take()
        assert isinstance(event, PauseAsked)
        full = FullError("the disk is full")
        mailbox.hold(RefusedError("no room"))
        while waiting.is_alive():
            server.hold_up(full)
            waiting.join(0.01)
        assert caught == [full]
        for _ in range(3):
            with pytest.raises(RefusedError, match="no room"):
                server.ask("pause", b'{"reason": "a visit"}', ANN)
        # Nobody waits for an answer any more: what was asked for may still be done.
        server.reply(Reply(event.ask, None, {}))
        assert server._waiting == {}
