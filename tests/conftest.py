"""What holds for all tests: which of them `make test` leaves to `make test-unproven` for now.

These have been written and run in parts, but were not yet seen to pass in one go on a quiet machine with two cores.
"""

from __future__ import annotations

from pathlib import Path

import pytest

UNPROVEN = ("tests/e2e/", "tests/live/test_real_hadoop.py")
#: proven in the simulated world, not yet in one go on real nodes
UNPROVEN_LIVE = ("tests/contract/test_world.py",)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is not proven yet."""
    root = Path(__file__).parent.parent
    for item in items:
        path = item.path.relative_to(root).as_posix()
        live = path.startswith(UNPROVEN_LIVE) and item.get_closest_marker("hadoop") is not None
        if path.startswith(UNPROVEN) or live:
            item.add_marker(pytest.mark.unproven)
