"""The site of the documents: every page has its place, and it is built and searched without a network."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import PAGES, ROOT, name_of

#: what people read from top to bottom; records of decisions and the paper's page are looked up
MOST_LINES = 230
GUIDES = [page for page in PAGES if not {"decisions", "paper"} & set(page.parts) and page.name != "rows.md"]


@pytest.mark.parametrize("page", GUIDES, ids=name_of)
def test_a_page_is_short(page: Path) -> None:
    assert len(page.read_text(encoding="utf-8").splitlines()) <= MOST_LINES


def test_readers_are_led_to_every_part_of_the_site() -> None:
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert re.findall(r"^  - ([A-Z][A-Za-z ]+):", text, re.MULTILINE)[:6] == [
        "Start", "Tutorial", "How to", "Guides", "Reference", "Explanation",
    ]  # fmt: skip


@pytest.mark.slow
def test_the_site_is_built_and_asks_no_other_host_for_anything(tmp_path: Path) -> None:
    """Strict: a page without a place, a link or an anchor that leads nowhere is an error."""
    site = tmp_path / "site"
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(site)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    page = (site / "howto" / "lost-disk.html").read_text(encoding="utf-8")
    assert "What a lost disk means" in page
    assert re.findall(r'<(?:script|link|img)[^>]+(?:src|href)="https?://[^"]+"', page) == []
    assert "lost-disk" in (site / "search" / "search_index.js").read_text(encoding="utf-8")
    assert not (site / "make").exists()
