"""What holds for all tests, and which of them `make test` leaves to `make test-whole` for now."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

# A machine that does other things as well makes no test fail.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")

#: whole runs on real Hadoop: each has passed, not yet all of them in one go
WHOLE = Path(__file__).parent / "e2e"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the whole runs."""
    for item in items:
        if item.path.is_relative_to(WHOLE):
            item.add_marker(pytest.mark.whole)
