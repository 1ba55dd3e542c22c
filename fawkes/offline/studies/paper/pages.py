"""The page: index.md and a self-contained index.html, with tables as CSV and pictures as PNG and PDF beside them."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from html import escape
from pathlib import Path

import pandas as pd

from fawkes.base.version import __version__
from fawkes.offline.runs.folder import write_frame, write_picture, write_rows
from fawkes.offline.runs.work import Row
from fawkes.offline.studies.paper.chapters import CHAPTERS
from fawkes.offline.studies.paper.exhibits import Exhibit, exhibits
from fawkes.offline.studies.paper.judging import fixed
from fawkes.offline.studies.paper.judging.rules import (
    CANNOT_FAIL,
    DEPENDS,
    DIFFERS,
    HOLDS,
    NOT_SHOWN,
    REPRODUCED,
    RuleVerdict,
)
from fawkes.offline.studies.paper.judging.verdicts import all_runs, judge, published_runs, swept
from fawkes.offline.studies.paper.judging.why import GAPS, why
from fawkes.offline.studies.paper.rows import Rows
from fawkes.offline.studies.paper.runs import Run, sources

_TITLE = "The paper's experiments in the simulated world"
#: a longer table is beside the page alone
_MOST_ROWS = 60
_VERDICTS = (REPRODUCED, HOLDS, DEPENDS, CANNOT_FAIL, DIFFERS, NOT_SHOWN)
_STYLE = (
    "body{font:15px/1.5 sans-serif;max-width:60em;margin:2em auto;padding:0 1em}table{border-collapse:collapse}"
    "td,th{border:1px solid #bbb;padding:.2em .5em;text-align:left;vertical-align:top}img{max-width:100%}"
)


@dataclass(frozen=True, slots=True)
class Page:
    """``reasons`` by the names of verdicts, ``drawn`` pictures by the names of exhibits, ``failed`` a line for each.

    ``gaps`` are what the model leaves out, ``links`` titles and places of further pages, ``reason`` is the form of one.
    """

    title: str
    made_by: str
    found: list[RuleVerdict]
    shown: list[Exhibit]
    reasons: Mapping[str, str]
    drawn: Mapping[str, bytes]
    failed: list[str]
    gaps: Sequence[str]
    links: Mapping[str, str]
    reason: str = "Why {name} differs: {text}"

    def reasons_of(self, own: list[RuleVerdict]) -> list[tuple[str, str]]:
        """The names of these verdicts, with their reasons, where there are any."""
        return [(one.name, self.reasons[one.name]) for one in own if one.name in self.reasons]


def publish(rows: Mapping[Run, Row], folder: Path, *, pictures: bool = True) -> list[RuleVerdict]:
    """Write the page of these rows into a folder; the verdicts on it."""
    folder.mkdir(parents=True, exist_ok=True)
    hangs_on = swept(rows)
    found = judge(rows)
    shown = exhibits(Rows(rows), hangs_on)
    write_frame(folder / "verdicts", pd.DataFrame([asdict(one) for one in found]))
    if hangs_on:
        write_frame(folder / "sweep-all", pd.DataFrame(hangs_on))
    write_rows(folder / "rows.json", [{"run": asdict(run), "row": row} for run, row in _published(rows)])
    drawn = write_exhibits(shown, folder, pictures=pictures)
    failed = [f"{run}: {row['error']}" for run, row in rows.items() if "error" in row]
    links = {name: f"{name}/index.md" for name in CHAPTERS if (folder / name / "index.md").exists()}
    page = Page(_TITLE, _made_by(rows), found, shown, _reasons(found, rows), drawn, failed, GAPS, links)
    write_page(page, folder)
    return found


def write_exhibits(shown: Sequence[Exhibit], folder: Path, *, pictures: bool) -> dict[str, bytes]:
    """Write tables as CSV and Parquet, and pictures as PNG and PDF; the PNGs by the names of their exhibits."""
    drawn: dict[str, bytes] = {}
    for one in shown:
        if one.table is not None:
            write_frame(folder / one.name, one.table)
        if pictures and one.draw is not None:
            write_picture(folder / one.name, one.draw())
            drawn[one.name] = (folder / f"{one.name}.png").read_bytes()
    return drawn


def write_page(page: Page, folder: Path) -> None:
    """Write index.md and the self-contained index.html."""
    (folder / "index.md").write_text("\n".join(_markdown(page)) + "\n", "utf-8")
    (folder / "index.html").write_text("\n".join(_html(page)) + "\n", "utf-8")


def _published(rows: Mapping[Run, Row]) -> Iterator[tuple[Run, Row]]:
    """The runs and rows of the verdicts and reasons, without the sweep; of the courses WKLD-A's alone is judged."""
    judged_runs = published_runs()
    for run, row in sorted(rows.items(), key=lambda item: str(item[0])):
        if run in judged_runs:
            judged = dict(run.values).get("workload") == "WKLD-A"
            yield run, row if judged else {name: value for name, value in row.items() if name != "course"}


