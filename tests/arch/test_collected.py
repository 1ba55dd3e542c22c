"""All tests that are written are run."""

from __future__ import annotations

from fnmatch import fnmatch
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]


def test_no_folder_with_tests_is_left_out(pytestconfig: pytest.Config) -> None:
    """Folders named `dist` or `build` are, if nobody says otherwise: 162 tests in one were once not run for days."""
    names = {parent.name for file in TESTS.rglob("test_*.py") for parent in file.relative_to(TESTS).parents}
    assert {"arch", "dist"} <= names
    patterns = pytestconfig.getini("norecursedirs")
    assert [name for name in names if any(fnmatch(name, pattern) for pattern in patterns)] == []
