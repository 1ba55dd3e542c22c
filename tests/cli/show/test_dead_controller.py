"""Commands that show how things stand, beside the lock of a controller that was killed."""

from __future__ import annotations

import json
from pathlib import Path
from socket import gethostname

import pytest
from click.testing import CliRunner, Result

from fawkes.base.errors import ExitStatus
from fawkes.cli.main import cli
from fawkes.store.lock import LOCK_FILE

#: what is in the lock of a controller that was killed
DEAD = f'{{"host": "{gethostname()}", "pid": 77, "since_us": 5, "says_end": true}}'


def run(site: Path, *words: str) -> Result:
    return CliRunner(env={"COLUMNS": "200"}).invoke(cli, ["--site", str(site), *words])


@pytest.mark.parametrize("words", [["status"], ["nodes"], ["jobs"], ["plan"]], ids=" ".join)
def test_a_controller_that_left_no_word_of_its_end_is_the_first_line(site: Path, words: list[str]) -> None:
    (site / "state" / LOCK_FILE).write_text(DEAD)
    result = run(site, "-q", *words)
    assert result.exit_code == ExitStatus.PARTIAL
    first = result.stdout.splitlines()[0]
    assert first.startswith(
        f"NO CONTROLLER IS RUNNING, and the last one left no word of its end (process 77 on {gethostname()}, last"
    )
    assert "What follows is as of 2023-11-14 22:18:40" in first
    assert run(site, "events").exit_code == 0, "what has happened is no older for it"


def test_programs_read_that_the_controller_left_no_word_of_its_end(site: Path) -> None:
    (site / "state" / LOCK_FILE).write_text(DEAD)
    result = run(site, "status", "-o", "json")
    assert result.exit_code == ExitStatus.PARTIAL
    assert json.loads(result.stdout)["pool"]["unanswered"].startswith("NO CONTROLLER IS RUNNING")