def _made_by(rows: Mapping[Run, Row]) -> str:
    wanted = set(all_runs())
    made = len(wanted & rows.keys())
    partly = "" if made == len(wanted) else f" {made} of {len(wanted)} runs were made: what was not run says so."
    return (
        f"Made by `fawkes paper` of Fawkes {__version__} (sources {sources()}), seed {fixed.SEED}. The constants of "
        "the model (fawkes/sim/hadoop/constants.py) are fitted on the two Sort figures of 6.1 alone; the rules of the "
        "verdicts (fawkes/offline/studies/paper/judging/fixed.py) were fixed before the experiments were run. "
        "Beside each verdict stands what would refute the statement, and what its rule says of models in which that "
        f"is so.{partly}"
    )


def _counted(found: list[RuleVerdict]) -> str:
    counts = {each: sum(one.verdict.startswith(each) for one in found) for each in _VERDICTS}
    return ", ".join(
        f"{count} {each + 'a value' if each == DEPENDS else each}" for each, count in counts.items() if count
    )


def _reasons(found: list[RuleVerdict], rows: Mapping[Run, Row]) -> dict[str, str]:
    """The reasons whose checks pass, by the name of each verdict that differs."""
    return {one.name: why(one.name, Rows(rows)) for one in found if one.verdict == DIFFERS}


def _verdict_table(found: list[RuleVerdict]) -> pd.DataFrame:
    return pd.DataFrame(
        [(one.name, one.published, one.ours, one.verdict, one.refuted_by) for one in found],
        columns=["verdict of", "the paper", "here", "verdict", "would be refuted by"],
    )


def _markdown(page: Page) -> Iterator[str]:
    yield f"# {page.title}\n\n{page.made_by}\n\n{len(page.found)} statements: {_counted(page.found)}.\n"
    if page.links:
        yield "Further chapters: " + ", ".join(f"[{name}]({place})" for name, place in page.links.items()) + ".\n"
    for one in page.shown:
        yield f"## {one.title}\n\n{one.how}\n"
        own = one.judged(page.found)
        if own:
            yield pipes(_verdict_table(own)) + "\n"
        for name, reasons in page.reasons_of(own):
            yield page.reason.format(name=name, text=reasons) + "\n"
        if one.name in page.drawn:
            yield f"![{one.title}]({one.name}.png)\n"
        if one.table is None:
            yield f"No table: {one.missing}\n"
        elif len(one.table) <= _MOST_ROWS:
            yield pipes(one.table) + "\n"
    yield "## What the model leaves out\n"
    yield from (f"- {gap}" for gap in page.gaps)
    if page.failed:
        yield "\n## Runs that failed\n"
        yield from (f"- {line}" for line in page.failed)


def _html(page: Page) -> Iterator[str]:
    yield f"<!doctype html><html lang=en><meta charset=utf-8><title>{escape(page.title)}</title><style>{_STYLE}</style>"
    yield f"<h1>{escape(page.title)}</h1><p>{escape(page.made_by)}</p>"
    yield f"<p>{len(page.found)} statements: {_counted(page.found)}.</p>"
    for one in page.shown:
        yield f"<h2>{escape(one.title)}</h2><p>{escape(one.how)}</p>"
        own = one.judged(page.found)
        if own:
            yield _verdict_table(own).to_html(index=False)
        lines = [page.reason.format(name=name, text=text) for name, text in page.reasons_of(own)]
        yield from (f"<p>{escape(line)}</p>" for line in lines)
        if one.name in page.drawn:
            picture = base64.b64encode(page.drawn[one.name]).decode()
            yield f'<img alt="{escape(one.title)}" src="data:image/png;base64,{picture}">'
        if one.table is None:
            yield f"<p>No table: {escape(one.missing)}</p>"
        elif len(one.table) <= _MOST_ROWS:
            yield one.table.to_html(index=False)
    yield "<h2>What the model leaves out</h2><ul>"
    yield from (f"<li>{escape(gap)}</li>" for gap in page.gaps)
    yield "</ul>"
    if page.failed:
        yield "<h2>Runs that failed</h2><ul>" + "".join(f"<li>{escape(line)}</li>" for line in page.failed) + "</ul>"
    yield "</html>"


def pipes(table: pd.DataFrame) -> str:
    """A table as Markdown."""
    names = [str(name) for name in table.columns]
    rows = [[_cell(value) for value in row] for row in table.itertuples(index=False)]
    return "\n".join("| " + " | ".join(row) + " |" for row in [names, ["---"] * len(names), *rows])


def _cell(value: object) -> str:
    text = f"{value:g}" if isinstance(value, float) and abs(value) < 1e6 else str(value)
    return text.replace("|", "\\|").replace("\n", " ")
