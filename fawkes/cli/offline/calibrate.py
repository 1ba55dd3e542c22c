"""`fawkes calibrate`: the simulator's constants from recorded runs, and how well they predict others."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fawkes.base.errors import UserError
from fawkes.base.extras import needs
from fawkes.base.writing import refuse_there
from fawkes.cli.show.show import CSV, JSON, JSON_VERSION, note, output_option, progress, show
from fawkes.cli.show.tables import TABLES
from fawkes.config.site.site import Site

if TYPE_CHECKING:
    from fawkes.offline.calibrate.fit import Fit
    from fawkes.offline.calibrate.validate import Validation


@click.command()
@click.argument("records", type=click.Path(path_type=Path), nargs=-1)
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("model.toml"),
    show_default=True,
    metavar="FILE",
    help="File for the fitted constants.",
)
@click.option("--force", is_flag=True, help="Replace an existing file.")
@click.option(
    "--model",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Fit nothing: validate the constants of this file.",
)
@click.option(
    "--validate",
    "judged",
    type=click.Path(path_type=Path),
    multiple=True,
    metavar="RECORD",
    help="Simulate this record and show the errors; repeatable.",
)
@output_option
@click.pass_obj
@needs("fawkes calibrate", "offline")
def calibrate(
    site: Site,
    records: tuple[Path, ...],
    out: Path,
    force: bool,
    model: Path | None,
    judged: tuple[Path, ...],
    output: str,
) -> None:
    """Fit the simulator's constants to RECORDS, folders of `fawkes record`, and write them into a file.

    A scenario uses it with [model] from = "model.toml". Each constant is the median of the observations, with its
    uncertainty. With --validate, other records are simulated with these constants, and the error of each job is shown;
    records that share steps with those used for the fit are refused.
    """
    from fawkes.config.workloads.model import read_model
    from fawkes.offline.calibrate.fit import fits_of
    from fawkes.offline.calibrate.model_file import model_of, refuse_fitted, use_of, uses_in, write_model
    from fawkes.offline.calibrate.observe import observed
    from fawkes.offline.calibrate.search import RUNS, searched
    from fawkes.offline.calibrate.validate import validated
    from fawkes.offline.record.folder import open_record

    if (model is None) == (not records):
        raise UserError("give either records to fit or --model", where="calibrate", hint="Name a record")
    if model is not None and not judged:
        raise UserError("there is nothing to validate", where="--model", hint="Give --validate RECORD as well")
    if model is None:
        refuse_there(out, force=force)
    opened = [open_record(record) for record in records]
    tested = [open_record(record) for record in judged]
    used, names = ([use_of(record) for record in opened], [str(path) for path in records])
    if model is not None:
        used = uses_in(model)
        names = [f"a record of the pool {use['pool']}" for use in used]
    refuse_fitted(tested, used, names)
    fits: tuple[Fit, ...] = ()
    with progress("calibrate", (model is None) + RUNS * len(opened) + len(tested)) as step:
        if model is None:
            fits = searched(fits_of(observed(opened).values), opened, step, site.root)
            table = model_of(fits)
            write_model(out, fits, opened)
            step(str(out))
        else:
            table = read_model(model)
        validation = validated(tested, table, step, site=site.root) if tested else None
    _tell(fits, validation, output)


def _tell(fits: tuple[Fit, ...], validation: Validation | None, output: str) -> None:
    if output == JSON:
        said: dict[str, Any] = {"version": JSON_VERSION, "rows": [_plain(fit) for fit in fits]}
        if validation is not None:
            said["validation"] = validation.plain()
        click.echo(json.dumps(said, indent=2, allow_nan=False))
        return
    if validation is None or output != CSV:
        show([_row(fit) for fit in fits], TABLES["calibrate"], output)
    if validation is not None:
        show([job.plain() for job in validation.jobs], TABLES["calibrate, jobs"], output)
        if output != CSV:
            errors = [each.plain() for each in validation.summaries()]
            show(errors, TABLES["calibrate, errors"], output, title="Absolute errors")
            for name, recorded, simulated in validation.makespans:
                click.echo(f"makespan of {name}: {recorded:.0f} s recorded, {simulated:.0f} s simulated")
        if validation.otherwise:
            note(f"{validation.otherwise} of {len(validation.jobs)} jobs ended otherwise than recorded")
        goal = "reached" if validation.reached else "not reached"
        note(f"goal (median within 5 %, nine jobs of ten within 15 %): {goal}")


def _row(fit: Fit) -> dict[str, Any]:
    from fawkes.offline.calibrate.model_file import shown

    figures = {key: None if value is None else shown(fit.name, value) for key, value in _figures(fit).items()}
    return {"constant": fit.name, "method": fit.method, "n": fit.n, **figures}


def _plain(fit: Fit) -> dict[str, Any]:
    plain = asdict(fit)
    return {"constant": plain.pop("name"), **plain}


def _figures(fit: Fit) -> dict[str, float | None]:
    return {"value": fit.value, "low": fit.low, "high": fit.high}
