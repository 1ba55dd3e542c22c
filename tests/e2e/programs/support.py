from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

from fawkes.core.values.model import JobLife
from tests.e2e.programs.conftest import Ran


def assert_succeeded_at_once(ran: Ran, names: set[str]) -> None:
    ends = {name: (job.life, job.attempt, job.why) for name, job in ran.jobs.items() if name in names}
    assert ends == dict.fromkeys(names, (JobLife.SUCCEEDED, 1, ""))


def digests(folder: Path) -> dict[str, str]:
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in folder.glob("part-*")}


def made(program: Path, words: str, out: Path) -> Path:
    """The data that a generator makes on this machine."""
    argv = [sys.executable, str(program), *words.split(), "--out", str(out)]
    subprocess.run(argv, check=True, capture_output=True)
    return out
