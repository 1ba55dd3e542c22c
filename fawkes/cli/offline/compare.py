"""`fawkes compare`: policies and settings on the same perturbed workloads, offline."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fawkes.base.catalog import Catalog, CatalogFile, Kind
from fawkes.base.errors import UserError
from fawkes.base.extras import needs
from fawkes.base.units import show_duration
from fawkes.cli.offline.options import comparison_options, jobs_option, out_option, seed_option
from fawkes.cli.offline.simulate import plan_of
from fawkes.cli.show.show import CSV, TABLE, note, output_option, progress, say, section, show, warn
from fawkes.cli.show.streams import STREAM, from_stdin
from fawkes.cli.show.tables import TABLES
from fawkes.config.site.site import Site

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from fawkes.offline.runs.grid import Grid
    from fawkes.offline.runs.work import Runner

ALL = "all"
#: of a picture
_MOST_PANELS = 12


@click.command()
@click.argument("scenario")
@comparison_options(
    policies="TD,EQ,None",
    admission="that of the scenario",
    example="model.disk=50MB,100MB",
    replays=20,
    spread="30s",
)
@seed_option
@click.option("--baseline", default="None", show_default=True, help="Baseline policy of the comparison.")
@jobs_option
@out_option("Folder for the results; the same command continues in it.  [default: compare-SCENARIO]")
@click.option("--anew", is_flag=True, help="Run again what other code ran before, and replace its rows.")
@click.option("--regret", is_flag=True, help="Search for the best fixed division; show how far each policy is from it.")
@click.option("--front", is_flag=True, help="Show moves of nodes; draw slowdown against them, with the front of both.")
@click.option("--dask", metavar="ADDRESS", help="Run on the Dask cluster of the scheduler at this address.")
@output_option
@click.pass_obj
@needs("fawkes compare", "offline")
def compare(
    site: Site,
    scenario: str,
    policies: str,
    admission: str | None,
    settings: tuple[tuple[str, str], ...],
    replays: int,
    spread: int,
    seed: int | None,
    baseline: str,
    jobs: int | None,
    out: Path | None,
    anew: bool,
    regret: bool,
    front: bool,
    dask: str | None,
    output: str,
) -> None:
    """Run SCENARIO under each policy and each combination of settings, several times with perturbed arrivals.

    All policies get the same replays: the workload of the scenario and --seed, with each job up to --spread earlier or
    later. Each run is a file in the folder; after an interrupt the same command runs only what is missing. Shows
    medians over the replays, and the change of the mean slowdown against the baseline: its 95 % interval, Wilcoxon's
    paired test, and a verdict, which may be that these replays cannot tell. Another --seed may give another verdict.

    With --regret the same workloads also run under fixed divisions of the pool, at most 40 of them on three replays.
    Regret is the mean slowdown over that of the best division, minus 1.

    With --front each policy and setting that no other beats in both, mean slowdown and moves of nodes, is on the front.
    """
    from fawkes.offline.runs.grid import GridFolder, grid_of, run_cell
    from fawkes.offline.runs.work import finish, in_this_process, on_dask, on_processes
    from fawkes.offline.scenarios.notes import rows_notes

    count = jobs or os.cpu_count() or 1
    run: Runner = on_dask(dask) if dask else on_processes(count) if count > 1 else in_this_process
    catalog = Catalog(site=site.root)
    variants = variants_under(catalog, admission, settings)
    policy_files = chosen(catalog, policies)
    if scenario == STREAM:
        # It can be read only once, but a plan is made for each combination that changes the scenario.
        scenario = str(click.get_current_context().with_resource(from_stdin(scenario, "stdin.toml")))
    plans = partial(plan_of, site, catalog, scenario, seed)
    grid = grid_of(plans, catalog, policy_files, variants, replays=replays, spread_us=spread)
    baseline = catalog.find(Kind.POLICY, baseline).title
    folder = GridFolder(out or Path(f"compare-{grid.name}"), grid, anew=anew)
    if folder.changed:
        note(f"{len(folder.changed)} runs are run again, because their policy or scenario has changed")
    there = sum(folder.row(cell) is not None for cell in grid.cells)
    if there:
        note(f"{there} of {len(grid.cells)} runs are finished already, in {folder.folder}")
    with progress("compare", len(grid.cells) - there) as step:
        rows = finish(partial(run_cell, grid), grid.cells, folder, run, step)
    for line in rows_notes(rows):
        warn(f"note: {line}")
    by_row = _regrets(grid, rows, run) if regret else None
    _tell(rows, baseline, folder.folder, output, by_row, front=front, spread_us=spread)
    picture = draw_divisions(grid, rows, folder.folder)
    if picture is not None:
        note(f"picture of the nodes under each policy: {picture}")


def chosen(catalog: Catalog, names: str) -> list[CatalogFile]:
    """The policies that are named, with commas between them, or all; UserError for one that is not there."""
    from fawkes.offline.runs.settings import policies_named

    if names.strip().casefold() == ALL:
        return list(catalog.all(Kind.POLICY))
    return policies_named(catalog, (name.strip() for name in names.split(",")), where="--policies")


def variants_under(
    catalog: Catalog, admission: str | None, settings: tuple[tuple[str, str], ...]
) -> dict[str, Mapping[str, Any]]:
    """Every combination of settings, under each of the admission policies that are named; UserError for a wrong one."""
    from fawkes.offline.runs.settings import admission_named, choices_of, crossed

    choices = choices_of(settings)
    if admission is None:
        return crossed(choices, where="--set")
    if "admission" in choices:
        raise UserError("'admission' is set twice", where="--set", hint="Give --admission alone")
    names: dict[str, str] = {}
    for name in (each.strip() for each in admission.split(",")):
        chosen_name = admission_named(catalog, name, where="--admission")
        if chosen_name in names.values():
            raise UserError(f"the policy {name!r} is named twice", where="--admission", hint="Name each once")
        names[name] = chosen_name
    variants = crossed({"admission": list(names), **choices}, where="--set")
    return {label: {**changes, "admission": names[changes["admission"]]} for label, changes in variants.items()}


def _regrets(grid: Grid, rows: list[dict[str, Any]], run: Runner) -> dict[tuple[str, str], float | None]:
    from fawkes.offline.runs.regret import DIVISIONS, best_of, regrets

    best_by_label = {}
    for label in dict.fromkeys(label for _, label in grid.scenarios):
        with progress("fixed divisions", DIVISIONS) as step:
            best_by_label[label] = best_of(grid, label, run, step)
        best = best_by_label[label]
        if best is not None:
            nodes = ", ".join(f"{c} {count}" for c, count in sorted(best.nodes.items()))
            said = f" under {label}" if label else ""
            note(f"best fixed division{said}: {nodes}; mean slowdown {best.slowdown:.2f}, {best.tried} were tried")
    return regrets(grid, rows, best_by_label)


def _tell(
    rows: list[dict[str, Any]],
    baseline: str,
    folder: Path,
    output: str,
    regrets: Mapping[tuple[str, str], float | None] | None,
    *,
    front: bool,
    spread_us: int,
) -> None:
    import pandas as pd

    from fawkes.offline.outcomes.failover import MASTERS
    from fawkes.offline.outcomes.outcome import DEADLINES
    from fawkes.offline.outcomes.statistics import SIGNIFICANT, frame_of, least_p, table_of, with_settings
    from fawkes.offline.runs.folder import write_frame, write_picture
    from fawkes.report.tables.waste_rows import TASKS, WASTE

    table = table_of(rows, baseline)
    form = TABLES["compare"]
    if regrets is not None:
        table = [{**row, "regret": regrets[row["policy"], row["settings"]]} for row in table]
        form = replace(form, keys=(*form.keys, "regret"))
    if front:
        table = _with_front(rows, table, folder)
        form = replace(form, keys=(*form.keys, *TABLES["compare, front"].keys))
    else:
        write_picture(folder / "front", None)
    write_frame(folder / "runs", frame_of(rows))
    write_frame(folder / "table", with_settings(pd.DataFrame(table)))
    drawn = _draw(table, baseline, folder)
    kinds = (DEADLINES, MASTERS, (*WASTE, *TASKS))
    due, masters, waste = ([key for key in keys if table and key in table[0]] for keys in kinds)
    if output == CSV:
        form = replace(form, keys=(*form.keys, *due, *masters, *waste))
    show(plain_texts(table) if output == CSV else table, form, output)
    if output == TABLE:
        for keys, what, shown in (
            (due, "jobs that have a deadline", TABLES["compare, deadlines"]),
            (masters, "lost and moved masters", TABLES["compare, masters"]),
            (waste, "slot time of tasks, where some can be saved", TABLES["compare, waste"]),
        ):
            if keys:
                section(f"{what}, medians over the replays:", table, shown, output)
        say("")
        say(f"medians over the replays; change, from, to, verdict: mean slowdown against {baseline}, paired")
        say(f"replays move each job by up to {show_duration(spread_us)}; they draw no other workload")
        if any(row["failed_jobs"] for row in rows):
            say("slowdowns are of jobs that succeeded: rows that differ in `failed` are means of different jobs")
        replays = max((row["replays"] for row in table), default=0)
        if least_p(replays) >= SIGNIFICANT:
            say(
                f"{replays} replays cannot tell policies apart: p is at least {least_p(replays):.3g}. "
                "Give --replays 6 or more"
            )
    pictures = f", {' and '.join(drawn)} as PNG, PDF and SVG" if drawn else ""
    note(f"runs and table as CSV and Parquet{pictures}: {folder}")


def _with_front(rows: list[dict[str, Any]], table: list[dict[str, Any]], folder: Path) -> list[dict[str, Any]]:
    """The table with moves and front; the picture of both is drawn."""
    from fawkes.offline.outcomes.statistics import front_of
    from fawkes.offline.runs.folder import write_picture
    from fawkes.report.pictures.panels import front_of_table

    points = front_of(rows)
    picture = front_of_table(points)
    write_picture(folder / "front", picture)
    if picture is not None:
        note(f"picture of slowdown against moves: {folder / 'front.png'}")
    return [{**row, "moves": point["moves"], "front": point["front"]} for row, point in zip(table, points, strict=True)]


def plain_texts(table: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows with texts that readers of CSV do not take for missing values."""
    from fawkes.offline.outcomes.statistics import UNCHANGED
    from fawkes.offline.runs.folder import csv_text

    return [
        {key: csv_text(key, value) for key, value in {**row, "settings": row["settings"] or UNCHANGED}.items()}
        for row in table
    ]


