"""`fawkes interference`: frameworks that share one cloud by resource offers, beside isolated MR-clusters."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from fawkes.cli.options import out_option
from fawkes.cli.show import note, output_option, progress, show
from fawkes.cli.tables import TABLES
from fawkes.config.site import Site
from fawkes.errors import ConfigError
from fawkes.extras import needs
from fawkes.units import MOST_SEED

_ANSWERS = "A policy answers with a list of verdicts that fit into what is free: see the page `policies`"
_MANAGERS = ("offers", "revocation", "admission", "full release", "Fawkes")


@click.command()
@click.argument("scenario")
@click.option(
    "--manager",
    "managers",
    type=click.Choice(_MANAGERS, case_sensitive=False),
    multiple=True,
    help="Run this manager alone; repeatable.  [default: all]",
)
@click.option("--seed", type=click.IntRange(0, MOST_SEED), help="Draw the order of slaves in offers by this seed.")
@out_option("Write the table and a picture into a new folder.")
@output_option
@click.pass_obj
@needs("fawkes interference", "offline")
def interference(
    site: Site, scenario: str, managers: tuple[str, ...], seed: int | None, out: Path | None, output: str
) -> None:
    """Run SCENARIO: frameworks on one cloud whose manager offers resources by DRF and takes none back.

    SCENARIO is the name of one that comes with Fawkes (deadlock, no-deadlock, serial, storm) or a TOML file. Three
    remedies and isolated MR-clusters under Fawkes get the same load. A framework is stuck while its tasks wait, it
    holds resources and none of its tasks runs.
    """
    from fawkes.catalog import Catalog, Kind
    from fawkes.interference.isolated import isolated
    from fawkes.interference.manager import AdmissionFailedError
    from fawkes.interference.rows import FAWKES, MANAGERS, Curve, Row, played
    from fawkes.interference.scenario import load_scenario, path_of
    from fawkes.offline.folder import refuse_present
    from fawkes.worker.policies import load_admission, policy_text

    if out is not None:
        refuse_present(out)
    found = load_scenario(path_of(scenario), seed)
    catalog = Catalog(site=site.root)
    file = str(found.file)
    policy = catalog.find(Kind.ADMISSION, found.admission, base=found.file.parent, file=file, key="admission")
    admission = load_admission(policy_text(policy.title, str(policy.path), policy.text()), {})
    rows: list[Row] = []
    curves: list[Curve] = []
    chosen = managers or _MANAGERS
    with progress("interference", len(chosen)) as step:
        for remedy, manager in MANAGERS.items():
            if manager in chosen:
                try:
                    more = played(found.study, remedy, admission)
                except AdmissionFailedError as error:
                    raise ConfigError(str(error), file=str(policy.path), hint=_ANSWERS) from error
                rows, curves = rows + more[0], curves + more[1]
                step(manager)
        if FAWKES in chosen:
            more = isolated(found, catalog)
            rows, curves = rows + more[0], curves + more[1]
            step(FAWKES)
    plain: list[dict[str, Any]] = [asdict(row) for row in rows]
    if out is not None:
        _write(out, plain, curves, found.study.cloud.total.cpu_milli / 1000, found.title)
        note(f"{out / 'shares.png'} shows who held which CPUs and who was stuck")
    show(plain, TABLES["interference"], output, envelope={"title": found.title})


def _write(out: Path, rows: list[dict[str, Any]], curves: list[Any], cpus: float, title: str) -> None:
    import pandas as pd

    from fawkes.interference.figures import shares_over_time
    from fawkes.offline.folder import write_frame, write_picture

    out.mkdir(parents=True)
    write_frame(out / "rows", pd.DataFrame(rows))
    write_picture(out / "shares", shares_over_time(curves, cpus, title))
