"""The page in a real Chromium draws what the ledger says. Skipped where chromium or chromium-driver is missing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import requests

from fawkes.base.visible import visible
from fawkes.core.values.events import HoldAsked
from fawkes.offline.runs.folder import copied
from fawkes.report.history import simulated, span
from fawkes.report.tables.board import board
from fawkes.report.tables.explain import as_plain, explain_node
from fawkes.report.tables.explain_job import explain_job
from fawkes.report.tables.headlines import headlines, trouble_lines
from fawkes.store.base import Reader
from fawkes.store.quotas import FILE, QuotaReader
from tests.report.web.browser import Browser, browser, there
from tests.report.web.serving import served
from tests.store.test_quotas import record
from tests.support.desk import Desk
from tests.support.pools import settings, started
from tests.support.waiting import wait_for

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not there(), reason="chromium or chromedriver is missing (packages chromium, chromium-driver)"),
]
TEXTS = "return [...document.querySelectorAll('{}')].map((each) => each.textContent)"


@pytest.fixture(scope="module")
def window(played_ledger: Path) -> Iterator[Browser]:
    """The page of the recorded run, drawn."""
    with served(played_ledger) as (url, _), browser() as opened:
        opened.open(url).until("document.body.dataset.seq")
        yield opened


def test_each_mr_cluster_is_drawn_with_its_figures(window: Browser, played: Reader) -> None:
    rows = [row for row in board(played, "clusters") if row["state"] != "gone" or simulated(played)]
    cards = window.run(
        "return [...document.querySelectorAll('[data-cluster]')].map((card) => "
        "[card.dataset.cluster, [...card.querySelectorAll('dd')].map((each) => each.textContent)])"
    )
    assert [name for name, _ in cards] == [row["cluster"] for row in rows]

    def known(value: Any) -> str:
        return "\u2013" if value is None else f"{value:.0f}"

    for (_, (nodes, _, jobs, tasks)), row in zip(cards, rows, strict=True):
        assert nodes == f"{row['nodes']} (target {known(row['target'])}, min {row['min_nodes']})"
        assert jobs == f"{known(row['jobs_running'])} run, {known(row['jobs_waiting'])} wait"
        assert tasks == f"{known(row['tasks_running'])} run, {known(row['tasks_waiting'])} wait"


def test_each_node_is_drawn_once_below_its_owner(window: Browser, played: Reader) -> None:
    drawn = window.run(
        "return [...document.querySelectorAll('.rack')].flatMap((rack) => "
        "[...rack.querySelectorAll('button')].map((node) => [rack.querySelector('h3').textContent, node.dataset.node]))"
    )
    assert Counter(map(tuple, drawn)) == Counter(
        (row["cluster"] or "nobody's", row["node"]) for row in board(played, "nodes")
    )


def test_each_node_has_a_colour_of_the_legend(window: Browser, played: Reader) -> None:
    drawn = window.run(
        "return [...document.querySelectorAll('.node')].map((node) => [node.dataset.node, node.classList[1]])"
    )
    legend = window.run("return [...document.querySelectorAll('#legend .swatch')].map((each) => each.classList[1])")
    for row in board(played, "nodes"):
        kind = dict(drawn)[row["node"]]
        assert kind in legend
        assert (kind == row["state"]) or row["state"] not in ("joining", "lost", "out", "free"), row


def test_jobs_are_those_of_the_ledger(window: Browser, played: Reader) -> None:
    jobs = window.run("return [...document.querySelectorAll('#jobs [data-job]')].map((row) => row.dataset.job)")
    assert sorted(jobs) == sorted(row["job"] for row in board(played, "jobs"))
    assert jobs


def test_a_node_chosen_by_keyboard_shows_its_life(window: Browser, played: Reader) -> None:
    name = window.run("const node = document.querySelector('.node'); node.focus(); return node.dataset.node")
    window.press("\ue007")
    window.until("document.querySelectorAll('#life li').length")
    lines = window.run(TEXTS.format("#life li"))
    told = as_plain(explain_node(played, name))["lines"]
    assert lines == [f"{line['time'] or ''}{line['text']}" for line in told]


def test_a_job_under_quotas_shows_its_course(window: Browser, played_ledger: Path, played: Reader) -> None:
    name = sorted(row["job"] for row in board(played, "jobs"))[0]
    first_us, last_us = span(played, name)
    assert last_us is not None
    record(played_ledger, 40, job=name, begun_us=first_us, every_us=(last_us - first_us) // 40)
    try:
        window.run(f"document.querySelector('[data-choose=\"{name}\"]').click()")
        window.until("document.querySelectorAll('#job-life figure path.planned').length === 2")
        with closing(QuotaReader(played_ledger)) as reader:
            told = as_plain(explain_job(played, name, courses=reader.courses(name)))["lines"]
        lines = window.run(TEXTS.format("#job-life li"))
        assert lines == [f"{line['time'] or ''}{line['text']}" for line in told]
        assert "% planned" in lines[-1]
    finally:
        (played_ledger / FILE).unlink()


def test_the_page_fits_a_phone(window: Browser) -> None:
    window.look_like(width=400, height=800)
    assert window.run("return document.documentElement.scrollWidth <= window.innerWidth")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_text_stands_out_from_its_ground(window: Browser, dark: bool) -> None:
    window.look_like(width=1280, height=800, dark=dark)
    colours = window.run(
        "const of = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();"
        "return ['--paper', '--card', '--ink', '--soft', '--good', '--warn', '--bad'].map(of)"
    )
    paper, card, *texts = (_luminance(colour) for colour in colours)
    for text in texts:
        for ground in (paper, card):
            lighter, darker = max(text, ground), min(text, ground)
            assert (lighter + 0.05) / (darker + 0.05) >= 4.5, colours


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_kinds_of_nodes_differ_where_there_is_no_colour(window: Browser, dark: bool) -> None:
    window.look_like(width=1280, height=800, dark=dark)
    kinds = ["core", "transient_core", "transient", "joining", "leaving", "lost", "card"]
    of = "const of = (name) => getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();"
    lights = sorted(map(_luminance, window.run(f"{of} return {kinds}.map(of)")))
    for darker, lighter in pairwise(lights):
        assert (lighter + 0.05) / (darker + 0.05) >= 1.3, (kinds, lights)


def test_paper_has_all_that_the_page_has(window: Browser) -> None:
    window.look_like(width=1280, height=800, media="print")
    styles = "return [...document.querySelectorAll('{}')].map((each) => getComputedStyle(each).{})"
    assert {*window.run(styles.format(".node, .swatch", "printColorAdjust"))} == {"exact"}
    assert {*window.run(styles.format("#steps, #moves, .wide", "maxHeight"))} == {"none"}
    assert {*window.run(styles.format("main > section", "contentVisibility"))} == {"visible"}


def _luminance(colour: str) -> float:
    digits = colour.lstrip("#")
    whole = "".join(digit * 2 for digit in digits) if len(digits) == 3 else digits
    parts = [int(pair, 16) / 255 for pair in re.findall("..", whole)]
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def drawn_by(window: Browser, call: str) -> Any:
    """The value of an expression of the functions that draw."""
    ends = "(it) => { window.value = [it]; }, (error) => { window.value = [String(error)]; }"
    drawn = f"import('/static/charts.js').then(({{ highest, stack }}) => {call})"
    window.run(f"window.value = null; {drawn}.then({ends})")
    return window.until("window.value")[0]


def test_the_top_of_an_axis_is_known_for_more_curves_than_a_call_takes_arguments(window: Browser) -> None:
    curves = "Array.from({ length: 200 }, (_, at) => [[Array(1000).fill(0), Array(1000).fill(at)]])"
    assert drawn_by(window, f"highest({curves})") == 199


def test_a_picture_of_a_long_time_keeps_peaks_and_is_small(window: Browser) -> None:
    curve = "[[...Array(20000).keys()], [...Array(20000).keys()].map((at) => (at === 7777 ? 9 : 1 + (at % 2)))]"
    path = drawn_by(
        window, f"stack([['core', {curve}]], [0, 20000], [], 9, 'nodes').querySelector('path').getAttribute('d')"
    )
    heights = [float(height) for height in re.findall(r"(?<= )[0-9.]+", path)]
    # The figure is 96 high, with 8 above and 14 below; its axis ends at 10.
    assert min(heights) == pytest.approx(8 + 74 * 0.1, abs=0.1)
    assert max(heights) == pytest.approx(82)
    assert len(path) < 60_000


def test_what_steers_is_escaped_as_in_the_commands(window: Browser) -> None:
    every = "[...Array(0x10000).keys(), 0x1f600].map((code) => [code, visible(String.fromCodePoint(code))])"
    changed = f"{every}.filter(([code, text]) => text !== String.fromCodePoint(code))"
    escaped = window.run(f"return import('/static/parts.js').then(({{ visible }}) => {changed})")
    assert dict(escaped) == {code: visible(chr(code)) for code in range(0x20000) if visible(chr(code)) != chr(code)}


def test_the_browser_has_nothing_to_complain(window: Browser) -> None:
    assert window.complaints() == []


def test_the_page_says_what_status_says(tmp_path: Path) -> None:
    desk = Desk(6)
    desk.up("a")
    for subject in ("a", "node05"):
        desk.tell(HoldAsked(at_us=desk.now_us, by="ann", subject=subject, reason="a fan \u202enaf a"))
    desk.pause("a move of racks\x9b")
    desk.tell(started(6, desk.now_s, epoch=2, controller="head.1.0", how=settings(), shadow=True))
    copied(desk.store, tmp_path)
    (pool,), rows = board(desk.store, "pool"), board(desk.store, "clusters")
    assert pool["shadow"]
    assert pool["nodes_held"]
    with served(tmp_path) as (url, _), browser() as opened:
        opened.open(url).until("document.body.dataset.seq")
        assert opened.run(TEXTS.format("#facts li")) == [*map(visible, headlines(pool))]
        assert opened.run(TEXTS.format(".card .alert")) == [*map(visible, trouble_lines(rows))]
        assert "In shadow mode nothing moves" in opened.run(TEXTS.format("#moves li"))[0]


def test_curves_are_whole_when_the_history_has_been_read(played_ledger: Path) -> None:
    with served(played_ledger, steps=20) as (url, _), browser() as opened:
        opened.open(url).until("document.body.dataset.seq")
        opened.until("document.body.dataset.seq && document.body.dataset.course === document.body.dataset.seq")


def test_the_page_asks_and_draws_once_when_it_is_opened(played_ledger: Path) -> None:
    with served(played_ledger) as (url, _), browser() as opened:
        # A history that is still read is asked for again, and a slow machine reads for longer than the page starts.
        wait_for(lambda: "reading" not in requests.get(f"{url}api/state", timeout=60).json(), "the history")
        opened.watch(
            "window.drawn = 0; new MutationObserver(() => { window.drawn += 1; })"
            ".observe(document, { subtree: true, attributes: true, attributeFilter: ['data-seq'] })"
        )
        opened.open(url).until(
            "document.body.dataset.seq && document.body.dataset.course === document.body.dataset.seq"
        )
        asked = opened.run("return performance.getEntriesByName(location.origin + '/api/state').length")
        assert (asked, opened.run("return window.drawn")) == (1, 1)


def test_a_page_whose_server_is_gone_says_so(played_ledger: Path) -> None:
    with served(played_ledger) as (url, end), browser() as opened:
        opened.open(url).until("document.body.dataset.seq")
        end()
        opened.until("document.querySelector('#banner').textContent.includes('What is shown is old')")
