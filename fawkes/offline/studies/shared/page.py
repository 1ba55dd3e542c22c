"""Pages: index.md and a self-contained index.html, with tables as CSV and pictures as PNG and PDF beside them."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from fawkes.offline.runs.folder import write_frame, write_picture
from fawkes.offline.studies.shared.verdicts import (
    CANNOT_FAIL,
    DEPENDS,
    DIFFERS,
    HOLDS,
    NOT_SHOWN,
    REPRODUCED,
    NotRunError,
    RuleVerdict,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: a longer table is beside the page alone
_MOST_ROWS = 60
_VERDICTS = (REPRODUCED, HOLDS, DEPENDS, CANNOT_FAIL, DIFFERS, NOT_SHOWN)
_STYLE = (
    "body{font:15px/1.5 sans-serif;max-width:60em;margin:2em auto;padding:0 1em}table{border-collapse:collapse}"
    "td,th{border:1px solid #bbb;padding:.2em .5em;text-align:left;vertical-align:top}img{max-width:100%}"
)


@dataclass(frozen=True, slots=True)
class Exhibit:
    """A table or figure of a page: ``how`` tells what was run, ``verdicts`` are the beginnings of its verdicts' names.

    ``table`` makes the table of the study's rows, NotRunError where its runs were not made. ``draw`` makes the picture
    of that table, or ``draw_rows`` that of the rows.
    """

    name: str
    title: str
    how: str
    verdicts: tuple[str, ...]
    table: Callable[[Any], pd.DataFrame]
    draw: Callable[[pd.DataFrame], Figure] | None = None
    draw_rows: Callable[[Any], Figure] | None = None


@dataclass(frozen=True, slots=True)
class Made:
    """An exhibit with its table, or with the reason why there is none (``missing``), and its picture as PNG."""

    exhibit: Exhibit
    table: pd.DataFrame | None = None
    missing: str = ""
    png: bytes = b""

    def judged(self, verdicts: Iterable[RuleVerdict]) -> list[RuleVerdict]:
        """The verdicts that belong to it."""
        beginnings = self.exhibit.verdicts
        return [verdict for verdict in verdicts if beginnings and verdict.name.startswith(beginnings)]


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyPage:
    """``reasons`` by the names of verdicts, ``failed`` a line for each run that failed.

    ``gaps`` are what the model leaves out, ``links`` titles and places of further pages, ``reason`` is the form of one.
    """

    title: str
    made_by: str
    verdicts: list[RuleVerdict]
    reasons: Mapping[str, str]
    gaps: Sequence[str]
    failed: Sequence[str] = ()
    links: Mapping[str, str] = field(default_factory=dict)
    reason: str = "Why {name} differs: {text}"

    def reasons_of(self, own: Iterable[RuleVerdict]) -> list[str]:
        """A line for each of these verdicts that has a reason."""
        named = [verdict.name for verdict in own if verdict.name in self.reasons]
        return [self.reason.format(name=name, text=self.reasons[name]) for name in named]


def write_page(page: StudyPage, exhibits: Iterable[Exhibit], rows: Any, folder: Path, *, pictures: bool) -> None:
    """Write index.md, the self-contained index.html, and verdicts, tables and pictures beside them."""
    write_frame(folder / "verdicts", pd.DataFrame([asdict(verdict) for verdict in page.verdicts]))
    shown = [_made(exhibit, rows, folder, pictures) for exhibit in exhibits]
    (folder / "index.md").write_text("\n".join(_markdown(page, shown)) + "\n", "utf-8")
    (folder / "index.html").write_text("\n".join(_html(page, shown)) + "\n", "utf-8")


def _made(exhibit: Exhibit, rows: Any, folder: Path, pictures: bool) -> Made:
    """The exhibit with its table as CSV and Parquet and its picture as PNG and PDF in the folder."""
    try:
        table = exhibit.table(rows)
    except NotRunError as missing:
        return Made(exhibit, missing=str(missing))
    write_frame(folder / exhibit.name, table)
    figure = None
    if pictures and exhibit.draw is not None:
        figure = exhibit.draw(table)
    elif pictures and exhibit.draw_rows is not None:
        figure = exhibit.draw_rows(rows)
    if figure is None:
        return Made(exhibit, table)
    write_picture(folder / exhibit.name, figure)
    return Made(exhibit, table, png=(folder / f"{exhibit.name}.png").read_bytes())


def _counted(verdicts: Sequence[RuleVerdict]) -> str:
    counts = {each: sum(verdict.verdict.startswith(each) for verdict in verdicts) for each in _VERDICTS}
    named = [f"{count} {each + 'a value' if each == DEPENDS else each}" for each, count in counts.items() if count]
    return f"{len(verdicts)} statements: {', '.join(named)}."


def _verdict_table(verdicts: Sequence[RuleVerdict]) -> pd.DataFrame:
    return pd.DataFrame(
        [(verdict.name, verdict.published, verdict.ours, verdict.verdict, verdict.refuted_by) for verdict in verdicts],
        columns=["verdict of", "the paper", "here", "verdict", "would be refuted by"],
    )


def _markdown(page: StudyPage, shown: Sequence[Made]) -> Iterator[str]:
    yield f"# {page.title}\n\n{page.made_by}\n\n{_counted(page.verdicts)}\n"
    if page.links:
        yield "Further chapters: " + ", ".join(f"[{name}]({place})" for name, place in page.links.items()) + ".\n"
    for made in shown:
        yield f"## {made.exhibit.title}\n\n{made.exhibit.how}\n"
        own = made.judged(page.verdicts)
        if own:
            yield pipes(_verdict_table(own)) + "\n"
        yield from (f"{line}\n" for line in page.reasons_of(own))
        if made.png:
            yield f"![{made.exhibit.title}]({made.exhibit.name}.png)\n"
        if made.table is None:
            yield f"No table: {made.missing}\n"
        elif len(made.table) <= _MOST_ROWS:
            yield pipes(made.table) + "\n"
    yield "## What the model leaves out\n"
    yield from (f"- {gap}" for gap in page.gaps)
    if page.failed:
        yield "\n## Runs that failed\n"
        yield from (f"- {line}" for line in page.failed)


def _html(page: StudyPage, shown: Sequence[Made]) -> Iterator[str]:
    yield f"<!doctype html><html lang=en><meta charset=utf-8><title>{escape(page.title)}</title><style>{_STYLE}</style>"
    yield f"<h1>{escape(page.title)}</h1><p>{escape(page.made_by)}</p>"
    yield f"<p>{_counted(page.verdicts)}</p>"
    for made in shown:
        yield f"<h2>{escape(made.exhibit.title)}</h2><p>{escape(made.exhibit.how)}</p>"
        own = made.judged(page.verdicts)
        if own:
            yield _verdict_table(own).to_html(index=False)
        yield from (f"<p>{escape(line)}</p>" for line in page.reasons_of(own))
        if made.png:
            picture = base64.b64encode(made.png).decode()
            yield f'<img alt="{escape(made.exhibit.title)}" src="data:image/png;base64,{picture}">'
        if made.table is None:
            yield f"<p>No table: {escape(made.missing)}</p>"
        elif len(made.table) <= _MOST_ROWS:
            yield made.table.to_html(index=False)
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
