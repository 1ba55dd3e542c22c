"""Decision records: each says since when it holds, and whether it still does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGES = sorted((Path(__file__).parents[2] / "docs" / "decisions").glob("*.md"))
STATUS = re.compile(r"Since \d{4}-\d\d-\d\d\. Status: (in force|replaced by \[[^]]+\]\([a-z-]+\.md\))\.")


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_a_record_has_a_date_and_a_status(path: Path) -> None:
    title, empty, status, *_ = path.read_text(encoding="utf-8").splitlines()
    assert title.startswith("# ")
    assert empty == ""
    assert STATUS.match(status), f"{path.name}: write `Since YYYY-MM-DD. Status: in force.` below the title"
