"""`fawkes interference`: frameworks that share one cloud by resource offers, beside isolated MR-clusters."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from fawkes.base.catalog import Catalog, Kind
from fawkes.base.errors import ConfigError
from fawkes.base.extras import needs
from fawkes.base.units import MOST_SEED
from fawkes.cli.offline.options import out_option
from fawkes.cli.show.show import note, output_option, progress, show
from fawkes.cli.show.tables import TABLES
from fawkes.config.site.site import Site

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
    from fawkes.offline.runs.folder import refuse_present
    from fawkes.offline.studies.interference.isolated import under_each
    from fawkes.offline.studies.interference.manager import AdmissionFailedError
    from fawkes.offline.studies.interference.scenario import load_scenario, path_of
    from fawkes.policy.worker.policies import load_admission, policy_text

    if out is not None:
        refuse_present(out)
    loaded = load_scenario(path_of(scenario), seed)
    catalog = Catalog(site=site.root)
    file = str(loaded.file)
    policy = catalog.find(Kind.ADMISSION, loaded.admission, base=loaded.file.parent, file=file, key="admission")
    admission = load_admission(policy_text(policy.title, str(policy.path), policy.text()), {})
    chosen = managers or _MANAGERS
    with progress("interference", len(chosen)) as step:
        try:
            rows, curves = under_each(loaded, admission, catalog, chosen, step)
        except AdmissionFailedError as error:
            raise ConfigError(str(error), file=str(policy.path), hint=_ANSWERS) from error
    plain: list[dict[str, Any]] = [asdict(row) for row in rows]
    if out is not None:
        _write(out, plain, curves, loaded.study.cloud.total.cpu_milli / 1000, loaded.title)
        note(f"{out / 'shares.png'} shows who held which CPUs and who was stuck")
    show(plain, TABLES["interference"], output, envelope={"title": loaded.title})


def _write(out: Path, rows: list[dict[str, Any]], curves: list[Any], cpus: float, title: str) -> None:
    import pandas as pd

    from fawkes.offline.runs.folder import write_frame, write_picture
    from fawkes.offline.studies.interference.figures import shares_over_time

    out.mkdir(parents=True)
    write_frame(out / "rows", pd.DataFrame(rows))
    write_picture(out / "shares", shares_over_time(curves, cpus, title))
