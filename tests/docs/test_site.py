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


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built strictly: a page without a place, a link or an anchor that leads nowhere is an error.

    Without --quiet, which would hide warnings from --strict.
    """
    folder = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    return folder


@pytest.mark.slow
def test_the_site_asks_no_other_host_for_anything(site: Path) -> None:
    page = (site / "howto" / "lost-disk.html").read_text(encoding="utf-8")
    assert "What a lost disk means" in page
    assert re.findall(r'<(?:script|link|img)[^>]+(?:src|href)="https?://[^"]+"', page) == []
    assert "lost-disk" in (site / "search" / "search_index.js").read_text(encoding="utf-8")
    assert not (site / "make").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "sign"),
    [
        ("a list that became a paragraph", r"^(?:<p>)?(?:[-*]|\d+\.) .*"),
        ("a table that became a paragraph", r"^(?:<p>)?\|.*"),
        ("a fence that became text", r"^(?:<p>)?```.*"),
        ("an escaped bar that shows its backslash", r"<code>[^<]*\\\|.*"),
    ],
)
def test_no_page_has_markdown_that_was_not_understood(site: Path, fault: str, sign: str) -> None:
    pages = {path.stem: path.read_text(encoding="utf-8") for path in site.rglob("*.html")}
    prose = {name: re.sub(r"<pre\b.*?</pre>", "", text, flags=re.DOTALL) for name, text in pages.items()}
    assert {name: signs for name, text in prose.items() if (signs := re.findall(sign, text, re.MULTILINE))} == {}, fault


@pytest.mark.slow
def test_every_page_has_one_title(site: Path) -> None:
    pages = [path for path in site.rglob("*.html") if path.name != "404.html"]
    titles = {path.stem: len(re.findall(r"<h1[ >]", path.read_text(encoding="utf-8"))) for path in pages}
    assert {name: count for name, count in titles.items() if count != 1} == {}
