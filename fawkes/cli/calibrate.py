"""`fawkes calibrate`: the simulator's constants from recorded runs, and how well they predict others."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fawkes.cli.show import CSV, JSON, JSON_VERSION, Column, note, output_option, progress, show
from fawkes.errors import UserError
from fawkes.extras import needs

if TYPE_CHECKING:
    from fawkes.calibrate.fit import Fit
    from fawkes.calibrate.validate import Validation


@click.command()
@click.argument("records", type=click.Path(path_type=Path), nargs=-1)
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("model.toml"),
    show_default=True,
    metavar="FILE",
    help="The new file of constants.",
)
@click.option("--force", is_flag=True, help="Replace a file that is there.")
@click.option(
    "--model",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Fit nothing: judge the constants of this file.",
)
@click.option(
    "--validate",
    "judged",
    type=click.Path(path_type=Path),
    multiple=True,
    metavar="RECORD",
    help="Predict this record and show the errors; repeatable.",
)
@output_option
@needs("fawkes calibrate", "offline")
def calibrate(
    records: tuple[Path, ...], out: Path, force: bool, model: Path | None, judged: tuple[Path, ...], output: str
) -> None:
    """Fit the simulator's constants to RECORDS, folders of `fawkes record`, and write them into a file.

    A scenario names it by [model] from = "model.toml". Each constant is the median of what the records show, with its
    uncertainty. With --validate other records are simulated by these constants, and each job's error is shown;
    records that share steps with those used to fit are refused.
    """
    from fawkes.calibrate.fit import fits_of
    from fawkes.calibrate.model_file import model_of, refuse_fitted, use_of, uses_in, write_model
    from fawkes.calibrate.observe import observed
    from fawkes.calibrate.search import RUNS, searched
    from fawkes.calibrate.validate import validated
    from fawkes.config.model import read_model
    from fawkes.record.folder import open_record

    if (model is None) == (not records):
        raise UserError("records to fit and --model are a choice of one", where="calibrate", hint="Name a record")
    if model is not None and not judged:
        raise UserError("there is nothing to judge", where="--model", hint="Give --validate RECORD as well")
    if model is None and not force and (out.exists() or out.is_symlink()):
        raise UserError("is there already", where=str(out), hint="Give another name by --out, or --force to replace it")
    opened = [open_record(record) for record in records]
    tested = [open_record(record) for record in judged]
    used, names = ([use_of(one) for one in opened], [str(one) for one in records])
    if model is not None:
        used = uses_in(model)
        names = [f"a record of the pool {one['pool']}" for one in used]
    refuse_fitted(tested, used, names)
    fits: tuple[Fit, ...] = ()
    with progress("calibrate", (model is None) + RUNS * len(opened) + len(tested)) as step:
        if model is None:
            fits = searched(fits_of(observed(opened).values), opened, step)
            table = model_of(fits)
            write_model(out, fits, opened)
            step(str(out))
        else:
            table = read_model(model)
        found = validated(tested, table, step) if tested else None
    _tell(fits, found, output)


def _tell(fits: tuple[Fit, ...], found: Validation | None, output: str) -> None:
    if output == JSON:
        said: dict[str, Any] = {"version": JSON_VERSION, "rows": [asdict(one) for one in fits]}
        if found is not None:
            said["validation"] = found.plain()
        click.echo(json.dumps(said, indent=2, allow_nan=False))
        return
    if found is None or output != CSV:
        show([_row(one) for one in fits], _FITS, output)
    if found is not None:
        show([asdict(one) for one in found.jobs], _JOBS, output)
        if output != CSV:
            show([asdict(one) for one in found.summaries()], _SUMMARIES, output, title="Absolute errors")
            for name, recorded, simulated in found.makespans:
                click.echo(f"makespan of {name}: {recorded:.0f} s recorded, {simulated:.0f} s simulated")
        goal = "reached" if found.reached else "not reached"
        note(f"goal (median within 5 %, nine jobs of ten within 15 %): {goal}")


def _row(one: Fit) -> dict[str, Any]:
    from fawkes.calibrate.model_file import shown

    figures = {key: None if value is None else shown(one.name, value) for key, value in _figures(one).items()}
    return {"constant": one.name, "method": one.method, "n": one.n, **figures}


def _figures(one: Fit) -> dict[str, float | None]:
    return {"value": one.value, "low": one.low, "high": one.high}


def _percent(share: float) -> str:
    return f"{100 * share:+.1f} %"


def _seconds(value: float) -> str:
    return f"{value:.1f}"


_FITS = (
    Column("constant"),
    Column("value", right=True),
    Column("low", "5 %", right=True),
    Column("high", "95 %", right=True),
    Column("n", right=True),
    Column("method"),
)
_JOBS = (
    Column("record"),
    Column("job"),
    Column("kind"),
    Column("recorded_s", "recorded (s)", _seconds, right=True),
    Column("simulated_s", "simulated (s)", _seconds, right=True),
    Column("error", text=_percent, right=True),
)
_SUMMARIES = (
    Column("kind"),
    Column("n", right=True),
    Column("median", text=lambda share: f"{share:.1%}", right=True),
    Column("q90", "90 %", lambda share: f"{share:.1%}", right=True),
)
