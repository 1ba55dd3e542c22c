"""The page beside a controller: started again when it ends, ended with the controller, however that ends."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest

from fawkes.cli.history.page import keep, page_beside
from fawkes.config.site.site import Site

PATIENCE_S = 60.0
UNTIL_INPUT_ENDS = [sys.executable, "-S", "-c", "import os, sys; print(os.getpid(), file=sys.stderr); sys.stdin.read()"]


def test_a_page_that_ends_is_said_and_started_again() -> None:
    over, said, known = threading.Event(), [], []

    def wait_us(tries: int, lived_s: float) -> tuple[int, int]:
        known.append(tries)
        assert 0 < lived_s < PATIENCE_S
        return tries + 1, 0

    def say(line: str) -> None:
        said.append(line)
        if len(said) == 3:
            over.set()

    row: dict[str, object] = {"ended": ""}
    keep(["sh", "-c", "exit 3"], wait_us, over, say, row)
    assert said == ["the page has ended (exit code 3); it is started again in 0s"] * 3
    assert known == [0, 1, 2]
    assert row["ended"] == "the page has ended (exit code 3); it is started again"


def test_a_page_ends_with_its_controller_and_that_is_no_news(capfd: pytest.CaptureFixture[str]) -> None:
    over = threading.Event()
    keeper = threading.Thread(target=keep, args=(UNTIL_INPUT_ENDS, pytest.fail, over, pytest.fail, {}))
    keeper.start()
    while not (line := capfd.readouterr().err):
        pass
    over.set()
    keeper.join(PATIENCE_S)
    assert not keeper.is_alive()
    with pytest.raises(ProcessLookupError):
        os.kill(int(line), 0)


@pytest.mark.slow
def test_the_page_of_a_killed_controller_ends() -> None:
    code = textwrap.dedent(f"""
        import threading
        from fawkes.cli.history.page import keep
        keep({UNTIL_INPUT_ENDS!r}, None, threading.Event(), print, dict())
    """)
    with subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True) as controller:
        assert controller.stderr is not None
        page = os.pidfd_open(int(controller.stderr.readline()))
        controller.kill()
        try:
            # A descriptor of a process can be read once it has ended.
            assert select.select([page], [], [], PATIENCE_S)[0]
        finally:
            os.close(page)


def test_a_site_without_a_table_has_no_page(tmp_path: Path) -> None:
    with page_beside(Site(tmp_path), Site(tmp_path).settings(), pytest.fail):
        assert not [thread for thread in threading.enumerate() if thread.name == "page"]
