"""What holds for all tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

# A machine that does other things as well makes no test fail.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")

#: folders whose files share a lab
SHARE_A_LAB = ("tests/e2e/programs", "tests/e2e/real", "tests/lab")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests that share a lab run one after another, in their order, whatever runs beside them."""
    for item in items:
        if any(item.iter_markers("lab")) or any(item.iter_markers("hadoop")):
            file = item.path.relative_to(config.rootpath)
            item.add_marker(pytest.mark.xdist_group(_sharing(file)))


def _sharing(file: Path) -> str:
    return next((folder for folder in SHARE_A_LAB if file.is_relative_to(folder)), str(file))
