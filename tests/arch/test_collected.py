"""All tests that are written are run, and all code is looked at.

Tools leave folders named `dist` or `build` out if nobody says otherwise: 162 tests in one were once not run for days.
"""

from __future__ import annotations

import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_no_folder_with_tests_is_left_out(pytestconfig: pytest.Config) -> None:
    tests = ROOT / "tests"
    names = {parent.name for file in tests.rglob("test_*.py") for parent in file.relative_to(tests).parents}
    assert {"arch", "dist"} <= names
    patterns = pytestconfig.getini("norecursedirs")
    assert [name for name in names if any(fnmatch(name, pattern) for pattern in patterns)] == []


@pytest.mark.parametrize("folder", ["fawkes", "policies", "playbooks", "tests", "bench", "drills", "docs"])
def test_ruff_looks_at_every_file(folder: str) -> None:
    command = [sys.executable, "-m", "ruff", "check", "--show-files", folder]
    seen = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True).stdout.split("\n")
    assert {str(path) for path in (ROOT / folder).rglob("*.py")} - set(seen) == set()
