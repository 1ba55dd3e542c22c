"""`fawkes init`: example files for a new site, and the commands to type next."""

from __future__ import annotations

import errno
import shlex
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import click

from fawkes.base.errors import RefusedError, UserError
from fawkes.cli.show.show import TABLE, output_option, say, show
from fawkes.cli.show.tables import TABLES

EXAMPLES = Path(__file__).parents[2] / "config" / "examples"
FILES = ("fawkes.toml", "inventory.toml", "clusters/example.toml", "jobs/example.toml")
UNIT = "systemd/fawkes-controller@.service"
#: the program in the unit as it comes with Fawkes
_USUAL_PROGRAM = "/opt/fawkes/bin/fawkes"
#: no fault of the folder's name
_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EIO)


class NextStep(NamedTuple):
    """A command to type after `fawkes init`, in the site's folder, and what it does."""

    command: str
    does: str


NEXT_STEPS = (
    NextStep("$EDITOR inventory.toml", "names, SSH user, sizes, folders"),
    NextStep("fawkes check --trust", "are the nodes fit? pins host keys"),
    NextStep("fawkes run", "the controller, in its own terminal"),
    NextStep("fawkes request example", "fetches Hadoop, deploys on 3 nodes"),
    NextStep("fawkes submit example jobs/example.toml", "a first job"),
    NextStep("fawkes status --watch", "shares, weights and moves"),
    NextStep("fawkes down", "saves outputs, wipes nodes, stops"),
)


@click.command()
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path), metavar="DIR", default=".")
@click.option("--systemd", is_flag=True, help=f"Also write {UNIT}, a systemd unit that runs this fawkes.")
@click.option("--dry-run", is_flag=True, help="Only list what would be written.")
@output_option
def init(folder: Path, systemd: bool, dry_run: bool, output: str) -> None:
    """Write commented example files into DIR (default: the current folder), and say what to do next.

    Existing files are never overwritten: if one of them is there already, nothing is written at all.
    """
    files = (*FILES, UNIT) if systemd else FILES
    there = [name for name in files if _is_there(folder / name)]
    if there:
        raise RefusedError(
            f"{', '.join(there)} {'is' if len(there) == 1 else 'are'} there already, so nothing was written",
            where=str(folder),
            hint="Name another folder, or move these files away",
        )
    if not dry_run:
        write_examples(folder, files)
    rows = [{"file": str(folder / name), "written": not dry_run} for name in files]
    show(rows, TABLES["init"], output)
    if output == TABLE and not dry_run:
        click.echo("\n" + "\n".join(_next_lines(folder)))
        if systemd:
            click.echo()
            say(f"To run it as a service: the page `service` has the steps. {UNIT} goes into /etc/systemd/system")


def write_examples(folder: Path, files: Sequence[str] = FILES) -> None:
    """Write all example files, or none: after an error, files and folders that were made are removed again.

    UserError when the folder cannot hold them; OSError when the disk is full or broken.
    """
    made: list[Path] = []
    try:
        for name in files:
            target = folder / name
            for missing in reversed([path for path in target.parents if not path.exists()]):
                missing.mkdir()
                made.append(missing)
            with target.open("x", encoding="utf-8") as file:
                made.append(target)
                file.write(_example(name))
    except OSError as error:
        for path in reversed(made):
            with suppress(OSError):
                path.rmdir() if path.is_dir() else path.unlink()
        if error.errno in _DISK:
            raise
        what = f"the example files cannot be written there ({error.strerror}: {error.filename})"
        raise UserError(what, where=str(folder), hint="Name a folder in which you may write") from None


def _example(name: str) -> str:
    """The text of an example file; the unit starts the program of this installation."""
    text = (EXAMPLES / name).read_text(encoding="utf-8")
    program = Path(sys.prefix) / "bin" / "fawkes"
    return text.replace(_USUAL_PROGRAM, str(program)) if name == UNIT and program.exists() else text


def _is_there(path: Path) -> bool:
    """True if something has the name of a file; not where the folder cannot be looked into."""
    try:
        return path.exists()
    except OSError:
        return False


def _next_lines(folder: Path) -> list[str]:
    """The next steps, each command on a line of its own; in another folder they begin by going there."""
    steps: tuple[NextStep, ...] = NEXT_STEPS
    if folder.resolve() != Path.cwd():
        steps = (NextStep(f"cd {shlex.quote(str(folder))}", "type the rest there"), *steps)
    width = max(len(step.command) for step in NEXT_STEPS)
    return ["Next:", *(f"  {step.command:<{width}}  # {step.does}" for step in steps)]
