"""The tutorials as a reader would type them, and what their sentences promise."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, blocks

RESEARCHER = ROOT / "docs" / "tutorial-researcher.md"


@pytest.mark.drill
def test_the_day_of_a_researcher_as_it_is_printed(tmp_path: Path) -> None:
    """All blocks in one shell that stops at the first failure, far from the project's folder."""
    script = "\n".join(blocks(RESEARCHER, "sh"))
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "HOME": str(tmp_path)}
    ran = subprocess.run(
        ["sh", "-e", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    research = tmp_path / "research"
    for promised in (
        "first/nodes-over-time.png", "bursts-td/nodes-over-time.png", "compared/table.csv", "compared/runs.csv",
        "compared/slowdowns.pdf", "compared/slowdowns.png", "compared/changes.png", "settings/table.csv",
        "machines/table.csv", "facebook/run.json",
    ):  # fmt: skip
        assert (research / promised).stat().st_size > 0, promised
    compared = (research / "compared" / "table.csv").read_text().splitlines()
    assert {line.split(",")[0] for line in compared[1:]} == {"TD", "EQ", "None (policy)", "BACKLOG"}
    assert json.loads((research / "facebook" / "run.json").read_text())