def _draw(table: list[dict[str, Any]], baseline: str, folder: Path) -> list[str]:
    """The names of the pictures that there is something to draw in."""
    from fawkes.offline.runs.folder import write_picture
    from fawkes.report.pictures.panels import changes_of_table, slowdowns_of_table

    pictures = {"slowdowns": slowdowns_of_table(table), "changes": changes_of_table(table, baseline)}
    for name, picture in pictures.items():
        write_picture(folder / name, picture)
    return [name for name, picture in pictures.items() if picture is not None]


def draw_divisions(grid: Grid, rows: list[dict[str, Any]], folder: Path) -> Path | None:
    """Write the picture of each policy's first replay, as PNG and PDF; the path of the PNG.

    None, and no picture, when no row has the nodes.
    """
    from fawkes.offline.runs.folder import write_picture

    picture = divisions_of(grid, rows)
    write_picture(folder / "nodes-over-time", picture)
    return None if picture is None else folder / "nodes-over-time.png"


def divisions_of(grid: Grid, rows: list[dict[str, Any]]) -> Figure | None:
    """The picture of each policy's first replay; its title says so where there are more than fit a page."""
    from fawkes.report.pictures.panels import Division, divisions, name_of

    runs = [row for row in rows if "nodes" in row]
    if not runs:
        return None
    drawn = [
        Division(
            f"{name_of(row)}{_slowdown(row['slowdown_mean'])}",
            dict(row["nodes"]),
            len(grid.scenarios[row["policy"], row["settings"]].nodes),
        )
        for row in runs[:_MOST_PANELS]
    ]
    part = "" if len(drawn) == len(runs) else f", {len(drawn)} of {len(runs)} runs"
    return divisions(drawn, f"{grid.name}, first replay{part}")


def _slowdown(value: float | None) -> str:
    """A part of the title of a panel; nothing where no job has a reference time."""
    return "" if value is None else f": mean slowdown {value:.2f}"
