"""Calibrate on one workload in a lab, predict another: by how much each job was missed, as `fawkes calibrate` says it.

Both workloads lie in workloads/ and run by `fawkes replay`, one after the other, on a lab of their own. With --model
nothing is fitted: constants of another day are judged by a run of today.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.figures import Say
from bench.lab import command_on, to_stderr
from fawkes.base.errors import FawkesError
from fawkes.cli.demo.stage import controller_of, lab_of
from fawkes.config.site.site import Site
from fawkes.live.lab import LabSpec

HOSTS = 6
WORKLOADS = {"calibration-fit": ("fit", "fit-many"), "calibration-judge": ("judge", "judge-many")}
"""Each with its MR-clusters; the constants are fitted on the first, and judged on the last."""

_SETTINGS = 'preset = "demo"\npolicy = "TD"\nsample_every = "4s"\nidle_time = "10h"\n'


def recorded(folder: Path, names: Sequence[str], say: Say) -> list[Path]:
    """A record of each workload of ``names``, as `fawkes record` writes it; FawkesError when a command fails."""
    site = Site(folder / "lab")
    records = []
    with lab_of(LabSpec(hosts=HOSTS, site=site.root), say) as lab:
        site.settings_file.write_text(_SETTINGS)
        with controller_of(lab, site):
            for name in names:
                since = datetime.now(UTC).isoformat(timespec="seconds").removesuffix("+00:00")
                say(f"trust: {name}")
                command_on(site, "replay", name, "--out", str(folder / f"replay-{name}"))
                records.append(folder / name)
                command_on(site, "record", "--since", since, "--out", str(records[-1]))
                for cluster in WORKLOADS[name]:
                    command_on(site, "release", cluster, "--yes", "--wait", "--discard-data")
    return records


def judged(records: list[Path], model: Path) -> str:
    """Constants fitted on all records but the last, and how well they predict that: the command's table."""
    *fitted, last = (str(record) for record in records)
    return command_on(Site(model.parent), "calibrate", *fitted, "--out", str(model), "--force", "--validate", last)


def judged_again(record: Path, model: Path) -> str:
    """How well constants that were fitted before predict a record: the command's table."""
    return command_on(Site(record.parent), "calibrate", "--model", str(model.absolute()), "--validate", str(record))


def main() -> int:
    """Run, print the table, and keep the records if a folder is named."""
    parser = argparse.ArgumentParser(prog="python -m bench.trust", description=__doc__)
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the records and the model in a new folder")
    parser.add_argument("--model", type=Path, metavar="FILE", help="judge these constants; fit nothing")
    arguments = parser.parse_args()
    if arguments.model is not None and not arguments.model.is_file():
        parser.error(f"there is no file {arguments.model}: --keep DIR makes DIR/model.toml")
    try:
        if arguments.keep is not None:
            arguments.keep.mkdir(parents=True)
            print(_table(arguments.keep.absolute(), arguments.model))
        else:
            with TemporaryDirectory(prefix="fawkes-trust-") as folder:
                print(_table(Path(folder), arguments.model))
    except (FawkesError, OSError) as error:
        print(error, file=sys.stderr)
        return error.exit_status if isinstance(error, FawkesError) else 1
    return 0


def _table(folder: Path, model: Path | None) -> str:
    names = tuple(WORKLOADS) if model is None else tuple(WORKLOADS)[-1:]
    records = recorded(folder, names, to_stderr)
    return judged(records, folder / "model.toml") if model is None else judged_again(records[-1], model)


if __name__ == "__main__":
    sys.exit(main())
