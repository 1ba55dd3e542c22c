"""The page says of each verdict what would refute it."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pandas")

from fawkes.offline.studies.paper import runs
from fawkes.offline.studies.paper.experiments.sites import RUNS as SITES
from fawkes.offline.studies.paper.page import publish
from fawkes.offline.studies.shared.verdicts import CANNOT_FAIL, HOLDS, REPRODUCED
from tests.offline.studies.paper.ideal import ideal_rows

pytestmark = pytest.mark.slow

MICRO = {run: row for run, row in ideal_rows().items() if run.kind != "replay"}


def test_the_page_says_what_would_refute_each_verdict(tmp_path: Path) -> None:
    costs = {runs.in_model(run, "no-link"): {**MICRO[run], "seconds": 100.0} for run in SITES}
    thin = {
        runs.in_model(run, "slow-link"): {**MICRO[run], "seconds": 100.0 * (1 + (("sites", 2) in run.values))}
        for run in SITES
    }
    found = {one.name: one for one in publish(MICRO | costs | thin, tmp_path, pictures=False)}
    assert found["6.2-ST"].verdict == REPRODUCED
    assert found["6.1-KM"].verdict == HOLDS
    assert found["6.4-total"].verdict == CANNOT_FAIL
    page = (tmp_path / "index.md").read_text(encoding="utf-8")
    assert "would be refuted by" in page
    assert f"{found['6.2-ST'].refuted_by} |" in page
    assert "(slow-link: differs, no-link: differs)" in page
    assert "| no-link | a link between sites without limit" in page
    assert "would be refuted by" in (tmp_path / "index.html").read_text(encoding="utf-8")
