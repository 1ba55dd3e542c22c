"""The page: index.md and a self-contained index.html, with tables as CSV and pictures as PNG and PDF beside them."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from html import escape
from pathlib import Path

import pandas as pd

from fawkes import __version__
from fawkes.offline.folder import write_frame, write_json, write_picture
from fawkes.offline.work import Row
from fawkes.paper import fixed
from fawkes.paper.exhibits import Exhibit, exhibits
from fawkes.paper.rows import Rows
from fawkes.paper.rules import DIFFERS, NOT_SHOWN, REPRODUCED, Verdict
from fawkes.paper.runs import Run, all_runs, sources
from fawkes.paper.verdicts import judge, swept
from fawkes.paper.why import GAPS, WHY

_TITLE = "The paper's experiments in the simulated world"
#: a longer table is beside the page alone
_MOST_ROWS = 60
_UNEXPLAINED = "Not explained yet."
_STYLE = (
    "body{font:15px/1.5 sans-serif;max-width:60em;margin:2em auto;padding:0 1em}table{border-collapse:collapse}"
    "td,th{border:1px solid #bbb;padding:.2em .5em;text-align:left;vertical-align:top}img{max-width:100%}"
)


def publish(rows: Mapping[Run, Row], folder: Path, *, pictures: bool = True) -> list[Verdict]:
    """Write the page of these rows into a folder; the verdicts on it."""
    folder.mkdir(parents=True, exist_ok=True)
    hangs_on = swept(rows)
    found = judge(Rows(rows))
    shown = exhibits(Rows(rows), hangs_on)
    write_frame(folder / "verdicts", pd.DataFrame([asdict(one) for one in found]))
    if hangs_on:
        write_frame(folder / "sweep-all", pd.DataFrame(hangs_on))
    write_json(folder / "rows.json", [{"run": asdict(run), "row": row} for run, row in _published(rows)])
    drawn: dict[str, bytes] = {}
    for one in shown:
        if one.table is not None:
            write_frame(folder / one.name, one.table)
        if pictures and one.draw is not None:
            write_picture(folder / one.name, one.draw())
            drawn[one.name] = (folder / f"{one.name}.png").read_bytes()
    failed = [f"{run}: {row['error']}" for run, row in rows.items() if "error" in row]
    made_by = _made_by(rows)
    (folder / "index.md").write_text("\n".join(_markdown(made_by, found, shown, drawn, failed)) + "\n", "utf-8")
    (folder / "index.html").write_text("\n".join(_html(made_by, found, shown, drawn, failed)) + "\n", "utf-8")
    return found


def _published(rows: Mapping[Run, Row]) -> Iterator[tuple[Run, Row]]:
    """What the verdicts are made of, without the sweep; of the courses WKLD-A's alone is judged."""
    for run, row in sorted(rows.items(), key=lambda item: str(item[0])):
        if not run.constant:
            judged = dict(run.values).get("workload") == "WKLD-A"
            yield run, row if judged else {name: value for name, value in row.items() if name != "course"}


def _made_by(rows: Mapping[Run, Row]) -> str:
    wanted = set(all_runs())
    made = len(wanted & rows.keys())
    partly = "" if made == len(wanted) else f" {made} of {len(wanted)} runs were made: what was not run says so."
    return (
        f"Made by `fawkes paper` of Fawkes {__version__} (sources {sources()}), seed {fixed.SEED}. The constants of "
        "the model (fawkes/sim/constants.py) are fitted on the two Sort figures of 6.1 alone; the rules of the "
        f"verdicts (fawkes/paper/fixed.py) were fixed before the experiments were run.{partly}"
    )


def _counted(found: list[Verdict]) -> str:
    counts = {each: sum(one.verdict == each for one in found) for each in (REPRODUCED, DIFFERS, NOT_SHOWN)}
    return ", ".join(f"{count} {each}" for each, count in counts.items())


def _reasons(found: list[Verdict]) -> list[tuple[str, str]]:
    """What differs, and why we think so."""
    return [(one.name, WHY.get(one.name, _UNEXPLAINED)) for one in found if one.verdict == DIFFERS]


def _verdict_table(found: list[Verdict]) -> pd.DataFrame:
    return pd.DataFrame(
        [(one.name, one.published, one.ours, one.verdict) for one in found],
        columns=["verdict of", "the paper", "here", "verdict"],
    )


def _markdown(
    made_by: str, found: list[Verdict], shown: list[Exhibit], drawn: Mapping[str, bytes], failed: list[str]
) -> Iterator[str]:
    yield f"# {_TITLE}\n\n{made_by}\n\n{len(found)} statements: {_counted(found)}.\n"
    for one in shown:
        yield f"## {one.title}\n\n{one.how}\n"
        own = one.judged(found)
        if own:
            yield _pipes(_verdict_table(own)) + "\n"
        for name, why in _reasons(own):
            yield f"Why {name} differs: {why}\n"
        if one.name in drawn:
            yield f"![{one.title}]({one.name}.png)\n"
        if one.table is None:
            yield f"No table: {one.missing}\n"
        elif len(one.table) <= _MOST_ROWS:
            yield _pipes(one.table) + "\n"
    yield "## What the model leaves out\n"
    yield from (f"- {gap}" for gap in GAPS)
    if failed:
        yield "\n## Runs that failed\n"
        yield from (f"- {line}" for line in failed)


def _html(
    made_by: str, found: list[Verdict], shown: list[Exhibit], drawn: Mapping[str, bytes], failed: list[str]
) -> Iterator[str]:
    yield f"<!doctype html><html lang=en><meta charset=utf-8><title>{escape(_TITLE)}</title><style>{_STYLE}</style>"
    yield f"<h1>{escape(_TITLE)}</h1><p>{escape(made_by)}</p><p>{len(found)} statements: {_counted(found)}.</p>"
    for one in shown:
        yield f"<h2>{escape(one.title)}</h2><p>{escape(one.how)}</p>"
        own = one.judged(found)
        if own:
            yield _verdict_table(own).to_html(index=False)
        yield from (f"<p>Why {escape(name)} differs: {escape(why)}</p>" for name, why in _reasons(own))
        if one.name in drawn:
            picture = base64.b64encode(drawn[one.name]).decode()
            yield f'<img alt="{escape(one.title)}" src="data:image/png;base64,{picture}">'
        if one.table is None:
            yield f"<p>No table: {escape(one.missing)}</p>"
        elif len(one.table) <= _MOST_ROWS:
            yield one.table.to_html(index=False)
    yield "<h2>What the model leaves out</h2><ul>"
    yield from (f"<li>{escape(gap)}</li>" for gap in GAPS)
    yield "</ul>"
    if failed:
        yield "<h2>Runs that failed</h2><ul>" + "".join(f"<li>{escape(line)}</li>" for line in failed) + "</ul>"
    yield "</html>"


def _pipes(table: pd.DataFrame) -> str:
    """A table as Markdown."""
    names = [str(name) for name in table.columns]
    rows = [[_cell(value) for value in row] for row in table.itertuples(index=False)]
    return "\n".join("| " + " | ".join(row) + " |" for row in [names, ["---"] * len(names), *rows])


def _cell(value: object) -> str:
    text = f"{value:g}" if isinstance(value, float) and abs(value) < 1e6 else str(value)
    return text.replace("|", "\\|").replace("\n", " ")
