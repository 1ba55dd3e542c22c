"""The page of chapter 3 under docs/paper is what the code makes now, and its verdicts can fail."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from fawkes.offline.studies.interference.page import publish_interference
from fawkes.offline.studies.interference.rules import STATEMENTS, models
from fawkes.offline.studies.shared.verdicts import CANNOT_FAIL, DIFFERS, REPRODUCED
from tests.offline.studies.interference.support import admission

DOCS = Path(__file__).parents[4] / "docs" / "paper"


@pytest.mark.slow
def test_the_page_is_what_the_code_makes_now(tmp_path: Path) -> None:
    """After a change: `fawkes paper`, and its interference.md, -verdicts.csv and picture to docs/paper."""
    found = publish_interference(tmp_path)
    assert Counter(one.verdict for one in found) == {REPRODUCED: 12, CANNOT_FAIL: 2, DIFFERS: 2}
    for name in ("interference.md", "interference-verdicts.csv"):
        assert (tmp_path / name).read_text() == (DOCS / name).read_text()
    assert (tmp_path / "interference.html").read_text().count("<table") == 2
    assert (DOCS / "interference-deadlock.png").stat().st_size > 0


def test_every_statement_names_a_model_that_refutes_it_or_none() -> None:
    known = {*models(admission()), "none", None}
    assert {one.against for one in STATEMENTS} <= known
    assert len({one.name for one in STATEMENTS}) == len(STATEMENTS)
