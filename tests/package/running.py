"""Runs `fawkes` in a process of its own, with or without some packages."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Collection, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]

#: Python takes a module that is remembered as None for one that is not installed.
_PROGRAM = """
import sys
for name in sys.argv.pop(1).split():
    sys.modules[name] = None
from fawkes.cli.main import main
main()
"""


def fawkes(
    *words: str | Path, folder: Path, without: Collection[str] = (), env: Mapping[str, str] = {}
) -> subprocess.CompletedProcess[str]:
    """How ``fawkes WORDS`` ends in ``folder``, where the packages ``without`` cannot be imported."""
    return python(_PROGRAM, " ".join(without), *map(str, words), folder=folder, env=env)


def python(program: str, *words: str, folder: Path, env: Mapping[str, str] = {}) -> subprocess.CompletedProcess[str]:
    """How a program in Python ends in ``folder``; it finds Fawkes."""
    return subprocess.run(
        [sys.executable, "-c", program, *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), **env},
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
        timeout=120,
    )
