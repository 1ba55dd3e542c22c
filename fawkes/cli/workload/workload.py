"""`fawkes workload`: look at workloads, convert them and change them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fawkes.base.extras import needs
from fawkes.base.units import SECOND_US, show_bytes, show_duration
from fawkes.base.writing import refuse_there
from fawkes.cli.show.show import JSON, TABLE, output_option, say, show
from fawkes.cli.show.tables import TABLES
from fawkes.cli.workload.workload_change import fold, make, merge, perturb, sample, scale
from fawkes.cli.workload.workload_files import FORCE, FORMAT, OUT, TO, opened, tell, write

if TYPE_CHECKING:
    from fawkes.workload.looking.statistics import Summary

_MOST_NAMES = 8


@click.group()
def workload() -> None:
    """Show, convert and change workloads: Fawkes's own tables, SWIM, Rumen, SLS, SYNTH, SWF, Hadoop's history.

    The format of a file is detected from its content; the page `workloads` describes all formats.
    """


@workload.command(name="show")
@click.argument("file")
@FORMAT
@output_option
@needs("fawkes workload show", "offline")
def show_(file: str, form: str | None, output: str) -> None:
    """Show what is in FILE: jobs, arrivals, sizes, and what was skipped and why."""
    from fawkes.workload.looking.statistics import summary_of

    summary = summary_of(opened(file, form, quiet=True))
    rows = [_row(asdict(sizes)) for sizes in summary.sizes]
    if output == JSON:
        show(rows, TABLES["workload show"], output, envelope={"workload": summary.plain()})
        return
    if output == TABLE:
        for name, value in _facts(summary):
            say(f"{name:<14}{value}", " " * 14)
        say("")
        rows = [_readable(row) for row in rows]
    show(rows, TABLES["workload show"], output)


@workload.command()
@click.argument("file")
@OUT
@TO
@FORMAT
@FORCE
@output_option
def convert(file: str, out: Path, to: str, form: str | None, force: bool, output: str) -> None:
    """Write FILE in another format, and report what that format cannot hold."""
    trace = opened(file, form)
    tell(write(trace, out, to, force=force), output)


@workload.command()
@click.argument("file")
@click.option(
    "--out", type=click.Path(path_type=Path), required=True, metavar="NAME", help="Name of the pictures, without .png."
)
@FORMAT
@FORCE
@output_option
@needs("fawkes workload plot", "offline")
def plot(file: str, out: Path, form: str | None, force: bool, output: str) -> None:
    """Draw FILE as NAME.png, NAME.pdf and NAME.svg: arrivals over time, and distributions of gaps, sizes and times."""
    from fawkes.report.pictures.style import FORMS, rendered
    from fawkes.workload.looking.pictures import workload_picture
    from fawkes.workload.reading.files import whole

    out = out.with_suffix("") if out.suffix.removeprefix(".") in FORMS else out
    pictures = {kind: out.with_name(f"{out.name}.{kind}") for kind in FORMS}
    for path in pictures.values():
        refuse_there(path, force=force)
    figure = workload_picture(opened(file, form))
    drawn = {path: rendered(figure, kind) for kind, path in pictures.items()}
    for path, text in drawn.items():
        with whole(path) as raw:
            raw.write(text)
    show([{"file": str(path)} for path in drawn], TABLES["workload plot"], output)


for _command in (make, scale, fold, sample, perturb, merge):
    workload.add_command(_command)


def _facts(summary: Summary) -> list[tuple[str, str]]:
    """Lines for people."""
    together = "all at once" if summary.jobs > 1 else "-"
    rate = together if summary.rate_per_min is None else f"{summary.rate_per_min:.3g} a minute"
    facts = [
        ("workload", f"{summary.source} ({summary.format})"),
        ("jobs", f"{summary.jobs}, {rate}, over {show_duration(round(summary.span_s * SECOND_US))}"),
    ]
    shares = (("map-only", summary.map_only), ("one map", summary.one_map), ("to ten maps", summary.to_ten_maps))
    if said := ", ".join(f"{name} {share:.1%}" for name, share in shares if share is not None):
        facts.append(("of them", said))
    if summary.dependent:
        facts.append(("after others", f"{summary.dependent}"))
    for name, counts in (("applications", summary.applications), ("MR-clusters", summary.clusters)):
        if counts:
            facts.append((name, _names(counts)))
    if summary.users:
        facts.append(("users", f"{summary.users}"))
    for name, skipped in (("skipped", summary.dropped), ("mended", summary.mended)):
        facts += [(name, f"{lines.count} {reason} (first: {lines.first})") for reason, lines in skipped.items()]
    return facts


def _names(counts: Mapping[str, int]) -> str:
    first = [f"{name} {count}" for name, count in list(counts.items())[:_MOST_NAMES]]
    return ", ".join(first) + (f" and {len(counts) - _MOST_NAMES} more" if len(counts) > _MOST_NAMES else "")


def _row(sizes: Mapping[str, Any]) -> dict[str, Any]:
    return {"quantity": sizes["what"], **{key: value for key, value in sizes.items() if key != "what"}}


def _readable(row: Mapping[str, Any]) -> dict[str, Any]:
    """Bytes and times as people read them."""
    what = row["quantity"]
    text = show_bytes if what.endswith("_bytes") else _duration if what.endswith("_s") else _number
    numbers = {name: text(row[name]) for name in _NUMBERS if row[name] is not None}
    name = what.removesuffix("_s").removesuffix("_bytes")
    return {"quantity": _TITLES.get(name, name), "jobs": row["jobs"], **numbers}


def _duration(value_s: float) -> str:
    return show_duration(round(value_s * SECOND_US))


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == round(value) else f"{value:,.1f}"


_NUMBERS = ("p5", "p50", "p95", "max", "mean", "total")
_TITLES = {"gap": "gap between jobs", "map": "time of a map", "reduce": "time of a reduce", "run": "time of a job",
           "requested": "requested time"}  # fmt: skip
